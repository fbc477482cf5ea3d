"""The model's tokenizer, MiniLM's WordPiece without special and unused tokens, and first vectors for it."""

from __future__ import annotations

import json
import re

import numpy as np
import numpy.typing as npt
from encode_teacher import MINILM, Teacher, package_file
from tokenizers import Tokenizer

PADDING, UNKNOWN = "[PAD]", "[UNK]"
_DROPPED = re.compile(r"\[(unused\d+|CLS|SEP|MASK)\]")


def build_tokenizer() -> Tokenizer:
    """Keeps the teacher's normaliser, pre-tokeniser and word pieces; renumbers what is left."""
    spec = json.loads(package_file(*MINILM.tokenizer).read_text(encoding="utf-8"))
    by_id = sorted(spec["model"]["vocab"].items(), key=lambda item: item[1])
    kept = [token for token, _ in by_id if not _DROPPED.fullmatch(token)]
    ids = {token: i for i, token in enumerate(kept)}
    spec["model"]["vocab"] = ids
    spec["added_tokens"] = [
        {**token, "id": ids[token["content"]]} for token in spec["added_tokens"] if token["content"] in ids
    ]
    spec.update(post_processor=None, padding=None, truncation=None)
    return Tokenizer.from_str(json.dumps(spec))


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """All tokens in the order of their ids."""
    return [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]


def encode_tokens(tokenizer: Tokenizer, teacher: Teacher) -> npt.NDArray[np.float32]:
    """The teacher's vector of each token on its own (`##ing` as `ing`): where training starts from."""
    return teacher.encode([token.removeprefix("##") for token in tokens_of(tokenizer)])


def tokenize(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Token ids as model2vec makes them: no special tokens, unknown tokens left out."""
    unknown = tokenizer.token_to_id(UNKNOWN)
    encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    return [[i for i in encoding.ids if i != unknown] for encoding in encodings]
