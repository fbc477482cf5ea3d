"""A search that finds nothing names the word that may have been meant."""

import pytest

from tests.studio.memories_page import MEMORY, remember
from tests.studio.page_text import read_text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _memories():
    for number in range(3):
        remember(f"Postgres holds the invoices, part {number}")
    remember("<b>Größe</b> der Datenbank")
    remember("deploying services")


@pytest.mark.parametrize(
    ("typed", "meant", "count"),
    [
        ("postgress", "Postgres", "3 memories"),
        ("the postgers server", "Postgres", "3 memories"),
        ("invoyces", "invoices", "3 memories"),
        # The index holds stems; what is offered is a word that somebody wrote.
        ("deployng", "deploying", "1 memory"),
        ("datenbnak", "Datenbank", "1 memory"),
    ],
)
def test_the_closest_word_in_use_is_offered_and_leads_to_its_memories(staff, typed, meant, count):
    answer = staff.get(MEMORY, {"q": typed})
    link = f'<a href="/dashboard/memory?q={meant}">{meant}</a>'
    assert f"Closest word in use: {link}, {count}." in answer.content.decode()


@pytest.mark.parametrize("typed", ["zzzzzz", "po", "xyz1", "%%%%", "用户喜欢", "''''"])
def test_nothing_is_offered_where_nothing_is_near(staff, typed):
    assert "Closest word" not in read_text(staff.get(MEMORY, {"q": typed}))


def test_what_a_filter_hides_comes_before_a_guess(staff):
    page = read_text(staff.get(MEMORY, {"q": "postgres", "type": "semantic"}))
    assert "3 exist outside these filters" in page
    assert "Closest word" not in page
