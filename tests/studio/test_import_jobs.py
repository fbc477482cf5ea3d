"""An import that a job does: its end is told once, in its dialog or on whatever page the operator is by then."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory.models import Memory
from studio.views import memories_files

IMPORT = "/dashboard/memory/import"

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(settings, tmp_path: Path, monkeypatch) -> Client:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(memories_files, "AT_ONCE", 3)
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


def start(client: Client, content: str) -> str:
    """Upload and confirm; return the address of the progress."""
    fields = {"owner": "~none", "format": "auto"}
    preview = client.post(IMPORT, {**fields, "file": SimpleUploadedFile("x.json", content.encode())})
    action = preview.context["action"]
    assert client.post(action, fields).status_code == 200
    assert Job.objects.filter(name="memory.import").count() == 1
    return action.removesuffix("run") + "progress"


def do_jobs() -> None:
    while job := claim_next("memory.import"):
        run_job(job)


def read(client: Client, address: str, **headers: str) -> str:
    return client.get(address, headers=headers).content.decode()


ROWS = json.dumps([{"key": f"k{n}", "content": f"memory {n}"} for n in range(5)])


def test_who_went_to_another_page_is_told_there_with_the_undo_and_the_dialog_says_it_no_more(client):
    address = start(client, ROWS)
    assert "Imported" not in read(client, "/dashboard/overview")
    do_jobs()
    assert Memory.objects.count() == 5
    page = read(client, "/dashboard/overview")
    assert "Imported 5 memories" in page
    assert "/dashboard/memory/undo/" in page
    assert "Imported 5 memories" not in read(client, address, **{"HX-Request": "true"})


def test_the_dialog_tells_it_and_the_next_page_no_more(client):
    address = start(client, ROWS)
    do_jobs()
    assert "Imported 5 memories" in read(client, address, **{"HX-Request": "true"})
    assert "Imported 5 memories" not in read(client, "/dashboard/overview")


def test_an_import_whose_file_was_erased_meanwhile_is_told_as_failed(client, tmp_path):
    start(client, ROWS)
    for path in (tmp_path / "imports").iterdir():
        path.unlink()
    do_jobs()
    assert "The import failed: There is no such upload" in read(client, "/dashboard/overview")
