"""A small grammar of chat: who did what, told as a turn, noted as a fact, asked as a question."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

USER = "User"


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the statement that answers it. Pairs with the same group must not count as opposites."""

    question: str
    statement: str
    group: str


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of chat_frames.txt."""

    base: str
    past: str
    ing: str
    kinds: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One line of chat_attributes.txt."""

    questions: tuple[str, ...]
    statements: tuple[str, ...]
    values: tuple[str, ...]


def _read_rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[field.strip() for field in line.split(" | ")] for line in lines if line and not line.startswith("#")]


def _split(text: str, separator: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(separator))


def _read_frame(row: list[str]) -> Frame:
    forms, kinds, things, places = row
    base, past, ing = _split(forms, ",")
    return Frame(base, past, ing, _split(kinds, ","), _split(things, ","), _split(places, ","))


def _read_attribute(row: list[str]) -> Attribute:
    questions, statements, values = row
    return Attribute(_split(questions, "~"), _split(statements, "~"), _split(values, ","))


def third_person(text: str) -> str:
    """`my cat` becomes `their cat`: good enough for a note about somebody."""
    words = {"my": "their", "our": "their", "me": "them", "us": "them"}
    return " ".join(words.get(word, word) for word in text.split())


class Grammar:
    """Draws questions and statements. All chance comes from the generator it was given."""

    def __init__(
        self,
        frames: list[Frame],
        attributes: list[Attribute],
        phrases: dict[str, tuple[str, ...]],
        rng: random.Random,
    ) -> None:
        self._frames, self._attributes, self._phrases, self._rng = frames, attributes, phrases, rng

    @classmethod
    def read(cls, folder: Path, rng: random.Random) -> Grammar:
        frames = [_read_frame(row) for row in _read_rows(folder / "chat_frames.txt")]
        attributes = [_read_attribute(row) for row in _read_rows(folder / "chat_attributes.txt")]
        phrases = {sort: _split(row, "~") for sort, row in _read_rows(folder / "chat_phrases.txt")}
        return cls(frames, attributes, phrases, rng)

    def name(self) -> str:
        return self._rng.choice(self._phrases["names"])

    def time(self) -> str:
        return self._rng.choice(self._phrases["times"])

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def say(self, name: str, text: str) -> str:
        """Puts a first-person sentence into a chat turn, with small talk around it more often than not."""
        pick = self._rng.choice
        parts = [text]
        if self._chance(0.4):
            parts.append(pick(self._phrases["comments"]))
        if self._chance(0.45):
            parts.insert(0, pick(self._phrases["openers"]).format(other=self.name()))
        if self._chance(0.3):
            parts.append(pick(self._phrases["closers"]))
        turn = " ".join(parts)
        return f"{name}: {turn}" if self._chance(0.8) else turn

    def doing_pair(self) -> Pair:
        """Somebody did something: asked for one of its parts, told with all or some of them."""
        pick = self._rng.choice
        frame, name = pick(self._frames), self.name()
        thing, place, kind = pick(frame.things), pick(frame.places), pick(frame.kinds)
        statement = self._doing_statement(frame, name, thing, place)
        their_thing = third_person(thing)
        question = pick(
            (
                f"What did {name} {frame.base} {self.time()}?",
                f"What did {name} {frame.base}?",
                f"What {kind} did {name} {frame.base}?",
                f"Which {kind} has {name} been {frame.ing}?",
                f"What kind of {kind} does {name} {frame.base}?",
                f"What {kind} is {name} into?",
                f"When did {name} {frame.base} {their_thing}?",
                f"Where did {name} {frame.base} {their_thing}?",
                f"Why did {name} {frame.base} {their_thing}?",
                f"How did {name} feel about {frame.ing} {their_thing}?",
                f"Did {name} ever {frame.base} {their_thing}?",
                f"How often does {name} {frame.base} {their_thing}?",
                f"Who {frame.past} {their_thing}?",
                f"What did {name} do {place}?",
                f"Tell me about {name} and {their_thing}",
            )
        )
        return Pair(question, statement, f"{frame.past} {thing}")

    def _doing_statement(self, frame: Frame, name: str, thing: str, place: str) -> str:
        pick = self._rng.choice
        where = f" {place}" if self._chance(0.5) else ""
        when = f" {self.time()}" if self._chance(0.5) else ""
        if self._chance(0.3):
            subject = pick((name, name, name, USER))
            their_thing, their_where = third_person(thing), third_person(where)
            their_where = f" {their_where}" if where else ""
            return pick(
                (
                    f"{subject} {frame.past} {their_thing}{their_where}{when}.",
                    f"{subject} has been {frame.ing} {their_thing}{their_where}.",
                    f"{subject} wants to {frame.base} {their_thing}{their_where}.",
                    f"{subject} likes {frame.ing} {their_thing}.",
                )
            )
        return self.say(
            name,
            pick(
                (
                    f"I {frame.past} {thing}{where}{when}.",
                    f"I {frame.past} {thing}{where}{when}.",
                    f"I've been {frame.ing} {thing}{where} lately.",
                    f"We {frame.past} {thing}{where}{when}.",
                    f"I'm going to {frame.base} {thing}{where} soon.",
                    f"I finally {frame.past} {thing}{when}!",
                    f"Been thinking of {frame.ing} {thing}{where}.",
                    f"{frame.ing.capitalize()} {thing}{where} keeps me busy.",
                )
            ),
        )

    def attribute_pair(self) -> Pair:
        """Something about a person or a project, and a question about it."""
        pick = self._rng.choice
        attribute, name = pick(self._attributes), self.name()
        value, statement = pick(attribute.values), pick(attribute.statements)
        question = pick(attribute.questions)
        if self._chance(0.25):
            name = "the user" if "{name}" in question else name
        subject = USER if name == "the user" else name
        if "{name}" in statement:
            told = statement.format(name=subject, v=value)
        elif name == "the user":
            told = f"{USER}: {statement.format(v=value)}"
        else:
            told = self.say(name, statement.format(v=value))
        return Pair(question.format(name=name), told[0].upper() + told[1:], f"{attribute.questions[0]} {value}")
