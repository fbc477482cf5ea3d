"""`manage.py list_providers`: what is configured, or with --known everything that could be."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from core.db.migrations import ensure_migrated
from core.providers.models import Provider
from core.providers.registry import ECHO, PROVIDERS, KnownProvider, find_provider
from core.providers.routing import name_default_provider

HEADER = ("NAME", "BASE URL", "KEY", "DEFAULT")
Row = tuple[str, str, str, str]


class Command(BaseCommand):
    help = "List the configured providers: stored ones, those with a key in the environment, and echo."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--known", action="store_true", help="list all providers that are known by name too")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        default = name_default_provider()
        stored = list(Provider.objects.all())
        rows = [_describe_stored(provider, default) for provider in stored]
        names = {provider.name for provider in stored}
        rows += [
            _describe_known(known, default)
            for known in PROVIDERS
            if known.id not in names and (options["known"] or known.id == ECHO or _has_env_key(known))
        ]
        widths = [max(len(row[column]) for row in (HEADER, *rows)) for column in range(len(HEADER))]
        for row in (HEADER, *rows):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write(line.rstrip())


def _describe_stored(provider: Provider, default: str) -> Row:
    known = find_provider(provider.name)
    base_url = provider.base_url or (known.base_url if known else "")
    key = "none"
    if provider.has_key:
        key = f"stored …{provider.api_key_hint}" if provider.api_key_hint else "stored"
    elif known is not None and provider.base_url in ("", known.base_url):
        key = _describe_env_key(known)
    return provider.name, base_url, key, _tick(provider.name == default)


def _describe_known(known: KnownProvider, default: str) -> Row:
    return known.id, known.base_url or "built in", _describe_env_key(known), _tick(known.id == default)


def _describe_env_key(known: KnownProvider) -> str:
    if not known.needs_key:
        return "not needed"
    return known.env_name if _has_env_key(known) else f"{known.env_name} is not set"


def _has_env_key(known: KnownProvider) -> bool:
    return bool(settings.PROVIDER_API_KEYS.get(known.env_name))


def _tick(is_default: bool) -> str:
    return "yes" if is_default else ""
