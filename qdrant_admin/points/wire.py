"""One request at a time: the library's client on our transport, a limit on the whole time, faults in our words.

The library takes half a second and 60 MB to load, so it is loaded with the first request, never with the server.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from core.errors import AppError, OutboundRefusedError, UpstreamTimeoutError
from core.outbound import JudgingTransport, telling_upstream_errors
from core.words import gettext as _
from qdrant_admin.points.values import QdrantError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

Result = TypeVar("Result")

# What a thread waits for at most; callers that wait shorter leave it behind.
LONGEST_SECONDS: Final = 10
REQUESTS_AT_ONCE: Final = 16
KEPT_CLIENTS: Final = 4
NOT_QDRANT: Final = _("what answers there is not Qdrant")


def request(base_url: str, api_key: str, seconds: float, call: Callable[["QdrantClient"], Result]) -> Result:
    """Return what `call` gets from the server within `seconds`, name look-up and slow dripping included.

    Raises `QdrantError`. A thread of its own does it, since neither of the two can be hurried from outside.
    """
    client = open_client(base_url, api_key)
    future = _get_pool().submit(_translate, client, call)
    try:
        return future.result(seconds)
    except TimeoutError:
        future.cancel()
        raise QdrantError("timeout", _("Qdrant did not answer within %(seconds)g s") % {"seconds": seconds}) from None


def load_models() -> Any:
    """The library's request models; a module without types for our purposes, since filters are built by name."""
    from qdrant_client import models

    return models


@lru_cache(maxsize=KEPT_CLIENTS)
def open_client(base_url: str, api_key: str) -> "QdrantClient":
    """Return the client of one configuration, with its connections. Nothing is asked yet."""
    from qdrant_client import QdrantClient

    return QdrantClient(
        url=base_url,
        # As a header: the parameter would warn of plain HTTP, where self-hosted servers are.
        headers={"api-key": api_key} if api_key else {},
        timeout=LONGEST_SECONDS,
        # It would ask the server by itself, past our transport.
        check_compatibility=False,
        transport=JudgingTransport(),
        trust_env=False,
        follow_redirects=False,
    )


def read_status(status: int) -> QdrantError:
    """What an HTTP status other than success means."""
    if status in (401, 403):
        return QdrantError("auth", _("Qdrant refuses the API key (HTTP %(status)d)") % {"status": status})
    if status == 404:
        return QdrantError("missing", _("Qdrant does not know the collection (HTTP 404)"))
    if 300 <= status < 400:
        return QdrantError(
            "failed",
            _("Qdrant's address leads elsewhere (HTTP %(status)d), and redirects are not followed")
            % {"status": status},
        )
    if 400 <= status < 500:
        return QdrantError("refused", _("Qdrant refuses the request (HTTP %(status)d)") % {"status": status})
    return QdrantError("failed", _("Qdrant answered HTTP %(status)d") % {"status": status})


def _translate(client: "QdrantClient", call: Callable[["QdrantClient"], Result]) -> Result:
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    try:
        return call(client)
    except UnexpectedResponse as error:
        raise read_status(error.status_code or 0) from None
    except ResponseHandlingException as error:
        raise _read_failure(error.source) from None
    except QdrantException:
        raise QdrantError("failed", _("Qdrant asks for fewer requests (HTTP 429)")) from None
    except (ApiException, AssertionError, ValueError):
        # The library asserts that there is a result, and reads what it got as the model that it expects.
        raise QdrantError("failed", NOT_QDRANT) from None


def _read_failure(source: Exception) -> QdrantError:
    try:
        with telling_upstream_errors("Qdrant"):
            raise source
    except UpstreamTimeoutError as error:
        return QdrantError("timeout", error.message)
    except OutboundRefusedError as error:
        return QdrantError("unreachable", _("Qdrant can't be reached: %(reason)s") % {"reason": error.message})
    except AppError as error:
        return QdrantError("unreachable", error.message)
    except ValueError:
        return QdrantError("failed", NOT_QDRANT)


@cache
def _get_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(REQUESTS_AT_ONCE, thread_name_prefix="qdrant")
