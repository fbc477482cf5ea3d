from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class MemoryConfig(AppConfig):
    name = "memory"
    label = "memory"
    verbose_name = _("Memory")

    def ready(self) -> None:
        from memory.triggers import check_triggers, restore_triggers  # models load before ready(), not before import

        post_migrate.connect(restore_triggers, sender=self)
        register(check_triggers, Tags.database)
