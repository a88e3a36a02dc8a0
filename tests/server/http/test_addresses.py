"""Which addresses a webhook may have."""

from __future__ import annotations

import pytest

from masquerade.errors import ParameterError
from masquerade.server.http.outgoing import Target, is_public, read_address


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2001:db8::1",
        "nonsense",
        "",
    ],
)
def test_private_addresses_are_found_in_every_wrapping(address: str) -> None:
    """No address of this computer, of its network or of nobody is a public one."""
    assert not is_public(address)


# First, last and one in the midst of networks of IANA's two special-purpose registries.
SPECIAL = [
    "0.255.255.255",
    "100.127.255.255",
    "169.254.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.9",
    "192.0.0.170",
    "192.0.0.255",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.88.99.2",
    "192.175.48.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "239.0.0.1",
    "240.0.0.1",
    "fec0::1",
    "feff:ffff::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "5f00::1",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:1::1",
    "2001:2::1",
    "2001:3::1",
    "2001:20::1",
    "2001:30::1",
    "2001:1ff::1",
    "2001:db8:1::1",
    "2620:4f:8000::1",
    "3ffe::1",
    "fd00::1",
    "ff0e::1",
    "4000::1",
    "8000::1",
    "::127.0.0.1",
    "::10.0.0.1",
    "::8.8.8.8",
    "::ffff:0:10.0.0.1",
    "64:ff9b::192.168.0.1",
    "64:ff9b::192.88.99.1",
    "64:ff9b:1::8.8.8.8",
    "2002:a00:1::1",
    "2002:808:808::1",
    "2001:0:808:808:0:0:f5ff:fffe",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "fe80::5efe:10.0.0.1",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:192.168.1.1",
    "2606:4700::200:5efe:8.8.8.8",
    "2606:4700::5efe:127.0.0.1",
]


@pytest.mark.parametrize("address", SPECIAL)
def test_special_networks_and_tunnels_are_not_public(address: str) -> None:
    """Addresses that IANA lists as special, and those inside a tunnel, are told nothing."""
    assert not is_public(address)


@pytest.mark.parametrize("port", [1, 22, 25, 80, 444, 5432, 6379, 8080, 9200, 65535])
def test_other_ports_are_refused(port: int) -> None:
    """A webhook cannot knock at other services: only two ports, unless private ones are allowed."""
    with pytest.raises(ParameterError, match="port"):
        read_address(f"https://example.org:{port}/", private=False)
    assert read_address(f"https://example.org:{port}/", private=True).port == port


PUBLIC = [
    "1.1.1.1",
    "192.0.43.8",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "100.63.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "192.88.98.1",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "3fff:1000::1",
    "2a00:1450::1",
    "64:ff9b::8.8.8.8",
    "2606:4700::5eff:1:1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_known(address: str) -> None:
    """Addresses of the internet are public."""
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://",
        "https:///path",
        "example.org",
        "https://user:password@example.org/",
        "https://example.org:0/",
        "https://example.org:x/",
        "https://example.org/a b",
        "https://exämple.org/",
        "https://example.org\\@10.0.0.1/",
        "https://example.org/\n",
        "https://" + "a" * 2000,
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "http://localhost/",
        "javascript:alert(1)",
        "",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    """Only https with a host is an address; a text that looks like another host is refused."""
    with pytest.raises(ParameterError):
        read_address(url, private=False)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org", Target(True, "example.org", 443, "/")),
        ("https://example.org:8443/a?b=c#d", Target(True, "example.org", 8443, "/a?b=c")),
        ("https://[2606:4700::1111]/", Target(True, "2606:4700::1111", 443, "/")),
    ],
)
def test_addresses_are_read(url: str, expected: Target) -> None:
    """Host, port and path are those of a browser."""
    found = read_address(url, private=False)
    assert found == expected
    assert found.header in url


def test_http_only_for_this_computer() -> None:
    """Where private addresses are allowed, http still leads to this computer only."""
    assert read_address("http://127.0.0.1:8000/", private=True).port == 8000
    for url in ("http://example.org/", "http://10.0.0.1/"):
        with pytest.raises(ParameterError):
            read_address(url, private=True)
