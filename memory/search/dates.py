"""When a memory happened, and which dates a query names. Pure.

A date is searched by terms of its own (`@y2023 @m5 @d8`), apart from the numbers and months that stand in texts.
"""

import re
from datetime import UTC, datetime
from typing import Final

_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH_NUMBERS: Final = {name: number for number, month in enumerate(_MONTHS, 1) for name in (month, month[:3])} | {
    "sept": 9
}
# Beyond this a number of seconds is one of milliseconds.
_MAX_SECONDS: Final = 100_000_000_000
_MONTH: Final = "(" + "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True)) + r")\b\.?"
_YEAR: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_MONTH_NAME: Final = re.compile(rf"\b{_MONTH}")
_DAY_MONTH: Final = re.compile(rf"\b(\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}")
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH}\s+(\d\d?)(?:st|nd|rd|th)?\b")
_ISO: Final = re.compile(r"(?<!\d)(?:19|20)\d\d-(\d\d?)(?:-(\d\d?))?(?!\d)")
_EAST_ASIAN_MONTH: Final = re.compile(r"(\d\d?)\s*[月월]")
_EAST_ASIAN_DAY: Final = re.compile(r"(\d\d?)\s*[日号號일]")


def read_own_time(timestamp: object, created_at: datetime) -> datetime:
    """Return `timestamp` (ISO 8601, or seconds or milliseconds since 1970) if it can be read, else `created_at`."""
    moment = _read_timestamp(timestamp)
    if moment is None:
        return created_at
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def list_date_terms(day: datetime) -> tuple[str, str, str]:
    """Return the terms of a day, as it was called where it happened."""
    return f"@y{day.year}", f"@m{day.month}", f"@d{day.day}"


def find_date_terms(text: str) -> dict[str, str]:
    """Return the terms of the dates that a query names, by the word that names them.

    A number counts as a day only beside a month: "8 May 2023" names all three, "8 friends" none.
    """
    text = text.casefold()
    found: dict[str, str] = {}
    for name in _MONTH_NAME.findall(text):
        found[name] = f"@m{_MONTH_NUMBERS[name]}"
    for day, _ in _DAY_MONTH.findall(text):
        found[day] = f"@d{int(day)}"
    for _, day in _MONTH_DAY.findall(text):
        found[day] = f"@d{int(day)}"
    for month, day in _ISO.findall(text):
        found[month] = f"@m{int(month)}"
        if day:
            found[day] = f"@d{int(day)}"
    for month in _EAST_ASIAN_MONTH.findall(text):
        found[month] = f"@m{int(month)}"
    for day in _EAST_ASIAN_DAY.findall(text):
        found[day] = f"@d{int(day)}"
    for year in _YEAR.findall(text):
        found[year] = f"@y{year}"
    return found


def _read_timestamp(value: object) -> datetime | None:
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip()) if not _is_number(value) else _read_seconds(float(value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _read_seconds(float(value))
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _is_number(value: str) -> bool:
    return value.strip().lstrip("-").replace(".", "", 1).isdigit() and len(value.strip()) > len("20230508")


def _read_seconds(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds / 1000 if abs(seconds) > _MAX_SECONDS else seconds, UTC)
