"""The whole URL map."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from gateway.views import chat_completions, models
from memory import summarize_views
from memory import views as memory_views
from omniroute.health import healthz, readyz
from omniroute.metrics_page import metrics

admin.site.site_header = admin.site.site_title = "OmniRoute Memory"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(url="/admin/"), name="home"),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("v1/chat/completions", chat_completions, name="chat-completions"),
    path("v1/models", models, name="models"),
    path("api/memory", memory_views.MemoriesView.as_view(), name="memories"),
    path("api/memory/health", memory_views.MemoryHealthView.as_view(), name="memory-health"),
    path("api/memory/retrieve-preview", memory_views.RetrievePreviewView.as_view(), name="memory-preview"),
    path("api/memory/engine-status", memory_views.EngineStatusView.as_view(), name="memory-engine-status"),
    path("api/memory/embedding-providers", memory_views.EmbeddingProvidersView.as_view(), name="memory-providers"),
    path("api/memory/reindex", memory_views.ReindexView.as_view(), name="memory-reindex"),
    path("api/memory/summarize", summarize_views.SummarizeView.as_view(), name="memory-summarize"),
    path("api/memory/summarize/undo", summarize_views.SummarizeUndoView.as_view(), name="memory-summarize-undo"),
    path("api/memory/<str:memory_id>", memory_views.MemoryView.as_view(), name="memory"),
    path("api/settings/memory", memory_views.MemorySettingsView.as_view(), name="memory-settings"),
]

handler400 = "core.error_handler.show_bad_request"
handler403 = "core.error_handler.show_forbidden"
handler404 = "core.error_handler.show_not_found"
handler500 = "core.error_handler.show_server_failure"
