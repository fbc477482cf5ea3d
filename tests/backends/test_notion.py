"""Memories as pages of a Notion database: its limits, its rate, and the people who use it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from memory.backends import notion as notion_module
from memory.backends.base import BackendError
from memory.backends.notion import NotionBackend
from memory.backends.notion_pages import PROPERTIES, split_text
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord
from tests.backends.conftest import notion_config
from tests.backends.notion_workspace import NotionWorkspace

pytestmark = pytest.mark.django_db


def remember(backend: NotionBackend, key: str = "tea", content: str = "green tea", **fields: Any) -> MemoryRecord:
    return backend.create(MemoryDraft("A", key, content, **fields))


def limited(seconds: str) -> JSONResponse:
    return JSONResponse({"code": "rate_limited"}, 429, headers={"Retry-After": seconds})


def test_an_empty_database_gets_the_properties_it_lacks(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    workspace.schema = {"Titel": "title", "Owner": "rich_text", "Mine": "number"}
    remember(notion)
    assert workspace.schema == {"Titel": "title", "Mine": "number", **PROPERTIES}
    [page] = workspace.pages.values()
    assert page["properties"]["Titel"]["title"][0]["plain_text"] == "tea"


def test_a_property_of_another_kind_is_told(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    workspace.schema["Type"] = "rich_text"
    assert notion.health().error == "The property Type of the Notion database must be of the kind select"


def test_what_is_missing_or_not_shared_is_told(workspace: NotionWorkspace, db: None) -> None:
    wrong = NotionBackend(notion_config(workspace, databaseId="00000000000000000000000000000000"))
    assert wrong.health().error == "Notion answered HTTP 404"
    assert NotionBackend(notion_config(workspace, apiKey="x")).health().error == "Notion refuses the key (HTTP 401)"


def test_the_id_of_the_database_may_be_written_without_dashes(workspace: NotionWorkspace, db: None) -> None:
    plain = notion_config(workspace)["databaseId"].replace("-", "")
    backend = NotionBackend(notion_config(workspace, databaseId=plain))
    record = remember(backend)
    assert backend.get(record.id) == record


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=6000) | st.just("a" * 1999 + "🍵" * 1500))
def test_a_text_is_cut_into_pieces_that_notion_takes(text: str) -> None:
    pieces = list(split_text(text))
    assert "".join(pieces) == text
    assert all(0 < len(piece.encode("utf-16-le")) <= 4000 for piece in pieces)


def test_a_text_that_is_too_long_is_refused_for_good(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    remember(notion, content="x" * 200_000)
    with pytest.raises(BackendError, match="at most 200000 characters") as refusal:
        remember(notion, content="x" * 200_001)
    assert refusal.value.is_lasting


def test_many_memories_are_read_page_by_page(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    remember(notion)
    page = next(iter(workspace.pages.values()))
    for number in range(250):
        text = json.loads(json.dumps(page))
        text["id"] = f"{number:032x}"
        for name in ("Memory ID", "Record"):
            text["properties"][name]["rich_text"] = []
        workspace.pages[text["id"]] = text
    assert notion.count(MemoryFilter("A")) == {"factual": 251}


def test_a_page_that_a_person_adds_is_a_memory(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    notion.initialize()
    page_id = workspace.add_by_hand(Name="tea", Content="white tea", Owner="A")
    workspace.add_by_hand(Name="no content", Owner="A")
    found = notion.get(page_id)
    assert found is not None
    assert (found.id, found.key, found.content, found.type) == (page_id, "tea", "white tea", "factual")
    assert notion.find_by_key("A", "tea") == found
    updated = remember(notion, content="black tea")
    assert updated.id == page_id
    assert NotionBackend(notion_config(workspace)).get(page_id) == updated
    assert len(workspace.pages) == 2


def test_what_a_person_writes_is_seen(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    record = remember(notion, metadata={"source": "llm_response"})
    [page] = workspace.pages.values()
    page["properties"]["Content"]["rich_text"] = [{"plain_text": "bl"}, {"plain_text": "ack tea"}]
    found = notion.get(record.id)
    assert found is not None
    assert (found.content, found.metadata["source"], found.id) == ("black tea", "operator", record.id)


def test_a_deleted_memory_is_in_the_bin_and_never_told(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    record = remember(notion)
    assert notion.delete(record.id) is True
    [page] = workspace.pages.values()
    assert page["archived"] is True
    assert notion.get(page["id"]) is None


def test_pages_of_other_databases_are_no_memories(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    notion.initialize()
    page_id = workspace.add_by_hand(Name="k", Content="c", Owner="A")
    workspace.pages[page_id]["parent"] = {"database_id": "another"}
    notion._pages[page_id] = page_id
    assert notion.get(page_id) is None


def test_too_many_requests_are_waited_out_briefly(
    workspace: NotionWorkspace, notion: NotionBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(notion_module.time, "sleep", waited.append)
    notion.initialize()
    workspace.reply_next += [limited("1"), limited("2")]
    assert notion.get("absent") is None
    assert waited == [1.0, 2.0]
    workspace.reply_next += [limited("60")]
    with pytest.raises(BackendError, match="too many requests"):
        notion.get("absent")
    workspace.reply_next += [limited("0"), limited("0"), limited("0")]
    with pytest.raises(BackendError, match="too many requests"):
        notion.get("absent")
    assert waited == [1.0, 2.0, 0.0, 0.0]


def test_letters_of_another_case_are_another_key(workspace: NotionWorkspace, notion: NotionBackend) -> None:
    assert remember(notion, "tea").id != remember(notion, "TEA").id
