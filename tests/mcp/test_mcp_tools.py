"""The tools themselves: filters before the budget, clearing in full, and schemas that say what is accepted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rest_framework.exceptions import ValidationError

from core.accounts.keys import Caller
from core.errors import InvalidFieldsError
from memory import services
from memory.mcp.arguments import AddArguments, ClearArguments, SearchArguments
from memory.mcp.tools import TOOLS, call_tool
from memory.models import Memory
from memory.records import MemoryDraft
from memory.search.keyword import count_fulltext_rows
from tests.engine import do_jobs, use_static_model

SEARCH, ADD, CLEAR = (tool.name for tool in TOOLS)
LONG_AGO = datetime(2023, 6, 1, tzinfo=UTC)


def as_key(name: str, *scopes: str) -> Caller:
    return Caller(name, name, frozenset(scopes or ("chat",)))


def clear(owner: str = "A", **arguments: Any) -> int:
    return call_tool(as_key(owner), CLEAR, arguments)["data"]["deletedCount"]


def refuse(owner: str = "A", **arguments: Any) -> None:
    with pytest.raises((InvalidFieldsError, ValidationError)):
        clear(owner, **arguments)


def count(owner: str = "A", **fields: Any) -> int:
    return Memory.objects.owned_by(owner).filter(**fields).count()


@pytest.fixture
def many(db: None) -> None:
    """A: 100 factual and 150 episodic, half of each from 2023; B: 5."""
    for number in range(250):
        kind = "factual" if number < 100 else "episodic"
        services.create(MemoryDraft("A", f"k{number}", f"tea of the day {number}", kind))
    for number in range(5):
        services.create(MemoryDraft("B", f"k{number}", "tea", "factual"))
    odd = [f"k{number}" for number in range(250) if number % 2]
    Memory.objects.owned_by("A").filter(key__in=odd).update(created_at=LONG_AGO)


@pytest.mark.usefixtures("many")
def test_rw_081_clear_removes_all_that_match_and_counts_them() -> None:
    assert clear(type="factual") == 100
    assert (count(), count(type="factual"), count("B")) == (150, 0, 5)
    assert clear(olderThan="2024-01-01") == 75
    assert (count(), count("B"), count_fulltext_rows()) == (75, 5, 80)
    assert clear(olderThan="2024-01-01T00:00:00+09:00") == 0
    for unreadable in ("yesterday", "", " ", "2024-13-01", "2024-01-01T00:00:00+99:00", None, 0):
        refuse(olderThan=unreadable)
    refuse(apiKeyId="")
    refuse()
    refuse(confirm=False)
    assert count() == 75
    assert clear(confirm=True) == 75
    assert (count(), count("B"), count_fulltext_rows()) == (0, 5, 5)


@pytest.mark.django_db
def test_rw_081_the_moment_is_the_one_that_was_meant() -> None:
    for number, moment in enumerate(("2023-12-31T14:59:00+00:00", "2023-12-31T15:01:00+00:00")):
        services.create(MemoryDraft("A", f"k{number}", "tea"))
        Memory.objects.filter(key=f"k{number}").update(created_at=datetime.fromisoformat(moment))
    assert clear(olderThan="2024-01-01T00:00:00+09:00") == 1
    assert clear(olderThan="2024-01-01") == 1


@pytest.mark.django_db
def test_rw_081_a_moment_to_come_is_everything_and_needs_the_confirmation() -> None:
    services.create(MemoryDraft("A", "k", "tea"))
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    refuse(olderThan=tomorrow)
    assert count() == 1
    assert clear(olderThan=tomorrow, confirm=True) == 1


@pytest.mark.usefixtures("fresh_engine")
@pytest.mark.django_db(transaction=True)
def test_rw_081_cleared_memories_leave_the_vectors_too() -> None:
    use_static_model()
    for number in range(3):
        services.create(MemoryDraft("A", f"k{number}", "tea"))
    do_jobs()
    assert _count_vectors() == 3
    clear(type="factual")
    assert _count_vectors() == 0


def _count_vectors() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM memory_vec_meta WHERE state = 'active'")
        cursor.execute(f"SELECT count(*) FROM {cursor.fetchone()[0]}")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("strategy", ["recent", "semantic", "hybrid", "adaptive"])
@pytest.mark.parametrize("has_vectors", [False, True])
@pytest.mark.usefixtures("fresh_engine")
@pytest.mark.django_db(transaction=True)
def test_rw_081_a_search_of_one_type_finds_it_below_a_hundred_better_others(strategy: str, has_vectors: bool) -> None:
    if has_vectors:
        use_static_model()
    for number in range(6):
        services.create(MemoryDraft("A", f"f{number}", f"some tea among other words, number {number}", "factual"))
    for number in range(120):
        services.create(MemoryDraft("A", f"e{number}", "tea tea", "episodic"))
    do_jobs()
    services.change_settings({"strategy": strategy})
    found = call_tool(as_key("A"), SEARCH, {"query": "tea tea", "type": "factual", "limit": 5, "maxTokens": 2000})
    memories = found["data"]["memories"]
    assert (found["data"]["count"], {memory["type"] for memory in memories}) == (5, {"factual"})


@pytest.mark.django_db
def test_the_type_counts_before_the_budget() -> None:
    for number in range(20):
        services.create(MemoryDraft("A", f"e{number}", "tea " * 40, "episodic"))
    services.create(MemoryDraft("A", "f", "tea", "factual"))
    found = call_tool(as_key("A"), SEARCH, {"query": "tea", "type": "factual", "maxTokens": 10})
    assert [memory["key"] for memory in found["data"]["memories"]] == ["f"]


@pytest.mark.django_db
def test_expired_memories_and_other_owners_are_never_found() -> None:
    services.create(MemoryDraft("A", "old", "tea", expires_at=LONG_AGO))
    services.create(MemoryDraft("B", "theirs", "tea"))
    for query in ("tea", ""):
        assert call_tool(as_key("A"), SEARCH, {"query": query})["data"]["count"] == 0


@pytest.mark.django_db
def test_arguments_nested_too_deeply_are_refused(settings: Any) -> None:
    metadata: dict[str, Any] = {}
    for _ in range(settings.MAX_JSON_DEPTH):
        metadata = {"a": metadata}
    with pytest.raises(InvalidFieldsError):
        call_tool(as_key("A"), ADD, {"type": "factual", "key": "k", "content": "c", "metadata": metadata})
    assert count() == 0


# --- the schemas that clients are told ---------------------------------------------------------------------

VALUES = st.sampled_from(
    [
        "",
        "a",
        "factual",
        "fact",
        "2026-01-31",
        "x" * 257,
        "x" * 513,
        0,
        1,
        100,
        101,
        8000,
        8001,
        2.5,
        True,
        False,
        None,
        [],
        {},
    ]
)


@pytest.mark.parametrize(
    ("tool", "arguments"), [(SEARCH, SearchArguments), (ADD, AddArguments), (CLEAR, ClearArguments)]
)
@given(data=st.data())
def test_a_schema_accepts_what_the_tool_accepts_and_nothing_else(tool: str, arguments: Any, data: Any) -> None:
    schema = next(item.input_schema for item in TOOLS if item.name == tool)
    names = st.sampled_from([*schema["properties"], "unknown"])
    given_arguments = data.draw(st.dictionaries(names, VALUES, max_size=6))
    fits_schema = Draft202012Validator(schema).is_valid(given_arguments)
    is_accepted = arguments(data=given_arguments).is_valid()
    # That a text is no date, only the tool itself sees.
    is_date_fault = fits_schema and not is_accepted and "olderThan" in given_arguments
    assert fits_schema == is_accepted or is_date_fault


def test_schemas_name_the_fields_of_the_arguments() -> None:
    for tool in TOOLS:
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        fields = tool.arguments().fields
        assert set(tool.input_schema["properties"]) == set(fields)
        assert set(tool.input_schema.get("required", [])) == {name for name, field in fields.items() if field.required}
