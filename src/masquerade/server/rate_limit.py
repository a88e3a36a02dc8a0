"""Limits on how often a participant, or an address, may ask; kept in memory and nowhere else."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import re
import secrets
import time

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.server.problem import problem
from masquerade.server.team.sessions import COOKIE, SECURE_COOKIE

_WINDOW_SECONDS = 60
_MOST_BUCKETS = 100_000
_PREVIEW = re.compile(r"/api/v1/surveys/[^/]+/(?:preview|curve)")


class Bucket:
    """Tokens of one asker, refilled evenly.

    Attributes
    ----------
    tokens : float
    seen : float
        Seconds of a clock that only rises.
    """

    __slots__ = ("seen", "tokens")

    def __init__(self, tokens: float, seen: float) -> None:
        self.tokens = tokens
        self.seen = seen


class Buckets:
    """A bucket for each asker, `quota` tokens in each window.

    Parameters
    ----------
    name : str
        Of the policy, in the headers.
    quota : int
    seconds : int
        How long the window is.
    """

    def __init__(self, name: str, quota: int, *, seconds: int = _WINDOW_SECONDS) -> None:
        self.name = name
        self.quota = quota
        self.policy = f'"{name}";q={quota};w={seconds}'
        self._rate = quota / seconds
        self._buckets: dict[bytes, Bucket] = {}
        self._key = secrets.token_bytes(16)

    def take(self, asker: bytes, now: float) -> tuple[bool, int, float]:
        """Return whether a token was there, how many are left, and seconds until the next."""
        # Not the asker itself, so that a copy of the memory says little.
        name = hashlib.blake2b(asker, key=self._key, digest_size=16).digest()
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= _MOST_BUCKETS:
                self._forget(now)
            bucket = self._buckets[name] = Bucket(self.quota, now)
        bucket.tokens = min(self.quota, bucket.tokens + (now - bucket.seen) * self._rate)
        bucket.seen = now
        if bucket.tokens < 1:
            return False, 0, (1 - bucket.tokens) / self._rate
        bucket.tokens -= 1
        return True, int(bucket.tokens), max(0.0, (1 - bucket.tokens) / self._rate)

    def _forget(self, now: float) -> None:
        """Forget full buckets, which are as good as new; all, where none is full."""
        full = [
            name
            for name, bucket in self._buckets.items()
            if bucket.tokens + (now - bucket.seen) * self._rate >= self.quota
        ]
        for name in full or list(self._buckets):
            del self._buckets[name]


class RateLimits:
    """Refuses requests to the interface above a rate, and tells everybody what is left.

    The headers are those of the draft "RateLimit header fields for HTTP".

    Parameters
    ----------
    app : ASGIApp
    participant, address, preview : int
        Most requests a minute, by one participant, from one address, and by one surveyor for
        forecasts of plans; 0 is without limit.
    """

    def __init__(self, app: ASGIApp, *, participant: int, address: int, preview: int) -> None:
        self.app = app
        self._participant = Buckets("participant", participant) if participant else None
        self._address = Buckets("address", address) if address else None
        self._preview = Buckets("preview", preview) if preview else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on where tokens are left."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        now = time.monotonic()
        given = Headers(scope=scope)
        network = _network_of(str((scope.get("client") or ("",))[0]))
        askers: list[tuple[Buckets, bytes]] = []
        secret = given.get("masquerade-participant")
        if self._participant is not None and secret is not None:
            askers.append((self._participant, secret.encode()))
        if self._address is not None:
            askers.append((self._address, network))
        if self._preview is not None and _PREVIEW.fullmatch(scope["path"]):
            askers += [(self._preview, one) for one in _surveyors_of(given) or [network]]
        headers: list[tuple[bytes, bytes]] = []
        wait = 0.0
        for buckets, asker in askers:
            taken, left, seconds = buckets.take(asker, now)
            if not taken:
                wait = max(wait, seconds)
            state = f'"{buckets.name}";r={left};t={math.ceil(seconds)}'
            headers.append((b"ratelimit-policy", buckets.policy.encode()))
            headers.append((b"ratelimit", state.encode()))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        if wait:
            refusal = problem(
                429, "rate-limited", f"Too many requests; wait {math.ceil(wait)} seconds."
            )
            refusal.headers["retry-after"] = str(math.ceil(wait))
            await refusal(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)


def _surveyors_of(given: Headers) -> list[bytes]:
    """Return all that may show which surveyor asks; what is made up beside it changes nothing."""
    cookies = cookie_parser(given.get("cookie", ""))
    shown = (given.get("authorization"), cookies.get(COOKIE), cookies.get(SECURE_COOKIE))
    return [one.encode() for one in shown if one]


def _network_of(address: str) -> bytes:
    """Return what counts as one address: of IPv6 the network, in which one device has them all."""
    if ":" not in address:
        return address.encode()
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:  # a proxy names something else
        return address.encode()
    return (found.ipv4_mapped or found).packed[:8]
