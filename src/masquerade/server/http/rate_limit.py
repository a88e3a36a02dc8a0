"""Limits on how often a participant, or an address, may ask; kept in memory and nowhere else."""

from __future__ import annotations

import ipaddress
import math
import re
import time
from collections.abc import Callable
from typing import Protocol

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.errors import TooManyAttempts
from masquerade.server.http.limit_table import LimitTable
from masquerade.server.http.problem import problem
from masquerade.server.http.security import COOKIE, SECURE_COOKIE

_WINDOW_SECONDS = 60
_HOUR = 3600
#: How long a place of a survey with quotas is held until the questions are opened, and how many
#: places are held for one address at once.
HELD_SECONDS, HELD_AT_ONCE = 1800, 5
_SOON_SECONDS = 20
_PREVIEW = re.compile(r"/api/v1/surveys/[^/]+/(?:preview|curve)")
ATTEMPTS_SECONDS = 900
AT_ONE_DOOR, AT_ONE_LOGIN, FROM_ONE_ADDRESS = 10, 50, 100


class Buckets:
    """A bucket for each asker, `quota` tokens in each window of `seconds`, refilled evenly."""

    def __init__(
        self,
        name: str,
        quota: int,
        *,
        seconds: int = _WINDOW_SECONDS,
        table: LimitTable | None = None,
    ) -> None:
        self.name = name
        self.quota = quota
        self.policy = f'"{name}";q={quota};w={seconds}'
        self._seconds = seconds
        self._table = table or LimitTable()
        self._prefix = name.encode() + b"\0"

    def take(self, asker: bytes, now: float) -> tuple[bool, int, float]:
        """Return whether a token was there, how many are left, and seconds until the next."""
        left, wait = self._table.take(
            self._prefix + asker, now, quota=self.quota, seconds=self._seconds
        )
        if wait:
            return False, 0, wait
        # Sums of shares are not exact: 2.9999999 requests are 3.
        return True, int(left + 1e-6), max(0.0, (1 - left) * self._seconds / self.quota)

    def give_back(self, asker: bytes) -> None:
        """Give back a token that was taken for nothing."""
        self._table.give_back(self._prefix + asker, quota=self.quota, seconds=self._seconds)


class BegunSurvey(Protocol):
    """A survey that somebody begins."""

    @property
    def token(self) -> str:
        """Its name."""

    @property
    def reward(self) -> object | None:
        """Its reward; None: nothing."""


