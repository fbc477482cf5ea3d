"""What surrounds every page: its theme, and the figures that come after the page."""

from typing import Final

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_GET, require_POST, require_safe

from studio.access import StudioRequest, open_page, staff_page
from studio.addresses import read_next
from studio.answers import CHANGED
from studio.assets import address_asset
from studio.context import THEME_COOKIE, THEMES
from studio.figures import read_health, read_shell_figures
from studio.finished_work import tell_finished
from studio.pages import render_fragment

YEAR_SECONDS: Final = 365 * 24 * 3600
# Where it leads changes with the icon.
ICON_CACHING: Final = "public, max-age=300"


@require_POST
@open_page
def change_theme(request: HttpRequest) -> HttpResponseBase:
    """Keep the theme in a cookie, for browsers whose script does not do it."""
    response = HttpResponseRedirect(read_next(request))
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie(THEME_COOKIE, theme, max_age=YEAR_SECONDS, samesite="Lax", secure=request.is_secure())
    return response


@require_safe
@open_page
def show_icon(request: HttpRequest) -> HttpResponseBase:
    """Where the icon is: browsers ask for it by a name of their own on pages that name none."""
    response = HttpResponseRedirect(address_asset("studio/icon.svg"))
    response.headers["Cache-Control"] = ICON_CACHING
    return response


@require_GET
@staff_page
def show_work(request: StudioRequest) -> HttpResponseBase:
    """What has ended of what this operator left to jobs; asked for while something goes on, on whatever page."""
    telling = tell_finished(request)
    response = render_fragment(request, "studio/_oob_toasts.html", {"has_open_work": telling.goes_on})
    if telling.has_told:
        response.headers["HX-Trigger-After-Settle"] = CHANGED
    return response


@require_GET
@staff_page
def show_figures(request: StudioRequest) -> HttpResponseBase:
    """Counts of the saved views and the state of recall, swapped into the navigation."""
    context = {"figures": read_shell_figures(), "health": read_health()}
    return render_fragment(request, "studio/_shell_figures.html", context)
