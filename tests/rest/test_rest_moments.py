"""How a moment in a body is read."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fields import parse_moment

NEW_DAY = datetime(2031, 6, 1, tzinfo=UTC)
JAPAN = datetime(2031, 5, 31, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2031-06-01T00:30:00+09:00", JAPAN),
        ("2031-06-01T00:30:00+0900", JAPAN),
        ("2031-05-31T15:30:00Z", JAPAN),
        ("2031-05-31t15:30:00z", JAPAN),
        ("2031-05-31T15:30", JAPAN),
        ("2031-06-01T00:00:00", NEW_DAY),
        ("2031-06-01", NEW_DAY),
        ("2031-06-01 00:30", NEW_DAY.replace(minute=30)),
        ("2031-06-01T00:00:00.123Z", NEW_DAY.replace(microsecond=123000)),
        (1906500600000, datetime(2030, 5, 31, 23, 30, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-1.5, datetime(1969, 12, 31, 23, 59, 59, 998500, tzinfo=UTC)),
    ],
)
def test_moments_are_read_into_utc(value: object, moment: datetime) -> None:
    assert parse_moment(value) == moment
    assert parse_moment(value).tzinfo is UTC  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        "", "tomorrow", "2031-02-30T00:00:00Z", "99999-01-01T00:00:00Z", True, False, None, [], {}, "2031",
        "20310601",
        "2031-06", "2031-06-01T25:00", "2031-06-01T00:00:00+25:00", "0000-01-01", "0001-01-01T00:00+09:00",
        "9999-12-31T23:00-09:00", "２０３１-06-01", " 2031-06-01", "2031-06-01\n", 10**16, -(10**16), 10**4000,
        1e300,
        float("nan"), float("inf"), "1906500600000",
    ],
)  # fmt: skip
def test_what_is_no_moment_is_none(value: object) -> None:
    assert parse_moment(value) is None


@given(st.text() | st.integers() | st.floats() | st.booleans())
def test_anything_is_a_utc_moment_or_none(value: object) -> None:
    moment = parse_moment(value)
    assert moment is None or moment.tzinfo is UTC
