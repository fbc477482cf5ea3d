from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "core.accounts"
    label = "accounts"
    verbose_name = _("API keys")
