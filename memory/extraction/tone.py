"""Irony: praise that means the opposite. Such a claim is left out, since neither reading is sure."""

from __future__ import annotations

import re

_IRONIC_OPENER = re.compile(
    r"\b(?:oh,? (?:great|joy|wonderful|lovely|good|perfect|fantastic|yes|yay|yeah|boy|brilliant|super|"
    r"nice|sure)|yeah,? (?:sure|right)|sure,|just what i needed)"
)
# Nobody likes these; said to be loved, they are complained about.
_NUISANCE = re.compile(
    r"\b(?:wait(?:ing)?|ignor(?:e|es|ed|ing)|woken|yelled|shouted|lied|interrupted|charged|stuck|"
    r"queu(?:e|es|ing)|standing in line|"
    r"twice|crash(?:es|ed|ing)?|breaks?|broken|jams?|fails?|failing|losing|lose|redo(?:ing)?|on hold|"
    r"delays?|delayed|"
    r"cancel(?:s|led|ed)?|traffic jam|nobody|no one|for nothing|again and again|at \d ?am|for the \w+ "
    r"time|overtime|"
    r"unpaid|without (?:warning|notice|asking)|ruined?|spam|leaks?|leaking|late fees|hidden fees|never "
    r"(?:works|answers?|"
    r"replies|calls?|comes?)|always (?:late|jams|breaks|fails|crashes)|every (?:five|ten|other|single) \w+|"
    r"cleaning up after|repeating myself|wasted?|wasting|dies|disappears?|doesn't work|being (?:told|"
    r"late|blamed|tracked))\b"
)
_OPEN_PRAISE = re.compile(r"^(?:(?:it )?(?:when|how)|\w+ing\b|it that)")
# Takes back whatever was praised.
_TAKEN_BACK = re.compile(
    r"^\W{0,4}(?:not(?:[.!]+|$)|/s\b|said no ?one ever|yeah right|(?:just )?kidding|\U0001f644|\U0001f643)"
)
_TURNED = re.compile(
    r"^\W{0,4}(?:not(?:[.!]+|$)|/s\b|said no ?one ever|as if\b|yeah right|sure\.|fantastic\b|brilliant\b|"
    r"just great|lovely\.|"
    r"wonderful\b|great\.|thanks a lot|what a joy|so much fun|kidding|just kidding|don't you\b|who "
    r"doesn't|\U0001f644|\U0001f643)"
)


def is_ironic(before: str, content: str, after: str) -> bool:
    """Judge a liking by the text before its subject, its content and the text after it (all lower-case)."""
    if _TAKEN_BACK.match(after) or content.endswith(("/s", "\U0001f644", "\U0001f643")):
        return True
    if not _OPEN_PRAISE.match(content):
        return False
    return (
        _NUISANCE.search(content) is not None
        or _IRONIC_OPENER.search(before) is not None
        or _TURNED.match(after) is not None
    )
