"""Whoever writes much lets others write in between, and whoever writes a little does not wait for it."""

import pytest
from django.db import transaction

from core.db import pauses


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    monkeypatch.setattr(pauses._LAST, "breath", 0.0, raising=False)
    slept: list[float] = []
    monkeypatch.setattr(pauses.time, "sleep", slept.append)
    return slept


@pytest.mark.django_db(transaction=True)
def test_a_breath_is_taken_once_in_a_while(slept, monkeypatch):
    for _ in range(3):
        pauses.let_others_write()
    assert slept == [pauses.PAUSE_SECONDS]
    monkeypatch.setattr(pauses, "WORK_SECONDS", 0.0)
    pauses.let_others_write()
    assert len(slept) == 2


@pytest.mark.django_db
def test_nobody_is_kept_waiting_within_a_transaction(slept):
    with transaction.atomic():
        pauses.let_others_write()
    assert slept == []
