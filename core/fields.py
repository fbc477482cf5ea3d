"""Fields of request bodies that refuse instead of convert: a number is no string, 1 is not true."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers
from rest_framework.fields import empty

from core import words
from core.errors import FieldError, InvalidFieldsError
from core.json_body import find_unstorable_text

MAX_OBJECT_BYTES: Final = 64 * 1024
MAX_REPORTED_UNKNOWN: Final = 20
MISSING_MESSAGES: Final[dict[str, Any]] = {
    "required": gettext_lazy("Is required"),
    "null": gettext_lazy("Must not be null"),
}
NOT_STORABLE: Final = gettext_lazy("Must not hold NUL characters or broken surrogate pairs")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ISO_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,100}")


class StrictTextField(serializers.CharField):
    """A JSON string, kept as it is unless `trim` is set."""

    default_error_messages = {
        **MISSING_MESSAGES,
        "invalid": gettext_lazy("Must be a string"),
        "blank": gettext_lazy("Must not be empty"),
        "max_length": gettext_lazy("Must have at most {max_length} characters"),
    }

    def __init__(
        self,
        *,
        max_length: int,
        required: bool = True,
        default: Any = empty,
        allow_blank: bool = False,
        allow_null: bool = False,
        trim: bool = False,
    ) -> None:
        super().__init__(
            max_length=max_length,
            required=required and default is empty,
            default=default,
            allow_blank=allow_blank,
            allow_null=allow_null,
            trim_whitespace=trim,
        )

    def run_validation(self, data: Any = empty) -> Any:
        if data is not empty and data is not None and not isinstance(data, str):
            self.fail("invalid")
        return super().run_validation(data)


class SearchTextField(StrictTextField):
    """Text that is only searched for: what can't be stored can't be found, so it is blanked, not refused."""

    def to_internal_value(self, data: Any) -> str:
        return re.sub("[\x00\ud800-\udfff]", " ", data)


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer in a range, both ends included."""

    default_error_messages = {**MISSING_MESSAGES, "invalid": gettext_lazy("Must be a whole number")}

    def __init__(self, *, minimum: int, maximum: int, required: bool = True, default: Any = empty) -> None:
        super().__init__(required=required and default is empty, default=default)
        self.minimum, self.maximum = minimum, maximum

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        if not self.minimum <= data <= self.maximum:
            raise serializers.ValidationError(
                _("Must be between %(minimum)d and %(maximum)d") % {"minimum": self.minimum, "maximum": self.maximum}
            )
        return data


class QueryIntegerField(StrictIntegerField):
    """A whole number written in a query string, in plain digits."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not WHOLE_NUMBER.fullmatch(data):
            self.fail("invalid")
        return super().to_internal_value(int(data))


class QueryBooleanField(serializers.Field[bool, Any, bool, Any]):
    """`true` or `false` written in a query string."""

    default_error_messages = {**MISSING_MESSAGES, "invalid": gettext_lazy("Must be true or false")}

    def to_internal_value(self, data: Any) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid")
        return bool(data == "true")


class StrictBooleanField(serializers.Field[bool, Any, bool, Any]):
    """JSON's true or false."""

    default_error_messages = {**MISSING_MESSAGES, "invalid": gettext_lazy("Must be true or false")}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class StrictChoiceField(serializers.Field[str, Any, str, Any]):
    """One of a few words, spelled exactly."""

    default_error_messages = MISSING_MESSAGES

    def __init__(self, choices: Sequence[str], *, required: bool = True, default: Any = empty) -> None:
        super().__init__(required=required and default is empty, default=default)
        self.choices = tuple(choices)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(_("Must be one of: %(choices)s") % {"choices": ", ".join(self.choices)})
        return data


