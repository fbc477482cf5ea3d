"""Sentences that are English wherever they are kept, and are said in the language of whoever reads them."""

import copy
import json
import pickle
from unittest.mock import patch

import pytest
from django.db import connection
from django.template import Context, Template
from django.utils import translation

from core.errors import NotFoundError
from core.words import Words, gettext, join_words, ngettext, read_words, translate

GERMAN = {
    "No key is called %(name)s": "Kein Schlüssel heißt %(name)s",
    "%(count)d key": "%(count)d Schlüssel",
    "%(count)d keys": "%(count)d Stück",
    "Qdrant can't be reached: %(reason)s": "Qdrant ist nicht erreichbar: %(reason)s",
    "it <is> gone": "es <ist> fort",
}


@pytest.fixture(autouse=True)
def german():
    """Stands in for a catalogue, so that what is asked for and when shows."""

    def say(message: str) -> str:
        return GERMAN.get(message, message) if translation.get_language() == "de" else message

    def say_number(singular: str, plural: str, count: int) -> str:
        return say(singular) if count == 1 else say(plural)

    with patch.object(translation, "gettext", say), patch.object(translation, "ngettext", say_number):
        yield


def test_words_are_english_to_all_but_those_who_translate_them():
    words = gettext("No key is called %(name)s") % {"name": "α"}
    with translation.override("de"):
        assert words == "No key is called α"
        assert (str(words), f"{words}", json.dumps([words])) == (
            "No key is called α",
            "No key is called α",
            '["No key is called \\u03b1"]',
        )
        assert translate(words) == "Kein Schlüssel heißt α"
    assert translate(words) == "No key is called α"


def test_words_that_were_made_in_another_language_are_english_too():
    with translation.override("de"):
        error = NotFoundError(gettext("No key is called %(name)s") % {"name": "α"})
    assert (error.message, str(error)) == ("No key is called α", "No key is called α")


def test_a_template_prints_them_in_the_language_of_the_page_and_escaped():
    page = Template("{% load i18n %}{{ it }}{% blocktranslate %} {{ it }}{% endblocktranslate %}")
    with translation.override("de"):
        assert page.render(Context({"it": gettext("it <is> gone")})) == "es &lt;ist&gt; fort es &lt;ist&gt; fort"


def test_a_sentence_in_a_sentence_is_translated_with_it():
    told = gettext("Qdrant can't be reached: %(reason)s") % {"reason": gettext("it <is> gone")}
    joined = join_words("; ", (told, "plain", gettext("it <is> gone")))
    with translation.override("de"):
        assert translate(joined) == "Qdrant ist nicht erreichbar: es <ist> fort; plain; es <ist> fort"
    assert joined == "Qdrant can't be reached: it <is> gone; plain; it <is> gone"


@pytest.mark.parametrize(("count", "english", "said"), [(1, "1 key", "1 Schlüssel"), (2, "2 keys", "2 Stück")])
def test_a_number_chooses_the_form(count, english, said):
    words = ngettext("%(count)d key", "%(count)d keys", count) % {"count": count}
    assert words == english
    with translation.override("de"):
        assert translate(words) == said


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda words: pickle.loads(pickle.dumps(words))])
def test_a_copy_remembers_as_well(copied):
    words = copied(gettext("No key is called %(name)s") % {"name": "α"})
    with translation.override("de"):
        assert translate(words) == "Kein Schlüssel heißt α"


@pytest.mark.django_db
def test_a_database_takes_them_for_text():
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s, typeof(%s)", [gettext("it <is> gone"), gettext("it <is> gone")])
        assert cursor.fetchone() == ("it <is> gone", "text")


def test_an_exception_gives_back_what_it_was_told():
    assert isinstance(read_words(ValueError(gettext("it <is> gone"))), Words)
    assert read_words(ValueError()) == ""
    assert read_words(OSError(2, "gone")) == "[Errno 2] gone"
