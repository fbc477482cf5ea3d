"""What an embedding is, who makes one, and how making one can fail. No network, no model library, no database."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from core.errors import UpstreamError
from core.words import gettext as _

SourceName = Literal["remote", "static", "transformers"]
SourceChoice = Literal["remote", "static", "transformers", "auto"]
Reason = Literal["no_key", "model_load_failed", "request_failed", "rate_limited", "timeout", "unknown"]
# Some models embed a question otherwise than what is to be found by it.
Purpose = Literal["query", "document"]
Vector = NDArray[np.float32]

NO_SIGNATURE: Final = "null:null:null"
# Below this length a vector is rounding noise; dividing by it would make a direction out of nothing.
MIN_LENGTH: Final = 1e-12
MAX_DIMENSIONS: Final = 65_536


@dataclass(frozen=True)
class EmbeddingConfig:
    """What an operator chose, as `memory` reads it from its settings. `provider_model` is `provider/model`.

    `local_model` is set by `embeddings.resolver.pin` alone: a static or transformers model to use in place of the
    one that the environment names.
    """

    source: SourceChoice
    provider_model: str | None
    custom_base_url: str | None
    custom_model_id: str | None
    transformers_enabled: bool
    static_enabled: bool
    local_model: str | None = None


@dataclass(frozen=True)
class EmbeddingResolution:
    """Which source a configuration comes to, told without loading a model or asking the network.

    `signature` is `source:model:dimensions`, a part that isn't known is `null`; vectors of different signatures
    must never meet in one index. `failure` is None when the source can be asked now, else why it can't; `reason`
    says either in a sentence for people. A source that can't be asked for lack of a key or a package keeps its
    signature, so that nobody takes that for another model.
    """

    source: SourceName | None
    model: str | None
    dimensions: int | None
    signature: str
    reason: str
    failure: Reason | None = None

    @property
    def is_available(self) -> bool:
        return self.source is not None and self.failure is None

    def with_dimensions(self, dimensions: int) -> "EmbeddingResolution":
        """Return the same with a width that was measured, here or when an index was built."""
        signature = f"{self.signature.rpartition(':')[0]}:{dimensions}"
        return replace(self, dimensions=dimensions, signature=signature)

    def agrees_with(self, signature: str) -> bool:
        """Say whether vectors under `signature` are of this model; a width not known yet agrees with any."""
        model, _, dimensions = self.signature.rpartition(":")
        other_model, _, other_dimensions = signature.rpartition(":")
        is_same_width = dimensions == other_dimensions or "null" in (dimensions, other_dimensions)
        return model == other_model and is_same_width


class EmbeddingError(UpstreamError):
    """No vector, and why. `message` is for operators: it never holds a URL, a key or what a provider answered.

    Raised when the source failed, and handed out in place of a vector when a text got none. `is_outage` tells the
    two apart also where the second is due to the first: then the text is not at fault and may be tried later.
    """

    code = "embedding_failed"

    def __init__(
        self, source: SourceName, model: str | None, reason: Reason, message: str, *, is_outage: bool = True
    ) -> None:
        super().__init__(message)
        self.is_outage = is_outage
        self.source = source
        self.model = model
        self.reason = reason


@dataclass(frozen=True)
class Embedding:
    """A vector of length 1 (read-only float32, shape `(dimensions,)`) and where it is from.

    `signature` is that of the model that made it. From the cache, `cached` is true and `latency_ms` 0.
    """

    vector: Vector = field(repr=False)
    source: SourceName
    model: str
    dimensions: int
    signature: str
    latency_ms: float
    cached: bool


class EmbeddingSource(Protocol):
    """Makes vectors. Safe to use from several threads."""

    @property
    def resolution(self) -> EmbeddingResolution:
        """What it is; `dimensions` is known at the latest after the first vector."""

    @property
    def max_batch(self) -> int:
        """How many texts one call should hold at most."""

    @property
    def max_batch_tokens(self) -> int:
        """How many tokens (as `embeddings.texts` guesses them) one call should hold; a longer text goes alone."""

    @property
    def tells_purposes_apart(self) -> bool:
        """Whether the same text gives another vector as a query than as a document."""

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout_seconds: float) -> list[Vector | EmbeddingError]:
        """Return one checked vector, or why there is none, for each text in its order, within the time limit.

        Raises `EmbeddingError` when no text could be embedded because the source as a whole failed.
        """


class InvalidVectorError(ValueError):
    """What should be a vector can't be used as one."""


def check_vector(values: object, expected_dimensions: int | None) -> Vector:
    """Return `values` (a list of numbers or a one-dimensional float array) scaled to length 1, read-only.

    Raises `InvalidVectorError` for anything empty, of another width, not a number, not finite in float32, or zero.
    """
    numbers = _read_numbers(values)
    if not 0 < numbers.size <= MAX_DIMENSIONS:
        raise InvalidVectorError(_("the vector is empty") if not numbers.size else _("the vector is too wide"))
    if expected_dimensions is not None and numbers.size != expected_dimensions:
        raise InvalidVectorError(
            _("the vector has %(given)d dimensions instead of %(wanted)d")
            % {"given": numbers.size, "wanted": expected_dimensions}
        )
    # NaN compares false, so it fails here as well.
    if not bool(np.all(np.abs(numbers) <= np.finfo(np.float32).max)):
        raise InvalidVectorError(_("the vector holds a number that is not finite"))
    length = math.sqrt(float(np.dot(numbers, numbers)))
    if length < MIN_LENGTH:
        raise InvalidVectorError(_("the vector is zero"))
    vector: Vector = (numbers / length).astype(np.float32)
    vector.flags.writeable = False
    return vector


def _read_numbers(values: object) -> NDArray[np.float64]:
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "fiu":
            raise InvalidVectorError(_("the vector is no list of numbers"))
        return values.astype(np.float64)
    # By exact type: a bool is an int to Python, and numpy would read the text "0.1" as a number.
    if not isinstance(values, list | tuple) or not set(map(type, values)) <= {int, float}:
        raise InvalidVectorError(_("the vector is no list of numbers"))
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise InvalidVectorError(_("the vector holds a number that is not finite")) from None


def build_signature(source: SourceName, model: str, dimensions: int | None) -> str:
    return f"{source}:{model}:{'null' if dimensions is None else dimensions}"


def tell_failure(resolution: EmbeddingResolution) -> EmbeddingError:
    """Return the error that asking a source which is not available comes to."""
    return EmbeddingError(
        resolution.source or "remote", resolution.model, resolution.failure or "unknown", resolution.reason
    )
