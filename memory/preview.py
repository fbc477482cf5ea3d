"""What a chat would get, with the report: what the budget cut, and why a memory was or was not chosen.

The retrieval is the very call that a chat makes; everything here only reads.
"""

from dataclasses import dataclass
from typing import Literal

from django.conf import settings as process_settings
from django.utils import timezone

from core.words import Words, join_words, ngettext
from core.words import gettext as _
from memory.backends import manager, narrowing
from memory.backends.routes import LOCAL, read_routes
from memory.records import ChosenMemory, Retrieval, SearchHit, SearchQuery
from memory.retrieval import describe_memory, retrieve
from memory.search import engine
from memory.search.exclusion import Exclusion, find_exclusion
from memory.search.explanation import Places, find_places
from memory.search.ranking import estimate_tokens

Verdict = (
    Exclusion
    | Literal["chosen", "cut_by_budget", "cut_by_limit", "outranked", "not_matched", "below_minimum_relevance"]
)

EXCLUSIONS: dict[Exclusion, Words] = {
    "not_stored": _("No memory has this id."),
    "other_owner": _("It belongs to another API key."),
    "expired": _("It has expired."),
    "beyond_retention": _("It was not stored or refreshed within the last %(days)d days (retentionDays)."),
    "other_session": _("It belongs to another session than the one that was searched."),
    "other_type": _("It is of another type than the one that was searched."),
}
BEYOND_LIMIT = _("It is number %(rank)d of %(count)d, and the limit is %(limit)d.")


@dataclass(frozen=True, slots=True)
class Explanation:
    """`rank` is the place in the search's order among `candidates`, None for a memory that is not in it; `told`
    is the verdict in a sentence. The legs' ranks say where each leg saw it, also below what a search takes."""

    memory_id: str
    verdict: Verdict
    told: str
    candidates: int
    rank: int | None = None
    hit: SearchHit | None = None
    tokens: int | None = None
    vector_rank: int | None = None
    keyword_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """`ranks` are the places in the search's order by memory_id; `cut` is what the limit let pass and the budget
    did not, in that order."""

    retrieval: Retrieval
    ranks: dict[int, int]
    cut: list[ChosenMemory]
    explanation: Explanation | None


def preview_retrieval(query: SearchQuery, *, max_tokens: int, explained_id: str | None = None) -> Preview:
    """Retrieve as a chat would; `explained_id` asks about one memory by its UUID."""
    retrieval = retrieve(query, max_tokens=max_tokens)
    ranks = {hit.record.memory_id: rank for rank, hit in enumerate(retrieval.outcome.hits, start=1)}
    kept = {item.hit.record.memory_id for item in retrieval.chosen}
    within_limit = retrieval.outcome.hits[: query.limit]
    cut = [_weigh(hit) for hit in within_limit if hit.record.memory_id not in kept]
    explanation = None if explained_id is None else _explain(query, retrieval, explained_id)
    return Preview(retrieval, ranks, cut, explanation)


def _weigh(hit: SearchHit) -> ChosenMemory:
    return ChosenMemory(hit, estimate_tokens(hit.record.content), describe_memory(hit.record))


def _explain(query: SearchQuery, retrieval: Retrieval, memory_uuid: str) -> Explanation:
    hits = retrieval.outcome.hits
    for rank, hit in enumerate(hits, start=1):
        if hit.record.id == memory_uuid:
            return _explain_ranked(query, retrieval, hit, rank)
    if read_routes().primary != LOCAL:
        return _explain_elsewhere(query, memory_uuid, len(hits))
    exclusion = find_exclusion(query, memory_uuid, timezone.now())
    if exclusion is not None:
        told = EXCLUSIONS[exclusion] % {"days": query.retention_days}
        return Explanation(memory_uuid, exclusion, told, len(hits))
    if query.strategy == "adaptive" and query.text.strip():
        return _explain_adaptive(query, memory_uuid, len(hits))
    places = find_places(query, memory_uuid)
    if places is None:
        return Explanation(memory_uuid, "not_stored", _("It has gone in this moment."), len(hits))
    is_by_age = query.strategy == "exact" or not query.text.strip() or _are_stand_ins(retrieval)
    return _explain_absent(query, memory_uuid, places, len(hits), is_by_age=is_by_age)


def _explain_elsewhere(query: SearchQuery, memory_uuid: str, count: int) -> Explanation:
    """A memory that another backend keeps and did not bring; how that ranks is its own affair."""
    record = manager.find(memory_uuid)
    exclusion = "not_stored" if record is None else narrowing.find_exclusion(record, query, timezone.now())
    if exclusion is not None:
        told = EXCLUSIONS[exclusion] % {"days": query.retention_days}
        return Explanation(memory_uuid, exclusion, told, count)
    told = _("The backend that keeps it did not find it for this query.")
    return Explanation(memory_uuid, "not_matched", told, count)


