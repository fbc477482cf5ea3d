"""Vectors from a static model: one vector a token, their mean a text. No service, no GPU, tens of microseconds.

Which model: `MEMORY_STATIC_MODEL` if it is a folder, lies in the cache or could be fetched; else the bundled one
stands in for it. Asking never changes that: the first `prepare_static` decides, and a stand-in holds in every
process and over every restart until the operator asks for a full reindex, which tries again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import structlog
from django.conf import settings

from core.words import gettext as _
from core.words import read_words
from embeddings.base import (
    EmbeddingError,
    EmbeddingResolution,
    InvalidVectorError,
    Purpose,
    Vector,
    build_signature,
    check_vector,
)
from embeddings.hub import STATIC_FILES, HubError, download_model
from embeddings.model_files import (
    BUNDLED,
    BUNDLED_FOLDER,
    find_folder,
    label_model,
    read_static_dimensions,
    sign_model,
)
from embeddings.standins import clear_standin, read_standin, write_standin

log = structlog.get_logger(__name__)

MAX_BATCH: Final = 256
MAX_BATCH_TOKENS: Final = 100_000
INSTALL_LINE: Final = "pip install -r requirements-core.txt"

_LOCK: Final = Lock()
_LOADED: Final[dict[str, "_LoadedModel"]] = {}
_PREPARING: Final = Lock()


@dataclass(frozen=True)
class StaticChoice:
    """A static model by its name in the settings, where it lies, and what it comes to."""

    name: str
    folder: Path
    resolution: EmbeddingResolution


@dataclass(frozen=True)
class _LoadedModel:
    """`encode` takes texts and gives an array `(texts, dimensions)`; its tokenizer serves one thread at a time."""

    encode: Callable[[Sequence[str]], Any]
    lock: Lock


def choose_static(pinned: str | None = None) -> StaticChoice:
    """Return the static model that counts now, from a few looks at the disk. `pinned` asks for one by its name,
    without a stand-in."""
    if pinned is not None:
        return _build_choice(pinned, BUNDLED_FOLDER if pinned == BUNDLED else find_folder(pinned), "")
    wanted: str = settings.MEMORY_STATIC_MODEL
    if wanted == BUNDLED:
        return _build_choice(BUNDLED, BUNDLED_FOLDER, _("the bundled static model"))
    folder, why_not = _find_wanted(wanted)
    if folder is not None:
        return _build_choice(wanted, folder, _("the static model %(name)s") % {"name": label_model(wanted)})
    told = _("the bundled static model stands in for %(name)s: %(reason)s")
    return _build_choice(BUNDLED, BUNDLED_FOLDER, told % {"name": label_model(wanted), "reason": why_not})


def prepare_static(*, retry: bool = False) -> None:
    """Fetch the wanted model if it isn't on this machine, or settle that the bundled one stands in.

    May take minutes: for background jobs only. Tries the hub once; after a failure again only with `retry`, which
    also ends the stand-in of a model that has turned up since.
    """
    wanted: str = settings.MEMORY_STATIC_MODEL
    with _PREPARING:
        if wanted == BUNDLED or (read_standin(wanted) is not None and not retry):
            return
        if find_folder(wanted) is None:
            try:
                download_model(wanted, STATIC_FILES)
            except HubError as error:
                log.warning("embeddings.static.standin", model=label_model(wanted), reason=str(error))
                write_standin(wanted, f"{error}; a full reindex tries again")
                return
        clear_standin(wanted)


class StaticSource:
    """A static model as a source; loaded at the first text."""

    max_batch = MAX_BATCH
    max_batch_tokens = MAX_BATCH_TOKENS
    tells_purposes_apart = False

    def __init__(self, choice: StaticChoice) -> None:
        self._choice = choice
        self.resolution = choice.resolution

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout_seconds: float) -> list[Vector | EmbeddingError]:
        """See `EmbeddingSource`. A text without any known token has no vector. Too quick for a time limit."""
        if not texts:
            return []
        model = _load(self._choice)
        with model.lock:
            rows = model.encode(list(texts))
        return [self._check(row) for row in rows]

    def _check(self, row: Any) -> Vector | EmbeddingError:
        try:
            return check_vector(row, self.resolution.dimensions)
        except InvalidVectorError as error:
            message = _("The static model has no vector for this text: %(reason)s") % {"reason": read_words(error)}
            return EmbeddingError("static", self.resolution.model, "request_failed", message, is_outage=False)


def _find_wanted(wanted: str) -> tuple[Path | None, str]:
    """Return the folder of the wanted model, or None and why the bundled one stands in."""
    standin = read_standin(wanted)
    if standin is not None:
        return None, standin
    return find_folder(wanted), _("it is not on this machine yet")


def _build_choice(name: str, folder: Path | None, reason: str) -> StaticChoice:
    label = label_model(name)
    dimensions = None if folder is None else read_static_dimensions(folder)
    if folder is None or dimensions is None:
        signature = build_signature("static", label, None)
        missing = _("The files of the static model %(name)s are missing or damaged") % {"name": label}
        broken = EmbeddingResolution("static", label, None, signature, missing, "model_load_failed")
        return StaticChoice(name, BUNDLED_FOLDER, broken)
    signature = build_signature("static", sign_model(name, folder), dimensions)
    return StaticChoice(name, folder, EmbeddingResolution("static", label, dimensions, signature, reason))


def _load(choice: StaticChoice) -> _LoadedModel:
    key = f"{choice.resolution.signature} {choice.folder}"
    with _LOCK:
        loaded = _LOADED.get(key)
        if loaded is None:
            loaded = _LOADED[key] = _read_model(choice)
        return loaded


def _read_model(choice: StaticChoice) -> _LoadedModel:
    model_name = choice.resolution.model
    try:
        # Here and nowhere else: what never makes a static vector never loads the library.
        from model2vec import StaticModel
    except ImportError:
        message = _("model2vec is not installed: %(command)s") % {"command": INSTALL_LINE}
        raise EmbeddingError("static", model_name, "model_load_failed", message) from None
    try:
        model = StaticModel.from_pretrained(choice.folder)
    except Exception as error:  # noqa: BLE001 - the tokenizer and the weights' reader raise bare Exceptions
        log.warning("embeddings.model.not_loaded", model=model_name, error=type(error).__name__)
        message = _("The static model %(name)s could not be loaded") % {"name": model_name}
        raise EmbeddingError("static", model_name, "model_load_failed", message) from None
    return _LoadedModel(lambda texts: model.encode(texts, use_multiprocessing=False), Lock())
