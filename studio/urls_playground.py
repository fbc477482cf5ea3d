"""Addresses below the page of the tab, which is /dashboard/memory?tab=playground."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
