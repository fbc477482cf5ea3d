"""Cases that other rooms test closer to their cause, here through the doors that a client and an operator use."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from core.db.sqlite.driver import DRIVER
from tests.live_server import Key, LiveServer, build_chat
from tests.upstream_replies import chat_answer, json_reply
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"
LABEL = "Memory context: "


def preview(server: LiveServer, key: Key, query: str, **fields: Any) -> dict[str, Any]:
    body = {"query": query, "apiKeyId": key.id, "limit": 100, **fields}
    answer = server.manage("POST", "/api/memory/retrieve-preview", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def list_injected(upstream: UpstreamStub) -> list[str]:
    """The lines of the block in the request that arrived last; none where it has no block."""
    first = upstream.last.messages[0]["content"]
    return first.removeprefix(LABEL).split("\n") if first.startswith(LABEL) else []


# --- RW-010 ---
@pytest.mark.parametrize("strategy", ["recent", "semantic", "hybrid", "adaptive"])
def test_rw_010_a_chat_without_words_is_passed_on(
    live_server_process: LiveServer, upstream: UpstreamStub, strategy: str
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.change_settings(strategy=strategy)
    server.remember(key, "I prefer dark mode")
    for words in ("???", " ", "🍕", "\u200b"):
        assert server.chat(key, words).status_code == 200
        assert upstream.last.messages[-1] == {"role": "user", "content": words}


# --- RW-014 ---
@pytest.fixture
def pizzas(live_server_process: LiveServer) -> tuple[Key, list[str], str]:
    """A key that knows five short things about pizza, a huge one, and one in signs of three and four bytes."""
    server, key = live_server_process, live_server_process.take_key()
    wide, huge = "pizza " + "披" * 300 + "🍕" * 50, ("pizza " + "y" * 73 + " ") * 500
    short = [f"pizza place number {number}" for number in range(5)]
    for content in (wide, *short, huge):
        server.remember(key, content)
    return key, short, huge


@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_rw_014_a_budget_is_counted_in_one_way(
    live_server_process: LiveServer, pizzas: tuple[Key, list[str], str], strategy: str
) -> None:
    key, short, huge = pizzas
    for budget in (1, 200, 400, 8000):
        told = preview(live_server_process, key, "pizza", strategy=strategy, maxTokens=budget)
        found = {item["content"]: item["tokens"] for item in told["memories"]}
        assert found and all(tokens == -(-len(content) // 4) for content, tokens in found.items())
        assert told["totalTokensUsed"] == sum(found.values())
        assert told["budgetMaxTokens"] == budget
        assert len(found) == 1 or told["totalTokensUsed"] <= budget
        if budget == 200:
            # The specification's rule stops at the huge one, which ranks first; `adaptive` passes over it.
            assert (set(short) < set(found)) if strategy == "adaptive" else (set(found) == {huge})


@pytest.mark.parametrize("strategy", ["hybrid", "adaptive"])
def test_rw_014_a_chat_carries_what_the_preview_shows(
    live_server_process: LiveServer, upstream: UpstreamStub, pizzas: tuple[Key, list[str], str], strategy: str
) -> None:
    server, (key, *_) = live_server_process, pizzas
    for budget in (1, 200, 8000):
        server.change_settings(strategy=strategy, maxTokens=budget)
        shown = preview(server, key, "pizza?", strategy=strategy, maxTokens=budget)["memories"]
        assert server.chat(key, "pizza?").headers["x-omniroute-memories-injected"] == str(len(shown))
        assert list_injected(upstream) == [item["content"].strip() for item in shown]


# --- RW-022 ---
@pytest.mark.parametrize("value", [" True ", "\t1\t", "  yes"])
def test_rw_022_spaces_around_the_value_do_not_count(
    live_server_process: LiveServer, upstream: UpstreamStub, value: str
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "I prefer dark mode")
    upstream.reply_with(json_reply(chat_answer("I prefer tea with milk.")))
    body = build_chat(key, "I prefer dark mode and coffee.")["json"]
    # httpx would not send such a value as it stands.
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", CHAT, json.dumps(body), {**key.headers, "x-omniroute-no-memory": value})
    assert connection.getresponse().status == 200
    connection.close()
    assert upstream.last.messages == body["messages"]
    assert server.list_contents(key) == ["I prefer dark mode"]


# --- RW-035 ---
def read_shadow_rows(server: LiveServer, *statements: str) -> tuple[int, ...]:
    connection = DRIVER.dbapi.connect(str(server.data_dir / "storage.sqlite"), timeout=10)
    try:
        for statement in statements:
            connection.execute(statement)
            connection.commit()
        tables = ("memory_fts_data", "memory_fts_idx", "memory_fts_docsize")
        return tuple(int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables)
    finally:
        connection.close()


def test_rw_035_chats_that_read_memories_leave_the_index_as_it_is(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    ids = [server.remember(key, f"pizza number {number}")["id"] for number in range(10)]
    server.wait_until_idle()
    before = read_shadow_rows(server)
    for _ in range(60):
        server.chat(key, "pizza?")
        assert len(list_injected(upstream)) == 10
    server.wait_until_idle()
    after = read_shadow_rows(server)
    assert all(abs(now - then) <= 2 for now, then in zip(after, before, strict=True))
    assert after[2] == before[2]
    for memory_id in ids:
        assert server.manage("DELETE", f"/api/memory/{memory_id}").status_code == 200
    sound = "INSERT INTO memory_fts(memory_fts, rank) VALUES ('integrity-check', 1)"
    assert read_shadow_rows(server, sound)[2] == before[2] - 10


# --- RW-076 ---
def store_codes(server: LiveServer, codes: dict[Key, int]) -> None:
    """One memory a key, under the same memory key and in the same session."""
    for key, code in codes.items():
        body = {"apiKeyId": key.id, "key": "code", "content": f"my locker code is {code}", "sessionId": "s"}
        assert server.manage("POST", "/api/memory", json=body).status_code == 200


def test_rw_076_no_word_of_a_chat_names_another_owner(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server = live_server_process
    ours, theirs = server.take_key(), server.take_key()
    store_codes(server, {ours: 1111, theirs: 2222})
    chat = build_chat(
        ours,
        "what is my locker code?",
        headers=[
            ("x-api-key-id", theirs.id),
            ("x-api-key", theirs.bare),
            ("x-omniroute-api-key-id", theirs.id),
            ("x-omniroute-session-id", "s"),
        ],
        user=theirs.id,
        apiKeyId=theirs.id,
        metadata={"apiKeyId": theirs.id, "user_id": theirs.id},
    )
    assert server.client.post(f"{CHAT}?apiKeyId={theirs.id}&key={theirs.bare}", **chat).status_code == 200
    assert list_injected(upstream) == ["my locker code is 1111"]
    assert "2222" not in upstream.last.body.decode()
    assert theirs.bare not in str(upstream.last.headers)

    server.run_command("revoke_api_key", theirs.id)
    assert server.chat(theirs, "what is my locker code?").status_code == 401
    server.chat(ours, "what is my locker code?")
    assert list_injected(upstream) == ["my locker code is 1111"]


def test_rw_076_mixed_chats_at_once_carry_their_own_memories(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server = live_server_process
    keys = {server.take_key(): code for code in (1111, 2222)}
    store_codes(server, keys)
    asked = list(keys.items()) * 50
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda pair: server.chat(pair[0], f"I am {pair[1]}: what is my locker code?"), asked))
    assert {answer.status_code for answer in answers} == {200}
    seen = [(sent.messages[0]["content"], sent.messages[1]["content"][:9]) for sent in upstream.requests]
    assert len(seen) == 100
    assert set(seen) == {(f"{LABEL}my locker code is {code}", f"I am {code}") for code in keys.values()}
