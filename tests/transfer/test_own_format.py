"""Our own format: everything that goes out comes back as it was, and damage is found out."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InvalidRequestError
from memory import services
from memory.config import load_settings
from memory.models import HEALTH_CHECK_OWNER, Memory
from memory.preview import preview_retrieval
from memory.records import MEMORY_TYPES, MemoryFilter, MemoryRecord, SearchQuery
from memory.transfer import ImportOptions, RefusedImportError, export_array, export_jsonl, run_import
from memory.transfer.runs import run as run_strictly
from tests.engine import do_jobs, use_static_model
from tests.transfer.stored import count, load, plan, remember, run

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 3, 4, 5, 6, 7, 891234, tzinfo=UTC)


def export(owner=None, **filters):
    return b"".join(export_jsonl(MemoryFilter(owner, **filters)))


def wipe():
    Memory.objects.owned_by(None).delete()


def tell(records):
    """Everything but the number that indexes are keyed by."""
    return [replace(record, memory_id=0) for record in records]


# --- lossless ---
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
contents = texts.filter(lambda text: text.strip())
moments = st.datetimes(datetime(1971, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
metadata = st.dictionaries(
    texts, st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=5)
)
records = st.builds(
    MemoryRecord,
    memory_id=st.just(0),
    id=st.uuids().map(str),
    owner=st.sampled_from(["A", "B", ""]),
    session_id=texts,
    type=st.sampled_from(MEMORY_TYPES),
    key=texts.map(str.strip) | st.just(""),
    content=contents,
    metadata=metadata,
    created_at=moments,
    updated_at=moments,
    expires_at=st.none() | st.datetimes(timezones=st.just(UTC)),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(records, max_size=8, unique_by=lambda record: (record.owner, record.key or record.id)))
def test_whatever_is_stored_comes_back_as_it_was(write, stored):
    wipe()
    services.restore(stored)
    before = tell(load(None))
    file = write(export())
    wipe()
    done = run(file, "", keeps_owners=True)
    assert count(done) == ({"new": len(stored)} if stored else {})
    assert done.is_intact
    assert sorted(tell(load(None)), key=str) == sorted(before, key=str)
    assert count(run(file, "", keeps_owners=True)) == ({"unchanged": len(stored)} if stored else {})


@pytest.mark.usefixtures("fresh_engine")
@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_after_export_wipe_and_import_the_same_is_found_in_the_same_order(write, strategy):
    use_static_model()
    for number in range(12):
        remember(f"tea coffee python {'green ' * (number % 4)}{number}", key=f"k{number}", metadata={"number": number})
    remember("tea of another", owner="B")
    Memory.objects.owned_by("A").filter(key__in=["k3", "k4", "k5"]).update(created_at=MOMENT)
    do_jobs()
    query = SearchQuery("A", "green tea", strategy, load_settings().retention_days)

    def ask():
        preview = preview_retrieval(query, max_tokens=2000)
        return [(it.hit.record.id, round(it.hit.score, 6), it.line) for it in preview.retrieval.chosen]

    before = ask()
    assert len(before) > 3
    file = write(export())
    wipe()
    assert ask() == []
    run(file, "", keeps_owners=True)
    do_jobs()
    assert ask() == before


def test_the_export_holds_the_owner_asked_for_the_filters_and_nothing_of_the_self_test():
    remember("of A", metadata={"category": "x"})
    remember("of A too", session_id="s")
    remember("of B", owner="B")
    remember("probe", owner=HEALTH_CHECK_OWNER)

    def read(**filters):
        return [json.loads(line)["content"] for line in export(**filters).splitlines()[1:-1]]

    assert read() == ["of A", "of A too", "of B"]
    assert read(owner="A") == ["of A", "of A too"]
    assert read(owner="A", session_id="s") == ["of A too"]
    assert read(owner="A", category="x") == ["of A"]


def test_more_memories_than_one_slice_come_out_once_each_in_the_order_of_storing():
    services.restore(
        [MemoryRecord(0, f"id-{n}", "A", "", "factual", "", f"c{n}", {}, MOMENT, MOMENT, None) for n in range(1203)]
    )
    lines = export("A").splitlines()
    assert [json.loads(line)["content"] for line in lines[1:-1]] == [f"c{n}" for n in range(1203)]
    assert json.loads(lines[-1])["count"] == 1203


def test_an_empty_export_is_a_whole_file_too(write):
    file = write(export())
    done = run(file)
    assert (done.total, done.is_intact) == (0, True)
    assert json.loads(b"".join(export_array(MemoryFilter(None)))) == []


def test_the_array_is_the_apis_memory_objects(write):
    stored = remember("tea", key="k", metadata={"a": 1}, session_id="s")
    [told] = json.loads(b"".join(export_array(MemoryFilter(None))))
    assert (told["id"], told["apiKeyId"], told["metadata"]) == (stored.id, "A", {"a": 1})
    wipe()
    run(write([told]))
    [back] = load()
    times = {"created_at": MOMENT, "updated_at": MOMENT, "memory_id": 0}
    assert replace(back, **times) == replace(stored, **times)


# --- whole, or not ---
def test_the_closing_line_holds_the_checksum_of_all_before_it():
    remember("tea")
    body, end = export().rsplit(b"\n", 2)[0] + b"\n", json.loads(export().splitlines()[-1])
    assert end["sha256"] == hashlib.sha256(body).hexdigest() or end["count"] == 1
    text = export()
    last = text.rstrip(b"\n").rfind(b"\n") + 1
    assert json.loads(text[last:])["sha256"] == hashlib.sha256(text[:last]).hexdigest()


@pytest.mark.parametrize(
    ("damage", "note"),
    [
        (lambda text: text[: text.rstrip(b"\n").rfind(b"\n") + 1], "cut off"),
        (lambda text: text[:-200], "cut off"),
        (lambda text: text.replace(b"content 1", b"content 9"), "checksum"),
        (lambda text: b"".join(line + b"\n" for line in text.splitlines() if b"content 1" not in line), "says 3"),
    ],
    ids=["no closing line", "half a line", "changed", "a line less"],
)
def test_a_damaged_file_is_pointed_out_and_refused_by_a_strict_import(write, damage, note):
    for n in range(3):
        remember(f"content {n}", key=f"k{n}")
    file = write(damage(export()))
    wipe()
    planned = plan(file)
    assert planned.is_intact is False
    assert note in planned.notes[0]
    with pytest.raises(RefusedImportError):
        run_strictly(file, ImportOptions(owner="A"), label="x", is_strict=True)
    assert load() == []


def test_a_strict_import_refuses_a_bad_row_and_writes_nothing(write):
    file = write([{"content": "fine"}, {"content": ""}])
    with pytest.raises(RefusedImportError, match="row 2: content is empty"):
        run_strictly(file, ImportOptions(owner="A"), label="x", is_strict=True)
    assert load() == []


def test_a_file_of_a_newer_version_is_refused(write):
    with pytest.raises(InvalidRequestError, match="newer version"):
        run_import(write('{"format":"omniroute-memory","version":2}\n'), ImportOptions(owner="A"))


def test_expiry_and_session_and_type_survive(write):
    expires_at = MOMENT + timedelta(days=3650)
    stored = remember("tea", key="k", type="procedural", session_id="s1", expires_at=expires_at)
    file = write(export())
    wipe()
    run(file)
    [back] = load()
    assert (back.type, back.session_id, back.expires_at, back.id) == ("procedural", "s1", expires_at, stored.id)