class StrictTextListField(serializers.Field[list[str], Any, list[str], Any]):
    """A JSON list of non-empty strings."""

    default_error_messages = {**MISSING_MESSAGES, "invalid": gettext_lazy("Must be a list of strings")}

    def __init__(self, *, max_items: int, max_length: int, required: bool = True, default: Any = empty) -> None:
        super().__init__(required=required and default is empty, default=default)
        self.max_items, self.max_length = max_items, max_length

    def to_internal_value(self, data: Any) -> list[str]:
        if not isinstance(data, list) or not all(isinstance(item, str) and item for item in data):
            self.fail("invalid")
        if len(data) > self.max_items or any(len(item) > self.max_length for item in data):
            raise serializers.ValidationError(
                _("Must have at most %(max_items)d items of at most %(max_length)d characters")
                % {"max_items": self.max_items, "max_length": self.max_length}
            )
        _refuse_unstorable(data)
        return data


class StrictObjectField(serializers.Field[dict[str, Any], Any, dict[str, Any], Any]):
    """A JSON object that can be stored, at most MAX_OBJECT_BYTES long as compact JSON."""

    default_error_messages = {
        **MISSING_MESSAGES,
        "invalid": gettext_lazy("Must be an object"),
        "size": gettext_lazy("Must be at most {max_bytes} bytes of JSON"),
        "number": gettext_lazy("Must not hold NaN or infinite numbers"),
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        _refuse_unstorable(data)
        try:
            text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except ValueError:
            self.fail("number")
        if len(text.encode()) > MAX_OBJECT_BYTES:
            self.fail("size", max_bytes=MAX_OBJECT_BYTES)
        return data


class TimestampField(serializers.Field[datetime, Any, str, Any]):
    """A moment: ISO 8601 (no zone means UTC, no time means midnight) or milliseconds since 1970; gives UTC."""

    default_error_messages = {
        **MISSING_MESSAGES,
        "invalid": gettext_lazy("Must be an ISO 8601 date or time, or milliseconds since 1970"),
    }

    def to_internal_value(self, data: Any) -> datetime:
        moment = parse_moment(data)
        if moment is None:
            self.fail("invalid")
        return moment


class StrictSerializer(serializers.Serializer[Any]):
    """A body whose unknown fields are named and refused; those in `ignored_fields` are let through unread."""

    ignored_fields: ClassVar[frozenset[str]] = frozenset()

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        known = self.fields.keys() | self.ignored_fields
        unknown = [name for name in data if name not in known][:MAX_REPORTED_UNKNOWN]
        errors: dict[str, Any] = {}
        values: dict[str, Any] = {}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            errors = dict(error.detail) if isinstance(error.detail, Mapping) else {"": error.detail}
        errors.update({name: [_("Unknown field")] for name in unknown})
        if errors:
            raise serializers.ValidationError(errors)
        return values


def validate_body(schema: type[serializers.Serializer[Any]], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `body` by field name, defaults filled in; raises DRF's ValidationError."""
    serializer = schema(data=body)
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


def validate_query(schema: type[serializers.Serializer[Any]], query: QueryDict) -> dict[str, Any]:
    """Return the values of a query string by field name. Empty parameters count as absent, unknown are ignored.

    A known parameter given twice, or in the list form `name[]`, is refused: half a filter is worse than none.
    """
    names = schema().fields.keys()
    errors = [
        FieldError(name, words.gettext("Must be given once"))
        for name in names
        if len(query.getlist(name)) > 1 or any(given.startswith(f"{name}[") for given in query)
    ]
    if errors:
        raise InvalidFieldsError(errors)
    return validate_body(schema, {name: query[name] for name in names if query.get(name)})


def parse_moment(value: object) -> datetime | None:
    """Return the UTC moment that a JSON value tells (see TimestampField), None if it is none of years 1..9999."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            return EPOCH + timedelta(milliseconds=value)
        if not isinstance(value, str) or not ISO_TIME.fullmatch(value):
            return None
        moment = datetime.fromisoformat(value.upper().replace(",", "."))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _refuse_unstorable(value: object) -> None:
    path = find_unstorable_text(value)
    if path is not None:
        raise serializers.ValidationError({path: [NOT_STORABLE]})
