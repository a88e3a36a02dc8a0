"""The desk in a real browser: webhooks, completion codes and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Person, beasts, respond

from masquerade.accounting import Caps
from masquerade.exact import Micro
from masquerade.server.surveys.rewards import Reward

pytestmark = pytest.mark.browser

GENEROUS = Caps(Micro(1_000_000_000), Caps().delta, 1000)


def test_the_desk_can_be_used_by_everybody(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """Empty and filled, every page passes axe-core, fits both widths, and has large targets."""
    server, visitor = live_server(webhook_private=True), new_visitor()
    page, here = visitor.page, server.url
    page.goto(server.owner_link)
    for name in ("webhooks", "audit"):
        page.goto(f"{here}/{name}")
        assert faults(page, f"{name}-empty") == {}
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
    assert visitor.complaints == []


def test_codes_are_checked_off(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """A code is valid once; the list comes when the survey is over."""
    server, visitor = live_server(), new_visitor()
    page, services = visitor.page, server.services
    page.goto(server.owner_link)
    reward = Reward("credits", {"high": 0})
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
    """Amounts before; a code with its amount after, which is still there when they come back."""
    server, visitor = live_server(rate_participant=0, caps=GENEROUS), new_visitor()
    page, services = visitor.page, server.services
    reward = Reward("points", {"high": 5, "medium": 8})
    survey = services.surveys.open_survey(beasts(levels=("high", "medium")), reward=reward)
    page.goto(f"{server.url}/s/{survey.token}")
    promise = page.locator(".reward")
    expect(promise).to_contain_text("5 points")
    expect(promise).to_contain_text("8 points")
    expect(promise).to_contain_text("completion code")
    expect(promise).to_contain_text("the level that you chose")
    assert faults(page, "intro") == {}
    page.set_viewport_size({"width": 390, "height": 844})
    Person(page).finish()
    expect(page.locator("#reward")).to_contain_text("5 points")
    assert faults(page, "done") == {}
    code = page.locator("#reward code").inner_text()
    assert services.completion_codes.check(survey.token, reward, [code]) == [(code, "valid")]
    page.reload()
    expect(page.locator("#reward code")).to_have_text(code)
    assert visitor.complaints == []


def test_a_paid_survey_from_draft_to_the_list_of_codes(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """The builder asks how it is paid; the review explains the codes; it opens so."""
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(server.owner_link)
    page.get_by_role("button", name="Use “Pick one”").click()
    page.get_by_role("link", name="Audience").click()
    page.get_by_label("Each person gets").select_option("flat")
    page.get_by_label("How it is paid").select_option("codes")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.get_by_role("link", name="Open survey").click()
    expect(page.locator("main")).to_contain_text("which levels their owners chose")
    page.locator("#open-it").click()
    expect(page.get_by_role("heading", name="Share")).to_be_visible()
    [survey] = server.services.surveys.records()
    assert set(survey.reward.prices.values()) == {10}
