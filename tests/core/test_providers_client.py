"""Chats with an upstream: what goes out, what comes back, and how it fails."""

import asyncio
import gzip
import json
import socket
from typing import Any

import pytest
from chats import BODY, EVENTS, KEY, build_route, chat, run, stream
from pytest_django import Settings
from stub_upstream import SeenRequest, StubUpstream, answer_json

from core.errors import OutboundRefusedError, UpstreamError, UpstreamTimeoutError
from core.providers.client import open_chat
from core.providers.routing import Route


def test_the_body_goes_out_as_it_is_with_the_key_of_the_route(upstream: StubUpstream) -> None:
    body = '{ "model":"m", "messages":[{"role":"user","content":"ж"}], "x_unknown": 1.0 }'.encode()
    reply, told = chat(build_route(upstream), body=body)
    assert (reply.status, json.loads(told)) == (200, {"ok": True})
    (seen,) = upstream.requests
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/chat/completions", body)
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["accept-encoding"] == "identity"


def test_no_authorization_goes_out_without_a_key(upstream: StubUpstream) -> None:
    chat(build_route(upstream, api_key=""), {"Authorization": "Bearer callers-own"})
    assert "authorization" not in upstream.requests[0].headers


def test_only_harmless_headers_of_the_caller_go_along(upstream: StubUpstream) -> None:
    sent = {
        "User-Agent": "client/1",
        "OpenAI-Organization": "org",
        "Anthropic-Beta": "b",
        "HTTP-Referer": "https://app",
        "X-Title": "app",
        "Idempotency-Key": "1",
        "Accept": "text/event-stream",
    }
    kept = {
        "Authorization": "Bearer callers-own",
        "Cookie": "session=1",
        "Host": "evil.test",
        "X-Omniroute-Session-Id": "s",
        "X-Forwarded-For": "1.2.3.4",
        "Accept-Encoding": "gzip, br",
        "Content-Length": "1",
        "Connection": "close",
        "X-Api-Key": "callers-own",
    }
    chat(build_route(upstream), {**sent, **kept, "OpenAI-Beta": "naïve “x”", "OpenAI-Project": "a\r\nx: y"})
    seen = upstream.requests[0].headers
    assert {name.lower(): value for name, value in sent.items()}.items() <= seen.items()
    assert seen["host"] == f"127.0.0.1:{upstream.port}"
    assert not {"cookie", "x-omniroute-session-id", "x-forwarded-for", "x-api-key"} & seen.keys()
    assert not {"openai-beta", "openai-project", "x"} & seen.keys()
    assert "callers-own" not in str(seen)


def test_only_harmless_headers_of_the_answer_come_back(upstream: StubUpstream) -> None:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        more = "".join(
            f"{name}: {value}\r\n"
            for name, value in {
                "Retry-After": "7",
                "X-Request-Id": "r1",
                "X-RateLimit-Remaining-Tokens": "9",
                "OpenAI-Processing-Ms": "3",
                "Set-Cookie": "a=b",
                "Location": "http://inside/",
                "Server": "box",
                "Keep-Alive": "timeout=5",
            }.items()
        )
        await answer_json(writer, {}, more=more)

    upstream.answer = answer
    reply, _ = chat(build_route(upstream))
    assert reply.headers == {
        "content-type": "application/json",
        "retry-after": "7",
        "x-request-id": "r1",
        "x-ratelimit-remaining-tokens": "9",
        "openai-processing-ms": "3",
    }


def test_rw_025_a_stream_comes_back_byte_for_byte(upstream: StubUpstream) -> None:
    whole = b"".join(EVENTS)
    upstream.answer = stream(*(whole[index : index + 1] for index in range(len(whole))))
    reply, told = chat(build_route(upstream))
    assert told == whole
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.content_encoding == ""


def test_a_compressed_answer_stays_compressed_and_says_so(upstream: StubUpstream) -> None:
    packed = gzip.compress(b"".join(EVENTS))
    upstream.answer = stream(packed, head="content-type: text/event-stream\r\ncontent-encoding: GZIP")
    reply, told = chat(build_route(upstream))
    assert told == packed
    assert reply.content_encoding == "gzip" and reply.headers["content-encoding"] == "GZIP"


