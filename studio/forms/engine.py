"""Forms of the Engine page. What they hold is checked by the same rules as the REST API's (memory.serializers)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from embeddings.base import EmbeddingConfig
from memory.config import MemorySettings
from memory.serializers import MemorySettingsBody
from qdrant_admin.config import QUANTIZATIONS, QdrantSettings, load_qdrant_settings, read_public_settings
from qdrant_admin.serializers import QdrantSettingsBody
from studio.forms.refusals import add_refusals

SOURCES: Final = (
    ("auto", _("Auto")),
    ("remote", _("Provider")),
    ("static", _("Static model")),
    ("transformers", _("Transformers")),
    ("custom", _("Custom endpoint")),
)
MAX_TEXT_CHARS: Final = 2000
# Name of a setting -> the field that shows it.
EMBEDDING_FIELDS: Final = {
    "embeddingSource": "source",
    "embeddingProviderModel": "provider_model",
    "customBaseUrl": "base_url",
    "customModelId": "model_id",
    "staticEnabled": "static_enabled",
    "transformersEnabled": "transformers_enabled",
}
QDRANT_FIELDS: Final = {
    "enabled": "enabled",
    "host": "host",
    "port": "port",
    "collection": "collection",
    "embeddingModel": "embedding_model",
    "quantization": "quantization",
    "apiKey": "api_key",
}
RERANK_FIELDS: Final = {"rerankEnabled": "enabled", "rerankProviderModel": "model"}


class EmbeddingForm(forms.Form):
    """Where vectors come from. A custom endpoint is the setting "remote" with an address of one's own."""

    source = forms.ChoiceField(choices=SOURCES)
    provider_model = forms.CharField(required=False, max_length=MAX_TEXT_CHARS)
    base_url = forms.CharField(required=False, max_length=MAX_TEXT_CHARS)
    model_id = forms.CharField(required=False, max_length=MAX_TEXT_CHARS)
    static_enabled = forms.BooleanField(required=False)
    transformers_enabled = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        source = values.get("source")
        if source == "custom":
            for name in ("base_url", "model_id"):
                if not values.get(name) and name not in self.errors:
                    self.add_error(name, _("A custom endpoint needs both: an address and the name of a model."))
        if source == "remote" and not values.get("provider_model"):
            self.add_error("provider_model", _("Name a model as provider/model, or choose Auto."))
        if not self.errors:
            add_refusals(self, MemorySettingsBody(data=self.list_changes()), EMBEDDING_FIELDS)
        return values

    def list_changes(self) -> dict[str, Any]:
        """Return the settings that the form stands for, by wire name.

        Choosing a provider lets go of the custom endpoint, which would go before it; choosing a local model allows it.
        """
        values = self.cleaned_data
        source = values["source"]
        keeps_endpoint = source != "remote"
        return {
            "embeddingSource": "remote" if source == "custom" else source,
            "embeddingProviderModel": values["provider_model"] or None,
            "customBaseUrl": (values["base_url"].rstrip("/") or None) if keeps_endpoint else None,
            "customModelId": (values["model_id"] or None) if keeps_endpoint else None,
            "staticEnabled": values["static_enabled"] or source == "static",
            "transformersEnabled": values["transformers_enabled"] or source == "transformers",
        }

    def build_config(self) -> EmbeddingConfig:
        """Return what is on the screen as a configuration, saved or not."""
        return build_config(self.list_changes())


class RerankForm(forms.Form):
    enabled = forms.BooleanField(required=False)
    model = forms.CharField(required=False, max_length=MAX_TEXT_CHARS)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("enabled") and not values.get("model"):
            self.add_error("model", _("Name a rerank model, or leave reranking off."))
        if not self.errors:
            add_refusals(self, MemorySettingsBody(data=self.list_changes()), RERANK_FIELDS)
        return values

    def list_changes(self) -> dict[str, Any]:
        values = self.cleaned_data
        return {"rerankEnabled": values["enabled"], "rerankProviderModel": values["model"] or None}


