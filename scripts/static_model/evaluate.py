"""Asks each question of evaluation_pairs.py and counts how often the statement that answers it comes first.

    python evaluate.py build/model [--teachers] [--pairs OTHER.py]

BM25 is measured beside the model, the teachers with --teachers. Another file with PAIRS and, optionally,
DISTRACTORS (or DISTRACT) can be given.
"""

from __future__ import annotations

import argparse
import math
import re
import runpy
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from encode_teacher import TEACHERS, Teacher
from model2vec import StaticModel

FloatMatrix = npt.NDArray[np.float32]
Encoder = Callable[[list[str]], FloatMatrix]
K1, B = 1.2, 0.4


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def rank_with_vectors(encode: Encoder, statements: list[str], questions: list[str]) -> FloatMatrix:
    scores: FloatMatrix = encode(questions) @ encode(statements).T
    return scores


def rank_with_bm25(statements: list[str], questions: list[str]) -> FloatMatrix:
    bags = [Counter(words(statement)) for statement in statements]
    lengths = np.array([bag.total() for bag in bags])
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    documents = Counter(word for bag in bags for word in bag)
    scores = np.zeros((len(questions), len(statements)), dtype=np.float32)
    for row, question in enumerate(questions):
        for word in set(words(question)):
            idf = math.log(1 + (len(bags) - documents[word] + 0.5) / (documents[word] + 0.5))
            for column, bag in enumerate(bags):
                scores[row, column] += idf * bag[word] * (K1 + 1) / (bag[word] + norms[column])
    return scores


def report(name: str, scores: FloatMatrix) -> None:
    """Statement i answers question i; ties count against."""
    own = scores.diagonal()[:, None]
    ranks = (scores >= own).sum(1)
    first, top_three = (ranks <= 1).mean(), (ranks <= 3).mean()
    print(f"{name:24} first {first:.2f}  first three {top_three:.2f}  MRR {(1 / ranks).mean():.3f}")


def measure_speed(model: StaticModel, texts: list[str]) -> float:
    """Milliseconds a text, one at a time."""
    begun = time.perf_counter()
    for text in texts:
        model.encode(text)
    return (time.perf_counter() - begun) / len(texts) * 1000


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("models", type=Path, nargs="+", help="model2vec folders")
    parser.add_argument("--pairs", type=Path, default=Path(__file__).parent / "evaluation_pairs.py")
    parser.add_argument("--teachers", action="store_true", help="measure the teachers too")
    args = parser.parse_args()

    content = runpy.run_path(str(args.pairs))
    statements = [statement for statement, _ in content["PAIRS"]]
    questions = [question for _, question in content["PAIRS"]]
    everything = statements + list(content.get("DISTRACTORS", content.get("DISTRACT", ())))

    print(f"{len(questions)} questions among {len(everything)} statements")
    report("BM25", rank_with_bm25(everything, questions))
    if args.teachers:
        for name, files in TEACHERS.items():
            report(name, rank_with_vectors(Teacher(files).encode, everything, questions))
    for folder in args.models:
        begun = time.perf_counter()
        model = StaticModel.from_pretrained(folder)
        loading = (time.perf_counter() - begun) * 1000
        report(folder.name, rank_with_vectors(model.encode, everything, questions))
        print(f"{'':24} loaded in {loading:.0f} ms, {measure_speed(model, everything):.3f} ms a text")


if __name__ == "__main__":
    main()
