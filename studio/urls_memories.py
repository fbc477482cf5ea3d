"""Addresses below the page of the tab, which is /dashboard/memory?tab=memories."""

from django.urls import URLPattern, path

from studio.views import memories, memories_bulk, memories_changes, memories_edit, memories_files, memories_upkeep

urlpatterns: list[URLPattern] = [
    path("figures", memories.show_figures, name="memory-figures"),
    path("row/<str:memory_id>", memories.show_row, name="memory-row"),
    path("first", memories.show_first_steps, name="memory-first"),
    path("add", memories_edit.add, name="memory-add"),
    path("edit/<str:memory_id>", memories_edit.edit, name="memory-edit"),
    path("restore/<str:memory_id>", memories_edit.restore_version, name="memory-restore"),
    path("delete", memories_bulk.delete, name="memory-delete"),
    path("retype", memories_bulk.retype, name="memory-retype"),
    path("merge", memories_bulk.merge, name="memory-merge"),
    path("change/<str:undo_id>", memories_changes.show_change, name="memory-change"),
    path("undo/<str:undo_id>", memories_bulk.undo, name="memory-undo"),
    path("export", memories_files.export, name="memory-export"),
    path("import", memories_files.start, name="memory-import"),
    path("import/<str:ticket_id>/preview", memories_files.preview, name="memory-import-preview"),
    path("import/<str:ticket_id>/run", memories_files.run, name="memory-import-run"),
    path("import/<str:ticket_id>/progress", memories_files.progress, name="memory-import-progress"),
    path("compact", memories_upkeep.compact, name="memory-compact"),
    path("erase", memories_upkeep.erase, name="memory-erase"),
]
