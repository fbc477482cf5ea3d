"""Addresses of static files that change with their content, so that browsers may keep a copy for a year."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.contrib.staticfiles import finders
from django.templatetags.static import static

VERSION_PARAMETER: Final = "v"
HASH_CHARACTERS: Final = 12


def address_asset(name: str) -> str:
    """Return the address of the static file `name`, such as `studio/studio.css`; `FileNotFoundError` without one."""
    found = finders.find(name)
    if not isinstance(found, str):
        raise FileNotFoundError(f"there is no static file {name!r}")
    return f"{static(name)}?{VERSION_PARAMETER}={hash_file(Path(found))}"


def hash_file(path: Path) -> str:
    """Return the start of the SHA-256 of a file's content; read anew only when the file has changed."""
    facts = path.stat()
    return _hash_content(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=256)
def _hash_content(path: Path, modified_ns: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:HASH_CHARACTERS]
