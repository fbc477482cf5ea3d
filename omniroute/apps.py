from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class OmniRouteConfig(AppConfig):
    name = "omniroute"
    label = "omniroute"

    def ready(self) -> None:
        # Makes ours the Celery application of the process, for the admin of periodic tasks and for sending.
        import_module("omniroute.celery")


class OperatorAdminConfig(admin_apps.AdminConfig):
    """Django's admin with a site of ours, which is loaded once the models are."""

    default = False
    default_site = "omniroute.admin_site.OperatorAdminSite"
