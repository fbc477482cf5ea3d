"""The difference of two texts: nothing is lost, and what is marked is what differs."""

from hypothesis import given
from hypothesis import strategies as st

from studio.text_changes import MAX_CHARACTERS, Piece, compare_texts

TEXTS = st.text(max_size=200)


@given(TEXTS, TEXTS)
def test_the_pieces_put_together_are_the_texts(before, after):
    change = compare_texts(before, after)
    assert "".join(piece.text for piece in change.before) == before
    assert "".join(piece.text for piece in change.after) == after


@given(TEXTS, TEXTS)
def test_what_is_not_marked_is_the_same_on_both_sides(before, after):
    change = compare_texts(before, after)
    kept = ["".join(piece.text for piece in side if not piece.is_changed) for side in (change.before, change.after)]
    assert kept[0] == kept[1]


@given(TEXTS)
def test_nothing_is_marked_in_the_same_text(text):
    change = compare_texts(text, text)
    assert not any(piece.is_changed for piece in (*change.before, *change.after))


def test_a_word_is_marked_and_not_its_neighbours():
    change = compare_texts("Postgres for the prototype", "Postgres for this project")
    assert list(change.before)[:1] == [Piece("Postgres for ", False)]
    assert [piece.text for piece in change.after if piece.is_changed] == ["this", "project"]


def test_a_novel_is_cut():
    change = compare_texts("x" * (MAX_CHARACTERS + 1), "")
    assert len("".join(piece.text for piece in change.before)) == MAX_CHARACTERS
