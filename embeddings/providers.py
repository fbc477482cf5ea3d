"""Providers of the registry as embedding endpoints: which there are, which have a key, how each is asked."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from core.errors import AppError
from core.providers.registry import ECHO, PROVIDERS, find_provider
from core.providers.registry_models import EMBEDDING_MODELS
from core.providers.routing import Route, list_routes, resolve_route
from core.words import gettext as _
from embeddings.base import NO_SIGNATURE, EmbeddingResolution, Reason, build_signature
from embeddings.measurements import read_dimensions
from embeddings.remote import RemoteEndpoint
from embeddings.wire import WireOptions


@dataclass(frozen=True)
class EmbeddingModel:
    """A model that a provider embeds with; `id` is `provider/model`, `dimensions` None when not known."""

    id: str
    name: str
    dimensions: int | None


@dataclass(frozen=True)
class EmbeddingProvider:
    """A provider that embeds; `has_key` says that it can be asked, whatever it said lately."""

    provider: str
    has_key: bool
    models: tuple[EmbeddingModel, ...]


@dataclass(frozen=True)
class _Limits:
    """How many texts and (estimated) tokens a provider takes in one request."""

    texts: int = 64
    tokens: int = 20_000


_LIMITS: Final = {
    "cohere": _Limits(96, 40_000),
    "mistral": _Limits(64, 12_000),
    # On a machine of one's own, smaller requests are what keeps within the time limit.
    "lmstudio": _Limits(16, 6_000),
    "ollama-local": _Limits(16, 6_000),
    "vllm": _Limits(32, 12_000),
}
_COHERE: Final = WireOptions(
    form="cohere", purpose_field="input_type", purpose_words=("search_query", "search_document")
)
_VOYAGE: Final = WireOptions(purpose_field="input_type", purpose_words=("query", "document"))
_NVIDIA: Final = WireOptions(purpose_field="input_type", purpose_words=("query", "passage"))
_JINA: Final = WireOptions(purpose_field="task", purpose_words=("retrieval.query", "retrieval.passage"))
# Its own default is wider than what the registry, and so everybody's index, has.
_SHORTENED: Final = WireOptions(dimensions=768)


def list_embedding_providers() -> list[EmbeddingProvider]:
    """Return the registry's embedding providers in its order, then the configured ones that it doesn't know."""
    configured = {route.provider for route in list_routes() if route.provider != ECHO}
    known = {_canonical(provider) for provider in configured}
    listed = [
        EmbeddingProvider(provider.id, provider.id in known, _list_models(provider.id))
        for provider in PROVIDERS
        if provider.embeds
    ]
    others = sorted(name for name in configured if find_provider(name) is None)
    return [*listed, *(EmbeddingProvider(name, True, ()) for name in others)]


def resolve_provider_model(provider_model: str) -> RemoteEndpoint | EmbeddingResolution:
    """Return the endpoint of `provider/model`, or the resolution that says why it can't be asked.

    A bare model name is looked for among what the configured providers embed with.
    """
    provider, slash, model = provider_model.strip().partition("/")
    if not slash:
        provider, model = _find_seller(provider), provider
    if not provider or not model.strip():
        reason = _("the embedding model must be written as provider/model, such as openai/text-embedding-3-small")
        return EmbeddingResolution(None, None, None, NO_SIGNATURE, reason, "unknown")
    model = model.strip()
    try:
        return _build_endpoint(resolve_route(f"{provider}/{model}"))
    except AppError as error:
        is_unknown = error.code == "model_not_found"
        return _refuse(provider, model, "unknown" if is_unknown else "no_key", error)


def find_first_keyed() -> RemoteEndpoint | None:
    """Return the first provider of the registry that has a key and an embedding model, with its first model.

    A server on this machine needs no key, so it counts only once an operator has added it.
    """
    routes = {_canonical(route.provider): route for route in list_routes()}
    for provider in PROVIDERS:
        models = EMBEDDING_MODELS.get(provider.id)
        if provider.embeds and models and provider.id in routes:
            resolved = resolve_provider_model(f"{routes[provider.id].provider}/{next(iter(models))}")
            if isinstance(resolved, RemoteEndpoint):
                return resolved
    return None


def _build_endpoint(route: Route) -> RemoteEndpoint | EmbeddingResolution:
    provider = _canonical(route.provider)
    if provider == ECHO:
        reason = _("the built-in echo provider makes no embeddings")
        return EmbeddingResolution(None, None, None, NO_SIGNATURE, reason, "unknown")
    limits = _LIMITS.get(provider, _Limits())
    name = f"{provider}/{route.model}"
    dimensions = _find_dimensions(provider, route.model)
    return RemoteEndpoint(
        resolution=EmbeddingResolution(
            "remote",
            name,
            dimensions,
            build_signature("remote", name, dimensions),
            _("the provider %(name)s") % {"name": provider},
        ),
        provider_model=f"{route.provider}/{route.model}",
        model=route.model,
        base_url=route.base_url,
        api_key=route.api_key,
        peer=_("The provider %(name)s") % {"name": provider},
        refusal=_("The address of the provider %(provider)s is invalid or blocked") % {"provider": provider},
        wire=_choose_wire(provider, route.model),
        max_batch=limits.texts,
        max_batch_tokens=limits.tokens,
    )


def _refuse(provider: str, model: str, failure: Reason, error: AppError) -> EmbeddingResolution:
    if failure == "unknown":
        return EmbeddingResolution(None, None, None, NO_SIGNATURE, error.message, failure)
    name = f"{_canonical(provider)}/{model}"
    dimensions = _find_dimensions(_canonical(provider), model)
    signature = build_signature("remote", name, dimensions)
    return EmbeddingResolution(
        "remote", name, dimensions, signature, _("no_key: %(reason)s") % {"reason": error.message}, failure
    )


def _choose_wire(provider: str, model: str) -> WireOptions:
    if provider == "jina-ai" and model.startswith("jina-embeddings-v"):
        return _JINA
    if provider == "gemini" and model == "gemini-embedding-001":
        return _SHORTENED
    return {"cohere": _COHERE, "voyage-ai": _VOYAGE, "nvidia": _NVIDIA}.get(provider, WireOptions())


def _find_dimensions(provider: str, model: str) -> int | None:
    known = EMBEDDING_MODELS.get(provider, {}).get(model)
    return known or read_dimensions(build_signature("remote", f"{provider}/{model}", None))


def _find_seller(model: str) -> str:
    """Return the first configured provider that embeds with `model`, else ""."""
    routes: Iterable[Route] = list_routes()
    configured = {_canonical(route.provider): route.provider for route in routes}
    sellers = (provider.id for provider in PROVIDERS if model in EMBEDDING_MODELS.get(provider.id, {}))
    return next((configured[seller] for seller in sellers if seller in configured), "")


def _list_models(provider: str) -> tuple[EmbeddingModel, ...]:
    models = EMBEDDING_MODELS.get(provider, {})
    return tuple(EmbeddingModel(f"{provider}/{name}", name, width) for name, width in models.items())


def _canonical(provider: str) -> str:
    known = find_provider(provider)
    return known.id if known else provider.strip().lower()
