"""Commands on a data folder that may be new: keys, memory settings, what they print and how they fail."""

import json
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from processes import KEY, run_manage

from core.accounts import keys
from core.accounts.models import ApiKey
from memory.config import MEMORY_SECTION


def call(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def test_the_bare_key_is_the_last_line_even_on_a_fresh_folder(data_dir):
    result = run_manage(data_dir, "create_api_key", "laptop", "--scope", "manage")
    assert result.returncode == 0, result.stderr
    assert KEY.fullmatch(result.stdout.splitlines()[-1])
    [row] = json.loads(run_manage(data_dir, "list_api_keys", "--json").stdout)
    assert (row["name"], row["scopes"], row["lastUsedAt"]) == ("laptop", ["manage"], None)


def test_commands_that_start_at_once_on_a_fresh_folder_all_succeed(data_dir):
    names = [f"key-{number}" for number in range(3)]
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda name: run_manage(data_dir, "create_api_key", name), names))
    assert [result.returncode for result in results] == [0, 0, 0], [result.stderr for result in results]
    assert len(json.loads(run_manage(data_dir, "list_api_keys", "--json").stdout)) == 3


def test_a_database_that_cannot_be_used_is_one_line(data_dir):
    data_dir.mkdir()
    (data_dir / "storage.sqlite").write_text("shopping list\n" * 100)
    result = run_manage(data_dir, "create_api_key", "laptop")
    assert result.returncode != 0
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert result.stdout == ""


pytest_db = pytest.mark.django_db


@pytest_db
def test_json_is_one_object_with_the_key():
    told = json.loads(call("create_api_key", "laptop", "--json"))
    assert set(told) == {"id", "name", "key", "prefix", "scopes"}
    assert told["scopes"] == ["chat"]
    assert told["key"].startswith(told["prefix"])
    assert keys.find_caller(told["key"]).key_id == told["id"]


@pytest_db
def test_scopes_can_be_given_more_than_once():
    told = json.loads(call("create_api_key", "laptop", "--scope", "admin", "--scope", "chat", "--json"))
    assert told["scopes"] == ["chat", "admin"]


@pytest_db
@pytest.mark.parametrize("words", [["create_api_key", ""], ["create_api_key", "x" * 101]])
def test_a_wrong_name_is_refused(words):
    with pytest.raises(CommandError, match="name must be 1 to 100"):
        call(*words)
    assert not ApiKey.objects.exists()


@pytest_db
def test_an_unknown_scope_is_refused():
    with pytest.raises(CommandError, match="invalid choice: 'root'"):
        call("create_api_key", "laptop", "--scope", "root")


@pytest_db
def test_the_list_shows_every_key_and_no_secret():
    row, bare_key = keys.create_api_key("laptop")
    keys.create_api_key("phone")
    keys.revoke_keys([row.id])
    text = call("list_api_keys")
    assert [line.split()[0] for line in text.splitlines()] in (
        ["NAME", "phone", "laptop"],
        ["NAME", "laptop", "phone"],
    )
    assert "revoked" in text
    assert "active" in text
    assert bare_key not in text
    assert row.key_hash not in text + call("list_api_keys", "--json")


@pytest_db
@pytest.mark.parametrize("by", ["id", "prefix", "name"])
def test_a_key_is_revoked_by_what_the_list_shows(by):
    row, bare_key = keys.create_api_key("laptop")
    other = keys.create_api_key("phone")[1]
    assert "is revoked" in call("revoke_api_key", getattr(row, by))
    assert keys.find_caller(bare_key) is None
    assert keys.find_caller(other) is not None
    assert "revoked already" in call("revoke_api_key", getattr(row, by))


@pytest_db
def test_a_name_that_two_keys_share_revokes_neither():
    first, _ = keys.create_api_key("laptop")
    second, _ = keys.create_api_key("laptop")
    with pytest.raises(CommandError, match="2 keys are called so"):
        call("revoke_api_key", "laptop")
    assert ApiKey.objects.filter(revoked_at=None).count() == 2
    call("revoke_api_key", first.id)
    assert "is revoked" in call("revoke_api_key", "laptop")
    assert keys.find_keys(second.id)[0].is_revoked


@pytest_db
def test_an_unknown_key_cannot_be_revoked():
    with pytest.raises(CommandError, match="no such key"):
        call("revoke_api_key", "nobody")


@pytest_db
def test_memory_settings_are_shown_with_their_wire_names():
    shown = dict(line.split("=", 1) for line in call("memory_settings").splitlines())
    assert {name: json.loads(text) for name, text in shown.items()} == MEMORY_SECTION.read()
    assert shown["enabled"] == "false"


@pytest_db
def test_memory_settings_are_changed_like_over_http():
    shown = call("memory_settings", "enabled=true", "maxTokens=500", "strategy=recent", "customModelId=")
    assert {"enabled=true", "maxTokens=500", 'strategy="recent"', "customModelId=null"} <= set(shown.splitlines())
    assert MEMORY_SECTION.read()["maxTokens"] == 500


@pytest_db
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["enabled=yes"], "enabled"),
        (["maxTokens=16001"], "maxTokens"),
        (["maxTokens=NaN"], "maxTokens"),
        (["strategy=best"], "strategy"),
        (["memory=true"], "memory"),
        (["enabled"], "write a change as NAME=VALUE"),
        (["enabled=true", "enabled=false"], "given twice"),
        (["enabled=true", "maxTokens=-1"], "maxTokens"),
    ],
)
def test_a_wrong_memory_setting_is_named_and_nothing_is_changed(words, told):
    before = MEMORY_SECTION.read()
    with pytest.raises(CommandError, match=told):
        call("memory_settings", *words)
    assert MEMORY_SECTION.read() == before
