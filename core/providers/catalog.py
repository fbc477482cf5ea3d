"""Which models there are: every configured provider is asked, and what it said is kept for a while."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

import structlog
from asgiref.sync import sync_to_async

from core.errors import UpstreamError
from core.outbound import read_limited, telling_upstream_errors
from core.providers.pool import get_client, read_timeout
from core.providers.registry import ECHO
from core.providers.routing import Route, list_routes
from core.words import gettext as _

log = structlog.get_logger(__name__)

TIME_LIMIT_SECONDS: Final = 5.0
KEPT_SECONDS: Final = 300.0
KEPT_AFTER_FAILURE_SECONDS: Final = 30.0
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
MAX_MODELS: Final = 5000


class ModelInfo(TypedDict):
    """One model as `GET /v1/models` tells it; `id` is what a chat request writes as its model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


@dataclass(frozen=True)
class _Catalogue:
    models: tuple[ModelInfo, ...]
    keeps_until: float


# By route, so that a provider whose address or key has changed is asked again at once.
_CATALOGUES: dict[Route, _Catalogue] = {}


async def list_models() -> list[ModelInfo]:
    """Return the models of every configured provider, and echo's own; a provider that can't be asked is left out.

    All are asked at the same time and for 5 seconds at most; answers are kept for 5 minutes, failures for 30 s.
    """
    routes = [route for route in await sync_to_async(list_routes)() if route.provider != ECHO]
    for stale in set(_CATALOGUES) - set(routes):
        _CATALOGUES.pop(stale, None)
    catalogues = await asyncio.gather(*(_read_catalogue(route) for route in routes))
    listed = [model for catalogue in catalogues for model in catalogue.models]
    return [*listed, _build_model(ECHO, ECHO, 0)]


async def _read_catalogue(route: Route) -> _Catalogue:
    kept = _CATALOGUES.get(route)
    if kept is not None and time.monotonic() < kept.keeps_until:
        return kept
    try:
        models, seconds = await _fetch_models(route), KEPT_SECONDS
    except UpstreamError as error:
        log.warning("providers.models.skipped", provider=route.provider, code=error.code)
        models, seconds = (), KEPT_AFTER_FAILURE_SECONDS
    catalogue = _CATALOGUES[route] = _Catalogue(models, time.monotonic() + seconds)
    return catalogue


async def _fetch_models(route: Route) -> tuple[ModelInfo, ...]:
    peer = _("The provider %(name)s") % {"name": route.provider}
    headers = {"authorization": f"Bearer {route.api_key}"} if route.api_key else {}
    try:
        async with asyncio.timeout(TIME_LIMIT_SECONDS):
            with telling_upstream_errors(peer):
                client = get_client()
                request = client.build_request(
                    "GET", f"{route.base_url}/models", headers=headers, timeout=read_timeout()
                )
                response = await client.send(request, stream=True)
                try:
                    if response.status_code != 200:
                        raise UpstreamError(
                            _("%(peer)s lists no models") % {"peer": peer}, code=f"http_{response.status_code}"
                        )
                    body = await read_limited(response.aiter_bytes(), MAX_ANSWER_BYTES)
                finally:
                    await response.aclose()
    except TimeoutError:
        raise UpstreamError(
            _("%(peer)s did not list its models in time") % {"peer": peer}, code="upstream_timeout"
        ) from None
    return read_models(route.provider, body)


def read_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Return the models in an answer to `GET /models`: `{"data": [...]}` or, as some answer, the bare list.

    Entries without an id are left out. `UpstreamError` when it is neither.
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise UpstreamError(
            _("The provider %(provider)s listed no models") % {"provider": provider}, code="upstream_bad_answer"
        ) from None
    entries = told.get("data") if isinstance(told, dict) else told
    if not isinstance(entries, list):
        raise UpstreamError(
            _("The provider %(provider)s listed no models") % {"provider": provider}, code="upstream_bad_answer"
        )
    models = {
        entry["id"]: _build_model(provider, entry["id"], entry.get("created"))
        for entry in entries[:MAX_MODELS]
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    }
    return tuple(models.values())


def _build_model(provider: str, model: str, created: Any) -> ModelInfo:
    is_a_time = isinstance(created, int) and not isinstance(created, bool)
    return ModelInfo(id=f"{provider}/{model}", object="model", created=created if is_a_time else 0, owned_by=provider)
