"""The tools over streamable HTTP, through the official SDK's client against a running server."""

import asyncio
import json

import pytest
from mcp_client import ADD, CLEAR, SEARCH, call, connect, read, read_refusal, talk

from tests.live_server import Key, LiveServer

MEMORY_FIELDS = {
    "id", "apiKeyId", "sessionId", "type", "key", "content", "metadata", "createdAt", "updatedAt", "expiresAt",
}  # fmt: skip


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_finds_the_three_tools_and_what_they_take(server: LiveServer, key: Key, mode: str) -> None:
    async def look(client):
        return client.server_info, (await client.list_tools()).tools

    info, tools = talk(server, key, look, mode)
    assert (info.name, info.version) == ("omniroute-memory", "0.1.0")
    assert [tool.name for tool in tools] == [SEARCH, ADD, CLEAR]
    search, add, clear = (tool.input_schema for tool in tools)
    assert set(search["properties"]) == {"apiKeyId", "query", "type", "maxTokens", "limit"}
    assert add["required"] == ["type", "key", "content"]
    assert set(clear["properties"]) == {"apiKeyId", "type", "olderThan", "confirm"}
    assert all(schema["additionalProperties"] is False for schema in (search, add, clear))
    assert [tool.annotations.destructive_hint for tool in tools] == [False, False, True]
    assert tools[0].annotations.read_only_hint


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_what_an_agent_adds_it_finds_and_clears(server: LiveServer, key: Key, mode: str) -> None:
    async def work(client):
        added = await client.call_tool(
            ADD,
            {"type": "factual", "key": "editor", "content": "Uses Vim", "sessionId": "s", "metadata": {"from": "chat"}},
        )
        found = await client.call_tool(SEARCH, {"query": "which editor, Vim?"})
        cleared = await client.call_tool(CLEAR, {"type": "factual"})
        return read(added), read(found), read(cleared), read(await client.call_tool(SEARCH, {"query": "Vim"}))

    added, found, cleared, after = talk(server, key, work, mode)
    memory = added["memory"]
    assert set(memory) == MEMORY_FIELDS
    assert (memory["apiKeyId"], memory["sessionId"], memory["metadata"]) == (key.id, "s", {"from": "chat"})
    assert found == {"memories": [memory], "count": 1, "totalTokens": 2}
    assert cleared["deletedCount"] == 1
    assert after == {"memories": [], "count": 0, "totalTokens": 0}


def test_the_text_of_a_result_is_pretty_json(server: LiveServer, key: Key) -> None:
    text = call(server, key, SEARCH).content[0].text
    assert text == json.dumps(json.loads(text), indent=2)


def test_an_agent_and_a_chat_share_the_memories_of_their_key(server: LiveServer, key: Key) -> None:
    read(call(server, key, ADD, type="factual", key="editor", content="Uses Vim"))
    assert [memory["content"] for memory in server.list_memories(key)] == ["Uses Vim"]


def test_the_same_key_is_stored_once(server: LiveServer, key: Key) -> None:
    first = read(call(server, key, ADD, type="factual", key="editor", content="Uses Vim"))["memory"]
    second = read(call(server, key, ADD, type="episodic", key="editor", content="Uses Emacs"))["memory"]
    assert second["id"] == first["id"]
    assert [memory["content"] for memory in server.list_memories(key)] == ["Uses Emacs"]


def test_budget_limit_and_type_narrow_a_search(server: LiveServer, key: Key) -> None:
    for number in range(6):
        server.remember(key, f"tea number {number}", type="factual" if number % 2 else "episodic")

    async def look(client):
        queries = ({"limit": 2}, {"maxTokens": 3}, {"maxTokens": 8}, {"type": "factual"})
        return [read(await client.call_tool(SEARCH, {"query": "tea", **narrow})) for narrow in queries]

    limited, one, two, factual = talk(server, key, look)
    assert limited["count"] == len(limited["memories"]) == 2
    assert (one["count"], one["totalTokens"]) == (1, 3)
    assert (two["count"], two["totalTokens"]) == (2, 6)
    assert {memory["type"] for memory in factual["memories"]} == {"factual"}
    assert factual["count"] == 3


