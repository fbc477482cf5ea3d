"""Configurations as tests write them."""

from typing import Any

from embeddings.base import EmbeddingConfig


def build_config(
    source: Any = "remote",
    provider_model: str | None = None,
    custom: str | None = None,
    custom_model: str | None = None,
    *,
    static: bool = False,
    transformers: bool = False,
) -> EmbeddingConfig:
    return EmbeddingConfig(
        source=source,
        provider_model=provider_model,
        custom_base_url=custom,
        custom_model_id=custom_model,
        transformers_enabled=transformers,
        static_enabled=static,
    )
