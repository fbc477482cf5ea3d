"""What an answer says, as tests compare it: as markup, or as it is read."""

import re
from html import unescape
from typing import Any


def read(answer: Any) -> str:
    """The page with its markup: entities resolved, blanks folded."""
    return " ".join(unescape(answer.content.decode()).split())


def read_text(answer: Any) -> str:
    """The page as it is read: without markup, blanks folded."""
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))
