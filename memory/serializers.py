"""Bodies and queries of memory's REST doors (contract 3 and 4): what is accepted, and what is made of it."""

from typing import Any, Final

from django.utils.translation import gettext as _
from rest_framework import serializers

from core.errors import OutboundRefusedError
from core.fields import (
    QueryBooleanField,
    QueryIntegerField,
    SearchTextField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictObjectField,
    StrictSerializer,
    StrictTextField,
    StrictTextListField,
    TimestampField,
)
from core.outbound import check_url
from core.section_serializer import SettingTextField, build_section_serializer
from core.words import translate
from memory.backends.base import MemoryChanges
from memory.backends.configuration import check_configs
from memory.backends.manager import MANAGER, REGISTRY
from memory.config import MEMORY_SECTION
from memory.models import HEALTH_CHECK_OWNER
from memory.records import (
    DEFAULT_ORDER,
    EXPIRY_STATES,
    MEMORY_ORDERS,
    MEMORY_TYPES,
    POLARITIES,
    MemoryDraft,
    MemoryFilter,
    SearchQuery,
)

MAX_CONTENT_LENGTH: Final = 100_000
MAX_KEY_LENGTH: Final = 512
MAX_ID_LENGTH: Final = 256
MAX_FILTER_TEXT_LENGTH: Final = 1000
MAX_PAGE_SIZE: Final = 200
# Far beyond every list, far below where page times limit leaves SQLite's integers.
MAX_POSITION: Final = 2**31 - 1
# A cursor may hold a whole key, each character of which can take four bytes.
MAX_CURSOR_LENGTH: Final = 4096
# What `source` is called for memories that have none.
NO_SOURCE: Final = "none"
PREVIEW_STRATEGIES: Final = ("exact", "semantic", "hybrid", "adaptive")


class MemoryListQuery(serializers.Serializer[Any]):
    """Parameters of GET /api/memory; `cursor`, when given, wins over `offset`, and that over `page`."""

    apiKeyId = StrictTextField(max_length=MAX_ID_LENGTH, required=False)
    type = StrictChoiceField(MEMORY_TYPES, required=False)
    sessionId = StrictTextField(max_length=MAX_ID_LENGTH, required=False)
    category = StrictTextField(max_length=MAX_ID_LENGTH, required=False)
    q = SearchTextField(max_length=MAX_FILTER_TEXT_LENGTH, required=False)
    source = StrictTextField(max_length=MAX_ID_LENGTH, required=False)  # type: ignore[assignment]
    polarity = StrictChoiceField(POLARITIES, required=False)
    expiry = StrictChoiceField(EXPIRY_STATES, required=False)
    indexed = QueryBooleanField(required=False)
    used = QueryBooleanField(required=False)
    order = StrictChoiceField(MEMORY_ORDERS, default=DEFAULT_ORDER)
    cursor = StrictTextField(max_length=MAX_CURSOR_LENGTH, required=False)
    limit = QueryIntegerField(minimum=1, maximum=MAX_PAGE_SIZE, default=50)
    page = QueryIntegerField(minimum=1, maximum=MAX_POSITION, default=1)
    offset = QueryIntegerField(minimum=0, maximum=MAX_POSITION, required=False)


class OwnerField(StrictTextField):
    """The owner of a new memory. The self-test's is refused: what it owns is never listed."""

    def to_internal_value(self, data: Any) -> str:
        if data == HEALTH_CHECK_OWNER:
            raise serializers.ValidationError(_("Is reserved for the self-test"))
        return super().to_internal_value(data)


class MemoryDraftBody(StrictSerializer):
    """Body of POST /api/memory. A Memory as we return it is accepted: what only we set is left unread (B26)."""

    ignored_fields = frozenset({"id", "createdAt", "updatedAt", "accessCount", "lastAccessedAt"})

    content = StrictTextField(max_length=MAX_CONTENT_LENGTH)
    key = StrictTextField(max_length=MAX_KEY_LENGTH)
    type = StrictChoiceField(MEMORY_TYPES, default="factual")
    sessionId = StrictTextField(max_length=MAX_ID_LENGTH, default="", allow_blank=True)
    apiKeyId = OwnerField(max_length=MAX_ID_LENGTH, default="", allow_blank=True)
    metadata = StrictObjectField(default=dict)
    expiresAt = TimestampField(default=None, allow_null=True)


