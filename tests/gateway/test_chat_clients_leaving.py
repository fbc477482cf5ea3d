"""Clients that leave in the middle: their upstream is stopped, and what they said is remembered."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.live_server import Key, LiveServer, build_chat, wait_until
from tests.upstream_replies import Send, head, never_answer, raw_reply, sse_reply
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"


def leave_after(server: LiveServer, key: Key, count: int) -> None:
    """A client of its own that reads so many events and closes its connection."""
    with httpx.Client(base_url=server.base_url, timeout=30, trust_env=False) as client:
        chat = build_chat(key, "I prefer green tea.", stream=True)
        with client.stream("POST", CHAT, **chat) as response:
            received = b""
            for part in response.iter_raw():
                received += part
                if received.count(b"\n\n") >= count:
                    return


def test_rw_030_clients_that_leave_stop_their_upstream(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.reply_with(sse_reply(["tick "] * 300, pause_seconds=0.2))

    def leave_all() -> None:
        upstream.requests.clear()
        with ThreadPoolExecutor(30) as pool:
            list(pool.map(lambda _: leave_after(server, key, 2), range(30)))
        for request in upstream.wait_for_requests(30):
            assert request.left.wait(5)
        server.wait_for_jobs()

    leave_all()  # the level to compare with: pools grow to their size at the first crowd
    connections_before = upstream.open_connections
    threads_before, log_before = server.thread_count, len(server.log_text)
    leave_all()
    wait_until(lambda: upstream.open_connections <= connections_before + 2, "upstream connections are open")
    wait_until(lambda: abs(server.thread_count - threads_before) <= 2, "threads are left over")
    assert server.manage("GET", "/api/memory/health").json()["working"] is True
    assert "Traceback" not in server.log_text[log_before:]
    # What the user said was said, whether or not the answer was waited for.
    assert server.list_contents(key) == ["green tea"]


@pytest.mark.parametrize("is_stream", [True, False])
def test_rw_030_a_client_that_leaves_before_the_first_byte_stops_the_upstream(
    live_server_process: LiveServer, upstream: UpstreamStub, is_stream: bool
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.queue(never_answer())
    body = json.dumps({"model": "m", "stream": is_stream, "messages": [{"role": "user", "content": "hi"}]})
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        head_lines = f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key.bare}\r\n"
        client.sendall(f"{head_lines}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        (request,) = upstream.wait_for_requests(1)
    assert request.left.wait(5)
    assert server.chat(key, "hi").status_code == 200
    assert "Traceback" not in server.log_text


def test_rw_030_a_client_that_leaves_while_a_whole_answer_comes_stops_the_upstream(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    headers = {"Content-Type": "application/json", "Content-Length": "99"}
    upstream.queue(raw_reply(head(200, headers), Send(b"{"), *never_answer()))
    with pytest.raises(httpx.ReadTimeout):
        server.client.post(CHAT, **build_chat(key, "I prefer green tea."), timeout=0.5)
    assert upstream.last.left.wait(5)
    wait_until(lambda: server.list_contents(key) == ["green tea"], "what was said is not remembered")
