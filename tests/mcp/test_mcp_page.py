"""The page about the tools: its configurations lead to a server, and its answers are what that server says."""

import asyncio
import json
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_client import ADD, CLEAR, SEARCH, connect

from memory.mcp.tools import TOOLS
from tests.docs.answers import Aliases, find_differences
from tests.docs.markdown import ROOT, list_blocks, list_rows, read_page, unquote
from tests.live_server import Key, LiveServer

PAGE = read_page("docs/mcp.md")
SHOWN_KEY = "omr_YOUR_KEY"
SHOWN_FOLDER = "/path/to/omniroute-memory"


def read_json(text: str = PAGE) -> list[Any]:
    return [json.loads(block.text) for block in list_blocks(text) if block.language == "json"]


def list_configurations() -> list[tuple[str, dict[str, Any]]]:
    pages = {"mcp.md": PAGE, "README.md": read_page("README.md")}
    return [
        (name, shown["mcpServers"]["memory"])
        for name, text in pages.items()
        for shown in map(json.loads, (block.text for block in list_blocks(text) if '"mcpServers"' in block.text))
    ]


@pytest.mark.parametrize(("page", "shown"), list_configurations())
def test_a_configuration_leads_to_the_tools(server: LiveServer, key: Key, page: str, shown: dict[str, Any]) -> None:
    async def list_names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    async def over_http() -> list[str]:
        assert shown["url"] == "http://127.0.0.1:20128/mcp"
        assert shown["headers"] == {"Authorization": f"Bearer {SHOWN_KEY}"}
        async with connect(server, key) as client:
            return await list_names(client)

    async def over_stdio() -> list[str]:
        assert shown["command"] == f"{SHOWN_FOLDER}/.venv/bin/python"
        environment = {
            **server.environment,
            **{name: value.replace(SHOWN_KEY, key.bare) for name, value in shown["env"].items() if name != "DATA_DIR"},
        }
        words = [word.replace(SHOWN_FOLDER, str(ROOT)) for word in shown["args"]]
        async with Client(StdioServerParameters(command=sys.executable, args=words, env=environment)) as client:
            return await list_names(client)

    names = asyncio.run(over_http() if "url" in shown else over_stdio())
    assert names == [tool.name for tool in TOOLS]


def test_the_readme_and_the_page_show_both_ways() -> None:
    kinds = [(page, "url" in shown) for page, shown in list_configurations()]
    assert sorted(kinds) == [("README.md", False), ("README.md", True), ("mcp.md", False), ("mcp.md", True)]


def test_the_answers_on_the_page_are_the_servers(server: LiveServer, key: Key) -> None:
    shown = [item for item in read_json() if "mcpServers" not in item]
    calls = list(zip((ADD, SEARCH, CLEAR, CLEAR), shown[::2], shown[1::2], strict=True))
    aliases = Aliases()
    aliases.learn("eb5ef408-b6c8-470e-9f9c-88f3db3feace", key.id)

    async def talk() -> list[str]:
        differences = []
        async with connect(server, key) as client:
            for tool, arguments, answer in calls:
                result = await client.call_tool(tool, arguments)
                differences += find_differences(answer, json.loads(result.content[0].text), aliases)
        return differences

    assert not asyncio.run(talk())


def test_the_arguments_on_the_page_are_the_tools_own() -> None:
    tables = PAGE.split("| Argument |")[1:]
    for tool, table in zip(TOOLS, tables, strict=True):
        documented = {unquote(row[0]) for row in list_rows(f"| Argument |{table}", "Argument")}
        assert documented == set(tool.input_schema["properties"])
