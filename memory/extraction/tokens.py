"""Words and marks of one sentence, with contractions taken apart."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_CHUNK = re.compile(r"(?:[^\s,—…()\[\]{}\"“”„«»]|(?<=\d),(?=\d))+|[,—…()\[\]{}\"“”„«»]")
_LEADING = re.compile(r"^['*~:;!?]+|^[-–.]+(?![\w.-])|^-{2,}(?!\w)")
_TRAILING = re.compile(r"[,:;!?'*~]+$|(?<=[\w)])-+$|\.{2,}$|(?<![.\w])[-–.]+$")
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_LATIN_WORD = re.compile(r"[a-z']+$")

# The ending of a contraction -> the word it stands for.
_ENDINGS = {"n't": "not", "'ll": "will", "'d": "would", "'ve": "have", "'m": "am", "'re": "are"}
_IRREGULAR = {
    "n't": ("not",),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "cannot": ("can", "not"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
    "gotta": ("got", "to"),
    "it's": ("it", "is"),
    "that's": ("that", "is"),
    "what's": ("what", "is"),
    "there's": ("there", "is"),
    "he's": ("he", "is"),
    "she's": ("she", "is"),
    "who's": ("who", "is"),
    "how's": ("how", "is"),
    "let's": ("let", "us"),
    "lets": ("let", "us"),
    "favorite's": ("favorite", "is"),
    "favourite's": ("favourite", "is"),
    # apostrophe left out
    "dont": ("do", "not"),
    "doesnt": ("does", "not"),
    "didnt": ("did", "not"),
    "cant": ("can", "not"),
    "wont": ("will", "not"),
    "isnt": ("is", "not"),
    "arent": ("are", "not"),
    "wasnt": ("was", "not"),
    "havent": ("have", "not"),
    "hadnt": ("had", "not"),
    "wouldnt": ("would", "not"),
    "couldnt": ("could", "not"),
    "shouldnt": ("should", "not"),
    "im": ("i", "am"),
    "ive": ("i", "have"),
}
# "ill" and "id" are words of their own; they stand for "I'll" and "I'd" only before these.
_AFTER_WILL = frozenset(
    "use be go stick pick choose never not just probably definitely also always opt adopt switch take".split()
)
_AFTER_WOULD = frozenset("rather prefer sooner much like love hate".split())


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a mark; `start` and `end` are places in the page. Parts of a contraction share theirs."""

    word: str
    start: int
    end: int
    is_word: bool


def split_tokens(view: str, start: int, end: int) -> list[Token]:
    """Read the words of `view[start:end]` (lower-case text) in order; contractions come out as full words."""
    tokens: list[Token] = []
    for found in _CHUNK.finditer(view, start, end):
        _split_chunk(found.group(), found.start(), tokens)
    return _expand_ambiguous(tokens)


def _split_chunk(chunk: str, offset: int, tokens: list[Token]) -> None:
    """Peel marks off both ends of a chunk; what is left is a word, however odd ("c++", "7:40", "node.js")."""
    head = _LEADING.match(chunk)
    begin = head.end() if head else 0
    if begin:
        tokens.append(Token(chunk[:begin], offset, offset + begin, False))
    tail = _TRAILING.search(chunk, begin)
    stop = tail.start() if tail else len(chunk)
    if stop > begin:
        core = chunk[begin:stop]
        is_word = any(map(_is_telling, core))
        for word in _expand_contraction(_shorten(core)):
            tokens.append(Token(word, offset + begin, offset + stop, is_word))
    if stop < len(chunk):
        tokens.append(Token(chunk[stop:], offset + stop, offset + len(chunk), False))


def _shorten(word: str) -> str:
    """ "reallyyy" and "looove" for the rules; the content keeps them. "III" and "www" stay."""
    return _STRETCHED.sub(r"\1", word) if len(set(word)) > 1 and word.isalpha() else word


def _is_telling(char: str) -> bool:
    """Letters and digits make a word, and so do pictographs: "I love 🍕"."""
    return char.isalnum() or (not char.isascii() and unicodedata.category(char) == "So")


def _expand_contraction(word: str) -> tuple[str, ...]:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if "'" in word and len(word) <= 20 and _LATIN_WORD.match(word):
        for ending, full in _ENDINGS.items():
            if word.endswith(ending) and len(word) > len(ending):
                return (*_expand_contraction(word[: -len(ending)]), full)
    return (word,)


def _expand_ambiguous(tokens: list[Token]) -> list[Token]:
    expanded: list[Token] = []
    for here, token in enumerate(tokens):
        following = tokens[here + 1].word if here + 1 < len(tokens) else ""
        full = None
        if token.word == "ill" and following in _AFTER_WILL:
            full = "will"
        elif token.word == "id" and following in _AFTER_WOULD:
            full = "would"
        if full is None:
            expanded.append(token)
        else:
            expanded.append(Token("i", token.start, token.end, True))
            expanded.append(Token(full, token.start, token.end, True))
    return expanded
