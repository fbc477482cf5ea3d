"""Providers that an operator added, or changed from what the registry says."""

from django.db import models
from django.utils.translation import gettext_lazy as _

SYSTEM_ROLES = [
    ("", _("as the model wants it")),
    ("any", _("anywhere")),
    ("first", _("only as the first message")),
    ("none", _("not at all")),
]


class Provider(models.Model):
    """One provider. Written through `core.providers.configuration` only, which knows the rules."""

    name = models.CharField(max_length=64, unique=True, help_text=_("What stands before the first slash of a model."))
    base_url = models.CharField(
        max_length=2000, blank=True, help_text=_("Up to and including /v1; empty is the registry's own.")
    )
    api_key_encrypted = models.TextField(blank=True, editable=False)
    api_key_hint = models.CharField(max_length=8, blank=True, editable=False)
    is_default = models.BooleanField(default=False, help_text=_("Takes the models that name no provider."))
    system_role = models.CharField(
        max_length=5, blank=True, choices=SYSTEM_ROLES, help_text=_("Where a system message may stand.")
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "providers"
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"], condition=models.Q(is_default=True), name="providers_one_default"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def has_key(self) -> bool:
        return bool(self.api_key_encrypted)
