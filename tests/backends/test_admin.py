"""The backends' page in the admin."""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from memory.config import MEMORY_SECTION
from tests.backends import obsidian_vault
from tests.backends.obsidian_vault import ObsidianVault

pytestmark = pytest.mark.django_db
PAGE = "/admin/memory/memory/backends/"


@pytest.fixture
def admin(db: None) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root", password="x"))
    return client


def save(admin: Client, **fields: Any) -> Any:
    configs = json.dumps(fields.pop("backendConfigs", {}))
    return admin.post(PAGE, {"primaryBackend": "sqlite", "fallbackBackends": "", "backendConfigs": configs, **fields})


def test_a_backend_is_configured_checked_and_chosen(admin: Client, vault: ObsidianVault) -> None:
    assert b"Backends</a>" in admin.get("/admin/memory/memory/").content
    assert b"not checked" in admin.get(PAGE).content
    config = {"baseUrl": vault.url, "apiKey": obsidian_vault.KEY}
    answer = save(
        admin, primaryBackend="obsidian", fallbackBackends="sqlite, notion", backendConfigs={"obsidian": config}
    )
    assert answer.status_code == 302
    values = MEMORY_SECTION.read()
    assert (values["primaryBackend"], values["fallbackBackends"]) == ("obsidian", ["sqlite", "notion"])
    assert admin.post(PAGE, {"check": "1"}).status_code == 302
    page = admin.get(PAGE).content.decode()
    assert "Obsidian Vault (obsidian)" in page
    assert "well, " in page
    assert "The backend notion is not configured" in page
    assert obsidian_vault.KEY not in page
    assert "***ests" in page
    masked = values["backendConfigs"]["obsidian"]
    assert save(admin, primaryBackend="obsidian", backendConfigs={"obsidian": masked}).status_code == 302
    assert admin.post(PAGE, {"check": "1"}).status_code == 302
    assert "well, " in admin.get(PAGE).content.decode()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"primaryBackend": "notion"}, "databaseId is missing"),
        ({"fallbackBackends": "postgres"}, "There is no backend postgres"),
        ({"backendConfigs": {"obsidian": {"vault": "x"}}}, "obsidian.vault: Unknown field"),
    ],
)
def test_what_is_refused_is_told_at_its_field(admin: Client, fields: dict[str, Any], told: str) -> None:
    answer = save(admin, **fields)
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert MEMORY_SECTION.read()["primaryBackend"] == "sqlite"


def test_only_staff_with_the_right_sees_it(db: None) -> None:
    client = Client()
    assert client.get(PAGE).status_code == 302
    client.force_login(get_user_model().objects.create_user("staff", password="x", is_staff=True))
    assert client.get(PAGE).status_code == 403
