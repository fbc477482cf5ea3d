"""Lengths, cuts and bundles of texts."""

from hypothesis import given
from hypothesis import strategies as st

from embeddings.texts import bound_query, cut_to_tokens, estimate_tokens, make_sendable, split_batches

texts = st.text(st.characters(exclude_categories=[]), max_size=300)


@given(texts, st.floats(0.1, 100))
def test_a_cut_is_a_beginning_within_the_limit_and_as_long_as_it_can_be(text: str, limit: float) -> None:
    cut = cut_to_tokens(text, limit)
    assert text.startswith(cut)
    assert estimate_tokens(cut) <= limit + 1e-6 or len(cut) == 1
    if cut != text:
        assert cut
        assert estimate_tokens(text[: len(cut) + 1]) > limit - 1e-6


@given(st.lists(texts, max_size=30), st.integers(1, 8), st.floats(1, 200))
def test_batches_cover_every_text_once_in_order_within_both_limits(
    parts: list[str], max_batch: int, max_tokens: float
) -> None:
    batches = list(split_batches(parts, max_batch, max_tokens))
    assert [position for batch in batches for position in batch] == list(range(len(parts)))
    for batch in batches:
        assert 1 <= len(batch) <= max_batch
        assert len(batch) == 1 or sum(estimate_tokens(parts[position]) for position in batch) <= max_tokens + 1e-6


@given(st.integers(0, 30_000))
def test_a_query_is_at_most_8000_characters_and_keeps_both_ends(length: int) -> None:
    text = "start" + "x" * length + "what is it?"
    bounded = bound_query(text)
    assert len(bounded) <= 8_000
    assert bounded.startswith("start")
    assert bounded.endswith("what is it?")
    assert len(text) > 8_000 or bounded == text


@given(texts)
def test_what_is_sent_is_valid_utf_8(text: str) -> None:
    sendable = make_sendable(text)
    sendable.encode("utf-8")
    assert sendable == sendable.strip()


def test_scripts_without_spaces_and_emoji_cost_more_than_english() -> None:
    assert estimate_tokens("word " * 10) < estimate_tokens("茶" * 50) < estimate_tokens("🙂" * 50)