class MemoryChangesBody(StrictSerializer):
    """Body of PUT /api/memory/{id}; `metadata` replaces the old object."""

    type = StrictChoiceField(MEMORY_TYPES, required=False)
    key = StrictTextField(max_length=MAX_KEY_LENGTH, required=False)
    content = StrictTextField(max_length=MAX_CONTENT_LENGTH, required=False)
    metadata = StrictObjectField(required=False)


class RetrievePreviewBody(StrictSerializer):
    """Body of POST /api/memory/retrieve-preview; no `apiKeyId`, or an empty one, means all owners."""

    query = SearchTextField(max_length=MAX_CONTENT_LENGTH)
    strategy = StrictChoiceField(PREVIEW_STRATEGIES, default="hybrid")
    maxTokens = StrictIntegerField(minimum=1, maximum=16000, default=2000)
    limit = StrictIntegerField(minimum=1, maximum=100, default=20)
    apiKeyId = StrictTextField(max_length=MAX_ID_LENGTH, default="", allow_blank=True)
    sessionId = StrictTextField(max_length=MAX_ID_LENGTH, default="", allow_blank=True)
    explainMemoryId = StrictTextField(max_length=MAX_ID_LENGTH, required=False)


class ReindexBody(StrictSerializer):
    """Body of POST /api/memory/reindex; `force` has every memory indexed anew."""

    force = StrictBooleanField(default=False)


class BaseUrlField(SettingTextField):
    """The URL of an operator's own server, without the slash at its end; null when empty."""

    def to_internal_value(self, data: Any) -> str:
        url = super().to_internal_value(data)
        try:
            check_url(url)
        except OutboundRefusedError as error:
            raise serializers.ValidationError(error.message) from None
        return url.rstrip("/")


class BackendConfigsField(StrictObjectField):
    """Configurations by backend. A secret may stand in it as we tell it, masked: then it stays as it is stored."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        configs = super().to_internal_value(data)
        errors = check_configs(configs, MANAGER.load_all_fields())
        if errors:
            paths = {error.field.removeprefix("backendConfigs."): [translate(error.message)] for error in errors}
            raise serializers.ValidationError(paths)
        return configs


class BackendListField(StrictTextListField):
    """Ids of backends."""

    def to_internal_value(self, data: Any) -> list[str]:
        names = super().to_internal_value(data)
        unknown = [name for name in names if name not in MANAGER.ids]
        if unknown:
            told = _("There is no backend %(name)s; there are %(names)s")
            raise serializers.ValidationError(told % {"name": unknown[0], "names": ", ".join(MANAGER.ids)})
        if len(set(names)) < len(names):
            raise serializers.ValidationError(_("Must name each backend once"))
        return names


# Body of PUT /api/settings/memory: any of the section's fields.
MemorySettingsBody = build_section_serializer(
    MEMORY_SECTION,
    {
        "customBaseUrl": BaseUrlField(is_nullable=True),
        "primaryBackend": StrictChoiceField(tuple(REGISTRY), required=False),
        "fallbackBackends": BackendListField(max_items=len(REGISTRY), max_length=MAX_ID_LENGTH, required=False),
        "backendConfigs": BackendConfigsField(required=False),
    },
)


def make_filter(values: dict[str, Any]) -> MemoryFilter:
    """Return the filter that the values of a MemoryListQuery ask for."""
    return MemoryFilter(
        owner=values.get("apiKeyId"),
        type=values.get("type"),
        session_id=values.get("sessionId"),
        text=values.get("q", ""),
        category=values.get("category"),
        source="" if values.get("source") == NO_SOURCE else values.get("source"),
        polarity=values.get("polarity"),
        expiry=values.get("expiry"),
        is_indexed=values.get("indexed"),
        is_used=values.get("used"),
    )


def make_draft(values: dict[str, Any]) -> MemoryDraft:
    return MemoryDraft(
        owner=values["apiKeyId"],
        key=values["key"],
        content=values["content"],
        type=values["type"],
        session_id=values["sessionId"],
        metadata=values["metadata"],
        expires_at=values["expiresAt"],
    )


def make_changes(values: dict[str, Any]) -> MemoryChanges:
    return MemoryChanges(
        type=values.get("type"),
        key=values.get("key"),
        content=values.get("content"),
        metadata=values.get("metadata"),
    )


def make_search_query(values: dict[str, Any], *, retention_days: int) -> SearchQuery:
    """Return the search that the values of a RetrievePreviewBody ask for."""
    return SearchQuery(
        owner=values["apiKeyId"] or None,
        text=values["query"],
        strategy=values["strategy"],
        retention_days=retention_days,
        session_id=values["sessionId"] or None,
        limit=values["limit"],
    )
