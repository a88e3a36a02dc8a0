"""Signing in by an OpenID provider: the account joined, and hostile answers of all kinds."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.accounts.casts import Cast
from tests.serving import CERTIFICATES

from masquerade.errors import NotFound, ParameterError, ServerUnavailable, Unauthenticated
from masquerade.server import Services
from masquerade.server.accounts import openid
from masquerade.server.accounts.openid import Identities, Provider, Ticket
from masquerade.server.http import rate_limit
from masquerade.server.http.security import COOKIE, csrf_token

pytest.importorskip("joserfc")

from joserfc import jwk
from tests.server.accounts.openid_provider import CLIENT, SECRET, FakeProvider, provider_here

if TYPE_CHECKING:
    from tests.conftest import LiveServers

SITE = "https://surveys.example"


@pytest.fixture(scope="module")
def running() -> Iterator[FakeProvider]:
    """A provider."""
    with provider_here() as provider:
        yield provider


@pytest.fixture
def provider(running: FakeProvider) -> FakeProvider:
    """The provider in its first state, for all changes of a test before."""
    running.changes, running.signing, running.document = {}, ("RS256", running.key), {}
    running.requests.clear()
    return running


def identities_of(services: Services, issuer: str) -> Identities:
    """Return a database's identities at a provider."""
    known = Provider(issuer, CLIENT, SECRET, "University")
    return Identities(services.transactions, known, today=lambda: "2026-03-14", key=lambda: "a key")


def come(
    identities: Identities, provider: FakeProvider, subject: str, *, account: str = ""
) -> tuple[Ticket, dict[str, str]]:
    """Return the address that a browser comes back with after a sign-in at the provider."""
    begun = identities.begin(SITE, account=account, next="/surveys")
    answer = provider.come(begun.address, subject)
    return identities.ticket(begun.ticket, answer["state"]), answer


def test_who_was_joined_signs_in_and_nobody_else(cast: Cast, provider: FakeProvider) -> None:
    """An account is that of the person that its owner joined, until that is taken off."""
    identities = identities_of(cast.services, provider.issuer)
    owner, editor = cast.members["owner"], cast.members["editor"]
    with pytest.raises(Unauthenticated, match="nobody has joined this account of University"):
        identities.sign_in(SITE, *come(identities, provider, "ann"))
    for _ in range(2):  # twice is once
        identities.join(owner, SITE, *come(identities, provider, "ann", account=owner))
    assert identities.sign_in(SITE, *come(identities, provider, "ann")).id == owner
    with pytest.raises(Unauthenticated):
        identities.sign_in(SITE, *come(identities, provider, "Ann"))
    with pytest.raises(ParameterError, match="joined to another one here"):
        identities.join(editor, SITE, *come(identities, provider, "ann", account=editor))
    ((digest, day),) = identities.of_account(owner)
    assert day == "2026-03-14"
    with pytest.raises(NotFound):
        identities.remove(editor, digest)
    identities.remove(owner, digest)
    with pytest.raises(Unauthenticated):
        identities.sign_in(SITE, *come(identities, provider, "ann"))


def test_a_person_of_another_provider_is_another(cast: Cast, provider: FakeProvider) -> None:
    """Two providers may call two people by one name; the database tells nobody their identity."""
    identities = identities_of(cast.services, provider.issuer)
    owner = cast.members["owner"]
    identities.join(owner, SITE, *come(identities, provider, "ann", account=owner))
    ((digest, _),) = identities.of_account(owner)
    assert "ann" not in digest
    with provider_here() as other:
        elsewhere = identities_of(cast.services, other.issuer)
        with pytest.raises(Unauthenticated, match="nobody has joined"):
            elsewhere.sign_in(SITE, *come(elsewhere, other, "ann"))


def test_who_is_disabled_does_not_come_back(sqlite_cast: Cast, provider: FakeProvider) -> None:
    """With the account every way to sign in ends, this one too."""
    identities = identities_of(sqlite_cast.services, provider.issuer)
    editor = sqlite_cast.members["editor"]
    identities.join(editor, SITE, *come(identities, provider, "ben", account=editor))
    sqlite_cast.services.teams.disable(editor)
    assert identities.of_account(editor) == []
    with pytest.raises(Unauthenticated):
        identities.sign_in(SITE, *come(identities, provider, "ben"))


