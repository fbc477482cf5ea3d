"""GET /metrics for Prometheus: off unless METRICS_ENABLED, and then for a management key."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from core.accounts.keys import identify_caller, require_manager
from core.error_handler import error_response, refuse_method
from core.errors import AppError, NotFoundError
from core.jobs import queue
from core.metrics import load_instruments
from core.words import gettext as _
from memory.indexing import count_pending, find_oldest_pending
from omniroute.health import READING


@csrf_exempt
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if request.method not in READING:
        return refuse_method(*READING)
    if not settings.METRICS_ENABLED:
        return error_response(NotFoundError(_("Not found")))
    try:
        require_manager(identify_caller(request.headers.get("authorization")))
    except AppError as error:
        return error_response(error)
    return _write_page()


def _write_page() -> HttpResponse:
    load_instruments()
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(settings.METRICS_DIR))  # type: ignore[no-untyped-call]
    registry.register(_DatabaseCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _DatabaseCollector:
    """What the database knows is read when it is asked for: true at once, and the same from every process."""

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        jobs = queue.measure()
        depth = GaugeMetricFamily("omniroute_jobs", "Background jobs by state.", labels=["state"])
        for state, count in (("queued", jobs.queued), ("running", jobs.running), ("dead", jobs.dead)):
            depth.add_metric([state], count)
        yield depth
        yield GaugeMetricFamily(
            "omniroute_jobs_oldest_waiting_seconds",
            "Age of the oldest job that could run and does not.",
            jobs.oldest_waiting_seconds,
        )
        oldest = find_oldest_pending()
        lag_seconds = 0.0 if oldest is None else (timezone.now() - oldest).total_seconds()
        yield GaugeMetricFamily("omniroute_index_pending", "Memories without a current vector.", count_pending())
        yield GaugeMetricFamily(
            "omniroute_index_lag_seconds", "Age of the oldest memory without a current vector.", lag_seconds
        )
