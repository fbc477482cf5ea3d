"""The first start: what leads to the first memory, with commands that work as they stand."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from core.accounts.keys import count_keys
from core.providers.routing import name_default_provider
from memory.config import load_settings

SAMPLE: Final = "I prefer TypeScript."
KEY_VARIABLE: Final = "MY_KEY"


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """What is done already, and the commands for the rest."""

    is_memory_on: bool
    has_keys: bool
    memory_command: str
    key_command: str
    chat_command: str


def build_steps(request: HttpRequest) -> FirstSteps:
    return FirstSteps(
        is_memory_on=load_settings().enabled,
        has_keys=count_keys() > 0,
        memory_command=_write_command("memory_settings", "enabled=true"),
        key_command=_write_command("create_api_key", "my-app"),
        chat_command=_write_chat(request.build_absolute_uri("/v1/chat/completions")),
    )


def _write_command(*words: str) -> str:
    """A command as it works in the project's folder, with the interpreter and the data folder of this server."""
    python = Path(sys.executable)
    if python.is_relative_to(settings.BASE_DIR):
        python = python.relative_to(settings.BASE_DIR)
    command = [str(python), "manage.py", *words]
    if settings.DATA_DIR != settings.BASE_DIR / "data":
        command = ["env", f"DATA_DIR={settings.DATA_DIR}", *command]
    return shlex.join(command)


def _write_chat(address: str) -> str:
    model = "echo/echo" if name_default_provider() == "echo" else "gpt-4o-mini"
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": SAMPLE}]})
    return (
        f"curl {shlex.quote(address)} \\\n"
        f'  -H "Authorization: Bearer ${KEY_VARIABLE}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(body)}"
    )
