"""Numbers for Prometheus, counted where the work is done. With METRICS_ENABLED off, calls return at once.

Each process counts into files of its own in METRICS_DIR, and whoever is asked adds them all up: so the sum is the
same from every server on the data folder, and what Celery workers do is in it.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.conf import settings

RETRIEVAL_BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
AREAS: Final = (("/v1/chat/", "chat"), ("/v1/", "models"), ("/api/", "api"), ("/mcp", "mcp"), ("/admin/", "admin"))


@dataclass(frozen=True)
class Instruments:
    """The library ships no types for what `labels` returns."""

    requests: Any
    memories_injected: Any
    tokens_injected: Any
    retrieval_seconds: Any
    extractions: Any
    facts_stored: Any


def count_request(path: str, status: int) -> None:
    if settings.METRICS_ENABLED:
        area = next((area for start, area in AREAS if path.startswith(start)), "other")
        load_instruments().requests.labels(area, str(status)).inc()


def count_injection(memories: int, tokens: int) -> None:
    if settings.METRICS_ENABLED:
        load_instruments().memories_injected.inc(memories)
        load_instruments().tokens_injected.inc(tokens)


def time_retrieval(tier: str, seconds: float) -> None:
    """`tier` is how the first memory was found, "none" when none was."""
    if settings.METRICS_ENABLED:
        load_instruments().retrieval_seconds.labels(tier).observe(seconds)


def count_extraction(outcome: str, facts: int = 0) -> None:
    """`outcome`: facts, nothing, off (memory was switched off meanwhile) or failed."""
    if settings.METRICS_ENABLED:
        load_instruments().extractions.labels(outcome).inc()
        load_instruments().facts_stored.inc(facts)


def clear_files() -> None:
    """Forget what earlier processes counted. Only while none runs: counters must not fall under a live one."""
    if settings.METRICS_ENABLED and settings.METRICS_DIR.is_dir():
        for file in settings.METRICS_DIR.glob("*.db"):
            file.unlink(missing_ok=True)


@cache
def load_instruments() -> Instruments:
    """Imported only where metrics are wanted: the library costs 14 MB."""
    settings.METRICS_DIR.mkdir(parents=True, exist_ok=True)
    from prometheus_client import Counter, Histogram

    return Instruments(
        requests=Counter("omniroute_requests", "Requests answered.", ["area", "status"]),
        memories_injected=Counter("omniroute_memories_injected", "Memories put into chat requests."),
        tokens_injected=Counter("omniroute_memory_tokens_injected", "Tokens that those memories cost, estimated."),
        retrieval_seconds=Histogram(
            "omniroute_retrieval_seconds",
            "Time to choose memories for a prompt, by the tier that found the first.",
            ["tier"],
            buckets=RETRIEVAL_BUCKETS_SECONDS,
        ),
        extractions=Counter("omniroute_extractions", "Exchanges read for facts, by outcome.", ["outcome"]),
        facts_stored=Counter("omniroute_facts_stored", "Facts stored out of exchanges."),
    )
