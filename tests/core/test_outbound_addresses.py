"""Which addresses may be dialled, whatever they are disguised as."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.outbound.addresses import Reach, choose_permitted, judge_address, judge_host, read_literal

FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９。")
CIRCLED = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")

forbidden_v4 = st.one_of(
    st.ip_addresses(v=4, network="169.254.0.0/16"),
    st.ip_addresses(v=4, network="224.0.0.0/4"),
    st.ip_addresses(v=4, network="240.0.0.0/4"),
    st.ip_addresses(v=4, network="0.0.0.0/8"),
    st.sampled_from([IPv4Address("100.100.100.200"), IPv4Address("192.0.0.192"), IPv4Address("168.63.129.16")]),
)
private_v4 = st.one_of(
    st.ip_addresses(v=4, network="127.0.0.0/8"),
    st.ip_addresses(v=4, network="10.0.0.0/8"),
    st.ip_addresses(v=4, network="172.16.0.0/12"),
    st.ip_addresses(v=4, network="192.168.0.0/16"),
    st.ip_addresses(v=4, network="100.64.0.0/11"),
)


def spell_v4(address: IPv4Address) -> list[str]:
    number, (a, b, c, d) = int(address), address.packed
    return [
        str(address),
        f"{address}.",
        str(number),
        hex(number),
        f"0{number:o}",
        f"{a}.{(b << 16) | (c << 8) | d}",
        f"{a}.{b}.{(c << 8) | d}",
        f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        str(address).translate(FULL_WIDTH),
        str(address).translate(CIRCLED),
        hex(number).upper().replace("0X", "0x"),
    ]


def carry_v4(address: IPv4Address) -> list[IPv6Address]:
    number = int(address)
    return [
        IPv6Address(f"::ffff:{address}"),
        IPv6Address(f"::ffff:0:{address}"),
        IPv6Address(f"64:ff9b::{address}"),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
        IPv6Address(f"2a00:1450::5efe:{address}"),
    ]


@given(forbidden_v4)
def test_a_forbidden_address_is_known_in_every_spelling(address: IPv4Address) -> None:
    for text in spell_v4(address):
        assert judge_host(text) is Reach.FORBIDDEN, text
    for carrier in carry_v4(address):
        assert judge_host(f"[{carrier}]") is Reach.FORBIDDEN, carrier


@given(private_v4)
def test_a_private_address_is_known_in_every_spelling(address: IPv4Address) -> None:
    for text in spell_v4(address):
        assert judge_host(text) is Reach.PRIVATE, text
    for carrier in carry_v4(address):
        assert judge_address(carrier) is Reach.PRIVATE, carrier


@given(st.ip_addresses(v=4))
def test_a_carrier_is_never_better_than_what_it_carries(address: IPv4Address) -> None:
    for carrier in carry_v4(address):
        assert judge_address(carrier) >= judge_address(address)


@given(st.ip_addresses())
def test_what_counts_as_public_is_global(address: IPv4Address | IPv6Address) -> None:
    # Carriers of IPv4 are public when what they carry is; Python knows the mapped ones among them only.
    if judge_address(address) is Reach.PUBLIC and not (address.version == 6 and int(address) >> 96 in CARRIER_HEADS):
        assert address.is_global and not address.is_multicast


CARRIER_HEADS = {0, 0x0064FF9B}


@pytest.mark.parametrize(
    "text",
    [
        "::",
        "fe80::1",
        "fe80::a9fe:a9fe",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::1%lo",
        "fe80::1%25eth0",
        "64:ff9b:1::7f00:1",
        "2001::1",
        "100::1",
    ],
)
def test_ipv6_addresses_that_are_never_dialled(text: str) -> None:
    assert judge_host(text) is Reach.FORBIDDEN


@pytest.mark.parametrize("text", ["::1", "fd00::1", "fc00::5", "2001:db8::1", "localhost", "LocalHost.", "a.localhost"])
def test_private_ipv6_and_local_names(text: str) -> None:
    assert judge_host(text) is Reach.PRIVATE


@pytest.mark.parametrize("text", ["93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses(text: str) -> None:
    assert judge_host(text) is Reach.PUBLIC


@pytest.mark.parametrize(
    "name",
    [
        "metadata.google.internal",
        "METADATA.google.internal.",
        "metadata",
        "instance-data",
        "ｍｅｔａｄａｔａ．google．internal",
        "x.metadata.google.internal",
        "",
        ".",
        "1.2.3.4.5",
        "256.256.256.256",
        "example.0x7f",
    ],
)
def test_names_that_are_never_asked_for(name: str) -> None:
    assert judge_host(name) is Reach.FORBIDDEN


@pytest.mark.parametrize(
    "name", ["api.openai.com", "ollama", "metadata.example.com", "10.example.com", "0xdead.beef.io"]
)
def test_other_names_are_left_to_the_resolver(name: str) -> None:
    assert judge_host(name) is None
    assert read_literal(name) is None


def test_of_several_addresses_only_the_permitted_stay_in_order() -> None:
    answers = [
        ip_address(text) for text in ("93.184.216.34", "127.0.0.1", "169.254.169.254", "2606:4700::1", "93.184.216.34")
    ]
    assert [str(a) for a in choose_permitted(answers, Reach.PUBLIC)] == ["93.184.216.34", "2606:4700::1"]
    assert [str(a) for a in choose_permitted(answers, Reach.PRIVATE)] == [
        "93.184.216.34",
        "127.0.0.1",
        "2606:4700::1",
    ]
