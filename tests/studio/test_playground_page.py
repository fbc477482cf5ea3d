"""The playground: what a chat would get for a query, by which legs, what did not fit, why one is not there."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.accounts.keys import create_api_key
from memory import services
from memory.injection import LABEL
from memory.models import Memory, MemoryUse
from memory.records import MemoryDraft, MemoryRecord
from tests.engine import do_jobs, use_static_model
from tests.studio.page_text import read_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

# Words of the tiny model of tests.embeddings.tiny_model mean something to it; these only have to be words.
QUERY = "which tea does the office drink"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_user("ona", password="x", is_staff=True))
    return client


@pytest.fixture
def owner() -> str:
    row, _ = create_api_key("office-bot")
    return row.id


def remember(owner: str, content: str, key: str = "", **fields: Any) -> MemoryRecord:
    return services.create(MemoryDraft(owner, key or content[:60], content, **fields))


def run(client: Client, **fields: Any) -> Any:
    """What an operator gets who fills the form in; without `q` the form alone."""
    return client.get(f"/dashboard/memory?{urlencode({'tab': 'playground', **fields})}")


def test_the_form_starts_with_the_defaults_and_the_strategy_that_chats_use(operator):
    services.change_settings({"strategy": "adaptive"})

    html = run(operator).content.decode()

    for test_id in ("query-input", "strategy-select", "budget-input", "submit"):
        assert f'data-testid="playground-{test_id}"' in html
    assert re.search(r'name="budget"[^>]*min="100"\s+max="16000"\s+step="100"\s+value="2000"', html)
    assert re.search(r'name="a"\s+value="adaptive"\s+checked', html)
    assert "Type what a user would say" in html


def test_a_run_shows_every_hit_with_its_score_the_figures_of_its_legs_and_its_tokens(operator, owner):
    use_static_model()
    remember(owner, "The office drinks green tea", "preference:tea")
    remember(owner, "Guests drink black tea", "preference:guests")
    do_jobs()

    text = read_text(run(operator, q=QUERY, key=owner, a="hybrid"))

    assert "2 results in" in text
    assert "Source static, " in text
    assert "Store sqlite-vec" in text
    assert "Tier hybrid-rrf" in text
    assert re.search(r"The office drinks green tea factual preference:tea 7 tokens 0\.0\d+ keyword \S+ \(#1\)", text)
    assert re.search(r"vector \d\.\d\d \(#[12]\)", text)
    assert "Nothing was cut. 13 of 2,000 tokens used." in text


def test_what_the_budget_cuts_off_stands_below_a_line_that_says_so(operator, owner):
    remember(owner, "tea " * 90, "long")
    remember(owner, "tea " * 80, "longer")

    answer = run(operator, q="tea", key=owner, a="exact", budget=100)

    text = read_text(answer)
    assert "Budget, 100 tokens. 90 used; the next one needs 80 and does not fit. 1 left out." in text
    above, below = answer.content.decode().split('class="cut"')
    assert 'class="hit left"' not in above
    assert below.count('class="hit left"') == 1


def test_the_limit_is_told_where_it_ends_the_list(operator, owner):
    for number in range(4):
        remember(owner, f"tea {number}")

    assert "Limit, 3 memories. 1 more matched." in read_text(run(operator, q="tea", key=owner, a="exact", limit=3))


def test_the_exact_text_is_the_block_that_a_chat_would_carry(operator, owner):
    remember(owner, "green tea\nwith honey", "preference:tea")
    fact = {"source": "user_message", "category": "preference", "polarity": "negative"}
    remember(owner, "black tea", "preference:black_tea", metadata=fact)

    html = run(operator, q="tea", key=owner, a="exact").content.decode()

    shown = re.search(r"<pre[^>]*>(.*?)</pre>", html, re.DOTALL)
    assert shown is not None
    lines = shown[1].removeprefix(LABEL).splitlines()
    assert "green tea with honey" in lines
    told = next(line for line in lines if "black tea" in line)
    assert told != "black tea", "a negative preference must not read as a liking"


def test_two_strategies_stand_side_by_side_and_tell_what_moved(operator, owner):
    remember(owner, "tea in the morning", "one")
    remember(owner, "tea tea tea", "two")

    text = read_text(run(operator, q="tea", key=owner, compare="on", a="exact", b="hybrid"))

    assert "A found 2 results, B found 2." in text
    assert text.index("A Exact") < text.index("B Hybrid")
    assert "places moved against the other strategy" in text


def test_another_keys_memories_are_left_out_and_without_a_key_all_are_searched(operator, owner):
    other, _ = create_api_key("other-bot")
    remember(owner, "our tea")
    remember(other.id, "their tea")

    own = read_text(run(operator, q="tea", key=owner, a="exact"))
    all_of_them = read_text(run(operator, q="tea", a="exact"))

    assert "our tea" in own
    assert "their tea" not in own
    assert "our tea" in all_of_them
    assert "their tea" in all_of_them


def test_the_session_narrows_what_is_found(operator, owner):
    remember(owner, "tea of monday", session_id="mon")
    remember(owner, "tea of tuesday", session_id="tue")

    text = read_text(run(operator, q="tea", key=owner, session="tue", a="exact"))

    assert "tea of tuesday" in text
    assert "tea of monday" not in text


def test_a_fallback_is_told_with_its_reason(operator, owner):
    remember(owner, "green tea")

    html = run(operator, q="tea", key=owner, a="hybrid").content.decode()

    assert re.search(r"<dt>Fallback</dt>\s*<dd>\s*<span[^>]*><span class=\"dot warn\"></span><span>[^<]{10,}", html)


# --- why not this one ---
def test_why_not_follows_a_memory_to_the_test_that_kept_it_out(operator, owner):
    other, _ = create_api_key("other-bot")
    now = timezone.now()
    kept_out = {
        "It belongs to another API key.": remember(other.id, "their tea"),
        "It has expired.": remember(owner, "old tea", expires_at=now - timedelta(days=1)),
        "No word of the query is in it": remember(owner, "coffee"),
    }
    stale = remember(owner, "stale tea")
    Memory.objects.filter(uuid=stale.id).update(updated_at=now - timedelta(days=31))
    kept_out["It was not stored or refreshed within the last 30 days"] = stale

    for reason, record in kept_out.items():
        answer = run(operator, q="tea", key=owner, a="exact", why=record.id)
        assert f"This kept it out. {reason}" in read_text(answer), reason
        assert answer.content.decode().count('class="step stop"') == 1
    # What comes after the decider was not reached, and is not claimed to have been.
    assert "Token budget not reached" in read_text(answer)


def test_why_not_can_be_asked_by_key_and_tells_of_one_that_was_chosen(operator, owner):
    remember(owner, "green tea", "preference:tea")

    answer = run(operator, q="tea", key=owner, a="exact", why="preference:tea")

    assert "It was chosen as number 1 of 1." in read_text(answer)
    assert 'class="step stop"' not in answer.content.decode()


def test_why_not_offers_a_choice_where_several_keys_have_that_memory(operator, owner):
    other, _ = create_api_key("other-bot")
    ids = {remember(name, f"tea of {name}", "preference:tea").id for name in (owner, other.id)}

    html = run(operator, q="tea", a="exact", why="preference:tea").content.decode()

    assert "Several API keys have a memory of this key" in html
    assert all(f"why={id}" in html for id in ids)
    assert "No memory has this key or id." in read_text(run(operator, q="tea", a="exact", why="nothing:here"))


def test_why_not_is_explained_for_the_strategy_that_was_asked_about(operator, owner):
    record = remember(owner, "earl grey")

    asked = {"q": "tea", "key": owner, "compare": "on", "a": "exact", "b": "hybrid", "why": record.id}

    assert "Keyword leg" not in read_text(run(operator, **asked, w="a"))
    assert "Keyword leg" in read_text(run(operator, **asked, w="b"))


# --- what may be typed ---
@pytest.mark.parametrize(
    "fields", [{"budget": "99"}, {"budget": "16001"}, {"budget": "many"}, {"a": "magic"}, {"limit": "0"}, {"q": "a\0b"}]
)
def test_a_wrong_field_is_told_in_words_and_nothing_is_run(operator, owner, fields):
    remember(owner, "green tea")

    answer = run(operator, **{"q": "tea", "key": owner, **fields})

    assert answer.status_code == 422
    assert "Nothing was run" in read_text(answer)
    assert "green tea" not in read_text(answer)


def test_a_run_changes_nothing(operator, owner):
    remember(owner, "green tea")
    before = list(Memory.objects.owned_by(None).values())

    run(operator, q="tea", key=owner, a="hybrid", compare="on", b="adaptive")

    assert list(Memory.objects.owned_by(None).values()) == before
    assert not MemoryUse.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_results(operator, owner):
    counts = []
    for number in range(16):
        remember(owner, f"tea number {number}")
        if number in (1, 15):
            with CaptureQueriesContext(connection) as queries:
                run(operator, q="tea", key=owner, a="hybrid")
            counts.append(len(queries))

    assert counts[0] == counts[1]


HOSTILE = [
    "<img src=x onerror=alert(1)> tea",
    "</script><script>alert(1)</script> tea",
    "{{7*7}} tea",
    '" onmouseover="alert(1) tea',
    "javascript:alert(1) tea",
    "tea \u202etxt.exe",
]


def test_hostile_text_stays_text_wherever_the_playground_shows_it(operator, owner):
    for number, content in enumerate(HOSTILE):
        remember(owner, content, f"{content}#{number}", session_id=content)

    answer = run(operator, q="<svg onload=alert(1)> tea", key=owner, a="exact", session="", why=f"{HOSTILE[0]}#0")

    html = answer.content.decode()
    assert "<img src=x" not in html
    assert "<script>alert" not in html
    assert "<svg onload" not in html
    assert '" onmouseover="' not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "{{7*7}}" in html
    assert 'href="javascript:' not in html
    assert re.search(r'<a class="mem-text"\s+dir="auto"[^>]*>tea \u202etxt\.exe</a>', html)
