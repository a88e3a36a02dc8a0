"""Requests of a server to other computers: to an address that was checked, and not for ever.

Others choose where these go (surveyors name webhooks and helpers), so each has an end, whatever the
other side does: in time, in size, and in where it can lead.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from masquerade.server.http.addresses import Target


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of another computer."""

    status: int
    content: bytes = b""


class TooLongAnswer(httpx.DecodingError):
    """An answer was longer than it may be; what was read of it is dropped."""


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

    `address`: IP address, as `addresses.resolve` gives it.
    `seconds`: after which it ends, however slowly the other side reads and answers.
    `most`: bytes that the answer may have; with 0 nothing of it is read but its status.

    Raises `TimeoutError`, `httpx.HTTPError`, `OSError`, `TooLongAnswer`.
    """
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
                verify=ssl.create_default_context(),
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


async def _read(response: httpx.Response, most: int) -> bytes:
    content = bytearray()
    # Raw: whoever compresses although it was not asked for is not understood.
    async for part in response.aiter_raw():
        content += part
        if len(content) > most:
            raise TooLongAnswer(f"the answer has more than {most} bytes")
    return bytes(content)
