"""Queries and answers of moving in and out, and of erasing."""

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers

from core.errors import FieldError, InvalidFieldsError
from core.fields import (
    QueryBooleanField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
    StrictTextField,
)
from core.words import gettext as _
from memory.erasing import ErasePlan
from memory.serializers import MAX_ID_LENGTH, MAX_POSITION, MemoryListQuery, OwnerField
from memory.transfer import ImportOptions, ImportPlan, ImportReport, list_formats

EXPORT_FORMATS: Final = ("jsonl", "json")


class ExportQuery(MemoryListQuery):
    """Parameters of GET /api/memory/export: the filters of the list; its paging and order are not used."""

    format = StrictChoiceField(EXPORT_FORMATS, default="jsonl")


class ImportQuery(serializers.Serializer[Any]):
    """Parameters of POST /api/memory/import; the body is the file."""

    apiKeyId = OwnerField(max_length=MAX_ID_LENGTH, required=False)
    format = StrictChoiceField([name for name, _ in list_formats()], default="auto")
    dryRun = QueryBooleanField(default=False)
    keepOwners = QueryBooleanField(default=False)
    sourceOwner = StrictTextField(max_length=MAX_ID_LENGTH, required=False)
    overwrite = QueryBooleanField(default=False)
    refresh = QueryBooleanField(required=False)
    conversations = QueryBooleanField(default=False)
    strict = QueryBooleanField(default=False)


class EraseBody(StrictSerializer):
    """Body of POST /api/memory/erase. `confirm` is the number of memories that a dry run has told."""

    apiKeyId = OwnerField(max_length=MAX_ID_LENGTH, allow_blank=True)
    sessionId = StrictTextField(max_length=MAX_ID_LENGTH, required=False)
    dryRun = StrictBooleanField(default=False)
    confirm = StrictIntegerField(minimum=0, maximum=MAX_POSITION, required=False)


def make_options(values: Mapping[str, Any], query: Mapping[str, Any]) -> ImportOptions:
    """Return the options that the values of an ImportQuery ask for. InvalidFieldsError when nobody owns the result."""
    if "apiKeyId" not in query and not values["keepOwners"]:
        told = _("Is required: the key that gets the memories. Empty is no key; or set keepOwners")
        raise InvalidFieldsError([FieldError("apiKeyId", told)])
    return ImportOptions(
        owner=values.get("apiKeyId", ""),
        format=values["format"],
        keeps_owners=values["keepOwners"],
        source_owner=values.get("sourceOwner"),
        overwrites=values["overwrite"],
        refreshes=values.get("refresh"),
        reads_conversations=values["conversations"],
    )


def render_plan(plan: ImportPlan) -> dict[str, Any]:
    """Return what a dry run of an import answers."""
    return {"dryRun": True, **_render_plan(plan), "undoId": None}


def render_report(report: ImportReport) -> dict[str, Any]:
    """Return what an import answers."""
    return {"dryRun": False, **_render_plan(report.plan), "undoId": report.undo_id}


def render_erase_plan(plan: ErasePlan) -> dict[str, Any]:
    """Return what a dry run of an erasure answers."""
    places = [{"name": place.name, "count": place.count, "error": place.error} for place in plan.places]
    return {"dryRun": True, "memories": plan.memories, "places": places}


def _render_plan(plan: ImportPlan) -> dict[str, Any]:
    return {
        "format": plan.format,
        "formatName": plan.format_name,
        "total": plan.total,
        "counts": {"leftOut" if name == "left_out" else name: count for name, count in plan.counts.items()},
        "problems": [
            {"row": item.row, "key": item.key, "outcome": item.outcome, "reason": item.reason} for item in plan.problems
        ],
        "samples": [
            {
                "row": sample.row,
                "outcome": sample.outcome,
                "apiKeyId": sample.owner,
                "type": sample.type,
                "key": sample.key,
                "content": sample.content,
            }
            for sample in plan.samples
        ],
        "notes": list(plan.notes),
        "owners": dict(plan.owners),
        "isIntact": plan.is_intact,
    }
