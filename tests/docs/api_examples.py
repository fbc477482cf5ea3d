"""The examples of the OpenAPI document, taken from the page whose answers are tested.

With DJANGO_SETTINGS_MODULE=omniroute.settings, `python -m tests.docs.api_examples` writes them anew.
"""

import json
from typing import Any

from tests.docs.markdown import ROOT, read_page
from tests.docs.test_api_examples import MORE, PAGE, Exchange, read_exchanges

FILE = ROOT / "omniroute/openapi/examples.json"
# name -> which request of the page it is the answer of: method, beginning of its path, how often that came before.
ANSWERS = {
    "listMemories": ("GET", "/api/memory?", 0),
    "storeMemory": ("POST", "/api/memory", 0),
    "readMemory": ("GET", "/api/memory/", 0),
    "compactMemories": ("POST", "/api/memory/summarize", 0),
    "previewRetrieval": ("POST", "/api/memory/retrieve-preview", 0),
    "readEngineStatus": ("GET", "/api/memory/engine-status", 0),
    "listEmbeddingProviders": ("GET", "/api/memory/embedding-providers", 0),
    "memorySettings": ("PUT", "/api/settings/memory", 0),
    "chat": ("POST", "/v1/chat/completions", 1),
    "listModels": ("GET", "/v1/models", 0),
    "mcp": ("POST", "/mcp", 0),
}
BODIES = {"chatBody": "chat", "mcpBody": "mcp"}


def collect_examples() -> dict[str, Any]:
    exchanges = [exchange for exchange in read_exchanges(read_page(PAGE)) if exchange.status == 200]
    found = {name: find_exchange(exchanges, *place) for name, place in ANSWERS.items()}
    answers = {name: cut_marks(exchange.shown) for name, exchange in found.items()}
    return answers | {name: json.loads(found[of].body) for name, of in BODIES.items()}


def find_exchange(exchanges: list[Exchange], method: str, path: str, number: int) -> Exchange:
    is_whole = path[-1] not in "?/"
    fitting = [
        item
        for item in exchanges
        if item.method == method and (item.path == path if is_whole else item.path.startswith(path))
    ]
    return fitting[number]


def cut_marks(shown: Any) -> Any:
    """Without the mark that ends a list of which the page shows the beginning."""
    if isinstance(shown, dict):
        return {name: cut_marks(value) for name, value in shown.items()}
    if isinstance(shown, list):
        return [cut_marks(value) for value in shown if value != MORE]
    return shown


if __name__ == "__main__":
    FILE.write_text(json.dumps(collect_examples(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
