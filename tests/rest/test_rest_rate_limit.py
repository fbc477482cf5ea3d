"""A limit a key: how many, how soon again, what is told, and that nobody else pays for it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_api import MANAGEMENT_KEY, Api

from core import rate_limit
from core.accounts.keys import create_api_key
from core.rate_limit import LIMITER, RateLimiter

KEY = "Bearer omr_a"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(settings: Any, clock: Clock) -> RateLimiter:
    settings.API_RATE_LIMIT_PER_MINUTE = 3
    return RateLimiter(clock)


@pytest.fixture
def limited(settings: Any) -> Iterator[None]:
    settings.API_RATE_LIMIT_PER_MINUTE = 2
    LIMITER.clear()
    yield
    LIMITER.clear()


def test_a_key_has_its_number_at_once_and_gets_it_back_evenly(limiter: RateLimiter, clock: Clock) -> None:
    taken = [limiter.take(KEY) for _ in range(4)]
    assert [item.is_let_in for item in taken] == [True, True, True, False]
    assert [item.remaining for item in taken] == [2, 1, 0, 0]
    assert (taken[3].retry_seconds, taken[3].reset_seconds) == (20, 60)
    clock.now += 19
    assert limiter.take(KEY).retry_seconds == 1
    clock.now += 1
    assert limiter.take(KEY).is_let_in
    assert not limiter.take(KEY).is_let_in
    clock.now += 3600
    assert limiter.take(KEY).remaining == 2


def test_keys_do_not_share_and_spellings_of_one_key_do(limiter: RateLimiter) -> None:
    for header in (KEY, "bearer omr_a", "BEARER   omr_a  "):
        assert limiter.take(header).is_let_in
    assert not limiter.take(KEY).is_let_in
    assert limiter.take("Bearer omr_b").is_let_in


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic eDp5", "omr_a"])
def test_who_has_no_key_has_no_limit(limiter: RateLimiter, header: str | None) -> None:
    assert limiter.take(header) is None


def test_without_the_setting_nothing_is_counted(settings: Any) -> None:
    settings.API_RATE_LIMIT_PER_MINUTE = 0
    limiter = RateLimiter()
    assert limiter.take(KEY) is None
    settings.API_RATE_LIMIT_PER_MINUTE = 1
    assert limiter.take(KEY).is_let_in


def test_made_up_keys_fill_no_memory(limiter: RateLimiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_BUCKETS", 50)
    for number in range(500):
        limiter.take(f"Bearer {number}")
        limiter.take(KEY)
    assert len(limiter._buckets) <= 50
    assert not limiter.take(KEY).is_let_in


@hypothesis_settings(derandomize=True, max_examples=50)
@given(waits=st.lists(st.floats(0, 90), min_size=1, max_size=60), limit=st.integers(1, 50))
def test_nobody_ever_gets_more_than_the_limit_and_what_came_back(waits: list[float], limit: int) -> None:
    from django.test import override_settings

    clock = Clock()
    limiter = RateLimiter(clock)
    let_in = 0
    with override_settings(API_RATE_LIMIT_PER_MINUTE=limit):
        for wait in waits:
            clock.now += wait
            let_in += limiter.take(KEY).is_let_in
    assert let_in <= limit + sum(waits) * limit / 60 + 1e-6


@pytest.mark.usefixtures("limited")
def test_a_management_key_over_its_limit_is_told_when_to_come_back(api: Api) -> None:
    answers = [api.get("/api/memory") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    refusal = answers[-1]
    assert refusal.json()["error"]["type"] == "rate_limit_error"
    assert refusal.json()["error"]["code"] == "rate_limited"
    assert 1 <= int(refusal.headers["Retry-After"]) <= 30
    assert refusal.headers["x-request-id"] and refusal.headers["RateLimit-Limit"] == "2"


@pytest.mark.usefixtures("limited")
def test_nothing_is_done_for_a_request_over_the_limit(api: Api, django_assert_num_queries: Any) -> None:
    for _ in range(2):
        api.get("/api/memory")
    with django_assert_num_queries(0):
        assert api.post("/api/memory", {"key": "k", "content": "c"}).status_code == 429


@pytest.mark.usefixtures("limited")
def test_a_wrong_key_is_still_told_so_and_pages_are_not_limited(api: Api, client: Client, admin_client: Client) -> None:
    assert [Api("omr_wrong").get("/api/memory").status_code for _ in range(3)] == [401, 401, 429]
    assert api.get("/api/memory").status_code == 200
    headers = {"authorization": f"Bearer {MANAGEMENT_KEY}"}
    assert {client.get("/healthz", headers=headers).status_code for _ in range(4)} == {200}
    assert {admin_client.get("/api/memory").status_code for _ in range(4)} == {200}


@pytest.mark.usefixtures("limited")
def test_one_keys_haste_costs_no_other_key(api: Api) -> None:
    other = Api(create_api_key("other", ("manage",))[1])
    for _ in range(3):
        api.get("/api/memory")
    assert other.get("/api/memory").status_code == 200
