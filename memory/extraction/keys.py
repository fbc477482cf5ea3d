"""The key of a fact: a stable name, so that the same thing said again meets its earlier row."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from .facts import Category

MAX_SLUG_CHARS = 40
_HASH_CHARS = 8
_NOT_ASCII_WORD = re.compile(r"[^a-z0-9]+")
# ASCII punctuation that tells names apart ("C#", "100 %"). The symbols + < = > $ ^ | ~ are found by category.
_TELLING_PUNCTUATION = frozenset("#%@*\\")


def build_key(category: Category, content: str) -> str:
    """`category:slug`; equal for upper and lower case and for composed and decomposed letters."""
    return f"{category}:{_build_slug(content)}"


def _build_slug(content: str) -> str:
    folded = _fold(content)
    slug = _slug_ascii(folded) if folded.isascii() else _slug_unicode(folded)
    bare = slug.strip("_")
    if not bare:
        return _hash(folded)
    if len(slug) > MAX_SLUG_CHARS:
        return f"{slug[:MAX_SLUG_CHARS].rstrip('_')}_{_hash(folded)}"
    slug = slug.rstrip("_")
    # A slug drops signs. Where a sign is part of the name, C, C# and C++ would otherwise be one key.
    return f"{slug}_{_hash(folded)}" if any(map(_is_telling_sign, folded)) else slug


def _fold(content: str) -> str:
    """One spelling for all case and composition variants; spaces collapsed, end marks gone."""
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", content).casefold())
    return " ".join(composed.split()).rstrip(".,;:!?")


def _slug_ascii(folded: str) -> str:
    return _NOT_ASCII_WORD.sub("_", folded)


def _slug_unicode(folded: str) -> str:
    """Letters, digits and the marks that belong to them stay, in any script; runs of the rest become `_`."""
    kept: list[str] = []
    for char in folded:
        kind = unicodedata.category(char)[0]
        if kind in "LN" or (kind == "M" and kept and kept[-1] != "_" and not _is_variation_selector(char)):
            kept.append(char)
        elif not kept or kept[-1] != "_":
            kept.append("_")
    return "".join(kept)


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f"


def _is_telling_sign(char: str) -> bool:
    return char in _TELLING_PUNCTUATION or unicodedata.category(char)[0] == "S"


def _hash(folded: str) -> str:
    """Short and the same on every machine, unlike Python's own hash()."""
    return hashlib.sha256(folded.encode("utf-8")).hexdigest()[:_HASH_CHARS]
