"""The Memories page as an operator reads it, and memories to be seen there."""

import json
import re
from urllib.parse import urlencode

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from memory import services
from memory.records import MemoryDraft, MemoryRecord

MEMORY = "/dashboard/memory"


def remember(content: str = "tea", key: str = "", owner: str = "A", **fields) -> MemoryRecord:
    return services.create(MemoryDraft(owner, key, content, **fields))


def read(client: Client, path: str = MEMORY, **parameters: str) -> str:
    answer = client.get(f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def list_texts(page: str) -> list[str]:
    return [text.strip() for text in re.findall(r'<a class="mem-text"[^>]*>([^<]*)</a>', page)]


def ask_as_htmx(client: Client, path: str, *, target: str = "", trigger: str = "", method: str = "get", data=None):
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{MEMORY}"}
    headers |= {"HX-Target": target} if target else {}
    headers |= {"HX-Trigger": trigger} if trigger else {}
    return getattr(client, method)(path, data or {}, headers=headers)


def upload(client: Client, rows, **fields):
    content = rows if isinstance(rows, bytes) else json.dumps(rows).encode()
    file = SimpleUploadedFile("../../memories.json", content, "application/json")
    return client.post(f"{MEMORY}/import", {"file": file, "owner": "A", **fields})
