"""Question-statement pairs that teach what WordNet knows: a poodle is a dog, to purchase is to buy."""

from __future__ import annotations

import random
import re
from pathlib import Path

from template_grammar import Grammar, Pair
from wordnet import Synset, read_first_senses, read_frequencies, read_irregular_verbs, read_synsets

# WordNet's lexicographer files whose nouns people own, do, eat, meet, feel or visit.
ACT, ANIMAL, ARTIFACT, COGNITION, COMMUNICATION, EVENT, FEELING, FOOD = 4, 5, 6, 9, 10, 11, 12, 13
PERSON, PLANT, POSSESSION, STATE, SUBSTANCE = 18, 20, 21, 26, 27
USED_FILES = {
    ACT,
    ANIMAL,
    ARTIFACT,
    COGNITION,
    COMMUNICATION,
    EVENT,
    FEELING,
    FOOD,
    PERSON,
    PLANT,
    POSSESSION,
    STATE,
    SUBSTANCE,
}
OPINIONS = ("great", "awful", "expensive", "new", "beautiful", "old", "tiring")
USUAL_NOUNS = 9_000
USUAL_VERBS = 1_800
# Kinds so general that asking for them says nothing.
VAGUE = {
    "entity",
    "abstraction",
    "object",
    "whole",
    "artifact",
    "act",
    "event",
    "state",
    "attribute",
    "matter",
    "instrumentality",
    "physical entity",
    "psychological feature",
    "thing",
    "unit",
    "group",
    "content",
    "causal agent",
    "organism",
    "happening",
    "action",
    "relation",
    "property",
    "process",
    "part",
}

_PLAIN_WORD = re.compile(r"[a-z][a-z ]{2,18}")


def past_form(verb: str) -> str:
    """The past tense of a regular verb."""
    head, _, rest = verb.partition(" ")
    if head.endswith("e"):
        past = head + "d"
    elif head.endswith("y") and head[-2] not in "aeiou":
        past = head[:-1] + "ied"
    else:
        past = head + "ed"
    return f"{past} {rest}".strip()


def with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


