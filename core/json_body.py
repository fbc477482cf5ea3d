"""Request bodies read strictly: UTF-8, one JSON object, finite numbers, not nested deeper than MAX_JSON_DEPTH."""

import json
import math
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.http.request import RawPostDataException, UnreadablePostError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from core.errors import FieldError, InvalidFieldsError
from core.words import gettext as _

NO_OBJECT: Final = _("Invalid JSON body: it must be an object")


class InvalidJSONError(InvalidFieldsError):
    """The body is no JSON object; there is no field to name."""

    code = "invalid_json"

    def __init__(self, message: str = _("Invalid JSON body")) -> None:
        super().__init__((), message)


def parse_json_object(raw: bytes) -> dict[str, Any]:
    """Return the object in `raw`; a byte order mark is accepted.

    Raises InvalidJSONError, or InvalidFieldsError that names a number which is NaN, infinite or too long to read.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidJSONError(_("Invalid JSON body: it is not valid UTF-8")) from None
    try:
        value = json.loads(text, parse_constant=_read_float, parse_float=_read_float)
    except json.JSONDecodeError:
        raise InvalidJSONError from None
    except RecursionError:
        raise _build_depth_error() from None
    except ValueError:  # from _read_float, or an integer with more digits than Python reads
        raise _name_unfit_number(text) from None
    if not isinstance(value, dict):
        raise InvalidJSONError(NO_OBJECT)
    if not fits_depth(value, settings.MAX_JSON_DEPTH):
        raise _build_depth_error()
    return value


def read_json_object(request: HttpRequest | Request) -> dict[str, Any]:
    """Return the request's JSON object, {} for an empty body, whatever its content type and transfer encoding.

    Raises what `parse_json_object` raises, and Django's RequestDataTooBig.
    """
    try:
        raw: bytes = request.body
    except (RawPostDataException, UnreadablePostError):
        raise InvalidJSONError(_("Invalid JSON body: it could not be read")) from None
    return parse_json_object(raw) if raw else {}


class StrictJSONParser(BaseParser):
    """What DRF's `request.data` goes through. Our views call `read_json_object`: DRF overlooks chunked bodies."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        # The stream is mostly the request itself; its `body` stays readable, `read()` would use it up.
        raw: bytes = stream.body if isinstance(stream, HttpRequest) else stream.read()
        return parse_json_object(raw) if raw else {}


def fits_depth(value: object, limit: int) -> bool:
    """Tell whether containers nest at most `limit` deep; a flat object is 1 deep. Level by level, no recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _level in range(limit):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return True
    return not level


def is_storable(text: str) -> bool:
    """Tell whether `text` can be stored and sent on: no NUL, no half of a surrogate pair."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_unstorable_text(value: object) -> str | None:
    """Return the dotted path of a string or key in `value` that is not storable, None if all are.

    The path may itself hold the broken key: clean it before it is shown (`core.error_handler` does).
    """
    return _find_path(value, lambda item: isinstance(item, str) and not is_storable(item))


def _find_path(root: object, is_wanted: Callable[[object], bool]) -> str | None:
    """Return the path of the first wanted scalar or key, level by level; "" is the root itself."""
    level: list[tuple[object, _Trail | None]] = [(root, None)]
    while level:
        deeper: list[tuple[object, _Trail | None]] = []
        for item, trail in level:
            if isinstance(item, Mapping):
                for key, child in item.items():
                    if is_wanted(key):
                        return _write_path((trail, key))
                    deeper.append((child, (trail, key)))
            elif isinstance(item, list | tuple):
                deeper.extend((child, (trail, index)) for index, child in enumerate(item))
            elif is_wanted(item):
                return _write_path(trail)
        level = deeper
    return None


# Where a value stands: its container's trail and its name there. Linked: no path is built before it is wanted.
_Trail = tuple[Any, str | int]


def _write_path(trail: _Trail | None) -> str:
    names: list[str] = []
    while trail is not None:
        trail, name = trail
        names.append(str(name))
    return ".".join(reversed(names))


def _read_float(text: str) -> float:
    value = float(text)  # also the words NaN, Infinity and -Infinity, which JSON does not have
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _read_int_or_nan(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return math.nan


def _name_unfit_number(text: str) -> InvalidFieldsError:
    """Read again, leniently, to say which number it was."""
    try:
        value = json.loads(text, parse_int=_read_int_or_nan)
    except json.JSONDecodeError:
        return InvalidJSONError()
    except RecursionError:
        return _build_depth_error()
    path = _find_path(value, lambda item: isinstance(item, float) and not math.isfinite(item))
    if not path:
        return InvalidJSONError(NO_OBJECT)
    return InvalidFieldsError([FieldError(path, _("Must be a finite number of at most 4300 digits"))])


def _build_depth_error() -> InvalidJSONError:
    told = _("Invalid JSON body: it is nested more than %(count)d levels deep")
    return InvalidJSONError(told % {"count": settings.MAX_JSON_DEPTH})
