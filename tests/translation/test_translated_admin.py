"""Django's admin in the language of the browser: Django translates its own words, and ours are not left out."""

import pytest
from django.test import Client
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from core.jobs.models import Job
from core.models import Setting
from core.providers.configuration import ProviderChanges, save_provider
from memory import corrections, services
from memory.backends.manager import MANAGER
from memory.config import MEMORY_SECTION
from memory.records import MEMORY_TYPES
from tests.translation.data import log_call, make_memories, make_owner
from tests.translation.walk import Walk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]


# django-celery-beat has no Arabic, and Django none for the button of its search.
FOREIGN = (
    "Search", "Periodic Tasks", "Clocked", "Crontabs", "Intervals", "Solar events", "Periodic tasks", "periodic task",
)  # fmt: skip


@pytest.fixture
def walk(reader: Client) -> Walk:
    walk = Walk(reader)
    # What is stored is shown as it is.
    walk.knows(
        *"True False true false null adaptive import source polarity positive".split(),
        *MEMORY_TYPES,
        *MANAGER.ids,
        *(field.key for field in MEMORY_SECTION.fields),
        *FOREIGN,
    )
    return walk


def test_lists_and_forms(walk):
    owner = make_owner()
    records = make_memories(owner)
    row = log_call(owner, records[0].id)
    job = Job.objects.first()
    save_provider("p-1", ProviderChanges(base_url="http://127.0.0.1:9", api_key="1" * 20))
    services.change_settings({"enabled": True})
    every = IntervalSchedule.objects.create(every=1, period="hours")
    PeriodicTask.objects.create(name="ωρα", task="memory.upkeep", interval=every)
    corrections.delete_memories([records[1].id])

    walk.see("/admin/")
    for model, key in (
        ("accounts/apikey", owner),
        ("jobs/job", job.pk),
        ("providers/provider", "1"),
        ("core/setting", Setting.objects.first().pk),
        ("memory/memory", str(records[0].memory_id)),
        ("gateway/requestlog", row.pk),
    ):
        walk.see(f"/admin/{model}/")
        walk.see(f"/admin/{model}/{key}/change/")
    walk.see("/admin/accounts/apikey/add/")
    walk.see("/admin/providers/provider/add/")
    walk.see("/admin/memory/compaction/")
    walk.see("/admin/memory/memory/backends/")
    walk.see("/admin/memory/memory/?q=ωωω")
    walk.end()


def test_actions_ask_first_and_tell_what_they_did(walk):
    owner, other = make_owner(), make_owner("άλλο")
    records = make_memories(owner)
    Job.objects.update(state=Job.State.DEAD)
    ticked = {"_selected_action": [record.memory_id for record in records], "select_across": "0", "index": "0"}

    for action in ("delete_selected", "expire_selected", "retype_selected", "reindex_selected"):
        walk.send("/admin/memory/memory/", {**ticked, "action": action})
        walk.send(
            "/admin/memory/memory/",
            {**ticked, "action": action, "post": "yes", "told_count": "5", "new_type": "semantic"},
        )
    keys = {"action": "revoke_selected", "_selected_action": [owner, other]}
    walk.send("/admin/accounts/apikey/", keys)
    walk.send("/admin/accounts/apikey/", {**keys, "confirmed": "yes"})
    jobs = {"_selected_action": list(Job.objects.values_list("pk", flat=True))}
    walk.send("/admin/jobs/job/", {**jobs, "action": "delete_selected"})
    walk.send("/admin/jobs/job/", {**jobs, "action": "retry_jobs"})
    walk.send("/admin/accounts/apikey/add/", {"name": "νέο", "scopes": ["chat"]})
    provider = {"name": "p-1", "base_url": "ftp://α", "new_api_key": "ω", "remove_api_key": "on", "system_role": ""}
    walk.send("/admin/providers/provider/add/", provider)
    walk.end()
