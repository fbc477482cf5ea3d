"""Other programs' files, in small: each is found out by what is in it, and what it says arrives."""

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests.transfer.other_programs import (
    CHATGPT,
    CLAUDE_CONVERSATIONS,
    CLAUDE_MEMORIES,
    LIBRECHAT,
    MEM0,
    MONGO_LINES,
    OPEN_WEBUI,
    converse,
    speak,
)
from tests.transfer.stored import count, list_contents, load, plan, run

pytestmark = pytest.mark.django_db


def by_content(owner="A"):
    return {record.content: record for record in load(owner)}


# --- memories ---
def test_mem0(write):
    file = write(MEM0)
    done = run(file)
    assert (done.format, count(done)) == ("mem0", {"new": 2})
    first, second = load()
    assert (first.content, first.key) == ("Is allergic to nuts", "mem0:892db2ae-06d9-49e5-8b3e-585ef9b85b8e")
    assert first.metadata == {
        "room": "kitchen",
        "originalSource": "chat",
        "categories": ["health"],
        "source": "import",
        "importedFrom": "mem0",
    }
    assert first.created_at == datetime(2025, 2, 26, 7, 14, 28, 123456, tzinfo=UTC)
    assert (second.session_id, second.metadata["agent_id"]) == ("run-7", "ops")
    assert done.owners == {"alice": 1, "ops": 1}
    assert count(run(file)) == {"unchanged": 2}


def test_a_memory_that_was_changed_in_mem0_is_changed_here_too(write):
    run(write(MEM0))
    later = (timezone.now() + timedelta(seconds=-0.001)).isoformat()
    edited = [MEM0["results"][0] | {"memory": "Is allergic to peanuts", "updated_at": later}]
    assert count(plan(write(edited), overwrites=True)) == {"update": 1}


def test_memories_of_other_programs_count_as_said_now_and_are_told_apart_from_extracted_facts(write):
    run(write(MEM0))
    for record in load():
        assert timezone.now() - record.updated_at < timedelta(minutes=1)
        assert record.metadata["source"] == "import"


def test_open_webui(write):
    done = run(write(OPEN_WEBUI))
    assert (done.format, count(done)) == ("open-webui", {"new": 1})
    [record] = load()
    assert (record.content, record.key) == ("Lives in Vilnius", "open-webui:b3d1")
    assert record.created_at == datetime.fromtimestamp(1720000000, UTC)
    assert done.owners == {"u1": 1}


def test_librechat(write):
    done = run(write(LIBRECHAT))
    assert (done.format, count(done)) == ("librechat", {"new": 1})
    [record] = load()
    assert (record.content, record.key) == ("Prefers answers in Lithuanian", "preferred_language")


def test_librechat_from_mongoexport(write):
    done = run(write(MONGO_LINES))
    assert (done.format, count(done), done.owners) == ("librechat", {"new": 2}, {"64af": 2})
    assert {record.created_at for record in load()} == {datetime(2025, 5, 6, 7, 8, 9, tzinfo=UTC)}


def test_chatgpt_remembers_its_newest_list_and_what_was_written_after_it(write):
    done = run(write(CHATGPT, "conversations.json"))
    assert (done.format, count(done)) == ("chatgpt", {"new": 3})
    assert list_contents() == ["Is a nurse", "Lives in Oslo", "User writes Rust at work"]
    assert by_content()["Lives in Oslo"].created_at == datetime(2024, 5, 2, tzinfo=UTC)
    assert "Conversations left out: 2" in " ".join(done.notes)


def test_chatgpts_conversations_are_read_when_they_are_wanted_and_only_what_the_person_said(write):
    file = write(CHATGPT, "conversations.json")
    done = run(file, reads_conversations=True)
    facts = {record.key: record for record in load() if record.metadata["source"] == "user_message"}
    assert "preference:tabs_over_spaces" in facts
    assert "preference:hiking" in facts
    assert not any("Postgres" in record.content for record in load())
    fact = facts["preference:hiking"]
    assert (fact.session_id, fact.metadata["polarity"]) == ("c2", "positive")
    assert fact.metadata["extractedAt"] == datetime.fromtimestamp(1714520009, UTC).isoformat()
    assert "in 2 messages" in " ".join(done.notes)
    before = load()
    assert set(count(run(file, reads_conversations=True))) == {"unchanged"}
    assert load() == before


def test_of_two_things_said_about_the_same_the_later_one_counts_wherever_it_stands(write):
    said = [
        converse(speak("user", "I hate hiking.", at=2e9 - 1)),
        converse(speak("user", "I love hiking.", at=1e9), id="c2"),
    ]
    for order in (said, said[::-1]):
        file = write(order, "conversations.json")
        owner = f"owner {order[0]['conversation_id']}"
        # 2033 lies in the future: it counts as said now.
        done = run(file, owner=owner, reads_conversations=True)
        assert count(done) == {"new": 1, "repeated": 1}
        assert [record.metadata["polarity"] for record in load(owner)] == ["negative"]


