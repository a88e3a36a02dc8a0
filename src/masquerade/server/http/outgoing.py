"""Requests of a server to other computers: to addresses that were checked, and not for ever.

Others choose where these go (surveyors name webhooks and helpers), so each has an end, whatever the
other side does: in time, in size, and in where it can lead.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from masquerade.errors import ParameterError

if TYPE_CHECKING:
    import httpx

LONGEST_ADDRESS = 2000
#: Ports that a webhook may have, where nothing private is allowed.
PORTS = (443, 8443)
WEBHOOK_SETTING = "webhook_private"

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

# The special-purpose registries of IANA (RFC 6890 and its updates), written out: what Python calls
# global differs from version to version, and is wider.
_SPECIAL_4 = tuple(
    ipaddress.IPv4Network(one)
    for one in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by customers of a carrier
        "127.0.0.0/8",  # this computer
        "169.254.0.0/16",  # this link, and what clouds tell their machines
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols, 192.0.0.8 among them
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # groups
        "240.0.0.0/4",  # reserved, and everybody
    )
)
#: All that is handed out of the internet of version 6; the rest is special or nobody's.
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = tuple(
    ipaddress.IPv6Network(one)
    for one in (
        "2001::/23",  # protocols: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to a relay nobody knows, to an address of version 4
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the 6bone, given back
        "3fff::/20",  # documentation
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# RFC 5214: ISATAP. The bit for a global identifier may be set or not.
_ISATAP = (0x00005EFE, 0x02005EFE)


class UnknownName(ParameterError):
    """A host's name is not known now; it may be in a moment."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a message."""

    https: bool
    host: str  # as it is written in the address: for the certificate and the header
    port: int
    path: str  # with the query

    @property
    def header(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.https else 80) else f"{host}:{self.port}"


def read_address(
    url: str,
    *,
    private: bool,
    setting: str = WEBHOOK_SETTING,
    ports: tuple[int, ...] | None = PORTS,
) -> Target:
    """Return the parts of an address.

    Raises `ParameterError` (it is none of https, or of http where that leads to this computer and
    `private` is set; or its port is none of `ports` and `private` is not set).

    `private`: whether addresses of this computer and its network are allowed, by a `setting`.
    `ports`: that it may have; None: any.
    """
    said = f"the address is {url[:200]!r}, expected one like {_example(setting)}"
    # `urlsplit` drops line breaks and tabs without a word, so they are refused before it.
    if len(url) > LONGEST_ADDRESS or not url.isascii() or not url.isprintable() or " " in url:
        raise ParameterError(f"{said}, of at most {LONGEST_ADDRESS} ASCII letters without spaces.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ParameterError(f"{said}: {error}.") from None
    # Readers of addresses disagree about where the host begins behind a user or a backslash.
    if "@" in parts.netloc or "\\" in url or not host or port == 0:
        raise ParameterError(f"{said}, without a user or password.")
    https = parts.scheme == "https"
    if not https and not (parts.scheme == "http" and private and _is_here(host)):
        raise ParameterError(
            f"{said}. Without TLS only this computer can be told, and only where the setting "
            f"{setting} (in the environment MASQUERADE_{setting.upper()}=1) allows it."
        )
    if not private and ports is not None and (port or 443) not in ports:
        raise ParameterError(
            f"{said}: port {port} may be anything's, expected {' or '.join(map(str, ports))}. "
            f"Whoever runs the server can allow others by the setting {setting}."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(https, host, port or (443 if https else 80), path)


def _example(setting: str) -> str:
    return "https://example.org/path" if setting == WEBHOOK_SETTING else "https://example.org"


def resolve(target: Target, *, private: bool, setting: str = WEBHOOK_SETTING) -> str:
    """Return an address of a target's host, looked up now, that a request may go to.

    The request then goes to this very address: a name that leads elsewhere a moment later changes
    nothing.

    Raises `UnknownName`, or `ParameterError` (one of its addresses is not a public one).
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnknownName(f"the name {target.host!r} is not known.") from None
    addresses = [str(one[4][0]) for one in found]
    # All of them and not the first alone: with one private address the name leads inside.
    for address in addresses:
        if not private and not is_public(address):
            raise ParameterError(
                f"{target.host} leads to {address}, which is no public address; whoever runs the "
                f"server can allow that by the setting {setting}."
            )
    return addresses[0]


def is_public(address: str) -> bool:
    """Return whether an IP address, or the one embedded in it, is of the public internet.

    Examples
    --------
    >>> is_public("192.0.43.8"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    try:
        ip: Ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _SPECIAL_4)
    if ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    # RFC 6052: the last 32 bits are the address of version 4.
    last = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in _NAT64:  # as good as the address that it is translated to
        return is_public(str(last))
    if (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP:  # a tunnel within somebody's own network
        return False
    return ip in _GLOBAL_6 and not any(ip in network for network in _SPECIAL_6)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of another computer."""

    status: int
    content: bytes = b""


class TooLongAnswer(Exception):
    """An answer was longer than it may be; the part read so far is dropped."""


def exchange(
    target: Target,
    address: str,
    *,
    method: str = "POST",
    body: bytes | None = None,
    headers: Mapping[str, str],
    seconds: float,
    most: int = 0,
) -> Answer:
    """Send a request to an address that was looked up before; return the answer.

    No proxy is asked and no redirect followed: what is sent, a token perhaps, goes to this address
    and to no other.

    `address`: IP address, as `resolve` gives it.
    `seconds`: after which it ends, however slowly the other side reads and answers.
    `most`: bytes that the answer may have; with 0 nothing of it is read but its status.

    Raises `TimeoutError`, `httpx.HTTPError`, `OSError`, `TooLongAnswer`.
    """
    import httpx  # here, for a server that asks nobody does without it

    url = httpx.URL(
        scheme="https" if target.https else "http",
        host=address,
        port=target.port,
        raw_path=target.path.encode(),
    )
    # Nothing compressed: a short answer could become a very long one.
    plain = {"Accept-Encoding": "identity", "Connection": "close"}
    sent = {**headers, **plain, "Host": target.header}

    async def send() -> Answer:
        # httpx's own timeouts begin anew with each byte; this one does not.
        async with asyncio.timeout(seconds):
            # No proxy or certificate is taken from the environment.
            async with httpx.AsyncClient(
                verify=_certificates(target),
                trust_env=False,
                follow_redirects=False,
                timeout=seconds,
            ) as client:
                # The certificate is checked for the name, although the connection goes to the
                # address.
                name = {"sni_hostname": target.host}
                message = client.stream(method, url, content=body, headers=sent, extensions=name)
                async with message as response:
                    content = await _read(response, most) if most else b""
                    return Answer(response.status_code, content)

    # In a thread of its own, for the caller's may have an event loop that runs already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, send()).result()


def _certificates(target: Target) -> ssl.SSLContext:
    """Return the certificates that a request to a target trusts."""
    if target.https:
        return ssl.create_default_context()
    # Read from the disk they take longer than a request, and without TLS none is asked for: this
    # context trusts nobody.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def _read(response: httpx.Response, most: int) -> bytes:
    content = bytearray()
    # Raw: whoever compresses although it was not asked for is not understood.
    async for part in response.aiter_raw():
        content += part
        if len(content) > most:
            raise TooLongAnswer(f"the answer has more than {most} bytes")
    return bytes(content)
