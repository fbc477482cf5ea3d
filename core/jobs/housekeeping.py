"""Jobs about jobs."""

from typing import Any

import structlog

from core.jobs import queue

logger = structlog.get_logger(__name__)


def forget_done(payload: dict[str, Any]) -> None:
    """Delete the rows of jobs that were done some days ago."""
    if count := queue.forget_done():
        logger.info("jobs.forgotten", count=count)
