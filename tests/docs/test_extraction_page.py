"""The sentences on the page about extraction, read by the extraction itself."""

import re

import pytest

from memory.extraction import Fact, describe_fact, extract_facts
from tests.docs.markdown import list_rows, read_page, unquote

PAGE = read_page("docs/extraction.md")


def tell(fact: Fact) -> str:
    return describe_fact(fact.category, fact.polarity, fact.content, "user_message")


def test_the_example_gives_the_facts_of_its_table() -> None:
    [sentences] = re.findall(r"^`(I prefer TypeScript\..*)` gives:$", PAGE, re.M)
    shown = [(unquote(row[0]), *row[1:]) for row in list_rows(PAGE, "Key")]
    assert shown == [(fact.key, fact.content, fact.polarity, tell(fact)) for fact in extract_facts(sentences)]


@pytest.mark.parametrize("row", list_rows(PAGE, "Said"), ids=lambda row: row[0][:40])
def test_what_is_said_to_be_noted_is_noted_with_its_polarity(row: list[str]) -> None:
    said, noted = row
    facts = extract_facts(said)
    assert len(facts) == noted.count(";") + 1
    for fact in facts:
        assert fact.content in noted
        assert fact.polarity == "positive" or "negative" in noted


@pytest.mark.parametrize("row", list_rows(PAGE, "Not noted"), ids=lambda row: row[0][:40])
def test_what_is_said_to_be_left_alone_is_left_alone(row: list[str]) -> None:
    assert extract_facts(unquote(row[0])) == []
