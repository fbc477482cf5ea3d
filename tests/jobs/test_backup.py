"""Backup and restore, as an operator does them, on a data folder with a life of its own."""

import shutil
import stat
import subprocess
import sys
import threading

import pytest
from job_processes import query

from core.db.sqlite.driver import DRIVER
from tests.live_server import ROOT, LiveServer, wait_until


def run(server: LiveServer, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def assert_refused(result: subprocess.CompletedProcess[str], told: str) -> None:
    assert result.returncode != 0
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def count(path, table="memories") -> int:
    connection = DRIVER.dbapi.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()


@pytest.fixture
def server(launch_server):
    return launch_server(LOG_LEVEL="warning")


@pytest.fixture
def stopped(server):
    """A data folder with one memory and no server on it."""
    server.remember(server.take_key(), "before the backup")
    server.stop()
    return server


def test_a_backup_while_people_write_is_consistent_and_the_server_goes_on(server, tmp_path):
    key, is_over = server.take_key(), threading.Event()
    stored: list[str] = []

    def write() -> None:
        while not is_over.is_set():
            stored.append(server.remember(key, f"note {len(stored)}")["id"])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            before = len(stored)
            result = run(server, "backup", str(tmp_path / f"{number}.sqlite"))
            assert result.returncode == 0, result.stderr
            assert before <= count(tmp_path / f"{number}.sqlite") <= len(stored) + 1
            assert len(stored) > before, "nobody could write meanwhile"
    finally:
        is_over.set()
        writer.join()
    assert "memories" in result.stdout and "MB" in result.stdout
    assert query(server, "SELECT count(*) FROM memories") == [(len(stored),)]


def test_a_backup_is_one_file_for_its_owner_alone(stopped, tmp_path):
    run(stopped, "backup", str(tmp_path / "b.sqlite"))
    assert stat.S_IMODE((tmp_path / "b.sqlite").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if "b.sqlite" in path.name] == ["b.sqlite"]


def test_a_backup_replaces_nothing_unasked(stopped, tmp_path):
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    assert_refused(run(stopped, "backup", str(target)), "--force")
    assert target.read_text() == "mine"
    assert run(stopped, "backup", str(target), "--force").returncode == 0
    assert count(target) == 1
    assert_refused(run(stopped, "backup", str(stopped.data_dir / "storage.sqlite"), "--force"), "in use")
    assert_refused(run(stopped, "backup", str(tmp_path)), "is a folder")
    assert_refused(run(stopped, "backup", str(tmp_path / "no" / "b.sqlite")), "does not exist")


def test_the_secret_key_goes_along_when_asked(stopped, tmp_path):
    plain = run(stopped, "backup", str(tmp_path / "a.sqlite"))
    assert "secret.key" in plain.stdout
    assert not (tmp_path / "a.sqlite.secret.key").exists()
    run(stopped, "backup", str(tmp_path / "b.sqlite"), "--with-secret-key")
    copied = tmp_path / "b.sqlite.secret.key"
    assert copied.read_text() == (stopped.data_dir / "secret.key").read_text()
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600


def test_what_was_backed_up_comes_back_and_what_was_there_is_kept(server, tmp_path):
    key = server.take_key()
    server.change_settings(enabled=True)
    server.remember(key, "worth keeping")
    run(server, "backup", str(tmp_path / "b.sqlite"))
    server.remember(key, "added later")
    server.stop()
    result = run(server, "restore", str(tmp_path / "b.sqlite"))
    assert result.returncode == 0, result.stderr
    [kept] = server.data_dir.glob("storage.before-restore-*.sqlite")
    assert str(kept) in result.stdout
    assert count(kept) == 2
    server.start()
    assert server.list_contents(key) == ["worth keeping"]
    server.remember(key, "and life goes on")
    assert len(server.list_contents(key)) == 2
    preview = server.manage("POST", "/api/memory/retrieve-preview", json={"query": "keeping", "apiKeyId": key.id})
    assert preview.json()["memories"][0]["content"] == "worth keeping"


@pytest.mark.parametrize("running", ["server", "worker"])
def test_nothing_is_restored_under_a_running_process(server, tmp_path, running, redis_server, run_beside):
    key = server.take_key()
    server.remember(key, "one")
    run(server, "backup", str(tmp_path / "b.sqlite"))
    if running == "worker":
        server.stop()
        server.environment["REDIS_URL"] = redis_server.url
        worker = run_beside(server, "worker", LOG_LEVEL="info")
        wait_until(lambda: " ready" in worker.log_text, "the worker did not start", 60)
    assert_refused(run(server, "restore", str(tmp_path / "b.sqlite")), "is running on")
    assert run(server, "restore", str(tmp_path / "b.sqlite"), "--check").returncode == 0
    assert not list(server.data_dir.glob("storage.before-restore-*"))
    if running == "worker":
        worker.kill()
        assert run(server, "restore", str(tmp_path / "b.sqlite")).returncode == 0, "a killed process still counts"


def break_page(path) -> None:
    data = bytearray(path.read_bytes())
    for start in range(4096 * 3, len(data), 4096):
        data[start : start + 64] = b"\xff" * 64
    path.write_bytes(data)


def add_newer_migration(path) -> None:
    connection = DRIVER.dbapi.connect(str(path))
    connection.execute(
        "INSERT INTO django_migrations(app, name, applied) VALUES ('memory', '9999_future', '2030-01-01')"
    )
    connection.commit()
    connection.close()


def break_fulltext(path) -> None:
    connection = DRIVER.dbapi.connect(str(path))
    connection.execute("DELETE FROM memory_fts_data WHERE id > 10")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_text("shopping list\n" * 500), "no SQLite database"),
        (lambda path: path.write_bytes(b""), "no database of OmniRoute"),
        (break_page, "damaged"),
        (break_fulltext, "damaged"),
        (add_newer_migration, "newer version"),
    ],
)
def test_what_is_no_sound_backup_is_refused_and_nothing_changes(stopped, tmp_path, spoil, told):
    good, bad = tmp_path / "good.sqlite", tmp_path / "bad.sqlite"
    run(stopped, "backup", str(good))
    shutil.copyfile(good, bad)
    spoil(bad)
    before = sorted(path.name for path in stopped.data_dir.iterdir())
    assert_refused(run(stopped, "restore", str(bad)), told)
    assert sorted(path.name for path in stopped.data_dir.iterdir()) == before
    assert count(stopped.data_dir / "storage.sqlite") == 1


def test_a_restore_into_an_empty_folder_makes_the_database(stopped, tmp_path):
    run(stopped, "backup", str(tmp_path / "b.sqlite"))
    stopped.environment["DATA_DIR"] = str(tmp_path / "new")
    assert run(stopped, "restore", str(tmp_path / "b.sqlite")).returncode == 0
    assert count(tmp_path / "new" / "storage.sqlite") == 1
    assert_refused(run(stopped, "restore", str(tmp_path / "nothing.sqlite")), "there is no file")
