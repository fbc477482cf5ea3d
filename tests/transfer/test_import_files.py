"""Files as they come: sound in other ways than expected, broken, large, wrapped. What can't be read changes nothing."""

import io
import json
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidRequestError, TooLargeError
from memory.transfer import json_stream
from memory.transfer.json_stream import BrokenFileError, JsonStream
from tests.transfer.stored import count, list_contents, load, plan, run

pytestmark = pytest.mark.django_db
ROWS = [{"key": f"k{n}", "content": f"content {n}"} for n in range(1, 101)]


def zip_files(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


# --- sound ---
@pytest.mark.parametrize(
    "content",
    [
        json.dumps(ROWS),
        "\ufeff" + json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({"memories": ROWS}),
        json.dumps({"exported": "yesterday", "memories": ROWS}, indent=1),
        json.dumps({"data": ROWS, "total": 100}),
        "\n".join(json.dumps(row) for row in ROWS),
        "\ufeff" + "\r\n\r\n".join(json.dumps(row) for row in ROWS) + "\r\n",
    ],
    ids=["list", "byte order mark", "indented", "wrapped", "wrapped, indented", "answer of the API", "lines", "CRLF"],
)
def test_rw_069_every_usual_wrapping_is_read(write, content):
    assert count(run(write(content))) == {"new": 100}
    assert len(list_contents()) == 100


@pytest.mark.parametrize("content", ['{"key": "k", "content": "c"}', '{\n "key": "k",\n "content": "c"\n}\n'])
def test_a_single_object_is_one_memory(write, content):
    assert count(run(write(content))) == {"new": 1}


@pytest.mark.parametrize("content", ["[]", '{"memories": []}', " [ ] \n"])
def test_rw_069_an_empty_list_is_no_error(write, content):
    done = run(write(content))
    assert (done.total, count(done)) == (0, {})


def test_rw_069_a_zip_with_one_file_is_that_file(write):
    assert count(run(write(zip_files(**{"backup.json": json.dumps(ROWS)}), "x.bin"))) == {"new": 100}


# --- a row is bad ---
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"type": "x"}, "type is 'x'"),
        ({"type": 5}, "type is 'int'"),
        ({"content": ""}, "content is empty"),
        ({"content": " \n"}, "content is empty"),
        ({"content": None}, "content is missing"),
        ({"content": 5}, "content is no text"),
        ({"content": "x" * 2_000_000}, "more than 100000"),
        ({"content": "a\0b"}, "NUL"),
        ({"content": "\ud800"}, "broken characters"),
        ({"key": "k" * 513}, "key has 513 characters"),
        ({"key": ["k"]}, "key is no text"),
        ({"sessionId": 5}, "sessionId is no text"),
        ({"metadata": []}, "metadata is no object"),
        ({"metadata": {"a": "x" * 140_000}}, "metadata is larger"),
        ({"metadata": {"a": float("nan")}}, "not finite"),
        ({"metadata": {"a": [float("inf")]}}, "not finite"),
        ({"metadata": {"a": 10**5000}}, "too long"),
        ({"metadata": {"\ud800": 1}}, "broken surrogate"),
        ({"metadata": json.loads('{"a":' * 60 + "1" + "}" * 60)}, "nested"),
        ({"createdAt": "yesterday"}, "createdAt is no date"),
        ({"updatedAt": {}}, "updatedAt is no date"),
        ({"expiresAt": "31.12.2026"}, "expiresAt is no date"),
    ],
)
def test_rw_069_a_bad_row_is_told_with_its_number_and_all_others_are_imported(write, fields, reason, settings):
    sys.set_int_max_str_digits(0)
    try:
        content = json.dumps([*ROWS[:56], {**ROWS[56], **fields}, *ROWS[57:]])
    finally:
        sys.set_int_max_str_digits(4300)
    done = run(write(content))
    assert count(done) == {"new": 99, "invalid": 1}
    [problem] = done.problems
    assert (problem.row, problem.outcome) == (57, "invalid")
    assert reason in problem.reason
    assert "content 57" not in list_contents()


