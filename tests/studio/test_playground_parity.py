"""The playground tells the truth about chats: the same memories, the same text, and what really ended the list."""

import re
from html import unescape

import pytest

from core.accounts.keys import create_api_key
from memory import services
from memory.config import load_settings
from memory.injection import inject_memories
from memory.retrieval import retrieve_for_chat
from tests.engine import do_jobs, use_static_model
from tests.studio.page_text import read_text
from tests.studio.test_playground_page import remember, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]
SHOWN_AT_ONCE = 20


@pytest.fixture
def owner() -> str:
    row, _ = create_api_key("office-bot")
    return row.id


def read_exact_text(answer) -> str:
    shown = re.search(r"<pre tabindex[^>]*>(.*?)</pre>", answer.content.decode(), re.DOTALL)
    return "" if shown is None else unescape(shown[1])


def build_chat_text(api_key_id: str, text: str) -> str:
    """What the gateway would put before this message, by the saved settings."""
    chosen = retrieve_for_chat(api_key_id, text, load_settings()).chosen
    body = {"messages": [{"role": "user", "content": text}]}
    return inject_memories(body, [item.line for item in chosen], system_role="any").text


@pytest.mark.parametrize("strategy", ["recent", "semantic", "hybrid", "adaptive"])
@pytest.mark.parametrize("budget", [2000, 200])
def test_the_exact_text_is_that_of_a_chat_also_where_many_memories_fit(staff, owner, strategy, budget):
    for number in range(40):
        remember(owner, f"tea number {number}" + " and some honey" * (number % 3))
    services.change_settings({"strategy": strategy, "maxTokens": budget})

    answer = run(staff, q="which tea", key=owner)

    assert read_exact_text(answer) == build_chat_text(owner, "which tea") != ""


def test_the_form_starts_with_the_budget_that_chats_have(staff):
    services.change_settings({"maxTokens": 800})
    assert re.search(r'name="budget"[^>]*value="800"', run(staff).content.decode())
    services.change_settings({"maxTokens": 0})  # nothing could be seen of a run with it
    assert re.search(r'name="budget"[^>]*value="2000"', run(staff).content.decode())


def test_a_long_list_is_folded_and_still_whole(staff, owner):
    for number in range(SHOWN_AT_ONCE + 5):
        remember(owner, f"tea number {number}")

    answer = run(staff, q="tea", key=owner, a="exact")

    assert answer.content.decode().count('class="hit"') == SHOWN_AT_ONCE + 5
    assert "5 more that go in" in read_text(answer)


@pytest.mark.parametrize("strategy", ["exact", "hybrid", "adaptive"])
def test_a_list_that_the_limit_ended_never_says_that_nothing_was_cut(staff, owner, strategy):
    for number in range(6):
        remember(owner, f"tea number {number}")

    text = read_text(run(staff, q="tea", key=owner, a=strategy, limit=3))

    assert "Limit, 3 memories." in text
    assert "Nothing was cut" not in text


def test_the_limit_of_a_link_outlives_the_next_run(staff, owner):
    remember(owner, "green tea")
    page = run(staff, q="tea", limit=3).content.decode()
    [form] = re.findall(r'<form[^>]*id="playground-form".*?</form>', page, re.DOTALL)
    assert re.search(r'<input type="hidden"\s+name="limit"\s+value="3"', form)


def test_one_result_is_announced_as_one(staff, owner):
    remember(owner, "green tea")
    html = run(staff, q="tea", key=owner, a="exact").content.decode()
    assert re.search(r'role="status" aria-live="polite">1 result</p>', html)


def test_why_not_names_no_leg_that_the_strategy_did_not_ask(staff, owner):
    use_static_model()
    record = remember(owner, "the office drinks green tea")
    do_jobs()

    text = read_text(run(staff, q="which tea does the office drink", key=owner, a="semantic", why=record.id))

    assert "Vector leg" in text
    assert "Keyword leg" not in text


def test_why_not_needs_no_legs_where_the_newest_are_taken(staff, owner):
    record = remember(owner, "green tea")

    text = read_text(run(staff, q="anything", key=owner, a="recent", why=record.id))

    assert "It was chosen as number 1 of 1." in text
    assert "leg" not in text.split("Why not this one?")[1].split("Exact text")[0].lower().replace("legs", "")
