"""What counts as a JSON body, and what is said about one that does not."""

import json
from typing import Any

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidFieldsError, InvalidRequestError
from core.json_body import find_unstorable_text, fits_depth, parse_json_object

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def nest(depth: int) -> bytes:
    """An object that is `depth` containers deep."""
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_an_object_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    assert parse_json_object(json.dumps(value).encode()) == value


def test_a_byte_order_mark_is_accepted() -> None:
    assert parse_json_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_an_integer_of_any_usual_size_is_kept_exactly() -> None:
    assert parse_json_object(b'{"n": ' + b"9" * 400 + b"}") == {"n": int("9" * 400)}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"   ",
        b"not json",
        b"{",
        b'{"a":}',
        b"[]",
        b"5",
        b'"text"',
        b"null",
        b'{"a": "\xff"}',
        b'{"a" 1}',
        b"NaN",
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_json_object(raw)
    assert caught.value.message.startswith("Invalid JSON body")
    assert caught.value.code == "invalid_json"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"9" * 5000])
def test_a_number_that_is_none_is_named(number: bytes) -> None:
    with pytest.raises(InvalidFieldsError) as caught:
        parse_json_object(b'{"ok": 1, "outer": [{"inner": ' + number + b"}]}")
    assert [detail.field for detail in caught.value.details] == ["outer.0.inner"]


def test_nesting_is_allowed_up_to_the_limit_and_no_deeper() -> None:
    parse_json_object(nest(settings.MAX_JSON_DEPTH))
    for depth in (settings.MAX_JSON_DEPTH + 1, 50, 500, 100_000):
        with pytest.raises(InvalidRequestError, match="nested"):
            parse_json_object(nest(depth))


def test_depth_counts_objects_and_lists_alike() -> None:
    assert fits_depth({}, 1)
    assert not fits_depth({"a": [1]}, 1)
    assert fits_depth({"a": [1], "b": {"c": 2}}, 2)
    assert not fits_depth({"a": [1], "b": {"c": [2]}}, 2)
    assert fits_depth("text", 1)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": "fine 😀"}, None),
        ({"a": [1, {"b": "x\0"}]}, "a.1.b"),
        ({"a": {"n": "\udc00"}}, "a.n"),
        ({"a": {"k\0": 1}}, "a.k\0"),
        ({"a": [["", "\ud83d"]]}, "a.0.1"),
        ("\0", ""),
        (None, None),
    ],
)
def test_text_that_cannot_be_stored_is_found_where_it_stands(value: Any, path: str | None) -> None:
    assert find_unstorable_text(value) == path


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_refusal(raw: bytes) -> None:
    try:
        parse_json_object(raw)
    except InvalidRequestError:
        return
