"""Everything that people read is marked, so that translators' tools find it; see docs/translating.md for the rules."""

from functools import cache

import pytest
from marked_words import MAKERS, Module, find_faults, list_error_classes
from processes import ROOT

BELOW_PAGES = ("core", "embeddings", "qdrant_admin", "memory", "gateway")
PAGES = ("studio", "omniroute")
# The door through which texts go that were marked elsewhere.
DOOR = "core/words.py"
# The text of these stays in the program, or is for those who write programs.
UNREAD_FOLDERS = ("management", "migrations", "openapi", "mcp")


@cache
def parse_sources() -> dict[str, Module]:
    return {
        str(path.relative_to(ROOT)): Module.parse(path.read_text())
        for storey in (*BELOW_PAGES, *PAGES)
        for path in sorted((ROOT / storey).rglob("*.py"))
    }


@cache
def list_makers() -> frozenset[str]:
    return MAKERS | list_error_classes(module.tree for module in parse_sources().values())


def is_page(name: str) -> bool:
    """Tell whether a module makes pages: those of the studio, and those of the admin wherever they stand."""
    return name.startswith(PAGES) or "admin/" in name or name.endswith("admin.py")


@pytest.mark.parametrize("storey", [*BELOW_PAGES, *PAGES])
def test_every_sentence_is_marked_for_translators(storey):
    faults = [
        f"{name}:{line}: {fault}"
        for name, module in parse_sources().items()
        if name.startswith(f"{storey}/") and name != DOOR and not set(UNREAD_FOLDERS) & set(name.split("/"))
        for line, fault in find_faults(module, list_makers(), is_page=is_page(name.removeprefix("qdrant_admin/")))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "line",
    [
        'raise NotFoundError("There is no such key")',
        'raise NotFoundError(f"{name} is not there")',
        'raise NotFoundError("Gone" if is_gone else _("Not there"))',
        'raise NotFoundError("No %s" % name)',
        'raise InvalidFieldsError([FieldError("name", "Must be short")])',
        'text = "Must be short"; FieldError("name", text)',
        'class LateError(AppError):\n    def __init__(self):\n        super().__init__("Too late")',
        'def refuse(told):\n    return NotFoundError(told)\nraise refuse("There is no key")',
        "raise NotFoundError(_(text))",
        'raise NotFoundError(_(f"No {name}"))',
        'raise NotFoundError(_("No %s") % name)',
        'raise NotFoundError(_("No {name}").format(name=name))',
        'django_gettext("No {}").format(name)',
        'raise NotFoundError(_("No key") + tail)',
        'told = f"{count} {_("keys")}"'.replace('"keys"', "'keys'"),
        'raise NotFoundError(django_gettext("No key"))',
        'raise ValidationError(_("No key"))',
        'ngettext("%(count)d key", keys, count)',
    ],
)
def test_what_translators_would_not_find_is_a_fault(line):
    assert find_faults_of(line)


@pytest.mark.parametrize(
    "line",
    [
        'raise NotFoundError(_("There is no such key"), code="not_there", param="key")',
        'raise NotFoundError(_("%(name)s is 100 %% gone") % {"name": name})',
        'raise NotFoundError(ngettext("%(count)d key", "%(count)d keys", count) % {"count": count})',
        'FieldError(f"keys.{index}.name", error.message)',
        'raise ValidationError(django_gettext("No key"))',
        'raise ValueError("for programmers")',
    ],
)
def test_what_translators_find_is_none(line):
    assert not find_faults_of(line)


def find_faults_of(line: str) -> list[tuple[int, str]]:
    head = (
        "from core.words import gettext as _, ngettext\n"
        "from django.utils.translation import gettext as django_gettext\n"
        "class NotFoundError(AppError): pass\n"
    )
    module = Module.parse(head + line)
    return list(find_faults(module, MAKERS | list_error_classes([module.tree]), is_page=False))
