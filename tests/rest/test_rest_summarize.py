"""POST /api/memory/summarize: what becomes a summary, what does not, and that all of it happens or nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from compactions import STORY, SUMMARIZE, UNDO, age, find, list_vector_ids, remember_old, summarize
from django.db import connection
from django.utils import timezone
from rest_api import Api, fields_of

from memory.models import Compaction, Memory, MemoryArchive
from tests.engine import do_jobs, use_static_model
from tests.stored_rows import read_rows

pytestmark = pytest.mark.django_db


def preview(api: Api, text: str) -> list[str]:
    answer = api.post("/api/memory/retrieve-preview", {"query": text, "apiKeyId": "A"})
    return [memory["id"] for memory in answer.json()["memories"]]


# --- the cases ---
def seed_rw_063(api: Api) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    old = remember_old(api, 6, apiKeyId="A")
    new = [api.remember(key=f"new-{number}", content="fresh tea", apiKeyId="A") for number in range(2)]
    return old, new


@pytest.mark.usefixtures("fresh_engine")
def test_rw_063_a_failing_summary_changes_nothing_and_a_working_one_replaces_all(api: Api) -> None:
    use_static_model()
    old, new = seed_rw_063(api)
    do_jobs()
    before, vectors_before = read_rows(), list_vector_ids()
    assert len(vectors_before) == 8
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON memories BEGIN SELECT RAISE(ABORT, 'the disk is angry'); END"
        )
    answer = api.post(SUMMARIZE, {"olderThanDays": 30, "apiKeyId": "A"})
    assert answer.status_code == 500
    assert "angry" not in answer.content.decode()
    assert answer.json()["error"]["type"] == "server_error"
    assert read_rows() == before
    assert list_vector_ids() == vectors_before
    assert not MemoryArchive.objects.exists()
    assert not Compaction.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER broken")

    told = summarize(api, {"olderThanDays": 30, "apiKeyId": "A"})
    assert [memory["id"] for memory in told["candidates"]] == [memory["id"] for memory in old]
    assert told["tokensSaved"] > 0
    assert told["deletedCount"] == 6
    [summary] = Memory.objects.owned_by("A").exclude(uuid__in=[memory["id"] for memory in new])
    assert summary.uuid == told["summaryId"]
    assert summary.type == "semantic"
    assert told["summaryId"] in find(api, "zebra crossing")
    assert told["summaryId"] in preview(api, "what about the zebra crossing at the station?")
    do_jobs()
    assert len(list_vector_ids()) == 3
    untouched = [row for row in read_rows() if row["uuid"] != summary.uuid]
    assert untouched == [row for row in before if row["uuid"] in [memory["id"] for memory in new]]


@pytest.mark.parametrize(
    "event", ["DELETE ON memories", "INSERT ON memory_archive", "INSERT ON jobs", "INSERT ON memory_compactions"]
)
def test_rw_063_whatever_step_fails_undoes_those_before_it(api: Api, event: str) -> None:
    seed_rw_063(api)
    do_jobs()
    before = read_rows()
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TRIGGER broken BEFORE {event} BEGIN SELECT RAISE(ABORT, 'the disk is angry'); END")
    assert api.post(SUMMARIZE, {"apiKeyId": "A"}).status_code == 500
    assert read_rows() == before
    assert not MemoryArchive.objects.exists()
    assert not Compaction.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_rw_063_two_runs_at_once_make_one_summary(api: Api, at_once: Callable[..., list[Any]]) -> None:
    seed_rw_063(api)
    answers = at_once(*[lambda: api.post(SUMMARIZE, {"olderThanDays": 30, "apiKeyId": "A"})] * 4)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sorted(answer.json()["deletedCount"] for answer in answers) == [0, 0, 0, 6]
    assert Memory.objects.owned_by("A").count() == 3
    assert MemoryArchive.objects.count() == 6
    content = Memory.objects.owned_by("A").get(type="semantic").content
    assert all(f"Note {number} tells" in content for number in range(6))


def test_rw_065_summaries_of_any_text_save_and_nothing_grows(api: Api) -> None:
    texts = {
        "ok": "ok.",
        "chinese": "我每天早上喝绿茶。下午喝咖啡。晚上喝牛奶。周末喝果汁。节日喝啤酒。" * 10,
        "unbroken": "word" * 500,
        "dots": "e.g. v3.8.40 is out. Dr. Who agreed. " + "More was said about the release that day. " * 9,
        "emoji": "🎉👨‍👩‍👧🇱🇹",
    }
    for key, content in texts.items():
        age(api.remember(key=key, content=content, apiKeyId="A"), 50)
    for number in range(2):
        age(api.remember(key=f"b{number}", content=texts["chinese"], apiKeyId="B"), 50)
    first = summarize(api, {"apiKeyId": "A"})
    age({"id": first["summaryId"]}, 45)  # an earlier summary that is old itself
    summary = Memory.objects.get(uuid=first["summaryId"])
    lines = dict(zip(texts, summary.content.splitlines()[1:], strict=True))
    assert len(summary.content) < sum(map(len, texts.values()))
    for key, line in lines.items():
        assert len(line.removeprefix("[factual] ")) <= len(texts[key])
    assert lines["ok"] == "[factual] ok."
    assert lines["chinese"].endswith("。")
    assert len(lines["chinese"]) < len(texts["chinese"])
    assert len(lines["unbroken"]) < 260
    assert "e.g. v3.8.40 is out." in lines["dots"]
    assert lines["emoji"] == f"[factual] {texts['emoji']}"
    assert first["tokensSaved"] == first["totalTokens"] - -(-len(summary.content) // 4)

    before = read_rows()
    second = summarize(api, {"apiKeyId": "A"})
    assert (second["candidates"], second["tokensSaved"], second["summaryId"]) == ([], 0, None)
    assert read_rows() == before


# --- the contract ---
def test_a_dry_run_tells_what_a_run_does_and_changes_nothing(api: Api) -> None:
    remember_old(api, 3, apiKeyId="A")
    before = read_rows()
    dry = summarize(api, {"apiKeyId": "A", "dryRun": True})
    assert read_rows() == before
    assert (dry["dryRun"], dry["deletedCount"], dry["summaryId"], dry["undoId"]) == (True, 0, None, None)
    assert dry["summaries"][0]["summaryId"] is None
    real = summarize(api, {"apiKeyId": "A"})
    assert (real["dryRun"], real["deletedCount"]) == (False, 3)
    for name in ("candidates", "totalTokens", "tokensSaved"):
        assert real[name] == dry[name]
    assert real["summaries"][0]["content"] == dry["summaries"][0]["content"]


def test_the_answer_has_the_fields_of_the_contract(api: Api) -> None:
    [memory] = [api.remember(key="other", content="x " * 400, apiKeyId="A")]
    age(memory, 31)
    remember_old(api, 1, apiKeyId="A")
    told = summarize(api)
    assert {"candidates", "totalTokens", "tokensSaved", "deletedCount", "summaryId", "dryRun"} <= told.keys()
    assert told["candidates"][1] == api_shape(memory, told["candidates"][1])
    assert told["totalTokens"] == sum(-(-len(item["content"]) // 4) for item in told["candidates"])


def api_shape(memory: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """The memory as it was stored, but for the age the test gave it."""
    return {**memory, "createdAt": told["createdAt"]}


def test_an_empty_body_means_thirty_days_and_every_owner(api: Api) -> None:
    """T24: the documented call has no body."""
    remember_old(api, 2, apiKeyId="A")
    remember_old(api, 2, apiKeyId="B")
    remember_old(api, 2, apiKeyId="C", days=20)
    told = summarize(api)
    assert told["dryRun"] is False
    assert {summary["apiKeyId"] for summary in told["summaries"]} == {"A", "B"}
    assert Memory.objects.owned_by("C").count() == 2


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"olderThanDays": 0}, {"olderThanDays"}),
        ({"olderThanDays": 366}, {"olderThanDays"}),
        ({"olderThanDays": "30"}, {"olderThanDays"}),
        ({"olderThanDays": True}, {"olderThanDays"}),
        ({"dryRun": 1, "apiKeyId": 5}, {"dryRun", "apiKeyId"}),
        ({"apiKeyId": ""}, {"apiKeyId"}),
        ({"dry_run": True}, {"dry_run"}),
    ],
)
def test_a_wrong_body_is_refused_and_nothing_happens(api: Api, body: Any, fields: set[str]) -> None:
    remember_old(api, 2)
    assert fields_of(api.post(SUMMARIZE, body)) == fields
    assert Memory.objects.count() == 2


def test_only_managers_come_in(anonymous: Api, api: Api) -> None:
    remember_old(api, 2)
    for method, path in (("POST", SUMMARIZE), ("GET", UNDO), ("POST", UNDO)):
        assert anonymous.send(method, path).status_code == 401
    assert Memory.objects.count() == 2


def test_t34_one_summary_an_owner_and_session_never_across(api: Api) -> None:
    remember_old(api, 2, apiKeyId="A")
    remember_old(api, 3, apiKeyId="A", sessionId="s1")
    remember_old(api, 2, apiKeyId="B")
    remember_old(api, 2)
    told = summarize(api)
    groups = {(item["apiKeyId"], item["sessionId"]): item["count"] for item in told["summaries"]}
    assert groups == {("A", ""): 2, ("A", "s1"): 3, ("B", ""): 2, ("", ""): 2}
    assert told["summaryId"] == told["summaries"][0]["summaryId"]
    assert told["tokensSaved"] == sum(item["tokensSaved"] for item in told["summaries"])
    for item in told["summaries"]:
        row = Memory.objects.get(uuid=item["summaryId"])
        assert (row.api_key_id, row.session_id, row.expires_at) == (item["apiKeyId"], item["sessionId"], None)
        assert row.content.startswith(f"Summary of {item['count']} memories:\n[factual] Note 0")
        assert len(row.content.splitlines()) == 1 + item["count"]


def test_t34_what_expires_and_what_is_a_summary_is_no_candidate(api: Api) -> None:
    now = timezone.now()
    remember_old(api, 2, apiKeyId="A")
    for key, expires_at in (("gone", now - timedelta(days=1)), ("going", now + timedelta(days=1))):
        memory = api.remember(key=key, content=STORY, apiKeyId="A", expiresAt=expires_at.isoformat())
        age(memory, 60)
    first = summarize(api)
    assert first["deletedCount"] == 2
    age({"id": first["summaryId"]}, 99)
    assert summarize(api)["candidates"] == []
    assert Memory.objects.owned_by("A").count() == 3


def test_what_a_summary_would_not_shorten_is_left_alone_and_told(api: Api) -> None:
    for number in range(3):
        age(api.remember(key=f"k{number}", content=f"tea {number}", apiKeyId="short"), 40)
    remember_old(api, 1, apiKeyId="single")
    told = summarize(api)
    assert (told["candidates"], told["tokensSaved"], told["undoId"]) == ([], 0, None)
    assert {(item["apiKeyId"], item["count"]) for item in told["leftAlone"]} == {("short", 3), ("single", 1)}
    assert all(item["reason"] for item in told["leftAlone"])
    assert Memory.objects.count() == 4


def test_a_dislike_is_not_told_as_a_liking(api: Api) -> None:
    metadata = {"category": "preference", "polarity": "negative", "source": "user_message"}
    age(api.remember(key="preference:python", content="Python", apiKeyId="A", metadata=metadata), 50)
    remember_old(api, 1, apiKeyId="A", type="episodic")
    told = summarize(api)
    fact, story = told["summaries"][0]["content"].splitlines()[1:]
    assert fact == "[factual] The user does not like: Python"
    assert story.startswith("[episodic] Note 0 tells of tea")
