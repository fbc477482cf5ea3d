"""The Engine page: how each part of recall stands, the poll that keeps it current, and how much has a vector."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.accounts.keys import create_api_key
from core.jobs.models import Job
from memory import queue, services
from memory.config import MEMORY_SECTION
from tests.embeddings.stub_api import Reply, StubApi
from tests.engine import do_jobs, use_embedding_server, use_static_model
from tests.studio.engine_page import (
    COVERAGE,
    EMBEDDING,
    HTMX,
    PAGE,
    QDRANT,
    REINDEX,
    RERANK,
    STATUS,
    list_swapped,
    read_poll,
    remember,
)
from tests.studio.page_text import read_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]


# --- the five rows ---
def test_five_rows_say_how_each_part_stands_and_lead_to_its_form(staff):
    use_static_model()
    remember("tea")
    do_jobs()

    answer = staff.get(PAGE)

    html, text = answer.content.decode(), read_text(answer)
    assert re.findall(r'id="engine-row-(\w+)"', html) == ["keyword", "embedding", "vector", "qdrant", "rerank"]
    for part in ("embedding", "qdrant", "rerank"):
        assert f'href="#engine-config-{part}"' in html
        assert f'id="engine-config-{part}"' in html
    assert "all working" in text
    assert "Embedding , working" in text
    assert "Rerank , off Off. Results keep the order of the search." in text


def test_a_part_that_fails_says_why_and_what_to_do(staff):
    services.change_settings({"embeddingSource": "static", "staticEnabled": False})

    text = read_text(staff.get(PAGE))

    assert "degraded: 4 of 5 working" in text
    assert "the source static is chosen but not enabled" in text.lower()
    assert "What to do:" in text


def test_a_server_that_fails_is_told_in_its_row(staff, embedding_api: StubApi):
    use_embedding_server(embedding_api)
    embedding_api.answer = lambda asked: Reply(status=503)
    remember("tea")
    do_jobs()

    html = staff.get(PAGE).content.decode()

    row = html[html.index('id="engine-row-embedding"') :]
    assert '<span class="dot bad">' in row[: row.index("</li>")]
    assert "What to do:" in row[: row.index("</li>")]


# --- the poll ---
def test_a_poll_brings_nothing_but_itself_while_nothing_has_changed(staff):
    use_static_model()
    remember("tea")
    do_jobs()
    page = staff.get(PAGE)

    polled = staff.get(read_poll(page), headers=HTMX)

    assert list_swapped(polled) == []
    assert "checked at" in read_text(polled)
    assert "<form" not in polled.content.decode()


def test_a_poll_swaps_the_rows_that_have_changed_and_no_form(staff):
    use_static_model()
    remember("tea")
    do_jobs()
    page = staff.get(PAGE)
    MEMORY_SECTION.write({"staticEnabled": False})

    polled = staff.get(read_poll(page), headers=HTMX)

    swapped = list_swapped(polled)
    assert "engine-row-embedding" in swapped
    assert "engine-overall" in swapped
    assert "engine-verdict" in swapped, "a change of state is said aloud"
    assert "engine-row-keyword" not in swapped
    assert "engine-config-" not in polled.content.decode().replace('href="#engine-config-', "")
    assert list_swapped(staff.get(read_poll(polled), headers=HTMX)) == []


def test_a_forged_address_of_the_poll_does_no_harm(staff):
    answer = staff.get(f"{STATUS}?seen=%3Cscript%3E&mark=nan_-1")

    assert answer.status_code == 200
    assert "<script" not in answer.content.decode()


# --- coverage ---
def test_coverage_counts_what_has_a_vector_by_key_and_by_type(staff):
    owner, _ = create_api_key("office-bot")
    use_static_model()
    remember("tea", owner.id)
    remember("cats", owner.id)
    remember("xyzzy", owner.id)
    do_jobs()

    text = read_text(staff.get(COVERAGE, headers=HTMX))

    assert "office-bot 3 2 1 66.7 %" in text
    assert "factual 3 2 1 66.7 %" in text
    assert "procedural 0 0 0 –" in text
    assert "office-bot 3 2 1" in read_text(staff.get(f"{PAGE}&coverage=1")), "without script a link shows it"
    assert "office-bot" not in read_text(staff.get(PAGE)), "counts of the whole table do not hold the page up"


def test_the_number_of_queries_does_not_grow_with_keys_and_memories(staff):
    counts = []
    for number in range(12):
        owner, _ = create_api_key(f"bot {number}")
        remember(f"tea {number}", owner.id)
        if number in (1, 11):
            with CaptureQueriesContext(connection) as queries:
                staff.get(f"{PAGE}&coverage=1")
            counts.append(len(queries))

    assert counts[0] == counts[1]


def test_only_posts_change_anything_and_only_the_operator_may(staff, client):
    for address in (REINDEX, EMBEDDING, f"{EMBEDDING}/test", RERANK, QDRANT, f"{QDRANT}/clean-up"):
        assert staff.get(address).status_code == 405
    staff.logout()
    assert staff.post(REINDEX, {"force": "true"}).status_code == 302
    assert not Job.objects.filter(name=queue.INDEX_PENDING).exists()
