"""Messages about what was done. They reach the next page that is shown, or travel with an answer to htmx."""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest

UNDO_TAG: Final = "undo:"


def add_toast(request: HttpRequest, text: str, *, undo_id: str | None = None) -> None:
    """Say what was done; with `undo_id` (of a `memory.corrections.Correction`) the message offers to undo it."""
    messages.success(request, text, extra_tags=f"{UNDO_TAG}{undo_id}" if undo_id else "")


def add_warning(request: HttpRequest, text: str) -> None:
    """Say what was not done, and why."""
    messages.warning(request, text)
