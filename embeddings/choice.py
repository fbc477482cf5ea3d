"""From a configuration to the one source that counts (contract 10 and B7). No network, no model is loaded.

The answer depends on settings, keys and files only. What a provider said lately has no say in it: a rate limit
that changed the source would change the signature, and with it throw a whole index away.
"""

from dataclasses import dataclass, replace

from core.words import gettext as _
from embeddings.base import (
    NO_SIGNATURE,
    EmbeddingConfig,
    EmbeddingResolution,
    EmbeddingSource,
    Reason,
    tell_failure,
)
from embeddings.custom import resolve_custom
from embeddings.providers import find_first_keyed, resolve_provider_model
from embeddings.remote import RemoteEndpoint, RemoteSource
from embeddings.static import StaticChoice, StaticSource, choose_static
from embeddings.transformers import TransformersChoice, TransformersSource, choose_transformers

Chosen = RemoteEndpoint | StaticChoice | TransformersChoice


@dataclass(frozen=True)
class Choice:
    """What a configuration comes to; `chosen` is None when there is nothing to ask."""

    resolution: EmbeddingResolution
    chosen: Chosen | None

    def open(self) -> EmbeddingSource:
        """Return the source; raises `EmbeddingError` when it is not available. Loads nothing yet."""
        if self.chosen is None or not self.resolution.is_available:
            raise tell_failure(self.resolution)
        if isinstance(self.chosen, StaticChoice):
            return StaticSource(self.chosen)
        if isinstance(self.chosen, TransformersChoice):
            return TransformersSource(self.chosen)
        return RemoteSource(self.chosen)


def choose(config: EmbeddingConfig) -> Choice:
    match config.source:
        case "remote":
            return _choose_remote(config)
        case "static" if config.static_enabled:
            return _wrap(choose_static(config.local_model))
        case "transformers" if config.transformers_enabled:
            return _wrap(choose_transformers(config.local_model))
        case "auto":
            return _choose_auto(config)
    told = _("the source %(source)s is chosen but not enabled (%(source)sEnabled)")
    return _none(told % {"source": config.source})


def pin(config: EmbeddingConfig) -> EmbeddingConfig:
    """Return a configuration that comes to the source and model of now, whatever is preferred later.

    For an index that goes on answering while another one is built. Returns `config` when it comes to nothing.
    """
    chosen = choose(config).chosen
    if isinstance(chosen, StaticChoice):
        return replace(config, source="static", static_enabled=True, local_model=chosen.name)
    if isinstance(chosen, TransformersChoice):
        return replace(config, source="transformers", transformers_enabled=True, local_model=chosen.name)
    if isinstance(chosen, RemoteEndpoint) and not _wants_custom(config):
        return replace(config, source="remote", provider_model=chosen.provider_model)
    return replace(config, source="remote") if chosen else config


def _choose_auto(config: EmbeddingConfig) -> Choice:
    """A server of one's own, then the chosen provider model, then the first provider with a key, then what is on
    this machine."""
    if _wants_custom(config):
        return _choose_remote(config)
    if config.provider_model:
        choice = _wrap(resolve_provider_model(config.provider_model))
        if choice.resolution.is_available:
            return choice
    keyed = find_first_keyed()
    if keyed is not None:
        return _wrap(keyed)
    if config.static_enabled:
        return _wrap(choose_static(config.local_model))
    if config.transformers_enabled:
        return _wrap(choose_transformers(config.local_model))
    return _none(
        _("no embedding source: no provider has a key, and neither the static nor the transformers model is enabled")
    )


def _choose_remote(config: EmbeddingConfig) -> Choice:
    if _wants_custom(config):
        return _wrap(resolve_custom((config.custom_base_url or "").rstrip("/"), config.custom_model_id or ""))
    if config.custom_base_url or config.custom_model_id:
        return _none(_("a custom embedding endpoint needs both customBaseUrl and customModelId"))
    if not config.provider_model:
        return _none(_("no_key: no embedding model is chosen (embeddingProviderModel)"), "no_key")
    return _wrap(resolve_provider_model(config.provider_model))


def _wants_custom(config: EmbeddingConfig) -> bool:
    return bool(config.custom_base_url and config.custom_model_id)


def _wrap(found: Chosen | EmbeddingResolution) -> Choice:
    if isinstance(found, EmbeddingResolution):
        return Choice(found, None)
    return Choice(found.resolution, found)


def _none(reason: str, failure: Reason = "unknown") -> Choice:
    return Choice(EmbeddingResolution(None, None, None, NO_SIGNATURE, reason, failure), None)
