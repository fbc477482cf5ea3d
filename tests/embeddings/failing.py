"""Asking an embedding API that fails: the error it ends with, which tells nothing that is nobody's business."""

import pytest

from embeddings.base import EmbeddingConfig, EmbeddingError
from embeddings.resolver import embed_query
from tests.embeddings.stub_api import StubApi

KEY = "sk-secret-9876543210"


def fail(config: EmbeddingConfig, text: str = "one") -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        embed_query(config, text, timeout_seconds=2.0)
    return caught.value


def assert_clean(error: EmbeddingError, api: StubApi) -> None:
    for secret in (KEY, api.url, str(api.port), "127.0.0.1", "Traceback", "upstream-body"):
        assert secret not in error.message
