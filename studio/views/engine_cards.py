"""The cards of the Engine page: what can be chosen, and how each choice stands."""

from dataclasses import dataclass, replace
from typing import Any, Final

from django.utils.translation import gettext as _

from core.providers.registry_models import RERANK_MODELS
from core.providers.routing import list_routes
from core.words import translate
from embeddings.base import EmbeddingConfig, EmbeddingResolution
from embeddings.resolver import list_embedding_providers, resolve
from memory.config import MemorySettings
from memory.coverage import Coverage, read_owner_coverage, read_type_coverage
from studio.owners import name_owners
from studio.views.engine_rows import make_sentence
from studio.wording import write_percent

MAX_OWNERS_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """One source to choose; `badge` tells in a word or two how it stands, `why_not` in a sentence."""

    value: str
    title: str
    help: str
    badge: str
    is_ready: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """`share` is the percentage that has a vector, as words and as the width of a bar of 100."""

    name: str
    coverage: Coverage
    share: str
    width: float


def list_sources(settings: MemorySettings) -> list[SourceChoice]:
    """Return the sources with what each would come to now: no network, no model is loaded."""
    config = settings.embedding
    return [
        _describe_auto(resolve(replace(config, source="auto"))),
        _describe(
            "remote",
            _("Provider"),
            _("A provider's model: the best quality, one network call for each text. Needs a key."),
            resolve(_strip_endpoint(config)),
        ),
        _describe(
            "static",
            _("Static model"),
            _("Runs here without a network: well under a millisecond a text, about 30 MB of memory."),
            resolve(replace(config, source="static", static_enabled=True)),
        ),
        _describe(
            "transformers",
            _("Transformers"),
            _("Runs here: better vectors, some 10 ms a text, about 440 MB of memory. An optional package."),
            resolve(replace(config, source="transformers", transformers_enabled=True)),
        ),
        _describe_custom(config),
    ]


def _strip_endpoint(config: EmbeddingConfig) -> EmbeddingConfig:
    return replace(config, source="remote", custom_base_url=None, custom_model_id=None)


def _describe_auto(resolution: EmbeddingResolution) -> SourceChoice:
    help = _(
        "The first that can be used, in this order: a custom endpoint, a provider with a key, then the static model "
        "and Transformers where they are allowed below."
    )
    if not resolution.is_available:
        return SourceChoice("auto", _("Auto"), help, _("finds none"), False, make_sentence(resolution.reason))
    badge = _("uses {model}").format(model=resolution.model or resolution.source)
    return SourceChoice("auto", _("Auto"), help, badge, True)


def _describe(value: str, title: str, help: str, resolution: EmbeddingResolution) -> SourceChoice:
    if resolution.is_available:
        return SourceChoice(value, title, help, _("ready"), True)
    badge = _("no key yet") if resolution.failure == "no_key" else _("not ready")
    reason = translate(resolution.reason).removeprefix("no_key: ")
    return SourceChoice(value, title, help, badge, False, make_sentence(reason))


def _describe_custom(config: EmbeddingConfig) -> SourceChoice:
    is_set = bool(config.custom_base_url and config.custom_model_id)
    help = _("Any server that speaks the OpenAI embeddings format, such as one of your own.")
    badge = _("set up") if is_set else _("2 fields")
    return SourceChoice("custom", _("Custom endpoint"), help, badge, is_set)


def list_embedding_models() -> list[str]:
    """Return the models of providers that have a key, to offer while typing."""
    return [model.id for provider in list_embedding_providers() if provider.has_key for model in provider.models]


def list_rerank_models() -> list[str]:
    """Return the rerank models of configured providers, to offer while typing."""
    configured = {route.provider for route in list_routes()}
    return [f"{name}/{model}" for name, models in RERANK_MODELS.items() if name in configured for model in models]


def build_coverage() -> dict[str, Any]:
    owners, count = read_owner_coverage(MAX_OWNERS_SHOWN)
    names = name_owners([coverage.name for coverage in owners])
    return {
        "owner_rows": [_build_coverage_row(item, names[item.name]) for item in owners],
        "type_rows": [_build_coverage_row(item, item.name) for item in read_type_coverage()],
        "more_owners": count - len(owners),
    }


def _build_coverage_row(coverage: Coverage, name: str) -> CoverageRow:
    width = round(100 * coverage.indexed / coverage.total, 1) if coverage.total else 0.0
    return CoverageRow(name, coverage, write_percent(coverage.indexed, coverage.total) or "–", width)
