"""Tells something said in a conversation from a noted fact, by how it reads. Pure.

Neighbours in a session explain a thing that was said; beside a fact that stands alone they are noise.
"""

import re
from collections.abc import Collection
from typing import Final

# Who speaks says "I" and "you"; a fact names people. Pairs, since unspaced scripts are split into pairs.
_FIRST_AND_SECOND_PERSON: Final = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    ich mich mir mein meine wir uns unser du dich dir dein ihr je moi mon ma mes nous notre tu toi ton vous votre
    yo mi mis nosotros tú tus usted eu meu minha você io mio mia noi tuo я мне мой мы нас наш ты вы вас
    """.split()
)
_UNSPACED_PERSONS: Final = re.compile("[我你您咱]|私|僕|俺|あなた|나는|내가|저는|제가|당신")
_QUESTION_END: Final = re.compile(r"[?？؟]\W*$")
# A question mark followed by no more than a smile still ends it.
_END_CHARS: Final = 16
_QUESTION_MARK: Final = re.compile(r"[?？؟]")


def strip_speaker(content: str, speaker: str) -> str:
    """Return what was said, without a leading "speaker:"."""
    if speaker and content[: len(speaker)].casefold() == speaker.casefold():
        rest = content[len(speaker) :].lstrip()
        if rest[:1] in (":", "："):
            return rest[1:].lstrip()
    return content


def ends_asking(said: str) -> bool:
    """True when its last sentence is a question: it asks for what others know and holds no answer itself."""
    return _QUESTION_END.search(said[-_END_CHARS:]) is not None


def sounds_spoken(said: str, words: Collection[str]) -> bool:
    """True when it addresses somebody: first or second person, or a question. `words` are those of `said`."""
    if _QUESTION_MARK.search(said) or not _FIRST_AND_SECOND_PERSON.isdisjoint(words):
        return True
    return not said.isascii() and _UNSPACED_PERSONS.search(said) is not None


def names_speaker(words: Collection[str], speaker_words: Collection[str]) -> bool:
    """True when the speaker's own name stands in it: people don't speak of themselves so, notes about them do."""
    return not set(speaker_words).isdisjoint(words)