def test_a_line_that_is_no_json_is_one_bad_row(write):
    lines = [json.dumps(row) for row in ROWS]
    lines[56] = lines[56][:-5]
    lines[10] = '"a text"'
    done = run(write("\n".join(lines)))
    assert count(done) == {"new": 98, "invalid": 2}
    assert [problem.row for problem in done.problems] == [11, 57]


def test_an_element_that_is_no_object_is_one_bad_row(write):
    assert count(run(write([ROWS[0], None, "x", [], ROWS[1]]))) == {"new": 2, "invalid": 3}


def test_the_first_hundred_problems_are_told_and_all_are_counted(write):
    done = run(write([{"content": ""}] * 250))
    assert (len(done.problems), done.counts["invalid"]) == (100, 250)


# --- the file is bad ---
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"null", "not recognised"),
        (b'"hello"', "not recognised"),
        (b"5", "not recognised"),
        (b"hello world", "not recognised"),
        (b"[1, 2]", "not recognised"),
        (b"{}", "not recognised"),
        (b'[{"colour": "red"}]', "not recognised"),
        (json.dumps(ROWS).encode()[:-1], "cut off"),
        (json.dumps(ROWS).encode()[:-20], "no sound JSON"),
        (json.dumps({"memories": ROWS}).encode()[:-1], "cut off"),
        (json.dumps(ROWS).encode() + b"]", "after the end"),
        (b'[{"content": "a"} {"content": "b"}]', "no sound JSON"),
        (b'[{"content": ' + b"[" * 100_000 + b"]", "too deep"),
        (json.dumps(ROWS).encode("utf-16"), "UTF-8"),
        (json.dumps(ROWS).encode("utf-16-le"), "UTF-8"),
        (json.dumps(ROWS, ensure_ascii=False).encode() + b"\xff", "UTF-8"),
        (b'[{"content": "caf\xe9"}]', "UTF-8"),
        (b"SQLite format 3\0" + b"x" * 5000, "damaged"),
        (b"PK\x03\x04nonsense", "zip is damaged"),
        (zip_files(**{"readme.txt": "x"}), "zip holds no"),
        (zip_files(**{"a.json": "[]", "b.json": "[]"}), "zip holds no"),
        (b"id,name\n1,x\n", "not recognised"),
    ],
)
def test_rw_069_a_file_that_cannot_be_read_is_refused_with_a_reason_and_changes_nothing(write, content, reason):
    with pytest.raises(InvalidRequestError, match=reason):
        run(write(content))
    assert load() == []


def test_an_unknown_format_and_one_that_the_file_is_not_of_are_refused(write):
    with pytest.raises(InvalidRequestError):
        plan(write(ROWS), format="xml")
    with pytest.raises(BrokenFileError, match="none of the format mem0"):
        plan(write(ROWS), format="mem0")


# --- large, or hostile ---
def test_rw_069_a_file_beyond_the_limit_is_refused(write, settings):
    settings.MAX_IMPORT_BYTES = 1000
    with pytest.raises(TooLargeError):
        run(write(ROWS))


def test_a_zip_that_grows_beyond_the_limit_is_refused_whatever_it_says_of_itself(write, settings):
    settings.MAX_IMPORT_BYTES = 100_000
    bomb = zip_files(**{"x.json": b'[{"content": "' + b"a" * 50_000_000 + b'"}]'})
    assert len(bomb) < 100_000
    with pytest.raises(TooLargeError):
        run(write(bomb))


def test_what_the_members_of_a_zip_hold_together_is_bounded(write, settings):
    settings.MAX_IMPORT_BYTES = 1_000_000
    members = {f"memories/{number}.json": b'[{"content": "tea"}' + b" " * 300_000 + b"]" for number in range(4)}
    with pytest.raises(TooLargeError):
        run(write(zip_files(**members)))
    members.popitem()
    assert run(write(zip_files(**members))).total == 3


