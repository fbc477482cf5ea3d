"""Moving in and out, and erasing, where memories are stored by another backend than the built-in one."""

from collections.abc import Iterator

import pytest

from memory.backends.generic_http import GenericMemoryBackend
from memory.backends.manager import MANAGER
from memory.erasing import confirm_and_erase, plan_erase
from memory.models import Memory
from memory.records import EraseScope, MemoryFilter
from memory.transfer import ImportOptions, export_jsonl, run_import
from tests.backends.rest_service import PREFIX, RestService
from tests.transfer.stored import count, run

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = [{"key": f"k{n}", "content": f"content {n}", "createdAt": "2026-03-04T05:06:07Z"} for n in range(3)]


@pytest.fixture
def backend() -> Iterator[GenericMemoryBackend]:
    with RestService() as service:
        opened = GenericMemoryBackend({"baseUrl": f"{service.url}{PREFIX}"})
        MANAGER.register(opened)
        MANAGER.configure(opened.id)
        yield opened
        MANAGER.shutdown()
        MANAGER._own.clear()


def list_contents(backend, owner="A"):
    return sorted(record.content for record in backend.list(MemoryFilter(owner), limit=50, offset=0).records)


def test_an_import_is_stored_there_once_and_cannot_be_undone(backend, write):
    file = write([*ROWS, {"content": ""}])
    report = run_import(file, ImportOptions(owner="A"))
    assert count(report.plan) == {"new": 3, "invalid": 1}
    assert report.undo_id is None
    assert list_contents(backend) == ["content 0", "content 1", "content 2"]
    assert not Memory.objects.owned_by(None).exists()
    assert count(run(file)) == {"unchanged": 3, "invalid": 1}


def test_what_is_stored_there_is_exported_and_changed(backend, write):
    run_import(write(ROWS), ImportOptions(owner="A"))
    text = b"".join(export_jsonl(MemoryFilter("A")))
    assert text.count(b'"content":"content') == 3
    assert count(run(write(text.replace(b"content 1", b"content one")), overwrites=True)) == {
        "update": 1,
        "unchanged": 2,
    }
    assert list_contents(backend) == ["content 0", "content 2", "content one"]


def test_what_is_stored_there_is_erased(backend, write):
    run_import(write(ROWS), ImportOptions(owner="A"))
    run_import(write(ROWS), ImportOptions(owner="B"))
    assert plan_erase(EraseScope("A")).memories == 3
    receipt = confirm_and_erase(EraseScope("A"), confirmed=3, erased_by="somebody")
    assert receipt.is_proven, receipt
    assert list_contents(backend) == []
    assert len(list_contents(backend, "B")) == 3
