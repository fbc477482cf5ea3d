from importlib import import_module

from django.apps import AppConfig


class OmniRouteConfig(AppConfig):
    name = "omniroute"
    label = "omniroute"

    def ready(self) -> None:
        # Makes ours the Celery application of the process, for the admin of periodic tasks and for sending.
        import_module("omniroute.celery")