CHANGES: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://login.example"},
    "no issuer": {"iss": None},
    "for another": {"aud": "another"},
    "for several, by another": {"aud": [CLIENT, "another"], "azp": "another"},
    "for several, nobody says by whom": {"aud": [CLIENT, "another"]},
    "made by another": {"azp": "another"},
    "over": {"exp": int(time.time()) - 3600},
    "without an end": {"exp": None},
    "of the future": {"iat": int(time.time()) + 3600},
    "another nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "nobody": {"sub": ""},
    "no text": {"sub": 7},
    "no subject": {"sub": None},
    "a very long name": {"sub": "x" * 256},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_token_that_is_not_right_is_refused(
    sqlite_cast: Cast, provider: FakeProvider, change: str
) -> None:
    """Issuer, audience, party, times, nonce and subject are each checked."""
    identities = identities_of(sqlite_cast.services, provider.issuer)
    owner = sqlite_cast.members["owner"]
    identities.join(owner, SITE, *come(identities, provider, "ann", account=owner))
    back = come(identities, provider, "ann")
    provider.changes = CHANGES[change]
    with pytest.raises(Unauthenticated, match="was not accepted"):
        identities.sign_in(SITE, *back)


def test_a_signature_that_is_not_the_providers_is_refused(
    sqlite_cast: Cast, provider: FakeProvider
) -> None:
    """Another key, no signature, or one from a secret that both sides know, is worth nothing."""
    identities = identities_of(sqlite_cast.services, provider.issuer)
    owner = sqlite_cast.members["owner"]
    identities.join(owner, SITE, *come(identities, provider, "ann", account=owner))
    other = jwk.RSAKey.generate_key(2048, {"kid": "1"})
    shared = jwk.OctKey.import_key(SECRET * 3)
    for signing in (("RS256", other), ("HS256", shared)):
        provider.signing = signing
        with pytest.raises(Unauthenticated, match="was not accepted"):
            identities.sign_in(SITE, *come(identities, provider, "ann"))
    back = come(identities, provider, "ann")
    unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ."
    provider.token = lambda *_: {"id_token": unsigned}  # type: ignore[method-assign]
    try:
        with pytest.raises(Unauthenticated, match="was not accepted"):
            identities.sign_in(SITE, *back)
    finally:
        del provider.token