def test_a_fact_that_was_said_later_here_stays(write):
    run(write([converse(speak("user", "I hate hiking.", at=1.7e9))]), reads_conversations=True)
    done = run(write([converse(speak("user", "I love hiking.", at=1.6e9))]), reads_conversations=True)
    assert count(done) == {"older": 1}
    assert load()[0].metadata["polarity"] == "negative"


def test_chatgpt_memories_that_are_switched_off_are_left_out(write):
    rows = [{"content": "On", "enabled": True, "created_at": 1714520000}, {"content": "Off", "enabled": False}]
    done = run(write(rows, "memory.json"))
    assert (done.format, count(done)) == ("chatgpt", {"new": 1, "left_out": 1})
    assert list_contents() == ["On"]


def test_claudes_memory_becomes_one_memory_a_paragraph_or_item(write):
    done = run(write(CLAUDE_MEMORIES, "memories.json"))
    assert (done.format, count(done)) == ("claude", {"new": 5})
    memories = by_content()
    assert list(memories) == [
        "Maya runs a bar in Riga.",
        "Uses Linear",
        "Uses Figma",
        "The oven is electric.",
        "Prefers metric units",
    ]
    assert memories["Uses Figma"].metadata["section"] == "Tools"
    assert memories["Maya runs a bar in Riga."].metadata["section"] == "Work context"
    assert memories["The oven is electric."].metadata["project"] == "p-1"
    assert memories["Prefers metric units"].metadata["path"] == "/profile.md"
    assert memories["Prefers metric units"].created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_memory_file_of_claudes_newer_exports_is_one_object(write):
    assert count(run(write(CLAUDE_MEMORIES[0], "acc-1.json"))) == {"new": 5}


def test_claudes_conversations(write):
    file = write(CLAUDE_CONVERSATIONS, "conversations.json")
    assert count(run(file)) == {}
    run(file, reads_conversations=True)
    facts = {record.key: record.metadata["polarity"] for record in load()}
    assert facts == {"preference:meetings": "negative", "preference:oolong_tea": "positive"}


# --- zips and folders ---
def zip_into(path, **members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return path


def test_an_export_is_read_from_its_zip(tmp_path):
    claude = zip_into(
        tmp_path / "claude.zip",
        **{
            "users.json": [{"uuid": "acc-1"}],
            "conversations.json": CLAUDE_CONVERSATIONS,
            "memories.json": CLAUDE_MEMORIES,
            "projects/p-1.json": {"uuid": "p-1", "docs": []},
        },
    )
    assert count(run(claude)) == {"new": 5}
    chatgpt = zip_into(
        tmp_path / "chatgpt.zip",
        **{
            "chat.html": "<html>",
            "user.json": {"id": "u"},
            "conversations-000.json": CHATGPT[:1],
            "conversations-001.json": CHATGPT[1:],
            "file-x.dat": "\0",
        },
    )
    assert run(chatgpt, owner="B").format == "chatgpt"
    assert "Is a nurse" in list_contents("B")


def test_an_export_is_read_from_its_folder_with_the_zips_in_it(tmp_path):
    folder = tmp_path / "export"
    zip_into(folder / "memories-000.zip", **{"memories/acc-1.json": CLAUDE_MEMORIES[0]})
    zip_into(folder / "conversations-000.zip", **{"conversations.json": CLAUDE_CONVERSATIONS})
    (folder / "login_history.json").write_text("[]")
    done = run(folder, reads_conversations=True)
    assert count(done) == {"new": 7}


def test_a_conversation_or_message_of_any_odd_shape_is_no_failure(write):
    odd = [
        {"mapping": {}},
        {"mapping": {"a": None, "b": {"message": "x"}, "c": {"message": {"content": None}}}},
        converse({"content": {"content_type": "text", "parts": None}, "author": {"role": "user"}, "create_time": "x"}),
        converse({"content": {"parts": [1, None, "I love tea."]}, "author": None}),
        None,
        {"other": 1},
    ]
    assert count(run(write(odd, "conversations.json"), reads_conversations=True)) == {"invalid": 2}
    claude = [
        {"chat_messages": [None, {"sender": "human"}, {"sender": "human", "content": [None, {"type": "text"}]}]},
        {"conversations_memory": 5},
    ]
    assert count(run(write(claude), reads_conversations=True)) == {"invalid": 1}
    assert count(run(write([{"conversations_memory": 5, "project_memories": [], "memory_files": [1]}]))) == {}


def test_a_packed_export_may_lie_in_a_folder_of_its_own(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data-2026/memories.json", json.dumps(CLAUDE_MEMORIES))
    (tmp_path / "x.zip").write_bytes(packed.getvalue())
    assert count(run(tmp_path / "x.zip")) == {"new": 5}
