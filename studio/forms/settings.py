"""The settings of memory and of the request log as one form: what each field shows, and what a post changes.

Only what differs from the values the page was loaded with is saved, so that two operators who change different things
at the same time both keep theirs. What may be saved is decided by the bodies of the REST doors.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import QueryDict
from django.utils.functional import cached_property

from core.error_handler import flatten_details
from core.errors import FieldError
from core.runtime_settings import Section, SettingField
from core.words import translate
from gateway.request_settings import REQUEST_SECTION
from gateway.settings_views import RequestSettingsBody
from memory.backends.manager import MANAGER
from memory.config import MEMORY_SECTION
from memory.serializers import MemorySettingsBody
from studio.forms.settings_backends import BackendCard, build_backend_cards, read_backend_configs
from studio.forms.settings_words import (
    CHOICE_LABELS,
    LABELS,
    MEMORY_GROUPS,
    OTHER_GROUP_ID,
    OTHER_GROUP_TITLE,
    REQUEST_GROUP,
    STRATEGY_FACTS,
    UNITS,
    Group,
    StrategyFacts,
    Words,
)

# The hidden field with the values that the page was loaded with.
WAS_FIELD: Final = "was"
MAX_DIGITS: Final = 18
SECTIONS: Final = (MEMORY_SECTION, REQUEST_SECTION)
BODIES: Final = {MEMORY_SECTION.name: MemorySettingsBody, REQUEST_SECTION.name: RequestSettingsBody}
CONTROLS: Final = {"bool": "toggle", "int": "number", "choice": "select", "text": "text", "text_list": "several"}


@dataclass(frozen=True, slots=True)
class Option:
    """`is_on` is what the form shows, `was_on` what is saved. `facts` are those of a strategy."""

    value: str
    label: Words
    is_on: bool
    was_on: bool
    facts: StrategyFacts | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One setting on the page. `control` names the piece of template that shows it."""

    name: str
    label: Words
    help: str
    control: str
    value: Any
    was: Any
    errors: list[str]
    unit: Words = ""
    minimum: int = 0
    maximum: int = 0
    options: tuple[Option, ...] = ()
    backends: tuple[BackendCard, ...] = ()

    @property
    def described_by(self) -> str:
        return f"{self.name}-help" + (f" {self.name}-error" if self.errors else "")


@dataclass(frozen=True, slots=True)
class Card:
    group: Group
    rows: list[Row]


@dataclass
class SettingsForm:
    """`was` is what the page was loaded with, `values` what it shows; both by wire name, secrets masked."""

    was: Mapping[str, Any]
    values: Mapping[str, Any]
    errors: list[FieldError] = field(default_factory=list)

    @cached_property
    def changes(self) -> dict[str, Any]:
        """Return what differs from the values the page was loaded with."""
        return {name: value for name, value in self.values.items() if value != self.was.get(name)}

    def is_valid(self) -> bool:
        """Check the changes as the REST doors do; `errors` then holds what is wrong."""
        for section in SECTIONS:
            checked = BODIES[section.name](data=self.read_changes(section))
            if not checked.is_valid():
                self.errors += flatten_details(checked.errors)
        return not self.errors

    def read_changes(self, section: Section) -> dict[str, Any]:
        """Return the changes of one section, by wire name."""
        names = {item.name for item in section.fields}
        return {name: value for name, value in self.changes.items() if name in names}

    def clean_changes(self, section: Section) -> dict[str, Any]:
        """Return a section's changes as they are stored; only of a form that is valid."""
        body = BODIES[section.name](data=self.read_changes(section))
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)

    @property
    def was_text(self) -> str:
        return json.dumps(self.was, separators=(",", ":"), ensure_ascii=False)

    @property
    def is_memory_on(self) -> bool:
        return bool(self.values["enabled"])

    def list_cards(self) -> list[Card]:
        """Return every setting, in groups."""
        grouped = {name for group in MEMORY_GROUPS for name in group.names}
        rest = tuple(item.name for item in MEMORY_SECTION.fields if item.name not in grouped)
        other = Group(OTHER_GROUP_ID, OTHER_GROUP_TITLE, "", rest)
        return [self._build_card(group) for group in (*MEMORY_GROUPS, REQUEST_GROUP, other) if group.names]

    def _build_card(self, group: Group) -> Card:
        fields = {item.name: item for section in SECTIONS for item in section.fields}
        return Card(group, [self._build_row(fields[name]) for name in group.names])

    def _build_row(self, item: SettingField) -> Row:
        value, was = self.values[item.name], self.was.get(item.name)
        return Row(
            name=item.name,
            label=LABELS.get(item.name, item.name),
            help=translate(item.help),
            control=_choose_control(item),
            value=value,
            was=was,
            errors=[error.message for error in self.errors if error.field == item.name],
            unit=UNITS.get(item.name, ""),
            minimum=item.minimum,
            maximum=item.maximum,
            options=_build_options(item, value, was),
            backends=self._build_backends() if item.kind == "object" else (),
        )

    def _build_backends(self) -> tuple[BackendCard, ...]:
        errors = {error.field: error.message for error in self.errors}
        return build_backend_cards(self.values["backendConfigs"], self.was.get("backendConfigs") or {}, errors)


