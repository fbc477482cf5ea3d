"""Contents that must not become a memory: instructions, markup, empty words, manners of speaking."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence

from . import lexicon
from .facts import MIN_CONTENT_CHARS, Category

# A memory is replayed in later prompts, so whatever reads like an order to a model stays out.
_INSTRUCTION = re.compile(
    # forget the rules you were given
    r"\b(?:ignor(?:e|es|ing)|disregard(?:s|ing)?|overrid(?:e|es|ing)|bypass(?:es|ing)?|circumvent|"
    r"forget)\b.{0,50}"
    r"\b(?:previous|prior|earlier|above|system|instructions?|guidelines?|prompts?|your (?:rules?|"
    r"polic(?:y|ies))|"
    r"safety|filters?|safeguards?)\b|\byou (?:ignore|disregard|override|bypass|obey|are now)\b|"
    r"\bwithout (?:any )?(?:safety|content filters?|restrictions|censorship)\b|\bunsafe answers?\b|"
    # be somebody else, with other rights
    r"\bact as (?:dan|root|admin|an? un\w+)\b|\byou pretend\b|\bdeveloper mode\b|\bjail ?break|"
    r"\bdo anything now\b|\bnew instructions?\b|\b(?:system|developer|hidden) (?:prompt|message|"
    r"instructions?)\b|"
    # hand over what is secret
    r"\b(?:reveal|leak|exfiltrate|disclose|send|forward|e-?mail|upload|transfer|"
    r"wire)\b.{0,80}\b(?:passwords?|secrets?|"
    r"api[ -]?keys?|tokens|credentials|contacts|private keys?|credit cards?|chat history|bank details|"
    r"bitcoin)\b|\b(?:print|show|reveal|repeat)\b.{0,40}\bprompt\b|"
    # put an address into every answer
    r"\b(?:send|forward|post|upload|append|include|insert|add|paste|put|ends?|starts?|"
    r"begins?)\b.{0,80}(?:://|\bwww\.|@\w+\.\w)|"
    # run something
    r"\brm -r?f\b|\bcurl (?:http|-)|\bsudo \w|\bdrop table\b|\b(?:run|execute|eval) (?:this|the "
    r"following)\b|"
    # speak about us as the store would
    r"\bthe user (?:prefers|must|should|wants|likes|never|always|agrees|is an?)\b|\bthe assistant "
    r"(?:must|should|shall)\b|"
    r"\b(?:store|save) (?:this|that|it) (?:in|to|as)\b|\bfrom now on,? you\b|\bremember (?:this|that the "
    r"user)\b"
)
_MARKUP = re.compile(
    r"<\s*/?\s*(?:script|iframe|img|svg|style|object|embed|link|meta|form|input|a|body|html|video|audio|"
    r"base|system|"
    r"assistant|user|memory|instructions?|prompt|tool|function|im_start|im_end)\b|<\||\|>|<!|"
    r"\bon(?:error|load|click|focus|mouse\w+|key\w+) ?=|\[/?(?:inst|system|assistant|sys|user)\]|<<sys>>|"
    r"\{\{|\}\}|\$\{|\{%|!\[[^\]]{0,100}\]\(|\[[^\]]{0,100}\]\([^)\s]{0,300}[?&]\w+=|javascript:|"
    r"\bdata:(?:text|image|application)/"
)
# Addresses with a login or a bare number hide where they lead.
_DISGUISED_ADDRESS = re.compile(r"://\d{1,3}\.\d{1,3}\.\d|://[^/\s]*@")
# Overrides of reading order and invisible tag characters show one thing and store another.
_DECEPTIVE = re.compile("[\u202a-\u202e\U000e0000-\U000e007f]")

# Manners of speaking. Each pattern reads the verb and the content after it: "hate to bother you".
_IDIOMS: dict[Category, re.Pattern[str]] = {
    "preference": re.compile(
        r"^hate to (?:say|admit|ask|break|bother|interrupt|complain|nag|disappoint|burst|disagree|tell "
        r"you|brag|intrude|see you go|repeat myself|be (?:that|the|rude|difficult|picky|a \w+))\b|"
        r"^(?:like|love|prefer|hate) to (?:think|believe|say|imagine)\b|"
        r"^\S+ (?:you|u|ya|y'all)(?: (?:guys|all|so much|too|both|man|dude|for|now|a lot|people|so|"
        r"and)\b.*)?$|^(?:rather|sooner|prefer) (?:say|comment|speculate|guess|answer|die|be dead)\b|"
        r"^\S+ (?:i|your|about)\b|^\S+ if (?:it|this|you (?:could|would|can))\b|"
        r"^\S+ where (?:this|it) is (?:going|heading)|^\S+ (?:them|him)\b(?! (?:when|that|if|how))|"
        r"^\S+ (?:it|her)(?: (?:so|too|less|for|because|a lot|very|much|all|both|more|most|just)\b|$)|"
        r"^\S+ (?:every|each|all|some|any)(?: single)? (?:day|time|week|night|moment|minute|year|bit)s?$|"
        r"^\S+ (?:a lot|so much|very much)$"
    ),
    "decision": re.compile(
        r"^\S+ (?:the|a) wrong\b|^\S+ (?:ask|tell|write|message|contact|thank|show|let) (?:to )?you\b|"
        r"^\S+ (?:it|them|him|her|that|this)(?: (?:for|to|in|as|with|on|at|then|too|again|now|instead)\b|"
        r"$)|^\S+ (?:the flow|a fight|sides|up)$|^\S+ (?:for|in|at|with) "
    ),
    "pattern": re.compile(
        r"^\S+ (?:have (?:been|had)|do(?: so| that| it| this)?$|need to know|seem to (?:be able|have)|"
        r"will$|have$|get (?:it|that|to see)\b|be (?:able to|the same)|can$)|"
        # "I'm always here for you": a courtesy
        r"^be (?:here|there|around|happy|glad|proud|sure|down|up|grateful|ready|open|able|willing|amazed|"
        r"impressed|in awe|on the (?:hunt|lookout)|thinking|wondering|hoping|right|wrong|so)\b"
    ),
}
_WEAK_STARTS = frozenset(
    "is are was were has had will would can could should and but or nor so because than of by".split()
)
_RANKS = frozenset("most best more better least less".split())
_PREPOSITIONS = frozenset("about for from in on at with of as than by into onto upon over under".split())
_TWO_LETTER_WORDS = frozenset(
    "it he me us we so to do be up at in on of or an as by is am if no my ok oh hi ah eh hm um uh ya yo "
    "ha la na".split()
)


def is_storable(category: Category, content: str, words: Sequence[str], verb: str) -> bool:
    """True for a content that is long enough, about something, and no manner of speaking."""
    if not _is_long_enough(content):
        return False
    if all(word in lexicon.BARE_OBJECTS for word in words) and not _is_acronym(content):
        return False
    words = [word for word in words[:2] if word not in _RANKS] + list(words[2:])
    if not words or (words[0] in _WEAK_STARTS and category != "pattern" and verb != "decide"):
        return False
    if category == "preference" and words[0] in _PREPOSITIONS and verb not in {"rather", "sooner", "prefer"}:
        return False
    return _IDIOMS[category].search(f"{verb.replace(' ', '-')} {content.lower()}") is None


class HarmIndex:
    """Where a page steers a model, hides characters or tracks a reader. Searched once, when first asked."""

    def __init__(self, view: str) -> None:
        """`view` is the lower-case text of the whole page."""
        self._view = view
        self._starts: list[int] | None = None

    def touches(self, start: int, end: int) -> bool:
        """True when something harmful begins between `start` and `end`."""
        if self._starts is None:
            patterns = (_DECEPTIVE, _INSTRUCTION, _MARKUP, _DISGUISED_ADDRESS)
            self._starts = sorted(found.start() for pattern in patterns for found in pattern.finditer(self._view))
        return bisect_left(self._starts, start) < bisect_left(self._starts, end)


def _is_long_enough(content: str) -> bool:
    """Three characters; two for a name ("Go", "C#", two ideographs); one for an ideograph or a pictograph."""
    if len(content) >= MIN_CONTENT_CHARS:
        return any(unicodedata.category(char)[0] in "LNS" for char in content)
    if len(content) == 2:
        is_name = (content[0].isalnum() and (content[1].isalnum() or content[1] in "#+*")) or not content.isascii()
        return is_name and (content.lower() not in _TWO_LETTER_WORDS or _is_acronym(content))
    return len(content) == 1 and ord(content) > 0x2E7F and unicodedata.category(content) in {"Lo", "So"}


def _is_acronym(content: str) -> bool:
    """ "IT" and "US" are names where "it" and "us" are not."""
    return len(content) == 2 and content.isascii() and content.isalpha() and content.isupper()
