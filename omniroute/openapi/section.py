"""Operations on settings."""

from typing import Final

from rest_framework.views import APIView

from core.runtime_settings import Section, SettingField
from gateway.request_settings import REQUEST_SECTION
from gateway.settings_views import RequestSettingsBody, RequestSettingsView
from memory import qdrant_views, views
from memory.config import MEMORY_SECTION
from memory.serializers import MemorySettingsBody
from omniroute.openapi.description import (
    COUNT,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    Description,
    Schema,
    choice_of,
    list_of,
    or_null,
    record,
)
from omniroute.openapi.examples import EXAMPLES
from qdrant_admin.config import QUANTIZATIONS
from qdrant_admin.serializers import QdrantSettingsBody, SearchTestBody

TAG: Final = "Settings"
QDRANT_TAG: Final = "Qdrant"


def describe_section(section: Section) -> Schema:
    """The schema of what a section's door answers: all of its fields."""
    return record({item.name: {**_describe_setting(item), "description": item.help} for item in section.fields})


def _describe_setting(item: SettingField) -> Schema:
    schema: Schema
    match item.kind:
        case "bool":
            schema = FLAG
        case "int":
            schema = {"type": "integer", "minimum": item.minimum, "maximum": item.maximum}
        case "choice":
            schema = choice_of(*item.choices)
        case "text_list":
            schema = list_of(TEXT)
        case "object":
            schema = OBJECT
        case _:
            schema = TEXT
    return or_null(schema) if item.nullable else schema


QDRANT_SETTINGS: Final = record(
    {
        "enabled": FLAG,
        "host": TEXT,
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "collection": TEXT,
        "embeddingModel": TEXT,
        "quantization": choice_of(*QUANTIZATIONS),
        "hasApiKey": FLAG,
        "apiKeyMasked": or_null(TEXT),
    }
)
COLLECTION: Final = record(
    {
        "name": TEXT,
        "alias": or_null(TEXT),
        "exists": FLAG,
        "vectorName": or_null(TEXT),
        "dimensions": or_null(COUNT),
        "expectedDimensions": or_null(COUNT),
        "distance": or_null(TEXT),
        "points": or_null(COUNT),
        "status": or_null(TEXT),
    }
)
POINT: Final = record({"id": {"type": ["string", "integer"]}, "score": NUMBER, "payload": OBJECT})

SETTINGS: Final[dict[tuple[type[APIView], str], Description]] = {
    (views.MemorySettingsView, "GET"): Description(
        "readMemorySettings",
        TAG,
        "Memory settings",
        describe_section(MEMORY_SECTION),
        example=EXAMPLES["memorySettings"],
    ),
    (views.MemorySettingsView, "PUT"): Description(
        "changeMemorySettings",
        TAG,
        "Change memory settings",
        describe_section(MEMORY_SECTION),
        "Fields that are not sent keep their value. All or nothing.",
        body=MemorySettingsBody,
        errors=(502,),
        example=EXAMPLES["memorySettings"],
    ),
    (RequestSettingsView, "GET"): Description(
        "readRequestSettings", TAG, "Settings of the request log", describe_section(REQUEST_SECTION)
    ),
    (RequestSettingsView, "PUT"): Description(
        "changeRequestSettings",
        TAG,
        "Change settings of the request log",
        describe_section(REQUEST_SECTION),
        body=RequestSettingsBody,
    ),
    (qdrant_views.QdrantSettingsView, "GET"): Description(
        "readQdrantSettings", QDRANT_TAG, "Qdrant settings", QDRANT_SETTINGS, "The key itself is never told."
    ),
    (qdrant_views.QdrantSettingsView, "PUT"): Description(
        "changeQdrantSettings",
        QDRANT_TAG,
        "Change Qdrant settings",
        QDRANT_SETTINGS,
        "Turning it on or off sets `vectorStore` too. An empty `apiKey` removes the key.",
        body=QdrantSettingsBody,
        errors=(502,),
    ),
    (qdrant_views.QdrantHealthView, "GET"): Description(
        "checkQdrant",
        QDRANT_TAG,
        "Ask Qdrant how it is",
        record({"ok": FLAG, "latencyMs": COUNT}, {"error": TEXT, "collection": COLLECTION}),
    ),
    (qdrant_views.QdrantSearchView, "POST"): Description(
        "searchQdrant",
        QDRANT_TAG,
        "Search the points of all owners",
        record({"ok": FLAG, "latencyMs": COUNT}, {"results": list_of(POINT), "error": TEXT, "note": TEXT}),
        body=SearchTestBody,
    ),
    (qdrant_views.QdrantCleanupView, "POST"): Description(
        "cleanUpQdrant",
        QDRANT_TAG,
        "Delete points that nobody may use any more",
        record({"ok": FLAG, "deletedCount": COUNT, "latencyMs": COUNT, "retentionDays": COUNT}, {"error": TEXT}),
    ),
    (qdrant_views.QdrantModelsView, "GET"): Description(
        "listQdrantModels",
        QDRANT_TAG,
        "Embedding models that Qdrant's points can be made with",
        record({"models": list_of(record({"value": TEXT, "label": TEXT}))}),
    ),
}
