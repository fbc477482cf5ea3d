"""The process's secret key: from the environment, else made once and kept beside the data."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

FILE_NAME = "secret.key"


def load_secret_key(configured: str, data_dir: Path) -> str:
    """Return `configured`, else the key in `data_dir`, making both folder and key when they are missing.

    The key signs sessions and encrypts stored provider keys, so it must outlive a restart.
    Raises `ImproperlyConfigured` with one line when the folder can't be used.
    """
    if configured:
        return configured
    path = data_dir / FILE_NAME
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write_once(path)
        key = path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR {data_dir} can't be used: {error.strerror}") from None
    if not key:
        raise ImproperlyConfigured(f"{path} is empty; delete it to get a new key, or set SECRET_KEY")
    return key


def _write_once(path: Path) -> None:
    """Put a new key at `path` unless there is one: of two processes that start together, both get the first's."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=FILE_NAME)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        Path(draft).unlink()
