"""Which Host and Origin headers are answered: the rules of Django's ALLOWED_HOSTS and CSRF_TRUSTED_ORIGINS.

A web page that rebinds its own name to our address sends its name as the host; one that calls us across sites sends
its own origin. Programs send no origin.
"""

from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain


def is_our_host(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def is_trusted_origin(origin: str, host: str) -> bool:
    """Tell whether a request from `origin` to `host` may be answered; "" is no web page."""
    if not origin:
        return True
    try:
        given = urlsplit(origin)
    except ValueError:
        return False
    if given.scheme in ("http", "https") and given.netloc.lower() == host.lower():
        return True
    return any(_matches(given, urlsplit(trusted)) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches(given: SplitResult, trusted: SplitResult) -> bool:
    """`https://*.example.com` stands for every name below example.com."""
    return given.scheme == trusted.scheme and is_same_domain(given.netloc.lower(), trusted.netloc.lstrip("*").lower())
