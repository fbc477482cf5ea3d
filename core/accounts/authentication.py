"""Management auth of the REST doors (contract B13): a managing key, the environment's key, or a staff session."""

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core.accounts.keys import Caller, identify_caller, require_manager
from core.errors import ForbiddenError, UnauthenticatedError
from core.words import gettext as _


class BearerKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`; `request.user` becomes the Caller."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        caller = identify_caller(request.headers.get("authorization"))
        return None if caller is None else (caller, None)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class StaffSessionAuthentication(SessionAuthentication):
    """A logged-in, active member of staff, with CSRF enforced; `request.user` becomes that user."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        user: User | AnonymousUser | None = getattr(request._request, "user", None)
        if user is None or not user.is_active or not user.is_staff:
            return None
        self.enforce_csrf(request)
        return user, None

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            raise ForbiddenError(_("The form token is missing or wrong"), code="csrf_failed") from None


class IsManager(BasePermission):
    """Let staff and managing keys through; raises the errors of `require_manager` for everybody else."""

    def has_permission(self, request: Request, view: object) -> bool:
        user = request.user
        if isinstance(user, Caller):
            require_manager(user)
        elif not (isinstance(user, AbstractBaseUser) and user.is_active and getattr(user, "is_staff", False)):
            raise UnauthenticatedError(_("Authentication required"))
        return True
