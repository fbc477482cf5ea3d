"""Two legs and what is known without a query, as one score a memory. Pure arrays."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.search.conversation import Bools, ConversationView, Floats
from memory.search.lexical import LexicalScores
from memory.search.vector_evidence import VectorEvidence

# The keyword leg's weight: for short memories; how much less for long ones; the length where half of that is gone;
# how much less for noted facts.
_SHORT_WEIGHT, _LENGTH_LOSS, _HALF_LOSS_CHARS, _FACT_LOSS = 0.65, 0.35, 700.0, 0.05
# Parts of the best memory's score.
_SESSION_SHARE: Final = 0.3
_SPEAKER_SHARE: Final = 0.15
_QUESTION_LOSS: Final = 0.2
# How much of a memory's usual nearness to everything is taken off.
_TYPICAL_LOSS: Final = 0.6
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FusedScores:
    """One entry a memory of the view. `cosines` is NaN for memories without a vector, None without a vector leg.

    `is_supported`: something speaks for it, be it a word in its session. With a vector leg something does for all.
    """

    fused: Floats
    cosines: Floats | None
    is_supported: Bools


def choose_lexical_weight(mean_chars: float, mean_talk: float, reads: float) -> float:
    """Return the keyword leg's share, 0 to 1: .65 for short turns, .6 for facts, a third for 2,000 characters.

    `reads` (0 to 1) is how much of the query the embedder can read; the rest is the keywords' alone.
    """
    long = mean_chars**2 / (mean_chars**2 + _HALF_LOSS_CHARS**2)
    weight = _SHORT_WEIGHT - _LENGTH_LOSS * long - _FACT_LOSS * (1 - mean_talk)
    return 1 - (1 - weight) * reads


def fuse(
    view: ConversationView,
    words: LexicalScores,
    evidence: VectorEvidence | None,
    named_speakers: set[int],
    usable: Bools | None,
    reads: float,
) -> FusedScores:
    """Mix the legs, each scaled by its best memory, and add what session, speaker and form tell."""
    cosines = None
    fused = words.spread / max(float(words.spread.max(initial=0.0)), _TINY)
    if evidence is not None and reads > 0:
        cosines, raw = _place_cosines(view, evidence)
        meaning = _scale(_reach_neighbours(raw, view, usable), usable)
        weight = choose_lexical_weight(view.mean_chars, view.mean_talk, reads)
        fused = np.float32(weight) * fused + np.float32(1 - weight) * meaning
    if view.has_links:
        fused += np.float32(_SESSION_SHARE) * _spread_best_of_session(fused, view, usable)
    is_supported = fused > 0 if cosines is None else np.ones(len(fused), bool)
    fused -= np.float32(_QUESTION_LOSS) * view.asks
    if named_speakers:
        fused += np.float32(_SPEAKER_SHARE) * view.talk * np.isin(view.speakers, list(named_speakers))
    return FusedScores(fused, cosines, is_supported)


def _place_cosines(view: ConversationView, evidence: VectorEvidence) -> tuple[Floats, Floats]:
    """Return the cosines in the view's order, NaN where there are none, and what of them counts, centred on 0.

    A memory without a vector is neither near nor far; where only the nearest are known the rest is no nearer than
    the last of them.
    """
    cosines = np.full(len(view.ids), np.nan, np.float32)
    counted = np.zeros(len(view.ids), np.float32)
    values = evidence.cosines
    if evidence.typical is not None:
        values = values - np.float32(_TYPICAL_LOSS) * evidence.typical
    positions, has_vector = _match_ids(view, evidence.memory_ids), evidence.cosines != 0
    if positions is None:
        positions = view.position_of_id
    else:
        has_vector &= positions >= 0
    if not has_vector.all():
        positions, values = positions[has_vector], values[has_vector]
    if not len(positions):
        return cosines, counted
    cosines[positions] = evidence.cosines[has_vector]
    counted[positions] = values - (values.mean() if evidence.is_complete else values.min())
    return cosines, counted


def _match_ids(view: ConversationView, memory_ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return where each id stands in the view, -1 if it doesn't; None when they are the view's own ids."""
    if np.array_equal(view.sorted_ids, memory_ids):
        return None
    if not len(view.sorted_ids):
        return np.full(len(memory_ids), -1)
    places = np.minimum(np.searchsorted(view.sorted_ids, memory_ids), len(view.sorted_ids) - 1)
    return np.where(view.sorted_ids[places] == memory_ids, view.position_of_id[places], -1)


def _reach_neighbours(values: Floats, view: ConversationView, usable: Bools | None) -> Floats:
    if usable is not None:
        values = np.where(usable, values, np.float32(0))
    if not view.has_links or not view.mean_talk:
        return values
    spread = values.copy()
    for step, links in enumerate(view.meaning_links, 1):
        spread[step:] += links[step:] * values[:-step]
        spread[:-step] += links[step:] * values[step:]
    return spread


def _scale(values: Floats, usable: Bools | None) -> Floats:
    """Bring the usable memories' values to 0 .. 1."""
    counted = values if usable is None else values[usable]
    if not len(counted):
        return values
    low, high = counted.min(), counted.max()
    if high - low < _TINY:
        return np.zeros_like(values)
    scaled: Floats = np.clip((values - low) / (high - low), 0, 1)
    return scaled


def _spread_best_of_session(values: Floats, view: ConversationView, usable: Bools | None) -> Floats:
    counted = values if usable is None else np.where(usable, values, np.float32(0))
    best = np.maximum.reduceat(counted, view.group_starts)
    sizes = np.diff(np.r_[view.group_starts, len(values)])
    return np.repeat(best, sizes)
