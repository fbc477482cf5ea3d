"""Places that an erasure can't reach: how that is told, on the receipt, by the command and in the log."""

import io

import pytest
from django.core.management import CommandError, call_command
from structlog.testing import capture_logs

from core.errors import UpstreamError
from memory.erasing import erase
from memory.records import EraseScope
from tests.transfer.stored import remember

pytestmark = pytest.mark.django_db


class Refusing:
    """A place that can't be asked for now, and says so in words."""

    name = "elsewhere"

    def count(self, scope):
        raise UpstreamError("The vault could not be reached")

    def erase(self, scope):
        raise UpstreamError("The vault could not be reached")


@pytest.fixture(autouse=True)
def refusing(settings):
    settings.ERASERS = [f"{__name__}.Refusing"]


def test_a_place_that_refuses_is_told_in_its_words_and_leaves_no_traceback():
    with capture_logs() as logs:
        receipt = erase(EraseScope("A"), erased_by="somebody")
    assert not receipt.is_proven
    assert [place.error for place in receipt.places if place.error] == ["The vault could not be reached"]
    told = [entry for entry in logs if entry["event"] == "memory.erase.place_failed"]
    assert told
    assert {entry["error"] for entry in told} == {"The vault could not be reached"}
    assert not any(entry.get("exc_info") for entry in told)


def test_a_check_tells_what_is_left_from_what_could_not_be_counted():
    with pytest.raises(CommandError, match="not every place could be"):
        call_command("memory_erase", "--owner", "A", "--verify", stdout=io.StringIO())
    remember("tea")
    with pytest.raises(CommandError, match="something is left"):
        call_command("memory_erase", "--owner", "A", "--verify", stdout=io.StringIO())
