"""A quick look whether a stretch of text speaks in the first person at all."""

from __future__ import annotations

import re

_FIRST_PERSON = re.compile(r"(?<![\w'])(?:i|im|ive|ill|id|my|mine)(?![\w])")


def find_speaker(view: str, start: int, end: int) -> bool:
    """True when "I" or "my" stands between `start` and `end`; only then is the stretch worth taking apart."""
    return _FIRST_PERSON.search(view, start, end) is not None
