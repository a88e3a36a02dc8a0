"""Signing in and out, joining and the account, as a browser meets them."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.accounts.casts import PASSWORD, Cast

from masquerade.server.accounts import passwords, totp
from masquerade.server.http.rate_limit import AT_ONE_DOOR
from masquerade.server.http.security import COOKIE, SECURE_COOKIE
from masquerade.server.routes.sign_in import HOME, safe_path

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers
    from tests.server.accounts.casts import Cast


class Browser:
    """A person with a cookie jar that reads and fills in pages."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(
            base_url=url, trust_env=False, follow_redirects=True, headers={"Accept": "text/html"}
        )

    def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return self.client.get(path)

    def post(self, path: str, **form: Any) -> httpx.Response:
        """Fill in a form, with the token that the last page carried."""
        csrf = re.search(r'<meta name="csrf" content="(\w+)">', self.get("/sign-in").text)
        if csrf is not None:
            form["csrf"] = csrf[1]
        return self.client.post(
            path, data=form, headers={"Origin": str(self.client.base_url).rstrip("/")}
        )

    @property
    def cookie(self) -> str:
        """The contents of the session cookie."""
        return self.client.cookies.get(COOKIE) or ""


@pytest.fixture
def server(live_server: LiveServers) -> LiveServer:
    """A running server on an empty database."""
    return live_server()


@pytest.fixture
def here(server: LiveServer) -> Cast:
    """A team on the running server with members that have passwords."""
    cast = Cast(server.services)
    hashed = passwords.hash_password(PASSWORD)
    cast.members["ann"] = cast.another("owner", password=hashed)
    server.services.accounts.rename(cast.members["ann"], login="ann", name="Ann")
    return cast


@pytest.fixture
def browser(server: LiveServer) -> Iterator[Browser]:
    """A browser without a session."""
    one = Browser(server.url)
    with one.client:
        yield one


def text_of(response: httpx.Response) -> str:
    """Return the text of a page as people read it."""
    return html.unescape(response.text)


SIGNED_IN = {"login": "ann", "password": "four words in a row"}


def test_signing_in_and_out(here: Cast, browser: Browser) -> None:
    """The right password leads to the page that was asked for; signing out ends the session."""
    page = browser.get("/tokens?a=b")
    assert page.url.path == "/sign-in"
    assert 'name="next" value="/tokens?a=b"' in page.text
    page = browser.post("/sign-in", **SIGNED_IN, next="/tokens?a=b")
    assert (page.status_code, page.url.path, page.url.query) == (200, "/tokens", b"a=b")
    assert browser.get("/sign-in?next=/team").url.path == "/team"
    secret = browser.cookie
    page = browser.post("/sign-out")
    assert page.url.path == "/sign-in"
    assert browser.cookie == ""
    assert here.services.credentials.by_session(secret) is None
    headers = {"Cookie": f"{COOKIE}={secret}"}
    assert browser.client.get("/team", headers=headers).url.path == "/sign-in"


def test_a_stranger_is_welcomed(here: Cast, browser: Browser) -> None:
    """Without a session the first page leads both kinds of people on; with one it is not shown."""
    page = browser.get("/")
    assert (page.status_code, page.url.path) == (200, "/")
    assert re.findall(r'<a class="button[^"]*" href="([^"]+)">([^<]+)</a>', page.text) == [
        ("/me", "I was invited"),
        ("/sign-in", "I run surveys"),
    ]
    assert "csrf" not in page.text
    browser.post("/sign-in", **SIGNED_IN)
    assert browser.get("/").url.path == "/surveys"


def test_a_session_begins_with_a_new_secret(here: Cast, browser: Browser) -> None:
    """A cookie that somebody put there before the sign-in is worth nothing after it."""
    planted = "planted-by-somebody-else-00000000000000000"
    browser.client.cookies.set(COOKIE, planted)
    browser.client.post("/sign-in", data=SIGNED_IN)
    first = browser.client.cookies.jar
    mine = [cookie.value for cookie in first if cookie.value != planted]
    assert len(mine) == 1
    assert here.services.credentials.by_session(planted) is None
    assert here.services.credentials.by_session(str(mine[0])) is not None


def test_signing_in_again_ends_the_session_before(here: Cast, browser: Browser) -> None:
    """The holder of the cookie of before the sign-in has no session after it."""
    browser.post("/sign-in", **SIGNED_IN)
    before = browser.cookie
    assert before
    browser.client.post("/sign-in", data=SIGNED_IN)
    assert browser.cookie != before
    assert here.services.credentials.by_session(before) is None


