"""What holds for every text, however strange."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.extraction import Fact, describe_fact, extract_facts

# Words that steer the rules, mixed with marks and noise: likelier to find a hole than plain random text.
WORDS = (
    "I i I'm I’ll I'd Ive dont my favorite favourite is are like likes love hate prefer avoid enjoy "
    "picked chose decided to not never always usually no longer used if when that said she he and but or "
    "tea coffee over rather than neither nor nothing more only also just really a the it you would use "
    "going with stopped using gave up any "
    "🍕 绿茶 café cafe\u0301 C# C++ Node.js https://a.example/x?y=1 memory "
    "context: <memory> </memory> <b> İ ß"
).split()
MARKS = ", . ? ! ; : - — ( ) [ ] { } \" ' “ ” „ « » ` ``` ~~ > < * ** _ #".split()
ODDITIES = [
    " ",
    "\n",
    "\n\n",
    "\t",
    "\u00a0",
    "\u200b",
    "\u202e",
    "\ud800",
    "\x00",
    "\U000e0041",
    "\ufe0f",
    "\u200d",
]
PIECES = st.sampled_from(WORDS * 2 + MARKS + ODDITIES)
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(PIECES, max_size=60).map(" ".join),
    st.lists(PIECES, max_size=60).map("".join),
)
ROLES = st.sampled_from(["user", "assistant"])


def _has_surrogate(text: str) -> bool:
    return any(unicodedata.category(char) == "Cs" for char in text)


@settings(max_examples=400, deadline=None)
@given(TEXTS, ROLES)
def test_no_text_raises_and_every_fact_keeps_the_limits(text: str, role: Any) -> None:
    facts = extract_facts(text, role)
    keys = [fact.key for fact in facts]
    assert len(keys) == len(set(keys))
    for fact in facts:
        assert 1 <= len(fact.content) <= 500
        assert fact.key.startswith(f"{fact.category}:") and len(fact.key) > len(fact.category) + 1
        for written in (fact.content, fact.statement, fact.key):
            written.encode("utf-8")
            assert "\x00" not in written and "\n" not in written and not _has_surrogate(written)
        assert fact.content in describe_fact(fact.category, fact.polarity, fact.content, "user_message")


@settings(max_examples=150, deadline=None)
@given(TEXTS, ROLES)
def test_reading_twice_gives_the_same_facts(text: str, role: Any) -> None:
    assert extract_facts(text, role) == extract_facts(text, role)


@settings(max_examples=150, deadline=None)
@given(st.text(min_size=1, max_size=40, alphabet=st.characters(categories=["Ll", "Lu", "Lo", "Mn"])))
def test_composed_and_decomposed_spellings_share_a_key(name: str) -> None:
    composed, decomposed = (
        [fact.key for fact in extract_facts(f"I prefer x{unicodedata.normalize(form, name)} boats.")]
        for form in ("NFC", "NFD")
    )
    assert composed == decomposed


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30).map(" ".join), ROLES)
def test_nothing_behind_our_own_label_comes_out(injected: str, role: Any) -> None:
    block = " ".join(injected.split())
    assert extract_facts(f"Memory context: {block}", role) == []
    assert extract_facts(f"Noted.\nMEMORY  CONTEXT : {block}\nAs I said.", role) == []


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_a_text_read_as_injected_is_never_news(text: str) -> None:
    assert extract_facts(text, "user", injected=[text]) == []


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_assistant_never_says_more_than_a_user_would(text: str) -> None:
    def name(fact: Fact) -> tuple[str, str]:
        return fact.key, fact.content

    assert {name(fact) for fact in extract_facts(text, "assistant")} <= _all_said(text)


def _all_said(text: str) -> set[tuple[str, str]]:
    """What a user states, in each line too: within one text a later word replaces an earlier one."""
    return {(fact.key, fact.content) for part in (text, *text.split("\n")) for fact in extract_facts(part)}


def _count_steps(call: Callable[[], object]) -> int:
    """Python lines run by `call`: a measure of work that does not depend on the machine's mood."""
    steps = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal steps
        steps += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


REPEATED = (
    "I really |I prefer |I never |if |(|[|\"|'|“|`|I like a, |I like x and my |what I like is |"
    "I said I |and hate x |I like (|my favorite |> |<a>|I, |I - |e.g. |I like it when I like it |"
    "don't |a,|I think that I |or |I like x? |http://|translate |i |I love 🍕 |**|memory context: "
)


@pytest.mark.parametrize("unit", REPEATED.split("|"))
def test_twice_the_text_is_about_twice_the_work(unit: str) -> None:
    """Doubling the input may not quadruple the work; a generous factor leaves room for fixed costs."""
    texts = [unit * (size // len(unit)) for size in (3_000, 6_000)]
    small, large = (_count_steps(partial(extract_facts, text)) for text in texts)
    assert large <= 2.6 * small + 5_000
