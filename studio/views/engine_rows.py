"""The five rows of the Engine page: how each part of recall stands, why, and what to do about it."""

from dataclasses import dataclass, field
from typing import Final, Literal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.words import translate
from memory.engine_status import EngineStatus
from memory.qdrant_control import QdrantStatus
from studio.wire_words import name_word
from studio.wording import write_number, write_percent

RowVerdict = Literal["ok", "warn", "bad", "off"]
FAULTS: Final = ("warn", "bad")


@dataclass(frozen=True, slots=True)
class StatusRow:
    """`figures` are told beside the reason, `remedy` only where something is wrong; `anchor` is where its form is."""

    id: str
    title: str
    verdict: RowVerdict
    reason: str
    figures: str = ""
    remedy: str = ""
    anchor: str = ""

    @property
    def state(self) -> str:
        states = {"ok": _("working"), "warn": _("degraded"), "bad": _("not working"), "off": _("off")}
        return states[self.verdict]


@dataclass(frozen=True, slots=True)
class Overall:
    """All rows in one word: `verdict` ok, warn or bad."""

    verdict: RowVerdict
    text: str
    faults: list[StatusRow] = field(default_factory=list)


def build_rows(status: EngineStatus) -> list[StatusRow]:
    """Return the rows from the last resort up."""
    return [
        _build_keyword(status),
        _build_embedding(status),
        _build_vector(status),
        _build_qdrant(status.qdrant),
        _build_rerank(status),
    ]


def judge_rows(rows: list[StatusRow]) -> Overall:
    """A part that is switched off works as it is meant to. Without keywords and vectors nothing is recalled."""
    faults = [row for row in rows if row.verdict in FAULTS]
    if not faults:
        return Overall("ok", _("all working"))
    verdicts = {row.id: row.verdict for row in rows}
    is_down = verdicts["keyword"] == "bad" and verdicts["vector"] in ("bad", "off")
    text = _("down: {working} of {all} working") if is_down else _("degraded: {working} of {all} working")
    told = text.format(working=len(rows) - len(faults), all=len(rows))
    return Overall("bad" if is_down else "warn", told, faults)


def make_sentence(text: str) -> str:
    """Return a reason that begins in small letters as a sentence; names such as sqlite-vec stay as they are."""
    text = translate(text).strip()
    if not text:
        return ""
    first = text[0].upper() if text.split()[0].isalpha() else text[0]
    return f"{first}{text[1:]}{'' if text[-1] in '.!?' else '.'}"


def _build_keyword(status: EngineStatus) -> StatusRow:
    keyword = status.keyword
    count = status.indexing.backlog.total
    total = ngettext("%(count)s memory", "%(count)s memories", count) % {"count": write_number(count)}
    reason = make_sentence(keyword.reason)
    if keyword.is_available:
        return StatusRow("keyword", _("Keyword"), "ok", reason, f"{keyword.backend}, {total}")
    remedy = _("Run manage.py check: it says how to mend the full-text index. Searches go by meaning meanwhile.")
    return StatusRow("keyword", _("Keyword"), "bad", reason, total, remedy)


def _build_embedding(status: EngineStatus) -> StatusRow:
    embedding = status.embedding
    parts = [name_word(part) for part in (embedding.source, embedding.model) if part]
    if embedding.dimensions:
        numbers = ngettext("%(count)d number", "%(count)d numbers", embedding.dimensions)
        parts.append(numbers % {"count": embedding.dimensions})
    share = write_percent(embedding.cache.hits, embedding.cache.hits + embedding.cache.misses)
    if share:
        parts.append(_("cache {share}").format(share=share))
    reason, figures = make_sentence(embedding.reason), ", ".join(parts)
    anchor = "engine-config-embedding"
    if embedding.is_available:
        return StatusRow("embedding", _("Embedding"), "ok", reason, figures, anchor=anchor)
    remedy = _("Choose a source below and test it. Searches go by words meanwhile; nothing that is stored is lost.")
    if embedding.source is None:
        remedy = _(
            "Choose the static model below and save: it works at once and without a network. Searches go by words "
            "meanwhile; nothing that is stored is lost."
        )
    verdict: RowVerdict = "warn" if embedding.source is None else "bad"
    return StatusRow("embedding", _("Embedding"), verdict, reason, figures, remedy, anchor)


def _build_vector(status: EngineStatus) -> StatusRow:
    store, backlog = status.vector_store, status.indexing.backlog
    title, reason = _("Vector index"), make_sentence(store.reason)
    if not store.is_available:
        remedy = _("Install one of the SQLite builds that docs/install.md names, then start the server again.")
        return StatusRow("vector", title, "bad", reason, remedy=remedy)
    waiting = ngettext("%(count)s waiting", "%(count)s waiting", backlog.pending)
    figures = waiting % {"count": write_number(backlog.pending)} if backlog.pending else ""
    if store.active is None and not status.embedding.is_available:
        return StatusRow("vector", title, "off", reason, figures, anchor="reindex")
    if backlog.given_up:
        remedy = _("Reindex tries them again. If they fail again, the log says why.")
        return StatusRow("vector", title, "warn", reason, figures, remedy, "reindex")
    return StatusRow("vector", title, "ok", reason, figures, anchor="reindex")


def _build_qdrant(qdrant: QdrantStatus) -> StatusRow:
    title, anchor = "Qdrant", "engine-config-qdrant"
    if not qdrant.is_enabled:
        return StatusRow("qdrant", title, "off", _("Off. Vectors are searched in this database."), "", "", anchor)
    share = ngettext("%(points)s of %(total)s memory", "%(points)s of %(total)s memories", qdrant.total)
    figures = [share % {"points": write_number(qdrant.points), "total": write_number(qdrant.total)}]
    if qdrant.pending:
        told = ngettext("%(count)s change waiting", "%(count)s changes waiting", qdrant.pending)
        figures.append(told % {"count": write_number(qdrant.pending)})
    if qdrant.latency_ms is not None:
        figures.append(_("{milliseconds} ms").format(milliseconds=qdrant.latency_ms))
    is_well = qdrant.is_healthy and not qdrant.error and not qdrant.is_paused
    verdict: RowVerdict = "ok" if is_well and not qdrant.remedy else "warn"
    reason, remedy = make_sentence(qdrant.reason), make_sentence(qdrant.remedy or "")
    return StatusRow("qdrant", title, verdict, reason, ", ".join(figures), remedy, anchor)


def _build_rerank(status: EngineStatus) -> StatusRow:
    rerank = status.rerank
    title, reason, anchor = _("Rerank"), make_sentence(rerank.reason), "engine-config-rerank"
    figures = "/".join(part for part in (rerank.provider, rerank.model) if part)
    if not rerank.is_enabled:
        return StatusRow("rerank", title, "off", _("Off. Results keep the order of the search."), figures, "", anchor)
    if not rerank.is_available:
        remedy = _("Choose another model below, or turn reranking off. Results keep the order of the search.")
        return StatusRow("rerank", title, "bad", reason, figures, remedy, anchor)
    return StatusRow("rerank", title, "ok", reason, figures, anchor=anchor)
