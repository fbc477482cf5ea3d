"""The forms in which rerank APIs are asked and answer. Pure: values in, values out.

`standard` is Cohere's, which most speak: `{model, query, documents, top_n}`, answered by
`results[{index, relevance_score}]`. Voyage calls the number `top_k` and the list `data`; NVIDIA has passages and
logits; DeepInfra wants a query beside each document and answers with bare scores.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

from core.words import gettext as _

RerankForm = Literal["standard", "voyage", "nvidia", "deepinfra"]

# NVIDIA serves its rerankers from another host than the rest of its API.
NVIDIA_BASE_URL: Final = "https://integrate.api.nvidia.com/v1"
NVIDIA_RERANK_URL: Final = "https://ai.api.nvidia.com/v1/retrieval"
# Base URLs of Cohere's OpenAI form and of its older version lead to the same host as the second version.
_COHERE_SUFFIXES: Final = ("/compatibility/v1", "/v2/rerank", "/v1", "/v2")
_LISTS: Final = ("results", "data", "rankings")
_SCORES: Final = ("relevance_score", "logit", "score")


class UnusableAnswerError(ValueError):
    """An answer from which no relevance can be read; says what it did, as in "answered without a list of results"."""


def choose_form(provider: str) -> RerankForm:
    match provider:
        case "voyage-ai":
            return "voyage"
        case "nvidia":
            return "nvidia"
        case "deepinfra":
            return "deepinfra"
    return "standard"


def build_url(base_url: str, provider: str, model: str) -> str:
    """Return where `model` of `provider` is asked; `base_url` may already be that address."""
    base_url = base_url.rstrip("/")
    if provider == "deepinfra":
        return f"{base_url.removesuffix('/openai')}/inference/{quote(model)}"
    if provider == "nvidia":
        if base_url == NVIDIA_BASE_URL:
            return f"{NVIDIA_RERANK_URL}/{quote(model.replace('.', '_'))}/reranking"
        return base_url if base_url.endswith("/ranking") else f"{base_url}/ranking"
    if provider == "cohere":
        for suffix in _COHERE_SUFFIXES:
            if base_url.endswith(suffix):
                return f"{base_url.removesuffix(suffix)}/v2/rerank"
        return f"{base_url}/v2/rerank"
    return base_url if base_url.endswith("/rerank") else f"{base_url}/rerank"


def build_body(form: RerankForm, model: str, query: str, documents: Sequence[str]) -> bytes:
    return json.dumps(_build_request(form, model, query, documents), ensure_ascii=False).encode(errors="replace")


def _build_request(form: RerankForm, model: str, query: str, documents: Sequence[str]) -> dict[str, Any]:
    match form:
        case "deepinfra":
            return {"queries": [query] * len(documents), "documents": list(documents)}
        case "nvidia":
            passages = [{"text": document} for document in documents]
            return {"model": model, "query": {"text": query}, "passages": passages, "truncate": "END"}
        case "voyage":
            return {"model": model, "query": query, "documents": list(documents), "top_k": len(documents)}
    return {"model": model, "query": query, "documents": list(documents), "top_n": len(documents)}


def read_relevances(body: bytes, count: int) -> dict[int, float]:
    """Return the relevance of each document that the answer speaks of, by its index below `count`.

    Raises `UnusableAnswerError` for anything but a list in one of the known forms, and for an empty one.
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise UnusableAnswerError(_("answered with something else than JSON")) from None
    if not isinstance(told, dict):
        raise UnusableAnswerError(_("answered without a list of results"))
    entries = next((told[name] for name in _LISTS if isinstance(told.get(name), list)), None)
    if entries is None:
        relevances = _read_scores(told.get("scores"), count)
    else:
        relevances = dict(_read_entry(entry, count) for entry in entries)
        if len(relevances) != len(entries):
            raise UnusableAnswerError(_("answered with one document ranked twice"))
    if not relevances:
        raise UnusableAnswerError(_("answered with an empty list of results"))
    return relevances


def _read_scores(scores: Any, count: int) -> dict[int, float]:
    """DeepInfra's list: one number a document, in some versions inside another list for the query."""
    if isinstance(scores, list) and len(scores) == 1 and isinstance(scores[0], list):
        scores = scores[0]
    if not isinstance(scores, list):
        raise UnusableAnswerError(_("answered without a list of results"))
    if len(scores) != count:
        raise UnusableAnswerError(
            _("answered with %(scores)d scores for %(documents)d documents")
            % {"scores": len(scores), "documents": count}
        )
    return {index: _read_number(score) for index, score in enumerate(scores)}


def _read_entry(entry: Any, count: int) -> tuple[int, float]:
    if not isinstance(entry, dict):
        raise UnusableAnswerError(_("answered with a result that is no object"))
    index = entry.get("index")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
        raise UnusableAnswerError(_("answered with a result that belongs to no document"))
    return index, _read_number(next((entry[name] for name in _SCORES if name in entry), None))


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableAnswerError(_("answered with a relevance that is no number"))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UnusableAnswerError(_("answered with a relevance that is not finite"))
    return number
