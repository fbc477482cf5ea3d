"""Where texts are cut: at sentences in any script, at a bound where there are none, never longer than they were."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.condensing import (
    MAX_SENTENCE_CHARACTERS,
    condense,
    condense_line,
    find_cut,
    split_sentences,
    take_sentences,
)

PROSE = st.lists(
    st.sampled_from(
        [
            *"Alpha beta. Gamma! δέλτα; это. 3.14 v2.0 e.g. Dr. Who?".split(),
            *"- 1. ... … 。我喜欢茶！ ，、 नमस्ते। مرحبا؟ ۔".split(),
            *(" ", "  ", "\n", "\n\n", "\u3000", "x" * 70, "茶" * 70, "é" * 9, "e\u0301" * 40, "👨‍👩‍👧" * 9, "🇱🇹" * 30),
        ]
    ),
    max_size=40,
).map("".join)
TEXTS = st.one_of(PROSE, st.text(max_size=1500), st.text(alphabet=". \n!aA1。", max_size=900))


def list_sentences(text: str) -> list[str]:
    return [text[piece.start : piece.end] for piece in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Alpha. Beta. Gamma.", ["Alpha.", "Beta.", "Gamma."]),
        ("e.g. v3.8.40 is out. Dr. Who agreed.", ["e.g. v3.8.40 is out.", "Dr. Who agreed."]),
        ("See no. 5, etc. and go. No. I won't.", ["See no. 5, etc. and go.", "No.", "I won't."]),
        ("1. Apply it. Ask J. Doe of the U.S. Army.", ["1. Apply it.", "Ask J. Doe of the U.S. Army."]),
        ("see https://a.example/?q=1.2! ok", ["see https://a.example/?q=1.2!", "ok"]),
        ('"Stop!" He left (at last.) Then?! Gone', ['"Stop!"', "He left (at last.)", "Then?!", "Gone"]),
        ("i swim. i hate cats. well... maybe", ["i swim.", "i hate cats.", "well... maybe"]),
        ("我喜欢茶。「他走了。」今天下雨！", ["我喜欢茶。", "「他走了。」", "今天下雨！"]),
        ("你好!我是谁?不知道.好吧", ["你好!", "我是谁?", "不知道.", "好吧"]),
        ("円周率は３．１４です．次です．", ["円周率は３．１４です．", "次です．"]),
        ("यह पहला है। दूसरा॥ तीसरा", ["यह पहला है।", "दूसरा॥", "तीसरा"]),
        ("كيف حالك؟ بخير. شكرا۔ نعم", ["كيف حالك؟", "بخير.", "شكرا۔", "نعم"]),
        ("ሰላም። ደህና፧ Բարև։ Լավ", ["ሰላም።", "ደህና፧", "Բարև։", "Լավ"]),
        ("Title\n\nA line\nwrapped. End", ["Title", "A line\nwrapped.", "End"]),
        ("- milk\n- eggs\n2) tea", ["- milk", "- eggs", "2) tea"]),
        ("🎉🎉", ["🎉🎉"]),
        (" \n ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, sentences):
    assert list_sentences(text) == sentences


def test_the_first_three_sentences_are_taken_as_they_stand():
    assert take_sentences("Alpha. Beta. Gamma. Delta.", 3) == "Alpha. Beta. Gamma."
    assert take_sentences("Alpha.\n  Beta.\nGamma. \n Delta.", 3) == "Alpha.\n  Beta.\nGamma."
    assert take_sentences("  Alpha. Beta. ", 3) == "  Alpha. Beta. "


@pytest.mark.parametrize("text", ["x" * 2000, "word " * 400, "茶" * 2000, "clause, " * 250])
def test_text_without_an_end_of_sentence_is_cut_at_a_bound(text):
    kept = take_sentences(text, 3)
    assert len(kept) <= 3 * MAX_SENTENCE_CHARACTERS
    assert kept.endswith("…")
    assert text.startswith(kept[:-1])
    line = condense_line(text, max_sentences=1, max_characters=60)
    assert 30 < len(line) <= 60
    assert line.endswith("…")


def test_a_cut_goes_between_words_then_clauses_then_whole_characters():
    assert "one two three"[: find_cut("one two three", 0, 9)] == "one two"
    assert "一二三，四五六七"[: find_cut("一二三，四五六七", 0, 6)] == "一二三，"
    for text in ("e\u0301" * 20, "👨‍👩‍👧" * 9, "🇱🇹🇫🇷" * 9, "👍🏽" * 30):
        for most in range(8, 24):
            cut = find_cut(text, 0, most)
            assert 0 < cut <= most
            first = text[cut]
            assert not unicodedata.category(first).startswith("M")
            assert "\u200d" not in (first, text[cut - 1])
            assert not "\U0001f3fb" <= first <= "\U0001f3ff"
            if "\U0001f1e6" <= first <= "\U0001f1ff":
                assert cut % 2 == 0


def test_a_line_holds_the_sentences_that_fit_whole():
    text = "One two.  Three\nfour. Five six."
    assert condense_line(text, max_sentences=3, max_characters=99) == "One two. Three four. Five six."
    assert condense_line(text, max_sentences=2, max_characters=99) == "One two. Three four."
    assert condense_line(text, max_sentences=3, max_characters=20) == "One two. Three four."
    assert condense_line(text, max_sentences=3, max_characters=19) == "One two."
    assert condense_line("一。二。三。", max_sentences=2, max_characters=9) == "一。二。"


@given(TEXTS)
@settings(deadline=None)
def test_sentences_keep_their_order_and_lose_nothing_but_white_space(text):
    place = 0
    for piece in split_sentences(text):
        assert text[place : piece.start].strip() == ""
        assert piece.start < piece.end <= piece.start + MAX_SENTENCE_CHARACTERS
        place = piece.end
    assert text[place:].strip() == ""


@given(TEXTS, st.integers(1, 4))
@settings(deadline=None)
def test_what_is_taken_is_a_beginning_never_longer_and_the_same_when_taken_again(text, count):
    kept = take_sentences(text, count)
    assert len(kept) <= len(text)
    assert text.startswith(kept) or (kept.endswith("…") and text.startswith(kept[:-1]))
    assert take_sentences(kept, count) == kept
    kept.encode()


@given(TEXTS, st.integers(1, 4), st.integers(2, 300))
@settings(deadline=None)
def test_a_line_is_one_line_within_its_bound_and_never_longer_than_its_source(text, sentences, most):
    line = condense_line(text, max_sentences=sentences, max_characters=most)
    assert len(line) <= min(most, len(text))
    assert len(line.splitlines()) <= 1
    folded = " ".join(text.split())
    assert folded.startswith((line, line.removesuffix("…").rstrip()))
    assert bool(line) == bool(folded)
    line.encode()


@given(TEXTS, st.integers(1, 4), st.integers(2, 300), st.data())
@settings(deadline=None)
def test_a_line_that_fits_tighter_bounds_is_the_line_that_these_give(text, sentences, most, data):
    line = condense(text, max_sentences=sentences, max_characters=most)
    tighter = {
        "max_sentences": data.draw(st.integers(1, sentences)),
        "max_characters": data.draw(st.integers(min(2, most), most)),
    }
    if line.fits(**tighter):
        assert condense_line(text, **tighter) == line.text
