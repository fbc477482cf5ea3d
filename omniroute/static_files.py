"""The project's static files and those of every installed app, served by the process itself."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from django.apps import apps
from django.conf import settings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from core.error_handler import RefusedRequestError, build_error_body
from core.errors import AppError, NotFoundError
from core.words import gettext as _
from studio.assets import VERSION_PARAMETER, hash_file

# An address without the hash of its content may mean another file tomorrow: an old copy may be used for minutes only;
# after that an ETag makes asking cheap.
SHORT_CACHING: Final = "public, max-age=300"
LONG_CACHING: Final = "public, max-age=31536000, immutable"


class CachedStaticFiles(StaticFiles):
    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = LONG_CACHING if _names_content(scope, full_path) else SHORT_CACHING
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def _names_content(scope: Scope, full_path: str | os.PathLike[str]) -> bool:
    """Whether the address carries the hash of this very content, as `studio.assets` writes it."""
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get(VERSION_PARAMETER)
    return given is not None and given[-1] == hash_file(Path(full_path))


def build_static_application() -> Starlette:
    """Return the application that serves everything under STATIC_URL; Django's apps must be loaded."""
    directory: Path = settings.BASE_DIR / "static"
    packages: list[str | tuple[str, str]] = [
        (app.name, "static") for app in apps.get_app_configs() if (Path(app.path) / "static").is_dir()
    ]
    files = CachedStaticFiles(directory=directory if directory.is_dir() else None, packages=packages)
    return Starlette(
        routes=[Mount(settings.STATIC_URL.rstrip("/"), app=files)],
        exception_handlers={HTTPException: _show_refusal},
    )


async def _show_refusal(request: Request, exception: Exception) -> Response:
    error: AppError = NotFoundError(_("Not found"))
    headers = None
    if isinstance(exception, HTTPException) and exception.status_code != NotFoundError.status:
        error = RefusedRequestError(_("Method not allowed"), status=exception.status_code, code="method_not_allowed")
        headers = exception.headers
    return JSONResponse(build_error_body(error), status_code=error.status, headers=headers)