def load_form() -> SettingsForm:
    """Return the form as it is saved."""
    stored = _read_stored()
    return SettingsForm(stored, stored)


def read_form(post: QueryDict) -> SettingsForm:
    """Return the form as it was sent; of what can't be read, it has what is saved."""
    was = _read_was(post.get(WAS_FIELD, ""))
    fields = [item for section in SECTIONS for item in section.fields]
    return SettingsForm(was, {item.name: _read_value(item, post, was) for item in fields})


def _read_stored() -> dict[str, Any]:
    return {**MEMORY_SECTION.read(), **REQUEST_SECTION.read()}


def _read_was(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    stored = _read_stored()
    return {**stored, **told} if isinstance(told, dict) else stored


def _read_value(item: SettingField, post: QueryDict, was: Mapping[str, Any]) -> Any:
    if item.kind == "bool":
        return item.name in post
    if item.kind == "object":
        return read_backend_configs(post, was.get(item.name))
    if item.kind == "text_list":
        return post.getlist(item.name)
    text = post.get(item.name, "").strip()
    if item.kind == "int":
        return read_number(text)
    return text or (None if item.nullable else was.get(item.name))


def read_number(text: str) -> int | str:
    """Return the number that a field holds; its text where that is none, which the check refuses."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS else text


def _choose_control(item: SettingField) -> str:
    if item.name == "strategy":
        return "strategy"
    if item.name == "primaryBackend":
        return "select"
    return "backends" if item.kind == "object" else CONTROLS[item.kind]


def _build_options(item: SettingField, value: Any, was: Any) -> tuple[Option, ...]:
    if item.name == "strategy":
        return tuple(
            Option(facts.name, facts.title, facts.name == value, facts.name == was, facts) for facts in STRATEGY_FACTS
        )
    if item.kind == "choice":
        return tuple(Option(it, CHOICE_LABELS.get(it, it), it == value, it == was) for it in item.choices)
    if item.name == "primaryBackend":
        # One that is no longer known stays chosen until somebody chooses another.
        return tuple(Option(it, label, it == value, it == was) for it, label in _label_backends([value]).items())
    if item.kind == "text_list":
        labels = _label_backends(value)
        return tuple(Option(it, label, it in value, it in (was or [])) for it, label in labels.items())
    return ()


def _label_backends(chosen: list[str]) -> dict[str, str]:
    """Return what every backend is called: first those that are chosen, in their order and known or not."""
    names = dict.fromkeys([*chosen, *MANAGER.ids])
    return {name: MANAGER.read_display_name(name) if name in MANAGER.ids else name for name in names}
