"""manage.py memory_engine [--json]"""

import json
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from core.db.migrations import ensure_migrated
from memory.engine_status import EngineStatus, IndexingStatus, IndexStatus, read_engine_status
from memory.rendering import render_engine_status, render_moment

LABEL_CHARACTERS: Final = 12
Line = tuple[str, str]


class Command(BaseCommand):
    help = "Show how it stands with the search engine: what works, what does not, and what to do about it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print what GET /api/memory/engine-status answers")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        status = read_engine_status()
        if options["json"]:
            self.stdout.write(json.dumps(render_engine_status(status), ensure_ascii=False, indent=2))
            return
        for label, text in _describe(status):
            self.stdout.write(f"{label.ljust(LABEL_CHARACTERS)}{text}")


def _describe(status: EngineStatus) -> list[Line]:
    keyword, embedding, store, rerank = status.keyword, status.embedding, status.vector_store, status.rerank
    source = " ".join(filter(None, (embedding.source, embedding.model)))
    if embedding.dimensions:
        source += f", {embedding.dimensions} dimensions"
    lines = [
        ("Keywords", f"{_mark(keyword.is_available)} {keyword.backend}: {keyword.reason}"),
        ("Embedding", f"{_mark(embedding.is_available)} {source + ': ' if source else ''}{embedding.reason}"),
        ("Vectors", f"{_mark(store.is_available)} {store.backend}: {store.reason}"),
    ]
    lines += [("", _describe_index(name, index)) for name, index in _list_indexes(status) if index is not None]
    lines.append(("Indexing", _describe_indexing(status.indexing)))
    reranker = f"{rerank.provider}/{rerank.model}: " if rerank.provider else ""
    is_wanted = rerank.is_enabled
    lines.append(("Reranking", f"{_mark(rerank.is_available) if is_wanted else 'off '} {reranker}{rerank.reason}"))
    lines.append(("SQLite", status.sqlite_driver))
    return lines


def _list_indexes(status: EngineStatus) -> list[tuple[str, IndexStatus | None]]:
    return [("answers", status.vector_store.active), ("is built", status.vector_store.building)]


def _describe_index(what_it_does: str, index: IndexStatus) -> str:
    width = "width not known yet" if index.dimensions is None else f"{index.dimensions} dimensions"
    quantised = "" if index.quantization == "none" else f", {index.quantization}"
    return f"{index.signature} {what_it_does}: {index.rows} of {index.total} memories, {width}{quantised}"


def _describe_indexing(indexing: IndexingStatus) -> str:
    backlog = indexing.backlog
    if not backlog.pending:
        return f"nothing waits, {backlog.total} memories"
    parts = [f"{backlog.pending} of {backlog.total} memories wait"]
    if indexing.is_running:
        parts.append("being done now")
    elif indexing.next_run_at is not None:
        parts.append(f"next run at {render_moment(indexing.next_run_at)}")
    if backlog.given_up:
        parts.append(f"{backlog.given_up} given up until manage.py memory_reindex")
    if indexing.waits_for:
        parts.append(indexing.waits_for)
    return "; ".join(parts)


def _mark(is_available: bool) -> str:
    return "ok  " if is_available else "FAIL"
