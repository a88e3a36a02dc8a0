"""Limits on how often one address may ask, and the meaning of one address."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import httpx
from tests.server.refusals import problem_of
from tests.server.running import run

from masquerade.server.http.rate_limit import Buckets, RateLimits

if TYPE_CHECKING:
    from tests.conftest import LiveServers


def answered(scopes: list[dict[str, Any]], **limits: int) -> list[int]:
    """Return the status that each request gets in turn, under limits."""
    found: list[int] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    async def receive() -> Any:
        raise AssertionError("no body is read")

    async def ask() -> None:
        quotas = {name: limits.get(name, 0) for name in ("participant", "address", "preview")}
        limited = RateLimits(
            app,
            participant=quotas["participant"],
            address=quotas["address"],
            preview=quotas["preview"],
        )
        for scope in scopes:
            await limited({"type": "http"} | scope, receive, send)

    run(ask())
    return found


def statuses(*addresses: str) -> list[int]:
    """Return the status that a request from each address in turn gets, where two are allowed."""
    path, clients = "/api/v1/levels", [(one, 1) if one else None for one in addresses]
    scopes: list[dict[str, Any]] = [
        {"path": path, "headers": [], "client": client} for client in clients
    ]
    return answered(scopes, address=2)


def test_addresses_of_one_network_count_as_one() -> None:
    """A device of IPv6 has a whole network, and gets no more by using all of it."""
    assert statuses("2001:db8::1", "2001:db8::2", "2001:db8::3") == [200, 200, 429]
    assert statuses("2001:db8::1", "2001:db8::2", "2001:db8:0:1::3") == [200, 200, 200]
    assert statuses("fe80::1%eth0", "fe80::2%eth0", "fe80::3") == [200, 200, 429]


def test_other_addresses_count_by_themselves() -> None:
    """Addresses of IPv4, also as IPv6 writes them, and names that a proxy gives are each one."""
    assert statuses(*(f"192.0.2.{n}" for n in range(9))) == [200] * 9
    assert statuses(*(f"::ffff:192.0.2.{n}" for n in range(9))) == [200] * 9
    assert statuses("192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201") == [200, 200, 429]
    assert statuses("192.0.2.1", "192.0.2.1", "192.0.2.1") == [200, 200, 429]
    assert statuses("un:known", "un:known", "other:name", "un:known") == [200, 200, 200, 429]
    assert statuses("", "", "") == [200, 200, 429]


def previews(*headers: dict[str, str], path: str = "/api/v1/surveys/a1/preview") -> list[int]:
    """Return the status of requests with these headers, where two forecasts are allowed."""
    raw = [[(name.encode(), value.encode()) for name, value in one.items()] for one in headers]
    scopes = [{"path": path, "headers": one, "client": ("192.0.2.1", 1)} for one in raw]
    return answered(scopes, preview=2)


def test_forecasts_are_counted_by_surveyor() -> None:
    """Two surveyors at one address count apart; a made-up cookie beside a session does not help."""
    mine, yours = {"cookie": "masquerade=mine"}, {"cookie": "masquerade=yours"}
    assert previews(mine, yours, mine, yours, mine) == [200, 200, 200, 200, 429]
    token = {"authorization": "Bearer mq_1"}
    assert previews(token, token, token, {**token, **mine}) == [200, 200, 429, 429]
    made_up = [{**mine, "authorization": f"Basic {n}"} for n in range(3)]
    assert previews(*made_up) == [200, 200, 429]
    made_up = [{"cookie": f"masquerade=mine; __Host-masquerade={n}"} for n in range(3)]
    assert previews(*made_up) == [200, 200, 429]
    assert previews({}, {}, {}) == [200, 200, 429]


def test_only_forecasts_are_counted_as_such() -> None:
    """The curve counts as a forecast; reading a survey does not."""
    mine = {"cookie": "masquerade=mine"}
    assert previews(mine, mine, mine, path="/api/v1/surveys/a1/curve") == [200, 200, 429]
    assert previews(*[mine] * 5, path="/api/v1/surveys/a1") == [200] * 5
    assert previews(*[mine] * 5, path="/api/v1/surveys/a1/progress") == [200] * 5


def test_rates_are_limited_and_told(live_server: LiveServers) -> None:
    """Headers tell the rest; above the rate a participant is refused with the time to come back."""
    server = live_server()
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        headers = {"Masquerade-Participant": secrets.token_hex(16)}
        left = []
        for _ in range(1000):
            answer = client.get("/api/v1/levels", headers=headers)
            left.append(answer.headers["ratelimit"])
            if answer.status_code != 200:
                break
        assert '"participant";q=120;w=60' in answer.headers["ratelimit-policy"]
        assert left[0].startswith('"participant";r=119;')
        problem_of(answer, 429, "rate-limited")
        assert int(answer.headers["retry-after"]) >= 1
        other = client.get("/api/v1/levels", headers={"Masquerade-Participant": "0" * 32})
        assert other.status_code == 200
        assert client.get("/healthz").headers.get("ratelimit") is None


def test_nobody_is_told_what_others_at_their_address_ask(live_server: LiveServers) -> None:
    """Headers say nothing of an address before its limit is reached, and then all the same."""
    server = live_server(rate_address=30, rate_participant=10)
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:

        def ask(secret: str) -> httpx.Response:
            return client.get("/api/v1/levels", headers={"Masquerade-Participant": secret})

        before = ask("0" * 32).headers
        for number in range(1, 21):
            ask(f"{number:032x}")
        after = ask("f" * 32).headers
        assert before["ratelimit"] == after["ratelimit"]
        assert before["ratelimit-policy"] == after["ratelimit-policy"] == '"participant";q=10;w=60'
        refused = [ask(f"{number:032x}") for number in range(100, 130)][-1]
        problem_of(refused, 429, "rate-limited")
        assert refused.headers["ratelimit-policy"] == '"address";q=30;w=60'


def test_buckets_refill() -> None:
    """Tokens come back evenly, never above the quota, and forgetting askers never blocks one."""
    buckets = Buckets("x", 60)
    assert [buckets.take(b"a", 0.0)[0] for _ in range(61)] == [True] * 60 + [False]
    taken, left, wait = buckets.take(b"a", 0.5)
    assert (taken, left, round(wait, 6)) == (False, 0, 0.5)
    assert buckets.take(b"a", 1.0)[0]
    assert buckets.take(b"a", 1000.0)[:2] == (True, 59)
    assert buckets.take(b"b", 1000.0)[:2] == (True, 59)
