"""Which addresses and host names may be dialled. Pure: nothing here asks a resolver or opens a socket.

Three kinds: forbidden (never), private (loopback and inside networks, a setting decides), public. An address that
carries another one inside (IPv4 in IPv6) is as bad as the worse of the two.
"""

import re
import socket
import unicodedata
from collections.abc import Iterable, Iterator
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address


class Reach(IntEnum):
    """How far away an address is, the worst last."""

    PUBLIC = 0
    PRIVATE = 1
    FORBIDDEN = 2


FORBIDDEN_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # "this network": 0.0.0.0 reaches the machine itself
        "100.100.100.200/32",  # metadata of Alibaba Cloud, inside the shared range
        "168.63.129.16/32",  # Azure's host channel, a public number that only the host answers
        "169.254.0.0/16",  # link-local, the metadata services of most clouds
        "192.0.0.0/24",  # protocol assignments, holds Oracle's metadata 192.0.0.192
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
PRIVATE_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, also where overlay networks such as Tailscale live
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # former 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
    )
)
FORBIDDEN_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "fd00:42::42/128",  # metadata of Scaleway
        "fd00:ec2::/32",  # services of an AWS instance, metadata among them
        "fd20:ce::254/128",  # metadata of Google Cloud
        "2001::/23",  # protocol assignments, Teredo among them, which ends wherever its sender likes
    )
)
PRIVATE_V6: Final = (IPv6Network("::1/128"), IPv6Network("fc00::/7"), IPv6Network("2001:db8::/32"))
PUBLIC_V6: Final = IPv6Network("2000::/3")

# IPv6 prefixes whose last 32 bits are an IPv4 address.
CARRIERS: Final = (
    IPv6Network("::/96"),  # IPv4-compatible
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated
    IPv6Network("64:ff9b::/96"),  # NAT64
)
SIX_TO_FOUR: Final = IPv6Network("2002::/16")
# Any prefix may be followed by an interface id that spells an IPv4 address (ISATAP).
ISATAP_MARKS: Final = (0x00005EFE, 0x02005EFE)

METADATA_HOSTS: Final = frozenset(
    {
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.azure.com",
        "metadata.azure.internal",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "metadata.tencentyun.com",
    }
)
# The forms that resolvers take for an IPv4 address: one to four numbers, each decimal, octal or hexadecimal.
NUMERIC_HOST: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*")
NUMERIC_LABEL: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")


def judge_address(address: Address) -> Reach:
    """Return how far `address` reaches, looking through every IPv4 address that it carries."""
    if isinstance(address, IPv4Address):
        return _judge_v4(address)
    if address.scope_id is not None:  # a zone is only needed where link-local addresses are
        return Reach.FORBIDDEN
    carried = list(_find_carried(address))
    if any(address in network for network in CARRIERS) and int(address) != 1:
        return max(map(_judge_v4, carried))
    return max([_judge_v6(address), *map(_judge_v4, carried)])


def judge_host(host: str) -> Reach | None:
    """Return what the text of `host` alone says, or None when only a resolver can tell."""
    name = normalise_host(host)
    if not name or name in METADATA_HOSTS or name.endswith(".metadata.google.internal"):
        return Reach.FORBIDDEN
    literal = read_literal(name)
    if literal is not None:
        return judge_address(literal)
    if name == "localhost" or name.endswith(".localhost"):
        return Reach.PRIVATE
    # Ends like a number but is no address: resolvers disagree on it, so nobody gets to ask them.
    return Reach.FORBIDDEN if NUMERIC_LABEL.fullmatch(name.rpartition(".")[2]) else None


def normalise_host(host: str) -> str:
    """Return `host` in one spelling: compatibility forms folded, lower case, without brackets and final dots."""
    return unicodedata.normalize("NFKC", host).replace("。", ".").lower().strip("[]").rstrip(".")


def read_literal(host: str) -> Address | None:
    """Return the address that a normalised `host` spells, in any of the forms that resolvers accept, else None."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    if not NUMERIC_HOST.fullmatch(host):
        return None
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def choose_permitted(addresses: Iterable[Address], limit: Reach) -> list[Address]:
    """Return the addresses that reach no farther than `limit`, in their order and without doubles."""
    return [address for address in dict.fromkeys(addresses) if judge_address(address) <= limit]


def _judge_v4(address: IPv4Address) -> Reach:
    if any(address in network for network in FORBIDDEN_V4):
        return Reach.FORBIDDEN
    return Reach.PRIVATE if any(address in network for network in PRIVATE_V4) else Reach.PUBLIC


def _judge_v6(address: IPv6Address) -> Reach:
    if any(address in network for network in FORBIDDEN_V6):
        return Reach.FORBIDDEN
    if any(address in network for network in PRIVATE_V6):
        return Reach.PRIVATE
    # What is left outside the global range is link-local, multicast, unspecified or not assigned to anybody.
    return Reach.PUBLIC if address in PUBLIC_V6 else Reach.FORBIDDEN


def _find_carried(address: IPv6Address) -> Iterator[IPv4Address]:
    number = int(address)
    if any(address in network for network in CARRIERS) and number != 1:
        yield IPv4Address(number & 0xFFFFFFFF)
    if address in SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & 0xFFFFFFFF)
    if number >> 32 & 0xFFFFFFFF in ISATAP_MARKS:
        yield IPv4Address(number & 0xFFFFFFFF)
