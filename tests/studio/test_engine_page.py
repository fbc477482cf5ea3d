"""The Engine page: how each part of recall stands, the poll that keeps it current, and the forms that change it."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core.accounts.keys import create_api_key
from core.jobs.models import Job
from memory import queue, services
from memory.config import MEMORY_SECTION
from memory.models import Memory
from memory.records import MemoryDraft, MemoryRecord
from studio.forms.engine import QdrantForm
from tests.embeddings.stub_api import Reply, StubApi
from tests.engine import do_jobs, use_embedding_server, use_static_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

PAGE = "/dashboard/memory?tab=engine"
COVERAGE = "/dashboard/memory/engine/coverage"
STATUS = "/dashboard/memory/engine/status"
REINDEX = "/dashboard/memory/engine/reindex"
EMBEDDING = "/dashboard/memory/engine/embedding"
RERANK = "/dashboard/memory/engine/rerank"
QDRANT = "/dashboard/memory/engine/qdrant"
HTMX = {"HX-Request": "true"}
FROM_AUTO = {"source": "auto", "provider_model": "", "base_url": "", "model_id": ""}
NO_QDRANT = {
    "host": "127.0.0.1:9",
    "port": "6333",
    "collection": "omniroute_memory",
    "embedding_model": "memory",
    "quantization": "none",
}


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_user("ona", password="x", is_staff=True))
    return client


def remember(content: str, owner: str = "") -> MemoryRecord:
    return services.create(MemoryDraft(owner, content[:60], content))


def read_text(answer: Any) -> str:
    """The page as it is read: without markup, blanks folded."""
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def read_poll(answer: Any) -> str:
    """The address that the page polls next."""
    found = re.search(r'id="engine-poll"\s+hx-get="([^"]+)"', answer.content.decode())
    assert found is not None
    return found[1].replace("&amp;", "&")


def list_swapped(answer: Any) -> list[str]:
    """Ids of what an answer to the poll has swapped."""
    return re.findall(r'id="([a-z-]+)"[^>]*hx-swap-oob', answer.content.decode())


# --- the five rows ---
def test_five_rows_say_how_each_part_stands_and_lead_to_its_form(operator):
    use_static_model()
    remember("tea")
    do_jobs()

    answer = operator.get(PAGE)

    html, text = answer.content.decode(), read_text(answer)
    assert re.findall(r'id="engine-row-(\w+)"', html) == ["keyword", "embedding", "vector", "qdrant", "rerank"]
    for part in ("embedding", "qdrant", "rerank"):
        assert f'href="#engine-config-{part}"' in html
        assert f'id="engine-config-{part}"' in html
    assert "all working" in text
    assert "Embedding , working" in text
    assert "Rerank , off Off. Results keep the order of the search." in text


def test_a_part_that_fails_says_why_and_what_to_do(operator):
    services.change_settings({"embeddingSource": "static", "staticEnabled": False})

    text = read_text(operator.get(PAGE))

    assert "degraded: 4 of 5 working" in text
    assert "the source static is chosen but not enabled" in text.lower()
    assert "What to do:" in text


def test_a_server_that_fails_is_told_in_its_row(operator, embedding_api: StubApi):
    use_embedding_server(embedding_api)
    embedding_api.answer = lambda asked: Reply(status=503)
    remember("tea")
    do_jobs()

    html = operator.get(PAGE).content.decode()

    row = html[html.index('id="engine-row-embedding"') :]
    assert '<span class="dot bad">' in row[: row.index("</li>")]
    assert "What to do:" in row[: row.index("</li>")]


# --- the poll ---
def test_a_poll_brings_nothing_but_itself_while_nothing_has_changed(operator):
    use_static_model()
    remember("tea")
    do_jobs()
    page = operator.get(PAGE)

    polled = operator.get(read_poll(page), headers=HTMX)

    assert list_swapped(polled) == []
    assert "checked at" in read_text(polled)
    assert "<form" not in polled.content.decode()


def test_a_poll_swaps_the_rows_that_have_changed_and_no_form(operator):
    use_static_model()
    remember("tea")
    do_jobs()
    page = operator.get(PAGE)
    MEMORY_SECTION.write({"staticEnabled": False})

    polled = operator.get(read_poll(page), headers=HTMX)

    swapped = list_swapped(polled)
    assert "engine-row-embedding" in swapped
    assert "engine-overall" in swapped
    assert "engine-verdict" in swapped, "a change of state is said aloud"
    assert "engine-row-keyword" not in swapped
    assert "engine-config-" not in polled.content.decode().replace('href="#engine-config-', "")
    assert list_swapped(operator.get(read_poll(polled), headers=HTMX)) == []


def test_a_forged_address_of_the_poll_does_no_harm(operator):
    answer = operator.get(f"{STATUS}?seen=%3Cscript%3E&mark=nan_-1")

    assert answer.status_code == 200
    assert "<script" not in answer.content.decode()


# --- reindex ---
def test_reindex_now_queues_the_job_and_says_how_many_wait(operator):
    use_static_model()
    remember("tea")
    remember("cats")
    Job.objects.all().delete()

    answer = operator.post(REINDEX, {"force": "false"}, follow=True)

    assert answer.redirect_chain[0][0] == f"{PAGE}#reindex"
    assert "Reindexing 2 memories" in read_text(answer)
    assert Job.objects.filter(name=queue.INDEX_PENDING).count() == 1
    assert "0 of 2 memories" in read_text(answer)
    do_jobs()
    assert "2 of 2 memories 100 %" in read_text(operator.get(PAGE))


def test_reindex_now_leaves_vectors_that_are_current_and_rebuild_does_not(operator):
    use_static_model()
    remember("tea")
    do_jobs()

    assert "Every memory has its vector already" in read_text(operator.post(REINDEX, {"force": "false"}, follow=True))
    assert not Memory.objects.owned_by(None).filter(needs_reindex=True).exists()
    assert "Reindexing 1 memory" in read_text(operator.post(REINDEX, {"force": "true"}, follow=True))
    assert Memory.objects.owned_by(None).filter(needs_reindex=True).exists()


def test_reindex_that_can_not_start_says_why(operator):
    remember("tea")

    text = read_text(operator.post(REINDEX, {"force": "false"}, follow=True))

    assert "Reindexing can't start: no embedding source" in text


def test_a_new_index_is_shown_beside_the_old_one_while_it_is_built(operator, embedding_api):
    use_static_model()
    remember("tea")
    do_jobs()
    services.change_settings({"embeddingSource": "remote", "customBaseUrl": embedding_api.url, "customModelId": "m"})
    embedding_api.answer = lambda asked: Reply(status=503)
    do_jobs()

    text = read_text(operator.get(PAGE))

    assert "a second index is built beside the old one" in text
    assert re.search(r"From static:\S+:4 To remote:\S+m", text)
    assert "0 of 1 memories" in text


def test_rows_that_can_not_be_embedded_are_counted_and_lead_to_the_list(operator):
    use_static_model()
    remember("xyzzy")
    do_jobs()

    html = operator.get(PAGE).content.decode()

    assert re.search(
        r"Failed, will be tried again</dt>\s*<dd><a href=\"/dashboard/memory\?index=pending\">1 memory", html
    )


# --- the embedding source ---
def test_the_source_is_saved_and_a_new_index_is_announced(operator):
    answer = operator.post(EMBEDDING, {**FROM_AUTO, "source": "static"}, follow=True)

    assert "Saved. A new index is built beside the old one" in read_text(answer)
    saved = MEMORY_SECTION.read()
    assert (saved["embeddingSource"], saved["staticEnabled"]) == ("static", True), "choosing it allows it"


def test_a_custom_endpoint_is_saved_as_what_it_is_and_let_go_for_a_provider(operator):
    endpoint = {"base_url": "http://127.0.0.1:9/v1/", "model_id": "m"}

    operator.post(EMBEDDING, {**FROM_AUTO, **endpoint, "source": "custom"})

    saved = MEMORY_SECTION.read()
    assert saved["embeddingSource"] == "remote"
    assert (saved["customBaseUrl"], saved["customModelId"]) == ("http://127.0.0.1:9/v1", "m")
    assert re.search(r'value="custom"\s+checked', operator.get(PAGE).content.decode())

    operator.post(EMBEDDING, {**FROM_AUTO, **endpoint, "source": "remote", "provider_model": "openai/x"})

    assert MEMORY_SECTION.read()["customBaseUrl"] is None, "else it would go before the provider"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"source": "custom"}, "A custom endpoint needs both"),
        ({"source": "remote"}, "Name a model as provider/model, or choose Auto."),
        ({"source": "auto", "base_url": "http://169.254.169.254/v1", "model_id": "m"}, "address"),
        ({"source": "auto", "base_url": "ftp://example.org"}, "http"),
        ({"source": "magic"}, "magic"),
    ],
)
def test_a_wrong_source_is_told_at_its_field_and_nothing_is_saved(operator, fields, told):
    before = MEMORY_SECTION.read()

    answer = operator.post(EMBEDDING, {**FROM_AUTO, **fields})

    assert answer.status_code == 422
    assert told in read_text(answer)
    assert 'class="error"' in answer.content.decode()
    assert MEMORY_SECTION.read() == before


def test_the_test_embeds_with_what_is_on_the_screen_and_saves_nothing(operator, embedding_api):
    before = MEMORY_SECTION.read()
    on_screen = {**FROM_AUTO, "source": "custom", "base_url": embedding_api.url, "model_id": "m"}

    answer = operator.post(f"{EMBEDDING}/test", on_screen, headers=HTMX)

    assert re.search(r"\d+ numbers in [\d.]+ ms, “test sentence” remote, \S*m", read_text(answer))
    assert "<html" not in answer.content.decode()
    assert MEMORY_SECTION.read() == before


def test_the_test_is_not_answered_out_of_the_cache(operator, embedding_api):
    on_screen = {**FROM_AUTO, "source": "custom", "base_url": embedding_api.url, "model_id": "m"}

    for _ in range(2):
        operator.post(f"{EMBEDDING}/test", on_screen, headers=HTMX)

    assert len(embedding_api.asked) == 2


def test_the_test_tells_what_is_wrong_and_works_without_script(operator):
    answer = operator.post(f"{EMBEDDING}/test", {**FROM_AUTO, "source": "remote", "provider_model": "openai/x"})

    assert "<html" in answer.content.decode()
    assert "OPENAI_API_KEY" in read_text(answer)
    assert re.search(r'value="remote"\s+checked', answer.content.decode()), "what was typed is still there"


def test_the_test_of_a_form_in_error_tells_the_error(operator):
    answer = operator.post(f"{EMBEDDING}/test", {**FROM_AUTO, "source": "custom"}, headers=HTMX)

    assert answer.status_code == 422
    assert "A custom endpoint needs both" in read_text(answer)


# --- reranking ---
def test_reranking_is_saved_tested_and_refused_without_a_model(operator):
    assert operator.post(RERANK, {"enabled": "on", "model": ""}).status_code == 422
    operator.post(RERANK, {"enabled": "on", "model": "cohere/rerank-v3.5"})

    assert MEMORY_SECTION.read()["rerankProviderModel"] == "cohere/rerank-v3.5"
    tested = operator.post(f"{RERANK}/test", {"model": "cohere/rerank-v3.5"}, headers=HTMX)
    assert "COHERE_API_KEY" in read_text(tested)
    assert "Name a model first." in read_text(operator.post(f"{RERANK}/test", {"model": ""}, headers=HTMX))


# --- Qdrant ---
def test_qdrants_key_is_masked_and_never_part_of_a_page(operator):
    secret = "qd-secret-key-1234567890"
    operator.post(QDRANT, {**NO_QDRANT, "api_key": secret})

    html = operator.get(PAGE).content.decode()

    assert "stored as ***7890" in html
    assert secret not in html
    # Saved again without one, it stays; asked to, it goes.
    operator.post(QDRANT, NO_QDRANT)
    assert "stored as ***7890" in operator.get(PAGE).content.decode()
    operator.post(QDRANT, {**NO_QDRANT, "remove_key": "on"})
    assert "none stored" in operator.get(PAGE).content.decode()


def test_qdrants_stored_key_is_tried_at_its_own_address_only(operator):
    secret = "qd-secret-key-1234567890"
    operator.post(QDRANT, {**NO_QDRANT, "api_key": secret})

    own = QdrantForm(NO_QDRANT)
    elsewhere = QdrantForm({**NO_QDRANT, "host": "127.0.0.1:10"})
    given = QdrantForm({**NO_QDRANT, "host": "127.0.0.1:10", "api_key": "another"})

    assert own.is_valid() and elsewhere.is_valid() and given.is_valid()
    assert own.build_settings().api_key == secret
    assert elsewhere.build_settings().api_key == ""
    assert given.build_settings().api_key == "another"


def test_qdrant_is_turned_on_with_the_engine_selector_and_its_fault_is_told(operator):
    answer = operator.post(QDRANT, {**NO_QDRANT, "enabled": "on"}, follow=True)

    assert "Qdrant is on; all memories are being written there" in read_text(answer)
    assert MEMORY_SECTION.read()["vectorStore"] == "qdrant"
    html = answer.content.decode()
    row = html[html.index('id="engine-row-qdrant"') :]
    assert "What to do:" in row[: row.index("</li>")]
    assert operator.post(QDRANT, {**NO_QDRANT, "enabled": "on", "host": ""}).status_code == 422


@pytest.mark.parametrize("action", ["test", "search"])
def test_a_dead_qdrant_is_told_in_words(operator, action):
    operator.post(QDRANT, NO_QDRANT)

    answer = operator.post(f"{QDRANT}/{action}", NO_QDRANT, headers=HTMX)

    assert answer.status_code == 200
    assert '<span class="dot bad">' in answer.content.decode()
    assert "Qdrant" in read_text(answer)


def test_cleaning_up_a_dead_qdrant_says_that_nothing_went(operator):
    operator.post(QDRANT, NO_QDRANT)

    assert "Nothing was cleaned up" in read_text(operator.post(f"{QDRANT}/clean-up", follow=True))


# --- coverage ---
def test_coverage_counts_what_has_a_vector_by_key_and_by_type(operator):
    owner, _ = create_api_key("office-bot")
    use_static_model()
    remember("tea", owner.id)
    remember("cats", owner.id)
    remember("xyzzy", owner.id)
    do_jobs()

    text = read_text(operator.get(COVERAGE, headers=HTMX))

    assert "office-bot 3 2 1 66.7 %" in text
    assert "factual 3 2 1 66.7 %" in text
    assert "procedural 0 0 0 –" in text
    assert "office-bot 3 2 1" in read_text(operator.get(f"{PAGE}&coverage=1")), "without script a link shows it"
    assert "office-bot" not in read_text(operator.get(PAGE)), "counts of the whole table do not hold the page up"


def test_the_number_of_queries_does_not_grow_with_keys_and_memories(operator):
    counts = []
    for number in range(12):
        owner, _ = create_api_key(f"bot {number}")
        remember(f"tea {number}", owner.id)
        if number in (1, 11):
            with CaptureQueriesContext(connection) as queries:
                operator.get(f"{PAGE}&coverage=1")
            counts.append(len(queries))

    assert counts[0] == counts[1]


def test_only_posts_change_anything_and_only_the_operator_may(operator, client):
    for address in (REINDEX, EMBEDDING, f"{EMBEDDING}/test", RERANK, QDRANT, f"{QDRANT}/clean-up"):
        assert operator.get(address).status_code == 405
    operator.logout()
    assert operator.post(REINDEX, {"force": "true"}).status_code == 302
    assert not Job.objects.filter(name=queue.INDEX_PENDING).exists()
