"""`list_models`: everybody who is configured is asked, and nobody can hold up the rest."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pytest_django import Settings
from stub_upstream import SeenRequest, StubUpstream, answer_json, run_upstream

from core.providers import catalog
from core.providers.client import list_models
from core.providers.configuration import ProviderChanges, save_provider

pytestmark = pytest.mark.django_db


def answer_models(*entries: Any, bare: bool = False) -> Any:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        await answer_json(writer, list(entries) if bare else {"object": "list", "data": list(entries)})

    return answer


def list_ids() -> list[str]:
    return [model["id"] for model in async_to_sync(list_models)()]


def test_echo_is_always_there() -> None:
    assert async_to_sync(list_models)() == [{"id": "echo/echo", "object": "model", "created": 0, "owned_by": "echo"}]


def test_models_are_named_after_their_provider(upstream: StubUpstream) -> None:
    upstream.answer = answer_models({"id": "a/b", "created": 7, "secret": "x"}, {"id": "c"}, {"id": 5}, {"no": 1}, 3)
    save_provider("box", ProviderChanges(base_url=upstream.url, api_key="sk-test-LEAKME"))
    models = async_to_sync(list_models)()
    assert models[0] == {"id": "box/a/b", "object": "model", "created": 7, "owned_by": "box"}
    assert [model["id"] for model in models] == ["box/a/b", "box/c", "echo/echo"]
    (seen,) = upstream.requests
    assert (seen.method, seen.path) == ("GET", "/v1/models")
    assert seen.headers["authorization"] == "Bearer sk-test-LEAKME"


def test_an_answer_is_kept_until_the_provider_changes(upstream: StubUpstream) -> None:
    upstream.answer = answer_models({"id": "a"}, bare=True)
    save_provider("box", ProviderChanges(base_url=upstream.url))
    assert list_ids() == list_ids() == ["box/a", "echo/echo"]
    assert len(upstream.requests) == 1
    save_provider("box", ProviderChanges(api_key="sk-test-LEAKME"))
    assert list_ids() == ["box/a", "echo/echo"]
    assert len(upstream.requests) == 2


@pytest.mark.parametrize("trouble", ["status", "not json", "wrong shape", "redirect", "too large", "gone", "blocked"])
def test_a_provider_that_cannot_be_asked_is_left_out(
    trouble: str, upstream: StubUpstream, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        match trouble:
            case "status":
                await answer_json(writer, {}, "401 No")
            case "redirect":
                await answer_json(writer, {}, "302 Moved", f"location: {upstream.url}/elsewhere\r\n")
            case "not json":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n<htm>")
            case "too large":
                await answer_json(writer, {"data": [{"id": "x" * 2000}]})
            case _:
                await answer_json(writer, {"data": {"id": "a"}})

    monkeypatch.setattr(catalog, "MAX_ANSWER_BYTES", 1000)
    with run_upstream(answer_models({"id": "fine"})) as other:
        save_provider("box", ProviderChanges(base_url=upstream.url))
        save_provider("other", ProviderChanges(base_url=other.url))
        upstream.answer = answer
        if trouble == "gone":
            save_provider("box", ProviderChanges(base_url="http://127.0.0.1:1/v1"))
        if trouble == "blocked":
            settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
        assert list_ids() == (["echo/echo"] if trouble == "blocked" else ["other/fine", "echo/echo"])


def test_a_slow_provider_is_not_waited_for(upstream: StubUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    async def dawdle(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(catalog, "TIME_LIMIT_SECONDS", 0.1)
    upstream.answer = dawdle
    save_provider("box", ProviderChanges(base_url=upstream.url))
    assert list_ids() == ["echo/echo"]
    assert upstream.left.wait(5)
