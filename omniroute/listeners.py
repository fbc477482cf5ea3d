"""The sockets the server listens on, taken before anything else is done."""

import errno
import socket
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

# What the system's resolver gives for an address family, and `bind` takes back as it is.
Address = tuple[Any, ...]

BACKLOG: Final = 2048
WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # names are compared, nothing is bound
NOT_OF_THIS_MACHINE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def open_listeners(host: str, port: int) -> list[socket.socket]:
    """Listen on every address that `host` names. Raises ImproperlyConfigured with one line when that can't be.

    Listening begins here and not in the server, so that a second start on the same port fails before it touches
    the database, and the address works from the moment it is printed.
    """
    sockets: list[socket.socket] = []
    try:
        for family, address in _resolve(host, port):
            listener = _listen(family, address, host, port)
            if listener is not None:
                sockets.append(listener)
    except ImproperlyConfigured:
        close_listeners(sockets)
        raise
    if not sockets:
        raise ImproperlyConfigured(f"HOST {host} is no address of this machine")
    return sockets


def close_listeners(sockets: list[socket.socket]) -> None:
    for listener in sockets:
        listener.close()


def write_url(host: str, port: int) -> str:
    """Return the address to open in a browser on this machine."""
    name = WILDCARDS.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def _resolve(host: str, port: int) -> list[tuple[socket.AddressFamily, Address]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ImproperlyConfigured(f"HOST {host!r} is no address or name that can be resolved") from None
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _listen(family: socket.AddressFamily, address: Address, host: str, port: int) -> socket.socket | None:
    """Return a listening socket, or None when the address is not this machine's."""
    listener: socket.socket | None = None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        if error.errno in NOT_OF_THIS_MACHINE:
            return None
        raise ImproperlyConfigured(_describe(error, host, port)) from None
    return listener


def _describe(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is in use already; end the program that has it, or set PORT to another"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} on {host} may not be opened by this user; set PORT to one above 1023"
    return f"port {port} on {host} can't be opened: {error.strerror}"
