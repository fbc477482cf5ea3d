"""Requests to a backend's service: joined URLs, one deadline, bounded answers, and every failure a `BackendError`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from core.errors import UpstreamError
from core.outbound import Answer, Deadline, send
from core.words import gettext as _
from memory.backends.base import BackendError

# Thousands of memories in one answer; more than that is a fault.
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
JSON_TYPE: Final = "application/json"
# A later try of the very same request may go better.
PASSING_STATUSES: Final = frozenset({408, 409, 423, 425, 429})


@dataclass(frozen=True)
class Reply:
    """An answer that is a success, or has one of the statuses that the caller said it knows how to take."""

    status: int
    body: bytes
    retry_after: str
    peer: str

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def read_text(self) -> str:
        try:
            return self.body.decode("utf-8")
        except UnicodeDecodeError:
            raise BackendError(
                _("%(peer)s answered what is no text") % {"peer": self.peer}, code="backend_bad_answer"
            ) from None

    def read_json(self) -> Any:
        """Return the value of the body, None when there is none."""
        if not self.body.strip():
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise BackendError(
                _("%(peer)s answered what is no JSON") % {"peer": self.peer}, code="backend_bad_answer"
            ) from None


@dataclass(frozen=True)
class Connection:
    """Where a service is and what every request to it carries. `peer` is how messages call it."""

    peer: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def request(
        self,
        method: str,
        path: str,
        *,
        deadline: Deadline,
        query: Sequence[tuple[str, str]] = (),
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        taken: Sequence[int] = (),
    ) -> Reply:
        """Return the reply; `taken` are statuses beside successes that are no failure to the caller.

        `path` is encoded already and joined to the base URL's own path. Raises `BackendError`.
        """
        url = f"{self.base_url.rstrip('/')}/{path.lstrip('/')}" + (f"?{urlencode(query)}" if query else "")
        try:
            answer = send(
                method,
                url,
                {**self.headers, **(headers or {})},
                content,
                deadline=deadline,
                peer=self.peer,
                max_bytes=MAX_ANSWER_BYTES,
            )
        except UpstreamError as error:
            raise BackendError(error.message, code=error.code) from None
        if not 200 <= answer.status < 300 and answer.status not in taken:
            raise describe_refusal(answer, self.peer)
        return Reply(answer.status, answer.body, answer.retry_after, self.peer)

    def request_json(
        self,
        method: str,
        path: str,
        *,
        deadline: Deadline,
        query: Sequence[tuple[str, str]] = (),
        body: object = None,
        taken: Sequence[int] = (),
        content_type: str = JSON_TYPE,
    ) -> Reply:
        """The same with a JSON body, unless it is None."""
        content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self.request(
            method,
            path,
            deadline=deadline,
            query=query,
            content=content,
            headers={"content-type": content_type, "accept": JSON_TYPE},
            taken=taken,
        )


def encode_segment(text: str) -> str:
    """One segment of a path, in which nothing can be read as a way to another folder."""
    encoded = quote(text, safe="")
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded


def describe_refusal(answer: Answer, peer: str) -> BackendError:
    """The error of an answer that is no success. The service's own words may hold anything and stay out of it."""
    status = answer.status
    values = {"peer": peer, "status": status}
    if status in (401, 403):
        return BackendError(_("%(peer)s refuses the key (HTTP %(status)d)") % values, code="backend_refused_key")
    if 300 <= status < 400:
        return BackendError(
            _("%(peer)s answered with a redirect, which is not followed (HTTP %(status)d): set its final address")
            % values,
            code="backend_redirected",
        )
    if status == 429:
        return BackendError(
            _("%(peer)s has had too many requests (HTTP %(status)d)") % values, code="backend_rate_limited"
        )
    is_lasting = 400 <= status < 500 and status not in PASSING_STATUSES
    told = _("%(peer)s answered HTTP %(status)d") % values
    return BackendError(told, code="backend_bad_status", is_lasting=is_lasting)
