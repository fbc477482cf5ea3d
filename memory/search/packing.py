"""Packing a token budget. Pure."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def pack_budget(ranked: Sequence[Item], max_tokens: int, count_tokens: Callable[[Item], int]) -> list[tuple[Item, int]]:
    """Take items in rank order and pass over what does not fit; return them with their tokens.

    Where nothing fits, the first is taken all the same: a search that matched never ends with nothing.
    """
    chosen: list[tuple[Item, int]] = []
    left = max_tokens
    for item in ranked:
        tokens = count_tokens(item)
        if tokens <= left:
            chosen.append((item, tokens))
            left -= tokens
    if not chosen and ranked:
        return [(ranked[0], count_tokens(ranked[0]))]
    return chosen
