from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProvidersConfig(AppConfig):
    name = "core.providers"
    label = "providers"
    verbose_name = _("Providers")
