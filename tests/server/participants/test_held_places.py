"""Places of surveys with quotas: held for half an hour, few for one address at once."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.errors import QuotaFull, TooManyAttempts
from masquerade.server import Services
from masquerade.server.http.limit_table import LimitTable
from masquerade.server.http.rate_limit import HELD_AT_ONCE, HELD_SECONDS, Beginnings
from masquerade.server.operations.daily_jobs import HeldPlaces
from masquerade.server.surveys.survey_records import FrozenSurvey

if TYPE_CHECKING:
    from tests.conftest import LiveServers


@pytest.mark.both_databases
def test_a_place_that_is_not_opened_is_free_after_half_an_hour(services: Services) -> None:
    """A holder of all places keeps nobody out for longer, and can begin again at one price."""
    survey = services.surveys.open_survey(define())
    services.surveys.set_quotas(survey, {"medium": 3})
    now = [0.0]
    places = HeldPlaces(services.held_places._endings, now=lambda: now[0])
    holders = [Device() for _ in range(3)]
    holders[0].open(services, survey)
    for one in holders[1:]:
        one.reserve(services, survey)
    assert places.look() == 0
    now[0] = HELD_SECONDS - 1
    assert places.look() == 0
    with pytest.raises(QuotaFull):
        Device().reserve(services, survey)
    now[0] = HELD_SECONDS
    assert places.look() == 2
    assert places.look() == 0
    Device().send(services, survey)
    holders[1].send(services, survey)
    with pytest.raises(QuotaFull):
        holders[2].reserve(services, survey)
    person = services.identity(holders[1].participant).person
    balance = services.ledger.balance(person)
    assert (balance.open, balance.reserved_epsilon) == (0, 0)
    assert services.ledger.verify() > 0


def test_one_address_holds_few_places_at_once(live_server: LiveServers) -> None:
    """Ten identities at one address do not take ten places; one that opens may take the next."""
    server = live_server(rate_participant=0, rate_address=0, trusted_proxies="127.0.0.1")
    survey = server.services.surveys.open_survey(define())
    server.services.surveys.set_quotas(survey, {"medium": 10})
    with httpx.Client(base_url=f"{server.url}/api/v1", trust_env=False, timeout=60) as client:

        def begin(address: str) -> httpx.Response:
            return client.post(
                "/participations",
                json={"survey": survey.token, "level": "medium"},
                headers={
                    "Masquerade-Participant": secrets.token_hex(16),
                    "Idempotency-Key": secrets.token_hex(16),
                    "X-Forwarded-For": address,
                },
            )

        found = [begin("192.0.2.1") for _ in range(10)]
        assert [one.status_code for one in found] == [201] * HELD_AT_ONCE + [429] * 5
        assert int(found[-1].headers["retry-after"]) <= 20
        assert begin("192.0.2.2").status_code == 201
        opened = {
            "Masquerade-Participant": found[0].request.headers["Masquerade-Participant"],
            "X-Forwarded-For": "192.0.2.1",
        }
        for _ in range(3):  # opening again gives nothing back again
            step = f"/participations/{found[0].json()['id']}/open"
            assert client.post(step, headers=opened).status_code == 200
        assert [begin("192.0.2.1").status_code for _ in range(2)] == [201, 429]


def test_surveys_without_quotas_hold_no_places(services: Services) -> None:
    """A class behind one address begins at once where nothing can be taken away."""
    survey = services.surveys.open_survey(define())
    with services.engine.connect() as connection:
        frozen: FrozenSurvey = services.surveys._surveys.frozen(connection, survey.token)
    limits = Beginnings(rewarded=0, other=0, table=LimitTable())
    for _ in range(30):
        limits.newcomer("192.0.2.1").count(frozen, False)
    for _ in range(HELD_AT_ONCE):
        limits.newcomer("192.0.2.1").count(frozen, True)
    with pytest.raises(TooManyAttempts):
        limits.newcomer("192.0.2.1").count(frozen, True)
