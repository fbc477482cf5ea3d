"""Uploads that wait for their confirmation, and imports in the background."""

import io
import os
import time

import pytest

from core.errors import NotFoundError, TooLargeError
from core.jobs import queue as jobs
from core.jobs import runner
from core.jobs.models import Job
from memory import corrections, queue, tasks
from memory.transfer import (
    ImportOptions,
    drop_upload,
    list_uploads,
    open_ticket,
    plan_import,
    read_import_progress,
    run_import,
    stage_upload,
    staging,
    start_import,
)
from tests.transfer.stored import list_contents

pytestmark = pytest.mark.django_db
FILE = b'[{"key": "k1", "content": "tea"}, {"key": "k2", "content": "coffee"}, {"content": ""}]'


def stage(content=FILE, name="mine.json"):
    return stage_upload(io.BytesIO(content), name)


def test_an_upload_can_be_planned_in_one_request_and_imported_in_the_next():
    ticket = stage()
    assert plan_import(ticket, ImportOptions(owner="A")).new == 2
    again = open_ticket(ticket.id)
    assert (again.filename, again.size_bytes) == ("mine.json", len(FILE))
    report = run_import(again, ImportOptions(owner="A"))
    assert (report.plan.new, list_contents()) == (2, ["tea", "coffee"])
    drop_upload(again)
    with pytest.raises(NotFoundError):
        open_ticket(ticket.id)
    assert list_uploads() == []


@pytest.mark.parametrize("name", ["../../x.json", "/etc/passwd", "a\0b", "\ud800", "", "x" * 10_000])
def test_rw_069_the_name_of_an_upload_is_never_a_path(name, data_dir):
    ticket = stage(name=name)
    files = [path for path in data_dir.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {f"{ticket.id}.upload", f"{ticket.id}.json"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert len(open_ticket(ticket.id).filename) <= 80


@pytest.mark.parametrize("ticket_id", ["", "x", "../secret", "0" * 32, "0" * 31 + "/"])
def test_an_id_that_was_not_given_out_opens_nothing(ticket_id):
    for ask in (open_ticket, read_import_progress):
        with pytest.raises(NotFoundError):
            ask(ticket_id)


def test_an_upload_beyond_the_limit_leaves_nothing_behind(settings):
    settings.MAX_IMPORT_BYTES = 10
    with pytest.raises(TooLargeError):
        stage()
    assert list_uploads() == []


def test_an_upload_is_kept_for_an_hour():
    ticket = stage()
    for path in list_uploads():
        os.utime(path, (time.time() - 3601,) * 2)
    fresh = stage(name="fresh")
    with pytest.raises(NotFoundError):
        open_ticket(ticket.id)
    assert open_ticket(fresh.id).filename == "fresh"
    for path in list_uploads():
        os.utime(path, (time.time() - 3601,) * 2)
    tasks.do_upkeep({})
    assert list_uploads() == []


def test_an_import_in_the_background_tells_how_far_it_is_and_what_came_of_it():
    ticket = stage()
    assert read_import_progress(ticket.id).state == "waiting"
    start_import(ticket.id, ImportOptions(owner="A"))
    start_import(ticket.id, ImportOptions(owner="A"))
    assert Job.objects.filter(name=queue.IMPORT).count() == 1
    runner.run_waiting_jobs()
    progress = read_import_progress(ticket.id)
    assert (progress.state, progress.rows_done, progress.rows_total) == ("done", 3, 3)
    assert progress.report is not None
    assert progress.report.undo_id
    assert (progress.report.plan.new, progress.report.plan.problems[0].reason) == (2, "content is empty")
    assert list_contents() == ["tea", "coffee"]


def test_a_file_that_cannot_be_read_is_told_and_not_tried_again():
    ticket = stage(b"[")
    start_import(ticket.id, ImportOptions(owner="A"))
    runner.run_waiting_jobs()
    progress = read_import_progress(ticket.id)
    assert (progress.state, "cut off" in progress.error) == ("failed", True)
    assert Job.objects.get(name=queue.IMPORT).state == Job.State.DONE


def test_a_job_whose_worker_was_killed_ends_the_import_with_one_undo_for_all_of_it(monkeypatch):
    rows = b",".join(b'{"key": "k%d", "content": "c%d"}' % (n, n) for n in range(450))
    ticket = stage(b"[" + rows + b"]")
    start_import(ticket.id, ImportOptions(owner="A"))

    class KilledError(BaseException):
        pass

    note = staging.note_progress

    def note_and_die(ticket_id, done, total):
        note(ticket_id, done, total)
        raise KilledError

    monkeypatch.setattr(staging, "note_progress", note_and_die)
    job = jobs.claim_next(queue.IMPORT)
    with pytest.raises(KilledError):
        tasks.import_upload(job.payload)
    assert len(list_contents()) == 200
    monkeypatch.setattr(staging, "note_progress", note)
    tasks.import_upload(job.payload)
    report = read_import_progress(ticket.id).report
    assert (report.plan.counts["unchanged"], report.plan.new) == (200, 250)
    corrections.undo(report.undo_id)
    assert list_contents() == []


def test_an_import_whose_upload_is_taken_away_ends_with_the_batch_in_hand(monkeypatch):
    rows = b",".join(b'{"key": "k%d", "content": "c%d"}' % (n, n) for n in range(450))
    ticket = stage(b"[" + rows + b"]")
    start_import(ticket.id, ImportOptions(owner="A"))
    note = staging.note_progress

    def note_and_erase(ticket_id, done, total):
        drop_upload(ticket)
        note(ticket_id, done, total)

    monkeypatch.setattr(staging, "note_progress", note_and_erase)
    runner.run_waiting_jobs()
    assert len(list_contents()) == 200
    assert Job.objects.get(name=queue.IMPORT).state == Job.State.DONE