class Beginnings:
    """Limits on beginnings of one survey from one address, so that none is emptied.

    `rewarded`, `other`: in an hour, of surveys that give something, and of others; 0 is without
        limit. Of a survey with quotas, only so many places are held at once until they are opened.
    """

    def __init__(
        self,
        *,
        rewarded: int,
        other: int,
        table: LimitTable,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rewarded, self._other = (
            Buckets(name, quota, seconds=_HOUR, table=table) if quota else None
            for name, quota in (("rewarded", rewarded), ("survey", other))
        )
        self._places = Buckets("places", HELD_AT_ONCE, seconds=HELD_SECONDS, table=table)
        self._now = now

    def newcomer(self, address: str) -> Newcomer:
        """Return the counter of one participant at an address, for the case that they begin."""
        return Newcomer(self, network_of(address))

    def buckets(self, asked: BegunSurvey) -> Buckets | None:
        """Return those of a survey."""
        return self._other if asked.reward is None else self._rewarded

    def take(self, asked: BegunSurvey, network: bytes, *, place: bool) -> None:
        """Count a beginning of a survey from a network, or raise `TooManyAttempts`.

        `place`: whether the survey has quotas, so that a place is held.
        """
        if place and not self._places.take(_at(asked, network), self._now())[0]:
            raise TooManyAttempts(
                "several people in your network are about to open this survey. Nothing was "
                f"charged; try again in {_SOON_SECONDS} seconds.",
                seconds=_SOON_SECONDS,
            )
        buckets = self.buckets(asked)
        if buckets is None:
            return
        taken, _, wait = buckets.take(_at(asked, network), self._now())
        if not taken:
            if place:
                self._leave(asked, network)
            seconds = math.ceil(wait)
            raise TooManyAttempts(
                "many people have begun this survey from your network of late. Nothing was "
                f"charged; try again in {seconds} seconds.",
                seconds=seconds,
            )

    def opened(self, asked: BegunSurvey, address: str) -> None:
        """Hold a place no more, which somebody at an address has opened."""
        self._leave(asked, network_of(address))

    def give_back(self, asked: BegunSurvey, network: bytes, *, place: bool) -> None:
        """Take back the count of a beginning that was refused afterwards."""
        if place:
            self._leave(asked, network)
        buckets = self.buckets(asked)
        if buckets is not None:
            buckets.give_back(_at(asked, network))

    def _leave(self, asked: BegunSurvey, network: bytes) -> None:
        self._places.give_back(_at(asked, network))


class Newcomer:
    """One participant at the start of a survey; counted once, however often a database tries."""

    def __init__(self, beginnings: Beginnings, network: bytes) -> None:
        self._beginnings = beginnings
        self._network = network
        self._counted: BegunSurvey | None = None
        self._place = False

    def count(self, asked: BegunSurvey, place: bool) -> None:
        """Count the participant and a place; raise `TooManyAttempts` where there were too many."""
        if self._counted is None:
            self._beginnings.take(asked, self._network, place=place)
            self._counted, self._place = asked, place

    def end(self, *, begun: bool) -> None:
        """Count the participant no more, where nothing was begun."""
        if self._counted is not None and not begun:
            self._beginnings.give_back(self._counted, self._network, place=self._place)


def _at(asked: BegunSurvey, network: bytes) -> bytes:
    return asked.token.encode() + b"\0" + network


class Attempts:
    """Limits on attempts, whether or not there is such a login.

    Ten in a quarter of an hour for one login from one address. Fifty for one login from anywhere
    and a hundred from one address for any login: more, so that it is not easy to lock others out.
    An address of IPv6 counts with its whole network, all of which one device has.
    """

    def __init__(
        self, *, table: LimitTable | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        table = table or LimitTable()
        self._now = now
        limits = {
            "sign-in": AT_ONE_DOOR,
            "sign-in-login": AT_ONE_LOGIN,
            "sign-in-address": FROM_ONE_ADDRESS,
        }
        self._door, self._login, self._address = (
            Buckets(name, quota, seconds=ATTEMPTS_SECONDS, table=table)
            for name, quota in limits.items()
        )

    def take(self, *, login: str, address: str) -> None:
        """Count an attempt, or raise `TooManyAttempts`."""
        name = login.strip().lower().encode(errors="replace")
        network = network_of(address)
        # Of IPv6 what one customer may have: 65,536 networks are not that many addresses.
        site = network[:6] if len(network) == 8 else network
        # The narrowest first: what it refuses uses up nothing of the others.
        limits = (
            (self._door, name + b"\0" + network),
            (self._login, name),
            (self._address, site),
        )
        for buckets, asker in limits:
            taken, _, seconds = buckets.take(asker, self._now())
            if not taken:
                minutes = math.ceil(seconds / 60)
                raise TooManyAttempts(
                    f"too many attempts to sign in; wait {minutes} "
                    f"{'minute' if minutes == 1 else 'minutes'} and try again.",
                    seconds=math.ceil(seconds),
                )


class RateLimits:
    """Refuses requests to the interface above a rate, and tells askers their remaining number.

    The headers are those of the draft "RateLimit header fields for HTTP". What is left of an
    address is told only where nothing is: others share it. Limits are most requests a minute by one
    participant, from one address, and by one surveyor for forecasts; 0 is without limit.
    Limited are addresses `under` some paths, `but` for others below them.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        participant: int,
        address: int,
        preview: int,
        table: LimitTable | None = None,
        under: tuple[str, ...] = ("/api/",),
        but: tuple[str, ...] = (),
    ) -> None:
        self.app = app
        self._under, self._but = under, but
        table = table or LimitTable()
        limits = {"participant": participant, "address": address, "preview": preview}
        self._participant, self._address, self._preview = (
            Buckets(name, quota, table=table) if quota else None for name, quota in limits.items()
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on where tokens are left."""
        path = scope.get("path", "")
        if (
            scope["type"] != "http"
            or not path.startswith(self._under)
            or path.startswith(self._but)
        ):
            await self.app(scope, receive, send)
            return
        now = time.monotonic()
        given = Headers(scope=scope)
        network = network_of(str((scope.get("client") or ("",))[0]))
        askers: list[tuple[Buckets, bytes]] = []
        secret = given.get("masquerade-participant")
        # The address first: secrets can be made up without end, addresses cannot.
        if self._address is not None:
            askers.append((self._address, network))
        if self._participant is not None and secret is not None:
            askers.append((self._participant, secret.encode()))
        if self._preview is not None and _PREVIEW.fullmatch(scope["path"]):
            # Who shows nothing is counted by address.
            askers += [(self._preview, one) for one in _surveyors_of(given) or [network]]
        headers: list[tuple[bytes, bytes]] = []
        wait = 0.0
        for buckets, asker in askers:
            taken, left, seconds = buckets.take(asker, now)
            if taken and buckets is self._address:
                continue  # what is left of it would tell how much others here have asked
            state = f'"{buckets.name}";r={left};t={math.ceil(seconds)}'
            headers.append((b"ratelimit-policy", buckets.policy.encode()))
            headers.append((b"ratelimit", state.encode()))
            if not taken:
                wait = seconds
                break

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
    """Return all credentials of a request that may name a surveyor, valid or not."""
    cookies = cookie_parser(given.get("cookie", ""))
    shown = (given.get("authorization"), cookies.get(COOKIE), cookies.get(SECURE_COOKIE))
    return [one.encode() for one in shown if one]


def network_of(address: str) -> bytes:
    """Return the bytes that count as one address: of IPv6 the network of a device."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a proxy names something else
        return address.encode(errors="replace")
    if isinstance(found, ipaddress.IPv4Address):
        return found.packed
    return found.packed[:8] if found.ipv4_mapped is None else found.ipv4_mapped.packed
