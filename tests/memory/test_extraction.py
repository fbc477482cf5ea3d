"""What is read out of a text, and what is left alone."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memory.extraction import MAX_INPUT_CHARS, Fact, describe_fact, extract_facts

SENTENCES = Path(__file__).parent / "data" / "extraction_own.jsonl"
SPECIFICATION = " ".join(
    (
        "I prefer TypeScript.",
        "I'll use Postgres for this project.",
        "I always commit before pushing.",
        "I don't like Python.",
    )
)


def read_contents(text: str, **options: Any) -> list[tuple[str, str, str]]:
    return [(fact.category, fact.polarity, fact.content) for fact in extract_facts(text, **options)]


# --- the specification's example, to the letter ------------------------------------------------------------


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_the_specifications_example_gives_its_four_facts_for_either_speaker(role: Any) -> None:
    facts = {fact.key: fact for fact in extract_facts(SPECIFICATION, role)}
    told = {key: (fact.memory_type, fact.content, fact.polarity) for key, fact in facts.items()}
    assert told == {
        "preference:typescript": ("factual", "TypeScript", "positive"),
        "decision:postgres_for_this_project": ("episodic", "Postgres for this project", "positive"),
        "pattern:commit_before_pushing": ("factual", "commit before pushing", "positive"),
        "preference:python": ("factual", "Python", "negative"),
    }
    assert facts["preference:python"].statement == "I don't like Python"


# --- cases named after their ids ---------------------------------------------------------------------------


@pytest.mark.parametrize("apostrophe", ["\u2019", "\u02bc"])
def test_rw_001_a_typographic_apostrophe_reads_like_a_straight_one(apostrophe: str) -> None:
    straight = "I'll use Redis for caching. I don't like tabs."
    expected = [(fact.memory_type, fact.key, fact.content) for fact in extract_facts(straight)]
    curly = extract_facts(straight.replace("'", apostrophe))
    assert expected == [
        ("episodic", "decision:redis_for_caching", "Redis for caching"),
        ("factual", "preference:tabs", "tabs"),
    ]
    assert [(fact.memory_type, fact.key, fact.content) for fact in curly] == expected


def test_rw_003_facts_without_latin_letters_have_keys_of_their_own() -> None:
    text = "I prefer 绿茶. I prefer 咖啡. I prefer القهوة العربية. I prefer ทดสอบไทยล้วน."
    facts = extract_facts(text)
    keys = {fact.key for fact in facts}
    assert len(facts) == len(keys) == 4
    assert not keys & {"preference:", "preference:_"}
    assert facts[3].content == "ทดสอบไทยล้วน"
    assert [fact.key for fact in extract_facts(text)] == [fact.key for fact in facts]
    assert len({fact.key for fact in extract_facts("I love 🍕. I love 🎧.")}) == 2


def test_rw_004_case_and_composition_do_not_change_the_key() -> None:
    variants = ("I prefer café", "I prefer cafe\u0301", "i prefer CAFÉ", "I prefer Straße", "I prefer Strand")
    keys = [extract_facts(text)[0].key for text in variants]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 3


def test_rw_005_long_and_hostile_texts_end_soon_and_keep_the_limits() -> None:
    letters = "a" * 499 + "😀" * 10
    texts = {
        "a": "I really " * 40_000 + "prefer",
        "b": "I prefer " + " " * 200_000 + ".",
        "c": "x " * 102_400 + "I always use tabs.",
        "d": "I always use spaces." + "x " * 102_400,
        "e": f"I prefer {letters}.",
        "f": "I prefer C.",
    }
    found: dict[str, list[Fact]] = {}
    for name, text in texts.items():
        begin = time.process_time()
        found[name] = extract_facts(text, "assistant")
        assert time.process_time() - begin < 2
    assert [fact.content for fact in found["c"]] == ["use tabs"]
    assert not found["a"] and not found["b"] and not found["d"] and not found["f"]
    content = found["e"][0].content
    assert len(content) == 500
    assert "\ufffd" not in content.encode("utf-8").decode("utf-8")


@pytest.mark.parametrize("block", ["Memory context: I prefer dark mode\n", "MEMORY CONTEXT:\nI prefer dark mode\n"])
@pytest.mark.parametrize("times", [1, 2])
def test_rw_006_injected_text_that_comes_back_is_not_read(block: str, times: int) -> None:
    assert extract_facts(block * times + "Got it.", "assistant") == []
    assert extract_facts(block * times + "Got it.", "user") == []
    after = extract_facts(block * times + "\nI prefer oak floors.")
    assert [fact.content for fact in after] == ["oak floors"]


# --- injected memories -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "injected"),
    [
        ("I prefer dark mode.", "I prefer dark mode"),
        ("I PREFER DARK MODE!", "Note from May: I prefer dark mode, and tea."),
        ("I don’t like Python.", "The user does not like: Python"),
        ("I always knock first.", "knock first"),
    ],
)
def test_a_fact_that_only_repeats_an_injected_line_is_no_news(answer: str, injected: str) -> None:
    assert extract_facts(answer, "assistant", injected=[injected]) == []
    assert len(extract_facts(answer, "assistant", injected=["I prefer something else"])) == 1


def test_the_opposite_of_an_injected_line_is_news() -> None:
    facts = extract_facts("I hate dark mode.", "assistant", injected=["I prefer dark mode"])
    assert [(fact.key, fact.polarity) for fact in facts] == [("preference:dark_mode", "negative")]


# --- one text, several statements ---------------------------------------------------------------------------


def test_the_last_word_about_a_thing_counts() -> None:
    assert read_contents("I like figs. I picked a tent. I don't like figs.") == [
        ("decision", "positive", "a tent"),
        ("preference", "negative", "figs"),
    ]


def test_only_the_last_65536_characters_are_read() -> None:
    fits = "I like figs. " + "y" * (MAX_INPUT_CHARS - len("I like figs. "))
    assert len(extract_facts(fits)) == 1
    assert extract_facts(fits + "y") == []


def test_a_word_cut_off_at_the_limit_is_not_read_as_another() -> None:
    rest = "nt like figs. "  # of "I do" + "nt"; the visible "I" comes later
    padded = "I do" + rest + "z" * (MAX_INPUT_CHARS - len(rest))
    assert extract_facts(padded) == []


@pytest.mark.parametrize("nothing", ["", "   \n", None, 7, b"I like figs.", ["I like figs."]])
def test_anything_but_a_text_gives_no_facts(nothing: Any) -> None:
    assert extract_facts(nothing) == []


def test_unprintable_characters_neither_break_the_reading_nor_come_out() -> None:
    facts = extract_facts("I pre\x00fer gr\ud800een t\u200bea.")
    assert [fact.content for fact in facts] == ["green tea"]


# --- keys ---------------------------------------------------------------------------------------------------


def test_names_that_differ_in_signs_only_do_not_share_a_key() -> None:
    texts = ("C++", "C#", "F#", ".NET", "NET", "50 %", "50 $")
    keys = [extract_facts(f"I like {name} a lot")[0].key for name in texts]
    assert len(set(keys)) == len(texts)


def test_ordinary_names_keep_the_plain_key() -> None:
    assert extract_facts("I prefer Node.js v20.1")[0].key == "preference:node_js_v20_1"


def test_long_contents_that_begin_alike_do_not_share_a_key() -> None:
    start = "hotels near the old harbour with a view of the "
    first, second = (extract_facts(f"I like {start}{end}.")[0].key for end in ("ships", "cranes"))
    assert first != second
    assert first.startswith("preference:hotels_near_the_old_harbour_with_a_view_")


# --- how a fact is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "polarity", "words"),
    [
        ("preference", "positive", "likes"),
        ("preference", "negative", "does not like"),
        ("decision", "positive", "decided on"),
        ("decision", "negative", "decided against"),
        ("pattern", "positive", "habit"),
        ("pattern", "negative", "does not do this"),
    ],
)
def test_a_told_fact_names_the_user_the_polarity_and_the_content(category: Any, polarity: Any, words: str) -> None:
    line = describe_fact(category, polarity, "Python\nand Perl", "user_message")
    assert "user" in line and words in line and "Python and Perl" in line and "\n" not in line


def test_a_fact_noted_from_an_answer_says_so() -> None:
    line = describe_fact("preference", "negative", "Python", "llm_response")
    assert line == "The user does not like: Python (noted from an assistant reply)"


# --- the labelled sentences --------------------------------------------------------------------------------

NEGATORS = re.compile(r"(?:to )?(?:not|no|never|rarely|avoid(?:ing)?|against)\b")


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFC", text).replace("’", "'").casefold()
    return " ".join(re.sub("[\u200b-\u200f\u00ad]", "", folded).split())


def _holds(content: str, core: str) -> bool:
    core = _fold(core)
    left = r"(?<![a-z0-9_])" if core[:1].isalnum() and core[:1].isascii() else ""
    right = r"(?![a-z0-9_])" if core[-1:].isalnum() and core[-1:].isascii() else ""
    return re.search(left + re.escape(core) + right, content) is not None


def _fits(fact: Fact, label: dict[str, Any]) -> bool:
    content = _fold(fact.content)
    banned = any(_holds(content, word) for word in label["must_not_contain"])
    return fact.category in label["category"].split("|") and _holds(content, label["must_contain"]) and not banned


def _agrees(fact: Fact, label: dict[str, Any]) -> bool:
    own_negator = label["polarity"] == "negative" and NEGATORS.match(_fold(fact.content))
    return fact.polarity == label["polarity"] or bool(own_negator)


def _score(cases: list[dict[str, Any]]) -> Counter[str]:
    """Count: facts `told`, of these `fitting` a label and `agreeing` in polarity; labels `wanted` and `met`;
    `cases` and those `spoilt` by a fact that fits no label or has the wrong polarity."""
    count: Counter[str] = Counter()
    for case in cases:
        repeat = case.get("repeat", {"unit": "", "times": 0})
        text = case["text"] + repeat["unit"] * repeat["times"] + case.get("suffix", "")
        facts = extract_facts(text, case["role"])
        spoilt = False
        for fact in facts:
            labels = [label for label in case["expect"] if _fits(fact, label)]
            agrees = any(_agrees(fact, label) for label in labels)
            spoilt = spoilt or not agrees
            if labels and all(label.get("optional") for label in labels) and agrees:
                continue  # welcome, not asked for
            count.update(told=1, fitting=bool(labels), agreeing=agrees)
        wanted = [label for label in case["expect"] if not label.get("optional")]
        met = sum(any(_fits(fact, label) for fact in facts) for label in wanted)
        count.update(cases=1, spoilt=spoilt, wanted=len(wanted), met=met)
    return count


def _read_sentences(*, soft: bool) -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    return [case for case in cases if bool(case.get("soft")) is soft]


@pytest.mark.parametrize(("soft", "least_f1", "most_spoilt"), [(False, 0.97, 0.01), (True, 0.9, 0.03)])
def test_labelled_sentences_are_read_right(soft: bool, least_f1: float, most_spoilt: float) -> None:
    count = _score(_read_sentences(soft=soft))
    precision, recall = count["fitting"] / count["told"], count["met"] / count["wanted"]
    assert 2 * precision * recall / (precision + recall) >= least_f1
    assert count["agreeing"] / count["fitting"] >= 0.98
    assert count["spoilt"] / count["cases"] <= most_spoilt


def test_every_kind_of_sentence_is_represented() -> None:
    groups = Counter(case["group"] for soft in (False, True) for case in _read_sentences(soft=soft))
    assert len(groups) == 16
    assert sum(groups.values()) >= 600
