"""A word is found by itself in any script: letters that folding spells out, vowels that are marks of their own."""

import unicodedata
from typing import Any

import pytest
from rest_api import Api

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

MEMORIES = {
    "german": ("Ich wohne in der Großen Straße", "Straße"),
    "german capitals": ("STRASSE DES FRIEDENS", "Straße"),
    "turkish": ("İstanbul'da oturuyorum", "İSTANBUL"),
    "greek": ("Ο ΣΊΣΥΦΟΣ κουράστηκε", "σίσυφος"),
    "french, decomposed": ("Un cafe\u0301 au lait", "café"),
    "hindi": ("मुझे चाय पसंद है।", "चाय पसंद"),
    "bengali": ("আমি চা পছন্দ করি", "পছন্দ"),
    "tamil": ("எனக்கு தேநீர் பிடிக்கும்", "தேநீர்"),
    "telugu": ("నాకు కాఫీ ఇష్టం", "కాఫీ"),
    "hebrew, pointed": ("אֲנִי אוֹהֵב תֵּה", "אוֹהֵב"),
    "arabic, vowelled": ("أُحِبُّ الشَّايَ", "الشَّايَ"),
    "vietnamese": ("Tôi thích trà sen", "TRÀ SEN"),
    "thai": ("ฉันชอบดื่มชา", "ดื่มชา"),
    "korean": ("나는 차를 좋아한다", "좋아한다"),
    "russian": ("Я люблю зелёный чай", "ЗЕЛЁНЫЙ"),
    "lithuanian": ("Mėgstu žalią arbatą", "ŽALIĄ"),
}


def list_matched(api: Api, query: str, strategy: str) -> list[str]:
    """What the words of the query found, best first; memories that merely stand in have no ftsScore."""
    told: Any = api.post("/api/memory/retrieve-preview", {"query": query, "apiKeyId": "A", "strategy": strategy})
    return [item["content"] for item in told.json()["memories"] if item["ftsScore"] is not None]


@pytest.mark.parametrize("strategy", ["semantic", "hybrid", "adaptive"])
def test_a_word_finds_its_memory_and_no_other(api: Api, strategy: str) -> None:
    for name, (content, _) in MEMORIES.items():
        api.remember(key=name, content=content, apiKeyId="A")
    german = {content for name, (content, _) in MEMORIES.items() if "german" in name}
    for name, (content, query) in MEMORIES.items():
        alike = german if "german" in name else {content}
        for form in ("NFC", "NFD"):
            found = list_matched(api, unicodedata.normalize(form, query), strategy)
            assert found and set(found) <= alike, (name, form)
            assert content in found, (name, form)


@pytest.mark.parametrize("strategy", ["semantic", "hybrid", "adaptive"])
@pytest.mark.parametrize(
    ("content", "query"), [("Un café noir", "cafe"), ("Zażółć gęślą", "zazołc"), ("naive", "naïve")]
)
def test_accents_on_latin_letters_may_be_left_out(api: Api, content: str, query: str, strategy: str) -> None:
    api.remember(content=content, apiKeyId="A")
    api.remember(key="other", content="something else", apiKeyId="A")
    assert list_matched(api, query, strategy) == [content]
