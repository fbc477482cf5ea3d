"""What holds for a whole sentence: it asks, supposes, tells what others say, or opens a part to be played."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import lexicon
from .phrases import is_border, join_words, word_at
from .tokens import Token

# Someone else's view, or another world, anywhere before the claim in its sentence.
_HEARSAY = re.compile(
    r"\baccording to\b|\b(?:rumou?r|legend|gossip) has it\b|\bin (?:his|her|their|my \w+'s|your) (?:view|"
    r"opinion|eyes|mind)\b|\b(?:apparently|supposedly|allegedly|reportedly)\b|"
    r"\bin (?:a|an|another|some|my|the|this|that) (?:\w+ )?(?:world|universe|dreams?|story|novel|"
    r"scenario|timeline|sketch|role)\b"
)
# A verb at the head that opens a supposition or a part to be played: it covers the whole sentence.
_IRREALIS_HEAD = re.compile(
    r"^(?:(?:please|now|ok|okay|so|and|but|then|just|hey|well|can you|could you|would you|let us|for a "
    r"moment|i want you to|i need you to|i would like you to|first|next) )*(?:"
    r"suppose|supposing|imagine|pretend|assume|assuming|picture|hypothetically|say i|say that i|roleplay|"
    r"role-play|"
    r"what if|act (?:as|like)|play (?:the|a|along)|consider (?:a|the|that|me)|let us (?:say|assume|"
    r"suppose|imagine|pretend)|"
    r"(?:as )?if only|respond as|answer as|speak as|talk as|you are (?:a|an|my|the|now)|in case|"
    r"write|draft|compose|create|generate|produce|invent|make up|tell (?:me )?a story|give me (?:a|an|"
    r"some|five|ten|three))\b"
)
_ROLE_PLAY_HEAD = re.compile(
    r"\b(?:pretend|role-?play|imagine (?:that )?(?:i|you|we)|you are (?:now )?(?:a|an|the) |act as|"
    r"playing)\b"
)
_TAG_QUESTION = re.compile(
    r"^(?:or )?(?:right|no|yes|yeah|ok|okay|correct|huh|eh|true|innit|you know|"
    r"(?:do|did|does|am|is|are|was|have|has|will|would|should|can|could) (?:not )?(?:i|it)(?: not)?)$"
)
_DISCOURSE_IF = re.compile(
    r"^(?:if|in case) (?:you (?:ask me|must know|want to know|wondered|were wondering|are wondering|are "
    r"curious|need to know|"
    r"care)|i (?:am|may be|must be) (?:being |totally |completely |quite )?(?:honest|frank)|it matters|"
    r"it helps|i may say so|"
    r"possible|anyone (?:asks|cares)|memory serves|i remember (?:correctly|right)|that helps)\b"
)


_ASKING_WORDS = frozenset("any anyone anybody right huh no yes ok correct".split())
_MAX_TAG_TOKENS = 7


@dataclass
class SentenceFrame:
    """What holds for a whole sentence; filled while it is read from left to right."""

    is_irreal: bool = False
    condition_index: int | None = None  # the first "if" that opens a clause
    hearsay_index: int | None = None  # where "according to my boss" stands
    question_index: int | None = None  # the first token that belongs to the question; None: no question
    last_blocked: bool = False
    # Subjects of clauses without a claim. They are judged only when a later clause hangs on them.
    pending: list[int] = field(default_factory=list)

    def covers(self, subject: int) -> bool:
        """True when something before `subject` makes its clause unreal or hearsay, or the clause is asked."""
        if self.question_index is not None and subject >= self.question_index:
            return True
        return any(index is not None and index < subject for index in (self.condition_index, self.hearsay_index))


def open_frame(tokens: Sequence[Token], ending: str) -> SentenceFrame:
    """Judge a sentence as a whole: supposition, question, hearsay."""
    head = join_words(tokens, 0, 16)
    frame = SentenceFrame(is_irreal=_IRREALIS_HEAD.match(head) is not None)
    frame.condition_index = _find_condition(tokens)
    frame.hearsay_index = _find_hearsay(tokens)
    if ending == "?":
        frame.question_index = _find_question(tokens)
    return frame


def opens_role_play(tokens: Sequence[Token]) -> bool:
    """True for "Pretend you are ...": the sentences after it are spoken in a part."""
    head = join_words(tokens, 0, 20)
    return _IRREALIS_HEAD.match(head) is not None and _ROLE_PLAY_HEAD.search(head) is not None


def _find_question(tokens: Sequence[Token]) -> int:
    """Where the question begins in a sentence that ends with "?"; 0 when all of it is asked."""
    if _asks(tokens, 0):
        return 0
    for here in range(1, len(tokens)):
        if is_border(tokens[here - 1]) and _asks(tokens, here):
            rest = join_words(tokens, here, here + _MAX_TAG_TOKENS).rstrip(" ,")
            return 0 if len(tokens) - here < _MAX_TAG_TOKENS and _TAG_QUESTION.match(rest) else here
    return 0


def _asks(tokens: Sequence[Token], here: int) -> bool:
    """True when a question may begin at `here`: an interrogative, or a verb before its subject."""
    word = word_at(tokens, here)
    if word in {"or", "and", "but", "so"}:
        here += 1
        word = word_at(tokens, here)
    if word in lexicon.INTERROGATIVES or word in _ASKING_WORDS:
        return True
    return word in lexicon.AUXILIARIES and word_at(tokens, here + 1) not in {"", "not"}


def _find_condition(tokens: Sequence[Token]) -> int | None:
    """The first "if" or "unless" at the head of a clause; "even if", "as if" and "if you ask me" are none."""
    for here, token in enumerate(tokens):
        if token.word not in {"if", "unless", "supposing", "provided", "assuming"}:
            continue
        before = tokens[here - 1] if here else None
        opens = before is None or is_border(before) or not before.is_word
        if opens and not _DISCOURSE_IF.match(join_words(tokens, here, here + 6)):
            return here
    return None


def _find_hearsay(tokens: Sequence[Token]) -> int | None:
    """Where somebody else's view is named."""
    found = _HEARSAY.search(join_words(tokens, 0, len(tokens)))
    return None if found is None else found.string.count(" ", 0, found.start())
