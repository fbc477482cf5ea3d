"""Facts from what a person or an assistant said: likings, decisions, habits. Pure text in, pure values out.

The way through, put together in `reader`:

- `preparation` cleans the text; `foreign_blocks` and `quotations` set aside what others said.
- `sentences` and `tokens` cut it up; `verb_groups` reads the verb after "I" with its negation and frequency.
- `claims` (with `choices`, `favourites`) says what is claimed, `frames` and `contexts` if it is asserted.
- `clauses`, `contents` and `objects` find what exactly it is about, and where that ends.
- `screening`, `tone`, `replies` and `echoes` tell what must not be kept; `keys` names the rest.
"""

from .descriptions import describe_fact
from .facts import Category, Fact, MemoryType, Polarity, Role
from .preparation import MAX_INPUT_CHARS
from .reader import extract_facts

__all__ = [
    "MAX_INPUT_CHARS",
    "Category",
    "Fact",
    "MemoryType",
    "Polarity",
    "Role",
    "describe_fact",
    "extract_facts",
]
