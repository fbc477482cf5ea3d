"""GET /api/memory: filters, pages, order and figures."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_api import Api, fields_of

from embeddings.cache import CacheStatistics
from memory import views
from memory.models import Memory

pytestmark = pytest.mark.django_db

MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


def store(count: int) -> None:
    """Memories that were all created at the same moment."""
    Memory.objects.bulk_create(
        Memory(uuid=str(uuid.uuid4()), type="factual", key=f"k{number}", content="c", created_at=MOMENT)
        for number in range(count)
    )


def test_an_empty_store_has_an_empty_page(api: Api) -> None:
    assert api.get("/api/memory").json() == {
        "data": [],
        "total": 0,
        "page": 1,
        "limit": 50,
        "totalPages": 0,
        "nextCursor": None,
        "stats": {
            "total": 0,
            "totalEntries": 0,
            "byType": {},
            "tokensUsed": 0,
            "hitRate": 0,
            "cacheStats": {"hits": 0, "misses": 0},
        },
        "cacheStats": {"hits": 0, "misses": 0},
    }


def test_a_page_counts_all_matches_and_their_types(api: Api) -> None:
    api.remember(key="a", type="episodic")
    api.remember(key="b")
    answer = api.get("/api/memory", {"limit": 1, "offset": 1}).json()
    assert (answer["total"], answer["page"], answer["limit"], answer["totalPages"]) == (2, 2, 1, 2)
    assert answer["stats"]["byType"] == {"episodic": 1, "factual": 1}
    assert answer["stats"]["total"] == answer["stats"]["totalEntries"] == 2
    assert [memory["key"] for memory in answer["data"]] == ["a"]


def test_tokens_are_narrowed_by_the_owner_only(api: Api) -> None:
    api.remember(apiKeyId="A", key="1", content="12345")  # 2 tokens
    api.remember(apiKeyId="A", key="2", content="1234", type="episodic")  # 1
    api.remember(apiKeyId="B", key="3", content="ąčęėįšųūž")  # 9 characters: 3
    assert api.get("/api/memory").json()["stats"]["tokensUsed"] == 6
    assert api.get("/api/memory?apiKeyId=A&type=episodic&q=zzz").json()["stats"]["tokensUsed"] == 3


def test_filters_narrow_the_list(api: Api) -> None:
    api.remember(key="a", apiKeyId="A", sessionId="s1", type="semantic", metadata={"category": "decision"})
    api.remember(key="b", apiKeyId="A", sessionId="s2", metadata={"category": "pattern"})
    api.remember(key="c", apiKeyId="B", sessionId="s1")

    def keys(**query: str) -> list[str]:
        return [memory["key"] for memory in api.get("/api/memory", query).json()["data"]]

    assert keys() == ["c", "b", "a"]
    assert keys(apiKeyId="A") == ["b", "a"]
    assert keys(sessionId="s1") == ["c", "a"]
    assert keys(type="semantic") == ["a"]
    assert keys(category="pattern") == ["b"]
    assert keys(apiKeyId="A", sessionId="s1", type="factual") == []
    assert keys(apiKeyId="", sessionId="", type="", category="", q="", limit="", page="", offset="") == [
        "c",
        "b",
        "a",
    ]
    assert keys(tokenBudget="5", apikeyid="A") == ["c", "b", "a"]


def test_the_text_filter_knows_unicode_and_takes_wildcards_as_letters(api: Api) -> None:
    api.remember(key="one", content="Pirmas ŽODIS čia")
    api.remember(key="two", content="100% wool")
    api.remember(key="three_x", content="a\\b")

    def keys(text: str) -> set[str]:
        return {memory["key"] for memory in api.get("/api/memory", {"q": text}).json()["data"]}

    assert keys("žodis") == {"one"}
    assert keys("  žodis  ") == {"one"}
    assert keys("%") == {"two"}
    assert keys("_") == {"three_x"}
    assert keys("\\") == {"three_x"}
    assert keys("THREE") == {"three_x"}
    assert keys("'; DROP TABLE memories; --") == set()


def test_the_hit_rate_is_that_of_the_cache(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr(views, "read_cache_statistics", lambda: CacheStatistics(hits=3, misses=1, size=2))
    answer = api.get("/api/memory").json()
    assert answer["stats"]["hitRate"] == 0.75
    assert answer["stats"]["cacheStats"] == answer["cacheStats"] == {"hits": 3, "misses": 1}


def test_expired_memories_are_listed(api: Api) -> None:
    api.remember(expiresAt=12345)
    assert api.get("/api/memory").json()["data"][0]["expiresAt"] == "1970-01-01T00:00:12.345Z"


@pytest.mark.parametrize("query", ["?q=", "?q=%20", "?q=%00"])
def test_rw_010_an_empty_text_filter_is_no_filter(api: Api, query: str) -> None:
    api.remember(key="a")
    api.remember(key="b")
    plain = api.get("/api/memory").json()
    assert api.get(f"/api/memory{query}").json() == plain


def test_rw_057_usual_paging_values_are_understood(api: Api) -> None:
    store(25)

    def page(query: str) -> tuple[int, int, int]:
        answer = api.get(f"/api/memory{query}")
        assert answer.status_code == 200, query
        told = answer.json()
        assert told["total"] == 25
        return len(told["data"]), told["page"], told["totalPages"]

    assert page("") == (25, 1, 1)
    assert page("?limit=1") == (1, 1, 25)
    assert page("?limit=100") == (25, 1, 1)
    assert page("?limit=200") == (25, 1, 1)
    assert page("?limit=10&page=3") == (5, 3, 3)
    assert page("?page=999") == (0, 999, 1)
    assert page("?limit=10&offset=24") == (1, 3, 3)
    assert page("?limit=10&offset=25") == (0, 3, 3)
    assert page("?offset=26") == (0, 1, 1)
    assert page("?limit=5&offset=5&page=3") == (5, 2, 5)
    assert page("?limit=5&offset=&page=3") == (5, 3, 5)
    assert page("?limit=&page=") == (25, 1, 1)


ODD_NUMBERS = [
    "-1", "abc", "10abc", "1.5", "1e3", "١٢", "²", "9223372036854775808", "99999999999999999999", "NaN", "+1",
    " 1", "0x10", "1_0", "null", "1,2", "\0", "9" * 10_000,
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_NUMBERS)
@pytest.mark.parametrize("name", ["limit", "page", "offset"])
def test_rw_057_odd_paging_values_are_refused_alike_for_all_names(api: Api, name: str, value: str) -> None:
    assert fields_of(api.get("/api/memory", {name: value})) == {name}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "page=0", "limit=201", "limit=1000000", "offset=9223372036854775807", "offset=-1"]
)
def test_rw_057_numbers_out_of_range_are_refused(api: Api, query: str) -> None:
    answer = api.get(f"/api/memory?{query}")
    assert fields_of(answer) == {query.partition("=")[0]}
    assert answer.json()["details"][0]["message"].startswith("Must be between")


@pytest.mark.parametrize("name", ["limit", "page", "offset", "apiKeyId", "sessionId", "type", "q", "category"])
def test_rw_057_a_parameter_that_is_given_twice_is_refused(api: Api, name: str) -> None:
    assert fields_of(api.get(f"/api/memory?{name}=10&{name}=20")) == {name}
    assert fields_of(api.get(f"/api/memory?{name}[]=10")) == {name}


def test_rw_058_equal_times_keep_one_order_over_all_pages(api: Api) -> None:
    store(60)

    def walk(name: str, positions: Any) -> list[str]:
        seen = []
        for position in positions:
            Memory.objects.filter(key=f"k{position % 60}").update(metadata={"touched": position})
            seen += [m["id"] for m in api.get("/api/memory", {"limit": 7, name: position}).json()["data"]]
        return seen

    walks = [walk("page", range(1, 10)), walk("offset", range(0, 60, 7))] * 2
    assert len(set(walks[0])) == len(walks[0]) == 60
    assert all(walk == walks[0] for walk in walks)


def test_rw_060_an_unknown_type_is_refused(api: Api) -> None:
    assert fields_of(api.get("/api/memory?type=facts")) == {"type"}
    assert fields_of(api.get("/api/memory?type=Factual")) == {"type"}


def test_rw_076_a_list_never_shows_another_owner(api: Api) -> None:
    api.remember(key="code", content="my locker code is 1111", apiKeyId="A", sessionId="s")
    api.remember(key="code", content="my locker code is 2222", apiKeyId="B", sessionId="s")

    def contents(owner: str) -> list[str]:
        return [memory["content"] for memory in api.get("/api/memory", {"apiKeyId": owner}).json()["data"]]

    assert contents("A") == ["my locker code is 1111"]
    for owner in ("A ", " A", "a", "%", "_", "A,B", "null", "['A','B']"):
        assert contents(owner) == [], owner
    assert len(contents("")) == 2
    assert fields_of(api.get("/api/memory?apiKeyId=A&apiKeyId=B")) == {"apiKeyId"}
    assert fields_of(api.get("/api/memory?apiKeyId[]=A&apiKeyId[]=B")) == {"apiKeyId"}
