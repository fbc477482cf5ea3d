"""The forms of the Engine page: the embedding source, reranking and Qdrant, tried and saved."""

import re

import pytest

from memory.config import MEMORY_SECTION
from studio.forms.engine import QdrantForm
from tests.studio.engine_page import EMBEDDING, FROM_AUTO, HTMX, NO_QDRANT, PAGE, QDRANT, RERANK
from tests.studio.page_text import read_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]


# --- the embedding source ---
def test_the_source_is_saved_and_a_new_index_is_announced(staff):
    answer = staff.post(EMBEDDING, {**FROM_AUTO, "source": "static"}, follow=True)

    assert "Saved. A new index is built beside the old one" in read_text(answer)
    saved = MEMORY_SECTION.read()
    assert (saved["embeddingSource"], saved["staticEnabled"]) == ("static", True), "choosing it allows it"


def test_a_custom_endpoint_is_saved_as_what_it_is_and_let_go_for_a_provider(staff):
    endpoint = {"base_url": "http://127.0.0.1:9/v1/", "model_id": "m"}

    staff.post(EMBEDDING, {**FROM_AUTO, **endpoint, "source": "custom"})

    saved = MEMORY_SECTION.read()
    assert saved["embeddingSource"] == "remote"
    assert (saved["customBaseUrl"], saved["customModelId"]) == ("http://127.0.0.1:9/v1", "m")
    assert re.search(r'value="custom"\s+checked', staff.get(PAGE).content.decode())

    staff.post(EMBEDDING, {**FROM_AUTO, **endpoint, "source": "remote", "provider_model": "openai/x"})

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
def test_a_wrong_source_is_told_at_its_field_and_nothing_is_saved(staff, fields, told):
    before = MEMORY_SECTION.read()

    answer = staff.post(EMBEDDING, {**FROM_AUTO, **fields})

    assert answer.status_code == 422
    assert told in read_text(answer)
    assert 'class="error"' in answer.content.decode()
    assert MEMORY_SECTION.read() == before


def test_the_test_embeds_with_what_is_on_the_screen_and_saves_nothing(staff, embedding_api):
    before = MEMORY_SECTION.read()
    on_screen = {**FROM_AUTO, "source": "custom", "base_url": embedding_api.url, "model_id": "m"}

    answer = staff.post(f"{EMBEDDING}/test", on_screen, headers=HTMX)

    assert re.search(r"\d+ numbers in [\d.]+ ms, “test sentence” remote, \S*m", read_text(answer))
    assert "<html" not in answer.content.decode()
    assert MEMORY_SECTION.read() == before


def test_the_test_is_not_answered_out_of_the_cache(staff, embedding_api):
    on_screen = {**FROM_AUTO, "source": "custom", "base_url": embedding_api.url, "model_id": "m"}

    for _ in range(2):
        staff.post(f"{EMBEDDING}/test", on_screen, headers=HTMX)

    assert len(embedding_api.asked) == 2


def test_the_test_tells_what_is_wrong_and_works_without_script(staff):
    answer = staff.post(f"{EMBEDDING}/test", {**FROM_AUTO, "source": "remote", "provider_model": "openai/x"})

    assert "<html" in answer.content.decode()
    assert "OPENAI_API_KEY" in read_text(answer)
    assert re.search(r'value="remote"\s+checked', answer.content.decode()), "what was typed is still there"


def test_the_test_of_a_form_in_error_tells_the_error(staff):
    answer = staff.post(f"{EMBEDDING}/test", {**FROM_AUTO, "source": "custom"}, headers=HTMX)

    assert answer.status_code == 422
    assert "A custom endpoint needs both" in read_text(answer)


# --- reranking ---
def test_reranking_is_saved_tested_and_refused_without_a_model(staff):
    assert staff.post(RERANK, {"enabled": "on", "model": ""}).status_code == 422
    staff.post(RERANK, {"enabled": "on", "model": "cohere/rerank-v3.5"})

    assert MEMORY_SECTION.read()["rerankProviderModel"] == "cohere/rerank-v3.5"
    tested = staff.post(f"{RERANK}/test", {"model": "cohere/rerank-v3.5"}, headers=HTMX)
    assert "COHERE_API_KEY" in read_text(tested)
    assert "Name a model first." in read_text(staff.post(f"{RERANK}/test", {"model": ""}, headers=HTMX))


# --- Qdrant ---
def test_qdrants_key_is_masked_and_never_part_of_a_page(staff):
    secret = "qd-secret-key-1234567890"
    staff.post(QDRANT, {**NO_QDRANT, "api_key": secret})

    html = staff.get(PAGE).content.decode()

    assert "stored as ***7890" in html
    assert secret not in html
    # Saved again without one, it stays; asked to, it goes.
    staff.post(QDRANT, NO_QDRANT)
    assert "stored as ***7890" in staff.get(PAGE).content.decode()
    staff.post(QDRANT, {**NO_QDRANT, "remove_key": "on"})
    assert "none stored" in staff.get(PAGE).content.decode()


def test_qdrants_stored_key_is_tried_at_its_own_address_only(staff):
    secret = "qd-secret-key-1234567890"
    staff.post(QDRANT, {**NO_QDRANT, "api_key": secret})

    own = QdrantForm(NO_QDRANT)
    elsewhere = QdrantForm({**NO_QDRANT, "host": "127.0.0.1:10"})
    given = QdrantForm({**NO_QDRANT, "host": "127.0.0.1:10", "api_key": "another"})

    assert own.is_valid() and elsewhere.is_valid() and given.is_valid()
    assert own.build_settings().api_key == secret
    assert elsewhere.build_settings().api_key == ""
    assert given.build_settings().api_key == "another"


def test_qdrant_is_turned_on_with_the_engine_selector_and_its_fault_is_told(staff):
    answer = staff.post(QDRANT, {**NO_QDRANT, "enabled": "on"}, follow=True)

    assert "Qdrant is on; all memories are being written there" in read_text(answer)
    assert MEMORY_SECTION.read()["vectorStore"] == "qdrant"
    html = answer.content.decode()
    row = html[html.index('id="engine-row-qdrant"') :]
    assert "What to do:" in row[: row.index("</li>")]
    assert staff.post(QDRANT, {**NO_QDRANT, "enabled": "on", "host": ""}).status_code == 422


@pytest.mark.parametrize("action", ["test", "search"])
def test_a_dead_qdrant_is_told_in_words(staff, action):
    staff.post(QDRANT, NO_QDRANT)

    answer = staff.post(f"{QDRANT}/{action}", NO_QDRANT, headers=HTMX)

    assert answer.status_code == 200
    assert '<span class="dot bad">' in answer.content.decode()
    assert "Qdrant" in read_text(answer)


def test_cleaning_up_a_dead_qdrant_says_that_nothing_went(staff):
    staff.post(QDRANT, NO_QDRANT)

    assert "Nothing was cleaned up" in read_text(staff.post(f"{QDRANT}/clean-up", follow=True))


def test_a_qdrant_without_a_host_is_told_in_words(staff):
    answer = staff.post(f"{QDRANT}/search", {"query": "x"}, headers=HTMX)
    assert "No host of Qdrant is set" in read_text(answer)
    assert "not_configured" not in answer.content.decode()
    answer = staff.post(f"{QDRANT}/clean-up", follow=True)
    assert "Nothing was cleaned up: No host of Qdrant is set" in read_text(answer)
