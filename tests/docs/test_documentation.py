"""Names in the code and names in the docs are the same: nothing undocumented, nothing documented that isn't there."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import load_command_class
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from core.runtime_settings import SettingField
from memory.config import MEMORY_SECTION
from tests.docs.markdown import (
    ROOT,
    list_blocks,
    list_links,
    list_pages,
    list_rows,
    list_words,
    read_page,
    unquote,
)

CONFIGURATION, API, COMMANDS = "docs/configuration.md", "docs/api.md", "docs/commands.md"
STUDIO, PAGES = "docs/studio.md", "/dashboard"
RETRIEVAL_REASONS = "Reason (begins with)"
SWITCHES = {"true": True, "false": False}
# Their default stands elsewhere: another variable, or a file that is made.
DEFAULTED_ELSEWHERE = ("CELERY_BROKER_URL", "HF_ENDPOINT", "REDIS_URL", "SECRET_KEY")
# An option of Django's own that every command has.
COMMON_OPTIONS = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    "--skip-checks",
}  # fmt: skip


# --- environment variables ---------------------------------------------------------------------------------


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


def list_variable_rows() -> dict[str, list[str]]:
    return {unquote(row[0]): row for row in list_rows(read_page(CONFIGURATION), "Variable")}


def test_every_environment_variable_is_documented_and_no_other_one() -> None:
    assert list_readings().keys() == list_variable_rows().keys()


def test_the_documented_defaults_and_ranges_of_variables_are_the_settings_own() -> None:
    rows, compared = list_variable_rows(), 0
    for reading in list_readings().values():
        _, default, *rest = rows[reading.name]
        if reading.default is not None and reading.name not in DEFAULTED_ELSEWHERE:
            assert _reads_as(default, reading.default), f"{reading.name}: {default} for {reading.default!r}"
            compared += 1
        if reading.kind == "read_int":
            assert rest[0] == f"{reading.minimum} to {reading.maximum}", reading.name
        if reading.kind == "read_fraction":
            assert rest[0] == "0 to 1", reading.name
        if reading.kind == "read_bool":
            assert rest[0] == "switch", reading.name
        if reading.kind == "read_seconds":
            assert rest[0] == f"above 0, at most {reading.maximum}", reading.name
        if reading.choices:
            assert re.findall(r"`([\w-]+)`", rest[0]) == list(reading.choices), reading.name
    assert compared > 50


def _reads_as(cell: str, default: object) -> bool:
    text = unquote(cell)
    if isinstance(default, bool):
        return SWITCHES.get(text) is default
    if isinstance(default, int | float):
        return float(text) == default
    return cell == "(empty)" if default == "" else text == default


# --- memory settings ---------------------------------------------------------------------------------------


def list_setting_rows() -> dict[str, list[str]]:
    return {unquote(row[0]): row for row in list_rows(read_page(CONFIGURATION), "Setting")}


def test_every_memory_setting_is_documented_and_no_other_one() -> None:
    assert [field.name for field in MEMORY_SECTION.fields] == list(list_setting_rows())


@pytest.mark.parametrize("field", MEMORY_SECTION.fields, ids=lambda field: field.name)
def test_a_memory_setting_is_told_with_its_row_its_range_and_its_default(field: SettingField) -> None:
    _, key, values, default, _ = list_setting_rows()[field.name]
    assert unquote(key) == field.key
    assert unquote(default) == _write_default(field.default)
    if field.kind == "bool":
        assert values == "true or false"
    if field.kind == "int":
        assert values == f"{field.minimum} to {field.maximum}"
    if field.kind == "choice":
        assert re.findall(r"`([\w-]+)`", values) == list(field.choices)
    if field.nullable:
        assert values.endswith("or null")
    assert all(f"`{alias}`" in read_page(CONFIGURATION) for alias in field.aliases)


def _write_default(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


# --- routes ------------------------------------------------------------------------------------------------


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


def test_every_route_is_documented_and_no_other_one() -> None:
    documented = [unquote(row[0]) for row in list_rows(read_page(API), "Route")]
    assert sorted(documented) == sorted(list_program_routes())


def test_every_page_of_the_studio_is_documented_and_no_other_one() -> None:
    """What a page sends its forms to, or loads into itself, lies below its own address."""
    routes = {route for route in list_routes(get_resolver()) if route.startswith(PAGES)}
    documented = {unquote(row[0]) for row in list_rows(read_page(STUDIO), "Page")}
    assert documented <= routes
    pages = documented - {PAGES}
    parts = {route for route in routes if any(route.startswith(f"{page}/") for page in pages)}
    assert routes == documented | parts


# --- commands ----------------------------------------------------------------------------------------------


def list_commands() -> dict[str, str]:
    """Our commands with the package each lives in."""
    found = {}
    for config in apps.get_app_configs():
        folder = Path(config.path)
        if folder.is_relative_to(ROOT) and not folder.is_relative_to(ROOT / ".venv"):
            names = (path.stem for path in (folder / "management" / "commands").glob("[!_]*.py"))
            found.update(dict.fromkeys(names, config.name))
    return found


def test_every_command_is_documented_and_no_other_one() -> None:
    documented = [unquote(row[0]) for row in list_rows(read_page(COMMANDS), "Command")]
    assert sorted(documented) == sorted(list_commands())


def read_section(command: str) -> str:
    """The paragraph that begins with the command's name, up to the next one or the next heading."""
    found = re.search(rf"\*\*`{command}`\*\*(.*?)(?=\n\*\*`|\n## |\Z)", read_page(COMMANDS), re.S)
    assert found is not None, command
    return found[1]