class WordNetPairs:
    """Draws pairs whose question says something in other words, or more generally, than the statement."""

    def __init__(self, folder: Path, grammar: Grammar, rng: random.Random) -> None:
        self._grammar, self._rng = grammar, rng
        frequencies = read_frequencies(folder)
        self._nouns = {synset.offset: synset for synset in read_synsets(folder, "noun")}
        self._verbs = {synset.offset: synset for synset in read_synsets(folder, "verb")}
        noun_senses, verb_senses = read_first_senses(folder, "noun"), read_first_senses(folder, "verb")
        irregular = read_irregular_verbs(folder)

        def rank(word: str) -> tuple[int, str]:
            return -frequencies[word], word

        nouns = [word for word in noun_senses if _PLAIN_WORD.fullmatch(word) and self._is_used(noun_senses[word])]
        verbs = [word for word in verb_senses if _PLAIN_WORD.fullmatch(word) and word not in irregular]
        self._noun_list = [(word, self._nouns[noun_senses[word]]) for word in sorted(nouns, key=rank)[:USUAL_NOUNS]]
        self._verb_list = [(word, self._verbs[verb_senses[word]]) for word in sorted(verbs, key=rank)[:USUAL_VERBS]]

    def _is_used(self, offset: str) -> bool:
        return self._nouns[offset].lexicographer_file in USED_FILES

    def _other_word(self, word: str, synset: Synset) -> str:
        """A synonym where there is one, else the word itself."""
        others = [other for other in synset.words if other != word and _PLAIN_WORD.fullmatch(other)]
        return self._rng.choice(others) if others else word

    def _kind(self, word: str, synset: Synset) -> str:
        """What the thing is: one or two steps up, never as far as the vague top."""
        kinds = []
        parents = synset.hypernyms
        for _ in range(2):
            kinds += [self._nouns[parent].words[0] for parent in parents]
            parents = tuple(up for parent in parents for up in self._nouns[parent].hypernyms)
        kinds = [kind for kind in kinds if kind not in VAGUE and _PLAIN_WORD.fullmatch(kind)]
        return self._rng.choice(kinds) if kinds else self._other_word(word, synset)

    def pair(self) -> Pair:
        draw = self._rng.choice(
            (self._kind_pair, self._kind_pair, self._synonym_pair, self._verb_pair, self._meaning_pair)
        )
        return draw()

    def _kind_pair(self) -> Pair:
        pick, grammar = self._rng.choice, self._grammar
        word, synset = pick(self._noun_list)
        name, kind = grammar.name(), self._kind(word, synset)
        question = pick(
            (
                f"What {kind} does {name} have?",
                f"Which {kind} did {name} mention?",
                f"What kind of {kind} is it?",
                f"Does {name} like any {kind}?",
                f"What {kind} did {name} get {grammar.time()}?",
                f"Which {kind} does the user prefer?",
                f"What is {name}'s favourite {kind}?",
            )
        )
        return Pair(question, self._noun_statement(name, word), word)

    def _noun_statement(self, name: str, word: str) -> str:
        pick, grammar = self._rng.choice, self._grammar
        other, _ = pick(self._noun_list)
        a_word = with_article(word)
        if self._rng.random() < 0.3:
            return pick(
                (
                    f"User prefers {word} over {other}.",
                    f"{name} talked about {a_word} {grammar.time()}.",
                    f"{name} has {a_word} and {with_article(other)}.",
                    f"User's {other} is {a_word}.",
                )
            )
        return grammar.say(
            name,
            pick(
                (
                    f"I got {a_word} {grammar.time()}.",
                    f"My {word} is the best thing I have.",
                    f"I really like {word}.",
                    f"We need {a_word} for the {other}.",
                    f"There was {a_word} at the {other}.",
                    f"I don't care for {word}.",
                    f"The {word} was {pick(OPINIONS)}.",
                )
            ),
        )

    def _synonym_pair(self) -> Pair:
        pick, grammar = self._rng.choice, self._grammar
        word, synset = pick(self._noun_list)
        name, other = grammar.name(), self._other_word(word, synset)
        question = pick(
            (
                f"When did {name} get the {other}?",
                f"Where is {name}'s {other}?",
                f"Why does {name} need a {other}?",
                f"What did {name} say about the {other}?",
                f"How is the {other}?",
                f"Does the user have a {other}?",
            )
        )
        return Pair(question, self._noun_statement(name, word), word)

    def _verb_pair(self) -> Pair:
        pick, grammar = self._rng.choice, self._grammar
        verb, synset = pick(self._verb_list)
        thing, _ = pick(self._noun_list)
        name, other = grammar.name(), self._other_word(verb, synset)
        question = pick(
            (
                f"Did {name} {other} the {thing}?",
                f"When will {name} {other} the {thing}?",
                f"What did {name} {other}?",
                f"Who wanted to {other} the {thing}?",
                f"Why did we {other} the {thing}?",
                f"How did {name} {other} it?",
            )
        )
        statement = pick(
            (
                f"I {past_form(verb)} the {thing} {grammar.time()}.",
                f"I want to {verb} the {thing}.",
                f"We {past_form(verb)} it because of the {thing}.",
                f"Please remind me to {verb} the {thing}.",
            )
        )
        return Pair(question, grammar.say(name, statement), f"{verb} {thing}")

    def _meaning_pair(self) -> Pair:
        word, synset = self._rng.choice(self._noun_list if self._rng.random() < 0.7 else self._verb_list)
        told = (
            self._rng.choice(synset.examples) if synset.examples else self._noun_statement(self._grammar.name(), word)
        )
        return Pair(synset.definition, told if word in told else f"{word}: {told}", word)
