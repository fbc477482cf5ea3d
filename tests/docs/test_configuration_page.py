"""Variables and memory settings are the same in the code and in the docs: names, ranges, defaults."""

import re

import pytest

from core.runtime_settings import SettingField
from memory.config import MEMORY_SECTION
from tests.docs.markdown import list_rows, read_page, unquote
from tests.docs.named_in_code import list_readings

CONFIGURATION = "docs/configuration.md"
SWITCHES = {"true": True, "false": False}
# Their default stands elsewhere: another variable, or a file that is made.
DEFAULTED_ELSEWHERE = ("CELERY_BROKER_URL", "HF_ENDPOINT", "REDIS_URL", "SECRET_KEY")


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
