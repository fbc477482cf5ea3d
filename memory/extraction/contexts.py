"""Is a clause asserted? Guards against questions, suppositions, reports and texts to be written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import lexicon
from .frames import SentenceFrame
from .phrases import is_border, join_words, word_at
from .tokens import Token

_MAX_LEFT_TOKENS = 40
# Words that, right before "I", make its clause a condition, an embedded question or part of another phrase.
_SUBORDINATORS = frozenset(
    "if unless whether lest that how why what who whom whose which where when whenever wherever until "
    "till once than before after provided providing supposing suppose assuming assume imagine pretend "
    "say case given everything anything something nothing someone anyone everyone things all thing "
    "reason way moment one ones kind sort type".split()
)
_INVERSIONS = lexicon.DO | lexicon.MODALS | lexicon.WILL | lexicon.BE | lexicon.HAVE | {"not"}
_TEMPORAL = frozenset("when whenever while before after as because since during".split())
_PASTIMES = frozenset("read write type print sing sings learn dream post reply message pray ask".split())
_NUMBERED = frozenset("part phase type chapter volume war level class figure table appendix section act book".split())

# The speaker's own frame around a claim: what follows is meant.
_OWN_FRAME = re.compile(
    r"(?:^|\b)(?:"
    r"remember|note|keep in mind|bear in mind|be aware|do not forget|mind you|make a note|take note|"
    r"(?:you )?(?:should|must|need to|may|might|may want to) (?:also )?(?:know|remember)|"
    r"(?:just )?so you know|as you know|fyi|i want you to know|let it be known|"
    r"i (?:must|have to|can|will|do|should|gotta|got to) (?:say|admit|confess|add|mention)|"
    r"i (?:also |really |already |just |now |have )*(?:admit|confess|know|find|found|realised|realized|"
    r"noticed|learned|"
    r"discovered|mentioned|swear|am sure|am certain|am afraid|am glad|am happy to say|remember)|"
    r"i (?:also |really |already |just |have |had )*(?:told|said to) you|"
    r"(?P<tentative>i (?:also |really |just |do |kind of |sort of )*(?:think|believe|guess|suppose|"
    r"reckon|figure|feel like))|(?:the )?(?:truth|fact|thing|point|problem|trouble|reality|upshot) is|"
    r"(?:it )?(?:just )?turns out|it is (?:true|no secret|clear|obvious|a fact|no surprise|safe to say)|"
    r"(?:this|that|which) is (?:also |partly |exactly )?why|trust me|believe me|now|"
    r"having said that|that (?:being )?said|to tell (?:you )?the truth|truth be told"
    r")(?: that)?$"
)
# Text to be made or changed: the clause is its content.
_TEXT_WORK = re.compile(
    r"\b(?:write|draft|compose|translate|rewrite|rephrase|reword|paraphrase|proofread|summari[sz]e|"
    r"classify|parse|render|"
    r"pronounce|spell|phrase|quote|caption|print|sing|recite|type out|saying|says|titled|entitled|"
    r"called|named|reads|starting with|beginning with|ending with|sentence|line|lyrics|in which)\b"
)
_UNSURE = re.compile(r"\b(?:not (?:so |really |quite |at all )?(?:sure|certain|convinced)|unsure|uncertain|doubtful)\b")
_REPEATED_TIME = re.compile(r"(?<!most of )\b(?:the|every|each|any) (?:\w+ )?(?:time|day|times)$")
_TAILS_OF_OTHERS = re.compile(
    r"^(?:(?:he|she|they|it|\w+|(?:my|the|his|her) \w+) )?(?:says|said|claims|claimed|thinks|wrote|"
    r"writes|told|whispered|"
    r"shouted|replied|joked|insisted|goes|muttered|laughed|cried|sighed|yelled|explained|added|"
    r"answered)\b(?! (?:that|i)\b)|"
    r"^(?:as|so) (?:he|she|they|the)\b|^according to\b|^or so\b|^(?:just )?kidding\b|^jk\b|^or do i\b|"
    r"^not (?:really|$)"
)


def is_asserted(
    tokens: Sequence[Token],
    subject: int,
    frame: SentenceFrame,
    *,
    is_decision: bool = False,
    is_named: bool = False,
) -> bool:
    """True when the clause whose subject stands at `subject` is the speaker's own claim about the real world.

    `is_named` says that the clause is the first half of "what I like most is Y".
    """
    if frame.is_irreal and not _leaves_text_work(tokens, subject):
        return False
    if frame.covers(subject):
        return False
    start = _find_segment(tokens, subject)
    if _hangs_on_blocked(tokens, start, frame) or _follows_report(tokens, start):
        return False
    return is_named or _is_own_segment(tokens, start, subject, is_decision)


def ends_foreign(tokens: Sequence[Token], end: int) -> bool:
    """True when what follows the clause takes it back: ", she said", ", just kidding"."""
    if word_at(tokens, end) not in {",", "—", "–", "-", "…", "("}:
        return False
    return _TAILS_OF_OTHERS.search(join_words(tokens, end + 1, end + 5)) is not None


def _leaves_text_work(tokens: Sequence[Token], subject: int) -> bool:
    """ "Draft a reply, I prefer a formal tone": a new clause after the comma is no part of the text."""
    head = join_words(tokens, 0, 6)
    if not re.search(r"\b(?:write|draft|compose|create|generate|produce|give)\b", head):
        return False
    start = _find_segment(tokens, subject)
    return start == subject and word_at(tokens, start - 1) in {",", "-", "–", "—", "but", "because"}


def _find_segment(tokens: Sequence[Token], subject: int) -> int:
    """The first token of the stretch that reaches, without a clause border, up to the subject."""
    here = subject
    others = 0  # more than one further "I" to the left is no longer this clause's frame
    while here > 0 and subject - here < _MAX_LEFT_TOKENS:
        before = tokens[here - 1]
        others += before.word == "i"
        if others > 1 or is_border(before):
            break
        here -= 1
    return here


def is_last_blocked(tokens: Sequence[Token], frame: SentenceFrame) -> bool:
    """True when the clause read last is not asserted. Clauses passed over so far are judged now, in order."""
    waiting, frame.pending = frame.pending, []
    for subject in waiting:
        frame.last_blocked = not is_asserted(tokens, subject, frame)
    return frame.last_blocked


def _hangs_on_blocked(tokens: Sequence[Token], start: int, frame: SentenceFrame) -> bool:
    """A clause joined by "and" or "or" shares the fate of the one before it."""
    return word_at(tokens, start - 1) in {"and", "or", "nor", "then", "&"} and is_last_blocked(tokens, frame)


def _follows_report(tokens: Sequence[Token], start: int) -> bool:
    """True after a stretch that ends in a verb of saying: `he said, I ...`, `she claims that, now, I`."""
    if start < 2 or tokens[start - 1].is_word:
        return False
    if _OWN_FRAME.search(join_words(tokens, _find_segment(tokens, start - 1), start - 1)):
        return False  # "don't forget: I ...", "as you know, I ..."
    before, earlier = word_at(tokens, start - 2), word_at(tokens, start - 3)
    if before == "that":
        return earlier in lexicon.SPEECH_AND_THOUGHT
    if before not in lexicon.SPEECH_AND_THOUGHT:
        return tokens[start - 1].word == ":" and _names_reporter(tokens, start - 1)
    return earlier not in {"i", "you", "second", "first", "further", "", "note"}


def _names_reporter(tokens: Sequence[Token], colon: int) -> bool:
    """A verb of saying with somebody else as its subject, anywhere before the colon."""
    left = tokens[max(0, colon - 8) : colon]
    words = [token.word for token in left]
    return any(word in lexicon.SPEECH_AND_THOUGHT for word in words) and "i" not in words


def _is_own_segment(tokens: Sequence[Token], start: int, subject: int, is_decision: bool) -> bool:
    """Judge the words between the last clause border and "I"."""
    left = join_words(tokens, start, subject)
    if word_at(tokens, start - 1) == "though" and word_at(tokens, start - 2) == "as":
        return False
    if not left:
        return True
    if left.endswith("not only do"):
        return True
    own = _OWN_FRAME.search(left)
    if own:
        if own.group("tentative") and is_decision:
            return False  # "I think I'll ..." is not decided
        rest = left[: own.start()].strip()
        return not rest or not _embeds(rest)
    return not _embeds(left) and not _binds(tokens, start, subject)


def _embeds(left: str) -> bool:
    """True when the words before "I" make the clause something said, thought, asked, wished or written."""
    words = left.split(" ")
    if _UNSURE.search(left):
        return True
    if words[0] in _TEMPORAL and "what" in words[1:3]:
        return False  # "after what you wrote I decided ..."
    told = lexicon.SPEECH_AND_THOUGHT | lexicon.HEDGES
    if words[0] in _TEMPORAL:
        told = told - _PASTIMES  # "when I read I prefer silence"
    for before, word in zip(["", *words], words, strict=False):
        if word in told and before not in lexicon.DETERMINERS:  # "after the show" tells nothing
            return True
    if words[0] in {"how", "why", "who", "whose", "which", "what"} or "how much" in left:
        return True
    return _TEXT_WORK.search(left) is not None


def _binds(tokens: Sequence[Token], start: int, subject: int) -> bool:
    """True when the word right before "I" ties the clause into another phrase, or asks."""
    here = subject - 1
    while here > start and lexicon.is_adverb(tokens[here].word):
        here -= 1
    word = tokens[here].word
    if word in _INVERSIONS or word in _NUMBERED:
        return True
    if word == "that" and word_at(tokens, here - 1) in {"so", "now", "given"}:
        return word_at(tokens, here - 1) == "so"
    if word == "case" and word_at(tokens, here - 1) in {"that", "this", "which"}:
        return False
    if word in {"though", "if"} and word_at(tokens, here - 1) == "as":
        return True
    if word in {"time", "day", "times"}:
        return _REPEATED_TIME.search(join_words(tokens, start, here + 1)) is not None
    return word in _SUBORDINATORS
