"""What a large import and its undo ask of the database: statements for batches, not for rows."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import corrections
from memory.transfer import ImportOptions, run_import
from tests.transfer.stored import load, remember

pytestmark = pytest.mark.django_db
ROWS = 100


def make_rows(word):
    return [{"key": f"k{number}", "content": f"{word} {number}"} for number in range(ROWS)]


def count_statements(do):
    with CaptureQueriesContext(
        connection,
    ) as seen:
        result = do()
    return len(seen), result


def test_a_row_that_is_imported_costs_no_statement_of_its_own_and_neither_does_its_undo(write):
    count, report = count_statements(lambda: run_import(write(make_rows("tea")), ImportOptions(owner="A")))
    assert report.plan.counts["new"] == ROWS
    assert count < ROWS
    count, undone = count_statements(lambda: corrections.undo(report.undo_id))
    assert (len(undone.removed), load("A")) == (ROWS, [])
    assert count < ROWS


def test_rows_that_are_written_over_come_back_as_they_were(write):
    for number in range(ROWS):
        remember(f"old {number}", key=f"k{number}")
    before = load("A")
    report = run_import(write([*make_rows("tea"), {"key": "more", "content": "cup"}]), ImportOptions(owner="A"))
    assert (report.plan.counts["update"], report.plan.counts["new"]) == (ROWS, 1)
    count, undone = count_statements(lambda: corrections.undo(report.undo_id))
    assert (undone.restored_count, len(undone.removed)) == (ROWS, 1)
    assert load("A") == before
    # One to write each row, and some for all of them.
    assert count < 2 * ROWS
