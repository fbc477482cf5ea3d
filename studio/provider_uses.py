"""What would miss a provider that is removed: the settings whose models it serves, and the chats that went to it."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from gateway.statistics import count_calls
from memory.config import load_settings
from memory.qdrant_control import read_public_settings

DAYS_LOOKED_BACK: Final = 7


@dataclass(frozen=True, slots=True)
class ProviderUse:
    """`effect` says what happens once the provider is gone."""

    what: str
    model: str
    effect: str


def list_provider_uses(name: str) -> list[ProviderUse]:
    """Return the settings that name a model of the provider."""
    memory, qdrant = load_settings(), read_public_settings()
    embedding = memory.embedding
    # A local source, or an endpoint of one's own, goes before the provider's model.
    is_custom = bool(embedding.custom_base_url and embedding.custom_model_id)
    is_asked = embedding.source in ("auto", "remote") and not is_custom
    by_words = _("searches go by words, and new memories wait for their vector")
    named = (
        (_("Embedding source"), embedding.provider_model if is_asked else "", by_words),
        (_("Rerank"), memory.rerank_provider_model if memory.rerank_enabled else "", _("results keep their order")),
        ("Qdrant", qdrant.embedding_model if qdrant.enabled else "", _("searches go on without Qdrant")),
    )
    return [ProviderUse(what, model, effect) for what, model, effect in named if model and _is_of(model, name)]


def count_recent_calls(name: str) -> int:
    """Return how many chats of the last week the provider was asked for."""
    return count_calls(name, DAYS_LOOKED_BACK)


def _is_of(model: str, provider: str) -> bool:
    return model.partition("/")[0].lower() == provider
