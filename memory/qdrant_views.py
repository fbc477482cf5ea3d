"""Qdrant's REST doors (contract 4). Each reads its input, makes one call and tells the answer."""

from typing import Any

import structlog
from rest_framework.request import Request
from rest_framework.response import Response

from core.fields import validate_body
from core.json_body import read_json_object
from core.rest_view import RestView
from memory import qdrant_control
from qdrant_admin.serializers import (
    QdrantSettingsBody,
    SearchTestBody,
    render_cleanup,
    render_health,
    render_search_test,
    render_settings,
)

log = structlog.get_logger(__name__)


class QdrantSettingsView(RestView):
    """/api/settings/qdrant"""

    def get(self, request: Request) -> Response:
        return Response(render_settings(qdrant_control.read_public_settings()))

    def put(self, request: Request) -> Response:
        changes = validate_body(QdrantSettingsBody, read_json_object(request))
        if changes:
            qdrant_control.change_settings(changes)
            log.info("qdrant.settings.changed", fields=sorted(changes))
        return Response(render_settings(qdrant_control.read_public_settings()))


class QdrantHealthView(RestView):
    """/api/settings/qdrant/health: 200 whether it works or not; the body tells."""

    def get(self, request: Request) -> Response:
        return Response(render_health(qdrant_control.check_health()))


class QdrantSearchView(RestView):
    """/api/settings/qdrant/search: a look into the points of all owners."""

    def post(self, request: Request) -> Response:
        values = validate_body(SearchTestBody, read_json_object(request))
        return Response(render_search_test(qdrant_control.run_search_test(values["query"], values["topK"])))


class QdrantCleanupView(RestView):
    """/api/settings/qdrant/cleanup"""

    def post(self, request: Request) -> Response:
        return Response(render_cleanup(qdrant_control.clean_up()))


class QdrantModelsView(RestView):
    """/api/settings/qdrant/embedding-models"""

    def get(self, request: Request) -> Response:
        choices: list[dict[str, Any]] = [
            {"value": choice.value, "label": choice.label} for choice in qdrant_control.list_embedding_models()
        ]
        return Response({"models": choices})
