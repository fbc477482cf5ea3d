"""What tells our points from those of another installation in the same collection."""

import uuid
from typing import Final

from django.db import transaction

from core.runtime_settings import Section, SettingField
from core.words import gettext as _

_SECTION: Final = Section(
    "installation",
    (SettingField("mark", "qdrantInstallation", "text", "", _("Stands in the payload of every point of ours.")),),
)


def read_installation() -> str:
    """Return this installation's mark, made once; a restored database brings its own back."""
    mark: str = _SECTION.read()["mark"]
    if mark:
        return mark
    with transaction.atomic():
        # Read again: nobody else can write now.
        mark = _SECTION.read()["mark"] or uuid.uuid4().hex
        _SECTION.write({"mark": mark})
    return mark
