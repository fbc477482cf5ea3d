"""manage.py memory_backends [--check | --test ID | --configure ID --set NAME=VALUE | --copy-from ID --to ID]"""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from core.db.migrations import ensure_migrated
from core.error_handler import flatten_details
from core.errors import AppError
from core.fields import validate_body
from memory import services
from memory.backends.base import BackendError, MemoryBackend
from memory.backends.config_fields import ConfigField
from memory.backends.configuration import read_stored
from memory.backends.copying import copy_memories
from memory.backends.manager import MANAGER
from memory.backends.states import BackendState, check_backends, keep_health, list_backend_states
from memory.config import MEMORY_SECTION
from memory.serializers import MemorySettingsBody


class Command(BaseCommand):
    help = "Show the backends that can keep memories, try them, configure them, copy memories from one to another."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--check", action="store_true", help="ask every backend now how it is")
        what.add_argument("--test", metavar="ID", help="make a backend ready and ask it how it is")
        what.add_argument("--configure", metavar="ID", help="show a backend's configuration, or change it with --set")
        what.add_argument("--copy-from", metavar="ID", help="copy memories from this backend to that of --to")
        parser.add_argument(
            "--set",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="a field of the configuration, objects as JSON; may be given more than once; an empty one is removed",
        )
        parser.add_argument("--to", metavar="ID", help="the backend that gets the copies")
        parser.add_argument("--owner", metavar="ID", help="copy the memories of one API key only")
        parser.add_argument("--dry-run", action="store_true", help="count what would be copied, write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        if options["test"]:
            self._test(options["test"])
        elif options["configure"]:
            self._configure(options["configure"], options["set"])
        elif options["copy_from"]:
            self._copy(options["copy_from"], options["to"], options["owner"], is_dry_run=options["dry_run"])
        else:
            if options["check"]:
                check_backends(are_all=True)
            self.stdout.write("\n".join(_describe(state) for state in list_backend_states()))

    def _test(self, backend_id: str) -> None:
        health = MANAGER.check(_known(backend_id))
        keep_health({backend_id: health})
        if not health.is_ok:
            raise CommandError(health.error or "it does not answer")
        self.stdout.write(f"{backend_id}: well, {health.latency_ms} ms")

    def _configure(self, backend_id: str, words: Sequence[str]) -> None:
        fields = MANAGER.load_fields(_known(backend_id))
        if words:
            config = _change(read_stored(backend_id), words, fields)
            stored = MEMORY_SECTION.read()["backendConfigs"]
            try:
                services.change_settings(
                    validate_body(MemorySettingsBody, {"backendConfigs": {**stored, backend_id: config}})
                )
            except ValidationError as error:
                told = (f"{item.field}: {item.message}" for item in flatten_details(error.detail))
                raise CommandError("; ".join(told)) from None
        stored = read_stored(backend_id)
        self.stdout.write("\n".join(_describe_field(field, stored) for field in fields) or "nothing to configure")

    def _copy(self, source_id: str, target_id: str | None, owner: str | None, *, is_dry_run: bool) -> None:
        if target_id is None or target_id == source_id:
            raise CommandError("say with --to which other backend gets the copies")
        try:
            report = copy_memories(_open(source_id), _open(target_id), owner=owner, is_dry_run=is_dry_run)
        except AppError as error:
            raise CommandError(f"{error.message}; what was copied by then stays, run it again to go on") from None
        verb = "would be copied" if is_dry_run else "copied"
        self.stdout.write(f"{report.copied} {verb}, {report.unchanged} there already, {report.refused} refused")
        for reason in report.reasons:
            self.stderr.write(f"refused: {reason}")
        if report.refused:
            raise CommandError(f"{target_id} did not take {report.refused} of them")


def _known(backend_id: str) -> str:
    if backend_id not in MANAGER.ids:
        raise CommandError(f"there is no backend {backend_id}; there are {', '.join(MANAGER.ids)}")
    return backend_id


def _open(backend_id: str) -> MemoryBackend:
    try:
        return MANAGER.open(_known(backend_id))
    except BackendError as error:
        raise CommandError(error.message) from None


def _change(config: dict[str, Any], words: Sequence[str], fields: Sequence[ConfigField]) -> dict[str, Any]:
    kinds = {field.name: field.kind for field in fields}
    for word in words:
        name, separator, text = word.partition("=")
        if not separator:
            raise CommandError(f"write a field as NAME=VALUE, not {word!r}")
        config[name] = _read_value(text, is_json=kinds.get(name) in ("milliseconds", "names", "headers"))
    # An empty secret has to be seen where it is taken away; every other empty field is simply gone.
    return {name: value for name, value in config.items() if value != "" or kinds.get(name) == "secret"}


def _read_value(text: str, *, is_json: bool) -> Any:
    if not is_json or not text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _describe(state: BackendState) -> str:
    role = "primary" if state.is_primary else "fallback" if state.is_fallback else "not in use"
    if state.is_ok is None:
        return f"{state.id} ({state.display_name}): {role}, not checked"
    well = f"well, {state.latency_ms} ms" if state.is_ok else f"unwell: {state.error}"
    at = "" if state.checked_at is None else f" ({state.checked_at:%Y-%m-%d %H:%M:%S} UTC)"
    return f"{state.id} ({state.display_name}): {role}, {well}{at}"


def _describe_field(field: ConfigField, stored: dict[str, Any]) -> str:
    value = stored.get(field.name)
    told = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{field.name}={told}  # {field.help}"
