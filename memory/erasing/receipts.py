"""What an erasure tells: what there is, and what became of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from core.words import gettext as _
from memory.records import EraseScope

# What an erasure leaves, and why. Told on every receipt.
KEPT: Final = (
    _("the API key itself; revoke_api_key ends it"),
    _("numbers of deleted memories, without anything they said: processes that hold an index follow them"),
    _("backups and exports that were made before: delete them yourself"),
    _("what a Qdrant or a backend that is not configured any more still holds: delete it there"),
    _("what chat providers and embedding providers were sent: ask them"),
    _("this receipt, for seven days, where a job has erased"),
    _("in the memory of other processes of this server, until they search for this owner again or are restarted"),
)


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """How many things one place holds of the scope; `error` says why it can't be told."""

    name: str
    count: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class ErasePlan:
    """What would be erased. `memories` is the number that a confirmation repeats."""

    scope: EraseScope
    places: tuple[PlaceCount, ...]
    memories: int

    @property
    def things(self) -> int:
        """How many things there are to erase, memories and all else."""
        return sum(place.count for place in self.places)


@dataclass(frozen=True, slots=True)
class ErasedPlace:
    """What a place held before and holds now, by counts; `error` says why it could not be erased or counted."""

    name: str
    before: int
    after: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """`is_proven` says that everything was counted anew and nothing is left. `sha256` is that of all the rest."""

    scope: EraseScope
    erased_by: str
    began_at: datetime
    ended_at: datetime
    places: tuple[ErasedPlace, ...]
    is_file_clean: bool
    is_proven: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(_write(self._tell())).hexdigest()

    def tell(self) -> dict[str, Any]:
        """Return the receipt as JSON values."""
        return {**self._tell(), "sha256": self.sha256}

    def _tell(self) -> dict[str, Any]:
        return {
            "apiKeyId": self.scope.owner,
            "sessionId": self.scope.session_id,
            "erasedBy": self.erased_by,
            "beganAt": self.began_at.isoformat(),
            "endedAt": self.ended_at.isoformat(),
            "places": [asdict(place) for place in self.places],
            "isFileClean": self.is_file_clean,
            "isProven": self.is_proven,
            "kept": list(KEPT),
        }


def is_unchanged(receipt: Mapping[str, Any]) -> bool:
    """Whether a receipt says what it said when it was written."""
    told = {name: value for name, value in receipt.items() if name != "sha256"}
    return hashlib.sha256(_write(told)).hexdigest() == receipt.get("sha256")


def _write(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
