"""Addresses that a server may send messages to: no way into the network behind it."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from masquerade.errors import ParameterError

LONGEST_ADDRESS = 2000
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message goes.

    Attributes
    ----------
    https : bool
    host : str
        As it is written in the address: for the certificate and the header.
    port : int
    path : str
        With the query.
    """

    https: bool
    host: str
    port: int
    path: str

    @property
    def header(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.https else 80) else f"{host}:{self.port}"


def read_address(url: str, *, private: bool) -> Target:
    """Return the parts of an address.

    Parameters
    ----------
    url : str
    private : bool
        Whether addresses of this computer and its network are allowed.

    Raises
    ------
    ParameterError
        It is none of https, or of http where that leads to this computer and `private` is set.
    """
    said = f"the address is {url[:200]!r}, expected one like https://example.org/path"
    if len(url) > LONGEST_ADDRESS or not url.isascii() or not url.isprintable() or " " in url:
        raise ParameterError(f"{said}, of at most {LONGEST_ADDRESS} ASCII letters without spaces.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ParameterError(f"{said}: {error}.") from None
    if "@" in parts.netloc or "\\" in url or not host or port == 0:
        raise ParameterError(f"{said}, without a user or password.")
    https = parts.scheme == "https"
    if not https and not (parts.scheme == "http" and private and _is_here(host)):
        raise ParameterError(
            f"{said}. Without TLS only this computer can be told, and only where the setting "
            "webhook_private allows it."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(https, host, port or (443 if https else 80), path)


def resolve(target: Target, *, private: bool) -> str:
    """Return an address of a target's host, looked up now, that a message may go to.

    The message then goes to this very address: a name that leads elsewhere a moment later changes
    nothing.

    Raises
    ------
    ParameterError
        The name is not known, or one of its addresses is not a public one.
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ParameterError(f"the name {target.host!r} is not known.") from None
    addresses = [str(one[4][0]) for one in found]
    for address in addresses:
        if not private and not is_public(address):
            raise ParameterError(
                f"{target.host} leads to {address}, which is no public address; whoever runs the "
                "server can allow that by the setting webhook_private."
            )
    return addresses[0]


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public internet, whatever it is wrapped in.

    Examples
    --------
    >>> is_public("192.0.43.8"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    try:
        ip: Ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inside = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in _NAT64:
            inside.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        if any(one is not None and not is_public(str(one)) for one in inside):
            return False
        if ip.ipv4_mapped is not None:
            return True
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
