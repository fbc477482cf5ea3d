"""Bulk clean-up of memories in the admin: found quickly, changed only after the number was told, undone afterwards."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from core.accounts.keys import create_api_key
from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory import bulk_changes, services
from memory.models import Compaction, Memory
from memory.records import MemoryDraft

pytestmark = pytest.mark.django_db
LIST = "/admin/memory/memory/"


def remember(key: str, content: str = "", **fields: Any) -> Memory:
    record = services.create(MemoryDraft(fields.pop("owner", "A"), key, content or f"about {key}", **fields))
    return Memory.objects.get(uuid=record.id)


def remember_many(count: int) -> list[Memory]:
    return [remember(f"k{number}") for number in range(count)]


def list_keys(staff: Client, query: str) -> set[str]:
    answer = staff.get(f"{LIST}?{query}")
    assert answer.status_code == 200
    return {row.key for row in answer.context["cl"].result_list}


def act(staff: Client, action: str, rows: list[Memory], query: str = "", **fields: Any) -> Any:
    form = {"action": f"{action}_selected", "_selected_action": [row.pk for row in rows], **fields}
    return staff.post(f"{LIST}?{query}", form, follow=True)


def read_form(answer: Any) -> dict[str, Any]:
    """The hidden fields of a confirmation page, as a browser would send them."""
    fields: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', answer.content.decode()):
        fields.setdefault(name, []).append(value)
    fields.pop("csrfmiddlewaretoken", None)
    return fields


def confirm(staff: Client, answer: Any, query: str = "", **more: Any) -> Any:
    return staff.post(f"{LIST}?{query}", {**read_form(answer), **more}, follow=True)


def do_jobs() -> None:
    while job := claim_next("memory.bulk_change"):
        run_job(job)


# --- finding ---
def test_memories_are_filtered_by_what_operators_ask_for(staff: Client) -> None:
    row, _ = create_api_key("billing")
    now = timezone.now()
    remember("client", owner=row.id)
    remember("user", metadata={"source": "user_message"})
    remember("model", metadata={"source": "llm_response"}, type="semantic")
    remember("soon", metadata={"source": "operator"}, expires_at=now + timedelta(days=2))
    remember("expired", expires_at=now - timedelta(days=2))
    Memory.objects.exclude(key="user").update(needs_reindex=False)
    assert list_keys(staff, "source=user_message") == list_keys(staff, "index=pending") == {"user"}
    assert list_keys(staff, "source=llm_response") == list_keys(staff, "type__exact=semantic") == {"model"}
    assert list_keys(staff, "source=client") == {"client", "expired"}
    assert list_keys(staff, "expiry=soon") == list_keys(staff, "source=operator") == {"soon"}
    assert list_keys(staff, "expiry=expired") == {"expired"}
    assert list_keys(staff, "expiry=never") == {"client", "user", "model"}
    assert list_keys(staff, f"owner={row.id}") == {"client"}
    assert "billing" in staff.get(LIST).content.decode()


def test_the_search_finds_words_in_any_script_a_beginning_and_an_id(staff: Client) -> None:
    tea = remember("preference:tea", "Mėgsta žalią arbatą")
    remember("cjk", "我喜欢喝绿茶")
    remember("other", "nothing of the kind")
    for text in ("žalią", "zalia arbat", "preference", "tea", tea.uuid, tea.uuid.upper()):
        assert list_keys(staff, f"q={text}") == {"preference:tea"}, text
    assert list_keys(staff, "q=绿茶") == {"cjk"}
    for text in ('"', "*", "content:x OR", "NEAR(", "%", "tea nothing"):
        assert list_keys(staff, f"q={text}") == set(), text


@pytest.mark.parametrize("query", ["", "q=about", "source=client", "expiry=never", "index=pending"])
def test_a_list_costs_the_same_queries_with_a_hundred_rows_or_a_thousand(
    staff: Client, django_assert_max_num_queries: Any, query: str
) -> None:
    def fill(count: int) -> None:
        first = Memory.objects.count()
        Memory.objects.bulk_create(
            Memory(uuid=f"u{number}", api_key_id=f"o{number % 40}", key=f"k{number}", content="about", type="factual")
            for number in range(first, first + count)
        )

    fill(100)
    with django_assert_max_num_queries(12) as few:
        staff.get(f"{LIST}?{query}")
    fill(900)
    with django_assert_max_num_queries(len(few)) as many:
        staff.get(f"{LIST}?{query}")
    counts = [item["sql"] for item in many.captured_queries if "COUNT(" in item["sql"]]
    assert len(counts) == 1, counts


# --- changing many ---
@pytest.mark.parametrize("action", ["delete", "expire", "retype", "reindex"])
def test_nothing_happens_before_the_number_was_told_and_confirmed(staff: Client, action: str) -> None:
    rows = remember_many(12)
    before = list(Memory.objects.order_by("pk").values())
    page = act(staff, action, rows)
    assert "This concerns 12 memories." in page.content.decode()
    assert "and 2 more" in page.content.decode()
    assert list(Memory.objects.order_by("pk").values()) == before


def test_memories_that_were_deleted_come_back_as_they_were(staff: Client) -> None:
    doomed, kept = remember_many(3), remember("kept")
    before = list(Memory.objects.order_by("pk").values("uuid", "key", "content", "metadata", "created_at"))
    done = confirm(staff, act(staff, "delete", doomed))
    assert "3 memories were changed." in done.content.decode()
    assert [row.pk for row in Memory.objects.all()] == [kept.pk]
    [change] = Compaction.objects.all()
    assert change.uuid in done.content.decode()
    page = staff.get(f"/admin/memory/compaction/?uuid={change.uuid}")
    assert [row.memory_count for row in page.context["cl"].result_list] == [3]
    undo = {"action": "undo_compactions", "_selected_action": [change.pk]}
    assert "put back: 3" in staff.post("/admin/memory/compaction/", undo, follow=True).content.decode()
    assert list(Memory.objects.order_by("pk").values("uuid", "key", "content", "metadata", "created_at")) == before


def test_memories_that_expire_are_given_to_no_chat_and_can_be_brought_back(staff: Client) -> None:
    row = remember("tea")
    confirm(staff, act(staff, "expire", [row]))
    row.refresh_from_db()
    assert row.expires_at is not None and row.expires_at <= timezone.now()
    [change] = Compaction.objects.all()
    staff.post("/admin/memory/compaction/", {"action": "undo_compactions", "_selected_action": [change.pk]})
    row.refresh_from_db()
    assert row.expires_at is None


def test_expiring_what_is_expired_changes_nothing_and_leaves_nothing_to_undo(staff: Client) -> None:
    row = remember("tea", expires_at=timezone.now() - timedelta(days=1))
    assert "0 memories were changed." in confirm(staff, act(staff, "expire", [row])).content.decode()
    assert Memory.objects.get().expires_at == row.expires_at
    assert not Compaction.objects.exists()


def test_the_type_is_chosen_on_the_page_between(staff: Client) -> None:
    rows = remember_many(2)
    page = act(staff, "retype", rows)
    for wrong in ("", "nonsense"):
        assert "Choose the type" in confirm(staff, page, new_type=wrong).content.decode()
    assert set(Memory.objects.values_list("type", flat=True)) == {"factual"}
    confirm(staff, page, new_type="procedural")
    assert set(Memory.objects.values_list("type", flat=True)) == {"procedural"}


def test_memories_are_flagged_for_the_index_and_a_job_is_there_to_do_it(staff: Client) -> None:
    flagged, other = remember("a"), remember("b")
    Memory.objects.update(needs_reindex=False, index_attempts=9)
    Job.objects.all().delete()
    confirm(staff, act(staff, "reindex", [flagged]))
    assert list(Memory.objects.filter(needs_reindex=True, index_attempts=0)) == [flagged]
    assert "memory.index_pending" in Job.objects.values_list("name", flat=True)
    assert other.pk != flagged.pk


def test_what_was_not_told_is_not_changed(staff: Client) -> None:
    rows = remember_many(2)
    page = act(staff, "delete", rows[:1], "type__exact=factual", select_across="1")
    assert "This concerns 2 memories." in page.content.decode()
    remember("written meanwhile")
    again = confirm(staff, page, "type__exact=factual")
    assert "the number is another one now" in again.content.decode()
    assert "This concerns 3 memories." in again.content.decode()
    assert Memory.objects.count() == 3
    confirm(staff, again, "type__exact=factual")
    assert not Memory.objects.exists()


def test_selecting_all_keeps_to_the_filter(staff: Client) -> None:
    rows = [remember("a", owner="A"), remember("b", owner="A"), remember("c", owner="B")]
    confirm(staff, act(staff, "delete", rows[:1], "owner=A", select_across="1"), "owner=A")
    assert [row.key for row in Memory.objects.all()] == ["c"]


def test_many_are_changed_in_the_background_and_undone_as_one(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_changes, "AT_ONCE_ROWS", 5)
    monkeypatch.setattr(bulk_changes, "BATCH_ROWS", 3)
    rows = remember_many(8)
    for action, more in (("retype", {"new_type": "semantic"}), ("expire", {}), ("delete", {})):
        done = confirm(staff, act(staff, action, rows), **more)
        assert "8 memories are being changed in the background." in done.content.decode()
        assert Memory.objects.count() == 8
        do_jobs()
    assert not Memory.objects.exists()
    assert list(Compaction.objects.order_by("pk").values_list("kind", flat=True)) == ["retype", "edit", "delete"]
    for change in Compaction.objects.order_by("-pk"):
        staff.post("/admin/memory/compaction/", {"action": "undo_compactions", "_selected_action": [change.pk]})
    assert Memory.objects.filter(type="factual", expires_at=None).count() == 8


def test_a_job_that_runs_twice_changes_nothing_more(staff: Client) -> None:
    rows = remember_many(3)
    change = bulk_changes.BulkChange("delete", tuple(row.pk for row in rows[:2]))
    assert bulk_changes.run_bulk_change(change).count == 2
    assert bulk_changes.run_bulk_change(change).count == 0
    assert Memory.objects.count() == 1 and Compaction.objects.count() == 1


def test_an_operator_who_may_only_look_can_change_nothing(client: Client) -> None:
    from django.contrib.auth.models import Permission, User

    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(viewer)
    row = remember("tea")
    for action in ("delete", "expire", "retype", "reindex"):
        act(client, action, [row], post="yes", told_count="1", new_type="semantic")
    assert Memory.objects.get().type == "factual" and Memory.objects.get().expires_at is None
    assert act(client, "export", [row]).status_code == 200


# --- export ---
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
@pytest.mark.django_db(transaction=True)
def test_the_selection_is_exported_and_can_be_read_again(staff: Client) -> None:
    rows = [remember("a", "Žalia <b>", metadata={"n": 1}), remember("b"), remember("c")]
    answer = act(staff, "export", rows[:2])
    lines = [json.loads(line) for line in b"".join(answer).decode().splitlines()]
    assert "attachment" in answer.headers["content-disposition"]
    told = {line["key"]: line for line in lines if "key" in line}
    assert told.keys() == {"a", "b"}
    assert told["a"]["content"] == "Žalia <b>" and told["a"]["metadata"] == {"n": 1}


# --- what people wrote ---
def test_text_stays_text_on_every_page(staff: Client) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    row = remember(evil[:60], evil, session_id=evil[:60])
    for page in (staff.get(LIST), staff.get(f"{LIST}{row.pk}/change/"), act(staff, "delete", [row])):
        assert "<script>alert" not in page.content.decode()
        assert "<img src=x" not in page.content.decode()


def test_a_memory_tells_how_often_chats_have_carried_it(staff: Client) -> None:
    from memory.usage import note_injections

    row = remember("tea")
    assert "never" in staff.get(f"{LIST}{row.pk}/change/").content.decode()
    note_injections("r1", "A", [row.uuid], timezone.now())
    page = staff.get(f"{LIST}{row.pk}/change/").content.decode()
    assert "1 x, " in page and f"?memory={row.uuid}" in page
