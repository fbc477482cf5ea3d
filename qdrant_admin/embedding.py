"""Which embedding makes the points' vectors: from the setting `embeddingModel` to what `embeddings` understands."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings

from core.words import gettext as _
from embeddings.base import EmbeddingConfig
from embeddings.model_files import BUNDLED, label_model
from embeddings.resolver import list_embedding_providers, resolve
from qdrant_admin.config import DEFAULT_EMBEDDING_MODEL

# The value that asks for the memory's own embedding, whatever that is.
OWN: Final = "memory"
STATIC: Final = "static"
TRANSFORMERS: Final = "transformers"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A value for `embeddingModel`, and how it is called to people."""

    value: str
    label: str


def choose_embedding(model: str, own: EmbeddingConfig) -> EmbeddingConfig:
    """Return the configuration behind `model`; `own` is what the caller embeds with otherwise.

    The default model is a wish: where its provider has no key, `own` is taken, so that switching Qdrant on needs no
    account anywhere. Every other model is taken at its word, and can't be used where it can't be used.
    """
    if model == OWN:
        return own
    local = _choose_local(model)
    if local is not None:
        return local
    remote = _build("remote", provider_model=model)
    if model == DEFAULT_EMBEDDING_MODEL and not resolve(remote).is_available:
        return own
    return remote


def list_embedding_models(own: EmbeddingConfig) -> list[ModelChoice]:
    """Return what can be chosen, by value: models of providers that have a key, those of this machine, the default."""
    told = resolve(own)
    label: str = _("memory - what memories are embedded with otherwise: nothing yet")
    if told.model:
        label = _("memory - what memories are embedded with otherwise: %(model)s") % {"model": told.model}
    choices = [ModelChoice(OWN, label), *(_build_local(f"{STATIC}/{name}") for name in _list_static())]
    transformers = f"{TRANSFORMERS}/{label_model(settings.MEMORY_TRANSFORMERS_MODEL)}"
    choices.append(_build_local(transformers))
    for provider in list_embedding_providers():
        for model in provider.models:
            if provider.has_key or model.id == DEFAULT_EMBEDDING_MODEL:
                choices.append(ModelChoice(model.id, f"{model.id} - {model.name}"))
    return sorted(choices, key=lambda choice: choice.value)


def _build_local(value: str) -> ModelChoice:
    return ModelChoice(value, _("%(model)s - on this machine") % {"model": value})


def _choose_local(model: str) -> EmbeddingConfig | None:
    """A model of this machine by its label; only those that the environment names, since a label may be a path."""
    source, label = model.partition("/")[::2]
    if source == STATIC and label in _list_static():
        # The configured one may have to be fetched, or be stood in for; the bundled one is there.
        pinned = BUNDLED if label == BUNDLED != settings.MEMORY_STATIC_MODEL else None
        return _build(STATIC, static_enabled=True, local_model=pinned)
    if source == TRANSFORMERS and label == label_model(settings.MEMORY_TRANSFORMERS_MODEL):
        return _build(TRANSFORMERS, transformers_enabled=True)
    return None


def _list_static() -> list[str]:
    return list(dict.fromkeys([label_model(settings.MEMORY_STATIC_MODEL), BUNDLED]))


def _build(
    source: str,
    *,
    provider_model: str | None = None,
    static_enabled: bool = False,
    transformers_enabled: bool = False,
    local_model: str | None = None,
) -> EmbeddingConfig:
    return EmbeddingConfig(
        source="static" if source == STATIC else "transformers" if source == TRANSFORMERS else "remote",
        provider_model=provider_model,
        custom_base_url=None,
        custom_model_id=None,
        transformers_enabled=transformers_enabled,
        static_enabled=static_enabled,
        local_model=local_model,
    )
