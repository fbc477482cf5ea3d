"""Erasing a key or a session: everywhere, proved, told truly when a place is out of reach, and gone from the file."""

import io
import json
import secrets
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from core.accounts.keys import create_api_key
from core.jobs import runner
from core.jobs.models import Job
from memory import corrections, queue, services, usage
from memory.erasing import confirm_and_erase, erase, plan_erase
from memory.erasing.receipts import is_unchanged
from memory.models import Memory, MemoryArchive, RequestLink
from memory.models import MemoryUse as MemoryUseRow
from memory.records import EraseScope, MemoryFilter, SearchQuery
from memory.search.engine import search
from memory.transfer import list_uploads, stage_upload
from tests.engine import do_jobs, use_static_model
from tests.transfer.stored import list_contents, load, remember

pytestmark = pytest.mark.django_db(transaction=True)


def count_vectors():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM vec_memories_rowids")
        return cursor.fetchone()[0]


def queue_extraction(owner="A", session_id="s1", text="I prefer tea."):
    queue.enqueue_extraction(
        owner=owner, session_id=session_id, user_text=text, assistant_text="", injected=[], said_at=timezone.now()
    )


def read_counts(plan):
    return {place.name: place.count for place in plan.places}


def read_files() -> bytes:
    """Everything that lies in the database's files."""
    path = Path(connection.settings_dict["NAME"])
    return b"".join(part.read_bytes() for part in path.parent.glob(f"{path.name}*"))


def fill(owner):
    """Leave something of the owner's everywhere, in two sessions."""
    first = remember(f"tea of {owner}", owner, session_id="s1", key="k1")
    remember(f"green tea of {owner}", owner, session_id="s2", key="k2")
    gone = remember(f"more tea of {owner}", owner, session_id="s1", key="k3")
    do_jobs()
    corrections.delete_memories([gone.id])
    usage.note_injections(f"r-{owner}", owner, [first.id], timezone.now())


@pytest.fixture
def filled(fresh_engine):
    use_static_model()
    fill("A")
    fill("B")
    for owner in "AB":
        for session_id in ("s1", "s2"):
            queue_extraction(owner, session_id)
    stage_upload(io.BytesIO(b"[]"), "x.json")


@pytest.mark.usefixtures("filled")
def test_everything_of_a_key_goes_and_nothing_of_another_key():
    before_b = load("B")
    planned = plan_erase(EraseScope("A"))
    assert planned.memories == 2
    counts = read_counts(planned)
    assert (counts["memories"], counts["undo archive"], counts["jobs"], counts["uploads"]) == (2, 1, 2, 2)
    receipt = confirm_and_erase(EraseScope("A"), confirmed=2, erased_by="somebody")
    assert receipt.is_proven, receipt
    assert all(place.after == 0 for place in receipt.places)
    assert load("A") == []
    assert not MemoryArchive.objects.filter(api_key_id="A").exists()
    assert not MemoryUseRow.objects.filter(api_key_id="A").exists()
    assert not RequestLink.objects.filter(api_key_id="A").exists()
    assert list_uploads() == []
    assert count_vectors() == 2
    assert load("B") == before_b
    assert MemoryArchive.objects.filter(api_key_id="B").count() == 1
    assert Job.objects.filter(name=queue.EXTRACT_FACTS, payload__owner="B").count() == 2
    assert Job.objects.filter(name=queue.EXTRACT_FACTS).count() == 2
    for strategy in ("exact", "hybrid", "adaptive"):
        assert search(SearchQuery("A", "tea", strategy, 30)).hits == []


@pytest.mark.usefixtures("filled")
def test_of_a_session_the_other_sessions_stay():
    receipt = confirm_and_erase(EraseScope("A", "s1"), confirmed=1, erased_by="somebody")
    assert receipt.is_proven, receipt
    assert list_contents("A") == ["green tea of A"]
    assert not MemoryArchive.objects.filter(api_key_id="A").exists()
    assert [job.payload["sessionId"] for job in Job.objects.filter(payload__owner="A")] == ["s2"]
    assert list_contents("B") == ["tea of B", "green tea of B"]


@pytest.mark.usefixtures("fresh_engine")
def test_no_word_of_what_was_erased_is_left_in_the_files():
    """In the row, the archive, the full-text index, the free pages and the log."""
    words = [secrets.token_hex(12) for _ in range(3)]
    use_static_model()
    for number in range(120):
        remember(f"other {number} words {secrets.token_hex(20)}", "B")
    remember(f"the word is {words[0]} {'and more ' * 800}", key="a")
    remember(f"the word is {words[1]}", key="b")
    remember(f"the word is {words[2]}", key="b")  # writes over the one before
    queue_extraction(text=f"I prefer {words[0]}.")
    do_jobs()
    corrections.delete_matching(MemoryFilter("A", text=words[0]))
    assert any(word.encode() in read_files() for word in words)
    receipt = erase(EraseScope("A"), erased_by="somebody")
    assert receipt.is_proven, receipt
    left = read_files()
    assert [word for word in words if word.encode() in left] == []
    assert list_contents("B")[0].startswith("other 0")


