"""The Celery application: workers and beat for those who run them, see docs/operations.md.

Messages carry ids of job rows and nothing else; the rows are the truth, so nothing here has to be durable.
"""

import logging
import os
import warnings
from typing import Any

from celery import Celery, signals
from celery.exceptions import CPendingDeprecationWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from core.db.presence import PRESENCE

# Longer than any job should take. When it runs out a message is delivered again, to a worker that finds the row
# in other hands; the lease on the row, not this, is what brings a dead worker's job back.
VISIBILITY_TIMEOUT_SECONDS = 3600

# It is told at every loss of the broker that jobs are not cancelled then, which is what we want.
warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)

app = Celery("omniroute")
app.conf.update(
    # Without a broker nobody sends or works; `memory` keeps a slip from looking for one on this machine.
    broker_url=settings.CELERY_BROKER_URL or "memory://",
    broker_connection_timeout=5,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"visibility_timeout": VISIBILITY_TIMEOUT_SECONDS},
    imports=("core.jobs.bridge",),
    task_default_queue=settings.CELERY_QUEUE,
    task_serializer="json",
    accept_content=["json"],
    result_backend=None,
    task_ignore_result=True,
    task_acks_late=True,
    # The row is leased to the killed worker for a while yet: its message would come back too early to be of use.
    task_reject_on_worker_lost=False,
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    # Opening a connection costs as much as a small job: a worker process keeps its own.
    CELERY_DB_REUSE_MAX=10_000,
    beat_scheduler="core.jobs.beat:JobScheduler",
    enable_utc=True,
    timezone="UTC",
)


def _keep_logging(**_signal: Any) -> None:
    """Celery would put its own handlers in place of ours; and it tells of every message at info level."""
    for name in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _begin(**_signal: Any) -> None:
    if not settings.CELERY_BROKER_URL:
        raise SystemExit("error: set CELERY_BROKER_URL or REDIS_URL; without a broker the server does the work itself")
    try:
        PRESENCE.announce()
    except ImproperlyConfigured as error:
        raise SystemExit(f"error: {error}") from None


signals.setup_logging.connect(_keep_logging)
signals.worker_init.connect(_begin)
signals.beat_init.connect(_begin)