def test_the_cookie_is_for_this_server_alone(here: Cast, browser: Browser) -> None:
    """No script reads the cookie and no other site sends it."""
    answer = browser.client.post("/sign-in", data=SIGNED_IN, follow_redirects=False)
    assert answer.status_code == 303
    found = answer.headers["set-cookie"]
    assert found.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=2592000"):
        assert part in found
    assert "Domain" not in found


def test_over_https_the_cookie_is_bound_to_it(live_server: LiveServers) -> None:
    """Behind a proxy with a certificate the cookie is secure, and no other is taken."""
    server = live_server(public_url="https://surveys.example")
    services = server.services
    Cast(services)
    who = {"login": "ann", "name": "Ann", "password": PASSWORD}
    services.teams.found("Economists", **who)
    https = {"Host": "surveys.example", "Accept": "text/html"}
    with httpx.Client(base_url=server.url, trust_env=False, headers=https) as client:
        answer = client.post("/sign-in", data=SIGNED_IN)
        found = answer.headers["set-cookie"]
        assert found.startswith(f"{SECURE_COOKIE}=")
        assert "Secure" in found
        assert "Path=/" in found
        assert "Domain" not in found
        secret = found.partition("=")[2].partition(";")[0]
        for cookie, status in ((COOKIE, 303), (SECURE_COOKIE, 200)):
            client.cookies.clear()
            headers = {"Cookie": f"{cookie}={secret}"}
            assert client.get("/team", headers=headers).status_code == status, cookie


WRONG = [
    {"password": "five words in a row"},
    {"login": "nobody"},
    {"login": ""},
    {"login": "ann\0"},
    {"login": "a" * 5000},
    {"login": "owner"},
    {"code": "000000", "login": "coded"},
]


def test_a_wrong_sign_in_tells_nothing(here: Cast, browser: Browser) -> None:
    """For each wrong login, password or code, the answer is the same, and costs one hash."""
    accounts = here.services.accounts
    coded = here.another("editor", password=passwords.hash_password(PASSWORD))
    accounts.rename(coded, login="coded", name="Coded")
    secret, now = totp.new_secret(), int(time.time()) // 30
    assert accounts.ask_for_codes(coded, secret, totp.code_at(secret, now))
    plain = browser.client.post("/sign-in", data={**SIGNED_IN, "password": "six words in a row"})
    for wrong in WRONG:
        form = {**SIGNED_IN, **wrong}
        answer = browser.client.post("/sign-in", data=form)
        assert answer.status_code == 401, wrong
        assert "set-cookie" not in answer.headers
        same = plain.text.replace('value="ann"', f'value="{html.escape(form["login"])}"')
        assert answer.text == same, wrong


