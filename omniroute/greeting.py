"""What the start prints: secrets once, afterwards only the state of things."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from core.db.sqlite.driver import DRIVER
from core.db.sqlite.vec0 import STATUS
from core.providers.routing import name_default_provider
from memory.config import load_settings
from omniroute.first_start import OPERATOR_NAME, FirstLogin
from omniroute.listeners import write_url

COLUMN_CHARACTERS = 12
EXAMPLE_BODY = {"model": "echo/echo", "messages": [{"role": "user", "content": "I prefer tea. What do I drink?"}]}


@dataclass(frozen=True)
class Status:
    """What an operator wants to know of a running server."""

    url: str
    is_memory_on: bool
    default_provider: str


def read_status() -> Status:
    return Status(
        url=write_url(settings.HOST, settings.PORT),
        is_memory_on=load_settings().enabled,
        default_provider=name_default_provider(),
    )


def write_status(status: Status) -> str:
    """Return the lines of every start; they hold no secret."""
    return _write_table(
        ("Studio", status.url),
        ("Data", str(settings.DATABASE_PATH)),
        ("Driver", DRIVER.label),
        ("Vectors", STATUS.reason),
        ("Memory", "on" if status.is_memory_on else "off"),
        ("Provider", f"{status.default_provider} answers for model names without a provider"),
        ("Stop", "Ctrl-C"),
    )


def write_first_login(login: FirstLogin, status: Status) -> str:
    """Return the lines of the first start: the secrets, a chat to try, and how to turn memory on."""
    secret_rows = []
    if login.password is not None:
        secret_rows += [("Login", OPERATOR_NAME), ("Password", login.password)]
    if login.api_key is not None:
        secret_rows.append(("Chat key", login.api_key))
    parts = [""]
    if secret_rows:
        parts.append("First start. These are shown this once:\n\n" + _write_table(*secret_rows))
    parts.append(
        "Try a chat. The built-in echo provider answers with the messages it was sent:\n\n"
        f"  {_write_chat_command(status.url, login.api_key or 'YOUR_KEY')}\n"
    )
    if not status.is_memory_on:
        parts.append(
            "Memory is off, since it costs tokens. This turns it on; then try the chat twice and see what the second\n"
            f"request carries:\n\n  {_write_memory_command()}\n"
        )
    return "\n".join(parts)


def _write_table(*rows: tuple[str, str]) -> str:
    return "".join(f"  {name.ljust(COLUMN_CHARACTERS)}{value}\n" for name, value in rows)


def _write_chat_command(url: str, api_key: str) -> str:
    words = [
        "curl",
        f"{url}v1/chat/completions",
        "-H",
        f"Authorization: Bearer {api_key}",
        "-H",
        "Content-Type: application/json",
        "-d",
        json.dumps(EXAMPLE_BODY),
    ]
    return shlex.join(words)


def _write_memory_command() -> str:
    python, script = Path(sys.executable), Path(sys.argv[0])
    words = [_shorten(python), _shorten(script), "memory_settings", "enabled=true"]
    if settings.DATA_DIR != settings.BASE_DIR / "data":
        words = ["env", f"DATA_DIR={settings.DATA_DIR}", *words]
    return shlex.join(words)


def _shorten(path: Path) -> str:
    """Return the path as seen from the current folder where it lies inside."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
