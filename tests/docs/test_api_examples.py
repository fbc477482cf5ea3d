"""Every request on the page about the API, sent to a running server in the page's order."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.docs.answers import UUID, Aliases, find_differences
from tests.docs.markdown import Block, iterate_pairs, list_blocks, read_page
from tests.live_server import LiveServer

PAGE = "docs/api.md"
# Ends a list of which the page shows only the beginning.
MORE = "…"


@dataclass(frozen=True)
class Exchange:
    """A request and the answer that the page shows for it."""

    method: str
    path: str
    headers: dict[str, str]
    body: str
    status: int
    shown_headers: dict[str, str]
    shown: Any


def read_exchanges(text: str) -> list[Exchange]:
    return [_read_exchange(*pair) for pair in iterate_pairs(list_blocks(text), "http", "http") if _asks(pair[0])]


def _asks(block: Block) -> bool:
    return not block.text.startswith("HTTP/")


def _read_exchange(asked: Block, answered: Block) -> Exchange:
    request, headers, body = _split(asked.text)
    status, shown_headers, shown = _split(answered.text)
    method, path = request.split(" ")
    return Exchange(method, path, headers, body, int(status.split(" ")[1]), shown_headers, json.loads(shown))


def _split(text: str) -> tuple[str, dict[str, str], str]:
    head, _, body = text.partition("\n\n")
    first, *lines = head.strip().splitlines()
    return first, {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}, body.strip()


def shorten(shown: Any, actual: Any) -> Any:
    """Cut the lists of the answer where the page stops with a mark, and give them the mark."""
    if isinstance(shown, dict) and isinstance(actual, dict):
        return {name: shorten(shown.get(name), value) for name, value in actual.items()}
    if isinstance(shown, list) and isinstance(actual, list) and shown[-1:] == [MORE]:
        return [*actual[: len(shown) - 1], MORE]
    return actual


def test_every_answer_on_the_api_page_is_what_the_server_says(launch_server: Callable[..., LiveServer]) -> None:
    text = read_page(PAGE)
    exchanges = read_exchanges(text)
    assert len(exchanges) > 15
    server = launch_server(MEMORY_STATIC_MODEL="bundled", DEFAULT_PROVIDER="echo")
    server.change_settings(enabled=True, staticEnabled=True, embeddingSource="static")
    key = server.take_key()
    aliases = Aliases()
    owner = UUID.search(text)
    assert owner is not None
    aliases.learn(owner[0], key.id)
    for exchange in exchanges:
        differences = _compare(server, key.bare, exchange, aliases)
        assert not differences, "\n".join([f"{exchange.method} {exchange.path}", *differences])


def _compare(server: LiveServer, chat_key: str, exchange: Exchange, aliases: Aliases) -> list[str]:
    server.wait_for_jobs()
    authorization = exchange.headers.get("authorization", f"Bearer {server.management_key}")
    answer = server.client.request(
        exchange.method,
        aliases.translate(exchange.path),
        content=aliases.translate(exchange.body).encode() or None,
        headers=exchange.headers | {"authorization": authorization.replace("CHAT_KEY", chat_key)},
    )
    server.wait_for_jobs()
    differences = [] if answer.status_code == exchange.status else [f"the status is {answer.status_code}"]
    for name, shown in exchange.shown_headers.items():
        actual = answer.headers.get(name, "")
        is_alike = actual == shown or (UUID.fullmatch(shown) and UUID.fullmatch(actual))
        differences += [] if is_alike else [f"{name}: the page shows {shown!r}, the answer has {actual!r}"]
    told = answer.json()
    if exchange.path == "/v1/models":  # the test's server has its stub beside echo
        told["data"] = [model for model in told["data"] if model["owned_by"] == "echo"]
    return differences + find_differences(exchange.shown, shorten(exchange.shown, told), aliases)


@pytest.mark.parametrize(
    "changed",
    [
        {"a": 1, "b": [{"key": "y"}]},
        {"a": 2, "b": [{"key": "x"}]},
        {"a": 1, "b": []},
        {"a": 1},
        {"a": 1, "b": [{"key": "x"}], "c": None},
        {"a": True, "b": [{"key": "x"}]},
    ],
)
def test_an_answer_that_is_not_as_shown_is_found_out(changed: dict[str, Any]) -> None:
    shown = {"a": 1, "b": [{"key": "x"}]}
    assert not find_differences(shown, json.loads(json.dumps(shown)), Aliases())
    assert find_differences(shown, changed, Aliases())


def test_ids_and_times_may_differ_but_an_id_stays_the_same_one() -> None:
    first, second = "0c9edcff-2bfc-4beb-bd0f-69c32a2f3b6f", "1c9edcff-2bfc-4beb-bd0f-69c32a2f3b6f"
    shown = {"x": first, "y": first, "createdAt": "2026-11-30T15:26:51.198Z"}
    now = {"createdAt": "2027-01-01T00:00:00.000Z"}
    assert not find_differences(shown, {"x": second, "y": second, **now}, Aliases())
    assert find_differences(shown, {"x": second, "y": first, **now}, Aliases())
    assert find_differences(shown, {"x": second, "y": second, "createdAt": "yesterday"}, Aliases())


def test_requests_of_the_page_are_read_whole() -> None:
    page = 'Do:\n\n```http\nPOST /x?q=1\nA: b\n\n{"c": 1}\n```\n\n```http\nHTTP/1.1 404 Not Found\n\n{"d": 2}\n```\n'
    [exchange] = read_exchanges(page)
    assert (exchange.method, exchange.path, exchange.headers) == ("POST", "/x?q=1", {"a": "b"})
    assert (json.loads(exchange.body), exchange.status, exchange.shown) == ({"c": 1}, 404, {"d": 2})
    assert re.match(r"\{", exchange.body)
