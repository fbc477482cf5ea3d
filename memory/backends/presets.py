"""Backends that are known by name: what their configuration is before an operator changes any of it."""

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

# The version of Notion's API which `memory.backends.notion` speaks.
NOTION_VERSION: Final = "2022-06-28"


def read_preset(backend_id: str) -> Mapping[str, Any]:
    """The configuration that the process's settings give a backend; empty for one that has none."""
    match backend_id:
        case "obsidian":
            return {"baseUrl": settings.OBSIDIAN_API_URL, "apiKey": settings.OBSIDIAN_API_KEY}
        case "notion":
            return {
                "baseUrl": settings.NOTION_API_URL,
                "apiKey": settings.NOTION_API_KEY,
                "headers": {"Notion-Version": NOTION_VERSION},
            }
    return {}
