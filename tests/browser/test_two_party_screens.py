"""The screens of a participant between two parties, looked at by axe-core in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import NewVisitor, Person, see
from .test_app import faults as faults_of_screen
from .test_two_parties import HelperProcess, helper, leader, open_survey

pytestmark = pytest.mark.browser

__all__ = ["helper", "leader"]  # fixtures


@pytest.mark.parametrize(("scheme", "language"), [("light", "en-GB"), ("dark", "ar")])
def test_every_screen_of_a_participant_is_accessible(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor, scheme: str, language: str
) -> None:
    """From both parties' pages to the account: nothing for axe-core, small, cut off or English."""
    record = open_survey(leader, helper, new_visitor().page)
    visitor = new_visitor(color_scheme=scheme, locale=language, reduced_motion="reduce")
    page = visitor.page
    found: dict[str, list[str]] = {}
    for address in (helper.address, leader.url):
        page.goto(f"{address}/s/{record.token}")
        see(page, "intro")
        page.locator("details > summary").evaluate_all("all => all.forEach(e => e.click())")
        found[address] = faults_of_screen(page, in_the_dark=False)
    person = Person(page, (0, 3, 1), "two-parties")
    for screen in ("seal", "reveal", "done"):
        person.finish(screen)
        found[screen] = faults_of_screen(page, in_the_dark=False)
    page.goto(f"{leader.url}/me/ledger")
    see(page, "ledger")
    found["ledger"] = faults_of_screen(page, in_the_dark=False)
    if language == "ar":
        expect(page.locator("html")).to_have_attribute("dir", "rtl")
        assert "two parties" not in page.locator("main").inner_text()
    assert not any(found.values()), found