@pytest.mark.parametrize("command", sorted(list_commands()))
def test_a_commands_options_are_documented_and_no_other_ones(command: str) -> None:
    parser = load_command_class(list_commands()[command], command).create_parser("manage.py", command)
    options = {word for action in parser._actions for word in action.option_strings if word.startswith("--")}
    text = re.sub(r"```.*?```", "", read_section(command), flags=re.S)
    assert options - COMMON_OPTIONS == set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


# --- everywhere --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in list_links(page.read_text("utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in list_anchors(target), f"{page.name} links to {link}"


def list_anchors(page: Path) -> set[str]:
    """What headings are called in a link, as GitHub does it."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_commands_and_variables_named_anywhere_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    words = "\n".join([*list_words(text), *(block.text for block in list_blocks(text))])
    commands = set(re.findall(r"manage\.py ([a-z][a-z_]+)", words))
    django = {"check", "migrate", "makemigrations", "shell", "createsuperuser", "changepassword", "help"}
    assert commands - django <= list_commands().keys()
    variables = set(re.findall(r"\b((?:MEMORY|HF|UPSTREAM|OUTBOUND|VECTOR_STORE|CELERY|METRICS|LOG)_[A-Z_]+)\b", words))
    assert variables <= list_readings().keys()


def test_settings_that_the_pages_change_exist() -> None:
    names = {field.name for field in MEMORY_SECTION.fields}
    for page in list_pages():
        for line in page.read_text("utf-8").splitlines():
            if "memory_settings " in line and "topk" not in line:
                assert set(re.findall(r"(?<![\w.])([a-z]\w+)=", line)) <= names | {"env"}, line


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_no_page_names_a_path_of_the_machine_it_was_written_on(page: Path) -> None:
    assert not re.search(r"(?<!\w)/(?:home|root|tmp|work|Users)/", page.read_text("utf-8"))


def test_the_readme_leads_to_every_page() -> None:
    linked = {(ROOT / link).resolve() for link in list_links(read_page("README.md")) if "://" not in link}
    assert set(list_pages()) - {ROOT / "README.md"} <= linked


def test_documented_fallback_reasons_are_the_codes_words() -> None:
    """NAME in a reason stands for what is put in at run time."""
    sources = "\n".join(
        path.read_text() for storey in ("core", "embeddings", "memory") for path in list_sources(storey)
    )
    reasons = [unquote(row[0].split("` (")[0]) for row in list_rows(read_page("docs/retrieval.md"), RETRIEVAL_REASONS)]
    assert len(reasons) > 8
    for reason in reasons:
        assert all(part.strip() in sources for part in reason.split("NAME")), reason


def list_sources(storey: str) -> Iterator[Path]:
    return (ROOT / storey).rglob("*.py")


def test_the_rooms_of_the_architecture_exist() -> None:
    [rooms] = [block.text for block in list_blocks(read_page("ARCHITECTURE.md")) if "gateway/\n" in block.text]
    storey, room = ROOT, ROOT
    for line in rooms.splitlines():
        folder = re.match(r"( *)([\w/]+)/(?: {2,}|$)", line)
        if folder and not folder[1]:
            storey = room = ROOT / folder[2]
        elif folder:
            room = storey / folder[2]
        elif re.match(r"  \S", line):
            room = storey
        assert room.is_dir(), line
        for name in re.findall(r"(?<![\w/])\w+\.py\b", line):
            assert (room / name).is_file() or (room.is_dir() and (storey / name).is_file()), line


@pytest.mark.django_db
def test_what_lies_below_a_programs_route_is_told_in_the_documented_error_shape(client: Client) -> None:
    for route in list_program_routes():
        if route == "/":
            continue
        answer = client.get(f"{route.replace('{memory_id}', 'x')}/nothing/there")
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found", route
