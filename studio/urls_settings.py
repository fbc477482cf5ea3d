"""Addresses of the settings: the three tabs, and what is done on them."""

from django.urls import URLPattern, path

from studio.views import api_keys, api_keys_actions, api_keys_erase, providers, providers_actions, settings

urlpatterns: list[URLPattern] = [
    path("", settings.show_page, name="settings"),
    path("/providers", providers.show_page, name="settings-providers"),
    path("/providers/add", providers.add_provider, name="settings-provider-add"),
    path("/providers/test", providers_actions.test_provider, name="settings-provider-test"),
    path("/providers/<str:name>", providers.edit_provider, name="settings-provider"),
    path("/providers/<str:name>/remove", providers_actions.remove, name="settings-provider-remove"),
    path("/keys", api_keys.show_page, name="settings-keys"),
    path("/keys/new", api_keys.make_key, name="settings-key-new"),
    path("/keys/<str:key_id>", api_keys_actions.rename, name="settings-key"),
    path("/keys/<str:key_id>/revoke", api_keys_actions.revoke, name="settings-key-revoke"),
    path("/keys/<str:key_id>/erase", api_keys_erase.erase, name="settings-key-erase"),
    path("/keys/<str:key_id>/erase/<str:work_id>", api_keys_erase.show_erasure, name="settings-key-erasure"),
]
