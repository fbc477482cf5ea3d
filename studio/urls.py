"""The studio's addresses, under /dashboard/. Each area keeps its own list beside its views."""

from django.urls import include, path
from django.views.generic import RedirectView

from studio.views import shell, sign_in, tabs

app_name = "studio"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="studio:memory"), name="home"),
    path("/sign-in", sign_in.show_sign_in, name="sign-in"),
    path("/sign-out", sign_in.sign_out, name="sign-out"),
    path("/theme", shell.change_theme, name="theme"),
    path("/shell", shell.show_figures, name="shell"),
    path("/work", shell.show_work, name="work"),
    path("/overview", include("studio.urls_overview")),
    path("/memory", tabs.show_tab, name="memory"),
    path("/memory/", include("studio.urls_memories")),
    path("/memory/playground/", include("studio.urls_playground")),
    path("/memory/engine/", include("studio.urls_engine")),
    path("/requests", include("studio.urls_requests")),
    path("/settings", include("studio.urls_settings")),
]
