"""What a server that `manage.py serve` has started answers: health, static files, bodies too large, its last words."""

import json
import signal
import socket
import threading
import urllib.error
import urllib.request
from http.client import HTTPResponse

import pytest
from processes import KEY, Server, run_manage


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    server = Server(
        tmp_path_factory.mktemp("serve") / "data",
        environment={"MAX_REQUEST_BYTES": "100000", "OMNIROUTE_API_KEY": "operator-secret"},
    ).wait_until_ready()
    yield server
    server.end()


def ask(server: Server, path: str, method: str = "GET", body: bytes | None = None, **headers: str):
    request = urllib.request.Request(f"{server.url}{path}", body, headers, method=method)
    try:
        return urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        return error


def test_healthz_is_public_and_answers_get_and_head(running):
    answer = ask(running, "/healthz")
    assert (answer.status, json.loads(answer.read())["status"]) == (200, "ok")
    head = ask(running, "/healthz", "HEAD")
    assert (head.status, head.read()) == (200, b"")
    assert ask(running, "/healthz", "POST", b"").status == 405


def test_static_files_are_served_cached_and_revalidated(running):
    answer = ask(running, "/static/admin/css/base.css")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/css")
    assert "max-age" in answer.headers["cache-control"]
    again = ask(running, "/static/admin/css/base.css", **{"If-None-Match": answer.headers["etag"]})
    assert again.status == 304
    assert ask(running, "/static/rest_framework/css/default.css").status == 200


@pytest.mark.parametrize(
    "path",
    ["/static/nothing", "/static/", "/static/../manage.py", "/static/%2e%2e/manage.py", "/static//etc/passwd"],
)
def test_nothing_but_static_files_is_served_there(running, path):
    answer = ask(running, path)
    assert answer.status == 404
    assert json.loads(answer.read())["error"]["code"] == "not_found"


def test_no_header_names_the_server_software(running):
    assert "server" not in ask(running, "/healthz").headers


def test_a_body_that_declares_too_much_is_413_before_it_is_read(running):
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as client:
        client.sendall(b"POST /api/memory HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n")
        assert_too_large(client)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/memory", "/admin/login/"])
def test_a_body_that_turns_out_too_large_is_413(running, path):
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(11):
            client.sendall(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
        assert_too_large(client)


def assert_too_large(client: socket.socket) -> None:
    """Read the answer to its end, as a client does that has sent only a part of its body."""
    with HTTPResponse(client) as answer:
        answer.begin()
        assert answer.status == 413
        assert json.loads(answer.read())["error"]["code"] == "request_too_large"


def test_a_form_of_the_studio_that_is_too_large_is_told_as_a_page_and_a_piece_as_a_piece(running):
    page = ask(running, "/dashboard/memory/import", "POST", b"x" * 150_000)
    text = page.read().decode()
    assert (page.status, page.headers["Content-Type"]) == (413, "text/html; charset=utf-8")
    assert "That is too large" in text
    assert "Nothing was kept: this server takes up to" in text
    assert page.headers["X-Request-Id"] in text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    piece = ask(running, "/dashboard/memory/import", "POST", b"x" * 150_000, **{"HX-Request": "true"})
    assert piece.read().decode().lstrip().startswith('<div hx-swap-oob="beforeend:#toasts">')


def test_a_client_that_sends_all_of_a_body_too_large_still_reads_the_answer(running):
    answer = ask(running, "/api/memory", "POST", b"x" * 150_000, Authorization="Bearer operator-secret")
    assert answer.status == 413


def test_a_body_at_the_limit_is_read(running):
    body = json.dumps({"key": "k", "content": "x"}).encode().ljust(100_000)
    answer = ask(running, "/api/memory", "POST", body, Authorization="Bearer operator-secret")
    assert answer.status == 200


def test_the_use_of_a_key_shows_soon(start_server, data_dir):
    server = start_server().wait_until_ready()
    [bare_key] = set(KEY.findall(server.stdout))
    assert ask(server, "/v1/models", Authorization=f"Bearer {bare_key}").status == 200
    assert server.end() == 0
    [row] = json.loads(run_manage(data_dir, "list_api_keys", "--json").stdout)
    assert row["lastUsedAt"]


def test_healthz_says_503_when_the_database_is_gone(start_server, data_dir):
    server = start_server().wait_until_ready()
    for path in data_dir.glob("storage.sqlite*"):
        path.unlink()
    answer = ask(server, "/healthz")
    told = json.loads(answer.read())
    assert (answer.status, told["status"], told["error"]["code"]) == (503, "unavailable", "not_ready")
    assert str(data_dir) not in json.dumps(told)
    assert not (data_dir / "storage.sqlite").exists() or (data_dir / "storage.sqlite").stat().st_size == 0
    server.end()


def test_an_open_stream_does_not_hold_up_the_end(start_server):
    """A provider that never finishes its answer: the client's stream is cut after the grace, not after minutes."""
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        threading.Thread(target=_answer_for_ever, args=(upstream,), daemon=True).start()
        server = start_server(environment={"LOG_LEVEL": "error"})
        port = upstream.getsockname()[1]
        server.wait_until_ready()
        added = run_manage(
            server.data_dir, "add_provider", "slow", "--base-url", f"http://127.0.0.1:{port}/v1", "--api-key", "k"
        )
        assert added.returncode == 0, added.stderr
        [bare_key] = set(KEY.findall(server.stdout))
        body = {"model": "slow/m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        headers = {"Authorization": f"Bearer {bare_key}", "Content-Type": "application/json"}
        answer = ask(server, "/v1/chat/completions", "POST", json.dumps(body).encode(), **headers)
        assert answer.readline().startswith(b"data:")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0


def _answer_for_ever(upstream: socket.socket) -> None:
    connection, _ = upstream.accept()
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    event = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
    connection.sendall(f"{len(event):x}\r\n".encode() + event + b"\r\n")
    connection.recv(1)
