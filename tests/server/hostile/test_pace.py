"""One address cannot use up a survey at once, and several processes count as one."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.refusals import problem_of
from tests.surveys.small_surveys import define

from masquerade.server import Settings
from masquerade.server.surveys.rewards import Reward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import LiveServer, LiveServers

REWARDED, OTHER = 6, 9
ONE_CLASS = 30


@pytest.fixture
def served(live_server: LiveServers) -> Iterator[tuple[LiveServer, httpx.Client]]:
    """A server that lets few begin one survey from one address."""
    server = live_server(
        rate_participant=0, rate_address=0, rate_rewarded=REWARDED, rate_survey=OTHER
    )
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        yield server, client


def paying(server: LiveServer, *, level: str = "medium") -> Any:
    """Open a survey that gives codes."""
    reward = Reward("credits", {level: 1})
    return server.services.surveys.open_survey(define(level=level), reward=reward)


def begin(
    client: httpx.Client,
    token: str,
    address: str,
    *,
    secret: str = "",
    key: str = "",
    level: str = "medium",
) -> httpx.Response:
    """Begin a survey as a new participant, from an address that the proxy here names."""
    return client.post(
        "/api/v1/participations",
        json={"survey": token, "level": level},
        headers={
            "Masquerade-Participant": secret or secrets.token_hex(16),
            "Idempotency-Key": key or secrets.token_hex(16),
            "X-Forwarded-For": address,
        },
    )


def test_one_address_does_not_empty_a_paying_survey(
    served: tuple[LiveServer, httpx.Client],
) -> None:
    """From one address (of IPv6: one network) so many begin, then one is told how long to wait."""
    server, client = served
    survey = paying(server)
    found = [begin(client, survey.token, f"2001:db8::{n:x}").status_code for n in range(1, 31)]
    assert found == [201] * REWARDED + [429] * (30 - REWARDED)
    refusal = begin(client, survey.token, "2001:db8::1")
    problem = problem_of(refusal, 429, "too-many-attempts")
    assert 1 <= problem["seconds"] <= 3600 / REWARDED
    assert refusal.headers["retry-after"] == str(problem["seconds"])
    assert begin(client, survey.token, "192.0.2.1").status_code == 201
    # Another survey is another matter, and one that gives nothing has a pace of its own.
    assert begin(client, paying(server).token, "2001:db8::1").status_code == 201
    free = server.services.surveys.open_survey(define())
    found = [begin(client, free.token, "2001:db8::1").status_code for _ in range(OTHER + 2)]
    assert found == [201] * OTHER + [429] * 2


def test_only_who_begins_is_counted(served: tuple[LiveServer, httpx.Client]) -> None:
    """Asking again, a wrong request and a refusal for other reasons use up nothing."""
    server, client = served
    survey = paying(server)
    secret, key = secrets.token_hex(16), secrets.token_hex(16)
    assert begin(client, survey.token, "192.0.2.1", secret=secret, key=key).status_code == 201
    for _ in range(2 * REWARDED):
        answer = begin(client, survey.token, "192.0.2.1", secret=secret, key=key)
        assert answer.status_code == 200
        assert begin(client, survey.token, "192.0.2.1", secret=secret).status_code == 200
        assert begin(client, survey.token, "192.0.2.1", level="low").status_code == 422
        assert begin(client, "no-such", "192.0.2.1").status_code == 404
    server.services.surveys.set_quotas(survey, {"medium": 1})
    for _ in range(2 * REWARDED):
        assert begin(client, survey.token, "192.0.2.1").status_code == 409
    server.services.surveys.set_quotas(survey, None)
    found = [begin(client, survey.token, "192.0.2.1").status_code for _ in range(REWARDED)]
    assert found == [201] * (REWARDED - 1) + [429]
    assert begin(client, survey.token, "192.0.2.1", secret=secret, key=key).status_code == 200


def test_a_refusal_for_a_quota_is_not_counted(served: tuple[LiveServer, httpx.Client]) -> None:
    """Where a quota is full nobody is counted, on the way back out of the transaction."""
    server, client = served
    survey = paying(server)
    server.services.surveys.set_quotas(survey, {"medium": 1})
    assert begin(client, survey.token, "192.0.2.1").status_code == 201
    for _ in range(2 * REWARDED):
        assert begin(client, survey.token, "192.0.2.1").status_code == 409


def test_a_class_behind_one_address_can_answer(live_server: LiveServers) -> None:
    """With the settings that a server begins with, thirty pupils begin a paying survey at once."""
    assert Settings("").rate_rewarded >= ONE_CLASS
    server = live_server()
    survey = paying(server)
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        found = [begin(client, survey.token, "192.0.2.1").status_code for _ in range(100)]
    assert found[:ONE_CLASS] == [201] * ONE_CLASS
    assert found.count(201) <= Settings("").rate_rewarded + 2  # some come back meanwhile
