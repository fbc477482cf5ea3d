"""How relevant texts are to a query, judged by a cross-encoder on this machine's CPU. Optional, like
sentence-transformers that runs it.

A model is a folder or a model of the hub. Asking uses what lies on this machine; `prepare_cross_encoder` fetches what
doesn't.
"""

import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
import structlog
from django.conf import settings

from core.errors import AppError, UpstreamTimeoutError
from core.outbound import Deadline
from core.words import gettext as _
from core.words import read_words
from embeddings.hub import HubError, download_model
from embeddings.model_files import find_folder, is_hub_name, label_model, read_architectures
from embeddings.texts import cut_to_tokens
from embeddings.transformers import INSTALL_LINE, PACKAGE

log = structlog.get_logger(__name__)

# Small batches: the clock is looked at between them.
BATCH_PAIRS: Final = 4
# Endings of the classes that give a text pair a score.
JUDGES: Final = ("ForSequenceClassification", "ForCausalLM")
# The usual window of 512 tokens holds both; the tokenizer cuts exactly, this only saves its time.
MAX_TEXT_TOKENS: Final = 2_000.0

_LOCK: Final = Lock()
_LOADED: Final[dict[str, "_LoadedModel"]] = {}
_PREPARING: Final = Lock()
_FAILED_DOWNLOADS: Final[dict[str, str]] = {}

Pair = tuple[str, str]


class CrossEncoderError(AppError):
    """The texts could not be judged; `code` is upstream_timeout when the time was over. The message, for operators,
    holds no path."""

    code = "cross_encoder_failed"


@dataclass(frozen=True)
class _LoadedModel:
    """`score` gives pairs of query and text one raw number each; it is called by one thread at a time."""

    score: Callable[[list[Pair]], Any]


def find_obstacle(name: str) -> str | None:
    """Return why the model called `name` can't be used now and what to do; None when it can. Loads nothing."""
    if importlib.util.find_spec(PACKAGE) is None:
        return _("sentence-transformers is not installed: %(command)s") % {"command": INSTALL_LINE}
    folder = find_folder(name)
    if folder is None and not is_hub_name(name):
        told = _("%(name)s is neither a model of the hub nor a folder with the weights of one")
        return told % {"name": label_model(name)}
    if folder is None:
        why_not = _FAILED_DOWNLOADS.get(name, _("saving the setting again has it fetched"))
        told = _("the model %(name)s is not on this machine: %(reason)s")
        return told % {"name": label_model(name), "reason": why_not}
    architectures = read_architectures(folder)
    if architectures and not any(architecture.endswith(JUDGES) for architecture in architectures):
        # It would be given a random head and rank by chance, without a word.
        return _("the model %(name)s is no cross-encoder") % {"name": label_model(name)}
    return None


def prepare_cross_encoder(name: str) -> None:
    """Fetch the model if it isn't on this machine. May take minutes: for background jobs only."""
    with _PREPARING:
        if importlib.util.find_spec(PACKAGE) is None or find_folder(name) is not None:
            return
        try:
            download_model(name, None)
        except HubError as error:
            log.warning("embeddings.cross_encoder.not_downloaded", model=label_model(name), reason=str(error))
            told = _("%(reason)s; saving the setting again tries once more")
            _FAILED_DOWNLOADS[name] = told % {"reason": read_words(error)}
        else:
            _FAILED_DOWNLOADS.pop(name, None)


def score_texts(name: str, query: str, texts: Sequence[str], *, timeout_seconds: float) -> list[float]:
    """Return for each text, in order, how relevant it is to `query`: 0 (not at all) to 1.

    Raises `CrossEncoderError`, also when the time is over. A model that takes longer to load goes on loading, so that
    a later call finds it there.
    """
    obstacle = find_obstacle(name)
    if obstacle is not None:
        raise CrossEncoderError(obstacle)
    deadline = Deadline(timeout_seconds)
    future = _get_pool().submit(_score, name, query, list(texts), deadline)
    try:
        return future.result(timeout_seconds)
    except TimeoutError:
        future.cancel()
        raise _tell_slow(name) from None


def _score(name: str, query: str, texts: list[str], deadline: Deadline) -> list[float]:
    """Judge similar lengths together, since a batch takes as long as its longest text."""
    model = _load(name)
    pairs = [(query, cut_to_tokens(text, MAX_TEXT_TOKENS)) for text in texts]
    by_length = sorted(range(len(pairs)), key=lambda position: len(pairs[position][1]))
    scores = np.zeros(len(pairs))
    for start in range(0, len(by_length), BATCH_PAIRS):
        if deadline.seconds_left() <= 0:
            raise _tell_slow(name)
        batch = by_length[start : start + BATCH_PAIRS]
        scores[batch] = _read_scores(model.score([pairs[position] for position in batch]), len(batch), name)
    return [float(score) for score in 1 / (1 + np.exp(-np.clip(scores, -60, 60)))]


def _read_scores(raw: Any, count: int, name: str) -> Any:
    numbers = np.asarray(raw, dtype=np.float64)
    if numbers.shape not in ((count,), (count, 1)):
        raise CrossEncoderError(
            _("The model %(name)s is no reranker: it gives more than one score a text") % {"name": label_model(name)}
        )
    if not np.isfinite(numbers).all():
        raise CrossEncoderError(_("The model %(name)s gave a score that is not finite") % {"name": label_model(name)})
    return numbers.reshape(count)


def _tell_slow(name: str) -> CrossEncoderError:
    message = _("The model %(name)s did not answer in time") % {"name": label_model(name)}
    return CrossEncoderError(message, code=UpstreamTimeoutError.code)


def _load(name: str) -> _LoadedModel:
    folder = find_folder(name)
    if folder is None:
        raise CrossEncoderError(_("The files of the model %(name)s are gone") % {"name": label_model(name)})
    key = str(folder)
    with _LOCK:
        loaded = _LOADED.get(key)
        if loaded is None:
            # One model is in use at a time: an operator who tries another one does not want to keep both.
            _LOADED.clear()
            loaded = _LOADED[key] = _read_model(name, folder)
        return loaded


def _read_model(name: str, folder: Path) -> _LoadedModel:
    try:
        # Here and nowhere else: both take seconds and hundreds of megabytes.
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError:
        raise CrossEncoderError(
            _("sentence-transformers is not installed: %(command)s") % {"command": INSTALL_LINE}
        ) from None
    try:
        torch.set_num_threads(settings.MEMORY_TRANSFORMERS_THREADS)
        model = CrossEncoder(str(folder), device="cpu", local_files_only=True, model_kwargs={"use_safetensors": True})
    except Exception as error:  # noqa: BLE001 - the libraries raise whatever they come upon in the files
        log.warning("embeddings.cross_encoder.not_loaded", model=label_model(name), error=type(error).__name__)
        raise CrossEncoderError(_("The model %(name)s could not be loaded") % {"name": label_model(name)}) from None
    # Some models bring a sigmoid of their own and some none: raw numbers are the same from all.
    raw = torch.nn.Identity()
    return _LoadedModel(lambda pairs: model.predict(pairs, activation_fn=raw, show_progress_bar=False))


@cache
def _get_pool() -> ThreadPoolExecutor:
    """One thread: two models at once would slow each other down, and who waits too long keeps its first order."""
    return ThreadPoolExecutor(1, thread_name_prefix="cross-encoder")
