"""Base of the management endpoints: JSON in, JSON out, management auth from the settings."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class JSONAlways(BaseContentNegotiation):
    """Whatever a client says it sends or accepts, it is JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class RestView(APIView):
    """A view whose subclasses have one method per verb; every other verb is a 405 that names those allowed."""

    content_negotiation_class = JSONAlways
    metadata_class = None
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        answer: Response = super().finalize_response(request, response, *args, **kwargs)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer
