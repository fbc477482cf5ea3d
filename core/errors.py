"""What can go wrong, in the words a caller is told. Doors turn these into responses; see `core.error_handler`.

A message never holds a secret, a file path, a traceback or a provider's raw body.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.words import gettext as _


@dataclass(frozen=True)
class FieldError:
    """One thing wrong with one input; `field` is a dotted path such as `messages.0.role`."""

    field: str
    message: str


class AppError(Exception):
    """Base of every expected failure. `status` is the HTTP status that tells it, `code` a stable word for programs."""

    status = 500
    type = "server_error"
    code = "internal_error"

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.param = param


class InvalidRequestError(AppError):
    status = 400
    type = "invalid_request"
    code = "bad_request"


class InvalidFieldsError(InvalidRequestError):
    """A body or query that breaks its schema; told in both shapes that clients know (contract B14)."""

    code = "validation_failed"

    def __init__(self, details: Sequence[FieldError], message: str = _("Invalid request")) -> None:
        super().__init__(message, param=details[0].field if details else None)
        self.details = tuple(details)


class UnauthenticatedError(InvalidRequestError):
    status = 401
    code = "authentication_required"


class ForbiddenError(InvalidRequestError):
    status = 403
    code = "forbidden"


class NotFoundError(InvalidRequestError):
    status = 404
    code = "not_found"


class ConflictError(InvalidRequestError):
    status = 409
    code = "conflict"


class TooLargeError(InvalidRequestError):
    status = 413
    code = "request_too_large"


class RateLimitedError(AppError):
    """The key has sent more requests than it may; `retry_seconds` from now it may send one again."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limited"

    def __init__(self, retry_seconds: int) -> None:
        super().__init__(_("Too many requests with this key, try again in %(seconds)d s") % {"seconds": retry_seconds})
        self.retry_seconds = retry_seconds


class UpstreamError(AppError):
    """A provider could not be reached or gave no usable answer."""

    status = 502
    type = "upstream_error"
    code = "upstream_unreachable"


class UpstreamTimeoutError(UpstreamError):
    status = 504
    code = "upstream_timeout"


class OutboundRefusedError(UpstreamError):
    """The outbound policy refuses the URL or the address it resolves to."""

    code = "outbound_refused"
