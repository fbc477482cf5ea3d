"""The form of Django admin's own sign-in, under the same limit on tries as the studio's."""

from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.forms import ValidationError
from django.utils.translation import ngettext

from studio.sign_in_tries import PAUSE_MINUTES, SignInTries


class AdminSignInForm(AdminAuthenticationForm):
    def clean(self) -> dict[str, Any]:
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        tries = SignInTries(self.data.get("username", ""), address)
        if tries.take() < 0:
            told = ngettext(
                "Too many tries. Wait %(minutes)d minute.", "Too many tries. Wait %(minutes)d minutes.", PAUSE_MINUTES
            )
            raise ValidationError(told % {"minutes": PAUSE_MINUTES})
        values = super().clean()
        tries.forget()
        return values
