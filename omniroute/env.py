"""Typed readers of environment variables, for `omniroute.settings` alone.

A missing or empty variable gives the default; a wrong one raises `ImproperlyConfigured` with a single line that
names the variable, so that the start stops there instead of failing later in a stranger place.
"""

import os
from collections.abc import Sequence
from typing import Final

from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS: Final = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS: Final = frozenset({"0", "false", "no", "off"})


def export_text(name: str, value: str) -> None:
    """Set a variable for a library that can't be told otherwise."""
    os.environ[name] = value


def read_text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def read_bool(name: str, default: bool, *, when_empty: bool | None = None) -> bool:
    """`when_empty` is what a variable that is set to nothing means, where that differs from "not set"."""
    raw = os.environ.get(name)
    if raw is None:
        return default
    word = raw.strip().lower()
    if not word:
        return default if when_empty is None else when_empty
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false, not {raw!r}")


def read_int(name: str, default: int, *, minimum: int, maximum: int) -> int:
    raw = read_text(name)
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}") from None
    if not minimum <= value <= maximum:
        raise ImproperlyConfigured(f"{name} must be between {minimum} and {maximum}, not {value}")
    return value


def read_seconds(name: str, default: float, *, maximum: float) -> float:
    value = _read_number(name, default)
    if not 0 < value <= maximum:
        raise ImproperlyConfigured(f"{name} must be above 0 and at most {maximum:g} seconds, not {value:g}")
    return value


def read_fraction(name: str, default: float) -> float:
    value = _read_number(name, default)
    if not 0 <= value <= 1:
        raise ImproperlyConfigured(f"{name} must be from 0 to 1, not {value:g}")
    return value


def _read_number(name: str, default: float) -> float:
    """Not a number and infinity pass here and fail every range."""
    raw = read_text(name)
    try:
        return float(raw) if raw else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}") from None


def read_choice(name: str, default: str, choices: Sequence[str]) -> str:
    value = read_text(name, default).lower()
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def read_list(name: str, default: Sequence[str] = ()) -> list[str]:
    return [part.strip() for part in read_text(name).split(",") if part.strip()] or list(default)
