"""What the shell around every page shows."""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest

THEME_COOKIE: Final = "studio_theme"
KEYS_COOKIE: Final = "studio_keys"
THEMES: Final = ("light", "dark")


@dataclass(frozen=True, slots=True)
class Shell:
    """`place` is the entry of the navigation that is the current one; `theme` is "" where the system decides.

    `has_single_keys` is false when the operator has switched shortcuts without a modifier off; `has_open_work` says
    that a job is at something that this operator has asked for.
    """

    place: str
    theme: str
    user_name: str
    has_single_keys: bool
    has_open_work: bool


def build_shell(request: HttpRequest, place: str, *, has_open_work: bool) -> Shell:
    """Read no row: figures and health come after the page (`studio.views.shell`)."""
    return Shell(
        place=place,
        theme=read_theme(request),
        user_name=request.user.get_username(),
        has_single_keys=request.COOKIES.get(KEYS_COOKIE) != "off",
        has_open_work=has_open_work,
    )


def read_theme(request: HttpRequest) -> str:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""
