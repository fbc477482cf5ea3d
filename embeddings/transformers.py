"""Vectors from a sentence-transformers model on this machine's CPU. Optional: the package weighs a gigabyte.

`MEMORY_TRANSFORMERS_MODEL` is a folder or a model of the hub. Asking uses what lies on this machine;
`prepare_transformers` fetches what doesn't.
"""

import importlib.util
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
    Reason,
    Vector,
    build_signature,
    check_vector,
)
from embeddings.hub import HubError, download_model
from embeddings.model_files import find_folder, label_model, read_transformer_dimensions, sign_model
from embeddings.texts import cut_to_tokens

log = structlog.get_logger(__name__)

PACKAGE: Final = "sentence_transformers"
INSTALL_LINE: Final = "pip install -r requirements.txt"
MAX_BATCH: Final = 64
MAX_BATCH_TOKENS: Final = 16_000
# Far above any window, so only the tokenizer's time is saved.
MAX_TEXT_TOKENS: Final = 16_000.0
# The name of the same model for another runtime, which older configurations carry.
ALIASES: Final = {"Xenova/all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2"}
KNOWN_DIMENSIONS: Final = {"sentence-transformers/all-MiniLM-L6-v2": 384}

_LOCK: Final = Lock()
_LOADED: Final[dict[str, "_LoadedModel"]] = {}
_PREPARING: Final = Lock()
_FAILED_DOWNLOADS: Final[dict[str, str]] = {}


@dataclass(frozen=True)
class TransformersChoice:
    """A model by its name in the settings, the folder it lies in (None when it isn't here), what it comes to."""

    name: str
    folder: Path | None
    resolution: EmbeddingResolution


@dataclass(frozen=True)
class _LoadedModel:
    """`encode` takes texts and gives an array `(texts, dimensions)`; two at once would slow each other down."""

    encode: Callable[[list[str]], Any]
    lock: Lock


def choose_transformers(pinned: str | None = None) -> TransformersChoice:
    """Return the model that counts now, from a few looks at the disk; nothing is imported or loaded."""
    name = _read_name(pinned)
    folder = find_folder(name)
    label = label_model(name)
    measured = None if folder is None else read_transformer_dimensions(folder)
    dimensions = KNOWN_DIMENSIONS.get(name, measured)
    signed = label if folder is None else sign_model(name, folder)
    failure: Reason | None = None
    reason: str = _("the sentence-transformers model %(name)s") % {"name": label}
    if importlib.util.find_spec(PACKAGE) is None:
        failure = "model_load_failed"
        reason = _("sentence-transformers is not installed: %(command)s") % {"command": INSTALL_LINE}
    elif folder is None:
        why_not = _FAILED_DOWNLOADS.get(name, _("the next indexing job fetches it"))
        failure = "model_load_failed"
        reason = _("The model %(name)s is not on this machine: %(reason)s") % {"name": label, "reason": why_not}
    resolution = EmbeddingResolution(
        "transformers", label, dimensions, build_signature("transformers", signed, dimensions), reason, failure
    )
    return TransformersChoice(name, folder, resolution)


def prepare_transformers(*, retry: bool = False) -> None:
    """Fetch the model if it isn't on this machine. May take minutes: for background jobs only.

    Tries the hub once a process; after a failure again only with `retry`.
    """
    name = _read_name(None)
    with _PREPARING:
        if importlib.util.find_spec(PACKAGE) is None or find_folder(name) is not None:
            return
        if name in _FAILED_DOWNLOADS and not retry:
            return
        try:
            download_model(name, None)
        except HubError as error:
            log.warning("embeddings.transformers.not_downloaded", model=label_model(name), reason=str(error))
            _FAILED_DOWNLOADS[name] = _("%(reason)s; a full reindex tries again") % {"reason": read_words(error)}
        else:
            _FAILED_DOWNLOADS.pop(name, None)


class TransformersSource:
    """A sentence-transformers model as a source; loaded at the first text, once a process."""

    max_batch = MAX_BATCH
    max_batch_tokens = MAX_BATCH_TOKENS
    tells_purposes_apart = False

    def __init__(self, choice: TransformersChoice) -> None:
        self._choice = choice
        self.resolution = choice.resolution

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout_seconds: float) -> list[Vector | EmbeddingError]:
        """See `EmbeddingSource`. Waiting for another thread's texts counts into the time limit, computing not."""
        if not texts:
            return []
        model = _load(self._choice)
        if not model.lock.acquire(timeout=timeout_seconds):
            raise EmbeddingError("transformers", self.resolution.model, "timeout", _("The local model is busy"))
        try:
            rows = model.encode([cut_to_tokens(text, MAX_TEXT_TOKENS) for text in texts])
        finally:
            model.lock.release()
        results = [self._check(row) for row in rows]
        if self.resolution.dimensions is None and len(rows):
            self.resolution = self.resolution.with_dimensions(len(rows[0]))
        return results

    def _check(self, row: Any) -> Vector | EmbeddingError:
        try:
            return check_vector(row, self.resolution.dimensions)
        except InvalidVectorError as error:
            message = _("The local model has no vector for this text: %(reason)s") % {"reason": read_words(error)}
            return EmbeddingError("transformers", self.resolution.model, "request_failed", message, is_outage=False)


def _read_name(pinned: str | None) -> str:
    name: str = pinned or settings.MEMORY_TRANSFORMERS_MODEL
    return ALIASES.get(name, name)


def _load(choice: TransformersChoice) -> _LoadedModel:
    key = f"{choice.resolution.signature} {choice.folder}"
    with _LOCK:
        loaded = _LOADED.get(key)
        if loaded is None:
            loaded = _LOADED[key] = _read_model(choice)
        return loaded


def _read_model(choice: TransformersChoice) -> _LoadedModel:
    model_name = choice.resolution.model
    try:
        # Here and nowhere else: both take seconds and hundreds of megabytes.
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError:
        message = _("sentence-transformers is not installed: %(command)s") % {"command": INSTALL_LINE}
        raise EmbeddingError("transformers", model_name, "model_load_failed", message) from None
    if choice.folder is None:
        raise EmbeddingError("transformers", model_name, "model_load_failed", choice.resolution.reason)
    try:
        torch.set_num_threads(settings.MEMORY_TRANSFORMERS_THREADS)
        model = SentenceTransformer(
            str(choice.folder), device="cpu", local_files_only=True, model_kwargs={"use_safetensors": True}
        )
    except Exception as error:  # noqa: BLE001 - the libraries raise whatever they come upon in the files
        log.warning("embeddings.model.not_loaded", model=model_name, error=type(error).__name__)
        message = _("The model %(name)s could not be loaded") % {"name": model_name}
        raise EmbeddingError("transformers", model_name, "model_load_failed", message) from None
    return _LoadedModel(lambda texts: model.encode(texts, convert_to_numpy=True, show_progress_bar=False), Lock())
