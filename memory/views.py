"""Memory's REST doors. Each reads its input, makes one call and tells the answer; rules live further down."""

import re
from typing import Final

import structlog
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import NotFoundError
from core.fields import validate_body, validate_query
from core.json_body import read_json_object
from core.rest_view import RestView
from core.words import gettext as _
from embeddings.resolver import list_embedding_providers, read_cache_statistics
from memory import services
from memory.backends.manager import find, get_primary
from memory.config import MEMORY_SECTION, load_settings
from memory.engine_status import read_engine_status
from memory.health import verify_pipeline
from memory.preview import preview_retrieval
from memory.rendering import (
    render_embedding_provider,
    render_engine_status,
    render_memory,
    render_page,
    render_preview,
    render_reindex_start,
    render_slice,
)
from memory.serializers import (
    MemoryChangesBody,
    MemoryDraftBody,
    MemoryListQuery,
    MemorySettingsBody,
    ReindexBody,
    RetrievePreviewBody,
    make_changes,
    make_draft,
    make_filter,
    make_search_query,
)

log = structlog.get_logger(__name__)

UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


class MemoriesView(RestView):
    """/api/memory"""

    def get(self, request: Request) -> Response:
        values = validate_query(MemoryListQuery, request.query_params)
        filter, limit, order = make_filter(values), values["limit"], values["order"]
        if "cursor" in values:
            found = get_primary().scan(filter, limit=limit, after=values["cursor"], order=order)
            return Response(render_slice(found, limit=limit))
        offset = values.get("offset", (values["page"] - 1) * limit)
        backend = get_primary()
        page = backend.list(filter, limit=limit, offset=offset, order=order)
        cache = read_cache_statistics()
        told = render_page(
            page,
            limit=limit,
            offset=offset,
            tokens_used=backend.count_tokens(filter.owner),
            cache_hits=cache.hits,
            cache_misses=cache.misses,
        )
        return Response(told)

    def post(self, request: Request) -> Response:
        values = validate_body(MemoryDraftBody, read_json_object(request))
        record = services.create(make_draft(values))
        return Response({"success": True, "id": record.id, "memory": render_memory(record)})


class MemoryView(RestView):
    """/api/memory/{id}"""

    def get(self, request: Request, memory_id: str) -> Response:
        record = find(read_id(memory_id))
        if record is None:
            raise NotFoundError(_("Memory not found"))
        return Response({"memory": render_memory(record)})

    def put(self, request: Request, memory_id: str) -> Response:
        known_id = read_id(memory_id)
        values = validate_body(MemoryChangesBody, read_json_object(request))
        services.update(known_id, make_changes(values))
        return Response({"success": True})

    def delete(self, request: Request, memory_id: str) -> Response:
        services.delete(read_id(memory_id))
        return Response({"success": True})


class RetrievePreviewView(RestView):
    """/api/memory/retrieve-preview: what a chat would get, without a chat."""

    def post(self, request: Request) -> Response:
        values = validate_body(RetrievePreviewBody, read_json_object(request))
        query = make_search_query(values, retention_days=load_settings().retention_days)
        explained_id = values.get("explainMemoryId")
        preview = preview_retrieval(
            query,
            max_tokens=values["maxTokens"],
            explained_id=None if explained_id is None else explained_id.lower(),
        )
        return Response(render_preview(preview, asked_tokens=values["maxTokens"]))


class EngineStatusView(RestView):
    """/api/memory/engine-status"""

    def get(self, request: Request) -> Response:
        return Response(render_engine_status(read_engine_status()))


class EmbeddingProvidersView(RestView):
    """/api/memory/embedding-providers"""

    def get(self, request: Request) -> Response:
        return Response({"providers": [render_embedding_provider(item) for item in list_embedding_providers()]})


class ReindexView(RestView):
    """/api/memory/reindex: answers at once, the work is done in the background."""

    def post(self, request: Request) -> Response:
        values = validate_body(ReindexBody, read_json_object(request))
        started = services.start_reindex(is_forced=values["force"])
        return Response(render_reindex_start(started))


class MemoryHealthView(RestView):
    """/api/memory/health: 200 whether it works or not; the body tells."""

    def get(self, request: Request) -> Response:
        verdict = verify_pipeline()
        answer = {"working": verdict.is_working, "latencyMs": verdict.latency_ms}
        return Response(answer if verdict.error is None else {**answer, "error": verdict.error})


class MemorySettingsView(RestView):
    """/api/settings/memory"""

    def get(self, request: Request) -> Response:
        return Response(MEMORY_SECTION.read())

    def put(self, request: Request) -> Response:
        changes = validate_body(MemorySettingsBody, read_json_object(request))
        if changes:
            services.change_settings(changes)
            log.info("memory.settings.changed", fields=sorted(changes))
        return Response(MEMORY_SECTION.read())


def read_id(text: str) -> str:
    """Return the id in the spelling it is stored in; what is no UUID is no memory either."""
    memory_id = text.lower()
    if not UUID.fullmatch(memory_id):
        raise NotFoundError(_("Memory not found"))
    return memory_id
