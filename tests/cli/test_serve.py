"""`manage.py serve`: the first start, the later ones, the clean end, and one clear line for what can't be."""

import json
import shlex
import signal
import socket
import sqlite3
import subprocess
import threading
import urllib.error
import urllib.request
from http.client import HTTPResponse

import pytest
from processes import KEY, ROOT, Server, find_free_port, run_manage


def read_command(text: str, start: str) -> list[str]:
    """Return the words of the printed command that begins so."""
    [line] = [line for line in text.splitlines() if line.strip().startswith(start)]
    return shlex.split(line)


def test_the_first_start_prints_what_works_and_later_starts_print_no_secret(start_server, data_dir):
    server = start_server().wait_until_ready()
    first = server.stdout
    [bare_key] = set(KEY.findall(first))
    password = first.split("Password")[1].split()[0]
    assert f"http://127.0.0.1:{server.port}/" in first
    assert len(password) >= 16

    answer = subprocess.run(read_command(first, "curl"), capture_output=True, text=True, timeout=30)
    assert "I prefer tea" in json.loads(answer.stdout)["choices"][0]["message"]["content"]

    turn_on = read_command(first, "env")
    assert f"DATA_DIR={data_dir}" in turn_on
    changed = subprocess.run(turn_on, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert "enabled=true" in changed.stdout.splitlines()

    assert log_in(server, "operator", password)
    assert not log_in(server, "operator", password + "x")
    assert server.end() == 0

    again = start_server().wait_until_ready()
    assert f"http://127.0.0.1:{again.port}/" in again.stdout
    assert "Memory      on" in again.stdout
    assert "SQLite 3." in again.stdout
    assert again.end() == 0
    for secret in (bare_key, password):
        assert secret not in again.stdout + again.stderr + server.stderr
    assert not KEY.search(again.stdout)
    assert "Password" not in again.stdout


def log_in(server: Server, username: str, password: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    page = opener.open(f"{server.url}/admin/login/", timeout=30).read().decode()
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    form = f"username={username}&password={password}&csrfmiddlewaretoken={token}&next=/admin/"
    answer = opener.open(f"{server.url}/admin/login/", form.encode(), timeout=30)
    return answer.url == f"{server.url}/admin/"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_it_with_0_and_without_a_traceback(start_server, number):
    server = start_server(environment={"LOG_LEVEL": "warning"}).wait_until_ready()
    assert server.end(number) == 0
    assert server.stderr == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_while_starting_ends_it_cleanly_too(start_server, number):
    server = start_server(environment={"LOG_LEVEL": "warning"})
    while not server.data_dir.exists() and server.process.poll() is None:
        pass
    # Until our own first line the signal does what it does to every program.
    assert server.end(number) in (0, 130, -number)
    assert "Traceback" not in server.stderr
    assert start_server().wait_until_ready().end() == 0


def test_a_busy_port_is_one_line_and_touches_nothing(start_server, data_dir):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run_manage(data_dir, "serve", PORT=str(port))
    assert_one_line(result, f"port {port} on 127.0.0.1 is in use already")
    assert not (data_dir / "storage.sqlite").exists()


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"PORT": "abc"}, "PORT must be a whole number"),
        ({"PORT": "0"}, "PORT must be between 1 and 65535"),
        ({"REQUIRE_API_KEY": "perhaps"}, "REQUIRE_API_KEY must be true or false"),
        ({"SQLITE_DRIVER": "oracle"}, "SQLITE_DRIVER must be one of"),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL must be one of"),
        ({"HOST": "192.0.2.1"}, "HOST 192.0.2.1 is no address of this machine"),
        ({"HOST": "not a host"}, "HOST 'not a host' is no address or name"),
    ],
)
def test_a_wrong_value_in_the_environment_is_one_line(data_dir, environment, told):
    assert_one_line(run_manage(data_dir, "serve", **environment), told)


@pytest.mark.parametrize("secret_key", ["", "set"])
def test_a_data_folder_that_cannot_be_made_is_one_line(tmp_path, secret_key):
    (tmp_path / "file").write_text("")
    result = run_manage(tmp_path / "file" / "data", "serve", SECRET_KEY=secret_key, PORT=str(find_free_port()))
    assert_one_line(result, "can't be used: Not a directory")


def test_a_file_that_is_no_database_is_one_line_and_stays_as_it_is(data_dir):
    data_dir.mkdir()
    path = data_dir / "storage.sqlite"
    path.write_text("shopping list\n" * 100)
    result = run_manage(data_dir, "serve", PORT=str(find_free_port()))
    assert_one_line(result, "is not a SQLite database")
    assert path.read_text() == "shopping list\n" * 100


def test_another_programs_database_is_one_line_and_keeps_its_rows(data_dir):
    data_dir.mkdir()
    with sqlite3.connect(data_dir / "storage.sqlite") as other:
        other.execute("CREATE TABLE memories (id TEXT)")
        other.execute("INSERT INTO memories VALUES ('theirs')")
    result = run_manage(data_dir, "serve", PORT=str(find_free_port()))
    assert_one_line(result, "holds tables of another program")
    with sqlite3.connect(data_dir / "storage.sqlite") as other:
        assert other.execute("SELECT id FROM memories").fetchall() == [("theirs",)]


def assert_one_line(result: subprocess.CompletedProcess[str], told: str) -> None:
    assert result.returncode != 0
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert told in line
    assert not KEY.search(result.stdout)


def test_two_first_starts_at_once_make_one_login(start_server, data_dir):
    servers = [start_server(), start_server()]
    for server in servers:
        server.wait_until_ready()
    printed = [server.stdout for server in servers]
    assert sorted("Password" in text for text in printed) == [False, True]
    assert [server.end() for server in servers] == [0, 0]
    keys = json.loads(run_manage(data_dir, "list_api_keys", "--json").stdout)
    assert [key["name"] for key in keys] == ["first-key"]


def test_a_first_start_keeps_a_key_that_a_command_made_before(start_server, data_dir):
    run_manage(data_dir, "create_api_key", "mine")
    server = start_server().wait_until_ready()
    assert "Password" in server.stdout
    assert not KEY.search(server.stdout)
    assert server.end() == 0


def test_a_key_that_was_revoked_does_not_come_back(start_server, data_dir):
    assert start_server().wait_until_ready().end() == 0
    run_manage(data_dir, "revoke_api_key", "first-key")
    server = start_server().wait_until_ready()
    assert not KEY.search(server.stdout)
    server.end()


def test_it_listens_on_ipv6_and_prints_an_address_that_works(start_server):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    server = start_server(environment={"HOST": "::1"}, host_in_url="[::1]").wait_until_ready()
    assert f"http://[::1]:{server.port}/" in server.stdout
    assert server.end() == 0


def test_the_data_is_for_the_owners_eyes(start_server, data_dir):
    start_server().wait_until_ready().end()
    for name in ("storage.sqlite", "secret.key"):
        assert (data_dir / name).stat().st_mode & 0o077 == 0


# --- what the running server answers -----------------------------------------------------------------------------


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
