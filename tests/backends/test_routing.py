"""Who is asked for what: each cell of the routing table, through the services and doors that everybody uses."""

from typing import Any

import pytest
from django.utils import timezone
from structlog.testing import capture_logs

from core.errors import InvalidFieldsError, NotFoundError
from core.jobs import runner
from core.models import Setting
from memory import services
from memory.backends import manager
from memory.backends.base import BackendError, MemoryChanges
from memory.backends.manager import MANAGER, REGISTRY, MemoryManager, get_backend, get_primary
from memory.backends.states import check_backends, list_backend_states
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord, SearchQuery
from tests.backends.routing import OUTAGE, FakeBackend, register, use

pytestmark = pytest.mark.django_db


@pytest.fixture
def three() -> list[FakeBackend]:
    backends = register("first", "second", "third")
    use("first", "second", "third")
    return backends


def remember(key: str = "tea", content: str = "green tea") -> MemoryRecord:
    return services.create(MemoryDraft("A", key, content))


def a_record(key: str, content: str = "green tea") -> MemoryRecord:
    now = timezone.now()
    return MemoryRecord(-1, f"aaaaaaaa-0000-4000-8000-{key:0>12}", "A", "", "factual", key, content, {}, now, now, None)


def search(text: str = "green tea") -> Any:
    return manager.search(SearchQuery("A", text, "hybrid", 30))


# --- create, list ------------------------------------------------------------------------------------------


def test_create_goes_to_the_primary_alone(three: list[FakeBackend]) -> None:
    remember()
    runner.run_waiting_jobs()
    assert [len(backend.held) for backend in three] == [1, 0, 0]
    assert [backend.calls for backend in three[1:]] == [[], []]


def test_create_fails_where_the_primary_fails(three: list[FakeBackend]) -> None:
    three[0].fault = OUTAGE
    with pytest.raises(BackendError):
        remember()
    assert [len(backend.held) for backend in three] == [0, 0, 0]


def test_list_asks_the_primary_alone(three: list[FakeBackend]) -> None:
    three[1].held["x"] = a_record("x")
    assert get_primary().list(MemoryFilter("A"), limit=9, offset=0).records == []
    three[0].fault = OUTAGE
    with pytest.raises(BackendError):
        get_primary().list(MemoryFilter("A"), limit=9, offset=0)
    assert three[1].calls == []


# --- get ---------------------------------------------------------------------------------------------------


def test_get_is_answered_by_the_primary_where_it_has_it(three: list[FakeBackend]) -> None:
    record = remember()
    assert manager.find(record.id) == record
    assert [backend.calls for backend in three[1:]] == [[], []]


def test_get_asks_the_fallbacks_in_order_where_the_primary_has_none(three: list[FakeBackend]) -> None:
    record = a_record("x")
    three[2].held[record.id] = record
    assert manager.find(record.id) == record
    three[1].fault = OUTAGE
    assert manager.find(record.id) == record
    assert manager.find("absent") is None


def test_get_raises_what_the_primary_raises(three: list[FakeBackend]) -> None:
    record = a_record("x")
    three[1].held[record.id] = record
    three[0].fault = OUTAGE
    with pytest.raises(BackendError, match="it is down"):
        manager.find(record.id)
    assert three[1].calls == []


# --- update, delete ----------------------------------------------------------------------------------------


def test_update_goes_to_the_primary_and_the_fallbacks_follow(three: list[FakeBackend]) -> None:
    record = remember()
    services.update(record.id, MemoryChanges(content="black tea"))
    assert [len(backend.held) for backend in three] == [1, 0, 0]
    runner.run_waiting_jobs()
    assert [it.content for backend in three for it in backend.held.values()] == ["black tea"] * 3


def test_a_create_that_changes_a_memory_is_an_update(three: list[FakeBackend]) -> None:
    remember()
    remember(content="black tea")
    runner.run_waiting_jobs()
    assert [it.content for it in three[2].held.values()] == ["black tea"]


def test_delete_goes_to_the_primary_and_the_fallbacks_follow(three: list[FakeBackend]) -> None:
    record = remember()
    for backend in three[1:]:
        backend.held[record.id] = record
    services.delete(record.id)
    assert [len(backend.held) for backend in three] == [0, 1, 1]
    runner.run_waiting_jobs()
    assert [len(backend.held) for backend in three] == [0, 0, 0]


def test_a_fallback_that_is_down_is_nothing_to_the_caller(three: list[FakeBackend]) -> None:
    record = remember()
    three[1].fault = OUTAGE
    services.update(record.id, MemoryChanges(content="black tea"))
    services.delete(remember("other").id)
    runner.run_waiting_jobs()
    assert [it.content for it in three[2].held.values()] == ["black tea"]


def test_what_only_a_fallback_has_cannot_be_changed(three: list[FakeBackend]) -> None:
    record = a_record("x")
    three[1].held[record.id] = record
    with pytest.raises(NotFoundError):
        services.update(record.id, MemoryChanges(content="x"))
    with pytest.raises(NotFoundError):
        services.delete(record.id)
    assert three[1].held[record.id] == record


# --- search ------------------------------------------------------------------------------------------------


def test_search_is_answered_by_the_primary_where_it_can(three: list[FakeBackend]) -> None:
    record = remember()
    three[1].held["x"] = a_record("x")
    outcome = search()
    assert [hit.record.id for hit in outcome.hits] == [record.id]
    assert three[1].calls == []