def test_a_search_follows_the_strategy_of_the_settings(server: LiveServer, key: Key) -> None:
    server.remember(key, "tea")
    server.remember(key, "a bicycle")
    try:
        server.change_settings(strategy="recent", enabled=False)
        recent = read(call(server, key, SEARCH, query="tea"))
        server.change_settings(strategy="adaptive", maxTokens=0)
        adaptive = read(call(server, key, SEARCH, query="tea"))
    finally:
        server.change_settings(strategy="hybrid", maxTokens=2000)
    assert [memory["content"] for memory in recent["memories"]] == ["a bicycle", "tea"]
    assert [memory["content"] for memory in adaptive["memories"]] == ["tea"]


def test_two_agents_at_once_each_see_their_own(server: LiveServer) -> None:
    keys = [server.take_key(), server.take_key()]

    async def work(key: Key) -> list[str]:
        async with connect(server, key) as client:
            for number in range(8):
                content = f"tea {number} of {key.id}"
                read(await client.call_tool(ADD, {"type": "factual", "key": f"k{number}", "content": content}))
            found = read(await client.call_tool(SEARCH, {"query": "tea"}))
            return [memory["content"] for memory in found["memories"]]

    async def both() -> list[list[str]]:
        return await asyncio.gather(*(work(key) for key in keys))

    for key, contents in zip(keys, asyncio.run(both()), strict=True):
        assert sorted(contents) == [f"tea {number} of {key.id}" for number in range(8)]


def test_an_agent_with_half_the_rights_sees_half_the_tools(server: LiveServer, scoped_keys: dict[str, Key]) -> None:
    async def names(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    assert talk(server, scoped_keys["read:memory"], names) == [SEARCH]
    assert talk(server, scoped_keys["write:memory"], names) == [ADD, CLEAR]


def test_rw_082_scopes_are_the_keys_own_and_not_what_a_client_says(
    server: LiveServer, scoped_keys: dict[str, Key], raw
) -> None:
    reader, writer = scoped_keys["read:memory"], scoped_keys["write:memory"]
    refusals = [
        call(server, reader, ADD, type="factual", key="k", content="c"),
        call(server, reader, CLEAR, confirm=True),
        call(server, writer, SEARCH),
    ]
    assert all("scope" in read_refusal(result)[0] for result in refusals)
    claimed = raw(reader).call(
        ADD,
        arguments={"type": "factual", "key": "k", "content": "c"},
        _meta={"scopes": ["write:memory", "*"], "authInfo": {"scopes": ["admin"]}},
    )
    assert claimed["result"]["isError"]
    assert server.list_memories(reader) == []
    assert read(call(server, reader, SEARCH))["count"] == 0
    assert read(call(server, writer, ADD, type="factual", key="k", content="c"))
    assert read(call(server, writer, CLEAR, confirm=True))["deletedCount"] == 1


def test_a_key_for_memories_alone_can_not_chat(server: LiveServer, scoped_keys: dict[str, Key]) -> None:
    for key in scoped_keys.values():
        answer = server.chat(key, "hello")
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "missing_scope"


def test_rw_082_a_key_never_reaches_another_keys_memories(server: LiveServer, key: Key) -> None:
    other = server.take_key()
    server.remember(other, "the locker code is 2222")
    calls = [
        (SEARCH, {"query": "locker code"}),
        (ADD, {"type": "factual", "key": "code", "content": "9999"}),
        (CLEAR, {"confirm": True}),
        (CLEAR, {"type": "factual"}),
    ]
    for tool, arguments in calls:
        told = {
            json.dumps(read_refusal(call(server, key, tool, apiKeyId=named, **arguments))[0])
            for named in (other.id, "no-such-key", other.id.upper(), f"{other.id} ", "%", "health-check")
        }
        assert all("apiKeyId" in message for message in told)
        assert len({message for message in told if "reserved" not in message}) == 1, (
            "the refusal tells whether it exists"
        )
    assert [memory["content"] for memory in server.list_memories(other)] == ["the locker code is 2222"]
    assert read(call(server, key, SEARCH, query="locker code"))["count"] == 0
    assert read(call(server, key, SEARCH, apiKeyId=key.id))["count"] == 0


def test_rw_082_a_management_key_may_name_any_key(server: LiveServer, key: Key) -> None:
    manager = server.management_key
    stored = read(call(server, manager, ADD, apiKeyId=key.id, type="factual", key="k", content="tea"))["memory"]
    assert stored["apiKeyId"] == key.id
    assert read(call(server, manager, SEARCH, apiKeyId=key.id, query="tea"))["memories"] == [stored]
    assert read(call(server, manager, SEARCH, query="tea"))["count"] == 0
    assert read(call(server, manager, CLEAR, apiKeyId=key.id, confirm=True))["deletedCount"] == 1
