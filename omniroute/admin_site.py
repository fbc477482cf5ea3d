"""Django's admin, in the time zone of the operator's browser, as the studio's pages are."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.utils import timezone

from studio.access import read_zone

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
SITE_NAME: Final = "OmniRoute Memory"


class OperatorAdminSite(AdminSite):
    site_header = site_title = SITE_NAME

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Dates that are shown, and dates that a form brings back, are those of the operator's zone."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            with timezone.override(read_zone(request)):
                response = inner(request, *args, **kwargs)
                # Django renders when the view has returned, which would be outside.
                return response.render() if isinstance(response, SimpleTemplateResponse) else response

        return cast(View, answer)
