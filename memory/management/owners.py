"""Whom an operator means by what they write on the command line."""

from django.core.management.base import CommandError

from core.accounts.keys import find_keys
from memory.backends.manager import get_primary
from memory.records import MemoryFilter


def find_owner(reference: str) -> str:
    """Return the id of the API key that is called so (id, prefix, name or the key itself); "" is memories of no key.

    An id that no key has any more is taken if there are memories of it. CommandError when it is not clear.
    """
    if not reference:
        return ""
    keys = find_keys(reference)
    if len(keys) > 1:
        raise CommandError(f"{len(keys)} API keys are called {reference}; say the id, see list_api_keys")
    if keys:
        return keys[0].id
    if get_primary().count(MemoryFilter(reference)):
        return reference
    raise CommandError(f"no API key is called {reference}, and there are no memories of it; see list_api_keys")
