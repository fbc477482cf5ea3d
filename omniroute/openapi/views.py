"""The document as JSON, and a page that shows it. Nothing on the page comes from elsewhere, no script is inline."""

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.module_loading import import_string
from django.views.decorators.csrf import ensure_csrf_cookie
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.keys import identify_caller, require_manager
from core.error_handler import error_response, refuse_method
from core.errors import AppError
from core.rest_view import RestView


class SchemaView(RestView):
    """/api/schema"""

    def get(self, request: Request) -> Response:
        # What builds it takes a third of a second to import, which the server's start need not wait for.
        return Response(import_string("omniroute.openapi.document.build_document")())


@ensure_csrf_cookie
def show_docs(request: HttpRequest) -> HttpResponseBase:
    """/api/docs: for people, whose session also lets the page's own requests in. A browser is sent to sign in."""
    if request.method not in ("GET", "HEAD"):
        return refuse_method("GET")
    if not (request.user.is_active and getattr(request.user, "is_staff", False)):
        try:
            require_manager(identify_caller(request.headers.get("authorization")))
        except AppError as error:
            if error.status == 401 and "text/html" in request.headers.get("accept", ""):
                return redirect_to_login(request.get_full_path())
            return error_response(error)
    response = render(request, "openapi/docs.html")
    response.headers["Cache-Control"] = "no-store"
    return response
