"""manage.py memory_settings [NAME=VALUE ...]"""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from core.db.migrations import ensure_migrated
from core.error_handler import flatten_details
from core.fields import validate_body
from memory import services
from memory.config import MEMORY_SECTION
from memory.serializers import MemorySettingsBody


class Command(BaseCommand):
    help = "Show the memory settings, or change some: memory_settings enabled=true maxTokens=500"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "changes",
            nargs="*",
            metavar="NAME=VALUE",
            help="a setting and its new value, read as JSON where it is JSON, else as text",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        changes = _parse_changes(options["changes"])
        if changes:
            try:
                services.change_settings(validate_body(MemorySettingsBody, changes))
            except ValidationError as error:
                told = (f"{item.field}: {item.message}" for item in flatten_details(error.detail))
                raise CommandError("; ".join(told)) from None
        lines = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in MEMORY_SECTION.read().items()]
        self.stdout.write("\n".join(lines))


def _parse_changes(words: Sequence[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for word in words:
        name, separator, text = word.partition("=")
        if not separator:
            raise CommandError(f"write a change as NAME=VALUE, not {word!r}")
        if name in changes:
            raise CommandError(f"{name} is given twice")
        try:
            changes[name] = json.loads(text)
        except ValueError:
            changes[name] = text
    return changes
