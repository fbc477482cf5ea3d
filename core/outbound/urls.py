"""What a URL may look like before anybody resolves its host."""

import re
from typing import Final

import httpx
from django.conf import settings

from core.errors import OutboundRefusedError
from core.outbound.addresses import Reach, judge_host
from core.words import gettext as _

BAD_URL: Final = _("The URL must be plain http or https, without credentials, query or fragment")
BAD_REQUEST_URL: Final = _("The URL must be http or https, without credentials")
BLOCKED: Final = _("The address is blocked by the outbound policy")
MAX_URL_LENGTH: Final = 2000

_PLAIN_URL: Final = re.compile(r"https?://(?:\[[^\]/]+\]|[^/?#@\\:\[\]]+)(?::[0-9]{1,5})?(?:/[^?#\\]*)?", re.IGNORECASE)
_NEVER_IN_A_URL: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]")
_HOST: Final = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+", re.IGNORECASE)


def check_url(url: str) -> None:
    """Judge the base URL that an operator sets, without any network; a host name is judged again when it is used.

    Raises `OutboundRefusedError` with a constant message unless the URL is http(s) with a host, a port of 1..65535
    and nothing but a path behind them, and the host isn't one that the outbound policy refuses by its text alone.
    """
    if len(url) > MAX_URL_LENGTH or _NEVER_IN_A_URL.search(url) or not _PLAIN_URL.fullmatch(url):
        raise OutboundRefusedError(BAD_URL)
    try:
        parsed = httpx.URL(url)
        has_host = bool(parsed.host)  # decodes the name, which may fail
    except (httpx.InvalidURL, UnicodeError):
        raise OutboundRefusedError(BAD_URL) from None
    if not has_host or not (parsed.port is None or 0 < parsed.port <= 65535):
        raise OutboundRefusedError(BAD_URL)
    check_request_url(parsed)


def check_request_url(url: httpx.URL) -> None:
    """Judge the URL of one request; unlike a base URL it may hold a query. Raises `OutboundRefusedError`."""
    if url.scheme not in ("http", "https") or url.userinfo:
        raise OutboundRefusedError(BAD_REQUEST_URL)
    check_host(url.raw_host.decode("ascii"))


def check_host(host: str) -> None:
    """Raise `OutboundRefusedError` for a host whose text alone is enough to refuse it."""
    reach = judge_host(host)
    if reach is None and not _HOST.fullmatch(host):
        raise OutboundRefusedError(BAD_REQUEST_URL)
    if reach is not None and reach > permitted_reach():
        raise OutboundRefusedError(BLOCKED)


def permitted_reach() -> Reach:
    """Return the farthest reach that the process's settings permit."""
    return Reach.PRIVATE if settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES else Reach.PUBLIC
