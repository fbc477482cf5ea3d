"""Bodies of Qdrant's REST door (contract 4): what is accepted, and how answers are told."""

import re
from typing import Any, Final

from django.utils.translation import gettext as _
from rest_framework import serializers

from core.errors import OutboundRefusedError
from core.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
    StrictTextField,
)
from core.outbound import check_url
from core.providers.credentials import is_sendable
from qdrant_admin.config import QUANTIZATIONS, PublicSettings, build_base_url
from qdrant_admin.operations import Cleanup, CollectionReport, Health, SearchTest

MAX_HOST_LENGTH: Final = 1000
MAX_KEY_LENGTH: Final = 2000
# Room for the mark that tells the collections behind an alias apart; Qdrant takes 255.
MAX_COLLECTION_LENGTH: Final = 200
MAX_MODEL_LENGTH: Final = 300
MAX_QUERY_LENGTH: Final = 100_000
MAX_ASKED_TOP_K: Final = 50
ANY_PORT: Final = 6333

_NOT_IN_A_NAME: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')


class HostField(StrictTextField):
    """Host, `host:port` or a URL; empty means none. Judged like every address that an operator sets."""

    def to_internal_value(self, data: Any) -> str:
        host: str = super().to_internal_value(data)
        if host:
            try:
                check_url(build_base_url(host, ANY_PORT))
            except OutboundRefusedError as error:
                raise serializers.ValidationError(error.message) from None
        return host


class CollectionNameField(StrictTextField):
    def to_internal_value(self, data: Any) -> str:
        name: str = super().to_internal_value(data)
        if _NOT_IN_A_NAME.search(name) or name in (".", ".."):
            raise serializers.ValidationError(_('Must not hold control characters or any of < > : " / \\ | ? *'))
        return name


class ApiKeyField(StrictTextField):
    """A key that can travel in a header; empty removes it."""

    def to_internal_value(self, data: Any) -> str:
        key: str = super().to_internal_value(data)
        if not is_sendable(key):
            raise serializers.ValidationError(_("Must be visible ASCII characters"))
        return key


class QdrantSettingsBody(StrictSerializer):
    """Body of PUT /api/settings/qdrant: any of the fields."""

    enabled = StrictBooleanField(required=False)
    host = HostField(max_length=MAX_HOST_LENGTH, required=False, allow_blank=True, trim=True)
    port = StrictIntegerField(minimum=1, maximum=65535, required=False)
    apiKey = ApiKeyField(max_length=MAX_KEY_LENGTH, required=False, allow_blank=True, trim=True)
    collection = CollectionNameField(max_length=MAX_COLLECTION_LENGTH, required=False, trim=True)
    embeddingModel = StrictTextField(max_length=MAX_MODEL_LENGTH, required=False, trim=True)
    quantization = StrictChoiceField(QUANTIZATIONS, required=False)


class SearchTestBody(StrictSerializer):
    """Body of POST /api/settings/qdrant/search; more than 20 results are never given (contract B12)."""

    query = StrictTextField(max_length=MAX_QUERY_LENGTH, trim=True)
    topK = StrictIntegerField(minimum=1, maximum=MAX_ASKED_TOP_K, default=5)


def render_settings(settings: PublicSettings) -> dict[str, Any]:
    return {
        "enabled": settings.enabled,
        "host": settings.host,
        "port": settings.port,
        "collection": settings.collection,
        "embeddingModel": settings.embedding_model,
        "quantization": settings.quantization,
        "hasApiKey": settings.has_api_key,
        "apiKeyMasked": settings.api_key_masked,
    }


def render_health(health: Health) -> dict[str, Any]:
    answer: dict[str, Any] = {"ok": health.is_ok, "latencyMs": health.latency_ms}
    if health.error is not None:
        answer["error"] = health.error
    if health.collection is not None:
        answer["collection"] = render_collection(health.collection)
    return answer


def render_collection(report: CollectionReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "alias": report.alias,
        "exists": report.exists,
        "vectorName": report.vector_name,
        "dimensions": report.dimensions,
        "expectedDimensions": report.expected_dimensions,
        "distance": report.distance,
        "points": report.points,
        "status": report.status,
    }


def render_search_test(test: SearchTest) -> dict[str, Any]:
    answer: dict[str, Any] = {"ok": test.is_ok, "latencyMs": test.latency_ms}
    if test.error is not None:
        return {**answer, "error": test.error}
    answer["results"] = [
        {"id": point.id, "score": point.score, "payload": dict(point.payload)} for point in test.results
    ]
    return answer if test.note is None else {**answer, "note": test.note}


def render_cleanup(cleanup: Cleanup) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "ok": cleanup.is_ok,
        "deletedCount": cleanup.deleted_count,
        "latencyMs": cleanup.latency_ms,
        "retentionDays": cleanup.retention_days,
    }
    return answer if cleanup.error is None else {**answer, "error": cleanup.error}