def _are_stand_ins(retrieval: Retrieval) -> bool:
    """True when nothing matched in a degraded search, so that the newest were taken."""
    is_degraded = retrieval.outcome.fallback_reason is not None
    return is_degraded and all(hit.score == 0 for hit in retrieval.outcome.hits)


def _explain_ranked(query: SearchQuery, retrieval: Retrieval, hit: SearchHit, rank: int) -> Explanation:
    count, tokens = len(retrieval.outcome.hits), estimate_tokens(hit.record.content)
    if query.strategy == "adaptive":
        # It ranks everything and hands out no more than the limit.
        count = max(count, engine.explain(query, hit.record.id).candidates)
    verdict: Verdict
    if any(item.hit.record.memory_id == hit.record.memory_id for item in retrieval.chosen):
        verdict, told = "chosen", _("It was chosen as number %(rank)d of %(count)d.")
    elif rank > query.limit:
        verdict, told = "cut_by_limit", BEYOND_LIMIT
    else:
        verdict = "cut_by_budget"
        told = ngettext(
            "It is number %(rank)d of %(count)d; the %(tokens)d token it needs were not left of %(budget)d when its "
            "turn came.",
            "It is number %(rank)d of %(count)d; the %(tokens)d tokens it needs were not left of %(budget)d when its "
            "turn came.",
            tokens,
        )
        if query.strategy != "adaptive" and rank > len(retrieval.chosen) + 1:
            told = _("It is number %(rank)d of %(count)d, and the budget of %(budget)d tokens ended at number %(end)d.")
    told %= {
        "rank": rank,
        "count": count,
        "limit": query.limit,
        "tokens": tokens,
        "budget": retrieval.budget_tokens,
        "end": len(retrieval.chosen) + 1,
    }
    return Explanation(hit.record.id, verdict, told, count, rank, hit, tokens, hit.vector_rank, hit.keyword_rank)


def _explain_adaptive(query: SearchQuery, memory_uuid: str, count: int) -> Explanation:
    seen = engine.explain(query, memory_uuid)
    verdict: Verdict
    if seen.excluded_by == "below_minimum_relevance":
        minimum = process_settings.MEMORY_MIN_RELEVANCE
        verdict = "below_minimum_relevance"
        told = _("Its relevance of %(relevance)s is below the minimum of %(minimum)s (MEMORY_MIN_RELEVANCE).")
        told %= {"relevance": f"{seen.relevance or 0:.2f}", "minimum": minimum}
    elif seen.rank is None:
        verdict, told = "not_matched", _("Neither its words nor its meaning speak for it.")
    else:
        verdict = "cut_by_limit"
        told = BEYOND_LIMIT % {"rank": seen.rank, "count": seen.candidates, "limit": query.limit}
    return Explanation(
        memory_uuid,
        verdict,
        told,
        seen.candidates or count,
        seen.rank,
        vector_rank=seen.vector_rank,
        keyword_rank=seen.keyword_rank,
    )


def _explain_absent(
    query: SearchQuery, memory_uuid: str, places: Places, count: int, *, is_by_age: bool
) -> Explanation:
    verdict: Verdict = "outranked"
    if places.keyword_rank is not None or places.vector_rank is not None:
        told = _("Others were preferred: %(reasons)s.") % {"reasons": _tell_places(query, places)}
    elif places.age_rank > engine.CANDIDATES and is_by_age:
        told = _("Only the newest %(count)d are looked at, and it is number %(rank)d of %(total)d by age.")
        told %= {"count": engine.CANDIDATES, "rank": places.age_rank, "total": places.usable}
    elif query.strategy == "exact":
        verdict, told = "not_matched", _("No word of the query is in it.")
    elif places.waits_for_vector:
        verdict, told = "not_matched", _("No word of the query is in it, and it has no vector yet.")
    else:
        verdict, told = "not_matched", _("No word of the query is in it, nor did the vectors bring it.")
    return Explanation(
        memory_uuid,
        verdict,
        told,
        count,
        vector_rank=places.vector_rank,
        keyword_rank=places.keyword_rank,
    )


def _tell_places(query: SearchQuery, places: Places) -> str:
    depth = engine.CANDIDATES if query.strategy == "semantic" else process_settings.MEMORY_VEC_TOP_K
    told = []
    if places.vector_rank is not None:
        place = _("number %(rank)d by meaning, of which the first %(depth)d count")
        told.append(place % {"rank": places.vector_rank, "depth": depth})
    is_about_words = query.strategy != "semantic" or places.vector_rank is None
    if places.keyword_rank is not None and is_about_words:
        place = _("number %(rank)d by keywords, of which the first %(depth)d count")
        told.append(place % {"rank": places.keyword_rank, "depth": engine.CANDIDATES})
    if places.keyword_rank is None and is_about_words:
        told.append(_("no word of the query in it"))
    if places.vector_rank is None and places.waits_for_vector:
        told.append(_("no vector yet"))
    return join_words("; ", told)
