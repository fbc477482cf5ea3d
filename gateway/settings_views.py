"""/api/settings/requests: what the log of requests keeps."""

from typing import Final

import structlog
from rest_framework.request import Request
from rest_framework.response import Response

from core.fields import validate_body
from core.json_body import read_json_object
from core.rest_view import RestView
from core.section_serializer import build_section_serializer
from gateway.request_settings import REQUEST_SECTION

log = structlog.get_logger(__name__)

RequestSettingsBody: Final = build_section_serializer(REQUEST_SECTION, {})


class RequestSettingsView(RestView):
    """/api/settings/requests"""

    def get(self, request: Request) -> Response:
        return Response(REQUEST_SECTION.read())

    def put(self, request: Request) -> Response:
        changes = validate_body(RequestSettingsBody, read_json_object(request))
        if changes:
            REQUEST_SECTION.write(changes)
            log.info("gateway.request_settings.changed", fields=sorted(changes))
        return Response(REQUEST_SECTION.read())
