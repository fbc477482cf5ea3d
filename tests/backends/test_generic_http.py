"""The wire of the generic backend: what it sends, what it makes of answers, and what it survives."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from memory.backends.base import BackendError, MemoryChanges
from memory.backends.generic_http import GenericMemoryBackend
from memory.records import MemoryDraft, MemoryFilter, SearchQuery
from tests.backends.conftest import generic_config
from tests.backends.rest_service import PREFIX, RestService

pytestmark = pytest.mark.django_db
MEMORY = {"id": "m1", "apiKeyId": "A", "sessionId": "", "type": "factual", "key": "k", "content": "c", "metadata": {}}


def open_backend(service: RestService, **fields: Any) -> GenericMemoryBackend:
    return GenericMemoryBackend(generic_config(service, **fields))


def search(backend: GenericMemoryBackend, **fields: Any) -> Any:
    return backend.search(SearchQuery("A", "tea", "hybrid", 30, **fields))


# --- what is sent ------------------------------------------------------------------------------------------


def test_paths_are_joined_to_the_base_path_and_begin_with_one_health_check(
    service: RestService, generic: GenericMemoryBackend
) -> None:
    generic.create(MemoryDraft("A", "k", "c"))
    generic.find_by_key("A", "k")
    assert [(seen.method, seen.path) for seen in service.seen] == [
        ("GET", f"{PREFIX}/health"),
        ("GET", f"{PREFIX}/memories"),
        ("POST", f"{PREFIX}/memories"),
        ("GET", f"{PREFIX}/memories"),
    ]


def test_every_endpoint_and_name_can_be_another(service: RestService) -> None:
    backend = open_backend(
        service,
        endpoints={"get": "/items/{uuid}/of/{unknown}", "search": "/find", "health": "/up"},
        pathParams={"id": "uuid"},
        queryParams={"query": "q", "apiKeyId": "owner", "limit": "top"},
    )
    service.reply_next += [JSONResponse({}), JSONResponse(MEMORY), JSONResponse([])]
    assert backend.get("m1") is not None
    search(backend)
    up, item, find = service.seen
    assert (up.path, item.path, find.path) == (
        f"{PREFIX}/up",
        f"{PREFIX}/items/m1/of/%7Bunknown%7D",
        f"{PREFIX}/find",
    )
    assert (find.query["q"], find.query["owner"], find.query["top"]) == ("tea", "A", "100")


def test_both_names_of_the_id_are_filled_in(service: RestService) -> None:
    backend = open_backend(service, endpoints={"delete": "/{id}/x/{memoryId}"})
    service.reply_next += [JSONResponse({}), Response(status_code=204)]
    assert backend.delete("m1") is True
    assert service.seen[-1].path == f"{PREFIX}/m1/x/m1"


@pytest.mark.parametrize(
    ("id", "sent"),
    [("../../admin", "..%2F..%2Fadmin"), ("..", "%2E%2E"), ("a?b#c d", "a%3Fb%23c%20d"), ("ä/", "%C3%A4%2F")],
)
def test_ids_are_encoded(service: RestService, generic: GenericMemoryBackend, id: str, sent: str) -> None:
    assert generic.get(id) is None
    assert generic.delete(id) is False
    assert {seen.path for seen in service.seen[1:]} == {f"{PREFIX}/memories/{sent}"}


def test_a_search_sends_all_it_knows_and_zero_is_a_value(service: RestService, generic: GenericMemoryBackend) -> None:
    search(generic, limit=0, max_tokens=0, session_id="s", type="episodic")
    assert service.seen[-1].query == {
        "query": "tea",
        "apiKeyId": "A",
        "limit": "0",
        "maxTokens": "0",
        "strategy": "hybrid",
        "type": "episodic",
        "sessionId": "s",
        "options": '{"retentionDays":30}',
    }


def test_a_list_asks_for_its_page_and_its_order(service: RestService, generic: GenericMemoryBackend) -> None:
    generic.list(MemoryFilter("A", "factual", "s"), limit=0, offset=0, order="-updated")
    assert service.seen[-1].query == {
        "apiKeyId": "A",
        "type": "factual",
        "sessionId": "s",
        "limit": "0",
        "offset": "0",
        "orderBy": "updatedAt",
        "orderDir": "desc",
    }


def test_an_update_sends_what_changes_by_the_method_that_is_set(service: RestService) -> None:
    for method in ("PATCH", "PUT"):
        backend = open_backend(service, updateMethod=method)
        stored = backend.create(MemoryDraft("A", method, "c", session_id="s"))
        backend.update(stored.id, MemoryChanges(content="d"))
        seen = service.seen[-1]
        assert (seen.method, seen.path) == (method, f"{PREFIX}/memories/{stored.id}")
        assert json.loads(seen.body) == {"content": "d"}


def test_the_key_is_a_bearer_token_whatever_the_headers_say(service: RestService) -> None:
    headers = {"AUTHORIZATION": "Basic eDp5", "X-Tenant": "t"}
    open_backend(service, headers=headers).health()
    assert service.seen[-1].headers["authorization"] == "Bearer rest-key-of-the-tests"
    assert service.seen[-1].headers["x-tenant"] == "t"
    open_backend(service, headers=headers, apiKey="").health()
    assert service.seen[-1].headers["authorization"] == "Basic eDp5"


# --- what is made of answers -------------------------------------------------------------------------------


def test_dates_are_moments_in_every_spelling(service: RestService, generic: GenericMemoryBackend) -> None:
    spelled = {"createdAt": 1700000000000, "updatedAt": "2023-11-14T23:13:20+01:00", "expiresAt": "2030-01-02T03:04:05"}
    service.reply_next += [JSONResponse({}), JSONResponse({**MEMORY, **spelled})]
    record = generic.get("m1")
    assert record is not None
    assert record.created_at == record.updated_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert record.expires_at == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: {"memory": it}, lambda it: {"data": it}])
def test_a_memory_may_be_wrapped(service: RestService, generic: GenericMemoryBackend, wrap: Any) -> None:
    service.reply_next += [JSONResponse({}), JSONResponse(wrap(MEMORY))]
    record = generic.get("m1")
    assert record is not None
    assert (record.content, record.owner) == ("c", "A")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (PlainTextResponse("<html>"), "no JSON"),
        (JSONResponse([]), "no memory"),
        (JSONResponse({"id": "x"}), "no memory"),
        (JSONResponse({**MEMORY, "id": ""}), "id can't be read"),
        (JSONResponse({**MEMORY, "content": 5}), "content can't be read"),
        (JSONResponse({**MEMORY, "type": "opinion"}), "type can't be read"),
        (JSONResponse({**MEMORY, "expiresAt": "soon"}), "expiresAt can't be read"),
        (JSONResponse({**MEMORY, "apiKeyId": 7}), "apiKeyId can't be read"),
        (JSONResponse({"error": "secret-words"}, 500), "HTTP 500"),
        (JSONResponse({"error": "404 not found"}, 500), "HTTP 500"),
        (JSONResponse({}, 401), "refuses the key"),
        (JSONResponse({}, 429), "too many requests"),
        (RedirectResponse("http://127.0.0.1:1/"), "redirect"),
    ],
)
def test_an_answer_that_makes_no_sense_is_told_in_words(
    service: RestService, generic: GenericMemoryBackend, answer: Response, told: str
) -> None:
    service.reply_next += [JSONResponse({}), answer]
    with pytest.raises(BackendError, match=told) as failure:
        generic.get("m1")
    assert "secret-words" not in failure.value.message
    assert "rest-key" not in failure.value.message


def test_an_answer_without_end_is_cut_off(
    service: RestService, generic: GenericMemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.backends.connection.MAX_ANSWER_BYTES", 1000)
    service.reply_next += [JSONResponse({}), JSONResponse({**MEMORY, "content": "x" * 2000})]
    with pytest.raises(BackendError, match="more than can be read"):
        generic.get("m1")


def test_memories_of_others_are_never_believed(service: RestService, generic: GenericMemoryBackend) -> None:
    """A service that takes no notice of apiKeyId must not open one owner's memories to another."""
    theirs = {**MEMORY, "id": "m2", "apiKeyId": "B"}
    answers = [JSONResponse({"memories": [theirs, MEMORY]}), *[JSONResponse([theirs, MEMORY]) for _ in range(9)]]
    service.reply_next += [JSONResponse({}), *answers]
    assert [hit.record.id for hit in search(generic).hits] == ["m1"]
    page = generic.list(MemoryFilter("A"), limit=9, offset=0)
    assert ([record.id for record in page.records], page.total) == (["m1"], 1)


