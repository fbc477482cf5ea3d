"""How search, writing and memory grow with the number of memories: 1k, 10k, 100k of one owner, 100k of 100 owners.

    python benchmarks/scale.py                        (about five minutes; --sizes 1000,10000 --owners 0 for less)

In process, on a data folder that is thrown away, with the bundled static model. Every query is embedded beforehand:
what is timed is the adaptive search from its call to its records. Two baselines take turns with it in the same run, so
that whatever else the machine does hits all alike: FTS5 alone (its own table, porter, words joined by OR, 20 rows) and
exact cosine alone (one numpy product with the owner's vectors, the 20 nearest ids). Neither applies filters or reads
records. The sentences are made up here, and but for those that time the writer they go into the table in bulk.
"""

import argparse
import os
import random
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 20
WRITES_AT_ONCE = 500
PEOPLE = "Amara Bruno Chloe Dmitri Elif Farid Greta Hugo Ines Jonas Keiko Lars Mina Noor Otto Petra Quinn Rosa".split()
VERBS = (
    "bought repaired sold painted lost found planned visited cooked tested wrote broke moved carried cleaned drew "
    "rented shipped tuned watered packed measured baked borrowed returned sketched welded polished recorded"
).split()
THINGS = (
    "bicycle kettle server ladder guitar notebook sofa tent radio lamp report garden camera boat drum carpet mirror "
    "database oven puzzle blanket telescope invoice sculpture engine fence novel harvest router violin helmet basket"
).split()
KINDS = (
    "red old heavy quiet broken borrowed tiny wooden famous cheap blue rusty striped digital spare noisy golden plain"
).split()
TIMES = (
    "yesterday|last week|before lunch|on Monday|in spring|after the storm|during the holidays|at night|this morning|"
    "when the train was late|for the neighbours|with a friend|without help|on the way home|in the rain"
).split("|")
SYLLABLES = "ba ke lo mi nu ra si to va ze dor fin gal hem jun kos lin mar nes pol rud sten tis vor wek".split()
TURNS = (
    "I {verb} the {kind} {thing} from {place} {time}.",
    "Did you see the {kind} {thing} in {place}?",
    "You told me that {person} {verb} a {thing} {time}.",
    "We should ask {person} about the {thing} near {place}.",
    "My {thing} is {kind} since {person} {verb} it {time}.",
    "{person} came over and we {verb} the {kind} {thing}.",
)
QUESTIONS = (
    "Who {verb} the {kind} {thing}?",
    "What did {person} do with the {thing} in {place}?",
    "When was the {thing} from {place} {verb}?",
    "Which {thing} did {person} talk about {time}?",
)
HEADER = (
    "| memories | p50 ms | p95 ms | FTS5 p50 | cosine p50 | / FTS5 | / cosine | cold ms | after a write ms "
    "| index bytes | vector bytes |\n" + "|---" * 11 + "|"
)


@dataclass(frozen=True)
class Timing:
    p50_ms: float
    p95_ms: float


class Sentences:
    """Made-up sentences with a long tail of place names, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def make(self, patterns: tuple[str, ...]) -> str:
        pick = self._random.choice
        place = "".join(self._random.choices(SYLLABLES, k=self._random.choice((2, 2, 3)))).capitalize()
        return pick(patterns).format(
            verb=pick(VERBS),
            kind=pick(KINDS),
            thing=pick(THINGS),
            person=pick(PEOPLE),
            place=place,
            time=pick(TIMES),
        )


class Baselines:
    """FTS5 and cosine on copies of an owner's texts and vectors, in a database of their own."""

    def __init__(self, folder: Path) -> None:
        from core.db.sqlite.driver import DRIVER

        self._connection = DRIVER.dbapi.connect(str(folder / "baseline.sqlite"))
        self._connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")

    def fill(self, owner: str | None) -> None:
        from memory.models import Memory

        self._connection.execute("DELETE FROM texts")
        rows = Memory.objects.owned_by(owner).values_list("memory_id", "content")
        self._connection.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows.iterator())
        self._connection.commit()

    def search_words(self, text: str) -> None:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        statement = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"
        self._connection.execute(statement, (words, LIMIT)).fetchall()


def measure_writer(sentences: Sentences) -> tuple[float, float]:
    """Store memories through the product's writer; return how many a second, each alone and 500 a transaction."""
    from django.db import transaction

    from memory import services
    from memory.records import MemoryDraft

    def write(owner: str) -> None:
        for number in range(WRITES_AT_ONCE):
            services.create(MemoryDraft(owner, f"scale:{number}", sentences.make(TURNS), "episodic", "s"))

    started = time.perf_counter()
    write("writer-alone")
    alone = time.perf_counter() - started
    started = time.perf_counter()
    with transaction.atomic():
        write("writer-together")
    return WRITES_AT_ONCE / alone, WRITES_AT_ONCE / (time.perf_counter() - started)


def fill_owner(owner: str, count: int, sentences: Sentences) -> None:
    """Write rows as the product's writer leaves them, but many a statement."""
    from django.utils import timezone

    from memory.models import Memory

    now = timezone.now()
    for start in range(0, count, WRITES_AT_ONCE):
        rows = []
        for number in range(start, min(start + WRITES_AT_ONCE, count)):
            speaker = PEOPLE[number % 2]
            rows.append(
                Memory(
                    uuid=str(uuid.uuid4()),
                    api_key_id=owner,
                    session_id=f"s{number // 20}",
                    type="episodic",
                    key=f"scale:{number}",
                    content=f"{speaker}: {sentences.make(TURNS)}",
                    metadata={"speaker": speaker},
                    created_at=now,
                    updated_at=now,
                )
            )
        Memory.objects.bulk_create(rows)


