"""The desk in a real browser: money, webhooks, completion codes and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Person, beasts, respond

from masquerade.accounting import Caps
from masquerade.exact import Micro
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.payments.rewards import Reward

pytestmark = pytest.mark.browser

GENEROUS = Caps(Micro(1_000_000_000), Caps().delta, 1000)


def test_the_desk_can_be_used_by_everybody(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """Empty and filled, every page passes axe-core, fits both widths, and has large targets."""
    server, visitor = live_server(webhook_private=True), new_visitor()
    page, here, services = visitor.page, server.url, server.services
    page.goto(server.owner_link)
    for name in ("funds", "webhooks", "audit"):
        page.goto(f"{here}/{name}")
        assert faults(page, f"{name}-empty") == {}
    page.goto(f"{here}/funds")
    page.locator("#in-amount").fill("5 000")
    page.locator("#in-currency").fill("EUR cent")
    page.locator("#in-note").fill("Invoice 7")
    page.get_by_role("button", name="Pay in").click()
    expect(page.locator(".big-number")).to_contain_text("5,000")
    reward = Reward("wallet", "EUR cent", {"high": 100, "medium": 100, "low": 100}, 0)
    survey = services.surveys.open_survey(beasts(levels=("high",)), reward=reward, budget=1200)
    for _ in range(3):
        respond(server, survey)
    who = services.identity("ab" * 16)
    respond(server, survey, "ab" * 16)
    wish = {
        "payer": FIRST_TEAM,
        "currency": "EUR cent",
        "amount": None,
        "idempotency_key": "c" * 32,
    }
    services.wallets.ask(who, destination="=bank account 12", **wish)
    page.goto(f"{here}/funds")
    expect(page.locator("table").first).to_contain_text("=bank account 12")
    assert faults(page, "funds") == {}
    page.get_by_label("Payout to =bank account 12").check()
    page.get_by_role("button", name="These are paid").click()
    expect(page.get_by_text("Payouts waiting")).to_have_count(0)
    page.get_by_label("Give it more").fill("99 999")
    page.get_by_role("button", name="Add to Beasts").click()
    expect(page.get_by_role("alert")).to_contain_text("this takes 99999 EUR cent")

    page.goto(f"{here}/webhooks")
    page.locator("#url").fill(f"{here}/nowhere")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#secret")).to_be_visible()
    assert faults(page, "webhooks-new") == {}
    page.goto(f"{here}/webhooks")
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#log table")).to_contain_text("test")
    assert faults(page, "webhooks") == {}

    page.goto(f"{here}/audit")
    expect(page.locator("table.audit")).to_contain_text("added a webhook")
    page.get_by_role("button", name="Check now").click()
    expect(page.locator("#integrity")).to_contain_text("holds")
    assert faults(page, "audit") == {}
    assert [one for one in visitor.complaints if "409" not in one] == []


def test_codes_are_checked_off(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """A code is valid once; the list comes when the survey is over."""
    server, visitor = live_server(), new_visitor()
    page, services = visitor.page, server.services
    page.goto(server.owner_link)
    reward = Reward("codes", "credits", {"high": 0})
    survey = services.surveys.open_survey(beasts(levels=("high",)), reward=reward)
    for _ in range(3):
        respond(server, survey)
    page.goto(f"{server.url}/surveys/{survey.token}/codes")
    expect(page.locator("main")).to_contain_text("of 3 checked off")
    expect(page.locator("main")).to_contain_text("once the survey is over")
    assert faults(page, "codes-open") == {}
    services.surveys.close(survey)
    page.reload()
    code = page.locator(".code-list code").first.inner_text()
    page.locator("#typed").fill(f"{code.lower()}\n{code}\nNO-SUCH-CODE")
    page.get_by_role("button", name="Check off").click()
    assert page.locator("#verdicts .badge").all_inner_texts() == [
        "valid",
        "checked before",
        "unknown",
    ]
    assert faults(page, "codes") == {}


def test_people_see_what_they_get(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """Amount before, wallet after, payout asked for and taken back; a code where a panel pays."""
    server, visitor = live_server(rate_participant=0, caps=GENEROUS), new_visitor()
    page, services = visitor.page, server.services
    services.funds.pay_in(FIRST_TEAM, amount=1000, currency="points", note="", key="k")
    reward = Reward("wallet", "points", {"high": 5, "medium": 8}, 0)
    levels = ("high", "medium")
    survey = services.surveys.open_survey(beasts(levels=levels), reward=reward, budget=1000)
    page.goto(f"{server.url}/s/{survey.token}")
    promise = page.locator(".reward")
    expect(promise).to_contain_text("5 points")
    expect(promise).to_contain_text("8 points")
    assert faults(page, "intro") == {}
    page.set_viewport_size({"width": 390, "height": 844})
    Person(page).finish()
    expect(page.locator("#reward")).to_contain_text("5 points")
    assert faults(page, "done") == {}
    page.goto(f"{server.url}/me/ledger")
    page.get_by_role("button", name="Ask for it").click()
    expect(page.locator("main")).to_contain_text("5 points from My team")
    page.locator("#pay-to-0").fill("ann@an.example")
    page.get_by_role("button", name="Ask for it").click()
    expect(page.locator(".payouts")).to_contain_text("waiting")
    assert faults(page, "wallet") == {}
    [asked] = services.funds.payouts(FIRST_TEAM)
    assert (asked.amount, asked.destination) == (5, "ann@an.example")
    page.get_by_role("button", name="Put it back").click()
    expect(page.locator(".payouts")).to_contain_text("taken back")
    assert services.funds.payouts(FIRST_TEAM) == []

    panel = services.surveys.open_survey(
        beasts(levels=levels), reward=Reward("codes", "points", {}, 0)
    )
    page.goto(f"{server.url}/s/{panel.token}")
    expect(page.locator(".reward")).to_contain_text("completion code")
    Person(page).finish()
    code = page.locator("#reward code").inner_text()
    assert services.completion_codes.check(panel.token, panel.reward, [code]) == [(code, "valid")]
    page.reload()
    expect(page.locator("#reward code")).to_have_text(code)
    assert visitor.complaints == []


def test_a_paid_survey_from_draft_to_payment(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """The builder asks how it is paid; without money the review says so; with it, it opens."""
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(server.owner_link)
    page.get_by_role("button", name="Use “Pick one”").click()
    page.get_by_role("link", name="Audience").click()
    page.get_by_label("Each person gets").select_option("flat")
    page.get_by_label("How it is paid").select_option("wallet")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.get_by_role("link", name="Open survey").click()
    page.get_by_role("button", name="Open it now").click()
    expect(page.get_by_role("alert")).to_contain_text("credits and there are 0")
    server.services.funds.pay_in(FIRST_TEAM, amount=9999, currency="credits", note="", key="k")
    page.get_by_role("button", name="Open it now").click()
    expect(page.get_by_role("heading", name="Share")).to_be_visible()
    [survey] = server.services.surveys.records()
    assert survey.reward.kind == "wallet"
    assert survey.reward.given > 0
