"""One owner's memories as arrays and postings: what the adaptive search reads instead of tables. No SQL here.

Memories lie in slots in the order they came; a changed one gets a new slot and its old one is dead until the next
compaction. Searches see them through a `ConversationView`, which has the living ones in conversation order.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.search.conversation import ASKS, NAMES_ITSELF, SPOKEN, ConversationView, arrange
from memory.search.dates import list_date_terms
from memory.search.stems import split_words, stem_word
from memory.search.talk import ends_asking, names_speaker, sounds_spoken, strip_speaker

# Dead slots are swept out when they are more than this and more than a quarter of all.
_MIN_DEAD_SLOTS: Final = 256
_EMPTY_BYTES: Final = 4096
_BYTES_PER_STEM: Final = 200
_BYTES_PER_POSTING: Final = 4
_BYTES_PER_SLOT: Final = 160


@dataclass(frozen=True, slots=True)
class IndexedMemory:
    """What the index wants to know of a memory. `own_time` is when it happened; None never expires."""

    memory_id: int
    owner: str
    session_id: str
    key: str
    content: str
    speaker: str
    subject: str
    own_time: datetime
    updated_at: datetime
    expires_at: datetime | None
    type: str = "factual"


class _StemCodes(dict[str, int]):
    """The code of a word's stem by the word; a new stem gets the next code. Lives as long as one `replace`."""

    def __init__(self, codes: dict[str, int]) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, word: str) -> int:
        code = self[word] = self._codes.setdefault(stem_word(word), len(self._codes))
        return code


