"""The precision of a survey is told before it is written, meanwhile, and before it opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import Document, changed

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
NewVisitor = Callable[..., Any]
ILL = {"kind": "choice", "text": "Ill?", "options": ["Yes", "No"], "allow_skip": False}


@pytest.fixture
def owner(generous: Any, new_visitor: NewVisitor) -> Any:
    """A signed-in owner at a desk."""
    visitor = new_visitor(viewport=DESKTOP)
    visitor.page.goto(generous.owner_link)
    return visitor


def draft(server: Any, **fields: Any) -> str:
    """Return the token of a new draft."""
    known = changed(Document(title="Work"), fields)
    return str(server.services.drafts.create(known, team=FIRST_TEAM)[0].token)


def kept(server: Any, token: str) -> Document:
    """Return a draft as the server has it."""
    document: Document = server.services.drafts.draft(token, team=FIRST_TEAM).document
    return document


def test_the_first_step_recommends_a_way_and_sets_it_up(generous: Any, owner: Any) -> None:
    """Without a helper masks come first where they do; faults are told at their fields."""
    page = owner.page
    page.goto(f"{generous.url}/surveys/new")
    page.get_by_label("People who will answer").fill("2000")
    page.get_by_label("Questions").fill("many")
    page.get_by_role("button", name="Work it out").click()
    expect(page.locator("#questions-fault")).to_contain_text("“many” is none")
    expect(page.locator("#people")).to_have_value("2000")
    page.get_by_label("Questions").fill("3")
    page.get_by_role("button", name="Work it out").click()
    expect(page.locator(".recommended")).to_contain_text("Masks at level low")
    page.get_by_role("button", name="Blank survey").click()
    expect(page.locator("#forecast")).to_contain_text("to do before a forecast")
    document = kept(generous, page.url.split("/")[-2])
    assert (document.plan.people, document.levels) == (2000, ["low"])
    page.goto(f"{generous.url}/surveys/new?people=300&questions=20&exact=10")
    expect(page.locator(".recommended")).to_contain_text("Two parties add up the answers")
    expect(page.locator(".recommended")).to_contain_text("You need a second party")


def test_a_question_that_few_are_shown_is_forecast_of_them(generous: Any, owner: Any) -> None:
    """The share is that of the condition at first; another changes the margin alone."""
    follow = {"show_if": {"question": "q1", "answers": ["Yes"]}, "allow_skip": True}
    questions = [{**ILL, "id": "q1"}, {**ILL, "id": "q2", "text": "Badly?", **follow}]
    page = owner.page
    token = draft(generous, questions=questions, levels=["low"], plan={"people": 4000})
    page.goto(f"{generous.url}/surveys/{token}/edit#1")
    field = page.get_by_label("About how many of 100 are shown this?")
    expect(field).to_have_value("50")
    before = page.locator("#properties .margin .figure").inner_text()
    field.fill("10")
    expect(page.locator("#properties .margin .figure")).not_to_have_text(before)
    expect(page.locator("#saved")).to_have_text("Saved")
    assert kept(generous, token).plan.shown == {"q2": 10}
    assert kept(generous, token).questions == questions


def test_what_will_tell_nothing_is_listed_with_remedies(generous: Any, owner: Any) -> None:
    """The review names the questions and a remedy; the button names the survey's way."""
    questions = [{**ILL, "id": f"q{n}", "text": f"Question {n}"} for n in range(1, 9)]
    page = owner.page
    token = draft(generous, questions=questions, levels=["high"], plan={"people": 60})
    page.goto(f"{generous.url}/surveys/{token}/review")
    expect(page.locator(".weak h3")).to_have_count(8)
    expect(page.locator(".weak h3").first).to_contain_text("tells nothing")
    remedies = page.locator(".remedies").first
    for words in ("Two parties add up the answers", "people instead of 60", "Leave it out"):
        expect(remedies).to_contain_text(words)
    assert "± 50" not in page.locator("main").inner_text()
    page.get_by_role("button", name="Open although 8 of 8 questions will tell nothing").click()
    expect(page.locator("#responses")).to_have_text("0")
    assert owner.complaints == []


def test_a_survey_that_tells_enough_opens_as_ever(generous: Any, owner: Any) -> None:
    """No warning, and how often the same people can be asked again."""
    page = owner.page
    token = draft(generous, questions=[{**ILL, "id": "q1"}], levels=["low"], plan={"people": 2000})
    page.goto(f"{generous.url}/surveys/{token}/review")
    expect(page.locator(".weak")).to_have_count(0)
    expect(page.locator("#open-it")).to_be_visible()
    page.goto(f"{generous.url}/surveys/{token}/audience")
    expect(page.locator("#outcome")).to_contain_text("Can be asked again")
