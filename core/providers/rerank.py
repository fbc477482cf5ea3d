"""Asking a provider's rerank API: how relevant is each of some documents to a query. In process, once, 5 seconds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from core.errors import InvalidRequestError, OutboundRefusedError, UpstreamError, UpstreamTimeoutError
from core.outbound import Answer, Deadline, post
from core.providers.registry import ECHO, find_provider
from core.providers.rerank_wire import (
    RerankForm,
    UnusableAnswerError,
    build_body,
    build_url,
    choose_form,
    read_relevances,
)
from core.providers.routing import Route, resolve_route
from core.words import Words, read_words
from core.words import gettext as _

MAX_DOCUMENTS: Final = 50
TIME_LIMIT_SECONDS: Final = 5.0
# About what the smallest of the known windows takes; the providers would cut the rest off themselves.
MAX_DOCUMENT_CHARS: Final = 12_000
MAX_QUERY_CHARS: Final = 4_000
HOW_TO_WRITE: Final = _("the rerank model must be written as provider/model, such as cohere/rerank-v3.5")


class RerankError(UpstreamError):
    """The documents could not be ranked; `code` is upstream_timeout when the time was over.

    The message is for operators: no URL, no key, no provider's words.
    """

    code = "rerank_failed"


@dataclass(frozen=True)
class RerankEndpoint:
    """Where and how one rerank model is asked; `api_key` "" sends none."""

    provider: str
    model: str
    url: str
    api_key: str = field(repr=False)
    form: RerankForm

    @property
    def peer(self) -> str:
        return _("The provider %(name)s") % {"name": self.provider}


def resolve_reranker(provider_model: str) -> RerankEndpoint:
    """Return the endpoint of `provider/model`, split at the first slash. No network.

    Raises `InvalidRequestError` or `NotFoundError` when there is no such provider, it has no key or no rerankers.
    """
    provider, slash, model = provider_model.strip().partition("/")
    if not (provider.strip() and slash and model.strip()):
        raise InvalidRequestError(HOW_TO_WRITE, code="model_not_found", param="model")
    route = resolve_route(provider_model.strip())
    known = find_provider(route.provider)
    name = known.id if known else route.provider
    _check_sells_rerankers(route)
    return RerankEndpoint(
        provider=name,
        model=route.model,
        url=build_url(route.base_url, name, route.model),
        api_key=route.api_key,
        form=choose_form(name),
    )


def rerank(
    endpoint: RerankEndpoint, query: str, documents: Sequence[str], *, timeout_seconds: float = TIME_LIMIT_SECONDS
) -> dict[int, float]:
    """Return relevances by index into `documents` (at most 50), of all or of those that the provider ranked.

    One request, never repeated, within the time limit as a whole. Raises `RerankError`.
    """
    if not 0 < len(documents) <= MAX_DOCUMENTS:
        raise ValueError(f"1 to {MAX_DOCUMENTS} documents are ranked at a time")
    cut = [document[:MAX_DOCUMENT_CHARS] for document in documents]
    answer = _ask(endpoint, build_body(endpoint.form, endpoint.model, query[:MAX_QUERY_CHARS], cut), timeout_seconds)
    if not 200 <= answer.status < 300:
        told = _tell_status(answer.status, has_key=bool(endpoint.api_key))
        raise RerankError(told % {"peer": endpoint.peer, "status": answer.status})
    try:
        return read_relevances(answer.body, len(documents))
    except UnusableAnswerError as error:
        raise RerankError(_("%(peer)s %(fault)s") % {"peer": endpoint.peer, "fault": read_words(error)}) from None


def _check_sells_rerankers(route: Route) -> None:
    """Refuse what can't work, before a chat waits for it; a server of one's own may rerank under any name."""
    known = find_provider(route.provider)
    if route.provider == ECHO:
        raise InvalidRequestError(_("the built-in echo provider has no rerank models"), param="model")
    if known and known.needs_key and not known.reranks and route.base_url == known.base_url:
        raise InvalidRequestError(_("the provider %(name)s has no rerank models") % {"name": known.id}, param="model")


def _ask(endpoint: RerankEndpoint, body: bytes, timeout_seconds: float) -> Answer:
    headers = {"content-type": "application/json", "accept": "application/json"}
    if endpoint.api_key:
        headers["authorization"] = f"Bearer {endpoint.api_key}"
    try:
        return post(endpoint.url, headers, body, deadline=Deadline(timeout_seconds), peer=endpoint.peer)
    except OutboundRefusedError:
        raise RerankError(
            _("The address of the provider %(provider)s is invalid or blocked") % {"provider": endpoint.provider}
        ) from None
    except UpstreamTimeoutError as error:
        raise RerankError(error.message, code=UpstreamTimeoutError.code) from None
    except UpstreamError as error:
        raise RerankError(error.message) from None


def _tell_status(status: int, *, has_key: bool) -> Words:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _("%(peer)s refuses the key") if has_key else _("%(peer)s wants a key, and none is sent")
    if status == HTTPStatus.NOT_FOUND:
        return _("%(peer)s knows no such rerank model, or has no rerank API at its address")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _("%(peer)s has had too many requests")
    if 300 <= status < 400:
        return _("%(peer)s answered with a redirect, which is not followed")
    return _("%(peer)s answered with status %(status)d")
