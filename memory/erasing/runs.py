"""Erase, look again, tell. What a place can't erase now is tried again by a job until it can."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from core.db.sqlite.wiping import empty_log
from core.errors import AppError, ConflictError
from memory import queue
from memory.erasing.places import MEMORIES, Archive, Eraser, Jobs, Memories, StrayVectors, Uploads
from memory.erasing.receipts import ErasedPlace, ErasePlan, EraseReceipt, PlaceCount
from memory.records import EraseScope

logger = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 60


def plan_erase(scope: EraseScope) -> ErasePlan:
    """Count what would be erased, place by place; nothing is changed."""
    places = tuple(_count(place, scope) for place in _list_places())
    memories = sum(place.count for place in places if place.name in (MEMORIES, "backends"))
    return ErasePlan(scope, places, memories)


def confirm_and_erase(scope: EraseScope, *, confirmed: int, erased_by: str) -> EraseReceipt:
    """Erase if `confirmed` is the number of memories there are now; ConflictError, with nothing erased, if not."""
    planned = plan_erase(scope)
    if confirmed != planned.memories:
        raise ConflictError(
            f"Nothing was erased: there are {planned.memories} memories, and {confirmed} were confirmed",
            code="wrong_count",
            param="confirm",
        )
    return erase(scope, erased_by=erased_by)


def erase(scope: EraseScope, *, erased_by: str, retries: bool = True) -> EraseReceipt:
    """Erase the scope everywhere and count again. What is left, if anything, stands on the receipt.

    With `retries` a job tries again later what could not be erased now.
    """
    began_at = timezone.now()
    before = {place.name: _count(place, scope) for place in _list_places()}
    errors = {place.name: _erase(place, scope) for place in _list_places()}
    # Deleting has queued jobs that name what was deleted, and a job that ran meanwhile may have written something new.
    for place in (Jobs(), Memories()):
        errors[place.name] = errors[place.name] or _erase(place, scope)
    is_file_clean = empty_log()
    after = {place.name: _count(place, scope) for place in _list_places()}
    places = tuple(
        ErasedPlace(name, before[name].count, after[name].count, errors[name] or after[name].error) for name in before
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
        left = ", ".join(f"{place.name}: {place.error or place.after}" for place in receipt.places if _is_left(place))
        raise ConflictError(f"Not everything is erased: {left or 'the log of the database is in use'}")


def _list_places() -> Sequence[Eraser]:
    """In the order of erasing: first what would still write, then what other rooms keep, then the rows."""
    return [
        Uploads(),
        Jobs(),
        *(import_string(path)() for path in settings.ERASERS),
        Archive(),
        Memories(),
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
    return "it could not be reached"


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
