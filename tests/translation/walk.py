"""Going through pages as somebody does who reads no English."""

from dataclasses import dataclass, field
from typing import Any, Final

from django.test import Client

from core.accounts.keys import SCOPES
from core.providers.registry import PROVIDERS
from core.words import Words
from memory.backends.manager import MANAGER
from tests.translation.pseudo_language import LANGUAGE
from tests.translation.visible_words import list_untranslated

HTMX: Final = {"HX-Request": "true"}
NAMES: Final = (
    "tea",
    "FTS",
    "Qdrant",
    "transformers",
    "qdrant",
    "UTC",
    "JSON",
    "PATCH",
    "PUT",
    "curl",
    "Python",
    *SCOPES,
)


def list_names() -> frozenset[str]:
    """What products, providers and backends are called, in every language."""
    names = [
        *NAMES,
        *(it.id for it in PROVIDERS),
        *(it.name for it in PROVIDERS),
        *map(MANAGER.read_display_name, MANAGER.ids),
    ]
    # What is in a language of ours is no name.
    return frozenset(name for name in names if not isinstance(name, Words))


@dataclass
class Walk:
    """Remembers what was seen, by where. `faults` are the texts that were in no other language than English."""

    client: Client
    faults: dict[str, list[str]] = field(default_factory=dict)
    names: frozenset[str] = field(default_factory=list_names)

    def knows(self, *names: str) -> None:
        """Take these for names as well."""
        self.names |= set(names)

    def see(self, address: str, *, status: int = 200, headers: dict[str, str] | None = None) -> str:
        return self.look(address, self.client.get(address, headers=headers), status)

    def send(
        self, address: str, data: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None
    ) -> str:
        return self.look(f"POST {address}", self.client.post(address, data, headers=headers, follow=True), status)

    def look(self, address: str, answer: Any, status: int) -> str:
        """See what was answered, wherever from."""
        html = answer.content.decode()
        if answer.status_code != status:
            self.faults.setdefault(address, []).append(f"answered with {answer.status_code} instead of {status}")
        assert answer.headers["Content-Language"] == LANGUAGE
        left = list_untranslated(html, known=self.names)
        if left:
            self.faults.setdefault(address, []).extend(left)
        return html

    def end(self) -> None:
        told = [f"{address}: {text}" for address, texts in self.faults.items() for text in dict.fromkeys(texts)]
        assert not told, "\n".join(told)
