"""Names that the code gives to people outside: variables of the environment, routes, commands."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from tests.docs.markdown import ROOT, read_page

PAGES = "/dashboard"


@dataclass(frozen=True)
class Reading:
    """A call of `read_...("NAME", default, minimum=..., maximum=...)` in the settings."""

    kind: str
    name: str
    default: object
    minimum: object
    maximum: object
    choices: tuple[str, ...]


def list_readings() -> dict[str, Reading]:
    tree = ast.parse(read_page("omniroute/settings.py"))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    named = [call for call in calls if call.func.id.startswith("read_") and isinstance(call.args[0], ast.Constant)]
    readings = {call.args[0].value: _read_call(call) for call in named}
    return readings | {name: Reading("read_text", name, "", None, None, ()) for name in settings.PROVIDER_API_KEY_NAMES}


def _read_call(call: ast.Call) -> Reading:
    options = {word.arg: _evaluate(word.value) for word in call.keywords}
    default = _evaluate(call.args[1]) if len(call.args) > 1 else ""
    choices = _evaluate(call.args[2]) if len(call.args) > 2 else ()
    return Reading(
        call.func.id,
        call.args[0].value,
        default,
        options.get("minimum"),
        options.get("maximum"),
        choices if isinstance(choices, tuple) else (),
    )


def _evaluate(node: ast.expr) -> object:
    """The value of plain numbers, texts and sums of them; None for what only a run can tell."""
    if {type(part) for part in ast.walk(node)} & {ast.Name, ast.Call, ast.Attribute, ast.IfExp, ast.JoinedStr}:
        return None
    return eval(compile(ast.Expression(node), "settings", "eval"))


def list_routes(resolver: URLResolver, prefix: str = "/") -> Iterator[str]:
    """Our routes, with `{name}` for a parameter; the admin's are Django's."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
        elif getattr(pattern, "namespace", None) != "admin":
            yield from list_routes(pattern, route)


def list_program_routes() -> list[str]:
    """Routes that programs call; the studio's are pages for people."""
    return [route for route in list_routes(get_resolver()) if not route.startswith(PAGES)]


def list_commands() -> dict[str, str]:
    """Our commands with the package each lives in."""
    found = {}
    for config in apps.get_app_configs():
        folder = Path(config.path)
        if folder.is_relative_to(ROOT) and not folder.is_relative_to(ROOT / ".venv"):
            names = (path.stem for path in (folder / "management" / "commands").glob("[!_]*.py"))
            found.update(dict.fromkeys(names, config.name))
    return found