@pytest.mark.usefixtures("fresh_engine")
def test_the_log_of_what_operators_did_in_the_admin_holds_nothing_of_a_memory(client):
    """It outlives every erasure."""
    word = secrets.token_hex(12)
    memory = Memory.objects.get(uuid=remember(f"the word is {word}", key=word).id)
    client.force_login(User.objects.create_superuser("boss"))
    address = f"/admin/memory/memory/{memory.pk}"
    changed = {"type": "factual", "key": word, "content": f"changed, {word}"}
    assert client.post(f"{address}/change/", changed).status_code == 302
    assert client.post(f"{address}/delete/", {"post": "yes"}).status_code == 302
    assert LogEntry.objects.count() == 2
    assert erase(EraseScope("A"), erased_by="somebody").is_proven
    assert word.encode() not in read_files()


@pytest.mark.usefixtures("fresh_engine")
def test_no_word_is_left_of_what_was_deleted_before_the_erasure():
    """There is no row to erase then, but the full-text index forgets in its own time."""
    word = secrets.token_hex(12)
    memory = remember(f"the word is {word}")
    remember("tea", "B")
    services.delete(memory.id)
    assert word.encode() in read_files()
    assert erase(EraseScope("A"), erased_by="somebody").is_proven
    assert word.encode() not in read_files()


def test_a_wrong_number_erases_nothing():
    remember("tea")
    with pytest.raises(Exception, match="there are 1 memories, and 5 were confirmed"):
        confirm_and_erase(EraseScope("A"), confirmed=5, erased_by="somebody")
    assert list_contents("A") == ["tea"]


def test_the_receipt_tells_if_it_was_changed():
    remember("tea")
    told = json.loads(json.dumps(erase(EraseScope("A"), erased_by="somebody").tell()))
    assert is_unchanged(told)
    assert not is_unchanged({**told, "erasedBy": "another"})
    assert any("backups" in kept for kept in told["kept"])


class Unreachable:
    """A place of another room that is down, until it isn't."""

    name = "elsewhere"
    is_down = True
    held = 3

    def count(self, scope):
        self._ask()
        return Unreachable.held

    def erase(self, scope):
        self._ask()
        Unreachable.held = 0
        return 3

    def _ask(self):
        if Unreachable.is_down:
            raise ConnectionError("host=10.0.0.1 password=hunter2")


def test_what_cannot_be_reached_is_told_and_tried_again_until_it_is_done(settings):
    settings.ERASERS = [f"{__name__}.Unreachable"]
    remember("tea")
    receipt = erase(EraseScope("A"), erased_by="somebody")
    assert not receipt.is_proven
    [place] = [place for place in receipt.places if place.name == "elsewhere"]
    assert place.error == "it could not be reached"
    assert load("A") == []
    Job.objects.filter(name=queue.ERASE).update(run_at=timezone.now() - timedelta(seconds=1))
    runner.run_waiting_jobs()
    job = Job.objects.get(name=queue.ERASE)
    assert (job.state, "elsewhere" in job.error) == (Job.State.QUEUED, True)
    Unreachable.is_down = False
    Job.objects.filter(name=queue.ERASE).update(run_at=timezone.now() - timedelta(seconds=1))
    runner.run_waiting_jobs()
    assert Job.objects.get(name=queue.ERASE).state == Job.State.DONE
    assert Unreachable.held == 0


def test_vectors_of_memories_that_are_gone_go_too(fresh_engine):
    use_static_model()
    remember("tea")
    do_jobs()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories")  # as a client without sqlite-vec would
    assert count_vectors() == 1
    assert erase(EraseScope("A"), erased_by="somebody").is_proven
    assert count_vectors() == 0


# --- the command ---
def call(*words):
    output = io.StringIO()
    call_command("memory_erase", *words, stdout=output)
    return output.getvalue()


def test_the_command_counts_first_and_erases_when_the_number_is_repeated(tmp_path):
    key, _ = create_api_key("laptop")
    remember("tea", key.id)
    told = call("--owner", "laptop")
    assert "memories: 1" in told
    assert "--confirm 1" in told
    with pytest.raises(CommandError, match="were confirmed"):
        call("--owner", "laptop", "--confirm", "2")
    with pytest.raises(CommandError, match="something is left"):
        call("--owner", "laptop", "--verify")
    receipt = tmp_path / "receipt.json"
    told = call("--owner", "laptop", "--confirm", "1", "--receipt", str(receipt), "--vacuum")
    assert "nothing is left" in told
    assert json.loads(receipt.read_text())["isProven"] is True
    assert "Nothing is left" in call("--owner", "laptop", "--verify")
    assert Memory.objects.owned_by(key.id).count() == 0


def test_the_command_fails_when_something_is_left(settings):
    Unreachable.is_down = True
    settings.ERASERS = [f"{__name__}.Unreachable"]
    remember("tea")
    with pytest.raises(CommandError, match="elsewhere: it could not be reached"):
        call("--owner", "A", "--confirm", "1")


def test_an_owner_that_nobody_knows_is_refused():
    with pytest.raises(CommandError, match="no API key is called"):
        call("--owner", "nobody", "--confirm", "3")
    assert "Nothing is left" in call("--owner", "nobody", "--verify")
