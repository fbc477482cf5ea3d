"""What another room refuses, told at the field of the form that it came from."""

from collections.abc import Mapping
from typing import Any

from django import forms
from rest_framework.serializers import Serializer

from core.errors import InvalidFieldsError
from core.words import translate


def add_refusals(form: forms.Form, body: Serializer[Any], fields: Mapping[str, str]) -> None:
    """Check `body` and put what is wrong with it at the form's own fields; `fields` maps the body's names to them."""
    if body.is_valid():
        return
    for name, told in body.errors.items():
        form.add_error(fields.get(name), [str(message) for message in _list_messages(told)])


def add_refusal(form: forms.Form, error: InvalidFieldsError) -> None:
    """Put the details of a refusal at the fields they name, those of other names above the form."""
    for detail in error.details:
        form.add_error(detail.field if detail.field in form.fields else None, translate(detail.message))


def _list_messages(told: Any) -> list[Any]:
    if isinstance(told, Mapping):
        return [message for inner in told.values() for message in _list_messages(inner)]
    return list(told) if isinstance(told, list | tuple) else [told]
