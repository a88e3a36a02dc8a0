"""Who counts as one address."""

from __future__ import annotations

import asyncio
from typing import Any

from masquerade.server.rate_limit import RateLimits


def statuses(*addresses: str) -> list[int]:
    """Return the status that a request from each address in turn gets, where two are allowed."""
    found: list[int] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    async def receive() -> Any:
        raise AssertionError("no body is read")

    async def ask() -> None:
        limited = RateLimits(app, participant=0, address=2)
        for address in addresses:
            client = (address, 1) if address else None
            scope: dict[str, Any] = {"type": "http", "path": "/api/v1/levels", "headers": [], "client": client}
            await limited(scope, receive, send)

    asyncio.run(ask())
    return found


def test_addresses_of_one_network_count_as_one() -> None:
    """A device of IPv6 has a whole network, and gets no more by using all of it."""
    assert statuses("2001:db8::1", "2001:db8::2", "2001:db8::3") == [200, 200, 429]
    assert statuses("2001:db8::1", "2001:db8::2", "2001:db8:0:1::3") == [200, 200, 200]
    assert statuses("fe80::1%eth0", "fe80::2%eth0", "fe80::3") == [200, 200, 429]


def test_other_addresses_count_by_themselves() -> None:
    """Addresses of IPv4, also as IPv6 writes them, and names that a proxy gives are each one."""
    assert statuses(*(f"192.0.2.{n}" for n in range(9))) == [200] * 9
    assert statuses(*(f"::ffff:192.0.2.{n}" for n in range(9))) == [200] * 9
    assert statuses("192.0.2.1", "192.0.2.1", "192.0.2.1") == [200, 200, 429]
    assert statuses("un:known", "un:known", "other:name", "un:known") == [200, 200, 200, 429]
    assert statuses("", "", "") == [200, 200, 429]
