"""API keys: who may call, and whose the memories are. A bare key is shown once, in the answer that made it."""

import json
from dataclasses import dataclass
from typing import Final

import structlog
from django.conf import settings
from django.http import HttpResponseBase
from django.views.decorators.http import require_http_methods, require_safe

from core.accounts.keys import ENV_KEY_ID, ENV_KEY_NAME, count_keys, create_api_key, list_keys
from core.accounts.models import ApiKey
from gateway.statistics import OwnerCost, measure_owner_costs
from memory.coverage import count_by_owner
from studio.access import StudioRequest, staff_page
from studio.forms.api_keys import NewKeyForm
from studio.pages import render_fragment, render_page, wants_fragment
from studio.views.settings import build_tabs

PAGE_SIZE: Final = 50
COST_DAYS: Final = 30
EXAMPLE_MODEL: Final = "echo/echo"
EXAMPLE_TEXT: Final = "I prefer tea. What do I drink?"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class KeyRow:
    key: ApiKey
    memories: int
    cost: OwnerCost | None


@dataclass(frozen=True, slots=True)
class EnvKeyRow:
    """The key in the environment, which has no row of its own."""

    name: str
    owner: str
    memories: int
    cost: OwnerCost | None


@require_safe
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    """The keys, the newest first, with what they have and cost: as many queries for one as for fifty."""
    total = count_keys()
    last_page = max((total - 1) // PAGE_SIZE, 0) + 1
    page = min(max(_read_page(request), 1), last_page)
    keys = list_keys(limit=PAGE_SIZE, offset=(page - 1) * PAGE_SIZE)
    owners = [key.id for key in keys] + ([ENV_KEY_ID] if settings.OMNIROUTE_API_KEY else [])
    memories, costs = count_by_owner(owners), measure_owner_costs(owners, COST_DAYS)
    context = {
        "rows": [KeyRow(key, memories.get(key.id, 0), costs.get(key.id)) for key in keys],
        "env_key": _build_env_row(memories, costs) if page == 1 and settings.OMNIROUTE_API_KEY else None,
        "total": total,
        "first": (page - 1) * PAGE_SIZE + 1,
        "last": (page - 1) * PAGE_SIZE + len(keys),
        "page": page,
        "pages": last_page,
        "cost_days": COST_DAYS,
        "tabs": build_tabs("keys"),
    }
    return render_page(request, "studio/api_keys.html", context, place="settings")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def make_key(request: StudioRequest) -> HttpResponseBase:
    """Make a key. With htmx the key comes into the page of the empty form, so that a reload makes no second one."""
    form = NewKeyForm(request.POST) if request.method == "POST" else NewKeyForm()
    context = {"form": form, "tabs": build_tabs("keys")}
    status = 200
    if request.method == "POST" and form.is_valid():
        row, bare_key = create_api_key(form.cleaned_data["name"], form.cleaned_data["scopes"])
        base_url = request.build_absolute_uri("/v1")
        context |= {"key": row, "bare_key": bare_key, "curl": _write_curl(base_url, bare_key), "base_url": base_url}
        context["python"] = _write_python(base_url, bare_key)
        context["can_chat"] = not {"chat", "manage", "admin"}.isdisjoint(row.scopes)
        status = 201
    elif request.method == "POST":
        status = 422
    if wants_fragment(request):
        return render_fragment(request, "studio/_api_keys_new.html", context, status=status)
    return render_page(request, "studio/api_keys_new.html", context, place="settings", status=status)


def _read_page(request: StudioRequest) -> int:
    text = request.GET.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _build_env_row(memories: dict[str, int], costs: dict[str, OwnerCost]) -> EnvKeyRow:
    return EnvKeyRow(ENV_KEY_NAME, ENV_KEY_ID, memories.get(ENV_KEY_ID, 0), costs.get(ENV_KEY_ID))


def _write_curl(base_url: str, bare_key: str) -> str:
    body = json.dumps({"model": EXAMPLE_MODEL, "messages": [{"role": "user", "content": EXAMPLE_TEXT}]})
    return (
        f"curl {base_url}/chat/completions \\\n"
        f'  -H "Authorization: Bearer {bare_key}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{body}'"
    )


def _write_python(base_url: str, bare_key: str) -> str:
    return (
        "from openai import OpenAI\n\n"
        f'client = OpenAI(base_url="{base_url}", api_key="{bare_key}")\n'
        "answer = client.chat.completions.create(\n"
        f'    model="{EXAMPLE_MODEL}",\n'
        f'    messages=[{{"role": "user", "content": "{EXAMPLE_TEXT}"}}],\n'
        ")\n"
        "print(answer.choices[0].message.content)"
    )
