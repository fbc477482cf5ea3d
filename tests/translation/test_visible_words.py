"""That the walk through the pages would notice what it is there for."""

import pytest

from tests.translation.pseudo_language import disguise
from tests.translation.visible_words import list_untranslated

DONE = disguise("Save")


@pytest.mark.parametrize(
    "html",
    [
        "<p>Save</p>",
        f"<p>{DONE} changes</p>",
        f"<p>{DONE}</p> saved <b>{DONE}</b>",
        '<a title="Save it"></a>',
        '<input type="submit" value="Save">',
        '<button aria-label="Save"></button>',
        '<form data-confirm="Really save?"></form>',
        "<select><option>Save</option></select>",
        '<script type="application/json">{"labels": ["Save"]}</script>',
        "<code>x</code> saves",
    ],
)
def test_a_word_that_nobody_translated_is_found(html):
    assert list_untranslated(html)


@pytest.mark.parametrize(
    "html",
    [
        f"<p>{DONE}</p>",
        f"<p>{disguise('Saved in <b>some</b> folders')}</p>",
        f"<p>{disguise('Not saved: %(reason)s') % {'reason': disguise('it is full')}}</p>",
        "<p>openai/gpt-4o, 127.0.0.1:9, 3fa8, 12:30</p>",
        "<code>manage.py serve</code>",
        "<script>const told = 'Save';</script>",
        '<button data-copy="manage.py serve --port 1">π</button>',
        "<p>Qdrant</p>",
    ],
)
def test_what_is_translated_or_no_word_is_none(html):
    assert not list_untranslated(html, known=frozenset({"Qdrant"}))


def test_what_a_translator_leaves_alone_is_left_alone():
    said = disguise('%(count)d of {all} <a href="{address}">rows</a> are 100 %% done')
    assert said.startswith('⟦%(count)d øf {all} <a href="{address}">řøwš</a> ářé 100 %% døñé ')
    assert said.endswith("⟧") and len(said) > 1.3 * len("%(count)d of {all} rows are 100 %% done")
