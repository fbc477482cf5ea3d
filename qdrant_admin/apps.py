from django.apps import AppConfig


class QdrantAdminConfig(AppConfig):
    name = "qdrant_admin"
    verbose_name = "Qdrant"
    default_auto_field = "django.db.models.BigAutoField"