def index_all() -> float:
    """Write the vectors of everything pending; return memories a second."""
    from memory import indexing

    pending, started = indexing.count_pending(), time.perf_counter()
    while indexing.index_batch(1000).processed:
        pass
    return pending / (time.perf_counter() - started)


def time_calls(calls: dict[str, Callable[[int], Any]], rounds: int) -> dict[str, Timing]:
    """Let the calls take turns, each with the round's number; the first rounds warm up and don't count."""
    warm_up = min(5, rounds)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(-warm_up, rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            call(turn % rounds)
            if turn >= 0:
                times[name].append((time.perf_counter() - started) * 1000)
    return {
        name: Timing(statistics.median(values), sorted(values)[int(0.95 * len(values))])
        for name, values in times.items()
    }


def measure_owner(owner: str, label: str, everyone: bool, baselines: Baselines, rounds: int) -> None:
    """Print one row: cold load, warm search, search after a write, and the baselines on the same memories."""
    import numpy as np

    from memory import services
    from memory.config import load_settings
    from memory.models import Memory
    from memory.records import MemoryDraft, SearchQuery
    from memory.search.adaptive import search_adaptive
    from memory.search.index_cache import INDEXES
    from memory.search.matrix_scores import MatrixScores
    from memory.vector_stores.matrix import MATRICES
    from memory.vector_stores.resolver import NoVectors, open_leg

    sentences = Sentences(99)
    questions = [sentences.make(QUESTIONS) for _ in range(rounds)]
    legs = [open_leg(question, load_settings().embedding) for question in questions]
    vectors = [leg.query_vector for leg in legs if not isinstance(leg, NoVectors)]
    leg = legs[0]
    assert not isinstance(leg, NoVectors), leg.reason
    scores = MatrixScores(leg.index, leg.store)

    def search(turn: int) -> None:
        query = SearchQuery(owner, questions[turn], "adaptive", 365, limit=LIMIT)
        search_adaptive(query, vectors[turn], scores)

    def write_and_search(turn: int) -> None:
        services.create(MemoryDraft(owner, "scale:again", sentences.make(TURNS), "episodic", "s0"))
        search(turn)

    INDEXES.clear()
    MATRICES.clear()
    started = time.perf_counter()
    search(0)
    cold_ms = (time.perf_counter() - started) * 1000
    index_bytes = INDEXES.measure_bytes()
    baselines.fill(None if everyone else owner)
    _, rows = MATRICES.get(leg.index, leg.store, owner)
    calls: dict[str, Callable[[int], Any]] = {
        "search": search,
        "words": lambda turn: baselines.search_words(questions[turn]),
        "cosine": lambda turn: np.argpartition(-np.vecdot(rows, vectors[turn]), min(LIMIT, len(rows) - 1))[:LIMIT],
    }
    timings = time_calls(calls, rounds)
    fresh = time_calls({"fresh": write_and_search}, max(10, rounds // 10))["fresh"]
    count = Memory.objects.owned_by(owner).count()
    search_ms, words_ms, cosine_ms = (timings[name].p50_ms for name in calls)
    p95_ms, per_words, per_cosine = timings["search"].p95_ms, search_ms / words_ms, search_ms / cosine_ms
    times = (search_ms, p95_ms, words_ms, cosine_ms, per_words, per_cosine, cold_ms, fresh.p50_ms)
    cells = " | ".join(f"{value:.2f}" for value in times)
    print(f"| {label} | {cells} | {index_bytes / count:.0f} | {rows.nbytes / count:.0f} |", flush=True)


def open_product(folder: str) -> None:
    os.environ.update(
        {"DATA_DIR": folder, "LOG_LEVEL": "error", "EMBEDDED_WORKER": "false", "MEMORY_STATIC_MODEL": "bundled"}
    )
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.core.management import call_command

    from memory.config import MEMORY_SECTION

    call_command("migrate", verbosity=0)
    MEMORY_SECTION.write({"staticEnabled": True, "embeddingSource": "static"})


def list_owners(sizes: list[int], owners: int) -> dict[str, int]:
    return {f"one-{size}": size for size in sizes} | {f"many-{number}": 1000 for number in range(owners)}


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--sizes", default="1000,10000,100000", help="memories of one owner, one owner each")
    args.add_argument("--owners", type=int, default=100, help="how many more owners have 1,000 memories each")
    args.add_argument("--rounds", type=int, default=100)
    options = args.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]

    with tempfile.TemporaryDirectory(prefix="omniroute-benchmark-") as folder:
        open_product(folder)
        from django.db import connections

        sentences = Sentences(7)
        alone, together = measure_writer(sentences)
        owners = list_owners(sizes, options.owners)
        for owner, count in owners.items():
            fill_owner(owner, count, sentences)
        total = 2 * WRITES_AT_ONCE + sum(owners.values())
        stored_bytes = (Path(folder) / "storage.sqlite").stat().st_size
        vector_rate = index_all()
        with_vectors = (Path(folder) / "storage.sqlite").stat().st_size
        print(f"stored at {alone:.0f}/s one by one, {together:.0f}/s together; vectors written at {vector_rate:.0f}/s")
        print(
            f"{total} memories; {stored_bytes / total:.0f} bytes each on disk, {with_vectors / total:.0f} with vectors"
        )
        print(HEADER)
        baselines = Baselines(Path(folder))
        for size in sizes:
            measure_owner(f"one-{size}", f"{size} of one owner", False, baselines, options.rounds)
        if options.owners:
            measure_owner("many-0", f"1000 of {total}, many owners", True, baselines, options.rounds)
        connections.close_all()


if __name__ == "__main__":
    main()
