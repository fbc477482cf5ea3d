"""Requests, settings, jobs and kept changes in the admin: readable, quick, and without a secret."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from core.jobs.models import Job
from core.models import Setting
from gateway.models import RequestLog
from memory import corrections, services
from memory.models import Compaction, MemoryArchive
from memory.records import MemoryDraft
from memory.usage import note_injections

pytestmark = pytest.mark.django_db


def log_requests(count: int) -> None:
    RequestLog.objects.bulk_create(
        RequestLog(
            request_id=f"r{number}",
            created_at=timezone.now(),
            api_key_id=f"o{number % 7}",
            key_name=f"name {number % 7}",
            model=f"m/{number % 5}",
            status=200,
            outcome="answered",
            duration_ms=1,
            user_text="what was said",
        )
        for number in range(count)
    )


def add_jobs(count: int) -> None:
    Job.objects.bulk_create(Job(name="memory.upkeep", state="done") for _ in range(count))


def keep_changes(count: int) -> None:
    for number in range(count):
        record = services.create(MemoryDraft("A", f"k{number}", "text"))
        corrections.delete_memories([record.id])


@pytest.mark.parametrize(
    ("route", "fill", "few", "more"),
    [
        ("/admin/gateway/requestlog/", log_requests, 100, 900),
        ("/admin/jobs/job/", add_jobs, 150, 900),
        ("/admin/memory/compaction/", keep_changes, 3, 20),
    ],
)
def test_a_list_costs_the_same_queries_however_long_it_is(
    staff: Client, django_assert_max_num_queries: Any, route: str, fill: Any, few: int, more: int
) -> None:
    fill(few)
    with django_assert_max_num_queries(14) as short:
        assert staff.get(route).status_code == 200
    fill(more)
    with django_assert_max_num_queries(len(short)):
        assert staff.get(route).status_code == 200


# --- requests ---
def list_requests(staff: Client, query: str) -> set[str]:
    answer = staff.get(f"/admin/gateway/requestlog/?{query}")
    assert answer.status_code == 200
    return {row.request_id for row in answer.context["cl"].result_list}


def test_requests_are_found_by_id_session_key_model_and_memory(staff: Client) -> None:
    log_requests(10)
    RequestLog.objects.filter(request_id="r3").update(session_id="tea-time", outcome="failed")
    note_injections("r4", "o4", ["memory-1"], timezone.now())
    assert list_requests(staff, "q=r3") == list_requests(staff, "q=tea") == {"r3"}
    assert list_requests(staff, "outcome__exact=failed") == {"r3"}
    assert list_requests(staff, "memory=memory-1") == {"r4"}
    assert list_requests(staff, "owner=o1") == {"r1", "r8"}
    assert list_requests(staff, "model=m/2") == {"r2", "r7"}
    assert "name 3" in staff.get("/admin/gateway/requestlog/").content.decode()


def test_a_request_is_read_only_and_leads_to_the_studio(staff: Client) -> None:
    log_requests(1)
    row = RequestLog.objects.get()
    page = staff.get(f"/admin/gateway/requestlog/{row.pk}/change/").content.decode()
    assert f"/dashboard/requests/{row.request_id}" in page
    assert 'name="_save"' not in page and "delete" not in page.lower()
    for route in ("add/", f"{row.pk}/delete/"):
        assert staff.get(f"/admin/gateway/requestlog/{route}").status_code == 403
    staff.post(f"/admin/gateway/requestlog/{row.pk}/change/", {"status": "500"})
    assert RequestLog.objects.get().status == 200


# --- settings ---
def test_settings_are_told_with_their_meaning_and_their_default(staff: Client) -> None:
    Setting.objects.create(key="memoryMaxTokens", value=800)
    page = staff.get("/admin/core/setting/").content.decode()
    assert "Token budget for the memories" in page
    assert ">800<" in page and ">2000<" in page
    assert "/dashboard/settings" in page


def test_settings_show_no_secret_however_deep_it_stands(staff: Client) -> None:
    secret = "sk-live-0815"
    Setting.objects.create(key="qdrantApiKey", value=secret)
    Setting.objects.create(
        key="memoryBackendConfigs",
        value={
            "generic": {"apiKey": secret, "url": "http://x", "headers": {"X-Mine": secret}, "l": [{"token": secret}]}
        },
    )
    Setting.objects.create(key="somethingInternal", value={"anything": secret})
    pages = [staff.get("/admin/core/setting/").content.decode()]
    pages += [staff.get(f"/admin/core/setting/{row.pk}/change/").content.decode() for row in Setting.objects.all()]
    assert secret not in "".join(pages)
    assert "http://x" in pages[0] and "***" in pages[0]


def test_settings_are_changed_nowhere_here(staff: Client) -> None:
    Setting.objects.create(key="memoryMaxTokens", value=800)
    for route in ("add/", "memoryMaxTokens/delete/"):
        assert staff.get(f"/admin/core/setting/{route}").status_code == 403
    assert 'name="_save"' not in staff.get("/admin/core/setting/memoryMaxTokens/change/").content.decode()


# --- kept changes ---
def test_forgetting_a_change_says_how_many_memories_go_with_it(staff: Client) -> None:
    records = [services.create(MemoryDraft("A", f"k{number}", "text")) for number in range(7)]
    corrections.delete_memories([record.id for record in records])
    [change] = Compaction.objects.all()
    page = staff.get(f"/admin/memory/compaction/{change.pk}/delete/").content.decode()
    assert "7 memories that they kept" in page
    staff.post(f"/admin/memory/compaction/{change.pk}/delete/", {"post": "yes"})
    assert not Compaction.objects.exists() and not MemoryArchive.objects.exists()


# --- every page ---
@pytest.mark.parametrize(
    "route", ["gateway/requestlog", "core/setting", "memory/memory", "memory/compaction", "jobs/job"]
)
def test_strangers_see_none_of_it(client: Client, route: str) -> None:
    answer = client.get(f"/admin/{route}/")
    assert answer.status_code == 302 and "/login/" in answer.headers["location"]


# --- jobs ---
def test_every_failed_job_is_tried_again_however_many_there_are(staff: Client) -> None:
    Job.objects.bulk_create(Job(name="memory.upkeep", state="dead", attempts=6) for _ in range(1200))
    add_jobs(3)
    first = Job.objects.filter(state="dead")[0]
    form = {"action": "retry_jobs", "_selected_action": [first.pk], "select_across": "1"}
    answer = staff.post("/admin/jobs/job/?state__exact=dead", form, follow=True)
    assert "1200 failed jobs were queued again." in answer.content.decode()
    assert Job.objects.filter(state="queued", attempts=0).count() == 1200


def test_deleting_jobs_says_how_many_first(staff: Client) -> None:
    add_jobs(120)
    form = {"action": "delete_selected", "_selected_action": [Job.objects.all()[0].pk], "select_across": "1"}
    assert "120 jobs" in staff.post("/admin/jobs/job/", form).content.decode()
    assert Job.objects.count() == 120
    staff.post("/admin/jobs/job/", {**form, "post": "yes"})
    assert not Job.objects.exists()


def test_jobs_are_filtered_by_name(staff: Client) -> None:
    add_jobs(2)
    Job.objects.create(name="memory.index_pending", state="done")
    rows = staff.get("/admin/jobs/job/?name=memory.index_pending").context["cl"].result_list
    assert [job.name for job in rows] == ["memory.index_pending"]
