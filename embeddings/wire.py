"""The two forms in which embedding APIs are asked and answer. Pure: bytes in, bytes out."""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from core.words import gettext as _
from embeddings.base import Purpose

WireForm = Literal["openai", "cohere"]

# A base URL for the OpenAI form, or of an older API version, whose root the second version of Cohere's API shares.
_COHERE_SUFFIXES: Final = ("/compatibility/v1", "/v2/embed", "/v1", "/v2")
_FLOAT32_BYTES: Final = 4
# No model takes less: a smaller number in a refusal is about something else.
MIN_TOKEN_LIMIT: Final = 64
_TOO_LONG: Final = re.compile(
    r"context.{0,20}(?:length|window|size)|too long|too many tokens|too large|token limit|sequence length"
    r"|(?:maximum|max|exceed\w*|longer|limit)\b.{0,60}\b(?:tokens?|characters?|length)"
    r"|(?:tokens?|length|input)\b.{0,60}\b(?:maximum|exceed\w*|longer)",
    re.IGNORECASE | re.DOTALL,
)
_LIMIT: Final = re.compile(r"(?:max(?:imum)?|limit|up to|exceed\w*|than)\b\D{0,60}?(\d{2,6})\b", re.IGNORECASE)


@dataclass(frozen=True)
class WireOptions:
    """How one model is asked. `purpose_field` and `purpose_words` tell query and document apart where the model
    wants that; `dimensions` is sent only where the model's own default is another width than the registry's."""

    form: WireForm = "openai"
    purpose_field: str = ""
    purpose_words: tuple[str, str] = ("query", "document")
    dimensions: int | None = None


class UnusableAnswerError(ValueError):
    """An answer from which no vectors can be read; says what it was, as in "answered no JSON"."""


def build_url(base_url: str, form: WireForm) -> str:
    """Return where embeddings are posted to; `base_url` may already be that address."""
    base_url = base_url.rstrip("/")
    if form == "openai":
        return base_url if base_url.endswith("/embeddings") else f"{base_url}/embeddings"
    for suffix in _COHERE_SUFFIXES:
        if base_url.endswith(suffix):
            return f"{base_url.removesuffix(suffix)}/v2/embed"
    return f"{base_url}/v2/embed"


def build_body(model: str, texts: Sequence[str], purpose: Purpose, options: WireOptions) -> bytes:
    """Return the JSON of a request, without any null field: some servers refuse those."""
    body: dict[str, Any] = {"model": model}
    body["texts" if options.form == "cohere" else "input"] = list(texts)
    if options.form == "cohere":
        body["embedding_types"] = ["float"]
    if options.purpose_field:
        body[options.purpose_field] = options.purpose_words[0 if purpose == "query" else 1]
    if options.dimensions is not None:
        body["dimensions"] = options.dimensions
    return json.dumps(body, ensure_ascii=False).encode()


def read_vectors(body: bytes, count: int, form: WireForm) -> list[object]:
    """Return `count` values that should be vectors, in the order of the texts; `check_vector` judges each.

    Raises `UnusableAnswerError` when the answer as a whole is none: not JSON, an error, another number of items.
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise UnusableAnswerError(_("answered no JSON")) from None
    if not isinstance(told, dict):
        raise UnusableAnswerError(_("answered no JSON object"))
    vectors = _read_openai(told) if form == "openai" else _read_cohere(told)
    if len(vectors) != count:
        told = _("answered %(vectors)d vectors for %(texts)d texts")
        raise UnusableAnswerError(told % {"vectors": len(vectors), "texts": count})
    return vectors


def says_too_long(body: bytes) -> bool:
    """Say whether a refusal is about the length of a text."""
    return _TOO_LONG.search(body.decode("utf-8", "replace")) is not None


def read_token_limit(body: bytes) -> int | None:
    """Return the number of tokens that a refusal names as the most it takes, if it names one."""
    match = _LIMIT.search(body.decode("utf-8", "replace"))
    limit = int(match[1]) if match else 0
    return limit if limit >= MIN_TOKEN_LIMIT else None


def _read_openai(told: dict[str, Any]) -> list[object]:
    items = told.get("data")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UnusableAnswerError(_("answered no list of vectors"))
    vectors = [_decode(item.get("embedding")) for item in items]
    indexes = [item.get("index") for item in items]
    if all(index is None for index in indexes):
        return vectors
    if any(type(index) is not int for index in indexes) or sorted(indexes) != list(range(len(items))):
        raise UnusableAnswerError(_("answered vectors that belong to no text"))
    placed: list[object] = [None] * len(items)
    for index, vector in zip(indexes, vectors, strict=True):
        placed[index] = vector
    return placed


def _read_cohere(told: dict[str, Any]) -> list[object]:
    by_type = told.get("embeddings")
    vectors = by_type.get("float") if isinstance(by_type, dict) else by_type
    if not isinstance(vectors, list):
        raise UnusableAnswerError(_("answered no list of vectors"))
    return vectors


def _decode(embedding: object) -> object:
    """Turn base64 of little-endian float32 into an array; anything else, or what isn't that, stays as it is."""
    if not isinstance(embedding, str):
        return embedding
    try:
        raw = base64.b64decode(embedding, validate=True)
    except (binascii.Error, ValueError):
        return embedding
    return np.frombuffer(raw, dtype="<f4") if len(raw) % _FLOAT32_BYTES == 0 else embedding
