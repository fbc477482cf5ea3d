"""Make, recognise and revoke API keys. A bare key exists once, in the answer of the call that made it."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from structlog import get_logger

from core.accounts.last_use import RECORDER
from core.accounts.models import ApiKey
from core.bearer import read_bearer
from core.errors import FieldError, ForbiddenError, InvalidFieldsError, NotFoundError, UnauthenticatedError
from core.words import gettext as _

KEY_START: Final = "omr_"
KEY_RANDOM_BYTES: Final = 32
PREFIX_CHARACTERS: Final = 12
NAME_MAX_CHARACTERS: Final = 100
SCOPES: Final = ("chat", "read:memory", "write:memory", "manage", "admin")
MANAGING_SCOPES: Final = frozenset({"manage", "admin"})
# What lets a key do something -> the scopes that do. A chat reads and writes memories anyway.
GRANTING_SCOPES: Final = {
    "chat": MANAGING_SCOPES | {"chat"},
    "read:memory": MANAGING_SCOPES | {"chat", "read:memory"},
    "write:memory": MANAGING_SCOPES | {"chat", "write:memory"},
}
# The key in the environment has no row; this stands in its place.
ENV_KEY_ID: Final = "env"
ENV_KEY_NAME: Final = "OMNIROUTE_API_KEY"

FIND_KEY: Final = "SELECT id, name, scopes FROM api_keys WHERE key_hash = %s AND revoked_at IS NULL"

log = get_logger(__name__)


@dataclass(frozen=True)
class Caller:
    """Who sent a request. `key_id` owns the memories of its chats."""

    key_id: str
    name: str
    scopes: frozenset[str]

    @property
    def manages(self) -> bool:
        return not self.scopes.isdisjoint(MANAGING_SCOPES)

    def may(self, scope: str) -> bool:
        """Tell whether the key may do what `scope` (one of GRANTING_SCOPES) is for, on memories of its own."""
        return not self.scopes.isdisjoint(GRANTING_SCOPES[scope])


def create_api_key(name: str, scopes: Sequence[str] = ("chat",)) -> tuple[ApiKey, str]:
    """Store a new key and return its row and the bare key, which can't be had again.

    Raises InvalidFieldsError when the name is empty, too long or unprintable, or a scope is unknown.
    """
    row = ApiKey(name=name, scopes=list(scopes))
    return row, issue_key(row)


def issue_key(row: ApiKey) -> str:
    """Give a row that is not stored yet its key, store it, and return the bare key; raises as `create_api_key`."""
    row.name = row.name.strip()
    _check_fields(row)
    row.scopes = [scope for scope in SCOPES if scope in row.scopes]
    bare_key = KEY_START + secrets.token_urlsafe(KEY_RANDOM_BYTES)
    row.key_hash = hash_key(bare_key)
    row.prefix = bare_key[:PREFIX_CHARACTERS]
    row.save(force_insert=True)
    # Told once it holds: the first start makes its key in the transaction that also shows it.
    transaction.on_commit(
        partial(log.info, "accounts.key.created", key_id=row.id, prefix=row.prefix, scopes=row.scopes)
    )
    return bare_key


def find_caller(bare_key: str) -> Caller | None:
    """Return who the key belongs to; None when it is unknown or revoked. One indexed query at most."""
    configured = settings.OMNIROUTE_API_KEY
    if configured and hmac.compare_digest(_encode(bare_key), _encode(configured)):
        return Caller(ENV_KEY_ID, ENV_KEY_NAME, frozenset({"admin"}))
    # By hand: it stands before every request, and building it with the ORM takes several times as long as running it.
    with connection.cursor() as cursor:
        cursor.execute(FIND_KEY, [hash_key(bare_key)])
        found = cursor.fetchone()
    if found is None:
        return None
    key_id, name, scopes = found
    RECORDER.note(key_id)
    return Caller(key_id, name, frozenset(json.loads(scopes) if isinstance(scopes, str) else scopes))


def find_caller_by_id(key_id: str) -> Caller | None:
    """Return the caller of a key's id, for whoever has it from the operator; None when it is unknown or revoked."""
    row = ApiKey.objects.filter(id=key_id, revoked_at=None).first()
    return None if row is None else Caller(row.id, row.name, frozenset(row.scopes))


