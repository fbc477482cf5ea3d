"""Provider keys at rest: encrypted with a key that is derived from the process's secret key."""

import base64
from functools import lru_cache
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from core.errors import InvalidRequestError
from core.words import gettext as _

PURPOSE: Final = b"omniroute provider key v1"
HINT_LENGTH: Final = 4
# A shorter key would be half told by its last characters.
MIN_LENGTH_FOR_HINT: Final = 12


def encrypt_key(api_key: str) -> str:
    return _build_cipher(settings.SECRET_KEY).encrypt(api_key.encode()).decode("ascii")


def decrypt_key(token: str, provider: str) -> str:
    """Return the key behind `token`; raises `InvalidRequestError` when it was stored under another SECRET_KEY."""
    try:
        return _build_cipher(settings.SECRET_KEY).decrypt(token.encode()).decode()
    except (InvalidToken, UnicodeError):
        raise InvalidRequestError(
            _(
                "The stored key of provider %(provider)s can't be read, because SECRET_KEY has "
                "changed since. Store it again: manage.py add_provider %(provider)s --api-key KEY"
            )
            % {"provider": provider},
            code="provider_not_configured",
            param="model",
        ) from None


def hint_key(api_key: str) -> str:
    """Return the end of a key, by which its owner knows it again; "" when even that would tell too much of it."""
    return api_key[-HINT_LENGTH:] if len(api_key) >= MIN_LENGTH_FOR_HINT else ""


def is_sendable(api_key: str) -> bool:
    """A key travels in a header: visible ASCII only."""
    return all("!" <= character <= "~" for character in api_key)


@lru_cache(maxsize=4)
def _build_cipher(secret_key: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