def test_every_wrong_sign_in_costs_one_hash(
    here: Cast, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown logins, accounts without a password and wrong passwords all compute one hash."""
    calls: list[str] = []
    hasher = type(passwords._HASHER)
    real = hasher.verify

    def counted(self: Any, hash: Any, password: Any) -> Any:
        calls.append(str(hash))
        return real(self, hash, password)

    monkeypatch.setattr(hasher, "verify", counted)
    here.services.teams.first_owner()
    for number, login in enumerate(("ann", "nobody", "owner", "a b", ""), 1):
        browser.client.post("/sign-in", data={"login": login, "password": "wrong"})
        assert len(calls) == number, login


def test_passwords_are_not_tried_without_end(here: Cast, browser: Browser) -> None:
    """After ten attempts the next is refused, the right one too, and says for how long."""
    for login in ("ann", "nobody"):
        for _ in range(AT_ONE_DOOR):
            answer = browser.client.post("/sign-in", data={"login": login, "password": "wrong"})
            assert answer.status_code == 401
        right = browser.client.post("/sign-in", data={**SIGNED_IN, "login": login})
        assert right.status_code == 429
        assert 0 < int(right.headers["retry-after"]) <= 90
        assert "too many attempts" in right.text


HOSTILE = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "https:evil.example",
    "https://evil.example",
    "http:/evil.example",
    "HTTPS://evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "evil.example",
    "@evil.example",
    "",
    " //evil.example",
    "\u2028//evil.example",
    "/team\r\nSet-Cookie: a=b",
]


def test_nobody_is_led_elsewhere(here: Cast, browser: Browser) -> None:
    """With every "next", signing in leads to a page of this server."""
    hashed = passwords.hash_password(PASSWORD)
    accounts = here.services.accounts
    for number, path in enumerate(HOSTILE):
        assert safe_path(path) == HOME
        browser.client.cookies.clear()
        form = browser.client.get("/sign-in", params={"next": path})
        assert f'name="next" value="{HOME}"' in form.text
        # Somebody else each time, as nobody signs in so often.
        accounts.rename(here.another("editor", password=hashed), login=f"ann{number}", name="Ann")
        sent = {**SIGNED_IN, "login": f"ann{number}", "next": path}
        for _ in range(2):  # signed out, then signed in
            answer = browser.client.post("/sign-in", data=sent, follow_redirects=False)
            assert (answer.status_code, answer.headers["location"]) == (303, HOME), path
            answer = browser.client.get("/sign-in", params={"next": path}, follow_redirects=False)
            assert (answer.status_code, answer.headers["location"]) == (303, HOME), path


@given(path=st.text(max_size=30) | st.from_regex(r"[/\\:.a-z@\s]{0,12}", fullmatch=True))
def test_prop_a_path_stays_here(path: str) -> None:
    """As browsers resolve it, every path that is let through is of the page's own host."""
    found = safe_path(path)
    resolved = httpx.URL("https://here.example/sign-in").join(found)
    assert (resolved.scheme, resolved.host) == ("https", "here.example")
    assert found.startswith("/")
    assert found[1:2] not in ("/", "\\")


def test_pages_of_a_path_are_kept() -> None:
    """Pages of this server are let through as they are, with their questions."""
    for path in ("/", "/team", "/surveys/0a?b=c&d=%2F%2Fe", "/join/a-b_c#part"):
        assert safe_path(path) == path


def test_the_owners_link_works_once(server: LiveServer, browser: Browser) -> None:
    """The first link makes the first owner, once; an owner with a password needs no link."""
    assert browser.get("/owner?token=wrong").status_code == 401
    assert browser.get(server.owner_link).url.path == "/surveys"
    assert browser.get("/owner").url.path == "/surveys"
    another = Browser(server.url)
    with another.client:
        assert another.get(server.owner_link).status_code == 401
        page = browser.post("/account/password", new="four words in a row")
        assert "The password is changed" in text_of(page)
        late = another.get(f"/owner?token={server.services.values.new_owner_token()}")
        assert late.status_code == 403
        assert "sign in with that" in late.text
        assert another.post("/sign-in", **{**SIGNED_IN, "login": "owner"}).url.path == "/surveys"


def test_a_new_password_ends_the_other_sessions(here: Cast, browser: Browser) -> None:
    """Changing the password takes the current one, and signs out every other browser."""
    browser.post("/sign-in", **SIGNED_IN)
    elsewhere = here.services.sessions.start(here.members["ann"], here.team)
    before = browser.cookie
    new = "five words are in here"
    page = browser.post("/account/password", current="wrong", new=new)
    assert page.status_code == 422
    assert "the current password is wrong" in page.text
    page = browser.post("/account/password", current=SIGNED_IN["password"], new="short")
    assert "5 characters" in page.text
    assert here.services.credentials.by_session(elsewhere) is not None
    page = browser.post("/account/password", current=SIGNED_IN["password"], new=new)
    assert page.url.path == "/account"
    assert here.services.credentials.by_session(elsewhere) is None
    assert here.services.credentials.by_session(before) is None
    assert browser.get("/team").url.path == "/team"
    assert here.services.accounts.recognise("ann", new, "") is not None


def test_codes_from_scan_to_sign_in(
    here: Cast, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes are turned on by showing one, asked for from then on, work once, and are turned off."""
    clock = {"now": 60_000_000.0}
    monkeypatch.setattr(here.services.accounts, "_clock", lambda: clock["now"])
    browser.post("/sign-in", **SIGNED_IN)
    page = browser.get("/account/codes")
    found = re.search(r'<code id="secret">(\w+)</code>', page.text)
    signed = re.search(r'name="signed" value="([^"]+)"', page.text)
    assert found is not None
    assert signed is not None
    secret, step = found[1], int(clock["now"]) // 30

    def turn_on(**changes: str) -> httpx.Response:
        form = {
            "signed": signed[1],
            "password": SIGNED_IN["password"],
            "code": totp.code_at(secret, step),
        }
        return browser.post("/account/codes", **{**form, **changes})

    assert "the code is wrong" in turn_on(code="000000").text
    assert "password is wrong" in turn_on(password="wrong").text
    late = turn_on(signed="forged")
    assert "took too long" in late.text
    assert secret not in late.text
    assert "asks for a code too" in turn_on().text
    browser.post("/sign-out")
    refused = browser.post("/sign-in", **SIGNED_IN, code=totp.code_at(secret, step))
    assert refused.status_code == 401
    clock["now"] += 30
    code = totp.code_at(secret, step + 1)
    assert browser.post("/sign-in", **SIGNED_IN, code=code).url.path == "/surveys"
    again = browser.client.post("/sign-in", data={**SIGNED_IN, "code": code})
    assert again.status_code == 401
    assert browser.post("/account/codes/remove", password="wrong").status_code == 422
    browser.post("/account/codes/remove", password=SIGNED_IN["password"])
    browser.post("/sign-out")
    assert browser.post("/sign-in", **SIGNED_IN).url.path == "/surveys"


def test_inviting_and_joining(here: Cast, browser: Browser, server: LiveServer) -> None:
    """An owner makes a link that is shown once; its follower is in the team, in that role."""
    browser.post("/sign-in", **SIGNED_IN)
    page = browser.post("/team/invitations", note="Bob <b>", role="viewer")
    found = re.search(r'<code id="link">([^<]+)</code>', page.text)
    assert found is not None
    assert "Bob <b>" not in page.text
    link = found[1]
    assert link not in browser.get("/team").text
    bob = Browser(server.url)
    with bob.client:
        page = bob.get(link)
        assert "Join “Sociologists”" in text_of(page)
        form = {"name": "Bob", "login": "bob", "password": "short"}
        page = bob.post(httpx.URL(link).path, **form)
        assert page.status_code == 422
        assert 'value="bob"' in page.text
        page = bob.post(httpx.URL(link).path, **{**form, "password": "seven words in a row"})
        assert page.url.path == "/surveys"
        page = bob.get("/team")
        assert "Invite somebody" not in page.text
        assert "viewer" in page.text
        assert bob.get(link).status_code == 404
    (member,) = [m for m in here.services.teams.members(here.team) if m.account.login == "bob"]
    assert member.role == "viewer"


def test_joining_another_team(here: Cast, browser: Browser) -> None:
    """The holder of an account joins with it, signed in or not, and goes from team to team."""
    invitations = here.services.invitations
    first = invitations.create(here.other_team, role="auditor", note="Ann")
    refused = browser.post(f"/join/{first}/sign-in", login="ann", password="wrong")
    assert refused.status_code == 401
    assert browser.post(f"/join/{first}/sign-in", **SIGNED_IN).url.path == "/surveys"
    page = browser.get("/team")
    assert "Economists" in page.text
    assert "Sociologists" in page.text
    assert browser.post("/team/switch", team="0" * 32).status_code == 404
    browser.post("/team/switch", team=here.team)
    assert "Invite somebody" in browser.get("/team").text
    second = invitations.create(here.other_team, role="owner", note="Ann")
    assert "Join as Ann" in browser.get(f"/join/{second}").text
    assert browser.post(f"/join/{second}/me").status_code == 409
    assert browser.post("/team/leave").url.path == "/sign-in"
    assert browser.cookie == "" or browser.get("/team").url.path == "/sign-in"


def test_a_token_is_shown_once(here: Cast, browser: Browser, server: LiveServer) -> None:
    """A token is on the page that made it and never again; it works until it is revoked."""
    browser.post("/sign-in", **SIGNED_IN)
    page = browser.post("/tokens", name="notebook", scopes=["survey:read"], until="")
    found = re.search(r'<code id="token">(mq_[\w-]+)</code>', page.text)
    assert found is not None
    token = found[1]
    page = browser.get("/tokens")
    assert token not in page.text
    assert f"mq_…{token[-4:]}" in page.text
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    with httpx.Client(base_url=server.url, trust_env=False, headers=headers) as program:
        assert program.get("/surveys").status_code == 200
        assert program.get("/surveys/new").status_code == 403
        revoke = re.search(r'action="(/tokens/\w+/revoke)"', page.text)
        assert revoke is not None
        browser.post(revoke[1])
        assert program.get("/surveys").status_code == 401


def test_no_token_beyond_the_role(here: Cast, browser: Browser) -> None:
    """A viewer makes no token with an owner's scopes."""
    viewer = here.another("viewer", password=passwords.hash_password(PASSWORD))
    here.services.accounts.rename(viewer, login="vic", name="Vic")
    browser.post("/sign-in", **{**SIGNED_IN, "login": "vic"})
    page = browser.post("/tokens", name="x", scopes=["survey:read", "team:manage"])
    assert page.status_code == 422
    assert "does not have 'team:manage'" in text_of(page)
    assert here.services.tokens.of_team(here.team) == []


def test_the_demonstration_has_an_owner_for_everybody(live_server: LiveServers) -> None:
    """Every visitor of the demonstration is its owner, without a session or an account page."""
    server = live_server(demo=True)
    browser = Browser(server.url)
    with browser.client:
        page = browser.get("/team")
        assert page.status_code == 200
        assert browser.cookie == ""
        assert 'href="/account"' not in page.text
        assert browser.post("/team/name", name="Ours").url.path == "/team"
        refused = browser.client.post("/team/name", data={"name": "Theirs"})
        assert refused.status_code == 403
        assert browser.post("/account/password", new="four words in a row").status_code == 403
