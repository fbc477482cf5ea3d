"""The extraction job: from the words of an exchange to memories, once in effect."""

from datetime import UTC, datetime, timedelta

import pytest

from core.jobs import runner
from core.jobs.models import Job
from memory import services
from memory.backends.base import MemoryChanges
from memory.config import MEMORY_SECTION
from memory.models import Memory
from memory.queue import enqueue_extraction
from memory.records import MemoryDraft
from memory.retrieval import describe_memory
from memory.rows import make_record

SAID_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def memory_on(db):
    MEMORY_SECTION.write({"enabled": True})


def converse(user_text="", assistant_text="", *, injected=(), said_at=SAID_AT, owner="A", session_id="s1"):
    enqueue_extraction(
        owner=owner,
        session_id=session_id,
        user_text=user_text,
        assistant_text=assistant_text,
        injected=injected,
        said_at=said_at,
    )
    runner.run_waiting_jobs()


def facts() -> dict[str, tuple[str, str]]:
    return {row.key: (row.content, row.metadata["polarity"]) for row in Memory.objects.order_by("memory_id")}


SPECIFICATION = (
    "I prefer TypeScript. I'll use Postgres for this project. I always commit before pushing. I don't like Python."
)


@pytest.mark.parametrize("text", [{"user_text": SPECIFICATION}, {"assistant_text": SPECIFICATION}])
def test_the_specifications_sentence_gives_its_four_facts(text):
    converse(**text)
    assert facts() == {
        "preference:typescript": ("TypeScript", "positive"),
        "decision:postgres_for_this_project": ("Postgres for this project", "positive"),
        "pattern:commit_before_pushing": ("commit before pushing", "positive"),
        "preference:python": ("Python", "negative"),
    }
    assert [row.type for row in Memory.objects.order_by("key")] == [
        "episodic",
        "factual",
        "factual",
        "factual",
    ]
    dislike = make_record(Memory.objects.get(key="preference:python"))
    line = describe_memory(dislike)
    assert "Python" in line and "does not like" in line and "user" in line


def test_a_fact_says_where_it_is_from():
    converse("I prefer tea.", "I usually write unit tests.")
    tea, tests = Memory.objects.order_by("key").reverse()
    assert tea.metadata == {
        "category": "preference",
        "polarity": "positive",
        "extractedAt": SAID_AT.isoformat(),
        "source": "user_message",
        "statement": "I prefer tea",
    }
    assert (tests.metadata["source"], tests.session_id) == ("llm_response", "s1")


def test_doing_the_job_again_changes_nothing():
    converse(SPECIFICATION)
    before = list(Memory.objects.values_list("uuid", "content", "metadata"))
    converse(SPECIFICATION)
    assert list(Memory.objects.values_list("uuid", "content", "metadata")) == before


def test_a_change_of_mind_wins_and_the_memory_says_what_it_said_before():
    converse("I like Python.")
    converse("I don't like Python.", said_at=SAID_AT + timedelta(days=1))
    row = Memory.objects.get()
    assert row.metadata["polarity"] == "negative"
    assert row.metadata["replaces"]["polarity"] == "positive"


def test_an_older_job_that_runs_late_does_not_undo_a_newer_word():
    converse("I don't like Python.", said_at=SAID_AT + timedelta(days=1))
    converse("I like Python.")
    assert Memory.objects.get().metadata["polarity"] == "negative"


def test_an_assistants_words_never_replace_what_the_user_or_a_person_wrote():
    converse("I don't like Python.")
    services.create(MemoryDraft("A", "preference:tea", "Green tea, brewed at 70 degrees"))
    converse("", "I like Python. I prefer tea.", said_at=SAID_AT + timedelta(days=1))
    assert Memory.objects.get(key="preference:python").metadata["polarity"] == "negative"
    assert Memory.objects.get(key="preference:tea").content == "Green tea, brewed at 70 degrees"


def test_an_answer_that_repeats_the_user_or_a_memory_adds_nothing():
    converse("Is it wise to say: 'I prefer tea'?", "user: I prefer tea.")
    converse("hello", "Memory context: I prefer dark mode\nGot it.", injected=["I prefer dark mode"])
    converse("hello", "You said it: I prefer dark mode.", injected=["I prefer dark mode"])
    assert facts() == {}


def test_a_fact_that_a_person_rewrites_is_told_in_that_persons_words():
    converse("I don't like Python.")
    row = Memory.objects.get()
    services.update(row.uuid, MemoryChanges(content="Python is fine for scripts"))
    assert describe_memory(make_record(Memory.objects.get())) == "Python is fine for scripts"


def test_a_client_that_writes_over_a_fact_is_not_quoted_as_the_user():
    converse("I prefer TypeScript.")
    services.create(MemoryDraft("A", "preference:typescript", "Ana has moved on from TypeScript to Go."))
    assert describe_memory(make_record(Memory.objects.get())) == "Ana has moved on from TypeScript to Go."


def test_nothing_is_taken_out_once_memory_is_off():
    enqueue_extraction(
        owner="A", session_id="s", user_text="I prefer tea.", assistant_text="", injected=[], said_at=SAID_AT
    )
    MEMORY_SECTION.write({"enabled": False})
    runner.run_waiting_jobs()
    assert facts() == {}


def test_a_finished_job_keeps_nothing_that_was_said():
    converse("I prefer tea.")
    assert "tea" not in str(Job.objects.filter(name="memory.extract_facts").values_list("payload", flat=True))


def test_rw_003_facts_of_other_scripts_keep_apart_and_keep_their_letters():
    text = "I prefer 绿茶. I prefer 咖啡. I prefer القهوة العربية. I prefer ทดสอบไทยล้วน."
    converse(text)
    keys = set(facts())
    assert len(keys) == 4
    assert not keys & {"preference:", "preference:_"}
    assert "ทดสอบไทยล้วน" in {content for content, _ in facts().values()}
    for emoji in ("🍕", "🎧"):
        services.create(MemoryDraft("A", f"preference:{emoji}", emoji))
    converse(text)
    assert Memory.objects.count() == 6


def test_rw_004_one_word_in_several_spellings_is_one_memory():
    written = []
    for number, text in enumerate(["I prefer café", "I prefer cafe\u0301", "i prefer CAFÉ"]):
        converse(text, said_at=SAID_AT + timedelta(minutes=number))
        written.append(Memory.objects.get().updated_at)
    assert len(set(written)) == 3 and written == sorted(written)
    converse("I prefer Straße")
    converse("I prefer Strand")
    assert Memory.objects.count() == 3


def test_rw_006_injected_memories_are_not_extracted_again():
    services.create(MemoryDraft("A", "note", "I prefer dark mode"))
    created_at = Memory.objects.get().created_at
    for reply in ("Memory context: I prefer dark mode\nGot it.", "Memory context: I prefer dark mode\n" * 2):
        for _ in range(5):
            converse("what theme?", reply, injected=["I prefer dark mode"])
    row = Memory.objects.get()
    assert row.created_at == created_at
    assert "Memory context" not in row.content + row.key
