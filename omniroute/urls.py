"""The whole URL map."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from gateway.settings_views import RequestSettingsView
from gateway.views import chat_completions, models
from memory import qdrant_views, summarize_views, transfer_views, undo_views
from memory import views as memory_views
from omniroute.health import healthz, readyz
from omniroute.metrics_page import metrics
from omniroute.openapi.views import SchemaView, show_docs
from studio.forms.sign_in import AdminSignInForm
from studio.views.shell import show_icon

admin.site.login_form = AdminSignInForm

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(url="/dashboard/memory"), name="home"),
    path("admin/", admin.site.urls),
    path("dashboard", include("studio.urls")),
    path("favicon.ico", show_icon, name="favicon"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("v1/chat/completions", chat_completions, name="chat-completions"),
    path("v1/models", models, name="models"),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", show_docs, name="api-docs"),
    path("api/memory", memory_views.MemoriesView.as_view(), name="memories"),
    path("api/memory/health", memory_views.MemoryHealthView.as_view(), name="memory-health"),
    path("api/memory/retrieve-preview", memory_views.RetrievePreviewView.as_view(), name="memory-preview"),
    path("api/memory/engine-status", memory_views.EngineStatusView.as_view(), name="memory-engine-status"),
    path("api/memory/embedding-providers", memory_views.EmbeddingProvidersView.as_view(), name="memory-providers"),
    path("api/memory/reindex", memory_views.ReindexView.as_view(), name="memory-reindex"),
    path("api/memory/summarize", summarize_views.SummarizeView.as_view(), name="memory-summarize"),
    path("api/memory/summarize/undo", summarize_views.SummarizeUndoView.as_view(), name="memory-summarize-undo"),
    path("api/memory/undo", undo_views.UndoView.as_view(), name="memory-undo"),
    path("api/memory/jobs/<str:job_id>", undo_views.JobView.as_view(), name="memory-job"),
    path("api/memory/export", transfer_views.ExportView.as_view(), name="memory-export"),
    path("api/memory/import", transfer_views.ImportView.as_view(), name="memory-import"),
    path("api/memory/erase", transfer_views.EraseView.as_view(), name="memory-erase"),
    path("api/memory/<str:memory_id>", memory_views.MemoryView.as_view(), name="memory"),
    path("api/settings/memory", memory_views.MemorySettingsView.as_view(), name="memory-settings"),
    path("api/settings/qdrant", qdrant_views.QdrantSettingsView.as_view(), name="qdrant-settings"),
    path("api/settings/qdrant/health", qdrant_views.QdrantHealthView.as_view(), name="qdrant-health"),
    path("api/settings/qdrant/search", qdrant_views.QdrantSearchView.as_view(), name="qdrant-search"),
    path("api/settings/qdrant/cleanup", qdrant_views.QdrantCleanupView.as_view(), name="qdrant-cleanup"),
    path("api/settings/qdrant/embedding-models", qdrant_views.QdrantModelsView.as_view(), name="qdrant-models"),
    path("api/settings/requests", RequestSettingsView.as_view(), name="request-settings"),
]

handler400 = "studio.errors.show_bad_request"
handler403 = "studio.errors.show_forbidden"
handler404 = "studio.errors.show_not_found"
handler500 = "studio.errors.show_server_failure"
