"""Erase, look again, tell. What a place can't erase now is tried again by a job until it can."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from core.db.sqlite.wiping import empty_log
from core.errors import AppError, ConflictError
from core.words import gettext as _
from core.words import join_words
from memory import queue
from memory.background import (
    AT_ONCE_THINGS,
    ERASE,
    Work,
    advance,
    end_work,
    find_open_work,
    open_work,
    read_known_work,
    read_work,
)
from memory.erasing.places import MEMORIES, Archive, Eraser, Jobs, Memories, StrayVectors, Uploads, ignore
from memory.erasing.receipts import ErasedPlace, ErasePlan, EraseReceipt, PlaceCount
from memory.records import EraseScope

logger = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 60


def _tell_nobody(done: int, total: int) -> None:
    """Nobody waits for it."""


class _Steps:
    """How far an erasure is, in things: what a place is through with, and within the large ones batch by batch."""

    def __init__(self, counts: Mapping[str, int], tell: Callable[[int, int], None], done: int = 0) -> None:
        self.counts = counts
        self._tell = tell
        self._total = sum(counts.values())
        self._passed = 0
        self._done = done

    def add(self, count: int) -> None:
        """So many more things are erased."""
        self._reach(self._done + count)

    def pass_by(self, name: str) -> None:
        """The place is done with, whatever came of it."""
        self._passed += self.counts.get(name, 0)
        self._reach(self._passed)

    def _reach(self, done: int) -> None:
        """Things that were not counted before make it no further than it can be."""
        done = min(done, self._total)
        if done > self._done:
            self._done = done
            self._tell(done, self._total)


def plan_erase(scope: EraseScope) -> ErasePlan:
    """Count what would be erased, place by place; nothing is changed."""
    places = tuple(_count(place, scope) for place in _list_places())
    memories = sum(place.count for place in places if place.name in (MEMORIES, "backends"))
    return ErasePlan(scope, places, memories)


def start_erase(scope: EraseScope, *, confirmed: int, erased_by: str, asked_by: str = "") -> EraseReceipt | Work:
    """Erase now if it is little, else have it done and return the work; ConflictError, with nothing erased, when
    `confirmed` is not the number of memories there are now.

    Asked twice, it is done once. `asked_by` is the operator of the studio who is told of its end.
    """
    named = {"owner": scope.owner, "sessionId": scope.session_id}
    running = find_open_work(ERASE, notes=named)
    if running is not None:
        return running
    planned = _plan_confirmed(scope, confirmed)
    if planned.things <= AT_ONCE_THINGS:
        return erase(scope, erased_by=erased_by)
    before = {place.name: place.count for place in planned.places}
    with transaction.atomic():
        work_id = open_work(ERASE, planned.things, asked_by=asked_by, notes={**named, "before": before})
        queue.enqueue_scope_erasing(work_id, scope.owner, scope.session_id, erased_by)
    return read_known_work(work_id)


def confirm_and_erase(
    scope: EraseScope, *, confirmed: int, erased_by: str, tell: Callable[[int, int], None] = _tell_nobody
) -> EraseReceipt:
    """Erase if `confirmed` is the number of memories there are now; ConflictError, with nothing erased, if not.

    `tell(done, total)` is called as it goes on.
    """
    planned = _plan_confirmed(scope, confirmed)
    steps = _Steps({place.name: place.count for place in planned.places}, tell)
    return erase(scope, erased_by=erased_by, steps=steps)


def run_erasing(scope: EraseScope, work_id: str, *, erased_by: str) -> None:
    """Erase what a job was asked to, and note how far it is and the receipt. Safe to run twice: what the receipt says
    there was before is what was counted before the first try."""
    work = read_work(work_id)
    if work is None:  # nobody waits for it any more, which is no reason to leave anything
        erase(scope, erased_by=erased_by)
        return
    done = work.done

    def tell(reached: int, total: int) -> None:
        nonlocal done
        advance(work_id, reached - done)
        done = reached

    steps = _Steps(work.notes["before"], tell, done)
    receipt = erase(scope, erased_by=erased_by, steps=steps, began_at=work.created_at)
    end_work(work_id, answer={"receipt": receipt.tell()})


def erase(
    scope: EraseScope,
    *,
    erased_by: str,
    retries: bool = True,
    steps: _Steps | None = None,
    began_at: datetime | None = None,
) -> EraseReceipt:
    """Erase the scope everywhere and count again. What is left, if anything, stands on the receipt.

    With `retries` a job tries again later what could not be erased now.
    """
    began_at = began_at or timezone.now()
    steps = steps or _Steps({}, _tell_nobody)
    before = {place.name: max(_count(place, scope).count, steps.counts.get(place.name, 0)) for place in _list_places()}
    errors = {}
    for place in _list_places(steps.add):
        errors[place.name] = _erase(place, scope)
        steps.pass_by(place.name)
    # Deleting has queued jobs that name what was deleted, and a job that ran meanwhile may have written something new.
    for place in (Jobs(), Memories()):
        errors[place.name] = errors[place.name] or _erase(place, scope)
    is_file_clean = empty_log()
    after = {place.name: _count(place, scope) for place in _list_places()}
    places = tuple(
        ErasedPlace(name, before[name], after[name].count, errors[name] or after[name].error) for name in before
    )
    is_proven = is_file_clean and not any(place.after or place.error for place in places)
    receipt = EraseReceipt(scope, erased_by, began_at, timezone.now(), places, is_file_clean, is_proven)
    _log(receipt)
    if retries and not is_proven:
        queue.enqueue_erasing(scope.owner, scope.session_id, timezone.now() + timedelta(seconds=RETRY_SECONDS))
    return receipt


def erase_again(scope: EraseScope) -> None:
    """Erase what an earlier try has left; raises ConflictError while something is left, so that the job is retried."""
    receipt = erase(scope, erased_by="job", retries=False)
    if not receipt.is_proven:
        places = [place for place in receipt.places if _is_left(place)]
        left = join_words(", ", [f"{place.name}: {place.error or place.after}" for place in places])
        told = _("Not everything is erased: %(left)s")
        raise ConflictError(told % {"left": left if places else _("the log of the database is in use")})


def _plan_confirmed(scope: EraseScope, confirmed: int) -> ErasePlan:
    planned = plan_erase(scope)
    if confirmed != planned.memories:
        told = _("Nothing was erased: there are %(memories)d memories, and %(confirmed)d were confirmed")
        numbers = {"memories": planned.memories, "confirmed": confirmed}
        raise ConflictError(told % numbers, code="wrong_count", param="confirm")
    return planned


def _list_places(tell: Callable[[int], None] = ignore) -> Sequence[Eraser]:
    """In the order of erasing: first what would still write, then what other rooms keep, then the rows."""
    return [
        Uploads(),
        Jobs(),
        *(import_string(path)() for path in settings.ERASERS),
        Archive(tell),
        Memories(tell),
        StrayVectors(),
    ]


def _count(place: Eraser, scope: EraseScope) -> PlaceCount:
    try:
        return PlaceCount(place.name, place.count(scope))
    except Exception as error:  # noqa: BLE001  # one place that can't be reached must not hide the others
        return PlaceCount(place.name, 0, _describe(place, error))


def _erase(place: Eraser, scope: EraseScope) -> str:
    try:
        place.erase(scope)
    except Exception as error:  # noqa: BLE001  # the others are erased all the same, and this one is told
        return _describe(place, error)
    return ""


def _describe(place: Eraser, error: Exception) -> str:
    if isinstance(error, AppError):
        logger.warning("memory.erase.place_failed", place=place.name, error=error.message)
        return error.message
    logger.warning("memory.erase.place_failed", place=place.name, error=type(error).__name__, exc_info=error)
    return _("it could not be reached")


def _is_left(place: ErasedPlace) -> bool:
    return bool(place.after or place.error)


def _log(receipt: EraseReceipt) -> None:
    logger.info(
        "memory.erased",
        owner=receipt.scope.owner,
        is_proven=receipt.is_proven,
        erased_by=receipt.erased_by,
        sha256=receipt.sha256,
        left=[place.name for place in receipt.places if _is_left(place)],
    )
