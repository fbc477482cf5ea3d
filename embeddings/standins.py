"""For which configured static models the bundled one stands in, kept in the cache folder.

A file and not a variable, because every process must name the same model: two that disagree would each throw away
the other's vectors. Where the file can't be written the process remembers it alone.
"""

import json
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

FILE_NAME: Final = "static-standin.json"

_REMEMBERED: Final[dict[str, str]] = {}


def read_standin(model: str) -> str | None:
    """Return why the bundled model stands in for `model`; None when it doesn't."""
    try:
        told = json.loads(_path().read_bytes())
    except (OSError, ValueError):
        return _REMEMBERED.get(model)
    if isinstance(told, dict) and told.get("model") == model:
        return str(told.get("reason", ""))
    return _REMEMBERED.get(model)


def write_standin(model: str, reason: str) -> None:
    """Let the bundled model stand in for `model` in every process, until `clear_standin`."""
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps({"model": model, "reason": reason}), "utf-8")
        temporary.replace(path)
    except OSError as error:
        log.warning("embeddings.standin.not_kept", reason=error.strerror)
        _REMEMBERED[model] = reason


def clear_standin(model: str) -> None:
    _REMEMBERED.pop(model, None)
    try:
        _path().unlink(missing_ok=True)
    except OSError as error:
        log.warning("embeddings.standin.not_cleared", reason=error.strerror)


def _path() -> Path:
    return Path(settings.MEMORY_STATIC_CACHE_DIR) / FILE_NAME
