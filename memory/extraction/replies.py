"""The assistant's "I": what it says about its work in the conversation is no fact about anybody."""

from __future__ import annotations

import re

from .claims import Claim

_MAX_OBJECT_WORDS = 6

# A reply that opens like this speaks to the user about the task.
_REPLY_OPENER = re.compile(
    r"^\W*(?:sure|certainly|of course|absolutely|okay|ok|got it|understood|great|thanks|thank you|here|"
    r"alright|all right|yes|"
    r"no problem|sorry|apologies|let me|let us|let's|happy to|good|noted|as an ai|as a language|as your|"
    r"hello|hi|hey|well|right|"
    r"i see|i'd be|i would be|perfect|done|to answer|in this|for this|as you|you said|you mentioned|"
    r"based on|below|first|now)\b"
)
# Words that point at the conversation: the task, the answer, the one who asks.
_CONVERSATION = re.compile(
    r"\b(?:this(?! (?:project|team|company|product|app|repo|house)\b)|you|your|yours|here|below|above|"
    r"following|these|that|those|such|it|them|our|us|we|answer|"
    r"answers|reply|replies|response|"
    r"responses|explanation|example|examples|option|options|variant|version|approach|solution|suggestion|"
    r"plan|idea|question|"
    r"code|snippet|function|loop|list|table|column|columns|row|rows|placeholder|placeholders|step|steps|"
    r"summary|draft|file|"
    r"files|script|advice|assumption|reasons?|paragraph|text|sentence|section|essay|story|message|"
    r"conversation|chat|wording|"
    r"tone|format|formatting|bullet|language model|users?|people|class|method|variable|variables|query|"
    r"test case|output|input|"
    r"result|results|summary|summaries|reports?|documents?|spelling|sources?|the (?:first|second|third|"
    r"last)|one|ones|case|error|errors|bug|problem|data|so that|since|because|in order)\b"
)
# What an assistant does when it works: as its habit, it is about the service.
_SERVICE_VERBS = frozenset(
    "recommend suggest advise explain answer help assist give giving giving provide providing offer "
    "offering share sharing store include cite check guess guessing assume try aim start begin see note "
    "mention ask asking refer point keep make making show add remind tell warn prefer format respond "
    "reply disclose reveal discuss generate create produce helping assisting answering explaining "
    "chatting talking speculate speculating working seeing learning being hearing reading think find "
    "run double-check strive want work approach encourage avoid avoiding".split()
)


def is_about_reply(claim: Claim, content: str, *, clause: str, rest: str, opening: str) -> bool:
    """True for an assistant's claim about the work at hand.

    `content` is as written; `clause`, the `rest` of the sentence, the `opening` of the reply are lower-case.
    Only a bare claim passes: short, without reasons, without a word that points at the conversation.
    """
    if _REPLY_OPENER.match(opening) or rest.strip(" .!*\"'"):
        return True
    words = content.lower().split()
    if len(words) > _MAX_OBJECT_WORDS or _CONVERSATION.search(clause):
        return True
    if {word.rpartition("-")[2] for word in words[:2]} & _SERVICE_VERBS or words[:1] == ["to"]:
        return True
    if claim.category == "decision":
        return not _is_lasting_choice(claim, content)
    return claim.verb in {"rather", "sooner", "fan", "avoid"} or " " in claim.verb


def _is_lasting_choice(claim: Claim, content: str) -> bool:
    """A tool chosen by name ("Postgres for this project"); a loop, a table, a deed that was done is work."""
    return claim.is_future and claim.verb in {"use", "go"} and content[:1].isupper()
