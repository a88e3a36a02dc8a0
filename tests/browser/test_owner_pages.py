"""The owner makes a survey, people answer, the result page shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Person, close_survey, respond, width

pytestmark = pytest.mark.browser


def answer_first_options(page: Page, url: str) -> None:
    """Answer a survey with the first option everywhere and send it."""
    page.goto(url)
    Person(page, answers=[0] * 20).finish()


def test_three_clicks_to_a_live_survey_and_a_result_that_moves(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """Use, Open survey, Open it now: live. An answer moves the count; closing shows the result."""
    server = live_server()
    owner = new_visitor(viewport={"width": 1280, "height": 900})
    owner.page.goto(server.owner_link)
    owner.page.get_by_role("button", name="Use “Pick one”").click()
    owner.page.get_by_role("link", name="Open survey").click()
    owner.page.locator("#open-it").click()
    link = owner.page.locator("#share").get_attribute("href")
    assert link is not None
    expect(owner.page.locator("#responses")).to_have_text("0")
    participant = new_visitor()
    answer_first_options(participant.page, link)
    expect(owner.page.locator("#responses")).to_have_text("1")
    close_survey(owner.page)
    expect(owner.page.locator("#question-q1 .headline")).to_contain_text("Fewer than 20")
    expect(owner.page.locator("#bill")).to_contain_text("1 response")
    assert owner.complaints == []
    assert participant.complaints == []
    late = new_visitor()
    late.page.goto(link)
    expect(late.page.locator('main[data-view="closed"]')).to_be_visible()


def test_every_owner_page_fits_a_phone_and_breaks_no_rule(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """No page is wider than 390 pixels, and none breaks the content security policy."""
    server = live_server()
    owner = new_visitor()
    page = owner.page
    page.goto(server.owner_link)
    for template in ("Rate items", "Pick one", "Label with a crowd"):
        page.goto(f"{server.url}/surveys/new")
        assert width(page) <= 390
        page.get_by_role("button", name=f"Use “{template}”").click()
        page.get_by_role("link", name="Open survey").click()
        page.locator("#open-it").click()
        expect(page.locator("#share")).to_be_visible()
        assert width(page) <= 390
        token = page.url.rpartition("/")[2]
        survey = server.services.surveys.record(token)
        for _ in range(12):
            respond(server, survey)
        close_survey(page)
        expect(page.locator(".results")).to_be_visible()
        assert width(page) <= 390
    page.goto(f"{server.url}/surveys")
    assert width(page) <= 390
    assert owner.complaints == []


def test_the_demo_can_be_answered_and_closed(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """From the demonstration's page one can answer, close the survey and see its result."""
    server = live_server(demo=True)
    visitor = new_visitor()
    page = visitor.page
    page.goto(server.url)
    expect(page.locator("#reports")).to_be_visible()
    link = page.locator("#answer").get_attribute("href")
    answer_first_options(page, f"{server.url}{link}")
    page.goto(f"{server.url}/surveys")
    page.get_by_role("link", name="your turn").click()
    close_survey(page)
    expect(page.locator("#question-ill .headline")).to_contain_text("Fewer than 20")
    assert visitor.complaints == []