def test_a_ticket_is_for_its_browser_its_account_and_ten_minutes(
    sqlite_cast: Cast, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A code that another browser began with, or began to join another account, is refused."""
    identities = identities_of(sqlite_cast.services, provider.issuer)
    owner, editor = sqlite_cast.members["owner"], sqlite_cast.members["editor"]
    mine, theirs = (identities.begin(SITE) for _ in range(2))
    answer = provider.come(theirs.address, "eve")
    for ticket in (mine.ticket, "", "forged"):
        with pytest.raises(Unauthenticated):
            identities.ticket(ticket, answer["state"])
    begun = come(identities, provider, "eve", account=editor)
    with pytest.raises(Unauthenticated):
        identities.join(owner, SITE, *begun)
    # The proof key of one beginning does not fit the code of another.
    with pytest.raises(Unauthenticated):
        identities.sign_in(
            SITE, identities.ticket(mine.ticket, provider.come(mine.address, "x")["state"]), answer
        )
    monkeypatch.setattr(openid, "TICKET_SECONDS", -1)
    with pytest.raises(Unauthenticated, match="too long"):
        identities.ticket(theirs.ticket, answer["state"])


def test_a_code_works_once(sqlite_cast: Cast, provider: FakeProvider) -> None:
    """A browser's answer from the provider signs nobody in again."""
    identities = identities_of(sqlite_cast.services, provider.issuer)
    owner = sqlite_cast.members["owner"]
    identities.join(owner, SITE, *come(identities, provider, "ann", account=owner))
    back = come(identities, provider, "ann")
    assert identities.sign_in(SITE, *back).id == owner
    with pytest.raises(Unauthenticated):
        identities.sign_in(SITE, *back)


def test_another_providers_answer_is_refused_before_it_is_used(
    sqlite_cast: Cast, provider: FakeProvider
) -> None:
    """An answer that names another issuer, or an error, makes no request."""
    identities = identities_of(sqlite_cast.services, provider.issuer)
    ticket, answer = come(identities, provider, "ann")
    asked = len(provider.requests)
    for wrong in ({**answer, "iss": "https://login.example"}, {"error": "access_denied"}):
        with pytest.raises(Unauthenticated):
            identities.sign_in(SITE, ticket, wrong)
    assert len(provider.requests) == asked


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"issuer": "https://login.example"}, "it calls itself 'https://login.example'"),
        ({"jwks_uri": None}, "its jwks_uri is no address of https"),
        ({"token_endpoint": "http://192.0.2.1/token"}, "its token_endpoint is no address of https"),
    ],
)
def test_a_provider_that_is_none_says_so_and_is_asked_once(
    sqlite_cast: Cast, provider: FakeProvider, document: dict[str, Any], words: str
) -> None:
    """Discovery is checked; and strangers cannot have a broken provider asked again and again."""
    provider.document = document
    identities = identities_of(sqlite_cast.services, provider.issuer)
    with pytest.raises(ServerUnavailable, match=words):
        identities.begin(SITE)
    for _ in range(3):
        with pytest.raises(ServerUnavailable):
            identities.begin(SITE)
    assert len(provider.requests) == 1


def test_a_server_asks_the_provider_when_it_starts(
    sqlite_cast: Cast, provider: FakeProvider
) -> None:
    """Another name is refused with both names; a silent provider is told and not refused."""
    services = sqlite_cast.services
    assert identities_of(services, provider.issuer).check() == ""
    assert Identities(services.transactions, None, today=str, key=str).check() == ""
    with pytest.raises(ParameterError, match="slashes too") as caught:
        identities_of(services, f"{provider.issuer}/").check()
    assert f"calls itself {provider.issuer!r}" in str(caught.value)
    provider.document = {"issuer": None}
    assert "it calls itself" in identities_of(services, provider.issuer).check()
    assert "no answer came" in identities_of(services, "http://127.0.0.1:1").check()


