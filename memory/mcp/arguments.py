"""Arguments of the tools: what is accepted. As strict as the REST bodies: a number is no string, nothing is unknown."""

from typing import Any

from core.fields import (
    SearchTextField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictObjectField,
    StrictSerializer,
    StrictTextField,
    TimestampField,
)
from memory.records import MEMORY_TYPES
from memory.retrieval import MAX_BUDGET_TOKENS
from memory.serializers import MAX_CONTENT_LENGTH, MAX_ID_LENGTH, MAX_KEY_LENGTH, OwnerField

MAX_LIMIT = 100


class DateTextField(TimestampField):
    """A date or time as ISO 8601 text; numbers are refused, or a slip of the unit would clear too much."""

    default_error_messages = {"invalid": "Must be an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T12:00:00Z"}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class SearchArguments(StrictSerializer):
    apiKeyId = OwnerField(max_length=MAX_ID_LENGTH, required=False)
    query = SearchTextField(max_length=MAX_CONTENT_LENGTH, default="", allow_blank=True)
    type = StrictChoiceField(MEMORY_TYPES, required=False)
    maxTokens = StrictIntegerField(minimum=1, maximum=MAX_BUDGET_TOKENS, required=False)
    limit = StrictIntegerField(minimum=1, maximum=MAX_LIMIT, required=False)


class AddArguments(StrictSerializer):
    apiKeyId = OwnerField(max_length=MAX_ID_LENGTH, required=False)
    type = StrictChoiceField(MEMORY_TYPES)
    key = StrictTextField(max_length=MAX_KEY_LENGTH)
    content = StrictTextField(max_length=MAX_CONTENT_LENGTH)
    sessionId = StrictTextField(max_length=MAX_ID_LENGTH, default="", allow_blank=True)
    metadata = StrictObjectField(default=dict)


class ClearArguments(StrictSerializer):
    """`confirm` is asked for where nothing narrows what is cleared."""

    apiKeyId = OwnerField(max_length=MAX_ID_LENGTH, required=False)
    type = StrictChoiceField(MEMORY_TYPES, required=False)
    olderThan = DateTextField(required=False)
    confirm = StrictBooleanField(default=False)
