"""Memories in the order they were said, and how much of a memory's evidence its neighbours get. Pure arrays."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

ASKS, SPOKEN, NAMES_ITSELF = 1, 2, 4
# How much of a word's weight reaches the memories one, two and three steps away in a conversation.
WORD_REACH: Final = (0.5, 0.3, 0.15)
# The same for closeness in meaning.
MEANING_REACH: Final = (0.4, 0.2, 0.1)
# A question's words reach its answer nearly whole.
ANSWER_REACH: Final = 0.8
# Facts share half of what turns of a conversation share.
FACT_SHARE: Final = 0.5
# Which shares of spoken memories make a session a list of facts, and a conversation.
_FACTS_BELOW, _TALK_ABOVE = 0.2, 0.6
# A session with few memories reads like the owner's others.
_PRIOR_MEMORIES: Final = 4.0
BM25_K1, BM25_B = 1.2, 0.2


@dataclass(frozen=True, slots=True)
class ConversationView:
    """The living memories sorted by session, own time and id; all arrays have one entry a memory.

    `position_of_slot` has one entry a slot, -1 for dead ones. `saturation` is BM25's factor of a word that stands in
    a memory of that length. `talk` is 0 for noted facts, 1 for conversation. The links have an array for each step
    1, 2, 3: the share between a memory and the one that many steps before it, 0 where their sessions differ.
    """

    ids: NDArray[np.int64]
    position_of_slot: NDArray[np.int32]
    sorted_ids: NDArray[np.int64]
    position_of_id: NDArray[np.int64]
    group_starts: NDArray[np.int64]
    groups: NDArray[np.int64]
    own_times: NDArray[np.float64]
    updated: NDArray[np.float64]
    expires: NDArray[np.float64]
    saturation: Floats
    speakers: NDArray[np.int32]
    asks: Bools
    talk: Floats
    word_links: tuple[Floats, ...]
    answer_links: Floats
    meaning_links: tuple[Floats, ...]
    mean_chars: float
    mean_talk: float
    has_links: bool


def arrange(
    *,
    alive: Bools,
    ids: NDArray[np.int64],
    groups: NDArray[np.int64],
    own_times: NDArray[np.float64],
    updated: NDArray[np.float64],
    expires: NDArray[np.float64],
    lengths: Floats,
    chars: Floats,
    speakers: NDArray[np.int32],
    flags: NDArray[np.int8],
) -> ConversationView:
    """Sort the living slots; every argument has one entry a slot."""
    slots = np.nonzero(alive)[0]
    order = slots[np.lexsort((ids[slots], own_times[slots], groups[slots]))]
    position_of_slot = np.full(len(alive), -1, np.int32)
    position_of_slot[order] = np.arange(len(order), dtype=np.int32)
    group, flag, speaker = groups[order], flags[order], speakers[order]
    starts = np.nonzero(np.r_[True, group[1:] != group[:-1]])[0] if len(order) else np.zeros(0, np.int64)
    talk = _measure_talk(starts, flag, speaker)
    asks = (flag & ASKS).astype(bool)
    same = [_is_same_group(group, step) for step in (1, 2, 3)]
    share = FACT_SHARE + (1 - FACT_SHARE) * talk
    words = tuple((link * share * reach).astype(np.float32) for link, reach in zip(same, WORD_REACH, strict=True))
    follows_question = np.r_[False, asks[:-1]][: len(order)] & (talk > 0)
    mean_length = max(float(lengths[order].mean()), 1.0) if len(order) else 1.0
    return ConversationView(
        ids=ids[order],
        position_of_slot=position_of_slot,
        sorted_ids=np.sort(ids[order]),
        position_of_id=np.argsort(ids[order]),
        group_starts=starts,
        groups=group,
        own_times=own_times[order],
        updated=updated[order],
        expires=expires[order],
        saturation=(1 / (1 + BM25_K1 * (1 - BM25_B + BM25_B * lengths[order] / mean_length))).astype(np.float32),
        speakers=speaker,
        asks=asks,
        talk=talk,
        word_links=words,
        answer_links=np.where(follows_question, np.maximum(same[0] * ANSWER_REACH * talk, words[0]), words[0]),
        meaning_links=tuple(
            (link * talk * reach).astype(np.float32) for link, reach in zip(same, MEANING_REACH, strict=True)
        ),
        mean_chars=float(chars[order].mean()) if len(order) else 0.0,
        mean_talk=float(talk.mean()) if len(order) else 0.0,
        has_links=len(starts) < len(order),
    )


def _is_same_group(groups: NDArray[np.int64], step: int) -> Floats:
    same = np.zeros(len(groups), np.float32)
    same[step:] = groups[step:] == groups[:-step]
    return same


def _measure_talk(starts: NDArray[np.int64], flags: NDArray[np.int8], speakers: NDArray[np.int32]) -> Floats:
    """Say of every memory how much its session is a conversation.

    Two signs: memories that address somebody, and speakers taking turns (which holds in every language). Against it:
    memories that name their own speaker.
    """
    count = len(flags)
    if not count:
        return np.zeros(0, np.float32)
    sizes = np.diff(np.r_[starts, count])
    turns = np.r_[False, (speakers[1:] != speakers[:-1]) & (speakers[1:] > 0) & (speakers[:-1] > 0)]
    turns[starts] = False
    spoken = _share(starts, sizes, (flags & SPOKEN) > 0)
    named = _share(starts, sizes, (flags & NAMES_ITSELF) > 0)
    alternating = np.add.reduceat(turns.astype(np.float64), starts) / np.maximum(sizes - 1, 1)
    talk = np.maximum(spoken, alternating) * (1 - named)
    scaled = np.clip((talk - _FACTS_BELOW) / (_TALK_ABOVE - _FACTS_BELOW), 0, 1)
    return np.repeat(scaled, sizes).astype(np.float32)


def _share(starts: NDArray[np.int64], sizes: NDArray[np.int64], signs: Bools) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.add.reduceat(signs.astype(np.float64), starts)
    shares: NDArray[np.float64] = (sums + _PRIOR_MEMORIES * signs.mean()) / (sizes + _PRIOR_MEMORIES)
    return shares
