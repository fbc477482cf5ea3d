"""Reindexing from the Engine page: what is queued, what is shown while it runs, and why it can't start."""

import re

import pytest

from core.jobs.models import Job
from memory import queue, services
from memory.models import Memory
from tests.embeddings.stub_api import Reply
from tests.engine import do_jobs, use_static_model
from tests.studio.engine_page import PAGE, REINDEX, remember
from tests.studio.page_text import read_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]


def test_reindex_now_queues_the_job_and_says_how_many_wait(staff):
    use_static_model()
    remember("tea")
    remember("cats")
    Job.objects.all().delete()

    answer = staff.post(REINDEX, {"force": "false"}, follow=True)

    assert answer.redirect_chain[0][0] == f"{PAGE}#reindex"
    assert "Reindexing 2 memories" in read_text(answer)
    assert Job.objects.filter(name=queue.INDEX_PENDING).count() == 1
    assert "0 of 2 memories" in read_text(answer)
    do_jobs()
    assert "2 of 2 memories 100 %" in read_text(staff.get(PAGE))


def test_reindex_now_leaves_vectors_that_are_current_and_rebuild_does_not(staff):
    use_static_model()
    remember("tea")
    do_jobs()

    assert "Every memory has its vector already" in read_text(staff.post(REINDEX, {"force": "false"}, follow=True))
    assert not Memory.objects.owned_by(None).filter(needs_reindex=True).exists()
    assert "Reindexing 1 memory" in read_text(staff.post(REINDEX, {"force": "true"}, follow=True))
    assert Memory.objects.owned_by(None).filter(needs_reindex=True).exists()


def test_reindex_that_can_not_start_says_why(staff):
    remember("tea")

    text = read_text(staff.post(REINDEX, {"force": "false"}, follow=True))

    assert "Reindexing can't start: no embedding source" in text


def test_a_new_index_is_shown_beside_the_old_one_while_it_is_built(staff, embedding_api):
    use_static_model()
    remember("tea")
    do_jobs()
    services.change_settings({"embeddingSource": "remote", "customBaseUrl": embedding_api.url, "customModelId": "m"})
    embedding_api.answer = lambda asked: Reply(status=503)
    do_jobs()

    text = read_text(staff.get(PAGE))

    assert "a second index is built beside the old one" in text
    assert re.search(r"From static:\S+:4 To remote:\S+m", text)
    assert "0 of 1 memories" in text


def test_rows_that_can_not_be_embedded_are_counted_and_lead_to_the_list(staff):
    use_static_model()
    remember("xyzzy")
    do_jobs()

    html = staff.get(PAGE).content.decode()

    assert re.search(
        r"Failed, will be tried again</dt>\s*<dd><a href=\"/dashboard/memory\?index=pending\">1 memory", html
    )
