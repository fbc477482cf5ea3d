"""Programs go by the codes of errors: every one that the code has stands on the page about the API."""

import re
from pathlib import Path

from tests.docs.markdown import ROOT, read_page

STOREYS = ("core", "embeddings", "qdrant_admin", "memory", "gateway", "omniroute")
CODE = re.compile(r"\bcode(?:: str)? ?= ?\"([a-z_]+)\"")
# What no program is ever answered with, and why.
INNER = {
    "backend_busy": "of a job",
    "backend_unknown": "of a job",
    "changed_since": "told by the studio",
    "cross_encoder_failed": "becomes a reason of retrieval",
    "embedding_failed": "becomes a reason of retrieval",
    "not_supported": "told by the studio",
    "qdrant_unavailable": "stands on a receipt",
    "rerank_failed": "becomes a reason of retrieval",
}


def list_codes() -> set[str]:
    files = [file for storey in STOREYS for file in Path(ROOT / storey).rglob("*.py")]
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def test_every_code_that_a_program_can_be_answered_with_is_documented() -> None:
    told = set(re.findall(r"`([a-z_]+)`", read_page("docs/api.md")))
    codes = list_codes()
    assert len(codes) > 20
    assert codes - told == set(INNER)
