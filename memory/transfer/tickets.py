"""The import as other rooms see it: of an upload, or of a path that an operator named."""

from collections.abc import Callable
from pathlib import Path

from core.words import gettext as _
from memory.transfer import runs
from memory.transfer.plans import ImportOptions, ImportPlan, ImportReport, ImportTicket
from memory.transfer.reader import AUTO, FORMATS
from memory.transfer.staging import find_upload


def list_formats() -> list[tuple[str, str]]:
    """Names to choose a format by, each with what it is called on a page; the first has the content decide."""
    return [(AUTO, _("Find out")), *((item.name, item.title) for item in FORMATS)]


def plan_import(source: ImportTicket | Path, options: ImportOptions) -> ImportPlan:
    """Say what an import would do, and write nothing.

    InvalidRequestError when the file as a whole can't be read, told in words; InvalidFieldsError for an unknown format.
    """
    return runs.plan(_find(source), options)


def run_import(
    source: ImportTicket | Path,
    options: ImportOptions,
    *,
    is_strict: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> ImportReport:
    """Import it; safe to run again. Raises as plan_import, and RefusedImportError when `is_strict`, nothing written.

    `tell(rows_done, rows_total)` is called after every batch.
    """
    return runs.run(_find(source), options, label=_name(source), is_strict=is_strict, tell=tell)


def _find(source: ImportTicket | Path) -> Path:
    return source if isinstance(source, Path) else find_upload(source)


def _name(source: ImportTicket | Path) -> str:
    return source.name if isinstance(source, Path) else source.filename
