"""Words of kindred meaning: "job" - "work", "movie" - "film". They let a memory answer a query it shares no word with.

The table `kindred.txt` was made from the bundled static model by `scripts/kindred_words.py`: English only.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_name("kindred.txt")
# How much kin counts beside the word itself, before their likeness.
KIN_WEIGHT: Final = 0.8


@lru_cache(maxsize=1 << 14)
def find_kin(word: str) -> tuple[tuple[str, float], ...]:
    """Return stems of kindred meaning with their weights (0 to 1), best first; few words have more than a handful."""
    entry = _read_table().get(word)
    if entry is None:
        return ()
    pairs = (pair.split(":") for pair in entry.split())
    return tuple((stem, KIN_WEIGHT * int(likeness) / 100) for stem, likeness in pairs)


@lru_cache(maxsize=1)
def _read_table() -> dict[str, str]:
    """About 3 MB, read at the first search that asks for kin."""
    lines = TABLE.read_text("ascii").splitlines()
    return {word: kin for word, _, kin in (line.partition(" ") for line in lines)}
