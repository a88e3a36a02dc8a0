"""A question with several answers: boxes, their limit, no tick at all, and the builder."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.surveys import SeveralOf

from .conftest import NewVisitor, Person, kept, open_survey, see

pytestmark = pytest.mark.browser

QUESTION = SeveralOf(
    "s", "How do you come to work?", ("By bus", "By bicycle", "On foot"), most=2, allow_skip=True
)


def box(page: Page, name: str) -> Any:
    """Return the box of an answer."""
    return page.get_by_role("checkbox", name=name)


def test_boxes_are_ticked_within_the_limit(generous: Any, new_visitor: NewVisitor) -> None:
    """A third tick is refused with a message; "none" and "prefer not" stand alone; keys work."""
    survey = open_survey(generous, questions=(QUESTION,), reveal="before_send")
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish("question")
    group = page.get_by_role("group", name=QUESTION.text)
    expect(group.get_by_role("checkbox")).to_have_count(5)
    expect(box(page, "By bus")).to_have_accessible_description("Tick all that apply, at most 2.")
    page.locator("#next").click()
    expect(
        page.locator("#announcement, [role=status], [role=alert]")
        .filter(has_text="Please tick what applies")
        .first
    ).to_be_attached()

    box(page, "By bus").focus()
    page.keyboard.press("Space")
    box(page, "On foot").check()
    box(page, "By bicycle").click()
    expect(box(page, "By bicycle")).not_to_be_checked()
    expect(group.get_by_role("status")).to_have_text(
        "At most 2 can be ticked; untick another one first."
    )
    box(page, "None of these").check()
    expect(box(page, "By bus")).not_to_be_checked()
    box(page, "By bus").check()
    expect(box(page, "None of these")).not_to_be_checked()
    box(page, "Prefer not to say").check()
    expect(box(page, "By bus")).not_to_be_checked()
    box(page, "By bicycle").check()
    kept(page)
    page.reload()
    expect(box(page, "By bicycle")).to_be_checked()
    box(page, "By bicycle").press("Enter")
    see(page, "seal")
    person = Person(page)
    page.locator("#seal").click()
    see(page, "reveal")
    expect(page.locator(".pair .mine")).to_have_text("By bicycle")
    person.finish()
    [response] = generous.services.reports.of_survey(survey.token)
    assert 0 <= response.reports[0] < 16


def test_the_builder_makes_one(generous: Any, new_visitor: NewVisitor) -> None:
    """Added, given options and a limit: the preview has the boxes, and the server has the limit."""
    page = new_visitor(viewport={"width": 1280, "height": 900}).page
    page.goto(generous.owner_link)
    page.get_by_role("button", name="Use “").first.click()
    expect(page.locator(".outline-entry").first).to_be_visible()
    token = page.url.split("/")[-2]
    page.locator(".add summary").click()
    page.get_by_role("button", name="Tick several").click()
    fields = page.locator("#properties")
    fields.get_by_label("Question", exact=True).fill("Which languages do you speak?")
    fields.get_by_label("Options", exact=True).fill("Arabic\nEnglish\nFrench\nHindi")
    fields.get_by_label("How many can be ticked").select_option("at most 2")
    expect(page.locator("#saved")).to_have_text("Saved")
    preview = page.frame_locator("iframe")
    expect(preview.get_by_role("checkbox")).to_have_count(5)
    expect(preview.get_by_text("Tick all that apply, at most 2.")).to_be_visible()
    expect(page.locator(".outline-entry").last).to_contain_text("Tick several")
    kept = generous.services.drafts.draft(token, team=FIRST_TEAM).document.questions[-1]
    assert (kept["kind"], kept["most"]) == ("several", 2)
