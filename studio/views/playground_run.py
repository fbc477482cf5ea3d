"""One run of the playground, made ready for the page: ranked hits with their parts, the cut, how it was found."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.providers.registry import read_system_role
from core.providers.routing import list_routes, name_default_provider
from memory.injection import inject_memories
from memory.preview import Preview, preview_retrieval
from memory.records import ChosenMemory, SearchHit, SearchOutcome, SearchQuery
from memory.search.ranking import estimate_tokens
from studio.forms.playground import STRATEGIES, PlaygroundAsk, PlaygroundStrategy
from studio.wire_words import name_word
from studio.wording import write_number


@dataclass(frozen=True, slots=True)
class HitParts:
    """Widths of a score bar, 0 to 100, of which the best hit takes all. `is_split` is false for a reranked hit,
    whose score has no legs."""

    keyword: float
    vector: float
    is_split: bool = True

    @property
    def total(self) -> float:
        return self.keyword + self.vector


@dataclass(frozen=True, slots=True)
class HitRow:
    """A hit as the page shows it. `rank` is its place in the search's order, `position` that on the page; `move` is
    how many places it stands higher than in the other run, None when that does not have it or there is none."""

    hit: SearchHit
    rank: int
    position: int
    tokens: int
    score: str
    parts: HitParts
    legs: list[str]
    move: int | None = None
    is_new: bool = False

    @property
    def is_out_of_order(self) -> bool:
        return self.rank != self.position

    @property
    def places_up(self) -> int:
        return max(self.move or 0, 0)

    @property
    def places_down(self) -> int:
        return max(-(self.move or 0), 0)


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class InjectedText:
    """The block that a chat would carry; `tokens` counts it whole, label and line breaks too."""

    text: str
    tokens: int
    role: str
    provider: str


@dataclass(frozen=True, slots=True)
class Run:
    letter: str
    asked: PlaygroundStrategy
    strategy: str
    kept: list[HitRow]
    left: list[HitRow]
    cut: str
    cut_title: str
    facts: list[Fact]
    injected: InjectedText | None
    milliseconds: int
    preview: Preview

    @property
    def count(self) -> int:
        return len(self.kept) + len(self.left)


def run_playground(ask: PlaygroundAsk, *, retention_days: int, explained_id: str | None) -> list[Run]:
    """Run what is asked, in one strategy or two; `explained_id` is explained in the run that asked for it."""
    strategies = [ask.first] if ask.second is None else [ask.first, ask.second]
    runs = []
    for letter, strategy in zip("ab", strategies, strict=False):
        explained = explained_id if letter == ask.explained_in else None
        runs.append(_run(ask, letter.upper(), strategy, retention_days, explained))
    return runs if len(runs) == 1 else [_compare(runs[0], runs[1]), _compare(runs[1], runs[0])]


def _run(
    ask: PlaygroundAsk, letter: str, strategy: PlaygroundStrategy, retention_days: int, explained: str | None
) -> Run:
    # As `memory.retrieval` does it for chats.
    asked = (ask.text, strategy) if strategy != "recent" else ("", "exact")
    query = SearchQuery(ask.owner, *asked, retention_days, ask.session_id, ask.limit)
    started = time.perf_counter()
    preview = preview_retrieval(query, max_tokens=ask.budget_tokens, explained_id=explained)
    milliseconds = round((time.perf_counter() - started) * 1000)
    outcome = preview.retrieval.outcome
    shown = [*preview.retrieval.chosen, *preview.cut]
    rows = _build_rows(shown, preview.ranks, outcome)
    kept = rows[: len(preview.retrieval.chosen)]
    title, text = _tell_cut(preview, ask)
    return Run(
        letter=letter,
        asked=strategy,
        strategy=str(dict(STRATEGIES)[strategy]),
        kept=kept,
        left=rows[len(kept) :],
        cut=text,
        cut_title=title,
        facts=_list_facts(outcome, kept),
        injected=_build_injected(ask.text, preview.retrieval.chosen),
        milliseconds=milliseconds,
        preview=preview,
    )


def _compare(run: Run, other: Run) -> Run:
    places = {row.hit.record.memory_id: row.rank for row in [*other.kept, *other.left]}
    return replace(run, kept=_tell_moves(run.kept, places), left=_tell_moves(run.left, places))


def _tell_moves(rows: Sequence[HitRow], places: Mapping[int, int]) -> list[HitRow]:
    told = []
    for row in rows:
        place = places.get(row.hit.record.memory_id)
        told.append(replace(row, is_new=place is None, move=None if place is None else place - row.rank))
    return told


def _build_rows(shown: Sequence[ChosenMemory], ranks: Mapping[int, int], outcome: SearchOutcome) -> list[HitRow]:
    hits = [item.hit for item in shown]
    best = max((hit.score for hit in hits), default=0.0)
    best_keyword = max((abs(hit.keyword_score or 0.0) for hit in hits), default=0.0)
    best_vector = max((hit.vector_score or 0.0 for hit in hits), default=0.0)
    return [
        HitRow(
            hit=item.hit,
            rank=ranks[item.hit.record.memory_id],
            position=position,
            tokens=item.tokens,
            score=_show_score(item.hit, is_reranked=outcome.rerank_applied),
            parts=split_score(item.hit, best, best_keyword, best_vector, is_reranked=outcome.rerank_applied),
            legs=_tell_legs(item.hit),
        )
        for position, item in enumerate(shown, start=1)
    ]


def split_score(hit: SearchHit, best: float, best_keyword: float, best_vector: float, *, is_reranked: bool) -> HitParts:
    """Return the widths of a hit's bar. `best` is the best score shown, the others the best of each leg.

    RRF's parts are exact. `adaptive` adds conversation, speaker and dates to its legs, so there the bar is divided by
    how strong each leg is against its own best.
    """
    total = 100 * min(max(hit.score / best, 0.0), 1.0) if best > 0 else 0.0
    if is_reranked:
        return HitParts(0.0, round(total, 1), is_split=False)
    if hit.tier in ("vector", "qdrant"):
        return HitParts(0.0, round(total, 1))
    if hit.tier == "fts5":
        return HitParts(round(total, 1), 0.0)
    if hit.tier == "hybrid-rrf":
        keyword, vector = (_weigh_rank(rank) for rank in (hit.keyword_rank, hit.vector_rank))
    else:
        keyword = abs(hit.keyword_score or 0.0) / best_keyword if best_keyword else 0.0
        vector = max(hit.vector_score or 0.0, 0.0) / best_vector if best_vector > 0 else 0.0
    share = keyword / (keyword + vector) if keyword + vector else 0.0
    return HitParts(round(total * share, 1), round(total * (1 - share), 1))


def _weigh_rank(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / (settings.MEMORY_RRF_K + rank)


def _show_score(hit: SearchHit, *, is_reranked: bool) -> str:
    if is_reranked or hit.tier not in ("fts5", "hybrid-rrf"):
        return f"{hit.score:.2f}"
    return f"{hit.score:.4f}" if hit.tier == "hybrid-rrf" else f"{hit.score:g}"


def _tell_legs(hit: SearchHit) -> list[str]:
    told = []
    if hit.keyword_score is not None or hit.keyword_rank is not None:
        told.append(_("keyword {score} ({place})").format(**_tell_leg(hit.keyword_score, hit.keyword_rank)))
    if hit.vector_score is not None or hit.vector_rank is not None:
        told.append(_("vector {score} ({place})").format(**_tell_leg(hit.vector_score, hit.vector_rank)))
    return told or [_("by its words") if hit.score else _("newest, nothing matched")]


def _tell_leg(score: float | None, rank: int | None) -> dict[str, str]:
    shown = "–" if score is None else write_score(score)
    return {"score": shown, "place": "–" if rank is None else f"#{rank}"}


def write_score(score: float) -> str:
    """Return a leg's score with two decimals; one that only rounds to nothing does not say so."""
    if 0 < abs(score) < 0.005:
        return "<0.01" if score > 0 else ">−0.01"
    return f"{score:.2f}".replace("-", "−")


