"""Memories as notes of an Obsidian vault, over the Local REST API plugin.

One note a memory, in a folder of the vault. Notes are found by their front matter, so people may rename them, move them
inside the folder and edit them. Obsidian's own index lags a moment behind a new file: paths that this process has
written are asked for directly.
"""

import re
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from core.outbound import Deadline
from core.words import gettext as _
from memory.backends.base import BackendError
from memory.backends.config_fields import API_KEY, BASE_URL, TIMEOUT, ConfigField
from memory.backends.connection import Connection, encode_segment
from memory.backends.obsidian_notes import (
    Note,
    is_edited,
    name_file,
    name_file_of_key,
    name_folder,
    read_note,
    write_note,
)
from memory.backends.remote import RemoteBackend
from memory.records import MemoryFilter, MemoryRecord

DEFAULT_FOLDER: Final = "OmniRoute Memory"
NOTE_TYPE: Final = "text/markdown"
NOTE_JSON_TYPE: Final = "application/vnd.olrapi.note+json"
JSONLOGIC_TYPE: Final = "application/vnd.olrapi.jsonlogic+json"
MAX_PATHS: Final = 10_000
# What YAML never spells in another way.
PLAIN_TEXT: Final = re.compile(r"[A-Za-z0-9._-]+")


class ObsidianBackend(RemoteBackend):
    """Implements `MemoryBackend` on a vault that is open in Obsidian."""

    id = "obsidian"
    display_name = "Obsidian Vault"
    config_fields: ClassVar[tuple[ConfigField, ...]] = (
        BASE_URL,
        ConfigField("apiKey", "secret", _("The key that the plugin's settings show."), is_required=True),
        TIMEOUT,
        ConfigField("folder", "folder", _("The folder of the vault."), default=DEFAULT_FOLDER),
    )

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.timeout_seconds = config.get("timeout", TIMEOUT.default) / 1000
        self._folder = str(config.get("folder") or DEFAULT_FOLDER).strip("/")
        headers = {"authorization": f"Bearer {config[API_KEY.name]}"}
        self._connection = Connection("Obsidian", config["baseUrl"], headers)
        # Where notes were seen last, by memory id. A hint only: what a note says of itself decides.
        self._paths: dict[str, str] = {}
        self._lock = threading.Lock()

    def check(self, deadline: Deadline) -> None:
        told = self._connection.request("GET", "/", deadline=deadline).read_json()
        if not isinstance(told, Mapping) or "authenticated" not in told:
            raise BackendError(_("What answers there is not Obsidian's Local REST API"), code="backend_bad_answer")
        if told["authenticated"] is not True:
            raise BackendError(_("Obsidian refuses the key"), code="backend_refused_key")

    def load(self, filter: MemoryFilter, deadline: Deadline) -> list[MemoryRecord]:
        # The owner stands in the front matter: spelled plainly, only notes that hold the text need to be sent.
        owner = filter.owner or ""
        text = owner if PLAIN_TEXT.fullmatch(owner) else ""
        return [note.record for _, note in self._query(text, deadline)]

    def find(self, id: str, deadline: Deadline) -> MemoryRecord | None:
        found = self._locate(id, deadline)
        return None if found is None else found[1].record

    def find_key(self, owner: str, key: str, deadline: Deadline) -> MemoryRecord | None:
        path = f"{self._folder}/{name_folder(owner)}/{name_file_of_key(owner, key)}"
        note = self._read(path, deadline)
        if note is not None and (note.record.owner, note.record.key) == (owner, key):
            return note.record
        held = self.load(MemoryFilter(owner), deadline)
        return next((record for record in held if record.owner == owner and record.key == key), None)

    def write(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Deadline) -> MemoryRecord | None:
        located = None if stored is None else self._locate(stored.id, deadline)
        if stored is not None and located is None:
            return None
        path, foreign = self._choose_path(record, deadline), ""
        old_path = ""
        if located is not None and stored is not None:
            old_path, foreign = located[0], located[1].foreign
            # A note that a person has renamed or moved stays where they put it.
            if old_path != self._name_path(stored) or path == old_path:
                path = old_path
        self._connection.request(
            "PUT",
            self._address(path),
            deadline=deadline,
            content=write_note(record, foreign).encode("utf-8", "replace"),
            headers={"content-type": NOTE_TYPE},
        )
        self._remember(record.id, path)
        if old_path and old_path != path:
            self._delete(old_path, deadline)
        return record

    def remove(self, id: str, deadline: Deadline) -> bool:
        located = self._locate(id, deadline)
        with self._lock:
            self._paths.pop(id, None)
        return located is not None and self._delete(located[0], deadline)

    def _choose_path(self, record: MemoryRecord, deadline: Deadline) -> str:
        """The memory's own path, unless somebody else's note is there."""
        path = self._name_path(record)
        reply = self._connection.request("GET", self._address(path), deadline=deadline, taken=(404,))
        if reply.status == 404:
            return path
        note = read_note(reply.read_text())
        is_ours = note is not None and (
            note.record.id == record.id or (note.record.owner, note.record.key) == (record.owner, record.key)
        )
        return path if is_ours else f"{path.removesuffix('.md')}-{record.id}.md"

    def _name_path(self, record: MemoryRecord) -> str:
        return f"{self._folder}/{name_folder(record.owner)}/{name_file(record)}"

    def _locate(self, id: str, deadline: Deadline) -> tuple[str, Note] | None:
        path = self._paths.get(id)
        if path is not None:
            note = self._read(path, deadline)
            if note is not None and note.record.id == id:
                return path, note
        found = [(at, note) for at, note in self._query(id, deadline) if note.record.id == id]
        # A copy that a person has made of a note is younger than the note, or the same.
        return max(found, key=lambda pair: pair[1].record.updated_at, default=None)

    def _read(self, path: str, deadline: Deadline) -> Note | None:
        """The note at a path, straight from the disk; None when there is none, or it is no memory."""
        reply = self._connection.request("GET", self._address(path), deadline=deadline, taken=(404,))
        if reply.status == 404:
            return None
        text = reply.read_text()
        modified_at = self._read_modified(path, deadline) if is_edited(text) else None
        note = read_note(text, modified_at)
        if note is not None:
            self._remember(note.record.id, path)
        return note

    def _read_modified(self, path: str, deadline: Deadline) -> datetime | None:
        reply = self._connection.request(
            "GET", self._address(path), deadline=deadline, headers={"accept": NOTE_JSON_TYPE}, taken=(404, 500)
        )
        told = reply.read_json() if reply.is_success else None
        stat = told.get("stat") if isinstance(told, Mapping) else None
        return _read_mtime(stat.get("mtime")) if isinstance(stat, Mapping) else None

    def _query(self, text: str, deadline: Deadline) -> list[tuple[str, Note]]:
        """Every memory of the folder whose note holds the text, with its path; of twins only the younger."""
        prefix = f"{self._folder}/"
        within = {"===": [{"substr": [{"var": "path"}, 0, len(prefix.encode("utf-16-le")) // 2]}, prefix]}
        condition = {"and": [within, {"in": [text, {"var": "content"}]}]} if text else within
        told = [{"var": "content"}, {"var": "stat.mtime"}]
        query = {"if": [condition, told, False]}
        reply = self._connection.request_json(
            "POST", "/search/", deadline=deadline, body=query, content_type=JSONLOGIC_TYPE
        )
        answer = reply.read_json()
        if not isinstance(answer, list):
            raise BackendError(_("Obsidian answered no list of notes"), code="backend_bad_answer")
        found: dict[str, tuple[str, Note]] = {}
        for item in answer:
            path, note = _read_item(item)
            if note is None:
                continue
            twin = found.get(note.record.id)
            if twin is None or twin[1].record.updated_at < note.record.updated_at:
                found[note.record.id] = (path, note)
        for id, (path, _note) in found.items():
            self._remember(id, path)
        return list(found.values())

    def _delete(self, path: str, deadline: Deadline) -> bool:
        reply = self._connection.request("DELETE", self._address(path), deadline=deadline, taken=(404,))
        return reply.is_success

    def _address(self, path: str) -> str:
        return "/vault/" + "/".join(encode_segment(segment) for segment in path.split("/"))

    def _remember(self, id: str, path: str) -> None:
        with self._lock:
            if len(self._paths) >= MAX_PATHS:
                self._paths.clear()
            self._paths[id] = path


def _read_item(item: Any) -> tuple[str, Note | None]:
    """One result of the query: a path, and [content, mtime]."""
    result = item.get("result") if isinstance(item, Mapping) else None
    path = item.get("filename") if isinstance(item, Mapping) else None
    if not isinstance(path, str) or not isinstance(result, list) or len(result) != 2:
        raise BackendError(_("Obsidian answered a note that can't be read"), code="backend_bad_answer")
    content, mtime = result
    return path, read_note(content, _read_mtime(mtime)) if isinstance(content, str) else None


def _read_mtime(value: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(value / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