def test_settings_that_cannot_work_are_refused() -> None:
    """A provider without TLS, or without the server's id and secret, is none."""
    for issuer in ("http://login.example", "login.example", "ftp://login.example"):
        with pytest.raises(ParameterError, match="openid_issuer is"):
            Provider(issuer, CLIENT, SECRET)
    with pytest.raises(ParameterError, match="set openid_client and openid_client_secret"):
        Provider("https://login.example", CLIENT, "")
    assert Provider("https://login.example/realm", CLIENT, SECRET).shown == "login.example"
    assert SECRET not in repr(Provider("https://login.example", CLIENT, SECRET))


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library that checks signatures the error is the line that installs it."""
    monkeypatch.setattr(openid, "find_spec", lambda _name: None)
    with pytest.raises(ParameterError, match=r"\[sso\]"):
        Provider("https://login.example", CLIENT, SECRET)


def test_a_browser_joins_signs_out_and_comes_back(
    live_server: LiveServers, provider: FakeProvider
) -> None:
    """By the pages: join with the password, sign out, sign in by the provider, and take it off."""
    settings: dict[str, Any] = {
        "openid_issuer": provider.issuer,
        "openid_client": CLIENT,
        "openid_client_secret": SECRET,
        "openid_name": "University of Trees",
    }
    server = live_server(**settings)
    with httpx.Client(
        base_url=server.url,
        verify=CERTIFICATES,
        trust_env=False,
        headers={"Accept": "text/html", "Origin": server.url},
    ) as browser:
        browser.get(server.owner_link)
        password = "four words in a row"
        csrf = {"csrf": csrf_token(browser.cookies[COOKIE])}
        browser.post("/account/password", data={**csrf, "new": password})
        csrf = {"csrf": csrf_token(browser.cookies[COOKIE])}
        wrong = browser.post("/account/openid", data={**csrf, "password": "wrong"})
        assert "the current password is wrong" in wrong.text
        went = browser.post("/account/openid", data={**csrf, "password": password})
        assert "University of Trees" in went.text
        address = re.findall(r'href="([^"]*authorize[^"]*)"', went.text)[0].replace("&amp;", "&")
        back = browser.get(openid.RETURN_PATH, params=provider.come(address, "ann"))
        back = browser.get(back.headers["location"])
        assert back.headers["location"] == "/account?done=openid"
        assert "masquerade-openid" not in browser.cookies
        assert "Sign in with it from now on" in browser.get("/account?done=openid").text

        browser.post("/sign-out", data=csrf)
        assert COOKIE not in browser.cookies
        asked = browser.get("/sign-in?next=/team")
        assert "Sign in with University of Trees" in asked.text
        went = browser.get("/sign-in/openid", params={"next": "/team"})
        assert went.headers["location"].startswith(f"{provider.issuer}/authorize?tenant=1&")
        cookie = went.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        answer = provider.come(went.headers["location"], "ann")
        # A stranger who lures somebody to the address with an answer of their own gets nowhere.
        with httpx.Client(base_url=server.url, verify=CERTIFICATES, trust_env=False) as stranger:
            lured = stranger.get(openid.RETURN_PATH, params=answer)
            assert lured.status_code == 401
            assert COOKIE not in stranger.cookies
        back = browser.get(openid.RETURN_PATH, params=answer)
        assert back.headers["location"] == "/team"
        account = browser.get("/account").text
        assert "since 20" in account
        again = browser.get("/sign-in/openid")
        assert again.headers["location"] == "/surveys"

        digest = re.findall(r"/account/openid/([0-9a-f]{64})/remove", account)[0]
        csrf = {"csrf": csrf_token(browser.cookies[COOKIE])}
        browser.post(f"/account/openid/{digest}/remove", data=csrf)
        browser.post("/sign-out", data=csrf)
        went = browser.get("/sign-in/openid")
        answer = provider.come(went.headers["location"], "ann")
        refused = browser.get(openid.RETURN_PATH, params=answer)
        assert refused.status_code == 401
        assert "nobody has joined this account" in refused.text
    log = [entry.action for entry in server.services.audit_log.page(_team(server.services))]
    assert log.count("signed in by the OpenID provider") == 1
    assert log.count("joined an OpenID sign-in to their account") == 1


def _team(services: Services) -> str:
    return services.teams.first().id


def test_one_address_cannot_have_the_provider_asked_without_end(
    live_server: LiveServers, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many sign-ins from one address the provider is asked no more."""
    settings: dict[str, Any] = {
        "openid_issuer": provider.issuer,
        "openid_client": CLIENT,
        "openid_client_secret": SECRET,
    }
    monkeypatch.setattr(rate_limit, "FROM_ONE_ADDRESS", 3)
    server = live_server(**settings)
    with httpx.Client(base_url=server.url, verify=CERTIFICATES, trust_env=False) as browser:
        found = []
        for _ in range(4):
            went = browser.get("/sign-in/openid")
            answer = provider.come(went.headers["location"], "nobody")
            found.append(browser.get(openid.RETURN_PATH, params=answer).status_code)
    assert found == [401, 401, 401, 429]
    assert provider.requests.count("/token") == 3


def test_without_a_provider_there_is_nothing_to_see(live_server: LiveServers) -> None:
    """No button, no card, and the addresses say that there is none."""
    server = live_server()
    with httpx.Client(base_url=server.url, verify=CERTIFICATES, trust_env=False) as visitor:
        assert "openid" not in visitor.get("/sign-in").text
        assert visitor.get("/sign-in/openid").status_code == 404
        assert visitor.get(openid.RETURN_PATH).status_code == 401
