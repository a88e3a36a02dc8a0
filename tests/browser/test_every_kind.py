"""One survey with every registered kind of question: everybody can use it, built, asked and told.

Kinds that somebody registers are looked at too. Texts are English and Arabic, so that both
directions stand on one page; windows are a small phone's and a desk's, light and dark.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import Document, changed
from masquerade.surveys import question_from_json
from masquerade.surveys.kinds import kinds
from masquerade.surveys.languages import Languages, texts_of
from masquerade.surveys.pages import Layout
from masquerade.surveys.pages import Page as SurveyPage

from .accessibility import faults
from .conftest import NewVisitor, beasts, of_every_kind, open_survey, respond, see

pytestmark = pytest.mark.browser

PEOPLE = 21  # one more than a headline needs


def faults_of(page: Page, name: str, widths: tuple[int, ...] = (320, 1280)) -> list[Any]:
    """Return the faults of a page on a small phone and on a desk, light and dark."""
    found: list[Any] = []
    for width in widths:
        windows: Any = ((width, "light"), (width, "dark"))
        found += faults(page, f"{name}-{width}", windows=windows, whole=False).values()
    return found


def in_two_languages() -> dict[str, Any]:
    """Return questions on one page, and their Arabic texts."""
    questions = tuple(map(question_from_json, of_every_kind()))
    layout = Layout((SurveyPage(tuple(one.id for one in questions)),))
    texts = texts_of(beasts(questions=questions).to_json())
    arabic = {address: f"سؤال {place}" for place, address in enumerate(texts)}
    languages = Languages.from_json({"languages": ["en", "ar"], "texts": {"ar": arabic}})
    return {"questions": questions, "layout": layout, "languages": languages, "levels": ("low",)}


def test_everybody_can_answer_every_kind(generous: Any, new_visitor: NewVisitor) -> None:
    """axe-core finds nothing in either direction, targets are 44 pixels, nothing is cut off."""
    survey = open_survey(generous, **in_two_languages())
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{survey.token}")
    see(page, "intro")
    page.locator("#survey-language").select_option("ar")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    page.locator("#start").click()
    see(page, "question")
    wrong = {"ar": faults_of(page, "ar")}
    page.goto(f"{generous.url}/me/settings")
    page.locator('input[name="language"][value="en"]').check()
    expect(page.locator("html")).to_have_attribute("dir", "ltr")
    page.goto(f"{generous.url}/s/{survey.token}")
    see(page, "question")
    for name in kinds():
        expect(page.locator("main")).to_contain_text(f"Which {name}?")
    wrong["en"] = faults_of(page, "en")
    assert wrong == {"ar": [], "en": []}
    assert visitor.complaints == []


def test_everybody_can_read_the_result_of_every_kind(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """The published page in both languages, with all its parts open: axe-core finds nothing."""
    survey = open_survey(generous, **in_two_languages())
    for _ in range(PEOPLE):
        respond(generous, survey)
    generous.services.surveys.publish(generous.services.surveys.close(survey))
    visitor = new_visitor()
    wrong = {}
    for code, text in (("en", "Which choice?"), ("ar", "سؤال")):
        visitor.page.goto(f"{generous.url}/r/{survey.token}?language={code}")
        expect(visitor.page.locator("main")).to_contain_text(text)
        visitor.page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        wrong[code] = faults_of(visitor.page, f"result-{code}")
    assert wrong == {"en": [], "ar": []}
    assert visitor.complaints == []


def test_everybody_can_build_every_kind(generous: Any, new_visitor: NewVisitor) -> None:
    """The builder with each kind chosen: axe-core finds nothing in any window."""
    document = changed(Document(title="Beasts"), {"questions": of_every_kind()})
    draft, _ = generous.services.drafts.create(document, team=FIRST_TEAM)
    visitor = new_visitor()
    page = visitor.page
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{draft.token}/edit")
    wrong = {}
    for place, name in enumerate(kinds()):
        page.locator(f'[data-place="{place}"]').click()
        expect(page.locator(f'#properties[data-of="{name}"]')).to_be_visible()
        # What stands around a kind's own fields is the same at a desk: of it the first is enough.
        if found := faults_of(page, f"build-{name}", (320,) if place else (320, 1280)):
            wrong[name] = found
    assert wrong == {}
    assert visitor.complaints == []
