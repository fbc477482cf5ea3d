"""`manage.py add_provider`: add a provider, or change one; running it twice changes nothing more."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from core.errors import AppError
from core.providers.configuration import ProviderChanges, save_provider
from core.providers.models import Provider
from core.providers.registry import find_provider

MAX_STDIN_CHARS = 10_000


class Command(BaseCommand):
    help = "Add a provider or change a stored one. What is not given stays as it is."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what stands before the first slash of a model, such as openai or my-vllm")
        parser.add_argument(
            "--base-url", help="up to and including /v1; not needed for the providers of list_providers --known"
        )
        key = parser.add_mutually_exclusive_group()
        key.add_argument("--api-key", help="visible to everybody who can list processes; --api-key-stdin is not")
        key.add_argument("--api-key-stdin", action="store_true", help="read the key from standard input")
        key.add_argument("--remove-api-key", action="store_true", help="forget the stored key")
        parser.add_argument("--default", action="store_true", help="send models that name no provider here")
        parser.add_argument(
            "--system-role",
            choices=["any", "first", "none", "auto"],
            help="where a system message may stand; auto goes by provider and model",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        changes = ProviderChanges(
            base_url=options["base_url"],
            api_key=self._read_key(options),
            is_default=True if options["default"] else None,
            system_role="" if options["system_role"] == "auto" else options["system_role"],
        )
        try:
            provider, created = save_provider(options["name"], changes)
        except AppError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"{'Added' if created else 'Updated'} provider {self._describe(provider)}")

    def _read_key(self, options: dict[str, Any]) -> str | None:
        if options["remove_api_key"]:
            return ""
        if not options["api_key_stdin"]:
            api_key: str | None = options["api_key"]
            if api_key is not None and not api_key.strip():
                raise CommandError("--api-key is empty; --remove-api-key forgets a stored key")
            return api_key
        api_key = sys.stdin.read(MAX_STDIN_CHARS).strip()
        if not api_key:
            raise CommandError("Standard input holds no key")
        return api_key

    def _describe(self, provider: Provider) -> str:
        known = find_provider(provider.name)
        base_url = provider.base_url or (known.base_url if known else "")
        key = "no stored key"
        if provider.has_key:
            key = f"key …{provider.api_key_hint}" if provider.api_key_hint else "key stored"
        parts = [f"{provider.name} ({base_url})", key]
        if provider.system_role:
            parts.append(f"system role {provider.system_role}")
        if provider.is_default:
            parts.append("default")
        return ", ".join(parts)
