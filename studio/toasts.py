"""Messages about what was done. They reach the next page that is shown, or travel with an answer to htmx."""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest

UNDO_TAG: Final = "undo:"
PLACE_TAG: Final = "place:"


def add_toast(request: HttpRequest, text: str, *, undo_id: str | None = None, address: str = "") -> None:
    """Say what was done; with `undo_id` (of a `memory.corrections.Correction`) the message offers to undo it.

    With `address`, a page of the studio, it leads to more.
    """
    tags = [f"{UNDO_TAG}{undo_id}"] if undo_id else []
    tags += [f"{PLACE_TAG}{address}"] if address else []
    messages.success(request, text, extra_tags=" ".join(tags))


def add_warning(request: HttpRequest, text: str, *, address: str = "") -> None:
    """Say what was not done, and why; with `address`, a page of the studio, it leads to more."""
    messages.warning(request, text, extra_tags=f"{PLACE_TAG}{address}" if address else "")
