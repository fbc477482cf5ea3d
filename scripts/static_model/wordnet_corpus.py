"""Writes the training sentences that come from WordNet: definitions and usage examples, one a line.

python wordnet_corpus.py --wordnet /usr/share/wordnet --out build/wordnet.txt
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from wordnet import PARTS_OF_SPEECH, read_synsets

MIN_EXAMPLE_WORDS = 3
HEADED_SHARE = 0.5  # so many definitions are written "word: definition", which ties the word to its meaning


def collect_sentences(folder: Path, seed: int) -> list[str]:
    """Every definition and every example of at least three words, without repeats, in a fixed order."""
    rng = random.Random(seed)
    sentences: dict[str, None] = {}
    for part_of_speech in PARTS_OF_SPEECH:
        for synset in read_synsets(folder, part_of_speech):
            headed = rng.random() < HEADED_SHARE
            sentences[f"{synset.words[0]}: {synset.definition}" if headed else synset.definition] = None
            for example in synset.examples:
                if len(example.split()) >= MIN_EXAMPLE_WORDS:
                    sentences[example] = None
    shuffled = list(sentences)
    rng.shuffle(shuffled)
    return shuffled


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun, data.verb and so on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    sentences = collect_sentences(args.wordnet, args.seed)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    words = sum(len(sentence.split()) for sentence in sentences)
    print(f"{len(sentences)} sentences, {words / len(sentences):.1f} words each")


if __name__ == "__main__":
    main()