def fill_embedding_form(settings: MemorySettings) -> EmbeddingForm:
    """Return the form with what is saved."""
    config = settings.embedding
    is_custom = config.source == "remote" and bool(config.custom_base_url and config.custom_model_id)
    initial = {
        "source": "custom" if is_custom else config.source,
        "provider_model": config.provider_model or "",
        "base_url": config.custom_base_url or "",
        "model_id": config.custom_model_id or "",
        "static_enabled": config.static_enabled,
        "transformers_enabled": config.transformers_enabled,
    }
    return EmbeddingForm(initial=initial)


def fill_rerank_form(settings: MemorySettings) -> RerankForm:
    """Return the form with what is saved."""
    initial = {"enabled": settings.rerank_enabled, "model": settings.rerank_provider_model or ""}
    return RerankForm(initial=initial)


def build_config(values: Mapping[str, Any]) -> EmbeddingConfig:
    """Return settings by wire name as a configuration."""
    return EmbeddingConfig(
        source=values["embeddingSource"],
        provider_model=values["embeddingProviderModel"],
        custom_base_url=values["customBaseUrl"],
        custom_model_id=values["customModelId"],
        transformers_enabled=values["transformersEnabled"],
        static_enabled=values["staticEnabled"],
    )


class QdrantForm(forms.Form):
    """`api_key` empty keeps the stored key; `remove_key` takes it away."""

    enabled = forms.BooleanField(required=False)
    host = forms.CharField(label=_("Host"), required=False, max_length=MAX_TEXT_CHARS)
    port = forms.IntegerField(label=_("Port"), min_value=1, max_value=65_535)
    collection = forms.CharField(label=_("Collection"), max_length=MAX_TEXT_CHARS)
    embedding_model = forms.CharField(label=_("Embedding model"), max_length=MAX_TEXT_CHARS)
    quantization = forms.ChoiceField(label=_("Quantisation"), choices=[(name, name) for name in QUANTIZATIONS])
    api_key = forms.CharField(label=_("API key"), required=False, max_length=MAX_TEXT_CHARS)
    remove_key = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("enabled") and not values.get("host"):
            self.add_error("host", _("Qdrant needs a host before it can be turned on."))
        if values.get("api_key") and values.get("remove_key"):
            self.add_error("remove_key", _("Either give a new key or remove the stored one."))
        if not self.errors:
            add_refusals(self, QdrantSettingsBody(data=self.list_changes()), QDRANT_FIELDS)
        return values

    def list_changes(self) -> dict[str, Any]:
        """Return the settings that the form stands for, by wire name; the key only where it is to change."""
        values = self.cleaned_data
        changes = {
            "enabled": values["enabled"],
            "host": values["host"],
            "port": values["port"],
            "collection": values["collection"],
            "embeddingModel": values["embedding_model"],
            "quantization": values["quantization"],
        }
        if values["api_key"] or values["remove_key"]:
            changes["apiKey"] = values["api_key"]
        return changes

    def build_settings(self) -> QdrantSettings:
        """Return what is on the screen, saved or not. The stored key goes to the address it was stored for and to no
        other, or whoever may test an address could have it sent to theirs."""
        values, stored = self.cleaned_data, load_qdrant_settings()
        shown = replace(stored, host=values["host"], port=values["port"], collection=values["collection"])
        changes = self.list_changes()
        if "apiKey" in changes or shown.base_url != stored.base_url:
            return replace(shown, api_key=changes.get("apiKey", ""), api_key_fault="")
        return shown


def fill_qdrant_form() -> QdrantForm:
    """Return the form with what is saved; the key is never among it."""
    saved = read_public_settings()
    return QdrantForm(
        initial={
            "enabled": saved.enabled,
            "host": saved.host,
            "port": saved.port,
            "collection": saved.collection,
            "embedding_model": saved.embedding_model,
            "quantization": saved.quantization,
        }
    )
