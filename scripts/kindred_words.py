"""Writes the table of kindred words that the adaptive search reads, out of the static model that ships with us.

    python scripts/kindred_words.py            (needs numpy, safetensors, PyStemmer; ten seconds)

One line a word: the word, then the stems nearest to it with their cosines in hundredths, nearest first. Only the
model's whole words of three letters and more are in it, and only stems at a cosine of .5 and more, at most eight.
Run it again when the model was trained anew; an older table still works.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from memory.search.stems import stem_word  # noqa: E402
from memory.search.terms import STOP_WORDS  # noqa: E402

MODEL = ROOT / "embeddings" / "bundled"
TABLE = ROOT / "memory" / "search" / "kindred.txt"
MIN_COSINE, MAX_KIN, MIN_LETTERS, BATCH = 0.5, 8, 3, 512


def read_words(folder: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return the model's whole words and their unit vectors, one a row."""
    vocabulary: dict[str, int] = json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    rows = load_file(folder / "model.safetensors")["embeddings"].astype(np.float32)
    words = [word for word in vocabulary if is_word(word) and np.any(rows[vocabulary[word]])]
    vectors = rows[[vocabulary[word] for word in words]]
    return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def is_word(token: str) -> bool:
    return len(token) >= MIN_LETTERS and token.isascii() and token.isalpha() and token not in STOP_WORDS


def list_kin(words: list[str], vectors: npt.NDArray[np.float32]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    stems = [stem_word(word) for word in words]
    for start in range(0, len(words), BATCH):
        cosines = vectors[start : start + BATCH] @ vectors.T
        for offset, row in enumerate(cosines):
            near = np.nonzero(row >= MIN_COSINE)[0]
            kin: dict[str, int] = {}
            for place in near[np.argsort(-row[near], kind="stable")]:
                kin.setdefault(stems[place], int(100 * row[place]))
            kin.pop(stems[start + offset], None)
            if kin:
                yield words[start + offset], list(kin.items())[:MAX_KIN]


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--model", type=Path, default=MODEL)
    args.add_argument("--out", type=Path, default=TABLE)
    options = args.parse_args()
    words, vectors = read_words(options.model)
    lines = [
        f"{word} {' '.join(f'{stem}:{cosine}' for stem, cosine in kin)}\n" for word, kin in list_kin(words, vectors)
    ]
    options.out.write_text("".join(lines), encoding="ascii")
    print(f"{len(lines)} of {len(words)} words have kin -> {options.out}")


if __name__ == "__main__":
    main()
