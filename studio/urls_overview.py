"""Addresses of the overview."""

from django.urls import URLPattern, path

from studio.views import overview

urlpatterns: list[URLPattern] = [path("", overview.show_page, name="overview")]
