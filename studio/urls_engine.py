"""Addresses below the page of the tab, which is /dashboard/memory?tab=engine."""

from django.urls import URLPattern, path

from studio.views import engine, engine_forms, engine_qdrant

urlpatterns: list[URLPattern] = [
    path("status", engine.show_status, name="engine-status"),
    path("coverage", engine.show_coverage, name="engine-coverage"),
    path("reindex", engine.start_reindex, name="engine-reindex"),
    path("embedding", engine_forms.save_embedding, name="engine-embedding"),
    path("embedding/test", engine_forms.test_embedding, name="engine-embedding-test"),
    path("qdrant", engine_qdrant.save, name="engine-qdrant"),
    path("qdrant/test", engine_qdrant.test_connection, name="engine-qdrant-test"),
    path("qdrant/search", engine_qdrant.test_search, name="engine-qdrant-search"),
    path("qdrant/clean-up", engine_qdrant.clean_up, name="engine-qdrant-clean-up"),
    path("rerank", engine_forms.save_rerank, name="engine-rerank"),
    path("rerank/test", engine_forms.test_rerank, name="engine-rerank-test"),
]
