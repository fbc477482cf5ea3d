"""The README's first steps, done as they stand."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omniroute.first_start import OPERATOR_NAME, FirstLogin
from omniroute.greeting import Status, write_first_login, write_status
from tests.docs.answers import Aliases, find_differences
from tests.docs.markdown import ROOT, iterate_pairs, list_blocks, read_page
from tests.live_server import Key, LiveServer

SHOWN_URL = "http://127.0.0.1:20128"
# What differs from machine to machine in what the start prints.
MACHINE_LINES = re.compile(r"^(  (?:Data|Driver|Vectors) +).*$", re.M)


def test_the_first_start_prints_what_the_readme_shows(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "executable", str(ROOT / ".venv" / "bin" / "python"))
    monkeypatch.setattr(sys, "argv", [str(ROOT / "manage.py"), "serve"])
    settings.DATA_DIR = settings.BASE_DIR / "data"
    [shown] = [block.text for block in list_blocks(read_page("README.md")) if "First start." in block.text]
    login = FirstLogin(password=_read_value(shown, "Password"), api_key=_read_value(shown, "Chat key"))
    assert _read_value(shown, "Login") == OPERATOR_NAME
    status = Status(f"{SHOWN_URL}/", is_memory_on=False, default_provider="echo")
    printed = "OmniRoute Memory\n\n" + write_status(status) + write_first_login(login, status)
    assert MACHINE_LINES.sub(r"\1", shown).strip() == MACHINE_LINES.sub(r"\1", printed).strip()


def _read_value(text: str, name: str) -> str:
    found = re.search(rf"^  {name} +(\S+)$", text, re.M)
    assert found is not None
    return found[1]


def test_the_curl_chats_give_the_answers_shown(live_server_process: LiveServer) -> None:
    server, key = live_server_process, live_server_process.take_key()
    pairs = list(iterate_pairs(list_blocks(read_page("README.md")), "sh", "json"))
    assert len(pairs) == 2
    for command, shown in pairs:
        answer = _send_curl(server, key, command.text)
        server.wait_for_jobs()
        assert not find_differences(json.loads(shown.text), answer, Aliases())


def _send_curl(server: LiveServer, key: Key, command: str) -> Any:
    """Do what the curl line says, with this server and key in place of those shown. curl itself need not be here."""
    words = shlex.split(command.replace("\\\n", " ").replace(SHOWN_URL, server.base_url).replace("$KEY", key.bare))
    assert words[:2] == ["curl", "-s"]
    options = list(zip(words[3::2], words[4::2], strict=True))
    headers = dict(value.split(": ", 1) for name, value in options if name == "-H")
    [body] = [value for name, value in options if name == "-d"]
    answer = server.client.post(words[2], content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_python_example_prints_what_is_shown(live_server_process: LiveServer, tmp_path: Path) -> None:
    [(program, shown)] = iterate_pairs(list_blocks(read_page("README.md")), "python", "text")
    server = live_server_process
    script = tmp_path / "example.py"
    script.write_text(program.text.replace(SHOWN_URL, server.base_url), "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PATH": os.environ["PATH"], "KEY": server.take_key().bare},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout == shown.text


def test_the_headers_named_are_the_headers_sent(live_server_process: LiveServer) -> None:
    page, server = read_page("README.md"), live_server_process
    answer = server.chat(server.take_key(), "hello", headers={"x-omniroute-session-id": "here"})
    named = set(re.findall(r"^\| `(x-[a-z-]+)` \|", page, re.M))
    assert len(named) == 4
    assert named <= set(answer.headers)
    assert answer.headers["x-omniroute-session-id"] == "here"
