"""SQLite files of other installations: read as they are, whatever state they are in, and never written to."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection

from core.db.sqlite.driver import DRIVER
from core.errors import InvalidRequestError
from tests.transfer.stored import count, load, plan, run

pytestmark = pytest.mark.django_db

MEMORIES = """
CREATE TABLE memories (
    id TEXT PRIMARY KEY, api_key_id TEXT NOT NULL, session_id TEXT, type TEXT NOT NULL, key TEXT, content TEXT NOT NULL,
    metadata TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')),
    updated_at TEXT NOT NULL DEFAULT (datetime('now')), expires_at TEXT,
    memory_id INTEGER, needs_reindex INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX idx_memories_memory_id ON memories(memory_id);
"""
FULLTEXT = """
CREATE VIRTUAL TABLE memory_fts USING fts5(content, key, content='memories', content_rowid='memory_id');
CREATE TRIGGER memory_fts_ai AFTER INSERT ON memories BEGIN
    INSERT INTO memory_fts(rowid, content, key) VALUES (new.memory_id, new.content, new.key);
END;
"""
LEGACY = """
CREATE TABLE memory (
    id TEXT PRIMARY KEY, apiKeyId TEXT NOT NULL, sessionId TEXT, type TEXT NOT NULL, key TEXT, content TEXT NOT NULL,
    metadata TEXT, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, expiresAt TEXT);
"""
OPEN_WEBUI = "CREATE TABLE memory (id VARCHAR, user_id VARCHAR, content TEXT, updated_at BIGINT, created_at BIGINT);"
OTHERS = "CREATE TABLE call_logs (id TEXT, body TEXT); CREATE TABLE vec_memories_rowids (rowid INTEGER);"
ID = "0c9edcff-2bfc-4beb-bd0f-69c32a2f3b6{}"


def make_database(path: Path, schema: str, table: str, rows: list[dict], *, journal: str = "DELETE") -> Path:
    opened = DRIVER.dbapi.connect(str(path), isolation_level=None)
    opened.execute(f"PRAGMA journal_mode = {journal}")
    opened.executescript(schema + OTHERS)
    for row in rows:
        marks = ", ".join("?" * len(row))
        opened.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    opened.close()
    return path


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def make_row(number, **fields):
    return {"id": ID.format(number), "api_key_id": "old-key", "type": "factual", "key": f"k{number}",
            "content": f"content {number}", **fields}  # fmt: skip


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize("schema", [MEMORIES, MEMORIES + FULLTEXT], ids=["without FTS", "with FTS"])
def test_a_database_of_omniroute_with_all_its_quirks(tmp_path, schema, journal):
    rows = [
        make_row(
            1,
            session_id="s1",
            metadata='{"a": 1}',
            created_at="2025-11-30T11:36:13.755Z",
            updated_at="2025-12-01 10:00:00",
        ),
        make_row(
            2, session_id=None, metadata="{broken", created_at="2025-11-30 11:36:13", updated_at="2025-11-30 11:36:13"
        ),
        make_row(3, metadata="[1]", expires_at="2031-01-01T00:00:00.000Z", memory_id=7),
        make_row(4, type="semantic", metadata=None, key=None),
        make_row(5, metadata=json.dumps({"category": "preference", "source": "llm_response"}), created_at=1764502573),
    ]
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = make_database(folder / "storage.sqlite", schema, "memories", rows, journal=journal)
    before = digest(folder)
    done = run(path)
    assert (done.format, count(done)) == ("omniroute-db", {"new": 5})
    assert done.owners == {"old-key": 5}
    assert any("metadata that can't be read: 2" in note for note in done.notes)
    stored = {record.content: record for record in load()}
    first = stored["content 1"]
    assert (first.id, first.session_id, first.metadata) == (ID.format(1), "s1", {"a": 1})
    assert first.created_at == datetime(2025, 11, 30, 11, 36, 13, 755000, tzinfo=UTC)
    assert first.updated_at == datetime(2025, 12, 1, 10, 0, tzinfo=UTC)
    assert (stored["content 2"].session_id, stored["content 2"].metadata) == ("", {})
    assert stored["content 3"].expires_at == datetime(2031, 1, 1, tzinfo=UTC)
    assert (stored["content 4"].type, stored["content 4"].key) == ("semantic", "")
    assert stored["content 5"].created_at == datetime(2025, 11, 30, 11, 36, 13, tzinfo=UTC)
    assert count(run(path)) == {"unchanged": 5}
    assert digest(folder) == before


def test_the_table_that_omniroute_had_first(tmp_path):
    row = {"id": ID.format(1), "apiKeyId": "old-key", "sessionId": "s", "type": "episodic", "key": "k"}
    row |= {"content": "old", "metadata": "{}"}
    row |= {"createdAt": "2024-01-01T00:00:00.000Z", "updatedAt": "2024-01-02T00:00:00.000Z"}
    done = run(make_database(tmp_path / "old.sqlite", LEGACY, "memory", [row]))
    assert count(done) == {"new": 1}
    [record] = load()
    assert (record.id, record.session_id, record.type, record.content) == (ID.format(1), "s", "episodic", "old")
    assert record.updated_at == datetime(2024, 1, 2, tzinfo=UTC)
    assert any("retention" in note for note in done.notes)


def test_with_both_tables_the_newer_one_is_read_and_the_other_told(tmp_path):
    path = make_database(tmp_path / "both.sqlite", MEMORIES + LEGACY, "memories", [make_row(1)])
    opened = DRIVER.dbapi.connect(str(path), isolation_level=None)
    opened.execute("INSERT INTO memory VALUES ('x', 'k', '', 'factual', 'k', 'older', '{}', '2024', '2024', NULL)")
    opened.close()
    done = run(path)
    assert count(done) == {"new": 1}
    assert any("table memory was not read (1 rows)" in note for note in done.notes)


def test_of_rows_with_one_key_the_one_that_was_changed_last_counts(tmp_path):
    """The reference has no unique index, and writes times in two spellings that don't sort as text."""
    rows = [
        make_row(1, key="k", content="newest", updated_at="2025-06-01T09:00:00.000Z"),
        make_row(2, key="k", content="older", updated_at="2025-06-01 08:00:00"),
        make_row(3, key="k", content="oldest", updated_at="2025-05-01T09:00:00.000Z"),
    ]
    done = run(make_database(tmp_path / "x.sqlite", MEMORIES, "memories", rows))
    assert count(done) == {"new": 1, "repeated": 2}
    assert [record.content for record in load()] == ["newest"]


def test_rows_that_cannot_be_stored_are_told_and_the_others_imported(tmp_path):
    rows = [
        make_row(1, type="nonsense"),
        make_row(2, content=b"\xff\xfe"),
        make_row(3, updated_at="yesterday"),
        make_row(4),
    ]
    done = run(make_database(tmp_path / "x.sqlite", MEMORIES, "memories", rows))
    assert count(done) == {"new": 1, "invalid": 3}


def test_what_a_writer_has_left_in_the_log_beside_the_file_is_read_too_and_nothing_is_written_there(tmp_path):
    folder = tmp_path / "live"
    folder.mkdir()
    path = make_database(folder / "storage.sqlite", MEMORIES, "memories", [make_row(1)], journal="WAL")
    writer = DRIVER.dbapi.connect(str(path), isolation_level=None)
    writer.execute(
        "INSERT INTO memories(id, api_key_id, type, key, content) VALUES ('x', 'k', 'factual', 'k', 'fresh')"
    )
    assert (folder / "storage.sqlite-wal").stat().st_size > 0
    copied = tmp_path / "copied"
    copied.mkdir()
    for suffix in ("", "-wal"):
        (copied / f"storage.sqlite{suffix}").write_bytes((folder / f"storage.sqlite{suffix}").read_bytes())
    writer.close()
    before = digest(copied)
    run(copied / "storage.sqlite")
    assert {record.content for record in load()} == {"content 1", "fresh"}
    assert digest(copied) == before


def test_open_webuis_database(tmp_path):
    row = {"id": "m1", "user_id": "u1", "content": "Has a dog", "updated_at": 1730000000, "created_at": 1720000000}
    done = run(make_database(tmp_path / "webui.db", OPEN_WEBUI, "memory", [row]))
    assert (done.format, count(done)) == ("open-webui", {"new": 1})
    [record] = load()
    assert (record.key, record.metadata["importedFrom"]) == ("open-webui:m1", "open-webui")


def test_a_database_without_memories_and_the_servers_own_are_refused(tmp_path):
    with pytest.raises(InvalidRequestError, match="no table of memories"):
        plan(make_database(tmp_path / "x.sqlite", "", "call_logs", []))
    with pytest.raises(InvalidRequestError, match="own database"):
        plan(Path(connection.settings_dict["NAME"]))


ENDLESS = """
CREATE VIEW memories AS
WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted)
SELECT n AS id, 'o' AS api_key_id, 'k' AS key, 'c' AS content, 'factual' AS type, n AS rowid FROM counted;
"""


def test_a_view_is_no_table_since_it_may_have_no_end(tmp_path):
    file = make_database(tmp_path / "theirs.sqlite", ENDLESS, "memories", [])
    with pytest.raises(InvalidRequestError, match="no table of memories"):
        plan(file)