class OwnerIndex:
    """Not safe between threads: whoever shares one holds a lock around every call."""

    def __init__(self) -> None:
        self._ids, self._groups, self._speakers = array("q"), array("q"), array("i")
        self._own_times, self._updated, self._expires = array("d"), array("d"), array("d")
        self._lengths, self._chars, self._flags, self._alive = array("i"), array("i"), array("b"), array("b")
        self._types = array("b")
        self._stem_codes: dict[str, int] = {}
        self._postings: list[array[int]] = []
        self._posted = 0
        self._dead = 0
        self._group_codes: dict[tuple[str, str], int] = {}
        self._type_codes: dict[str, int] = {}
        self._speaker_codes: dict[str, int] = {"": 0}
        self._speakers_by_word: dict[str, set[int]] = {}
        self._view: ConversationView | None = None

    def __len__(self) -> int:
        return len(self._ids) - self._dead

    @property
    def size_bytes(self) -> int:
        """An estimate: arrays exactly, dictionaries by their usual cost."""
        stems = len(self._postings) * _BYTES_PER_STEM
        return _EMPTY_BYTES + stems + self._posted * _BYTES_PER_POSTING + len(self._ids) * _BYTES_PER_SLOT

    def replace(self, memory_ids: Sequence[int], memories: Iterable[IndexedMemory]) -> None:
        """Forget the memories with these ids and take in `memories`, their present form; the missing are gone."""
        self._bury(memory_ids)
        codes = _StemCodes(self._stem_codes)
        posted, sizes = array("i"), array("i")
        first_slot = len(self._ids)
        for memory in memories:
            stems = self._append(memory, codes)
            posted.extend(stems)
            sizes.append(len(stems))
        self._post(np.array(posted), np.repeat(np.arange(first_slot, len(self._ids), dtype=np.int32), sizes))
        self._view = None
        if self._dead > max(_MIN_DEAD_SLOTS, len(self._ids) // 4):
            self._compact()

    def view(self) -> ConversationView:
        if self._view is None:
            self._view = arrange(
                alive=np.array(self._alive, bool),
                ids=np.array(self._ids, np.int64),
                groups=np.array(self._groups, np.int64),
                own_times=np.array(self._own_times),
                updated=np.array(self._updated),
                expires=np.array(self._expires),
                lengths=np.array(self._lengths, np.float32),
                chars=np.array(self._chars, np.float32),
                speakers=np.array(self._speakers),
                flags=np.array(self._flags),
            )
        return self._view

    def find_positions(self, stem: str) -> NDArray[np.int32]:
        """Return where in the view the memories with this stem stand, in no order."""
        code = self._stem_codes.get(stem)
        if code is None or not self._postings[code]:
            return np.zeros(0, np.int32)
        positions = self.view().position_of_slot[np.frombuffer(self._postings[code], np.int32)]
        return positions[positions >= 0] if self._dead else positions

    def find_speakers(self, words: Iterable[str], text: str) -> set[int]:
        """Return the codes of the speakers that a query names; an unspaced name is looked for in the text itself."""
        named = set[int]()
        for word in words:
            named |= self._speakers_by_word.get(word, set())
        if not text.isascii():
            named |= {code for name, code in self._speaker_codes.items() if not name.isascii() and name in text}
        return named

    def is_in_session(self, session_id: str) -> NDArray[np.bool_]:
        """Say of every memory of the view whether it is of this session ("": of none)."""
        groups = self.view().groups
        if not session_id:
            return groups < 0
        return np.isin(groups, [code for (_, name), code in self._group_codes.items() if name == session_id])

    def is_of_type(self, type: str) -> NDArray[np.bool_]:
        """Say of every memory of the view whether it is of this type."""
        view = self.view()
        found = np.zeros(len(view.ids), bool)
        positions = view.position_of_slot[np.array(self._types) == self._type_codes.get(type, -1)]
        found[positions[positions >= 0]] = True
        return found

    def _append(self, memory: IndexedMemory, codes: _StemCodes) -> set[int]:
        """Give the memory a slot; return the codes of its stems, each once."""
        said = strip_speaker(memory.content, memory.speaker)
        words = split_words(said)
        speaker_words = split_words(memory.speaker)
        stems = set(map(codes.__getitem__, words))
        for extra in (speaker_words, split_words(memory.subject), _key_words(memory.key)):
            stems.update(map(codes.__getitem__, extra))
        stems.update(map(codes.__getitem__, list_date_terms(memory.own_time)))
        flags = ASKS * ends_asking(said) | SPOKEN * sounds_spoken(said, words)
        self._store(memory, len(words) + len(speaker_words), flags | NAMES_ITSELF * names_speaker(words, speaker_words))
        return stems

    def _post(self, codes: NDArray[np.int32], slots: NDArray[np.int32]) -> None:
        """Write `slots[i]` into the posting of the stem `codes[i]`."""
        self._postings.extend(array("i") for _ in range(len(self._stem_codes) - len(self._postings)))
        order = np.argsort(codes, kind="stable")
        codes, slots = codes[order], slots[order]
        starts = np.nonzero(np.r_[True, codes[1:] != codes[:-1]])[0] if len(codes) else np.zeros(0, np.int64)
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(codes)], strict=False):
            self._postings[codes[start]].frombytes(slots[start:end].tobytes())
        self._posted += len(codes)

    def _store(self, memory: IndexedMemory, length: int, flags: int) -> None:
        self._ids.append(memory.memory_id)
        # Without a session a memory stands alone: a group of its own, below all session codes.
        group = -1 - memory.memory_id
        if memory.session_id:
            session = (memory.owner, memory.session_id)
            group = self._group_codes.setdefault(session, len(self._group_codes))
        self._groups.append(group)
        self._speakers.append(self._code_speaker(memory.speaker))
        self._own_times.append(memory.own_time.timestamp())
        self._updated.append(memory.updated_at.timestamp())
        self._expires.append(memory.expires_at.timestamp() if memory.expires_at else np.inf)
        self._lengths.append(length)
        self._chars.append(len(memory.content))
        self._flags.append(flags)
        self._types.append(self._type_codes.setdefault(memory.type, len(self._type_codes)))
        self._alive.append(1)

    def _code_speaker(self, speaker: str) -> int:
        name = speaker.casefold()
        code = self._speaker_codes.get(name)
        if code is None:
            code = self._speaker_codes[name] = len(self._speaker_codes)
            for word in split_words(name):
                self._speakers_by_word.setdefault(word, set()).add(code)
        return code

    def _bury(self, memory_ids: Sequence[int]) -> None:
        if not self._ids:
            return
        wanted = np.array(memory_ids, np.int64)
        ids, alive = np.array(self._ids, np.int64), np.array(self._alive, bool)
        for slot in np.nonzero(np.isin(ids, wanted) & alive)[0]:
            self._alive[slot] = 0
            self._dead += 1

    def _compact(self) -> None:
        alive = np.array(self._alive, bool)
        moved = (np.cumsum(alive) - 1).astype(np.int32)
        for posting in self._postings:
            slots = np.array(posting, np.int32)
            posting[:] = array("i", moved[slots[alive[slots]]].tobytes())
        for name in ("_ids", "_groups", "_speakers", "_own_times", "_updated", "_expires", "_lengths", "_chars",
                     "_flags", "_alive", "_types"):  # fmt: skip
            column: array[float] = getattr(self, name)
            setattr(self, name, array(column.typecode, np.array(column)[alive].tobytes()))
        self._posted = sum(map(len, self._postings))
        self._dead = 0
        self._view = None


def _key_words(key: str) -> list[str]:
    """Words of a key worth matching: what is numbered was made by a program and says nothing."""
    return [word for word in split_words(key) if word.isalpha()]
