"""The operator's way in and out."""

from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from studio.access import open_page
from studio.addresses import read_next
from studio.context import read_theme
from studio.sign_in_tries import PAUSE_MINUTES, SignInTries


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@open_page
def show_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Ask for name and password; afterwards go where the visitor was going, if that is on this server."""
    if request.user.is_authenticated and request.user.is_staff:
        return HttpResponseRedirect(read_next(request))
    return _try_sign_in(request) if request.method == "POST" else _render(request)


@require_POST
@open_page
def sign_out(request: HttpRequest) -> HttpResponseBase:
    """End the session."""
    logout(request)
    return HttpResponseRedirect(reverse("studio:sign-in"))


def _try_sign_in(request: HttpRequest) -> HttpResponseBase:
    tries = SignInTries(request.POST.get("username", ""), request.META.get("REMOTE_ADDR", ""))
    left = tries.take()
    if left < 0:
        return _render(request, "paused", status=429)
    form = AuthenticationForm(request, data=request.POST)
    if not form.is_valid():
        return _render(request, "wrong" if left else "paused", tries_left=left, status=422)
    user = form.get_user()
    if not user.is_staff:
        return _render(request, "no_staff", status=403)
    tries.forget()
    login(request, user)
    return HttpResponseRedirect(read_next(request))


def _render(request: HttpRequest, problem: str = "", *, tries_left: int = 0, status: int = 200) -> HttpResponseBase:
    context = {
        "problem": problem,
        "tries_left": tries_left,
        "pause_minutes": PAUSE_MINUTES,
        "user_name": request.POST.get("username", ""),
        "next": read_next(request),
        "theme": read_theme(request),
    }
    return render(request, "studio/sign_in.html", context, status=status)
