"""Every page of the studio speaks the language of the browser wholly: lists, forms, dialogs, and what goes wrong."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from memory import corrections, services
from memory.backends.base import MemoryChanges
from memory.models import Memory
from tests.engine import do_jobs, use_static_model
from tests.translation.data import log_call, make_memories, make_owner, remember
from tests.translation.pseudo_language import LANGUAGE
from tests.translation.walk import HTMX, Walk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

MEMORY = "/dashboard/memory"
SETTINGS = "/dashboard/settings"


@pytest.fixture
def walk(reader: Client) -> Walk:
    return Walk(reader)


def test_an_empty_studio(walk):
    for tab in ("memories", "playground", "engine"):
        walk.see(f"{MEMORY}?tab={tab}")
    for address in (
        "/dashboard/overview",
        "/dashboard/requests",
        SETTINGS,
        f"{SETTINGS}/providers",
        f"{SETTINGS}/keys",
    ):
        walk.see(address)
    walk.see(f"{MEMORY}/first", headers=HTMX)
    walk.see("/dashboard/shell", headers=HTMX)
    walk.end()


def test_memories_and_what_is_done_to_them(walk):
    owner = make_owner()
    records = make_memories(owner)
    first, second = records[:2]
    remember(owner, "πίνει τσάι το πρωί", "ζ")
    corrections.edit(second.id, MemoryChanges(key=None, content="δεν πίνει καφέ πια"))
    log_call(owner, first.id)
    services.change_settings({"enabled": True})
    use_static_model()
    do_jobs()
    many = {"id": [first.id, second.id]}

    walk.see(MEMORY)
    walk.see(f"{MEMORY}?q=τσάι&type=factual&sort=-updated&key={owner}&polarity=positive&expiry=soon&use=never")
    walk.see(f"{MEMORY}?q=ωωω")
    walk.see(f"{MEMORY}/figures", headers=HTMX)
    for record in (first, second):
        walk.see(f"{MEMORY}?open={record.id}")
        walk.see(f"{MEMORY}?id={record.id}")
        walk.see(f"{MEMORY}/row/{record.id}", headers=HTMX)
        walk.see(f"{MEMORY}/edit/{record.id}", headers=HTMX)
    walk.see(f"{MEMORY}/edit/{first.id}")
    walk.send(f"{MEMORY}/edit/{first.id}", {"type": "", "content": ""}, status=422)
    walk.send(f"{MEMORY}/edit/{first.id}", {"type": "factual", "key": "β", "content": "α"}, status=409)
    walk.send(f"{MEMORY}/edit/{first.id}", {"type": "factual", "key": "α", "content": "πίνει νερό"}, headers=HTMX)
    walk.see(f"{MEMORY}/add")
    walk.send(f"{MEMORY}/add", {"metadata": "{", "expires": "χ", "owner": owner}, status=422)
    walk.send(f"{MEMORY}/add", {"type": "factual", "owner": owner, "key": "β", "content": "β"}, status=422)
    walk.send(f"{MEMORY}/add", {"type": "factual", "owner": owner, "key": "η", "content": "θέλει μήλα"})
    for action in ("delete", "retype"):
        walk.see(f"{MEMORY}/{action}?id={first.id}&id={second.id}", headers=HTMX)
        walk.see(f"{MEMORY}/{action}?whole=1&key={owner}")
    walk.send(f"{MEMORY}/retype", {**many, "to": ""}, status=400)
    walk.send(f"{MEMORY}/retype", {**many, "to": "semantic"})
    walk.send(f"{MEMORY}/delete", many)
    walk.send(f"{MEMORY}/merge", {"kept": records[3].id, "id": [records[4].id]})
    undo_id = corrections.delete_memories([records[2].id]).undo_id
    walk.see(f"{MEMORY}/change/{undo_id}", headers=HTMX)
    walk.send(f"{MEMORY}/undo/{undo_id}", {})
    walk.send(f"{MEMORY}/undo/{undo_id}", {})
    walk.send(f"{MEMORY}/merge", {"kept": first.id, "id": [second.id]}, status=404)
    walk.see(f"{MEMORY}/erase?whole=1&key={owner}")
    walk.send(f"{MEMORY}/erase", {"whole": "1", "typed": "όχι"}, status=422)
    walk.see(f"{MEMORY}?id=00000000-0000-4000-8000-000000000000")
    walk.see(f"{MEMORY}/row/00000000-0000-4000-8000-000000000000", status=404, headers=HTMX)
    walk.end()


def test_compaction(walk):
    owner = make_owner()
    for number in range(12):
        remember(owner, f"πίνει τσάι νούμερο {number} και μιλά για τη θάλασσα και τα βουνά", f"κ{number}")
    Memory.objects.update(
        created_at=timezone.now() - timedelta(days=90), updated_at=timezone.now() - timedelta(days=90)
    )
    walk.see(f"{MEMORY}/compact")
    walk.send(f"{MEMORY}/compact", {"days": "0"}, status=422)
    walk.send(f"{MEMORY}/compact", {"days": "30", "owner": owner})
    walk.see(MEMORY)
    walk.end()


def test_import(walk):
    owner = make_owner()
    make_memories(owner)
    rows = [
        {"key": "α", "content": "πίνει γάλα"},
        {"key": "ω", "content": "νέο"},
        {"key": "κενό", "content": ""},
        {"key": "τύπος", "content": "τύπος", "type": "άλλο"},
        {"key": "ώρα", "content": "ώρα", "createdAt": "χθες"},
        {"key": "κ" * 2000, "content": "μακρύ"},
        3,
    ]
    walk.see(f"{MEMORY}/import")
    walk.send(f"{MEMORY}/import", {"owner": owner}, status=422)
    for name, body in (("α.json", b"{"), ("β.txt", b"\xff\xfe\x00"), ("γ.zip", b"PK\x03\x04"), ("δ.json", b"")):
        walk.send(f"{MEMORY}/import", {"file": SimpleUploadedFile(name, body), "owner": owner}, status=422)
    body = json.dumps(rows).encode()
    walk.send(f"{MEMORY}/import", {"file": SimpleUploadedFile("α.json", body)}, status=422)
    html = walk.send(f"{MEMORY}/import", {"file": SimpleUploadedFile("α.json", body), "owner": owner})
    address = html.partition(f'action="{MEMORY}/import/')[2].partition('"')[0]
    ticket = address.partition("/")[0]
    options = {"owner": owner, "overwrites": "on"}
    walk.send(f"{MEMORY}/import/{ticket}/preview", {**options, "format": "csv"}, status=422)
    walk.send(f"{MEMORY}/import/{ticket}/preview", options)
    walk.send(f"{MEMORY}/import/{ticket}/run", options)
    walk.send(f"{MEMORY}/import/{ticket}/run", options)
    walk.end()


@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_the_playground(walk, strategy):
    owner = make_owner()
    records = make_memories(owner)
    stranger = remember("", "πίνει τσάι", "ξένο")
    if strategy != "exact":
        use_static_model()
    do_jobs()
    ask = f"{MEMORY}?tab=playground&q=τσάι πρωί&key={owner}&a={strategy}"
    for more in ("", "&compare=on&b=hybrid", "&budget=100", "&limit=1", "&session=σ1"):
        walk.see(ask + more)
    for why in (records[0].id, records[1].key, records[3].id, stranger.id, "τίποτα"):
        walk.see(f"{ask}&limit=1&why={why}")
    walk.see(f"{MEMORY}?tab=playground&q=τσάι&budget=1&limit=x&a=ω", status=422)
    walk.see(f"{MEMORY}?tab=playground&q=τσάι&key=ωω")
    walk.end()


QDRANT = {
    "enabled": "on", "host": "127.0.0.1:9", "port": "6333", "collection": "omniroute_memory",
    "embedding_model": "memory", "quantization": "none",
}  # fmt: skip


def test_the_engine(walk):
    engine = f"{MEMORY}/engine"
    make_memories(make_owner())
    services.change_settings({"enabled": True})
    walk.see(f"{MEMORY}?tab=engine")
    walk.send(f"{engine}/embedding", {"source": "remote"}, status=422)
    walk.send(f"{engine}/embedding", {"source": "custom", "base_url": "ftp://α", "model_id": ""}, status=422)
    for source in ("remote", "static", "transformers", "auto"):
        data = {"source": source, "provider_model": "openai/text-embedding-3-small"}
        walk.send(f"{engine}/embedding", {**data, "static_enabled": "on", "transformers_enabled": "on"})
        walk.send(f"{engine}/embedding/test", data, headers=HTMX)
        walk.see(f"{MEMORY}?tab=engine")
    walk.send(f"{engine}/embedding", {"source": "static", "static_enabled": "on"})
    walk.send(f"{engine}/reindex", {})
    walk.see(f"{MEMORY}?tab=engine")
    do_jobs()
    walk.see(f"{MEMORY}?tab=engine")
    walk.see(f"{engine}/coverage", headers=HTMX)
    walk.see(f"{engine}/status", headers=HTMX)
    walk.send(f"{engine}/rerank", {"enabled": "on", "model": ""}, status=422)
    for model in ("cohere/rerank-v3.5", "echo/echo", "nobody/x", "local/α"):
        walk.send(f"{engine}/rerank/test", {"enabled": "on", "model": model}, headers=HTMX)
    walk.send(f"{engine}/rerank", {"enabled": "on", "model": "cohere/rerank-v3.5"})
    walk.send(f"{engine}/qdrant", {**QDRANT, "host": "", "port": "0", "collection": "<"}, status=422)
    walk.send(f"{engine}/qdrant/test", QDRANT, headers=HTMX)
    walk.send(f"{engine}/qdrant", QDRANT)
    do_jobs()
    walk.see(f"{MEMORY}?tab=engine")
    walk.send(f"{engine}/qdrant/search", {**QDRANT, "query": "τσάι"}, headers=HTMX)
    walk.send(f"{engine}/qdrant/clean-up", QDRANT, headers=HTMX)
    walk.end()


def test_the_request_log_and_the_overview(walk):
    owner = make_owner()
    record = make_memories(owner)[0]
    states: list[dict[str, Any]] = [
        {"outcome": "answered", "is_stream": True, "first_byte_ms": 3.0, "user_text": "τσάι;", "answer_text": "ναι"},
        {"outcome": "refused", "status": 401, "is_failed": True, "error_code": "provider_status", "error_message": "ό"},
        {"outcome": "failed", "status": 502, "is_failed": True},
        {"outcome": "broken", "is_failed": True},
        {"outcome": "left", "status": 499},
        *({"memory_state": state} for state in ("off", "opted_out", "no_key", "failed", "")),
        {"fallback_reason": "empty_context", "tier": ""},
        {"created_at": timezone.now() - timedelta(days=3)},
        {"tier": "vector"},
    ]
    rows = [
        log_call(owner if number else "", *([record.id] if number % 2 else []), **state)
        for number, state in enumerate(states)
    ]
    for address in ("", "?q=α", f"?key={owner}&since=1d&status=errors&use=none&model=openai/gpt-4o-mini", "?q=ωωω"):
        walk.see(f"/dashboard/requests{address}")
    for row in rows:
        walk.see(f"/dashboard/requests/{row.request_id}?open={row.pk}")
        walk.see(f"/dashboard/requests/{row.request_id}?open={row.pk}", headers=HTMX)
    walk.see("/dashboard/requests/none", status=404)
    for days in (7, 30, 90):
        walk.see(f"/dashboard/overview?days={days}")
    walk.end()


def test_settings(walk):
    walk.see(SETTINGS)
    values = {"retentionDays": "0", "maxTokens": "ω", "keepDays": "99999999", "was": "{}"}
    walk.send(SETTINGS, values, status=422)
    services.change_settings({"enabled": True, "rerankEnabled": True})
    walk.see(SETTINGS)
    walk.end()


def test_providers(walk):
    pages = f"{SETTINGS}/providers"
    walk.see(f"{pages}/add")
    walk.send(f"{pages}/add", {"name": "ω", "base_url": "ftp://α", "api_key": "κλειδί"}, status=422)
    walk.send(f"{pages}/add", {"name": "p-1", "base_url": ""}, status=422)
    walk.send(
        f"{pages}/add", {"name": "p-1", "base_url": "http://127.0.0.1:9", "api_key": "1" * 20, "is_default": "on"}
    )
    walk.send(f"{pages}/test", {"name": "p-1", "base_url": "http://127.0.0.1:9"}, headers=HTMX)
    # A try is kept as it went, in English.
    walk.knows("The provider", "could not be reached")
    walk.see(f"{pages}/p-1")
    walk.see(pages)
    walk.see(f"{pages}/p-1/remove")
    walk.see(f"{pages}/p-1/remove", headers=HTMX)
    walk.send(f"{pages}/p-1/remove", {})
    walk.end()


def test_api_keys(walk):
    owner = make_owner()
    record = make_memories(owner)[0]
    log_call(owner, record.id)
    pages = f"{SETTINGS}/keys"
    walk.see(pages)
    walk.see(f"{pages}/new")
    walk.send(f"{pages}/new", {"name": "α\x07"}, status=422)
    walk.send(f"{pages}/new", {"name": "νέο", "scopes": ["chat"]}, status=201)
    walk.see(f"{pages}/{owner}")
    walk.send(f"{pages}/{owner}", {"name": ""}, status=422)
    walk.send(f"{pages}/{owner}", {"name": "άλλο"})
    walk.see(f"{pages}/{owner}/revoke")
    walk.see(f"{pages}/{owner}/revoke", headers=HTMX)
    walk.send(f"{pages}/{owner}/revoke", {})
    walk.see(f"{pages}/{owner}/erase")
    walk.send(f"{pages}/{owner}/erase", {"typed": "όχι"}, status=422)
    count = Memory.objects.count()
    walk.send(f"{pages}/{owner}/erase", {"typed": f"erase {count}"})
    walk.end()


def test_signing_in_and_what_is_not_there(walk):
    cache.clear()
    walk.see("/dashboard/nothing", status=404)
    walk.see("/dashboard/nothing", status=404, headers=HTMX)
    walk.see("/nothing", status=404)
    walk.see("/admin/nothing/", status=404)
    walk.client.logout()
    walk.see("/dashboard/sign-in")
    walk.see("/admin/login/")
    for _try in range(12):
        answer = walk.client.post("/dashboard/sign-in", {"username": "ονα", "password": "όχι"})
        walk.look("sign-in", answer, answer.status_code)
    checked = Client(enforce_csrf_checks=True, headers={"Accept-Language": LANGUAGE})
    walk.look("csrf", checked.post("/dashboard/sign-in", {}), 403)
    cache.clear()
    walk.end()
