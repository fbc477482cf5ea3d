"""Why not this one: each test that a memory passes on its way into a prompt, in order, up to the one that decided."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.backends.manager import get_primary
from memory.preview import Explanation, Verdict
from memory.records import MemoryFilter, MemoryRecord, SearchHit
from studio.forms.playground import PlaygroundAsk
from studio.views.playground_run import Run, write_score
from studio.wording import tell_age, write_number

UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
MAX_LOOKED_THROUGH: Final = 200
MAX_OFFERED: Final = 10

StepState = Literal["passed", "stop", "after"]
# Which test each verdict comes from, by its place in the list.
DECIDERS: Final[dict[Verdict, str]] = {
    "not_stored": "stored",
    "other_owner": "owner",
    "expired": "alive",
    "beyond_retention": "alive",
    "other_session": "session",
    "not_matched": "ranking",
    "outranked": "ranking",
    "below_minimum_relevance": "floor",
    "cut_by_limit": "limit",
    "cut_by_budget": "budget",
}


@dataclass(frozen=True, slots=True)
class Named:
    """What a key or an id comes to: one memory, or several of that key among which to choose."""

    id: str | None
    choices: list[MemoryRecord]


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    title: str
    help: str
    value: str
    state: StepState = "passed"


@dataclass(frozen=True, slots=True)
class Why:
    """`is_chosen` is true when every test was passed."""

    record: MemoryRecord | None
    steps: list[Step]
    is_chosen: bool
    letter: str
    told: str


def find_named(reference: str, owner: str | None) -> Named:
    """Look a memory up by its id or its key; of several owners' memories with that key all are offered."""
    if UUID.fullmatch(reference.lower()):
        return Named(reference.lower(), [])
    backend = get_primary()
    if owner is not None:
        record = backend.find_by_key(owner, reference)
        if record is not None:
            return Named(record.id, [])
    page = backend.list(MemoryFilter(owner=None, text=reference), limit=MAX_LOOKED_THROUGH, offset=0)
    same = [record for record in page.records if record.key == reference][:MAX_OFFERED]
    return Named(same[0].id, []) if len(same) == 1 else Named(None, same)


def explain_run(run: Run, ask: PlaygroundAsk, *, retention_days: int, owner_name: str) -> Why | None:
    """Return the tests of the memory that `run` was asked about, None when it was asked about none."""
    explanation = run.preview.explanation
    if explanation is None:
        return None
    record = get_primary().get(explanation.memory_id)
    steps = _list_steps(explanation, record, run, ask, retention_days, owner_name)
    decider = DECIDERS.get(explanation.verdict)
    return Why(
        record=record,
        steps=_mark(steps, decider, explanation.told),
        is_chosen=explanation.verdict == "chosen",
        letter=run.letter,
        told=explanation.told,
    )


def _mark(steps: list[Step], decider: str | None, told: str) -> list[Step]:
    marked: list[Step] = []
    state: StepState = "passed"
    for step in steps:
        is_decider = step.name == decider
        if is_decider:
            marked.append(Step(step.name, step.title, told, step.value, "stop"))
            state = "after"
        else:
            value = step.value if state == "passed" else "–"
            help = step.help if state == "passed" else _("not reached")
            marked.append(Step(step.name, step.title, help, value, state))
    return marked


