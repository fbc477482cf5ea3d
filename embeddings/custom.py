"""The embedding server that an operator runs: `customBaseUrl` and `customModelId`, OpenAI form, no key."""

from typing import Final
from urllib.parse import urlsplit

from core.errors import OutboundRefusedError
from core.outbound import check_url
from core.words import gettext as _
from embeddings.base import NO_SIGNATURE, EmbeddingResolution, build_signature
from embeddings.measurements import read_dimensions
from embeddings.remote import RemoteEndpoint
from embeddings.wire import WireOptions

PREFIX: Final = "memory-custom/"
PEER: Final = _("The custom embedding endpoint")
REFUSAL: Final = _("Custom embedding endpoint is invalid or blocked")
# One machine with one model: larger requests would only make it answer later than we wait.
MAX_BATCH: Final = 16
MAX_BATCH_TOKENS: Final = 6_000


def resolve_custom(base_url: str, model_id: str) -> RemoteEndpoint | EmbeddingResolution:
    """Return the endpoint, or the resolution that says why it can't be one. No network: the host's addresses are
    judged when it is asked."""
    model = f"{PREFIX}{model_id}"
    try:
        check_url(base_url)
    except OutboundRefusedError:
        return EmbeddingResolution(None, model, None, NO_SIGNATURE, REFUSAL, "request_failed")
    # The same model name on another host may be another model.
    signed = f"{model}@{urlsplit(base_url).netloc.lower()}"
    unmeasured = build_signature("remote", signed, None)
    dimensions = read_dimensions(unmeasured)
    signature = build_signature("remote", signed, dimensions)
    return RemoteEndpoint(
        resolution=EmbeddingResolution("remote", model, dimensions, signature, _("the custom embedding endpoint")),
        provider_model="",
        model=model_id,
        base_url=base_url,
        api_key="",
        peer=PEER,
        refusal=REFUSAL,
        wire=WireOptions(),
        max_batch=MAX_BATCH,
        max_batch_tokens=MAX_BATCH_TOKENS,
    )
