"""The memory settings section (contract 4, B2): fields, ranges, defaults and help texts in one table."""

from dataclasses import dataclass
from typing import Any, Literal

from core.runtime_settings import Section, SettingField
from core.words import gettext as _
from embeddings.base import EmbeddingConfig

SettingStrategy = Literal["recent", "semantic", "hybrid", "adaptive"]
STRATEGIES = ("recent", "semantic", "hybrid", "adaptive")
EMBEDDING_SOURCES = ("remote", "static", "transformers", "auto")
VECTOR_STORES = ("sqlite-vec", "qdrant", "auto")

MEMORY_SECTION = Section(
    "memory",
    (
        SettingField(
            "enabled",
            "memoryEnabled",
            "bool",
            False,
            _("Put memories into chat requests and take new facts out of them. Costs tokens on every request."),
        ),
        SettingField(
            "maxTokens",
            "memoryMaxTokens",
            "int",
            2000,
            _("Token budget for the memories put into one request; 0 turns injection and extraction off."),
            minimum=0,
            maximum=16000,
        ),
        SettingField(
            "retentionDays",
            "memoryRetentionDays",
            "int",
            30,
            _("Memories not stored or refreshed for this many days are no longer retrieved. They are not deleted."),
            minimum=1,
            maximum=365,
        ),
        SettingField(
            "strategy",
            "memoryStrategy",
            "choice",
            "hybrid",
            _(
                "How memories are chosen: recent (newest first), semantic (by meaning), hybrid (keywords and meaning "
                "by rank), adaptive (keywords, meaning, dates and neighbouring turns by score)."
            ),
            choices=STRATEGIES,
        ),
        SettingField(
            "skillsEnabled",
            "skillsEnabled",
            "bool",
            False,
            _("Kept for clients that know the setting; skills are no part of this server."),
        ),
        SettingField(
            "embeddingSource",
            "memoryEmbeddingSource",
            "choice",
            "auto",
            _(
                "Where vectors come from: a remote provider, a static model, sentence-transformers, or the first "
                "usable."
            ),
            choices=EMBEDDING_SOURCES,
        ),
        SettingField(
            "embeddingProviderModel",
            "memoryEmbeddingProviderModel",
            "text",
            None,
            _("Remote embedding model as provider/model."),
            nullable=True,
            aliases=("memoryEmbeddingModel",),
        ),
        SettingField(
            "customBaseUrl",
            "memoryEmbeddingCustomBaseUrl",
            "text",
            None,
            _("Base URL of an OpenAI-compatible embedding server of your own."),
            nullable=True,
        ),
        SettingField(
            "customModelId",
            "memoryEmbeddingCustomModelId",
            "text",
            None,
            _("Model name to ask that server for."),
            nullable=True,
        ),
        SettingField(
            "transformersEnabled",
            "memoryTransformersEnabled",
            "bool",
            False,
            _("Allow the sentence-transformers model (about 440 MB of memory)."),
        ),
        SettingField("staticEnabled", "memoryStaticEnabled", "bool", False, _("Allow the static model (small, fast).")),
        SettingField(
            "rerankEnabled",
            "memoryRerankEnabled",
            "bool",
            False,
            _("Let a rerank model reorder the best candidates before the budget is spent."),
        ),
        SettingField(
            "rerankProviderModel",
            "memoryRerankProviderModel",
            "text",
            None,
            _("Rerank model as provider/model."),
            nullable=True,
            aliases=("memoryRerankModel",),
        ),
        SettingField(
            "vectorStore",
            "memoryVectorStore",
            "choice",
            "auto",
            _("Where vectors live; auto means sqlite-vec."),
            choices=VECTOR_STORES,
        ),
        SettingField(
            "primaryBackend",
            "memoryPrimaryBackend",
            "text",
            "sqlite",
            _("The backend that stores memories."),
        ),
        SettingField(
            "fallbackBackends",
            "memoryFallbackBackends",
            "text_list",
            [],
            _("Backends that are asked, in this order, where the primary fails or has no such memory."),
        ),
        SettingField(
            "backendConfigs",
            "memoryBackendConfigs",
            "object",
            {},
            _("Configuration of each backend, by its id."),
        ),
        SettingField("autoSummarize", "memoryAutoSummarize", "bool", False, _("Compact old memories on a schedule.")),
        SettingField(
            "autoSummarizeOlderThanDays",
            "memoryAutoSummarizeOlderThanDays",
            "int",
            30,
            _("Age in days from which the schedule compacts memories."),
            minimum=1,
            maximum=365,
        ),
        SettingField(
            "extractionEnabled",
            "memoryExtractionEnabled",
            "bool",
            True,
            _("Take facts out of conversations; acts only while memory is enabled."),
        ),
        SettingField(
            "injectionEnabled",
            "memoryInjectionEnabled",
            "bool",
            True,
            _("Put memories into requests; acts only while memory is enabled."),
        ),
    ),
)


@dataclass(frozen=True)
class MemorySettings:
    """The section as typed values; names are the wire names in snake case. Backends' configs stay in the rows."""

    enabled: bool
    max_tokens: int
    retention_days: int
    strategy: SettingStrategy
    embedding: EmbeddingConfig
    rerank_enabled: bool
    rerank_provider_model: str | None
    vector_store: str
    extraction_enabled: bool
    injection_enabled: bool
    primary_backend: str = "sqlite"
    fallback_backends: tuple[str, ...] = ()

    @property
    def injects(self) -> bool:
        return self.enabled and self.injection_enabled and self.max_tokens > 0

    @property
    def extracts(self) -> bool:
        """A budget of 0 switches extraction off too: the contract has it as "memory off"."""
        return self.enabled and self.extraction_enabled and self.max_tokens > 0


def load_settings() -> MemorySettings:
    """Read the section from the database; every call sees the last saved values."""
    values: dict[str, Any] = MEMORY_SECTION.read()
    return MemorySettings(
        enabled=values["enabled"],
        max_tokens=values["maxTokens"],
        retention_days=values["retentionDays"],
        strategy=values["strategy"],
        embedding=EmbeddingConfig(
            source=values["embeddingSource"],
            provider_model=values["embeddingProviderModel"],
            custom_base_url=values["customBaseUrl"],
            custom_model_id=values["customModelId"],
            transformers_enabled=values["transformersEnabled"],
            static_enabled=values["staticEnabled"],
        ),
        rerank_enabled=values["rerankEnabled"],
        rerank_provider_model=values["rerankProviderModel"],
        vector_store=values["vectorStore"],
        extraction_enabled=values["extractionEnabled"],
        injection_enabled=values["injectionEnabled"],
        primary_backend=values["primaryBackend"],
        fallback_backends=tuple(values["fallbackBackends"]),
    )