def test_search_with_no_hit_asks_nobody_else(three: list[FakeBackend]) -> None:
    three[1].held["x"] = a_record("x")
    assert search().hits == []


def test_search_asks_the_fallbacks_in_order_where_there_is_an_error(three: list[FakeBackend]) -> None:
    three[1].held["x"], three[2].held["y"] = a_record("x"), a_record("y")
    three[0].fault = OUTAGE
    outcome = search()
    assert [hit.record.key for hit in outcome.hits] == ["x"]
    assert "it is down; Second answered instead" in outcome.fallback_reason
    three[1].fault = RuntimeError("a bug")
    outcome = search()
    assert [hit.record.key for hit in outcome.hits] == ["y"]
    assert "The backend second failed (RuntimeError); Third answered instead" in outcome.fallback_reason


def test_search_finds_nothing_where_all_fail_and_says_why(three: list[FakeBackend]) -> None:
    for backend in three:
        backend.fault = OUTAGE
    outcome = search()
    assert (outcome.hits, outcome.fallback_reason) == ([], "it is down; it is down; it is down")


def test_sqlite_stands_in_for_another_primary(fresh_engine: None) -> None:
    [backend] = register("first")
    services.create(MemoryDraft("A", "tea", "green tea"))
    use("first", "sqlite")
    backend.fault = OUTAGE
    assert [hit.record.content for hit in search().hits] == ["green tea"]


# --- the manager -------------------------------------------------------------------------------------------


def test_a_backend_of_the_same_id_takes_the_others_place_with_a_warning() -> None:
    own = MemoryManager(REGISTRY)
    one, two = FakeBackend("mine"), FakeBackend("mine")
    own.register(one)
    with capture_logs() as logs:
        own.register(two)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("memory.backends.replaced", "warning")]
    assert own.open("mine") is two
    own.unregister("mine")
    with pytest.raises(KeyError):
        own.open("mine")


def test_configuring_knows_only_registered_backends() -> None:
    register("mine")
    with pytest.raises(KeyError):
        MANAGER.configure("unknown")
    MANAGER.configure("mine", ["sqlite", "unknown"])
    assert get_primary().id == "mine"
    assert Setting.objects.get(key="memoryFallbackBackends").value == ["sqlite"]


def test_a_saved_choice_holds_from_the_next_call_on() -> None:
    register("mine")
    assert get_primary().id == "sqlite"
    Setting.objects.create(key="memoryPrimaryBackend", value="mine")
    assert get_primary().id == "mine"
    Setting.objects.update(value="sqlite")
    assert get_primary() is get_backend("sqlite")


def test_a_primary_that_nobody_knows_is_an_error_and_not_another_backend() -> None:
    Setting.objects.create(key="memoryPrimaryBackend", value="gone")
    with pytest.raises(BackendError, match="gone"):
        get_primary()


def test_unknown_fallbacks_are_passed_over() -> None:
    [backend] = register("mine")
    use("mine")
    Setting.objects.filter(key="memoryFallbackBackends").update(value=["gone", "mine", "sqlite"])
    assert manager.find("absent") is None
    backend.fault = OUTAGE
    assert "gone" not in (search().fallback_reason or "")


def test_a_primary_that_is_not_configured_can_not_be_chosen() -> None:
    for name, missing in (("obsidian", "apiKey"), ("notion", "apiKey, databaseId"), ("generic", "baseUrl")):
        with pytest.raises(InvalidFieldsError, match="Invalid request") as refusal:
            use(name)
        [detail] = refusal.value.details
        assert (detail.field, missing in detail.message) == ("primaryBackend", True)
    assert get_primary().id == "sqlite"


def test_the_registered_backends_are_listed_with_the_primary() -> None:
    register("mine")
    use("mine")
    listed = {item.id: item.is_primary for item in MANAGER.list_registered()}
    assert listed == {"sqlite": False, "obsidian": False, "notion": False, "generic": False, "mine": True}


def test_making_ready_goes_on_where_one_fails(three: list[FakeBackend]) -> None:
    three[1].fault = OUTAGE
    MANAGER.initialize()
    assert [backend.calls for backend in three] == [["check"], ["check"], ["check"]]


def test_a_failed_check_does_not_block_for_ever(three: list[FakeBackend]) -> None:
    three[0].fault = OUTAGE
    with pytest.raises(BackendError):
        get_primary().get("x")
    three[0].fault = None
    assert get_primary().get("x") is None


# --- health ------------------------------------------------------------------------------------------------


def test_checks_are_kept_for_everybody(three: list[FakeBackend]) -> None:
    three[1].fault = OUTAGE
    states = {state.id: state for state in list_backend_states()}
    assert states["first"].is_ok is None
    check_backends()
    states = {state.id: state for state in list_backend_states()}
    assert list(states)[:3] == ["first", "second", "third"]
    assert (states["first"].is_primary, states["first"].is_ok, states["first"].latency_ms) == (True, True, 3)
    assert (states["second"].is_fallback, states["second"].is_ok, states["second"].error) == (True, False, "it is down")
    assert states["second"].checked_at is not None
    assert (states["obsidian"].is_ok, states["obsidian"].is_fallback) == (None, False)


def test_with_this_database_alone_nothing_is_checked_and_nothing_written() -> None:
    assert check_backends() == {}
    assert not Setting.objects.exists()
