from django.apps import AppConfig


class OmniRouteConfig(AppConfig):
    name = "omniroute"
    label = "omniroute"