def _list_steps(
    explanation: Explanation,
    record: MemoryRecord | None,
    run: Run,
    ask: PlaygroundAsk,
    retention_days: int,
    owner_name: str,
) -> list[Step]:
    steps = [Step("stored", _("Stored"), _("the memory is there"), _("yes"))]
    owned = _("all API keys are searched") if ask.owner is None else _("{name} owns it").format(name=owner_name)
    steps.append(Step("owner", _("Same API key"), owned, _("yes")))
    steps.append(Step("alive", _("Alive"), _tell_life(record, retention_days), _("yes")))
    if ask.session_id is not None:
        steps.append(Step("session", _("Same session"), ask.session_id, _("yes")))
    if run.asked != "recent":
        steps += _list_legs(explanation, run)
    steps.append(Step("ranking", _("Ranking"), *_tell_ranking(explanation)))
    if run.preview.retrieval.outcome.strategy == "adaptive" and settings.MEMORY_MIN_RELEVANCE > 0:
        floor = f"≥ {settings.MEMORY_MIN_RELEVANCE:.2f}"
        steps.append(Step("floor", _("Score floor"), _("relevant enough (MEMORY_MIN_RELEVANCE)"), floor))
    within = _("among the first {limit}").format(limit=ask.limit)
    steps.append(Step("limit", _("Limit"), within, _compare_rank(explanation.rank, ask.limit)))
    steps.append(Step("budget", _("Token budget"), *_tell_budget(explanation, run)))
    return steps


def _compare_rank(rank: int | None, limit: int) -> str:
    return "–" if rank is None else f"{write_number(rank)} {'≤' if rank <= limit else '>'} {limit}"


def _tell_life(record: MemoryRecord | None, retention_days: int) -> str:
    if record is None:
        return ""
    now = timezone.now()
    expiry = _("no expiry")
    if record.expires_at is not None:
        expiry = _("expires {when}").format(when=tell_age(record.expires_at, now))
    told = _("{expiry}, last said {when}, retention is {days} d")
    return told.format(expiry=expiry, when=tell_age(record.updated_at, now), days=retention_days)


def _list_legs(explanation: Explanation, run: Run) -> list[Step]:
    """Neither leg decides alone: a memory that one of them has not found may come in by the other."""
    outcome = run.preview.retrieval.outcome
    hit = explanation.hit
    if outcome.strategy == "exact":
        score = "–" if hit is None else f"{hit.score:g}"
        return [Step("keyword", _("Keywords"), _("words of the query in the newest memories"), score)]
    keyword_help = _tell_keyword(hit) if explanation.keyword_rank is not None else _("not among those its words found")
    vector_help = _tell_vector(hit) if explanation.vector_rank is not None else _("not among those near in meaning")
    keyword = Step("keyword", _("Keyword leg"), keyword_help, _tell_rank(explanation.keyword_rank))
    vector = Step("vector", _("Vector leg"), vector_help, _tell_rank(explanation.vector_rank))
    is_by_meaning = outcome.strategy == "semantic" and outcome.fallback_reason is None
    return [vector] if is_by_meaning and explanation.keyword_rank is None else [keyword, vector]


def _tell_keyword(hit: SearchHit | None) -> str:
    if hit is None or hit.keyword_score is None:
        return _("shares words with the query")
    return _("score {score}").format(score=write_score(hit.keyword_score))


def _tell_vector(hit: SearchHit | None) -> str:
    if hit is None or hit.vector_score is None:
        return _("near in meaning")
    return _("similarity {score}").format(score=write_score(hit.vector_score))


def _tell_rank(rank: int | None) -> str:
    return _("rank –") if rank is None else _("rank {rank}").format(rank=write_number(rank))


def _tell_ranking(explanation: Explanation) -> tuple[str, str]:
    if explanation.rank is None:
        return _("did not come into the ranking"), "–"
    told = _("number {rank} of {count}")
    figures = {"rank": write_number(explanation.rank), "count": write_number(explanation.candidates)}
    score = "" if explanation.hit is None else f"{explanation.hit.score:.4g}"
    return told.format(**figures), score


def _tell_budget(explanation: Explanation, run: Run) -> tuple[str, str]:
    retrieval = run.preview.retrieval
    tokens = explanation.tokens or 0
    figures = {"used": write_number(retrieval.total_tokens), "budget": write_number(retrieval.budget_tokens)}
    return _("{used} of {budget} tokens used in all").format(**figures), str(tokens) if tokens else "–"
