"""How it stands with jobs that somebody waits for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.jobs.models import Job


@dataclass(frozen=True)
class OpenJob:
    """A job that waits, runs or has failed for good (`is_dead`); `values` are fields of its payload, None if absent."""

    name: str
    is_running: bool
    is_dead: bool
    error: str
    values: Mapping[str, Any]


def list_open(names: Sequence[str], fields: Sequence[str]) -> list[OpenJob]:
    """Jobs of those names that are not done, the oldest first.

    Of a payload only the fields asked for are read: it may be large, and whoever waits asks every few seconds.
    """
    jobs = Job.objects.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING, Job.State.DEAD), name__in=names)
    columns = ("name", "state", "error", *(f"payload__{field}" for field in fields))
    return [
        OpenJob(
            name, state == Job.State.RUNNING, state == Job.State.DEAD, error, dict(zip(fields, values, strict=True))
        )
        for name, state, error, *values in jobs.order_by("id").values_list(*columns)
    ]
