"""Writes chat-like training text from templates: sentences, and questions with the answering statements.

    python template_corpus.py --wordnet /usr/share/wordnet --out build

Writes `templates.txt` (one sentence a line) and `pairs.tsv` (question, statement, group: pairs of one group
say nearly the same, so a trainer must not treat them as opposites).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

from template_grammar import Grammar, Pair
from wordnet_pairs import WordNetPairs

HERE = Path(__file__).parent


def draw_pairs(count: int, draw: Callable[[], Pair]) -> list[Pair]:
    """Draws until `count` different pairs are there."""
    pairs: dict[tuple[str, str], Pair] = {}
    while len(pairs) < count:
        pair = draw()
        pairs[pair.question, pair.statement] = pair
    return list(pairs.values())


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun, data.verb and so on")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--doings", type=int, default=45_000, help="pairs from chat_frames.txt")
    parser.add_argument("--attributes", type=int, default=15_000, help="pairs from chat_attributes.txt")
    parser.add_argument("--kinds", type=int, default=30_000, help="pairs whose question names only the kind")
    parser.add_argument("--sentences", type=int, default=120_000, help="single sentences kept for the teacher")
    args = parser.parse_args()

    rng = random.Random(args.seed)
    grammar = Grammar.read(HERE, rng)
    kinds = WordNetPairs(args.wordnet, grammar, rng)
    pairs = [
        *draw_pairs(args.doings, grammar.doing_pair),
        *draw_pairs(args.attributes, grammar.attribute_pair),
        *draw_pairs(args.kinds, kinds.pair),
    ]
    rng.shuffle(pairs)
    sentences = list(dict.fromkeys(text for pair in pairs for text in (pair.question, pair.statement)))
    rng.shuffle(sentences)

    args.out.mkdir(parents=True, exist_ok=True)
    rows = (f"{pair.question}\t{pair.statement}\t{pair.group}" for pair in pairs)
    (args.out / "pairs.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    kept = sentences[: args.sentences]
    (args.out / "templates.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    print(f"{len(pairs)} pairs, {len(kept)} of {len(sentences)} sentences")


if __name__ == "__main__":
    main()
