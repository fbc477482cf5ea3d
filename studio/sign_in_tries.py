"""How often a name may be tried from one address before there is a pause.

Counted in this process's cache: a guesser gets at most so many tries a process, and a restart forgives.
"""

import hashlib
import unicodedata
from typing import Final

from django.core.cache import cache

MAX_TRIES: Final = 5
PAUSE_MINUTES: Final = 10


class SignInTries:
    """The tries at one user name from one address. Spellings that the sign-in takes for one name are one name."""

    def __init__(self, user_name: str, address: str) -> None:
        name = unicodedata.normalize("NFKC", user_name.strip()).casefold()
        digest = hashlib.sha256(f"{address}\n{name}".encode("utf-8", "surrogatepass")).hexdigest()
        self._key = f"studio.sign_in.{digest}"

    def take(self) -> int:
        """Count a try before it is made, so that many at once are no more than as many in turn.

        Return how many are left after it; below 0 there is a pause, and it must not be made.
        """
        cache.add(self._key, 0, PAUSE_MINUTES * 60)
        try:
            taken = cache.incr(self._key)
        except ValueError:  # Its time ran out between the two.
            taken = 1
        if taken <= MAX_TRIES:
            cache.touch(self._key, PAUSE_MINUTES * 60)
        return MAX_TRIES - taken

    def forget(self) -> None:
        cache.delete(self._key)
