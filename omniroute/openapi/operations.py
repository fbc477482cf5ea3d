"""Every operation of a DRF view, by view and method."""

from typing import Final

from rest_framework.views import APIView

from omniroute.openapi.description import OBJECT, Description
from omniroute.openapi.engine import ENGINE
from omniroute.openapi.memories import MEMORIES
from omniroute.openapi.section import SETTINGS
from omniroute.openapi.transfer import TRANSFER
from omniroute.openapi.views import SchemaView

DESCRIPTIONS: Final[dict[tuple[type[APIView], str], Description]] = {
    **MEMORIES,
    **ENGINE,
    **SETTINGS,
    **TRANSFER,
    (SchemaView, "GET"): Description("readSchema", "Schema", "This document", OBJECT),
}
