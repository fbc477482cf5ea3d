"""Changes that can be undone: compactions, and what operators have deleted, edited, retyped, merged, imported."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.admin_labels import label_model
from core.errors import ConflictError, NotFoundError
from core.words import translate
from memory.background import Work
from memory.bulk_changes import start_undo
from memory.corrections import UndoReport
from memory.models import Compaction, MemoryArchive

SHOWN: tuple[str, ...] = ("uuid", "kind", "label", "created_at", "memories", "undo_until", "undone_at")


label_model(
    Compaction,
    gettext_lazy("change that can be undone"),
    gettext_lazy("changes that can be undone"),
    uuid=gettext_lazy("uuid"),
    kind=gettext_lazy("kind"),
    label=gettext_lazy("label"),
    created_at=gettext_lazy("created at"),
    undone_at=gettext_lazy("undone at"),
)


@admin.register(Compaction)
class CompactionAdmin(admin.ModelAdmin[Compaction]):
    """Changes and their undo. Deleting one gives up its undo and forgets at once what it kept."""

    list_display = SHOWN
    list_filter = ("kind",)
    search_fields = ("=uuid", "label")
    ordering = ("-pk",)
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    fields = SHOWN
    readonly_fields = SHOWN
    actions = ("undo_compactions", "undo_around_newer")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Compaction]:
        originals = MemoryArchive.objects.filter(compaction=OuterRef("pk")).order_by().values("compaction")
        count = Subquery(originals.annotate(number=Count("pk")).values("number"), output_field=IntegerField())
        return super().get_queryset(request).annotate(memory_count=count)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return lookup == "uuid" or super().lookup_allowed(lookup, value, request)

    @admin.display(description=gettext_lazy("memories kept"))
    def memories(self, compaction: Compaction) -> int:
        return getattr(compaction, "memory_count", None) or 0

    @admin.display(description=gettext_lazy("undo until"), ordering="expires_at")
    def undo_until(self, compaction: Compaction) -> datetime:
        return compaction.expires_at

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """Counts only: one entry may keep a hundred thousand memories, which nobody reads through."""
        compactions = list(objs)
        kept = MemoryArchive.objects.filter(compaction__in=compactions).count()
        told = ngettext("%(count)d memory that it kept", "%(count)d memories that they kept", kept) % {"count": kept}
        counts = {str(_("changes")): len(compactions), str(_("kept memories")): kept}
        return [*map(str, compactions), told], counts, set(), []

    @admin.action(description=gettext_lazy("Undo the selected changes"), permissions=["change"])
    def undo_compactions(self, request: HttpRequest, compactions: QuerySet[Compaction]) -> None:
        self._undo(request, compactions, is_forced=False)

    @admin.action(description=gettext_lazy("Undo the selected changes, keeping what is newer"), permissions=["change"])
    def undo_around_newer(self, request: HttpRequest, compactions: QuerySet[Compaction]) -> None:
        self._undo(request, compactions, is_forced=True)

    def _undo(self, request: HttpRequest, compactions: QuerySet[Compaction], *, is_forced: bool) -> None:
        # The newest first: a later one may have replaced what an earlier one left.
        for undo_id in list(compactions.order_by("-pk").values_list("uuid", flat=True)):
            try:
                report = start_undo(undo_id, is_forced=is_forced)
            except (ConflictError, NotFoundError) as error:
                told = _("Change %(id)s: %(reason)s") % {"id": undo_id, "reason": translate(error.message)}
                self.message_user(request, told, messages.ERROR)
            else:
                self.message_user(request, _tell(undo_id, report), messages.SUCCESS)


def _tell(undo_id: str, report: UndoReport | Work) -> str:
    if isinstance(report, Work):
        told = _("Change %(id)s is being undone in the background. <a href='{address}'>Watch the job</a>")
        return format_html(told % {"id": undo_id}, address=reverse("admin:jobs_job_changelist"))
    return _("Change %(id)s: memories put back: %(count)d") % {"id": undo_id, "count": report.restored_count}
