"""`manage.py mcp`: the tools over standard input and output, through the SDK's client and line by line."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_client import ADD, CLEAR, SEARCH, read, read_refusal

from tests.live_server import ROOT, Key, LiveServer


def start(server: LiveServer, *options: str, **environment: str) -> subprocess.Popen[str]:
    """The command with its input open."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "mcp", *options],
        cwd=ROOT,
        env={**server.environment, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def exchange(command: subprocess.Popen[str], lines: list[Any], *, count: int) -> list[dict[str, Any]]:
    """Send the lines and read as many answers."""
    assert command.stdin is not None and command.stdout is not None
    for line in lines:
        command.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    command.stdin.flush()
    return [json.loads(command.stdout.readline()) for _ in range(count)]


def test_an_agent_that_starts_the_command_itself_can_use_every_tool(server: LiveServer, key: Key) -> None:
    other = server.take_key()
    environment = {**server.environment, "OMNIROUTE_MCP_KEY": key.bare}
    command = StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "manage.py"), "mcp"], env=environment, cwd=str(ROOT)
    )

    async def work() -> list[Any]:
        async with Client(command) as client:
            tools = (await client.list_tools()).tools
            stored = await client.call_tool(ADD, {"type": "factual", "key": "editor", "content": "Uses Vim – ✓"})
            found = await client.call_tool(SEARCH, {"query": "Vim"})
            foreign = await client.call_tool(SEARCH, {"query": "Vim", "apiKeyId": other.id})
            unconfirmed = await client.call_tool(CLEAR, {})
            return [tools, stored, found, foreign, unconfirmed]

    tools, stored, found, foreign, unconfirmed = asyncio.run(work())
    assert [tool.name for tool in tools] == [SEARCH, ADD, CLEAR]
    memory = read(stored)["memory"]
    assert (memory["apiKeyId"], memory["content"]) == (key.id, "Uses Vim – ✓")
    assert read(found)["memories"] == [memory]
    assert read_refusal(foreign)[1] == {"apiKeyId"}
    assert read_refusal(unconfirmed)[1] == {"confirm"}
    assert [item["id"] for item in server.list_memories(key)] == [memory["id"]]


def test_rw_079_broken_lines_are_answered_and_the_next_one_works(server: LiveServer, key: Key) -> None:
    handshake = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": ADD, "arguments": {"type": "x"}}}
    unfit = (
        json.dumps(call)
        .replace('"type": "x"', '"type": "factual", "metadata": {"n": NaN}')
        .replace('"id": 2', '"id": 3')
    )
    lines = [
        handshake,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "{broken",
        "[]",
        call,
        unfit,
        {"jsonrpc": "2.0", "id": 4, "method": "nope"},
        {"jsonrpc": "2.0", "id": 5, "method": "ping"},
    ]
    command = start(server, "--key", key.id)
    answers = exchange(command, lines, count=7)
    assert command.communicate(timeout=60)[0] == ""
    assert command.returncode == 0
    codes = {answer["error"]["code"] for answer in answers if answer["id"] is None}
    assert codes == {-32700, -32600}
    by_id = {answer["id"]: answer for answer in answers if answer["id"] is not None}
    assert by_id[1]["result"]["serverInfo"]["name"] == "omniroute-memory"
    assert by_id[2]["result"]["isError"]
    assert by_id[3]["result"]["isError"] if "result" in by_id[3] else by_id[3]["error"]
    assert by_id[4]["error"]["code"] == -32601
    assert by_id[5]["result"] == {}
    assert server.list_memories(key) == []


@pytest.mark.parametrize(
    ("options", "environment", "told"),
    [
        ((), {}, "OMNIROUTE_MCP_KEY"),
        ((), {"OMNIROUTE_MCP_KEY": "omr_wrong"}, "unknown or revoked"),
        (("--key", "no-such-key"), {}, "no such key"),
    ],
)
def test_rw_082_without_a_valid_key_the_command_does_not_start(
    server: LiveServer, options: tuple[str, ...], environment: dict[str, str], told: str
) -> None:
    command = start(server, *options, **environment)
    printed, complaint = command.communicate("", timeout=60)
    assert command.returncode == 1
    assert told in complaint
    assert (printed, "Traceback" in complaint) == ("", False)
