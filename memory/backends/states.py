"""How it stands with every backend: the result of the last check, kept in the database for every process to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils import timezone

from core.runtime_settings import Section, SettingField
from core.words import gettext as _
from memory.backends.base import BackendHealth
from memory.backends.manager import MANAGER
from memory.backends.routes import LOCAL, read_routes

_SECTION: Final = Section(
    "backend_health", (SettingField("health", "memoryBackendHealth", "object", {}, _("The last checks, by backend.")),)
)


@dataclass(frozen=True, slots=True)
class BackendState:
    """`is_ok` is None for a backend that has not been checked since it is in use; `error` says what is wrong."""

    id: str
    display_name: str
    is_primary: bool
    is_fallback: bool
    is_ok: bool | None
    latency_ms: int | None
    error: str | None
    checked_at: datetime | None


def list_backend_states() -> list[BackendState]:
    """Return the state of every registered backend: the primary, then the fallbacks in their order, then the others.

    Reads rows only, no network: checks are made by the periodic job `memory.check_backends` and by commands.
    """
    routes = read_routes()
    checks = _SECTION.read()["health"]
    known = [name for name in (routes.primary, *routes.fallbacks) if name in MANAGER.ids]
    return [
        _make_state(name, name == routes.primary, name in routes.fallbacks, checks.get(name))
        for name in dict.fromkeys([*known, *MANAGER.ids])
    ]


def check_backends(*, are_all: bool = False) -> dict[str, BackendHealth]:
    """Ask the backends in use, or all that there are, how they are, and keep what they say. Uses the network.

    Where only this database is used there is nothing to ask, and nothing is written.
    """
    routes = read_routes()
    if not are_all and (routes.primary, routes.fallbacks) == (LOCAL, ()):
        return {}
    health = {name: MANAGER.check(name) for name in MANAGER.ids} if are_all else MANAGER.health_check_all()
    keep_health(health)
    return health


def keep_health(health: Mapping[str, BackendHealth]) -> None:
    """Keep the results of checks beside those of the backends that were not checked now."""
    now = timezone.now().isoformat()
    told = {
        name: {"isOk": item.is_ok, "latencyMs": item.latency_ms, "error": item.error, "checkedAt": now}
        for name, item in health.items()
    }
    _SECTION.write({"health": {**_SECTION.read()["health"], **told}})


def _make_state(name: str, is_primary: bool, is_fallback: bool, check: Mapping[str, Any] | None) -> BackendState:
    told = check or {}
    checked_at = told.get("checkedAt")
    return BackendState(
        id=name,
        display_name=MANAGER.read_display_name(name),
        is_primary=is_primary,
        is_fallback=is_fallback,
        is_ok=told.get("isOk"),
        latency_ms=told.get("latencyMs"),
        error=told.get("error"),
        checked_at=datetime.fromisoformat(checked_at) if checked_at else None,
    )