@pytest.mark.parametrize(
    ("status", "body", "content_type"),
    [
        ("401 Unauthorized", b'{"error":{"message":"bad key"}}', "application/json"),
        ("404 Not Found", b'{"error":{}}', "application/json"),
        ("429 Too Many", b'{"error":{}}', "application/json"),
        ("500 Oops", b"<html>I prefer tea</html>", "text/html"),
        ("503 Busy", b"", "text/plain"),
    ],
)
def test_rw_028_an_upstreams_error_comes_back_as_it_is(
    upstream: StubUpstream, status: str, body: bytes, content_type: str
) -> None:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nretry-after: 7\r\ncontent-length: {len(body)}"
        writer.write(head.encode() + b"\r\n\r\n" + body)

    upstream.answer = answer
    reply, told = chat(build_route(upstream))
    assert (reply.status, told) == (int(status[:3]), body)
    assert reply.headers == {"content-type": content_type, "retry-after": "7"}


def test_rw_028_no_connection_is_a_502_that_tells_no_secret(
    upstream: StubUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        refused = f"http://127.0.0.1:{held.getsockname()[1]}/v1"

    def fail(*args: Any, **more: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    for base_url in (refused, "http://nowhere.test/v1"):
        route = Route(provider="box", model="m", base_url=base_url, api_key=KEY, system_role="any")
        with pytest.raises(UpstreamError) as told:
            chat(route)
        assert (told.value.status, told.value.code) == (502, "upstream_unreachable")
        assert "box" in told.value.message
        assert not any(word in told.value.message for word in (KEY, "http", "test", "Name or service"))


@pytest.mark.parametrize("status", [301, 302, 307, 308, 304, 999])
def test_rw_072_a_redirect_of_an_upstream_is_a_502(upstream: StubUpstream, status: int) -> None:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} X\r\nlocation: {upstream.url}/other\r\ncontent-length: 0\r\n\r\n".encode())

    upstream.answer = answer
    with pytest.raises(UpstreamError) as told:
        chat(build_route(upstream))
    assert (told.value.status, told.value.code) == (502, "upstream_redirect")
    assert len(upstream.requests) == 1


def test_an_address_that_the_policy_refuses_is_told_as_such(upstream: StubUpstream, settings: Settings) -> None:
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    with pytest.raises(OutboundRefusedError):
        chat(build_route(upstream))
    assert upstream.requests == []


def test_rw_033_an_upstream_that_never_answers_is_a_504(upstream: StubUpstream, settings: Settings) -> None:
    async def stay_silent(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    settings.UPSTREAM_READ_TIMEOUT_SECONDS = 0.1
    upstream.answer = stay_silent
    with pytest.raises(UpstreamTimeoutError) as told:
        chat(build_route(upstream))
    assert (told.value.status, told.value.code) == (504, "upstream_timeout")
    assert upstream.left.wait(5)


def test_rw_033_a_stream_that_falls_silent_ends_in_an_error(upstream: StubUpstream, settings: Settings) -> None:
    async def fall_silent(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"5\r\nhello\r\n")
        await writer.drain()
        await asyncio.sleep(30)

    settings.UPSTREAM_READ_TIMEOUT_SECONDS = 0.1
    upstream.answer = fall_silent
    seen: list[bytes] = []

    async def work() -> None:
        reply = await open_chat(build_route(upstream), BODY, {})
        with pytest.raises(UpstreamTimeoutError):
            async for chunk in reply.chunks:
                seen.append(chunk)

    run(work)
    assert seen == [b"hello"]
    assert upstream.left.wait(5)


def test_rw_029_a_broken_stream_gives_what_came_and_then_an_error(upstream: StubUpstream) -> None:
    upstream.answer = stream(*EVENTS[:2], end=False)
    seen: list[bytes] = []

    async def work() -> None:
        reply = await open_chat(build_route(upstream), BODY, {})
        with pytest.raises(UpstreamError) as told:
            async for chunk in reply.chunks:
                seen.append(chunk)
        assert told.value.code == "upstream_broken" and KEY not in told.value.message

    run(work)
    assert b"".join(EVENTS[:2]).startswith(b"".join(seen))
    upstream.answer = stream(*EVENTS)
    assert chat(build_route(upstream))[1] == b"".join(EVENTS)
