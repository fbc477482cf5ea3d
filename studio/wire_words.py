"""Words that programs use, as pages say them: types, tiers, strategies, sources, places of an erasure."""

from typing import Final

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from core.words import Words
from memory.erasing.receipts import KEPT

NAMES: Final[dict[str, StrOrPromise]] = {
    # Translators: a type of memory
    "factual": _("factual"),
    # Translators: a type of memory
    "episodic": _("episodic"),
    # Translators: a type of memory
    "procedural": _("procedural"),
    # Translators: a type of memory, and a strategy of searching
    "semantic": _("semantic"),
    # Translators: what is liked
    "positive": _("positive"),
    # Translators: what is disliked
    "negative": _("negative"),
    "adaptive": _("adaptive"),
    "exact": _("exact"),
    "hybrid": _("hybrid"),
    # Translators: where a search result comes from: the vectors of memories
    "vector": _("vector"),
    # Translators: where a search result comes from: a store of memories other than this server's
    "backend": _("backend"),
    # Translators: a source of embeddings, a provider
    "remote": _("remote"),
    # Translators: a source of embeddings, a model of this machine
    "static": _("static"),
    "none": _("none"),
    # Translators: what was done to a memory, as the following ones
    "compaction": _("compaction"),
    "delete": _("delete"),
    "edit": _("edit"),
    "retype": _("retype"),
    "merge": _("merge"),
    "import": _("import"),
    "memories": _("memories"),
    "vectors": _("vectors"),
    "undo archive": _("undo archive"),
    "jobs": _("jobs"),
    "uploads": _("uploads"),
    "requests": _("requests"),
    "backends": _("backends"),
    # What a receipt says is kept as it was written.
    **{str(line): line for line in KEPT},
}


def name_word(word: str) -> str:
    """Return a program's word in the language of the page; one that is not in the table as it is."""
    named = NAMES.get(word, word)
    return named.say() if isinstance(named, Words) else str(named)
