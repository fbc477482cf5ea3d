"""API keys: who may call, and the owner of every memory."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _


def make_key_id() -> str:
    return str(uuid.uuid4())


class ApiKey(models.Model):
    """One key. The row never holds the key itself, only what recognises it; see `core.accounts.keys`."""

    id = models.CharField(max_length=36, primary_key=True, default=make_key_id, editable=False)
    name = models.CharField(max_length=100, help_text=_("What the key is for, so that you know it again."))
    # A plain SHA-256 and no slow password hash: a key is 256 random bits, so there is nothing to guess, and a chat
    # request must find its key by one look-up in an index.
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=12, editable=False, help_text=_("The first characters, to tell keys apart."))
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        db_table = "api_keys"
        ordering = ["-created_at", "id"]
        verbose_name = _("API key")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None
