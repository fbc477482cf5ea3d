"""The first start on a data folder: an operator who can log in and a key that can chat."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from core.accounts.keys import create_api_key
from core.accounts.models import ApiKey
from core.runtime_settings import Section, SettingField
from core.words import gettext as _

OPERATOR_NAME: Final = "operator"
FIRST_KEY_NAME: Final = "first-key"
PASSWORD_RANDOM_BYTES: Final = 15
SETUP_SECTION: Final = Section(
    "setup",
    (
        SettingField(
            "completedAt",
            "setupCompletedAt",
            "text",
            None,
            _("When the first start made the operator's login and the first key; kept so that it happens once."),
            nullable=True,
        ),
    ),
)


@dataclass(frozen=True)
class FirstLogin:
    """What the first start made. A part that was there before, made by a command, is None."""

    password: str | None
    api_key: str | None


def make_first_login(announce: Callable[[FirstLogin], None]) -> bool:
    """Make login and key if this database never had them, and tell whether it did.

    `announce` shows the secrets, and does so inside the transaction. Whatever kills the process, nobody is left
    with a login that was never shown: what was not shown is not stored either, and the next start makes new ones.
    Of two that start at once, one waits at the lock and then finds the work done.
    """
    if _is_complete():
        return False
    with transaction.atomic():
        if _is_complete():
            return False
        announce(FirstLogin(_make_operator(), _make_key()))
        SETUP_SECTION.write({"completedAt": timezone.now().isoformat()})
    return True


def _is_complete() -> bool:
    return SETUP_SECTION.read()["completedAt"] is not None


def _make_operator() -> str | None:
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(PASSWORD_RANDOM_BYTES)
    User.objects.create_superuser(OPERATOR_NAME, password=password)
    return password


def _make_key() -> str | None:
    return None if ApiKey.objects.exists() else create_api_key(FIRST_KEY_NAME)[1]
