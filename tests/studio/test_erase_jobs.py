"""Erasing a key of which there is much: a job does it, its page shows how far it is, and at the end the receipt."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from core.accounts.keys import create_api_key
from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory import services
from memory.erasing import runs
from memory.erasing.receipts import is_unchanged
from memory.models import Memory
from memory.records import MemoryDraft

KEYS = "/dashboard/settings/keys"

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.fixture
def key_id(monkeypatch) -> str:
    monkeypatch.setattr(runs, "AT_ONCE_THINGS", 3)
    key, _ = create_api_key("laptop")
    for number in range(5):
        services.create(MemoryDraft(key.id, f"k{number}", f"memory {number}"))
    return key.id


def start(client: Client, key_id: str) -> str:
    return str(client.post(f"{KEYS}/{key_id}/erase", {"typed": "erase 5"}).headers["Location"])


def do_jobs() -> None:
    while job := claim_next("memory.erase_scope"):
        run_job(job)


def read(client: Client, address: str, **headers: str) -> str:
    return client.get(address, headers=headers).content.decode()


def test_the_page_shows_how_far_it_is_and_at_the_end_the_receipt(client, key_id):
    address = start(client, key_id)
    assert re.fullmatch(rf"{KEYS}/{key_id}/erase/[0-9a-f-]{{36}}", address)
    page = read(client, address)
    assert "Erasing in the background" in page
    assert "0 of 5 things" in page
    assert f'hx-get="{address}"' in page
    poll = client.get(address, headers={"HX-Request": "true"})
    assert "HX-Refresh" not in poll.headers
    assert "<main" not in poll.content.decode()
    assert Memory.objects.count() == 5
    do_jobs()
    assert Memory.objects.count() == 0
    assert client.get(address, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    receipt = read(client, address)
    assert "It is kept here for 7 days" in receipt
    told = json.loads(client.get(address).context["text"])
    assert is_unchanged(told)
    assert (told["apiKeyId"], told["erasedBy"]) == (key_id, "operator")


def test_asked_again_it_leads_to_the_same_page(client, key_id):
    assert start(client, key_id) == start(client, key_id)
    assert Job.objects.filter(name="memory.erase_scope").count() == 1


def test_who_went_to_another_page_is_told_there_and_led_to_the_receipt(client, key_id):
    address = start(client, key_id)
    assert "of laptop is erased" not in read(client, "/dashboard/overview")
    do_jobs()
    page = read(client, "/dashboard/overview")
    assert "of laptop is erased" in page
    assert f'href="{address}"' in page
    assert "of laptop is erased" not in read(client, "/dashboard/overview")


def test_a_job_that_was_given_up_is_told_on_the_page(client, key_id):
    address = start(client, key_id)
    Job.objects.filter(name="memory.erase_scope").update(state=Job.State.DEAD, error="the disk is full")
    page = read(client, address)
    assert "The erasure was given up" in page
    assert "hx-get" not in page[page.index('id="erasing"') :].partition("</section>")[0]


def test_an_erasure_of_another_key_is_not_found_under_this_one(client, key_id):
    address = start(client, key_id)
    assert client.get(address.replace(key_id, "other")).status_code == 404
    assert client.get(f"{KEYS}/{key_id}/erase/864367bd-83fe-445b-b382-139023d1bc70").status_code == 404


def test_another_number_than_there_is_erases_nothing(client, key_id):
    answer = client.post(f"{KEYS}/{key_id}/erase", {"typed": "erase 4"})
    assert answer.status_code == 422
    assert not Job.objects.filter(name="memory.erase_scope").exists()
