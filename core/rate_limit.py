"""How many requests a minute a key may send: a token bucket a key, in the memory of this process.

A key may send API_RATE_LIMIT_PER_MINUTE requests at once, and gets them back evenly over a minute. It is asked before
the key is looked up, so that what is over the limit costs neither a thread nor a query; a key that does not exist has
a bucket as well, and the 401 comes when it has something in it.
"""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from core.bearer import read_bearer

SECONDS_A_MINUTE: Final = 60.0
# Beyond this many, the bucket that was asked longest ago is forgotten: a flood of made-up keys fills no memory.
MAX_BUCKETS: Final = 10_000
# Fractions of a token don't add up exactly; who waits as long as it was told must be let in.
ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a key has left. `retry_seconds` is 0 when the request is let in, `reset_seconds` until all is back."""

    limit: int
    remaining: int
    reset_seconds: int
    retry_seconds: int

    @property
    def is_let_in(self) -> bool:
        return self.retry_seconds == 0

    def write_headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
        }


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimiter:
    """Safe between threads. Each process has its own, so several processes together let in as many times more."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[bytes, _Bucket] = OrderedDict()

    def take(self, authorization: str | None) -> Allowance | None:
        """Count a request of the key in an Authorization header; None without one, or where nothing is limited."""
        limit: int = settings.API_RATE_LIMIT_PER_MINUTE
        bare_key = read_bearer(authorization) if limit else None
        if bare_key is None:
            return None
        name = hashlib.sha256(bare_key.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            left, is_let_in = self._take_from(name, limit)
        seconds_a_token = SECONDS_A_MINUTE / limit
        return Allowance(
            limit=limit,
            remaining=int(left),
            reset_seconds=math.ceil((limit - left) * seconds_a_token - ROUNDING),
            retry_seconds=0 if is_let_in else max(1, math.ceil((1 - left) * seconds_a_token - ROUNDING)),
        )

    def clear(self) -> None:
        with self._lock:
            self._buckets.clear()

    def _take_from(self, name: bytes, limit: int) -> tuple[float, bool]:
        """Return what is left in the bucket, and whether there was enough in it to take one."""
        now = self._clock()
        bucket = self._buckets.setdefault(name, _Bucket(limit, now))
        self._buckets.move_to_end(name)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(limit, bucket.tokens + (now - bucket.filled_at) * limit / SECONDS_A_MINUTE)
        bucket.filled_at = now
        is_let_in = bucket.tokens >= 1 - ROUNDING
        if is_let_in:
            bucket.tokens = max(0.0, bucket.tokens - 1)
        return bucket.tokens, is_let_in


LIMITER: Final = RateLimiter()