def _tell_cut(preview: Preview, ask: PlaygroundAsk) -> tuple[str, str]:
    """Return what ended the list, as a title and a sentence."""
    retrieval = preview.retrieval
    budget, used = retrieval.budget_tokens, retrieval.total_tokens
    figures = {"used": write_number(used), "budget": write_number(budget), "limit": write_number(ask.limit)}
    if preview.cut:
        count = len(preview.cut)
        left_out = ngettext("%(count)s left out.", "%(count)s left out.", count) % {"count": write_number(count)}
        return _("Budget, {budget} tokens.").format(**figures), f"{_tell_overflow(preview, figures)} {left_out}"
    beyond = len(retrieval.outcome.hits) - ask.limit
    if beyond > 0:
        more = ngettext("%(count)s more matched.", "%(count)s more matched.", beyond) % {"count": write_number(beyond)}
        return _("Limit, {limit} memories.").format(**figures), more
    if beyond == 0 and retrieval.outcome.strategy == "adaptive":
        # It ranks everything and hands out no more than the limit.
        return _("Limit, {limit} memories.").format(**figures), _("What ranks below them was not looked at.")
    return _("Nothing was cut."), _("{used} of {budget} tokens used.").format(**figures)


def _tell_overflow(preview: Preview, figures: Mapping[str, str]) -> str:
    retrieval = preview.retrieval
    if retrieval.total_tokens > retrieval.budget_tokens:
        return _("{used} used: the best match is taken whatever it costs.").format(**figures)
    told = {**figures, "next": write_number(preview.cut[0].tokens)}
    if retrieval.outcome.strategy == "adaptive":
        return _("{used} used; what does not fit into the rest is passed over.").format(**told)
    return _("{used} used; the next one needs {next} and does not fit.").format(**told)


