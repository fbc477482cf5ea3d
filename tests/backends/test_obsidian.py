"""Memories as notes of a vault that people work in."""

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from memory.backends.base import BackendError, MemoryChanges
from memory.backends.obsidian import DEFAULT_FOLDER, ObsidianBackend
from memory.backends.obsidian_notes import name_file_of_key, name_folder, read_note, write_note
from memory.records import MEMORY_TYPES, MemoryDraft, MemoryFilter, MemoryRecord, SearchQuery
from tests.backends.conftest import obsidian_config
from tests.backends.obsidian_vault import File, ObsidianVault

pytestmark = pytest.mark.django_db


def remember(backend: ObsidianBackend, key: str = "tea", content: str = "green tea", **fields: Any) -> MemoryRecord:
    return backend.create(MemoryDraft("A", key, content, **fields))


def only_path(vault: ObsidianVault) -> str:
    [path] = vault.files
    return path


def reopen(vault: ObsidianVault, **fields: Any) -> ObsidianBackend:
    """Another process, which has seen nothing yet."""
    return ObsidianBackend(obsidian_config(vault, **fields))


# --- the note ----------------------------------------------------------------------------------------------


def test_a_note_is_readable_by_people_and_by_obsidian(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    record = remember(obsidian, "favourite drink", "Green tea,\nevery day", metadata={"category": "preference"})
    path = only_path(vault)
    assert path.startswith(f"{DEFAULT_FOLDER}/A-")
    assert path.split("/")[-1].startswith("favourite-drink-")
    _, front_matter, body = vault.files[path].text.split("---\n", 2)
    assert body == "Green tea,\nevery day"
    fields = yaml.safe_load(front_matter)
    assert (fields["omniroute-memory"], fields["owner"], fields["key"]) == (record.id, "A", "favourite drink")
    assert (fields["type"], fields["metadata"]) == ("factual", '{"category": "preference"}')


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@example(
    texts=("\x85", "yes", "a: b\u2028'c'\\n # d", "---\n\x85"),
    kind="factual",
    metadata={"\x85'": "\u2029\ufeff"},
    moments=(datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC), None),
)
@given(
    texts=st.tuples(TEXTS, TEXTS, TEXTS, TEXTS),
    kind=st.sampled_from(MEMORY_TYPES),
    metadata=st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(), st.booleans(), st.none()), max_size=4),
    moments=st.tuples(MOMENTS, MOMENTS, st.none() | MOMENTS),
)
def test_any_memory_can_be_written_as_a_note_and_read_again(
    texts: tuple[str, ...], kind: Any, metadata: Any, moments: Any
) -> None:
    owner, session, key, content = texts
    created_at, updated_at, expires_at = moments
    record = MemoryRecord(-1, "id", owner, session, kind, key, content, metadata, created_at, updated_at, expires_at)
    note = read_note(write_note(record))
    assert note is not None
    fields = [name for name in MemoryRecord.__slots__ if name != "memory_id"]
    assert [getattr(note.record, name) for name in fields] == [getattr(record, name) for name in fields]


@given(owner=TEXTS, key=TEXTS)
def test_names_are_safe_in_every_file_system(owner: str, key: str) -> None:
    for name in (name_folder(owner), name_file_of_key(owner, key)):
        assert not set('\\/:*?"<>|#^[]\0\n') & set(name)
        assert 8 < len(name.encode()) <= 255
        assert not name.startswith(".")


def test_words_that_yaml_reads_as_something_else_stay_words() -> None:
    """Obsidian's editor writes them without quotes."""
    text = (
        "---\nomniroute-memory: 0x1F\nowner: yes\nkey: 12:30\nsession: 1e3\ntype: factual\ncreated: 2024-01-02\n---\nno"
    )
    note = read_note(text)
    assert note is not None
    record = note.record
    assert (record.id, record.owner, record.key, record.session_id, record.content) == (
        "0x1F",
        "yes",
        "12:30",
        "1e3",
        "no",
    )


@pytest.mark.parametrize(
    "text",
    [
        "just a note",
        "---\ntitle: mine\n---\nbody",
        "---\nomniroute-memory: x\n",
        "---\nomniroute-memory: x\ncreated: yesterday\n---\nbody",
        "---\nomniroute-memory: x\ncreated: 2024-01-02\ntype: opinion\n---\nbody",
        "---\nomniroute-memory: x\ncreated: 2024-01-02\nexpires: soon\n---\nbody",
        "---\n!!python/object/apply:os.system ['true']\n---\nbody",
        "---\nomniroute-memory: {a: [}\n---\nbody",
        "---\nomniroute-memory: x\ncreated: 2024-01-02\nmetadata: {a: &a [x, x], b: [*a, *a]}\n---\nbody",
        "---\nomniroute-memory: x\ncreated: 2024-01-02\nmetadata: &a {b: *a}\n---\nbody",
        "---\n- a\n---\n",
        "",
    ],
)
def test_other_notes_are_no_memories(text: str) -> None:
    assert read_note(text) is None


# --- people in the vault -----------------------------------------------------------------------------------


