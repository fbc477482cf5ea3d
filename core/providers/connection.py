"""Trying a provider out: is it there, does it take the key, which models has it? The last answer is kept as a row."""

import time
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from django.utils import timezone

from core.errors import AppError, NotFoundError, UpstreamError
from core.outbound import Deadline, send
from core.providers.catalog import read_models
from core.providers.registry import ECHO
from core.providers.routing import resolve_route
from core.runtime_settings import Section, SettingField
from core.words import gettext as _

TIME_LIMIT_SECONDS: Final = 10.0
MAX_REASON_CHARS: Final = 500
KEY_REFUSED: Final = (401, 403)
# No provider is asked for a model of this name: it only finds the way there.
ANY_MODEL: Final = "-"
_TESTS_SECTION: Final = Section(
    "provider_tests",
    (SettingField("tests", "providerTests", "object", {}, _("What each provider answered when it was last tried.")),),
)


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What came of a try. `reason` says what is wrong, or what to know of a success; `models` is None when untold."""

    is_ok: bool
    latency_ms: int
    reason: str
    models: int | None
    tested_at: datetime


def try_provider(name: str, base_url: str, api_key: str) -> ConnectionTest:
    """Ask the provider at `base_url` for its models, which costs nothing, for 10 seconds at most.

    Without an `api_key` the one that is stored, or in the environment, is sent, but only to the address it is meant
    for. Touches no row.
    """
    started = time.monotonic()
    try:
        key = api_key or _find_key(name, base_url)
        models, reason = _ask_for_models(name, base_url, key)
    except AppError as error:
        return _conclude(started, error.message, is_ok=False)
    return _conclude(started, reason, is_ok=True, models=models)


def keep_test(name: str, test: ConnectionTest) -> None:
    """Remember what came of the last try of a provider that is configured."""
    tests = _TESTS_SECTION.read()["tests"]
    kept = {**asdict(test), "reason": test.reason[:MAX_REASON_CHARS], "tested_at": test.tested_at.isoformat()}
    _TESTS_SECTION.write({"tests": {**tests, name: kept}})


def forget_test(name: str) -> None:
    tests = _TESTS_SECTION.read()["tests"]
    if name in tests:
        _TESTS_SECTION.write({"tests": {other: kept for other, kept in tests.items() if other != name}})


def read_tests() -> dict[str, ConnectionTest]:
    """Return the last try of each provider by its name, in one query."""
    kept: dict[str, Any] = _TESTS_SECTION.read()["tests"]
    return {
        name: ConnectionTest(**{**values, "tested_at": datetime.fromisoformat(values["tested_at"])})
        for name, values in kept.items()
    }


def _conclude(started: float, reason: str, *, is_ok: bool, models: int | None = None) -> ConnectionTest:
    return ConnectionTest(is_ok, round(1000 * (time.monotonic() - started)), reason, models, timezone.now())


def _find_key(name: str, base_url: str) -> str:
    """A stored key goes where it was stored for: whoever may test an address must not get it sent to another."""
    try:
        route = resolve_route(f"{name}/{ANY_MODEL}")
    except NotFoundError:
        return ""
    return route.api_key if route.base_url == base_url else ""


def _ask_for_models(name: str, base_url: str, api_key: str) -> tuple[int | None, str]:
    if name == ECHO:
        return 1, ""
    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    peer = _("The provider %(name)s") % {"name": name}
    answer = send("GET", f"{base_url}/models", headers, b"", deadline=Deadline(TIME_LIMIT_SECONDS), peer=peer)
    if answer.status in KEY_REFUSED:
        told = (
            _("%(peer)s does not take this key (HTTP %(status)d)")
            if api_key
            else _("%(peer)s wants a key, and none was sent (HTTP %(status)d)")
        )
        raise UpstreamError(told % {"peer": peer, "status": answer.status})
    if answer.status == 404:
        return None, _("It answers, but lists no models there (HTTP 404): see that the base URL ends as it should")
    if not 200 <= answer.status < 300:
        raise UpstreamError(_("%(peer)s answers with HTTP %(status)d") % {"peer": peer, "status": answer.status})
    return len(read_models(name, answer.body)), ""
