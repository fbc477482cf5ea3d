"""What an operator left to a job is told when it is done, once, on whatever page that operator is then."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.words import translate
from memory.background import ERASE, IMPORT, UNDO, Work, list_untold, take_telling
from memory.corrections import find_correction
from memory.summarization import count_summaries
from studio.access import StudioRequest
from studio.owners import name_owner
from studio.toasts import add_toast, add_warning
from studio.wording import write_number


@dataclass(frozen=True, slots=True)
class Ending:
    """How something ended. `undo_id` is what can be undone by now, `address` where more of it is shown."""

    text: str
    undo_id: str = ""
    address: str = ""
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Telling:
    """`has_told` says that something had ended, `goes_on` that a job is still at something of the operator's."""

    has_told: bool
    goes_on: bool


def tell_finished(request: StudioRequest) -> Telling:
    """Say what has ended since, of what the operator has asked for. One query while there is nothing to tell."""
    works = list_untold(request.user.get_username())
    ended = [work for work in works if not work.is_open and take_telling(work.id)]
    for work in ended:
        tell_ending(request, describe_work(work))
    return Telling(bool(ended), any(work.is_open for work in works))


def tell_ending(request: StudioRequest, ending: Ending) -> None:
    if ending.is_warning:
        add_warning(request, ending.text, address=ending.address)
    else:
        add_toast(request, ending.text, undo_id=ending.undo_id or None, address=ending.address)


def describe_work(work: Work) -> Ending:
    """How work ended that is not open any more."""
    if work.kind == IMPORT:
        return _describe_import(work)
    if work.state == "failed":
        return describe_failure(work)
    if work.kind == UNDO:
        count = work.notes.get("restored", 0)
        if work.notes.get("changeKind") == "import":
            count += work.notes.get("removed", 0)
        kept = work.notes.get("kept", [])
        return Ending(tell_undone(count, kept), is_warning=bool(kept))
    if work.kind == ERASE and not work.undo_id:
        return _describe_erasure(work)
    if work.kind == ERASE:
        return Ending(tell_erased(work.notes.get("erased", 0)))
    return describe_change(work.undo_id)


def describe_failure(work: Work) -> Ending:
    given_up = _("This was given up after %(done)s of %(count)s memories. Django admin's jobs say why, and try again")
    told = given_up % {"done": write_number(work.done), "count": write_number(work.total)}
    is_refused = work.kind == UNDO and not work.done
    return Ending(translate(work.error) if is_refused else told, is_warning=True)


def describe_change(undo_id: str) -> Ending:
    """What a change that no job is at any more has come to; it can be undone if it wasn't."""
    kept = find_correction(undo_id)
    if kept is None:
        return Ending(_("Nothing was changed"))
    if kept.undone_at is not None:
        return Ending(_("Undone: the memories are as they were. What is newer stays"))
    if kept.kind == "compaction":
        return Ending(tell_compacted(kept.memories, count_summaries(undo_id)), undo_id)
    return Ending(_tell_done(kept.kind, kept.memories), undo_id)


def tell_compacted(count: int, summaries: int) -> str:
    told = ngettext(
        "Compacted %(count)s memory into %(summaries)s",
        "Compacted %(count)s memories into %(summaries)s",
        count,
    )
    return told % {"count": write_number(count), "summaries": write_number(summaries)}


def tell_erased(count: int) -> str:
    told = ngettext("Erased %(count)s memory for good", "Erased %(count)s memories for good", count)
    return told % {"count": write_number(count)}


def tell_undone(count: int, kept: Sequence[str]) -> str:
    """`kept` says what was newer and stays."""
    told = ngettext("Undone: %(count)s memory is as it was", "Undone: %(count)s memories are as they were", count)
    text = told % {"count": write_number(count)}
    if kept:
        newer = ngettext("%(count)s is newer and stays", "%(count)s are newer and stay", len(kept))
        parts = {"undone": text, "newer": newer % {"count": write_number(len(kept))}, "reason": translate(kept[0])}
        text = _("%(undone)s. %(newer)s: %(reason)s") % parts
    return text


def tell_imported(count: int, left: int) -> str:
    """`count` entries were new or changed what there was, `left` were left out."""
    told = ngettext("Imported %(count)s memory", "Imported %(count)s memories", count) % {"count": write_number(count)}
    if left:
        both = ngettext(
            "%(imported)s; %(count)s entry was left out", "%(imported)s; %(count)s entries were left out", left
        )
        told = both % {"imported": told, "count": write_number(left)}
    return told


def _describe_import(work: Work) -> Ending:
    if work.answer is None:
        return Ending(_("The import failed: %(reason)s") % {"reason": translate(work.error)}, is_warning=True)
    if not work.answer["imported"]:
        return Ending(_("Nothing was imported: no entry is new or changed"), is_warning=True)
    return Ending(tell_imported(work.answer["imported"], work.answer["leftOut"]), work.answer["undoId"])


def _describe_erasure(work: Work) -> Ending:
    owner = work.notes["owner"]
    address = reverse("studio:settings-key-erasure", args=[owner, work.id]) if owner else ""
    is_proven = bool(work.answer and work.answer["receipt"]["isProven"])
    told = _("All of %(name)s is erased") if is_proven else _("Not all of %(name)s is erased yet; it is tried again")
    return Ending(told % {"name": name_owner(owner)}, address=address, is_warning=not is_proven)


def _tell_done(kind: str, count: int) -> str:
    if kind == "delete":
        told = ngettext("Deleted %(count)s memory", "Deleted %(count)s memories", count)
    elif kind == "retype":
        told = ngettext("Changed the type of %(count)s memory", "Changed the type of %(count)s memories", count)
    else:
        told = ngettext("Changed %(count)s memory", "Changed %(count)s memories", count)
    return told % {"count": write_number(count)}
