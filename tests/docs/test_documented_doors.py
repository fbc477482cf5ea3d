"""Routes, pages and commands are the same in the code and in the docs: nothing missing, nothing that isn't there."""

import re

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import get_resolver

from tests.docs.markdown import list_rows, read_page, unquote
from tests.docs.named_in_code import PAGES, list_commands, list_program_routes, list_routes

API, COMMANDS, STUDIO = "docs/api.md", "docs/commands.md", "docs/studio.md"

# An option of Django's own that every command has.
COMMON_OPTIONS = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    "--skip-checks",
}  # fmt: skip


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


@pytest.mark.django_db
def test_what_lies_below_a_programs_route_is_told_in_the_documented_error_shape(client: Client) -> None:
    for route in list_program_routes():
        if route in ("/", "/favicon.ico"):  # for browsers
            continue
        answer = client.get(f"{route.replace('{memory_id}', 'x')}/nothing/there")
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found", route