def test_a_zip_of_very_many_files_is_refused_before_they_are_read(write):
    members = {f"memories/{number}.json": "[]" for number in range(101)}
    with pytest.raises(TooLargeError, match="more than 100 files"):
        run(write(zip_files(**members)))


def test_names_in_a_zip_are_never_used_for_writing(write, tmp_path):
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    file = write(
        zip_files(**{"../../evil/conversations.json": "[]", "/etc/memories.json": "[]", "x.json": "[]"}), "z.zip"
    )
    run(file)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} - before == {file}


LARGE = """
import json, os, resource, sys
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from pathlib import Path
from memory.transfer import ImportOptions, plan_import
small, large = Path(sys.argv[1]), Path(sys.argv[2])
plan_import(small, ImportOptions(owner="A"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
plan = plan_import(large, ImportOptions(owner="A"))
print(json.dumps([plan.total, plan.new, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]))
"""


def test_rw_069_a_file_of_60_mb_is_read_piece_by_piece(write, tmp_path):
    rows = 1200
    large = tmp_path / "large.json"
    with large.open("w") as file:
        file.write('{"memories": [')
        file.write(",".join(json.dumps({"key": f"k{n}", "content": "a" * 50_000}) for n in range(rows)))
        file.write("]}")
    assert large.stat().st_size > 60_000_000
    environment = {"DATA_DIR": str(tmp_path / "d"), "DJANGO_SETTINGS_MODULE": "omniroute.settings", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", LARGE, str(write(ROWS)), str(large)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    total, new, grown_kilobytes = json.loads(done.stdout.splitlines()[-1])
    assert (total, new) == (rows, rows)
    unit = 1024 if sys.platform == "darwin" else 1
    assert grown_kilobytes / unit < 60_000


# --- tables ---
def test_a_table_is_read_with_any_usual_delimiter_and_spelling(write):
    for delimiter in ",;\t":
        text = delimiter.join(["Content", "KEY", "session_id", "metadata", "Created At", "mood"]) + "\r\n"
        cells = ['"one, two; three\n""four"""', "k", "s1", '"{""a"": 1}"', "2025-01-02 03:04:05", "good"]
        done = run(write(text + delimiter.join(cells) + "\r\n\r\n", "x.csv"), owner=f"owner {delimiter}")
        assert count(done) == {"new": 1}
        [record] = load(f"owner {delimiter}")
        assert (record.content, record.key, record.session_id) == ('one, two; three\n"four"', "k", "s1")
        assert record.metadata == {"a": 1}
        assert record.created_at == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
        assert done.notes[-1] == "Columns that are not read: mood"


def test_bad_rows_of_a_table_are_told(write):
    text = "content,metadata\nfine,\nbad,{\nmore,cells,here\n" + "x" * 200_000 + ",\n,\nlast,\n"
    done = run(write(text))
    assert count(done) == {"new": 2, "invalid": 3}
    assert [problem.row for problem in done.problems] == [2, 3, 4]


def test_a_table_that_has_no_column_of_contents_is_refused(write):
    with pytest.raises(BrokenFileError, match="no column"):
        plan(write("a,b\n1,2\n"), format="csv")


# --- the reader of JSON ---
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(values, max_size=8), st.integers(1, 40), st.sampled_from([None, 1]))
def test_json_read_in_pieces_of_any_size_is_what_it_is_as_a_whole(elements, piece, indent):
    text = json.dumps(elements, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK_CHARACTERS", piece)
        stream = JsonStream(io.StringIO(text))
        assert list(stream.read_array()) == elements
        stream.end()
    named = {str(n): element for n, element in enumerate(elements)}
    stream = JsonStream(io.StringIO(json.dumps(named, indent=indent)))
    assert {name: stream.read_value() for name in stream.read_members()} == named


@given(st.lists(values, min_size=1, max_size=5), st.data())
def test_json_that_was_cut_anywhere_is_found_out(elements, data):
    text = json.dumps(elements)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(BrokenFileError):
        list(JsonStream(io.StringIO(cut)).read_array())
