"""Settings an operator changes while the server runs."""

from django.db import models


class Setting(models.Model):
    """One value; read and written through `core.runtime_settings` only, which knows types, ranges and defaults."""

    key = models.CharField(max_length=100, primary_key=True)
    value = models.JSONField(null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "settings"

    def __str__(self) -> str:
        return self.key
