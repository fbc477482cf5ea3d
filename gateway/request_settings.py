"""What the log of requests keeps, and for how long: rows of the settings, apart from memory's own section."""

from dataclasses import dataclass
from typing import Final

from core.runtime_settings import Section, SettingField
from core.words import gettext as _

REQUEST_SECTION: Final = Section(
    "requests",
    (
        SettingField(
            "requestLogDays",
            "requestLogDays",
            "int",
            14,
            _("Days that requests stay in the log, with their links to memories."),
            minimum=1,
            maximum=365,
        ),
        SettingField(
            "requestLogText",
            "requestLogText",
            "bool",
            False,
            _(
                "Keep what was said in the log: the user's last message and the answer, the "
                "beginning of each. Only while you look for a fault: whoever signs in can read it. "
                "Calls that opt out of memory are never kept."
            ),
        ),
        SettingField(
            "requestLogTextHours",
            "requestLogTextHours",
            "int",
            24,
            _("Hours after which kept text is erased; the rest of the log stays."),
            minimum=1,
            maximum=168,
        ),
    ),
)


@dataclass(frozen=True)
class RequestSettings:
    """The section as typed values."""

    days: int
    keeps_text: bool
    text_hours: int


def load_request_settings() -> RequestSettings:
    """Read the section from the database; every call sees the last saved values."""
    values = REQUEST_SECTION.read()
    return RequestSettings(
        days=values["requestLogDays"],
        keeps_text=values["requestLogText"],
        text_hours=values["requestLogTextHours"],
    )
