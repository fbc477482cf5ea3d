"""What the studio's templates say again and again: addresses of assets, icons, moments, figures, query strings."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.http import QueryDict
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from core.words import translate
from studio.assets import address_asset
from studio.toasts import PLACE_TAG, UNDO_TAG
from studio.wire_words import name_word
from studio.wording import tell_age, tell_moment, write_number, write_short_number

register = template.Library()


@register.simple_tag
def asset(name: str) -> str:
    """`{% asset "studio/studio.css" %}`: the address of a static file, which changes with its content."""
    return address_asset(name)


@register.simple_tag
def icon(name: str) -> SafeString:
    """`{% icon "trash" %}`: one of templates/studio/_icons.html. It says nothing aloud; the button has the name."""
    return format_html('<svg class="i" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def ago(moment: Any, otherwise: str = "") -> SafeString | str:
    """`{% ago memory.created_at %}`: how long ago, with the exact moment in `datetime` and on hover."""
    if not isinstance(moment, datetime):
        return otherwise
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds"),
        tell_moment(moment),
        tell_age(moment, timezone.now()),
    )


@register.filter
def exact(moment: Any) -> str:
    """`{{ moment|exact }}`: day, time and zone."""
    return tell_moment(moment) if isinstance(moment, datetime) else ""


@register.filter
def number(value: Any) -> str:
    """`{{ 128407|number }}`: 128,407; "" for what is no number, such as a figure that is still to come."""
    return write_number(value) if isinstance(value, int | float) else ""


@register.simple_tag
def short(value: Any) -> SafeString | str:
    """`{% short 128407 %}`: 128 k, the exact figure on hover; "" for what is no number."""
    if not isinstance(value, int | float):
        return ""
    shown, whole = write_short_number(value), write_number(value)
    return shown if shown == whole else format_html('<span title="{}">{}</span>', whole, shown)


@register.simple_tag(takes_context=True)
def query(context: Mapping[str, Any], **changes: Any) -> str:
    """`{% query page=2 id=None %}`: this page's query string with some parameters set, or left out where None or ""."""
    parameters: QueryDict = context["request"].GET.copy()
    for name, value in changes.items():
        parameters.pop(name, None)
        if value not in (None, ""):
            parameters[name] = str(value)
    return f"?{parameters.urlencode()}"


@register.filter
def pretty_json(value: Any) -> str:
    """`{{ memory.metadata|pretty_json }}`: indented, letters of any script as they are."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


@register.filter
def sentence(text: str) -> str:
    """`{{ problem.reason|sentence }}`: a reason in the language of the page, with a capital letter."""
    return capfirst(translate(text))


@register.filter
def word(text: str) -> str:
    """`{{ record.type|word }}`: a word that programs use, in the language of the page."""
    return name_word(text)


@register.filter
def undo_id(tags: str | None) -> str:
    """The id that a message's tags name as what can be undone, "" when they name none."""
    return next((tag.removeprefix(UNDO_TAG) for tag in (tags or "").split() if tag.startswith(UNDO_TAG)), "")


@register.filter
def place(tags: str | None) -> str:
    """The address that a message's tags name as where more is shown, "" when they name none."""
    return next((tag.removeprefix(PLACE_TAG) for tag in (tags or "").split() if tag.startswith(PLACE_TAG)), "")
