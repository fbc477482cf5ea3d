"""What reading a file leaves behind and may cost: nothing stays open, and a zip is judged before it is read."""

import gc
import io
import json
import struct
import tracemalloc
import zipfile

import pytest

from core.errors import InvalidRequestError, TooLargeError
from memory.transfer import documents
from memory.transfer.json_stream import BrokenFileError
from tests.transfer.stored import count, run

pytestmark = pytest.mark.django_db
ROWS = [{"key": f"k{n}", "content": f"content {n}"} for n in range(100)]


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (json.dumps(ROWS), {"new": 100}),
        (json.dumps({"memories": ROWS}), {"new": 100}),
        ("key,content\n" + "".join(f"k{n},content {n}\n" for n in range(100)), {"new": 100}),
        ("\n".join(json.dumps(row) for row in ROWS), {"new": 100}),
        (json.dumps(ROWS)[:-10], None),
        ("key,content\n" + "k,c\n" * 20 + "k," + "\udcff" * 3, None),
    ],
    ids=["list", "wrapped", "table", "lines", "cut off", "not UTF-8"],
)
def test_a_file_that_was_read_is_closed_by_who_opened_it_and_by_nobody_else(write, content, outcome):
    file = write(content.encode("utf-8", "surrogateescape"))
    if outcome is None:
        with pytest.raises(InvalidRequestError):
            run(file)
    else:
        assert count(run(file)) == outcome
    gc.collect()


# --- zips: what says how many files are in one is at its end, and need not be true ---
def zip_many(count: int) -> bytes:
    """A zip that lists so many empty files beside the one with memories."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number:x}.png", b"")
        archive.writestr("memories.json", json.dumps(ROWS))
    return packed.getvalue()


def test_a_zip_that_lists_too_many_files_is_refused_with_a_number(write, monkeypatch):
    monkeypatch.setattr(documents, "MAX_MEMBERS", 20)
    assert count(run(write(zip_many(19)))) == {"new": 100}
    with pytest.raises(TooLargeError, match="more than 20 files, or"):
        run(write(zip_many(20)))


def test_a_zip_that_says_it_holds_few_files_and_lists_many_is_refused_too(write, monkeypatch):
    monkeypatch.setattr(documents, "MAX_MEMBERS", 20)
    packed = bytearray(zip_many(50))
    end = packed.rindex(b"PK\x05\x06")
    struct.pack_into("<2H", packed, end + 8, 1, 1)
    with pytest.raises(TooLargeError, match="more than 20 files, or"):
        run(write(bytes(packed)))


def test_a_list_of_files_that_is_long_by_its_names_is_refused_unread(write, monkeypatch):
    monkeypatch.setattr(documents, "MAX_DIRECTORY_BYTES", 2000)
    with pytest.raises(TooLargeError, match="more than 20,000 files, or very long names"):
        run(write(zip_many(50)))


def test_a_zip_of_a_later_kind_is_refused_in_words(write):
    packed = bytearray(zip_many(1))
    struct.pack_into("<H", packed, packed.index(b"PK\x01\x02") + 6, 990)
    with pytest.raises(BrokenFileError, match="packed in a way"):
        run(write(bytes(packed)))


def test_very_many_listed_files_cost_no_memory(write):
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, *[0] * 7, 1, *[0] * 6) + b"a"
    listed = entry * 200_000
    packed = b"PK\x03\x04" + bytes(26) + listed
    file = write(packed + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(listed), 30, 0))
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        documents.list_documents(file)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 1_000_000
