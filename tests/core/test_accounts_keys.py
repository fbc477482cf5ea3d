"""API keys: made once, stored hashed, recognised, revoked; the key in the environment; when they were used."""

import hashlib
import string

import pytest
from django.db import DatabaseError, connection
from hypothesis import given
from hypothesis import strategies as st

from core.accounts import keys
from core.accounts.last_use import LastUseRecorder
from core.accounts.models import ApiKey
from core.bearer import read_bearer
from core.errors import ForbiddenError, InvalidFieldsError, UnauthenticatedError

pytestmark = pytest.mark.django_db


def test_a_key_is_256_random_bits_behind_a_known_start():
    row, bare_key = keys.create_api_key("laptop")
    assert bare_key.startswith("omr_")
    assert len(bare_key) == len("omr_") + 43
    assert set(bare_key) <= set(string.ascii_letters + string.digits + "-_")
    assert row.prefix == bare_key[:12]
    assert row.scopes == ["chat"]
    assert keys.create_api_key("laptop")[1] != bare_key


def test_the_database_never_holds_the_key_itself():
    row, bare_key = keys.create_api_key("laptop", ("manage",))
    stored = " ".join(str(value) for value in ApiKey.objects.values_list().get(id=row.id))
    assert bare_key not in stored
    assert hashlib.sha256(bare_key.encode()).hexdigest() in stored


def test_a_caller_is_found_by_one_indexed_query(django_assert_num_queries):
    row, bare_key = keys.create_api_key("laptop", ("chat", "manage"))
    with django_assert_num_queries(1) as captured:
        caller = keys.find_caller(bare_key)
    assert caller == keys.Caller(row.id, "laptop", frozenset({"chat", "manage"}))
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + captured.captured_queries[0]["sql"])
        plan = " ".join(str(step) for step in cursor.fetchall())
    assert "USING INDEX" in plan
    assert "SCAN" not in plan


@pytest.mark.parametrize("change", [str.upper, lambda key: key[:-1], lambda key: key + "x", lambda key: key[:12]])
def test_a_key_that_is_nearly_right_is_unknown(change):
    _, bare_key = keys.create_api_key("laptop")
    assert keys.find_caller(change(bare_key)) is None


@pytest.mark.parametrize("text", ["", " ", "omr_", "\x00", "\ud800", "ключ", "x" * 100_000])
def test_odd_text_is_no_key(text):
    assert keys.find_caller(text) is None


def test_a_revoked_key_is_refused_at_once_and_stays_listed():
    row, bare_key = keys.create_api_key("laptop")
    assert keys.revoke_keys([row.id]) == 1
    assert keys.find_caller(bare_key) is None
    revoked_at = ApiKey.objects.get(id=row.id).revoked_at
    assert revoked_at is not None
    assert keys.revoke_keys([row.id]) == 0
    assert ApiKey.objects.get(id=row.id).revoked_at == revoked_at


def test_the_key_of_the_environment_manages_without_a_row(settings, django_assert_num_queries):
    settings.OMNIROUTE_API_KEY = "operator-secret"
    with django_assert_num_queries(0):
        caller = keys.find_caller("operator-secret")
    assert caller == keys.Caller("env", "OMNIROUTE_API_KEY", frozenset({"admin"}))
    assert caller.manages
    assert keys.find_caller("operator-secre") is None


def test_no_key_in_the_environment_means_none_is_valid(settings):
    settings.OMNIROUTE_API_KEY = ""
    assert keys.find_caller("") is None


@pytest.mark.parametrize(
    ("scopes", "manages"),
    [(["chat"], False), (["manage"], True), (["admin"], True), (["admin", "chat"], True)],
)
def test_manage_and_admin_manage(scopes, manages):
    _, bare_key = keys.create_api_key("laptop", scopes)
    assert keys.find_caller(bare_key).manages is manages


@pytest.mark.parametrize(
    ("name", "scopes", "fields"),
    [
        ("", ["chat"], ["name"]),
        ("   ", ["chat"], ["name"]),
        ("n" * 101, ["chat"], ["name"]),
        ("a\x00b", ["chat"], ["name"]),
        ("a\nb", ["chat"], ["name"]),
        ("\ud800", ["chat"], ["name"]),
        ("laptop", [], ["scopes"]),
        ("laptop", ["chat", "root"], ["scopes"]),
        ("", ["root"], ["name", "scopes"]),
    ],
)
def test_a_wrong_name_or_scope_is_refused_by_field(name, scopes, fields):
    with pytest.raises(InvalidFieldsError) as refusal:
        keys.create_api_key(name, scopes)
    assert [item.field for item in refusal.value.details] == fields
    assert not ApiKey.objects.exists()


