"""What an embedding API's answers that are no vectors mean, in words for operators: never those of the API itself."""

from http import HTTPStatus

from core.words import gettext as _
from embeddings.base import Reason


def judge_status(status: int, peer: str, *, has_key: bool) -> tuple[Reason, str]:
    """Return what a status other than success means for the source as a whole; `peer` is how the API is called."""
    reason: Reason = "request_failed"
    told = _("%(peer)s answered with status %(status)d")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        reason = "no_key"
        told = _("%(peer)s refuses the key") if has_key else _("%(peer)s wants a key, and none is sent")
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        reason, told = "rate_limited", _("%(peer)s has had too many requests")
    elif 300 <= status < 400:
        told = _("%(peer)s answered with a redirect, which is not followed")
    return reason, told % {"peer": peer, "status": status}


def tell_refused_text(peer: str, status: int) -> str:
    return _("%(peer)s refuses the text with status %(status)d") % {"peer": peer, "status": status}


def tell_too_long_text(peer: str) -> str:
    return _("%(peer)s takes no text of this length") % {"peer": peer}


def tell_unusable_answer(peer: str, fault: str) -> str:
    """`fault` goes on with the sentence, as in "answered no JSON"."""
    return _("%(peer)s %(fault)s") % {"peer": peer, "fault": fault}


def tell_unusable_vector(peer: str, reason: str) -> str:
    return _("%(peer)s gave no usable vector: %(reason)s") % {"peer": peer, "reason": reason}


def tell_other_width(peer: str, given: int, wanted: int | None) -> str:
    told = _("%(peer)s gave a vector of %(given)d dimensions instead of %(wanted)d")
    return told % {"peer": peer, "given": given, "wanted": wanted}
