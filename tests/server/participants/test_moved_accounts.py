"""Accounts of before move to secrets that are made for one address, and nobody else's do."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.devices import Device, Phone, all_at_once, everything
from tests.surveys.small_surveys import define

from masquerade.errors import ParameterError, Unauthenticated
from masquerade.server import Services, Settings

if TYPE_CHECKING:
    from tests.conftest import LiveServers

FORMER, SECRET, OTHER = ("5e" * 16, "a1" * 16, "b2" * 16)


def entries_of(services: Services, sent: str) -> int:
    """Return the number of entries of the account behind a device's body; 0 without an account."""
    return services.ledger.balance(services.moved_accounts.identity(sent).person).entries


@pytest.mark.both_databases
@pytest.mark.parametrize("former", [FORMER, f"w{FORMER}"], ids=["of before", "earlier address"])
def test_an_account_moves_whole_and_once(services: Services, former: str) -> None:
    """It is the same account under the new secret; a former one of before opens nothing more."""
    moved = services.moved_accounts
    survey = services.surveys.open_survey(define())
    before = moved.identity(former)
    Device(before.secret).send(services, survey)
    entries = entries_of(services, former)
    assert entries > 1
    assert [moved.move(SECRET, former) for _ in range(2)] == [True, True]
    assert moved.identity(f"m{SECRET}") == before
    assert entries_of(services, f"m{SECRET}") == entries
    # What every server may have seen of it opens nothing, in whatever form.
    if former == FORMER:
        with pytest.raises(Unauthenticated, match="moved"):
            moved.identity(FORMER)
        assert entries_of(services, f"w{FORMER}") == entries_of(services, f"w{SECRET}") == 0
    with pytest.raises(Unauthenticated):
        moved.identity(f"m{FORMER}")
    # Nobody else takes it, and who has none gets none.
    assert not moved.move(OTHER, former)
    with pytest.raises(Unauthenticated):
        moved.identity(f"m{OTHER}")
    assert not moved.move("c3" * 16, "d4" * 16)


@pytest.mark.both_databases
@pytest.mark.parametrize("former", [FORMER, f"w{FORMER}"], ids=["of before", "earlier address"])
def test_an_account_that_moved_follows_its_server_again(services: Services, former: str) -> None:
    """Two more addresses later it is the same account, with all that was spent, and opens once."""
    moved, survey = services.moved_accounts, services.surveys.open_survey(define())
    before = moved.identity(former)
    Device(before.secret).send(services, survey)
    entries = entries_of(services, former)
    secrets_of_addresses = (SECRET, OTHER, "c3" * 16)
    names = former
    for secret in secrets_of_addresses:
        assert [moved.move(secret, names) for _ in range(2)] == [True, True]
        assert moved.identity(f"m{secret}") == before
        assert entries_of(services, f"m{secret}") == entries > 1
        assert not moved.move("d4" * 16, names)
        names = f"w{secret}"


@pytest.mark.both_databases
def test_an_account_of_its_own_is_not_lost(services: Services) -> None:
    """A secret that has begun an account at this address keeps it."""
    moved, survey = services.moved_accounts, services.surveys.open_survey(define())
    for sent in (FORMER, f"w{SECRET}"):
        Device(moved.identity(sent).secret).send(services, survey)
    assert not moved.move(SECRET, FORMER)
    assert entries_of(services, FORMER) > 1
    assert entries_of(services, f"w{SECRET}") > 1


@pytest.mark.both_databases
def test_of_those_who_move_an_account_at_once_one_has_it(services: Services) -> None:
    """An account is never open to two secrets."""
    moved, survey = services.moved_accounts, services.surveys.open_survey(define())
    for _ in range(5):
        former = secrets.token_hex(16)
        Device(former).send(services, survey)
        rivals = [partial(moved.move, secrets.token_hex(16), former) for _ in range(4)]
        assert sorted(all_at_once(*rivals)) == [False] * 3 + [True]


@pytest.mark.both_databases
def test_nothing_that_is_kept_leads_from_one_secret_to_the_other(services: Services) -> None:
    """Neither secret is in the database, nor a name of the account beside the move."""
    survey = services.surveys.open_survey(define())
    Device(FORMER).send(services, survey)
    person = services.moved_accounts.identity(FORMER).person
    before = str(everything(services))
    services.moved_accounts.move(SECRET, FORMER)
    after = str(everything(services))
    assert after != before
    assert FORMER not in after
    assert SECRET not in after
    assert after.count(person) == before.count(person)


def test_a_device_moves_its_account_over_http(live_server: LiveServers) -> None:
    """A device of before has its responses and its spending under the new secret alone."""
    server = live_server()
    survey = server.services.surveys.open_survey(define())
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        old = Phone(client)
        id_ = old.take_part(survey)[0].json()["id"]
        had = old.ask("GET", "/me").json()
        new = Phone(client, f"w{SECRET}")
        assert new.ask("POST", "/me/move", {"former": "x"}).status_code == 422
        answer = new.ask("POST", "/me/move", {"former": old.participant})
        assert (answer.status_code, answer.json()["moved"]) == (200, True)
        assert old.ask("GET", "/me").status_code == 401
        moved = Phone(client, f"m{SECRET}")
        assert moved.ask("GET", "/me").json() == had
        assert moved.ask("POST", f"/participations/{id_}/withdraw").status_code == 200
        assert Phone(client, f"m{OTHER}").ask("GET", "/me").status_code == 401
        for wrong in ("x" + SECRET, SECRET.upper(), SECRET[1:], f"ww{SECRET}"):
            assert Phone(client, wrong).ask("GET", "/me").status_code == 401


def test_a_server_says_which_address_it_has(live_server: LiveServers) -> None:
    """Its own address for anybody; the app may ask earlier ones, and no others."""
    server = live_server(
        public_url="https://new.example", earlier_addresses="https://old.example,https://b.example"
    )
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        told = client.get("/.well-known/masquerade-address")
        assert told.json()["address"] == "https://new.example"
        assert told.headers["access-control-allow-origin"] == "*"
        page = client.get("/me")
        assert 'data-earlier="https://old.example https://b.example"' in page.text
        policy = page.headers["content-security-policy"]
        assert "connect-src 'self' https://old.example https://b.example;" in policy
    plain = live_server()
    with httpx.Client(base_url=plain.url, trust_env=False) as client:
        assert client.get("/.well-known/masquerade-address").status_code == 404
        assert "data-earlier" not in client.get("/me").text


def test_an_earlier_address_is_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is no address is refused when the server starts."""
    monkeypatch.setenv("MASQUERADE_EARLIER_ADDRESSES", "https://old.example/path")
    with pytest.raises(ParameterError):
        Settings.from_environment(make_folder=False)
