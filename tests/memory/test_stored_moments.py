"""Moments are read back from the text that this and other programs store them as."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from memory.rows import read_moment

OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(min_value=datetime(1, 1, 3)), st.sampled_from(" T"))
def test_a_moment_without_a_zone_is_utc(moment, separator):
    assert read_moment(moment.isoformat(separator)) == moment.replace(tzinfo=UTC)


@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=OFFSETS))
def test_a_moment_that_names_its_zone_is_taken_at_its_word(moment):
    read = read_moment(moment.isoformat())
    assert (read, read.tzinfo) == (moment, UTC)
    assert read_moment(moment) == moment


def test_forms_of_other_programs():
    expected = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert read_moment("2026-03-01T12:00:00Z") == expected
    assert read_moment("2026-03-01 12:00:00.000+00:00") == expected
    assert read_moment("2026-03-01") == expected.replace(hour=0)
