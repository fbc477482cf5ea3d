"""`manage.py serve`: the first start, the later ones, the clean end, and one clear line for what can't be."""

import json
import shlex
import signal
import socket
import sqlite3
import subprocess
import urllib.error
import urllib.request

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
