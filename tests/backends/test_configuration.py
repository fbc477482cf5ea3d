"""Backends set up through the settings: what is refused, and where secrets are and are not."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from core.models import Setting
from memory.backends.base import BackendError
from memory.backends.manager import MANAGER, get_backend, get_primary
from memory.records import MemoryDraft, MemoryFilter
from tests.backends import notion_workspace, obsidian_vault
from tests.backends.obsidian_vault import ObsidianVault
from tests.backends.rest_service import PREFIX, RestService
from tests.rest.rest_api import MANAGEMENT_KEY, Api, fields_of

pytestmark = pytest.mark.django_db
SETTINGS = "/api/settings/memory"
SECRET = "sk-test-LEAKME-0123"


@pytest.fixture
def api(settings: Any, db: None) -> Api:
    settings.OMNIROUTE_API_KEY = MANAGEMENT_KEY
    return Api(MANAGEMENT_KEY)


def put(api: Api, **configs: Any) -> Any:
    answer = api.put(SETTINGS, {"backendConfigs": configs})
    assert answer.status_code == 200, answer.content
    return answer.json()["backendConfigs"]


def read_config(api: Api, name: str) -> Any:
    return api.get(SETTINGS).json()["backendConfigs"][name]


def dump_settings() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, value FROM settings")
        return repr(cursor.fetchall())


def opened_key(name: str) -> str:
    backend: Any = get_backend(name)
    return str(backend._connection.headers["authorization"])


# --- what may be set ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configs", "field"),
    [
        ({"postgres": {}}, "backendConfigs.postgres"),
        ({"sqlite": {"path": "x"}}, "backendConfigs.sqlite.path"),
        ({"obsidian": []}, "backendConfigs.obsidian"),
        ({"obsidian": {"vault": "x"}}, "backendConfigs.obsidian.vault"),
        ({"obsidian": {"baseUrl": "ftp://host"}}, "backendConfigs.obsidian.baseUrl"),
        ({"obsidian": {"baseUrl": "http://user:pass@host"}}, "backendConfigs.obsidian.baseUrl"),
        ({"obsidian": {"baseUrl": "http://169.254.169.254"}}, "backendConfigs.obsidian.baseUrl"),
        ({"obsidian": {"folder": "../x"}}, "backendConfigs.obsidian.folder"),
        ({"obsidian": {"folder": "a/heading/b"}}, "backendConfigs.obsidian.folder"),
        ({"obsidian": {"apiKey": 5}}, "backendConfigs.obsidian.apiKey"),
        ({"obsidian": {"apiKey": "a\nb"}}, "backendConfigs.obsidian.apiKey"),
        ({"generic": {"timeout": 0}}, "backendConfigs.generic.timeout"),
        ({"generic": {"timeout": "30"}}, "backendConfigs.generic.timeout"),
        ({"generic": {"endpoints": {"find": "/x"}}}, "backendConfigs.generic.endpoints.find"),
        ({"generic": {"queryParams": {"q": "x"}}}, "backendConfigs.generic.queryParams.q"),
        ({"generic": {"pathParams": ["id"]}}, "backendConfigs.generic.pathParams"),
        ({"generic": {"headers": {"X Y": "v"}}}, "backendConfigs.generic.headers.X Y"),
        ({"generic": {"headers": {"X": "a\r\nb"}}}, "backendConfigs.generic.headers.X"),
        ({"generic": {"updateMethod": "POST"}}, "backendConfigs.generic.updateMethod"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(api: Api, configs: Any, field: str) -> None:
    assert fields_of(api.put(SETTINGS, {"backendConfigs": configs})) == {field}
    assert not Setting.objects.exists()


@pytest.mark.parametrize("names", [["postgres"], ["obsidian", "obsidian"]])
def test_wrong_fallbacks_are_refused(api: Api, names: list[str]) -> None:
    assert fields_of(api.put(SETTINGS, {"fallbackBackends": names})) == {"fallbackBackends"}


def test_a_primary_that_is_not_configured_is_refused_and_changes_nothing(api: Api) -> None:
    answer = api.put(SETTINGS, {"primaryBackend": "notion", "maxTokens": 7})
    assert fields_of(answer) == {"primaryBackend"}
    assert not Setting.objects.exists()
    config = {"apiKey": SECRET, "databaseId": "x"}
    answer = api.put(SETTINGS, {"primaryBackend": "notion", "backendConfigs": {"notion": config}})
    assert answer.status_code == 200


def test_the_environment_configures_what_the_settings_do_not(db: None, settings: Any, vault: ObsidianVault) -> None:
    with pytest.raises(BackendError, match="apiKey is missing"):
        get_backend("obsidian")
    settings.OBSIDIAN_API_URL, settings.OBSIDIAN_API_KEY = vault.url, obsidian_vault.KEY
    assert get_backend("obsidian").health().is_ok
    settings.NOTION_API_KEY = notion_workspace.KEY
    with pytest.raises(BackendError, match="databaseId is missing"):
        get_backend("notion")


# --- secrets -----------------------------------------------------------------------------------------------


def test_rw_075_secrets_of_backends_are_never_told(api: Api) -> None:
    headers = {"X-Api-Token": f"{SECRET}-h", "X-Tenant": "shop"}
    told = put(api, generic={"baseUrl": "https://example.com", "apiKey": SECRET, "headers": headers})
    masked = {"X-Api-Token": "***23-h", "X-Tenant": "shop"}
    assert told == {"generic": {"baseUrl": "https://example.com", "apiKey": "***0123", "headers": masked}}
    assert api.get(SETTINGS).json()["backendConfigs"] == told
    for answer in (api.get(SETTINGS), api.put(SETTINGS, {"maxTokens": 5}), api.put(SETTINGS, {"maxTokens": "x"})):
        assert b"LEAKME" not in answer.content
    assert "LEAKME" not in dump_settings()
    output = io.StringIO()
    call_command("memory_settings", stdout=output)
    call_command("memory_backends", configure="generic", stdout=output)
    assert "LEAKME" not in output.getvalue()
    assert "***0123" in output.getvalue()
    assert opened_key("generic") == f"Bearer {SECRET}"
    backend: Any = get_backend("generic")
    assert backend._connection.headers["X-Api-Token"] == f"{SECRET}-h"


def test_rw_075_without_management_auth_no_configuration_is_told_or_taken(api: Api) -> None:
    put(api, generic={"baseUrl": "https://example.com", "apiKey": SECRET})
    before = dump_settings()
    for caller in (Api(None), Api("wrong")):
        assert caller.get(SETTINGS).status_code == 401
        assert caller.put(SETTINGS, {"backendConfigs": {}}).status_code == 401
    assert dump_settings() == before


@pytest.mark.parametrize("change", [{"apiKey": "***0123"}, {"apiKey": "***"}, {}])
def test_a_masked_or_absent_secret_stays(api: Api, change: dict[str, str]) -> None:
    put(api, generic={"baseUrl": "https://example.com", "apiKey": SECRET})
    told = put(api, generic={"baseUrl": "https://example.org", **change})
    assert told["generic"] == {"baseUrl": "https://example.org", "apiKey": "***0123"}
    assert opened_key("generic") == f"Bearer {SECRET}"


def test_an_empty_secret_is_removed_and_a_new_one_taken(api: Api) -> None:
    put(api, generic={"baseUrl": "https://example.com", "apiKey": SECRET, "headers": {"X-Token": "t" * 20}})
    assert put(api, generic={"apiKey": "another-key-9876"})["generic"]["apiKey"] == "***9876"
    told = put(api, generic={"baseUrl": "https://example.com", "apiKey": "", "headers": {"X-Token": ""}})
    assert told["generic"] == {"baseUrl": "https://example.com", "headers": {}}
    backend: Any = get_backend("generic")
    assert "authorization" not in backend._connection.headers


def test_a_short_secret_is_masked_wholly(api: Api) -> None:
    assert put(api, generic={"baseUrl": "https://example.com", "apiKey": "short"})["generic"]["apiKey"] == "***"


def test_a_mask_with_nothing_behind_it_is_no_secret(api: Api) -> None:
    assert put(api, generic={"baseUrl": "https://example.com", "apiKey": "***0123"})["generic"] == {
        "baseUrl": "https://example.com"
    }


def test_a_backend_that_is_not_named_any_more_loses_its_secret(api: Api) -> None:
    put(api, generic={"baseUrl": "https://example.com", "apiKey": SECRET})
    assert put(api) == {}
    assert put(api, generic={"baseUrl": "https://example.com"})["generic"] == {"baseUrl": "https://example.com"}


def test_a_secret_of_another_secret_key_is_told_to_be_stored_again(api: Api, settings: Any) -> None:
    put(api, generic={"baseUrl": "https://example.com", "apiKey": SECRET})
    settings.SECRET_KEY = "another"
    with pytest.raises(BackendError, match="SECRET_KEY has changed"):
        get_backend("generic")


def test_a_change_opens_the_backend_anew(api: Api) -> None:
    put(api, generic={"baseUrl": "https://example.com"})
    first = get_backend("generic")
    assert get_backend("generic") is first
    put(api, generic={"baseUrl": "https://example.org"})
    assert get_backend("generic") is not first


# --- the command -------------------------------------------------------------------------------------------


def run(**options: Any) -> str:
    output = io.StringIO()
    call_command("memory_backends", stdout=output, stderr=output, **options)
    return output.getvalue()


def configure_generic(service: RestService) -> None:
    run(configure="generic", set=[f"baseUrl={service.url}{PREFIX}", "apiKey=rest-key-of-the-tests"])


def test_the_command_configures_and_tries_a_backend(db: None, service: RestService) -> None:
    with pytest.raises(CommandError, match="baseUrl is missing"):
        run(test="generic")
    with pytest.raises(CommandError, match=r"backendConfigs\.generic\.timeout"):
        run(configure="generic", set=["timeout=0"])
    configure_generic(service)
    told = run(configure="generic", set=["timeout=5000", 'endpoints={"search": ""}', "backendType=notes"])
    assert "timeout=5000" in told
    assert 'endpoints={"search": ""}' in told
    assert "apiKey=***ests" in told
    assert run(test="generic").startswith("generic: well, ")
    assert "generic (REST service): not in use, well" in run()
    assert "apiKey=  #" in run(configure="generic", set=["apiKey="])


def test_the_command_asks_all_backends(db: None, service: RestService) -> None:
    configure_generic(service)
    assert "sqlite (SQLite): primary, not checked" in run()
    told = run(check=True)
    assert "sqlite (SQLite): primary, well" in told
    assert "obsidian (Obsidian Vault): not in use, unwell: The backend obsidian is not configured" in told
    service.is_down = True
    with pytest.raises(CommandError, match="HTTP 503"):
        run(test="generic")
    assert "generic (REST service): not in use, unwell: The backend generic answered HTTP 503" in run()


def test_memories_move_from_one_backend_to_another(
    db: None, fresh_engine: None, service: RestService, vault: ObsidianVault
) -> None:
    configure_generic(service)
    run(configure="obsidian", set=[f"baseUrl={vault.url}", f"apiKey={obsidian_vault.KEY}"])
    sqlite = get_primary()
    for number in range(5):
        sqlite.create(MemoryDraft("AB"[number % 2], f"k{number}", f"c{number}", metadata={"n": number}))
    assert run(copy_from="sqlite", to="obsidian", dry_run=True) == "5 would be copied, 0 there already, 0 refused\n"
    assert vault.files == {}
    assert run(copy_from="sqlite", to="obsidian", owner="A") == "3 copied, 0 there already, 0 refused\n"
    assert run(copy_from="sqlite", to="obsidian") == "2 copied, 3 there already, 0 refused\n"
    assert run(copy_from="obsidian", to="generic") == "5 copied, 0 there already, 0 refused\n"
    expected = sqlite.list(MemoryFilter(None), limit=9, offset=0, order="key").records
    for name in ("obsidian", "generic"):
        copies = get_backend(name).list(MemoryFilter(None), limit=9, offset=0, order="key").records
        assert [(it.id, it.content, it.owner, dict(it.metadata)) for it in copies] == [
            (it.id, it.content, it.owner, dict(it.metadata)) for it in expected
        ]
    sqlite.delete_matching(MemoryFilter(None))
    assert run(copy_from="generic", to="sqlite") == "5 copied, 0 there already, 0 refused\n"
    assert sqlite.count(MemoryFilter(None)) == {"factual": 5}


def test_copying_breaks_off_with_a_reason(db: None, fresh_engine: None, service: RestService) -> None:
    configure_generic(service)
    get_primary().create(MemoryDraft("A", "k", "c"))
    service.is_down = True
    with pytest.raises(CommandError, match="HTTP 503; what was copied by then stays"):
        run(copy_from="sqlite", to="generic")
    for options in (
        {"copy_from": "sqlite"},
        {"copy_from": "sqlite", "to": "sqlite"},
        {"copy_from": "x", "to": "sqlite"},
    ):
        with pytest.raises(CommandError):
            run(**options)


def test_every_backend_of_the_registry_says_what_may_be_set() -> None:
    fields = MANAGER.load_all_fields()
    assert list(fields) == ["sqlite", "obsidian", "notion", "generic"]
    assert all(field.help for of_one in fields.values() for field in of_one)
