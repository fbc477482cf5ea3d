from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "core.providers"
    label = "providers"
    verbose_name = "Providers"
