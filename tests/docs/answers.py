"""Compares an answer that a page shows with the one that a server gave just now."""

import re
from typing import Any

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
# What differs from run to run or machine to machine: only its kind is compared.
VOLATILE = frozenset({"id", "created", "createdAt", "updatedAt", "extractedAt", "latencyMs", "driver"})
COUNTERS = frozenset({"hits", "misses", "size", "hitRate", "oldestWaitingSeconds"})
TOLERANCE = 2e-3
# A new release of the bundled model moves it a little, and has another fingerprint.
MODEL_TOLERANCES = {"vecScore": 0.05}
FINGERPRINT = re.compile(r"@[0-9a-f]{8}(?=:)")


class Aliases:
    """Which id of this run stands for which id of the page."""

    def __init__(self) -> None:
        self._actual: dict[str, str] = {}

    def learn(self, shown: str, actual: str) -> None:
        self._actual.setdefault(shown, actual)

    def translate(self, text: str) -> str:
        return UUID.sub(lambda found: self._actual.get(found[0], found[0]), text)


def find_differences(shown: Any, actual: Any, aliases: Aliases, path: str = "") -> list[str]:
    """What of `shown` is not so in `actual`, one line each; ids seen for the first time are learnt."""
    name = path.rpartition(".")[2]
    if isinstance(shown, dict) and isinstance(actual, dict):
        lines = [f"{path}.{key} is not in the answer" for key in shown.keys() - actual.keys()]
        lines += [f"{path}.{key} is not on the page" for key in actual.keys() - shown.keys()]
        for key in shown.keys() & actual.keys():
            lines += find_differences(shown[key], actual[key], aliases, f"{path}.{key}")
        return lines
    if isinstance(shown, list) and isinstance(actual, list) and len(shown) == len(actual):
        return [
            line
            for index, pair in enumerate(zip(shown, actual, strict=True))
            for line in find_differences(*pair, aliases, f"{path}.{index}")
        ]
    if _are_alike(shown, actual, name, aliases):
        return []
    return [f"{path}: the page shows {shown!r}, the answer is {actual!r}"]


def _are_alike(shown: Any, actual: Any, name: str, aliases: Aliases) -> bool:
    if isinstance(shown, bool) or isinstance(actual, bool) or shown is None or actual is None:
        return shown is actual
    if isinstance(shown, str) and isinstance(actual, str):
        return _are_alike_texts(shown, actual, name, aliases)
    if isinstance(shown, int | float) and isinstance(actual, int | float):
        return name in VOLATILE | COUNTERS or abs(shown - actual) <= MODEL_TOLERANCES.get(name, TOLERANCE)
    return bool(shown == actual)


def _are_alike_texts(shown: str, actual: str, name: str, aliases: Aliases) -> bool:
    if UUID.fullmatch(shown) and UUID.fullmatch(actual):
        aliases.learn(shown, actual)
        return aliases.translate(shown) == actual
    if name in VOLATILE:
        return bool(MOMENT.fullmatch(shown)) == bool(MOMENT.fullmatch(actual))
    return _mask(aliases.translate(shown)) == _mask(actual)


def _mask(text: str) -> str:
    return FINGERPRINT.sub("@", MOMENT.sub("T", text))