def test_what_a_person_writes_is_seen(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    record = remember(obsidian)
    path = only_path(vault)
    edited_at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    vault.edit(path, vault.files[path].text.replace("green tea", "black tea"), mtime=int(edited_at.timestamp() * 1000))
    for backend in (obsidian, reopen(vault)):
        found = backend.get(record.id)
        assert found is not None
        assert (found.content, found.updated_at, found.created_at) == ("black tea", edited_at, record.created_at)
        hits = backend.search(SearchQuery("A", "black", "hybrid", 30)).hits
        assert [hit.record.content for hit in hits] == ["black tea"]


def test_a_fact_that_a_person_rewrites_is_no_longer_told_as_a_quotation(
    vault: ObsidianVault, obsidian: ObsidianBackend
) -> None:
    record = remember(obsidian, metadata={"source": "user_message", "polarity": "negative"})
    path = only_path(vault)
    assert obsidian.find_by_key("A", "tea") == record
    vault.edit(path, vault.files[path].text.replace("green tea", "I love rooibos"))
    found = obsidian.get(record.id)
    assert found is not None
    assert dict(found.metadata) == {"source": "operator", "polarity": "negative"}


def test_fields_that_a_person_adds_survive_an_update(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    record = remember(obsidian)
    path = only_path(vault)
    own = "tags:\n  - drinks\naliases: [cha, 'te']\nrating: 05\n"
    vault.edit(path, vault.files[path].text.replace("type: factual\n", f"type: factual\n{own}"))
    obsidian.update(record.id, MemoryChanges(content="oolong"))
    assert own in vault.files[only_path(vault)].text
    assert obsidian.update(record.id, MemoryChanges(content="oolong again")) is not None
    assert vault.files[only_path(vault)].text.count("rating: 05") == 1


def test_a_note_that_a_person_moves_stays_where_it_is(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    record = remember(obsidian)
    vault.move(only_path(vault), f"{DEFAULT_FOLDER}/Kitchen/My tea.md")
    for backend in (obsidian, reopen(vault)):
        assert backend.find_by_key("A", "tea") == backend.get(record.id) == record
    obsidian.create(MemoryDraft("A", "tea", "black tea"))
    obsidian.update(record.id, MemoryChanges(key="drink"))
    assert list(vault.files) == [f"{DEFAULT_FOLDER}/Kitchen/My tea.md"]
    assert obsidian.delete(record.id) is True
    assert vault.files == {}


def test_notes_outside_the_folder_and_without_front_matter_are_left_alone(
    vault: ObsidianVault, obsidian: ObsidianBackend
) -> None:
    record = remember(obsidian)
    text = vault.files[only_path(vault)].text
    vault.edit("Diary/today.md", text.replace(record.id, "another"))
    vault.edit(f"{DEFAULT_FOLDER}/readme.md", "owner: A is written here\n")
    vault.edit(f"{DEFAULT_FOLDER} 2/tea.md", text.replace(record.id, "third"))
    for backend in (obsidian, reopen(vault)):
        assert [it.id for it in backend.list(MemoryFilter(None), limit=9, offset=0).records] == [record.id]
    assert obsidian.delete_matching(MemoryFilter(None)) == 1
    assert len(vault.files) == 3


def test_somebody_elses_note_is_never_written_over(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    path = f"{DEFAULT_FOLDER}/{name_folder('A')}/{name_file_of_key('A', 'tea')}"
    vault.edit(path, "my own note")
    record = remember(obsidian)
    assert vault.files[path].text == "my own note"
    assert obsidian.find_by_key("A", "tea") == record


def test_a_copied_note_counts_once(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    record = remember(obsidian)
    vault.edit(f"{DEFAULT_FOLDER}/copy.md", vault.files[only_path(vault)].text)
    assert obsidian.count(MemoryFilter("A")) == {"factual": 1}
    assert reopen(vault).get(record.id) == record


def test_a_new_note_is_there_before_obsidian_has_noticed_it(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    vault.is_index_lagging = True
    record = remember(obsidian)
    assert obsidian.get(record.id) == record
    assert obsidian.create(MemoryDraft("A", "tea", "black tea")).id == record.id
    assert reopen(vault).find_by_key("A", "tea") == obsidian.get(record.id)
    assert len(vault.files) == 1
    vault.files[only_path(vault)] = File(vault.files[only_path(vault)].text.replace("black", "white"), 1)
    found = obsidian.get(record.id)
    assert found is not None
    assert found.content == "white tea"


# --- the plugin --------------------------------------------------------------------------------------------


def test_the_folder_can_be_another(vault: ObsidianVault, db: None) -> None:
    record = remember(reopen(vault, folder="Ablage/Gedächtnis 🧠/"))
    assert only_path(vault).startswith("Ablage/Gedächtnis 🧠/A-")
    assert reopen(vault, folder="Ablage/Gedächtnis 🧠").get(record.id) == record


def test_a_wrong_key_and_a_wrong_service_are_told(vault: ObsidianVault, db: None) -> None:
    wrong = reopen(vault, apiKey="wrong")
    assert wrong.health().error == "Obsidian refuses the key"
    with pytest.raises(BackendError, match="refuses the key"):
        remember(wrong)
    assert vault.files == {}
    nowhere = reopen(vault, baseUrl="http://127.0.0.1:9")
    assert nowhere.health().error == "Obsidian could not be reached"


def test_the_key_goes_with_every_request(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    remember(obsidian)
    obsidian.list(MemoryFilter("A"), limit=1, offset=0)
    assert {seen.headers["authorization"] for seen in vault.seen} == {"Bearer obsidian-key-of-the-tests"}


def test_a_search_asks_once_and_for_the_owners_notes_only(vault: ObsidianVault, obsidian: ObsidianBackend) -> None:
    remember(obsidian)
    obsidian.create(MemoryDraft("0b7c", "tea", "theirs"))
    vault.seen.clear()
    obsidian.search(SearchQuery("0b7c", "tea", "hybrid", 30))
    assert [(seen.method, seen.path) for seen in vault.seen] == [("POST", "/search/")]
    assert b'"0b7c"' in vault.seen[0].body
