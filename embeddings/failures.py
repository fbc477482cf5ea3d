"""What each model's source failed with last, for the status page: settings alone can't tell that it is down."""

from threading import Lock
from typing import Final

from embeddings.base import EmbeddingError, EmbeddingResolution

MAX_KEPT: Final = 100

_LOCK: Final = Lock()
_FAILURES: Final[dict[str, EmbeddingError]] = {}


def read_last_failure(resolution: EmbeddingResolution) -> EmbeddingError | None:
    """Return what the last request of this process failed with, or None when it succeeded or there was none."""
    return _FAILURES.get(_key(resolution))


def remember_failure(resolution: EmbeddingResolution, error: EmbeddingError) -> None:
    with _LOCK:
        if len(_FAILURES) >= MAX_KEPT:
            _FAILURES.clear()
        _FAILURES[_key(resolution)] = error


def forget_failure(resolution: EmbeddingResolution) -> None:
    with _LOCK:
        _FAILURES.pop(_key(resolution), None)


def _key(resolution: EmbeddingResolution) -> str:
    """The signature without its dimensions, which may become known between two requests."""
    return resolution.signature.rpartition(":")[0]
