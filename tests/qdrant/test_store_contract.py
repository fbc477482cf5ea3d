"""Qdrant passes the contract of all vector stores over real HTTP.

Against the stand-in; with QDRANT_TEST_URL (and QDRANT_TEST_KEY) against a real server, in collections of its own
that are deleted afterwards. See docs/qdrant.md.
"""

import os
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from memory.vector_stores import qdrant
from memory.vector_stores.qdrant import QdrantStore
from memory.vector_stores.qdrant_reconciliation import reconcile
from qdrant_admin import lifecycle
from qdrant_admin.config import QdrantSettings, load_qdrant_settings
from qdrant_admin.models import Collection
from qdrant_admin.points import PointFilter, open_server
from tests.engine import do_jobs
from tests.memory.test_vector_stores import CONFIG, resolve_to
from tests.memory.vector_store_contract import DIMENSIONS, VectorStoreContract
from tests.qdrant.api import Api
from tests.qdrant.standin import QdrantStandIn

REAL_URL = os.environ.get("QDRANT_TEST_URL", "")
REAL_KEY = os.environ.get("QDRANT_TEST_KEY", "")


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Host and port of the server that the tests are to run against."""
    if REAL_URL:
        yield REAL_URL, urlsplit(REAL_URL).port or 6333
        return
    with QdrantStandIn() as standin:
        yield "127.0.0.1", standin.port


class QdrantContract(VectorStoreContract):
    quantization = "none"

    @pytest.fixture
    def store(self, db: None, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantStore]:
        # The stand-in's thousands of points take their time.
        monkeypatch.setattr(qdrant, "READ_SECONDS", 30.0)
        settings = QdrantSettings(
            enabled=True,
            host=address[0],
            port=address[1],
            api_key=REAL_KEY,
            api_key_fault="",
            collection=f"contract-{uuid.uuid4().hex[:8]}",
            embedding_model="memory",
            quantization=self.quantization,
        )
        server = open_server(settings)
        collection = lifecycle.open_target(settings, resolve_to("one"), CONFIG, head=0)
        lifecycle.ensure_collection(collection, settings, server, DIMENSIONS)
        yield QdrantStore(settings, collection)
        server.drop_collection(collection.name)
        assert Collection.objects.count() == 1


class TestQdrant(QdrantContract):
    pass


def test_the_whole_way_from_switching_on_to_another_model(api: Api, engine: None, address: tuple[str, int]) -> None:
    """Against a real server this is what shows that aliases, payload changes and indexes are asked for as it takes
    them."""
    alias = f"contract-{uuid.uuid4().hex[:8]}"
    api.set_qdrant(enabled=True, host=address[0], port=address[1], apiKey=REAL_KEY, collection=alias)
    server = open_server(load_qdrant_settings())
    try:
        tea, cats = api.remember("tea", sessionId="s1"), api.remember("cats", "B")
        do_jobs()
        assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant"
        assert api.list_found("tea", sessionId="s2") == []
        api.remember("tea", metadata={"said": "again"}, sessionId="s2")
        do_jobs()
        assert api.list_found("tea", sessionId="s2") == ["tea"]
        first = server.find_alias(alias)
        facts = server.read_collection(alias)
        assert facts is not None
        assert facts.indexed >= {"apiKeyId", "sessionId", "createdAtUnix", "expiresAtUnix"}
        server.delete(str(first), [cats["id"]])
        assert reconcile().missing == 1
        api.set_qdrant(embeddingModel="static/bundled", quantization="int8")
        do_jobs()
        assert server.find_alias(alias) != first
        assert server.count(alias, PointFilter()) == 2
        api.send("DELETE", f"/api/memory/{tea['id']}")
        do_jobs()
        assert server.count(alias, PointFilter()) == 1
        assert api.ask("POST", "/api/settings/qdrant/cleanup")["deletedCount"] == 0
    finally:
        for name in server.list_collections():
            if name.startswith(alias):
                server.drop_collection(name)


@pytest.mark.skipif(not REAL_URL, reason="the stand-in packs no vectors")
class TestQdrantInt8(QdrantContract):
    """With `rescore`, so that the order is that of the full vectors."""

    quantization = "int8"