def test_a_service_that_keeps_no_owner_gets_no_memory(service: RestService, generic: GenericMemoryBackend) -> None:
    replies = [{}, [], {**MEMORY, "apiKeyId": ""}, {}]
    service.reply_next += [JSONResponse(reply) for reply in replies]
    with pytest.raises(BackendError, match="does not keep a memory's apiKeyId"):
        generic.create(MemoryDraft("A", "k", "c"))
    assert (service.seen[-1].method, service.seen[-1].path) == ("DELETE", f"{PREFIX}/memories/m1")


def test_small_pages_are_gone_through_to_the_end(service: RestService, generic: GenericMemoryBackend) -> None:
    service.page_size = 2
    for number in range(7):
        generic.create(MemoryDraft("A", f"k{number}", "c"))
    assert generic.count(MemoryFilter("A", text="c")) == {"factual": 7}


def test_a_service_that_gives_its_own_ids_keeps_one_copy(service: RestService, generic: GenericMemoryBackend) -> None:
    service.keeps_ids = False
    record = open_backend(service).create(MemoryDraft("A", "k", "c"))
    service.memories.clear()
    generic.put(record)
    generic.put(record)
    [copy] = service.memories.values()
    assert (copy["id"] != record.id, copy["content"]) == (True, "c")


def test_a_service_that_takes_no_ids_is_asked_again_without(
    service: RestService, generic: GenericMemoryBackend
) -> None:
    record = generic.create(MemoryDraft("A", "k", "c"))
    service.memories.clear()
    missing = JSONResponse({}, 404)
    service.reply_next += [missing, JSONResponse([]), JSONResponse({"error": "unknown field id"}, 400)]
    generic.put(record)
    [copy] = service.memories.values()
    assert (copy["id"] != record.id, copy["content"]) == (True, "c")