def test_scopes_are_stored_once_each_in_one_order():
    row, _ = keys.create_api_key("laptop", ["admin", "chat", "admin"])
    assert row.scopes == ["chat", "admin"]


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Bearer omr_x", "omr_x"),
        ("bearer omr_x", "omr_x"),
        ("BEARER   omr_x  ", "omr_x"),
        ("Basic omr_x", None),
        ("omr_x", None),
        ("Bearer omr_x y", "omr_x y"),
    ],
)
def test_the_bearer_key_is_read_from_the_header(header, token):
    assert read_bearer(header) == token


@given(st.text())
def test_any_header_is_read_without_a_fault(header):
    token = read_bearer(header)
    assert token is None or (token and token == token.strip())


def test_a_door_learns_who_calls():
    row, bare_key = keys.create_api_key("laptop", ("manage",))
    assert keys.identify_caller(None) is None
    assert keys.identify_caller(f"Bearer {bare_key}").key_id == row.id
    with pytest.raises(UnauthenticatedError, match="Invalid API key"):
        keys.identify_caller("Bearer omr_wrong")


def test_a_door_asks_for_a_manager():
    manager = keys.Caller("1", "m", frozenset({"manage"}))
    assert keys.require_manager(manager) is manager
    with pytest.raises(UnauthenticatedError, match="Authentication required"):
        keys.require_manager(None)
    with pytest.raises(ForbiddenError, match="API key lacks 'manage' scope") as refusal:
        keys.require_manager(keys.Caller("2", "c", frozenset({"chat"})))
    assert refusal.value.code == "missing_scope"


def test_keys_are_found_by_what_an_operator_has_at_hand():
    row, bare_key = keys.create_api_key("laptop")
    keys.create_api_key("phone")
    for reference in (row.id, row.prefix, "laptop", bare_key):
        assert [found.id for found in keys.find_keys(reference)] == [row.id]
    assert keys.find_keys("nobody") == []


# --- when a key was last used ------------------------------------------------------------------------------------


@pytest.fixture
def used_key() -> ApiKey:
    return keys.create_api_key("laptop")[0]


def test_the_first_use_is_written_and_then_one_a_minute(used_key, monkeypatch, django_assert_num_queries):
    seconds = [1000.0]
    monkeypatch.setattr("core.accounts.last_use.time.monotonic", lambda: seconds[0])
    recorder = LastUseRecorder()
    recorder.note(used_key.id)
    assert recorder.flush()
    first = ApiKey.objects.get(id=used_key.id).last_used_at
    assert first is not None

    seconds[0] += 59
    recorder.note(used_key.id)
    with django_assert_num_queries(0):
        recorder.flush()

    seconds[0] += 2
    recorder.note(used_key.id)
    assert recorder.flush()
    assert ApiKey.objects.get(id=used_key.id).last_used_at > first


def test_finding_a_caller_notes_the_use_without_writing(monkeypatch, django_assert_num_queries):
    recorder = LastUseRecorder()
    monkeypatch.setattr(keys, "RECORDER", recorder)
    row, bare_key = keys.create_api_key("laptop")
    with django_assert_num_queries(1):
        keys.find_caller(bare_key)
    assert ApiKey.objects.get(id=row.id).last_used_at is None
    recorder.flush()
    assert ApiKey.objects.get(id=row.id).last_used_at is not None


def test_a_busy_database_only_postpones_the_note(used_key, monkeypatch):
    recorder = LastUseRecorder()
    recorder.note(used_key.id)

    def refuse(*args, **kwargs):
        raise DatabaseError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr("core.accounts.last_use.transaction.atomic", refuse)
        assert recorder.flush() is False
    assert recorder.flush() is True
    assert ApiKey.objects.get(id=used_key.id).last_used_at is not None


@pytest.mark.django_db(transaction=True)
def test_the_servers_thread_writes_soon_and_stops(used_key):
    recorder = LastUseRecorder()
    recorder.start()
    recorder.note(used_key.id)
    recorder.stop(timeout_seconds=10)
    assert ApiKey.objects.get(id=used_key.id).last_used_at is not None
    recorder.stop(timeout_seconds=10)
