"""What a long undo and a long erasure tell on stderr meanwhile; a short one tells nothing."""

import io

import pytest
from django.core.management import call_command

from core.accounts.keys import create_api_key
from memory import corrections
from memory.erasing import places
from memory.management import progress
from memory.models import Memory
from memory.records import MemoryFilter
from tests.transfer.stored import remember

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("memory.undo.BATCH_ROWS", 2)
    monkeypatch.setattr(places, "BATCH_ROWS", 2)


def call(*words):
    output, errors = io.StringIO(), io.StringIO()
    call_command(*words, stdout=output, stderr=errors)
    return output.getvalue(), errors.getvalue()


def remember_five():
    key, _ = create_api_key("laptop")
    for number in range(5):
        remember(f"tea {number}", key.id)


@pytest.mark.parametrize(("quiet_seconds", "told"), [(0.0, "2 of 5, 40%"), (2000.0, "")])
def test_a_long_undo_tells_how_far_it_is(monkeypatch, quiet_seconds, told):
    monkeypatch.setattr(progress, "QUIET_SECONDS", quiet_seconds)
    remember_five()
    undo_id = corrections.delete_matching(MemoryFilter(None)).undo_id
    output, errors = call("memory_undo", undo_id)
    assert "Memories put back: 5" in output
    assert errors.startswith(told) if told else errors == ""
    assert "5 of 5, 100%" in errors or not told


@pytest.mark.parametrize(("quiet_seconds", "told"), [(0.0, "2 of 5, 40%"), (2000.0, "")])
def test_a_long_erasure_tells_how_far_it_is(monkeypatch, quiet_seconds, told):
    monkeypatch.setattr(progress, "QUIET_SECONDS", quiet_seconds)
    remember_five()
    output, errors = call("memory_erase", "--owner", "laptop", "--confirm", "5")
    assert "counted again: nothing is left" in output
    assert errors.startswith(told) if told else errors == ""
    assert "5 of 5, 100%" in errors or not told
    assert not Memory.objects.exists()
