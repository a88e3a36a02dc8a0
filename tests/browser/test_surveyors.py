"""Surveyors in a real browser: the way in, passkeys, and pages that everybody can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import confirm

from masquerade.server.db.tables import FIRST_TEAM

pytestmark = pytest.mark.browser

PASSWORD = "four words in a row"


def local(server: Any) -> str:
    """Return the address by the name that browsers trust with passkeys."""
    return str(server.url).replace("127.0.0.1", "localhost")


def first_owner(server: Any, page: Page) -> str:
    """Open the owner's link and return the address of the server."""
    here = local(server)
    page.goto(f"{here}/owner?token={server.services.values.new_owner_token()}")
    return here


def test_every_page_of_accounts_can_be_used_by_everybody(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """axe-core finds nothing, targets are 44 pixels, nothing is cut off; no script complains."""
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    here = local(server)
    page.goto(f"{here}/sign-in")
    assert faults(page) == {}
    first_owner(server, page)
    page.goto(f"{here}/account")
    assert faults(page) == {}
    page.locator("#new").fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("status")).to_contain_text("changed")
    server.services.teams.add(
        FIRST_TEAM, login="a-long-login@an.example", name="Grace", password=PASSWORD, role="viewer"
    )
    for path in ("/account", "/account/codes", "/tokens"):
        page.goto(f"{here}{path}")
        assert faults(page) == {}
    page.locator("#name").fill("notebook")
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("#token")).to_contain_text("mq_")
    assert faults(page) == {}
    page.goto(f"{here}/team")
    page.locator("#note").fill("Bob")
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("#link").inner_text()
    assert faults(page) == {}
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{here}/sign-in")
    page.goto(link)
    assert faults(page) == {}
    assert visitor.complaints == []


def test_a_passkey_is_made_and_used(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """A passkey of the device signs in, without password; its answer is taken once only."""
    pytest.importorskip("webauthn")
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    devices = visitor.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    device = devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    here = first_owner(server, page)
    page.goto(f"{here}/account")
    page.get_by_role("button", name="Make a passkey").click()
    expect(page.get_by_role("status")).to_contain_text("The passkey is kept")
    expect(page.locator("#passkeys .entries")).to_contain_text("This device")
    assert server.services.teams.first_owner() is None
    page.get_by_role("button", name="Sign out").click()

    sent: list[Any] = []
    page.on(
        "request",
        lambda request: (
            sent.append(request.post_data_json)
            if request.url.endswith("/sign-in/passkey")
            else None
        ),
    )
    page.goto(f"{here}/sign-in?next=/team")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page).to_have_url(f"{here}/team")
    assert len(sent) == 1
    again = page.request.post(f"{here}/sign-in/passkey", data=sent[0])
    assert again.status == 401

    page.get_by_role("button", name="Sign out").click()
    unverified = {"authenticatorId": device["authenticatorId"], "isUserVerified": False}
    devices.send("WebAuthn.setUserVerified", unverified)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator("#with-passkey").get_by_role("alert")).not_to_be_empty()
    devices.send("WebAuthn.setUserVerified", {**unverified, "isUserVerified": True})
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page).to_have_url(f"{here}/surveys")
    page.goto(f"{here}/account")
    confirm(page, "Remove the passkey This device", "Remove it")
    expect(page.locator("#passkeys .entries")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator("#with-passkey").get_by_role("alert")).to_contain_text("not accepted")
