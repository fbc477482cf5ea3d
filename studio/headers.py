"""What every page of the studio is sent with."""

from typing import Final

from django.http import HttpResponseBase

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def secure(response: HttpResponseBase) -> HttpResponseBase:
    """Add the strict policy, and that nobody keeps a copy of what may be somebody's memories."""
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    # What studio.js puts into a page when the status is an error; a proxy's error page lacks it.
    response.headers["X-Studio"] = "1"
    response.headers.setdefault("Cache-Control", "no-store")
    return response