def _list_facts(outcome: SearchOutcome, kept: Sequence[HitRow]) -> list[Fact]:
    needs_vectors = outcome.strategy != "exact"
    source = ", ".join(name_word(part) for part in (outcome.embedding_source, outcome.embedding_model) if part)
    no_source = _("none") if needs_vectors else _("none needed")
    tiers = dict.fromkeys(row.hit.tier for row in kept)
    rerank = _("applied") if outcome.rerank_applied else outcome.rerank_reason or _("off")
    fallback = outcome.fallback_reason
    return [
        Fact(_("Source"), source or no_source),
        Fact(_("Store"), name_word(outcome.vector_store) if needs_vectors else _("none needed")),
        Fact(_("Tier"), ", ".join(map(name_word, tiers)) or "–"),
        Fact(_("Legs"), _tell_shares(kept)),
        Fact(_("Rerank"), rerank, is_warning=outcome.rerank_reason is not None),
        Fact(_("Fallback"), fallback or _("none, the path asked for was used"), is_warning=fallback is not None),
    ]


def _tell_shares(kept: Sequence[HitRow]) -> str:
    split = [row.parts for row in kept if row.parts.is_split]
    total = sum(parts.total for parts in split)
    if not total:
        return "–"
    keyword = round(100 * sum(parts.keyword for parts in split) / total)
    return _("keyword {keyword} %, vector {vector} %").format(keyword=keyword, vector=100 - keyword)


def _build_injected(text: str, chosen: Sequence[ChosenMemory]) -> InjectedText | None:
    """Put the block into a chat of one message, the way the default provider wants it."""
    provider = name_default_provider()
    roles = {route.provider: route.system_role for route in list_routes()}
    role = roles.get(provider) or read_system_role(provider, "")
    sample = {"messages": [{"role": "user", "content": text}]}
    injection = inject_memories(sample, [item.line for item in chosen], system_role=role)
    if not injection.changed:
        return None
    first = injection.body["messages"][0]
    return InjectedText(injection.text, estimate_tokens(injection.text), str(first["role"]), provider)
