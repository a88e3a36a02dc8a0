"""A survey in several languages in a browser: people choose, codes stay, directions turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from masquerade.surveys import Choice
from masquerade.surveys.blocks import TextBlock
from masquerade.surveys.languages import Languages
from masquerade.surveys.pages import Layout, Page

from .accessibility import AXE, RULES
from .conftest import NewVisitor, open_survey, see

pytestmark = pytest.mark.browser

QUESTIONS = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No", "Rarely")),
    Choice("home", "From home?", ("Yes", "No"), allow_skip=True),
)
TEXTS = {
    "de": {
        "title": "Krank zur Arbeit",
        "questions/ill/text": "Haben Sie krank gearbeitet?",
        "questions/ill/options/0": "Ja",
        "questions/ill/options/1": "Nein",
        "pages/0/heading": "Ihre Arbeit",
        "pages/0/items/0/text": "Es geht um das **letzte Jahr**.",
    },
    "ar": {"title": "العمل مع المرض", "questions/ill/text": "هل عملت وأنت مريض؟"},
    "it": {"title": "Al lavoro malati"},
}
LANGUAGES = Languages.from_json({"languages": ["en", "de", "ar", "it"], "texts": TEXTS})
LAYOUT = Layout(
    (Page((TextBlock("This is about **last year**."), "ill"), heading="Your work"), Page(("home",)))
)


def test_people_choose_a_language_and_the_same_codes_are_sent(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """A German browser begins in German; another language can be chosen; only codes leave."""
    survey = open_survey(
        generous,
        title="Ill at work",
        questions=QUESTIONS,
        levels=("low",),
        languages=LANGUAGES,
        layout=LAYOUT,
        conditions=(),
    )
    visitor = new_visitor(locale="de-AT", viewport={"width": 390, "height": 844})
    page = visitor.page
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    page.goto(f"{generous.url}/s/{survey.token}")
    see(page, "intro")
    expect(page.locator("h1")).to_have_text("Krank zur Arbeit")
    expect(page.locator("#start")).to_have_text("Start")
    chosen = page.locator("#survey-language")
    expect(chosen).to_have_value("de")
    # Arabic turns the page; Italian is in the survey alone, and the frame stays.
    chosen.select_option("ar")
    expect(page.locator("h1")).to_have_text("العمل مع المرض")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run({runOnly: {type: 'tag', values: rules}})", RULES)
    assert found["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.locator("#survey-language").select_option("it")
    expect(page.locator("h1")).to_have_text("Al lavoro malati")
    expect(page.locator("h1")).to_have_attribute("lang", "it")
    page.locator("#survey-language").select_option("de")
    expect(page.locator("html")).to_have_attribute("dir", "ltr")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.locator("#start").click()
    see(page, "question")
    expect(page.get_by_text("Haben Sie krank gearbeitet?")).to_be_visible()
    expect(page.get_by_text("Ihre Arbeit")).to_be_visible()
    expect(page.get_by_text("letzte Jahr")).to_be_visible()
    expect(page.get_by_text("Nein", exact=True)).to_be_visible()
    expect(page.get_by_text("Rarely", exact=True)).to_be_visible()  # which has no translation
    page.reload()
    expect(page.get_by_text("Haben Sie krank gearbeitet?")).to_be_visible()
    page.get_by_text("Nein", exact=True).click()
    page.locator("#next").click()
    page.get_by_text("Yes", exact=True).click()
    page.locator("#next").click()
    page.locator("#seal").click()
    see(page, "reveal")
    page.locator("#send").click()
    see(page, "done")
    bodies = [json.loads(body) for body in sent if body]
    reports = [body["reports"] for body in bodies if "reports" in body]
    assert len(reports) == 1
    assert all(isinstance(report, int) for report in reports[0])
    assert not any("de" in (body.get("language"), body.get("lang")) for body in bodies)
    assert not any("Nein" in body or "Krank" in body for body in sent)