# --- when it fails -----------------------------------------------------------------------------------------


def test_the_first_failure_is_not_the_last_word(service: RestService, generic: GenericMemoryBackend) -> None:
    service.is_down = True
    for _ in range(2):
        with pytest.raises(BackendError, match="The backend generic answered HTTP 503"):
            generic.get("m1")
    service.is_down = False
    assert generic.get("m1") is None
    assert generic.health().is_ok


def test_a_slow_service_is_given_up_in_time(service: RestService) -> None:
    backend = open_backend(service, timeout=100)
    service.delay_seconds = 0.5
    with pytest.raises(BackendError, match="did not answer in time"):
        backend.get("m1")
    assert backend.health().is_ok is False


def test_a_service_without_a_health_route_is_checked_by_its_list(service: RestService) -> None:
    backend = open_backend(service, endpoints={"health": ""})
    assert backend.health().is_ok
    assert service.seen[-1].path == f"{PREFIX}/memories"


def test_addresses_that_nobody_may_reach_are_refused(db: None, settings: Any) -> None:
    backend = GenericMemoryBackend({"baseUrl": "http://169.254.169.254/latest"})
    assert "blocked by the outbound policy" in (backend.health().error or "")
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    backend = GenericMemoryBackend({"baseUrl": "http://127.0.0.1:9"})
    assert "blocked by the outbound policy" in (backend.health().error or "")
