"""What the settings are called, in which groups they stand, and what is known of each strategy."""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True, slots=True)
class Group:
    """A card of the page. `names` are the settings in it, in order."""

    id: str
    title: Words
    help: Words
    names: tuple[str, ...]


# Settings that no group names stand in the last one, so that a new one is never missing from the page.
MEMORY_GROUPS: Final = (
    Group(
        "use",
        _("What is injected and learned"),
        "",
        ("enabled", "injectionEnabled", "extractionEnabled", "maxTokens", "retentionDays"),
    ),
    Group("strategy", _("Strategy"), _("How memories are chosen."), ("strategy",)),
    Group(
        "embeddings",
        _("Embeddings and vectors"),
        _("Another model has its index built beside the old one, which answers until the new one is whole."),
        (
            "embeddingSource",
            "embeddingProviderModel",
            "customBaseUrl",
            "customModelId",
            "staticEnabled",
            "transformersEnabled",
            "vectorStore",
        ),
    ),
    Group("rerank", _("Reranking"), "", ("rerankEnabled", "rerankProviderModel")),
    Group("compaction", _("Compaction"), "", ("autoSummarize", "autoSummarizeOlderThanDays")),
    Group(
        "storage",
        _("Where memories live"),
        _("The database of this server, or another service. Fallbacks answer when the primary can't."),
        ("primaryBackend", "fallbackBackends", "backendConfigs"),
    ),
)
OTHER_GROUP_ID: Final = "other"
OTHER_GROUP_TITLE: Final = _("Other")
REQUEST_GROUP: Final = Group(
    "requests",
    _("Request log"),
    _("What the Requests page can show, and for how long."),
    ("requestLogDays", "requestLogText", "requestLogTextHours"),
)

LABELS: Final[dict[str, Words]] = {
    "enabled": _("Memory"),
    "injectionEnabled": _("Inject"),
    "extractionEnabled": _("Learn"),
    "maxTokens": _("Token budget"),
    "retentionDays": _("Use for"),
    "strategy": _("Strategy"),
    "skillsEnabled": _("Skills"),
    "embeddingSource": _("Embedding source"),
    "embeddingProviderModel": _("Provider's model"),
    "customBaseUrl": _("Endpoint of your own"),
    "customModelId": _("Model there"),
    "staticEnabled": _("Static model"),
    "transformersEnabled": _("Transformers model"),
    "vectorStore": _("Vector store"),
    "rerankEnabled": _("Rerank"),
    "rerankProviderModel": _("Rerank model"),
    "autoSummarize": _("Compact by itself"),
    "autoSummarizeOlderThanDays": _("Compact what is older than"),
    "primaryBackend": _("Primary"),
    "fallbackBackends": _("Fallbacks"),
    "backendConfigs": _("Configuration"),
    "requestLogDays": _("Keep requests for"),
    "requestLogText": _("Keep what was said"),
    "requestLogTextHours": _("Erase text after"),
}
UNITS: Final[dict[str, Words]] = {
    "maxTokens": _("tokens"),
    "retentionDays": _("days"),
    "autoSummarizeOlderThanDays": _("days"),
    "requestLogDays": _("days"),
    "requestLogTextHours": _("hours"),
}
CHOICE_LABELS: Final[dict[str, Words]] = {
    "auto": _("Auto"),
    "remote": _("Provider, or an endpoint of your own"),
    "static": _("Static model"),
    "transformers": _("Transformers model"),
    "sqlite-vec": "sqlite-vec",
    "qdrant": "Qdrant",
}
# Fields of a backend's configuration; one that is not here is called by its own name.
BACKEND_LABELS: Final[dict[str, Words]] = {
    "baseUrl": _("Base URL"),
    "apiKey": _("API key"),
    "headers": _("Headers"),
    "timeout": _("Timeout, ms"),
    "folder": _("Folder"),
    "backendType": _("Kind of service"),
    "databaseId": _("Database"),
    "endpoints": _("Paths"),
    "queryParams": _("Query parameters"),
    "pathParams": _("Path parameters"),
    "updateMethod": _("Method of updates"),
}


@dataclass(frozen=True, slots=True)
class StrategyFacts:
    """What was measured, as in docs/benchmarks.md (LoCoMo turns, bundled model): shares in percent, median in ms."""

    name: str
    title: Words
    help: Words
    in_first_five: float | None = None
    within_budget: float | None = None
    median_ms: float | None = None
    is_recommended: bool = False


MEASURED_QUESTIONS: Final = 964
STRATEGY_FACTS: Final = (
    StrategyFacts(
        "adaptive",
        _("Adaptive"),
        _("Weighs words, meaning, dates and neighbouring turns by how telling they are for the API key."),
        75.4,
        92.6,
        2.2,
        is_recommended=True,
    ),
    StrategyFacts("hybrid", _("Hybrid"), _("Words and meaning count the same, by rank."), 45.7, 81.2, 4.7),
    StrategyFacts(
        "semantic", _("Semantic"), _("Meaning only. Finds other wordings, misses names and numbers."), 34.6, 73.0, 4.1
    ),
    StrategyFacts(
        "recent",
        _("Recent"),
        _("The newest first, whatever the question. Needs no index; there is nothing to measure it by."),
    ),
)
