"""Reads the WordNet 3.0 database files: glosses, usage examples, word frequencies, irregular inflections."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")

_EXAMPLE = re.compile(r'"([^"]+)"')
_FIRST_EXAMPLE = re.compile(r';\s*"')
_MARKER = re.compile(r"\([a-z]+\)$")


@dataclass(frozen=True, slots=True)
class Synset:
    """One WordNet entry: the words that share a meaning, what they mean, and how they are used."""

    offset: str
    words: tuple[str, ...]
    hypernyms: tuple[str, ...]  # offsets of the more general entries of the same part of speech
    definition: str
    examples: tuple[str, ...]
    lexicographer_file: int


def parse_synset(line: str) -> Synset:
    """Parses one line of a `data.*` file (see WordNet's wndb(5WN))."""
    head, _, gloss = line.partition(" | ")
    fields = head.split()
    word_count = int(fields[3], 16)
    words = tuple(_MARKER.sub("", fields[4 + 2 * i]).replace("_", " ") for i in range(word_count))
    gloss = gloss.strip()
    return Synset(
        offset=fields[0],
        words=words,
        hypernyms=tuple(after for pointer, after in itertools.pairwise(fields) if pointer == "@"),
        definition=_FIRST_EXAMPLE.split(gloss)[0].strip(' "'),
        examples=tuple(_EXAMPLE.findall(gloss)),
        lexicographer_file=int(fields[1]),
    )


def read_synsets(folder: Path, part_of_speech: str) -> Iterator[Synset]:
    """Yields every synset of one part of speech; the licence text at the head of the file is skipped."""
    with (folder / f"data.{part_of_speech}").open(encoding="latin1") as lines:
        for line in lines:
            if not line.startswith("  "):
                yield parse_synset(line)


def read_first_senses(folder: Path, part_of_speech: str) -> dict[str, str]:
    """Maps each word to the offset of its most usual meaning."""
    senses: dict[str, str] = {}
    with (folder / f"index.{part_of_speech}").open(encoding="latin1") as lines:
        for line in lines:
            if not line.startswith("  "):
                fields = line.split()
                sense_count = int(fields[2])
                senses[fields[0].replace("_", " ")] = fields[-sense_count]
    return senses


def read_frequencies(folder: Path) -> Counter[str]:
    """How often each word was seen in WordNet's sense-tagged texts, over all its senses."""
    counts: Counter[str] = Counter()
    with (folder / "cntlist.rev").open(encoding="latin1") as lines:
        for line in lines:
            sense_key, _, count = line.split()
            counts[sense_key.split("%")[0].replace("_", " ")] += int(count)
    return counts


def read_irregular_verbs(folder: Path) -> set[str]:
    """Verbs with at least one irregular form."""
    with (folder / "verb.exc").open(encoding="latin1") as lines:
        return {base.replace("_", " ") for line in lines for base in line.split()[1:]}
