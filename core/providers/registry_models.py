"""Embedding and rerank models of the known providers, as literal tables.

Dimensions are what the provider answers by default; None is not known and is measured from the first vector.
"""

from typing import Final

EMBEDDING_MODELS: Final[dict[str, dict[str, int | None]]] = {
    "openai": {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    },
    "gemini": {
        "gemini-embedding-2": 3072,
        "gemini-embedding-2-preview": 3072,
        "gemini-embedding-001": 768,
    },
    "openrouter": {
        "openai/text-embedding-3-small": 1536,
        "openai/text-embedding-3-large": 3072,
        "qwen/qwen3-embedding-8b": 4096,
        "qwen/qwen3-embedding-4b": 2560,
        "baai/bge-m3": 1024,
        "mistralai/mistral-embed-2312": 1024,
        "google/gemini-embedding-001": 3072,
        "google/gemini-embedding-2": 3072,
        "google/gemini-embedding-2-preview": 3072,
    },
    "mistral": {"mistral-embed": 1024},
    "together": {
        "BAAI/bge-large-en-v1.5": 1024,
        "togethercomputer/m2-bert-80M-8k-retrieval": 768,
    },
    "fireworks": {
        "nomic-ai/nomic-embed-text-v1.5": 768,
        "accounts/fireworks/models/qwen3-embedding-8b": 4096,
    },
    "deepinfra": {
        "Qwen/Qwen3-Embedding-8B": 4096,
        "Qwen/Qwen3-Embedding-4B": 2560,
        "Qwen/Qwen3-Embedding-0.6B": 1024,
        "BAAI/bge-large-en-v1.5": 1024,
        "BAAI/bge-base-en-v1.5": 768,
        "BAAI/bge-m3": 1024,
        "intfloat/e5-large-v2": 1024,
        "thenlper/gte-large": 1024,
    },
    "nebius": {"Qwen/Qwen3-Embedding-8B": 4096},
    "nvidia": {"nvidia/nv-embedqa-e5-v5": 1024},
    "cohere": {
        "embed-v4.0": None,
        "embed-multilingual-v3.0": None,
        "embed-multilingual-v3.0-images": None,
        "embed-multilingual-light-v3.0": None,
        "embed-multilingual-light-v3.0-images": None,
    },
    "upstage": {"embedding-query": 4096, "embedding-passage": 4096},
    "vercel-ai-gateway": {
        "openai/text-embedding-3-small": 1536,
        "openai/text-embedding-3-large": 3072,
    },
    "nanogpt": {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072},
    "clova-studio": {"clova-embedding-v2": 1024},
    "voyage-ai": {
        "voyage-4-large": 1024,
        "voyage-4": 1024,
        "voyage-4-lite": 1024,
        "voyage-3-large": 1024,
        "voyage-3.5": 1024,
        "voyage-3.5-lite": 512,
        "voyage-multilingual-2": 1024,
        "voyage-code-3": 1024,
        "voyage-code-2": 1536,
        "voyage-finance-2": 1024,
        "voyage-law-2": 1024,
    },
    "jina-ai": {
        "jina-embeddings-v5-text-small": 1024,
        "jina-embeddings-v5-text-nano": 768,
        "jina-embeddings-v5-omni-small": 1024,
        "jina-embeddings-v5-omni-nano": 768,
        "jina-code-embeddings-1.5b": 1536,
        "jina-code-embeddings-0.5b": 896,
        "jina-embeddings-v4": 2048,
        "jina-clip-v2": 1024,
        "jina-colbert-v2": 128,
    },
    "mixedbread": {
        "mixedbread-ai/mxbai-embed-large-v1": 1024,
        "mixedbread-ai/deepset-mxbai-embed-de-large-v1": 1024,
    },
    "ollama-local": {"embeddinggemma": None, "nomic-embed-text": None, "bge-m3": None},
}

RERANK_MODELS: Final[dict[str, tuple[str, ...]]] = {
    "openrouter": ("cohere/rerank-4-pro", "cohere/rerank-4-fast", "cohere/rerank-v3.5"),
    "together": ("Salesforce/Llama-Rank-V2",),
    "fireworks": ("fireworks/nomic-rerank-v1", "fireworks/qwen3-reranker-8b"),
    "deepinfra": ("Qwen/Qwen3-Reranker-8B", "Qwen/Qwen3-Reranker-4B", "Qwen/Qwen3-Reranker-0.6B"),
    "nvidia": ("nvidia/nv-rerankqa-mistral-4b-v3",),
    "cohere": ("rerank-v4.0-pro", "rerank-v4.0-fast", "rerank-v3.5", "rerank-multilingual-v3.0"),
    "siliconflow": (
        "Qwen/Qwen3-Reranker-8B",
        "Qwen/Qwen3-Reranker-4B",
        "Qwen/Qwen3-Reranker-0.6B",
        "BAAI/bge-reranker-v2-m3",
    ),
    "voyage-ai": ("rerank-2.5", "rerank-2.5-lite"),
    "jina-ai": ("jina-reranker-v3", "jina-reranker-m0"),
}
