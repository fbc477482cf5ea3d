"""What makes the log of requests forget: time, and the eraser of a key or a session."""

from datetime import timedelta
from typing import Any

import structlog
from django.db.models import Q, QuerySet
from django.utils import timezone

from gateway.models import RequestLog
from gateway.recording import RECORDER
from gateway.request_settings import load_request_settings
from memory import usage
from memory.records import EraseScope

log = structlog.get_logger(__name__)

# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS = 1000


def purge_requests(payload: dict[str, Any]) -> None:
    """Delete requests older than the settings say, with their links, and the texts that were kept for hours only."""
    settings, now = load_request_settings(), timezone.now()
    before = now - timedelta(days=settings.days)
    texts = _clear_texts(RequestLog.objects.filter(created_at__lt=now - timedelta(hours=settings.text_hours)))
    count = _delete(RequestLog.objects.filter(created_at__lt=before))
    links = usage.forget_links(before)
    if count or texts or links:
        log.info("gateway.request_log.purged", requests=count, texts=texts, links=links)


class RequestLogEraser:
    """One of settings.ERASERS: a key's or a session's requests, what was said in them, their links and counters."""

    name = "requests"

    def erase(self, scope: EraseScope) -> int:
        """Delete all of it and return how many rows that were."""
        RECORDER.flush()
        count = usage.erase_links(scope, self._select(scope).values("request_id"))
        return count + _delete(self._select(scope))

    def count(self, scope: EraseScope) -> int:
        """How many rows `erase` would delete."""
        links = usage.count_links(scope, self._select(scope).values("request_id"))
        return links + self._select(scope).count()

    def _select(self, scope: EraseScope) -> QuerySet[RequestLog]:
        rows = RequestLog.objects.filter(api_key_id=scope.owner)
        return rows if scope.session_id is None else rows.filter(session_id=scope.session_id)


def _clear_texts(rows: QuerySet[RequestLog]) -> int:
    rows = rows.filter(~Q(user_text="", answer_text=""))
    count = 0
    while ids := list(rows.values_list("pk", flat=True)[:BATCH_ROWS]):
        count += RequestLog.objects.filter(pk__in=ids).update(user_text="", answer_text="")
    return count


def _delete(rows: QuerySet[RequestLog]) -> int:
    count = 0
    while ids := list(rows.values_list("pk", flat=True)[:BATCH_ROWS]):
        count += RequestLog.objects.filter(pk__in=ids).delete()[0]
    return count
