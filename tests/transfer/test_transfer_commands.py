"""memory_import and memory_export from the command line."""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from core.accounts.keys import create_api_key
from memory.transfer import list_uploads
from tests.transfer.stored import list_contents, load, remember

pytestmark = pytest.mark.django_db
ROWS = [{"key": "k1", "content": "tea"}, {"key": "k2", "content": "coffee"}, {"key": "k3", "content": ""}]


class Stream(io.StringIO):
    """A text stream with bytes behind it, as the process's own are."""

    def __init__(self, content=b""):
        super().__init__()
        self.buffer = io.BytesIO(content)


@pytest.fixture(autouse=True)
def key():
    row, _ = create_api_key("laptop")
    return row


def call(*words):
    output = io.StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def test_a_dry_run_tells_and_an_import_does(write, key):
    file = str(write(ROWS))
    told = call("memory_import", file, "--owner", "laptop", "--dry-run")
    assert "of 3 rows would be 2 new, 1 invalid" in told
    assert "row 3 (k3): invalid: content is empty" in told
    assert load(key.id) == []
    told = call("memory_import", file, "--owner", "laptop")
    assert "of 3 rows are 2 new, 1 invalid" in told
    assert list_contents(key.id) == ["tea", "coffee"]
    undo_id = told.split("memory_undo ")[1].strip()
    assert "import file.json, memories: 2" in call("memory_undo")
    assert "new ones removed: 2" in call("memory_undo", undo_id)
    assert load(key.id) == []


def test_the_report_can_be_had_as_json(write, key):
    told = json.loads(call("memory_import", str(write(ROWS)), "--owner", key.id, "--json"))
    assert (told["dryRun"], told["counts"]["new"]) == (False, 2)


def test_an_export_is_imported_from_standard_input(monkeypatch, tmp_path, key):
    remember("tea", key.id)
    target = tmp_path / "out.jsonl"
    assert str(target) in call("memory_export", str(target), "--owner", "laptop")
    assert target.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(sys, "stdin", Stream(target.read_bytes()))
    call("memory_import", "-", "--owner", "")
    assert list_contents("") == ["tea"]
    assert list_uploads() == []


def test_an_export_to_standard_output_is_the_file_and_nothing_else(monkeypatch, key):
    remember("tea", key.id)
    remember("of another", "B")
    output = Stream()
    monkeypatch.setattr(sys, "stdout", output)
    call("memory_export", "-", "--all", "--format", "json")
    assert [memory["content"] for memory in json.loads(output.buffer.getvalue())] == ["tea", "of another"]


def test_filters_narrow_what_is_written(tmp_path, key):
    remember("tea", key.id, session_id="s1", type="semantic")
    remember("coffee", key.id, session_id="s1")
    target = tmp_path / "out.json"
    call("memory_export", str(target), "--owner", "laptop", "--session", "s1", "--type", "semantic", "--format", "json")
    assert [memory["content"] for memory in json.loads(target.read_text())] == ["tea"]


def test_a_file_that_exists_is_written_over_only_when_asked(write, key):
    file = write("mine")
    with pytest.raises(CommandError, match="exists"):
        call("memory_export", str(file), "--all")
    assert file.read_text() == "mine"
    call("memory_export", str(file), "--all", "--force")
    assert file.read_text() != "mine"
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]


def test_what_does_not_work_is_said_in_a_line(write, tmp_path):
    for words, told in [
        (["memory_import", "no-such-file", "--owner", "laptop"], "there is no file"),
        (["memory_import", str(write(ROWS)), "--owner", "nobody"], "no API key is called nobody"),
        (["memory_import", str(write("x y", "text")), "--owner", "laptop"], "not recognised"),
        (["memory_import", str(write(ROWS)), "--owner", "laptop", "--strict"], "row 3: content is empty"),
        (["memory_export", str(tmp_path / "no" / "folder"), "--all"], "can't be written"),
    ]:
        with pytest.raises(CommandError, match=told):
            call(*words)
    assert load(None) == []


def test_one_name_for_two_keys_is_not_guessed(write):
    create_api_key("laptop")
    with pytest.raises(CommandError, match="2 API keys are called laptop"):
        call("memory_import", str(write(ROWS)), "--owner", "laptop")
