"""Widths of models whose registry entry has none, as their first vector showed them; for this process."""

from threading import Lock
from typing import Final

_LOCK: Final = Lock()
_MEASURED: Final[dict[str, int]] = {}


def read_dimensions(model: str) -> int | None:
    return _MEASURED.get(model)


def remember_dimensions(model: str, dimensions: int) -> int:
    """Keep the first width that was told for `model`; return the one that is kept."""
    with _LOCK:
        return _MEASURED.setdefault(model, dimensions)


def forget_dimensions() -> None:
    """Measure again from the next vectors on, for when a model behind the same name has changed."""
    with _LOCK:
        _MEASURED.clear()
