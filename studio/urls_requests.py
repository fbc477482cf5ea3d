"""Addresses of the request log."""

from django.urls import URLPattern, path

from studio.views import requests

urlpatterns: list[URLPattern] = [
    path("", requests.show_page, name="requests"),
    path("/<str:request_id>", requests.show_request, name="request"),
]