def identify_caller(authorization: str | None) -> Caller | None:
    """Return the caller that an Authorization header names, or None when it names none.

    For every door: HTTP, MCP, studio. Raises UnauthenticatedError when the key is wrong or revoked.
    """
    bare_key = read_bearer(authorization)
    if bare_key is None:
        return None
    caller = find_caller(bare_key)
    if caller is None:
        raise UnauthenticatedError(_("Invalid API key"), code="invalid_api_key")
    return caller


def require_manager(caller: Caller | None) -> Caller:
    """Return the caller if it may manage; raises UnauthenticatedError or, without the scope, ForbiddenError."""
    if caller is None:
        raise UnauthenticatedError(_("Authentication required"))
    if not caller.manages:
        raise ForbiddenError(
            _("API key lacks 'manage' scope. Enable it in the admin under API keys."), code="missing_scope"
        )
    return caller


def require_scope(caller: Caller, scope: str) -> Caller:
    """Return the caller if it may do what `scope` is for; raises ForbiddenError."""
    if not caller.may(scope):
        raise ForbiddenError(_("API key lacks the scope '%(scope)s'.") % {"scope": scope}, code="missing_scope")
    return caller


def find_keys(reference: str) -> list[ApiKey]:
    """Return the keys that are called so: by id, by shown prefix, by name, or by the bare key itself."""
    matches = Q(id=reference) | Q(prefix=reference) | Q(name=reference) | Q(key_hash=hash_key(reference))
    return list(ApiKey.objects.filter(matches))


def list_keys(*, ids: Collection[str] | None = None, limit: int | None = None, offset: int = 0) -> list[ApiKey]:
    """Return keys, the newest first; only those of `ids` when given, which may hold ids that no key has."""
    rows = ApiKey.objects.all() if ids is None else ApiKey.objects.filter(id__in=ids)
    return list(rows[offset : None if limit is None else offset + limit])


def count_keys() -> int:
    return ApiKey.objects.count()


def rename_key(key_id: str, name: str) -> None:
    """Give a key another name; raises NotFoundError, or InvalidFieldsError as `create_api_key` does."""
    row = ApiKey.objects.filter(id=key_id).first()
    if row is None:
        raise NotFoundError(_("There is no such API key"))
    row.name = name.strip()
    _check_fields(row)
    row.save(update_fields=["name"])
    log.info("accounts.key.renamed", key_id=key_id)


def revoke_keys(key_ids: Collection[str]) -> int:
    """Revoke those of the keys that are not revoked yet, at once and for good; return how many those were."""
    count = ApiKey.objects.filter(id__in=key_ids, revoked_at=None).update(revoked_at=timezone.now())
    log.info("accounts.key.revoked", key_ids=sorted(key_ids), count=count)
    return count


def hash_key(bare_key: str) -> str:
    return hashlib.sha256(_encode(bare_key)).hexdigest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _check_fields(row: ApiKey) -> None:
    details = []
    if not row.name or len(row.name) > NAME_MAX_CHARACTERS or not row.name.isprintable():
        told = _("must be 1 to %(count)d printable characters") % {"count": NAME_MAX_CHARACTERS}
        details.append(FieldError("name", told))
    unknown = [scope for scope in row.scopes if scope not in SCOPES]
    if unknown or not row.scopes:
        details.append(FieldError("scopes", _("must be one or more of %(scopes)s") % {"scopes": ", ".join(SCOPES)}))
    if details:
        raise InvalidFieldsError(details)
