"""Deleting for good: only when asked, counted first, and never what somebody has refreshed."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory import purging, services
from memory.models import HEALTH_CHECK_OWNER, Memory
from memory.records import MemoryDraft

pytestmark = pytest.mark.django_db


def remember(content: str, *, owner: str = "A", expires_in_days: float | None = None, age_days: float = 0) -> str:
    expires_at = None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days)
    record = services.create(MemoryDraft(owner, content, content, expires_at=expires_at))
    Memory.objects.filter(uuid=record.id).update(updated_at=timezone.now() - timedelta(days=age_days))
    return record.id


@pytest.fixture
def memories():
    remember("expired", expires_in_days=-1)
    remember("expired theirs", owner="B", expires_in_days=-0.01)
    remember("expires tomorrow", expires_in_days=1)
    remember("forgotten", age_days=31)
    remember("fresh")
    remember("the self-test's", owner=HEALTH_CHECK_OWNER, age_days=100)


def run(*words: str) -> str:
    out = StringIO()
    call_command("memory_purge", *words, stdout=out)
    return out.getvalue()


def contents() -> set[str]:
    return set(Memory.objects.values_list("content", flat=True))


def test_a_dry_run_counts_and_deletes_nothing(memories):
    before = contents()
    told = run("--expired", "--beyond-retention", "--dry-run")
    assert "2 expired would be deleted" in told
    assert "1 not refreshed for 30 days would be deleted" in told
    assert contents() == before


def test_expired_memories_go_and_others_stay(memories):
    assert "2 expired deleted" in run("--expired")
    assert contents() == {"expires tomorrow", "forgotten", "fresh", "the self-test's"}


def test_what_retention_dropped_goes_by_the_saved_number_of_days(memories):
    services.change_settings({"retentionDays": 60})
    assert purging.purge_beyond_retention() == 0
    services.change_settings({"retentionDays": 30})
    assert purging.purge_beyond_retention() == 1
    assert "forgotten" not in contents()


def test_a_memory_refreshed_between_count_and_purge_stays(memories):
    assert purging.count_beyond_retention() == 1
    services.create(MemoryDraft("A", "forgotten", "forgotten"))
    assert purging.purge_beyond_retention() == 0


def test_a_purge_takes_batch_after_batch(monkeypatch):
    monkeypatch.setattr(purging, "BATCH_ROWS", 3)
    for number in range(10):
        remember(f"old {number}", expires_in_days=-1)
    assert purging.purge_expired() == 10
    assert contents() == set()


def test_the_command_wants_to_be_told_what_to_delete():
    with pytest.raises(CommandError, match="--expired"):
        run()
