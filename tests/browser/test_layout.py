"""The participants' app on narrow screens, with large letters, long words and many questions."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from masquerade.surveys import Choice, Comparison, Number, Question, Rating

from .conftest import ANSWERS, QUESTIONS, NewVisitor, Person, open_survey, see

pytestmark = pytest.mark.browser

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
LONG_QUESTIONS: tuple[Question, ...] = (
    Choice("c", f"Are you with the {LONG}?", (LONG, LONG[::-1]), allow_skip=True),
    Rating("r", LONG, low_label=LONG[:40], high_label=LONG[40:]),
    Rating("l", LONG, low=0, high=10, low_label=LONG[:40], high_label=LONG[40:]),
    Number("n", LONG, -1_000_000, -1, LONG[:40]),
    Comparison("p", LONG, LONG, LONG[::-1], tie=LONG[:40]),
)
LONG_ANSWERS = (1, 4, 10, -271_828, 2)

# What sticks out of the screen, or is cut off by what it is in.
OVERFLOWS = """() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const cut = [...document.querySelectorAll("body *")].filter((each) =>
    each.checkVisibility() && !each.closest(".visually-hidden") &&
    getComputedStyle(each).overflowX !== "visible" && !each.matches("progress, textarea, input") &&
    each.scrollWidth > each.clientWidth + 1);
  return [...(wide > 0 ? [`page by ${wide}`] : []), ...cut.map((each) => each.outerHTML)];
}"""


def look_at_all(server: Any, page: Page, survey: Any, answers: Any) -> dict[str, list[str]]:
    """Take part in a survey, look at every screen there is, and return all that is cut off."""
    found: dict[str, list[str]] = {}

    def look(name: str) -> None:
        page.locator("details:not([open]) > summary").evaluate_all("all => all.map(e => e.click())")
        found[name] = page.evaluate(OVERFLOWS)

    page.goto(f"{server.url}/me")
    see(page, "welcome")
    look("welcome")
    page.goto(f"{server.url}/s/{survey.token}")
    person = Person(page, answers=answers)
    while True:
        look(person.place())
        if person.view() == "done":
            break
        person.step()
    for path, view in (
        ("", "home"),
        *((f"/{name}", name) for name in ("ledger", "plain", "about")),
    ):
        page.goto(f"{server.url}/me{path}")
        see(page, view)
        look(view)
    page.goto(f"{server.url}/me/settings")
    see(page, "settings")
    page.locator("#show-words").click()
    expect(page.locator(".recovery code")).to_have_count(9)
    look("settings")
    return found


@pytest.mark.parametrize("language", [pytest.param("en-GB", marks=pytest.mark.exhaustive), "ar"])
def test_nothing_sticks_out_of_a_narrow_screen(
    generous: Any, new_visitor: NewVisitor, language: str
) -> None:
    """At 320 pixels every screen fits, with words of any length."""
    survey = open_survey(generous, title=LONG, description=LONG, questions=LONG_QUESTIONS)
    page = new_visitor(viewport={"width": 320, "height": 568}, locale=language).page
    found = look_at_all(generous, page, survey, LONG_ANSWERS)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert len(found) == len(LONG_ANSWERS) + 10


def test_letters_of_twice_the_size_fit(generous: Any, new_visitor: NewVisitor) -> None:
    """Letters can be twice as large on a phone, and nothing is cut off."""
    survey = open_survey(generous)
    visitor = new_visitor()
    visitor.context.add_init_script(
        """new MutationObserver(() => {
          if (document.documentElement) document.documentElement.style.fontSize = "34px";
        }).observe(document, {childList: true});"""
    )
    found = look_at_all(generous, visitor.page, survey, ANSWERS)
    size = visitor.page.evaluate(
        "parseFloat(getComputedStyle(document.querySelector('p')).fontSize)"
    )
    assert size >= 32
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("count", [1, pytest.param(50, marks=pytest.mark.exhaustive)])
def test_surveys_of_any_length_are_answered(
    generous: Any, new_visitor: NewVisitor, count: int
) -> None:
    """One question or fifty: each is asked, each report is shown, and all arrive."""
    questions = tuple(Choice(f"q{i}", f"Beast {i}?", ("yes", "no")) for i in range(count))
    survey = open_survey(generous, questions=questions, reveal="before_send")
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    expect(page.locator(".facts-line")).to_contain_text(
        "50 questions" if count == 50 else "1 question"
    )
    person = Person(page, answers=[0] * count)
    person.finish()
    [(mine, sent)] = person.shown
    assert mine == ("yes",) * count
    [response] = generous.services.reports.of_survey(survey.token)
    assert [("yes", "no")[report] for report in response.reports] == list(sent)


def box(found: Locator) -> FloatRect:
    """Return where something is on the screen."""
    place = found.first.bounding_box()
    assert place is not None
    return place


def test_arabic_is_mirrored(generous: Any, new_visitor: NewVisitor) -> None:
    """In a language that is written from the right, all that has a direction is turned round."""
    survey = open_survey(generous, questions=QUESTIONS[2:6])

    def order(first: Locator, second: Locator, language: str) -> None:
        before = box(first)["x"] < box(second)["x"]
        assert before == (language == "en-GB"), f"{first}, {second}, {language}"

    for language in ("en-GB", "ar"):
        page = new_visitor(locale=language).page
        page.goto(f"{generous.url}/me")
        see(page, "welcome")
        order(page.locator(".brand"), page.locator("#pages"), language)
        order(page.locator(".demo-face.mine"), page.locator(".demo-face.sent"), language)
        for row in ("#further a", "#languages .button"):  # which stand side by side or not
            order(page.locator(row).nth(0), page.locator(row).nth(1), language)
        page.locator("#begin").click()
        see(page, "home")
        order(page.locator(".battery-case"), page.locator(".battery-text"), language)
        page.goto(f"{generous.url}/s/{survey.token}")
        person = Person(page, answers=ANSWERS[2:6])
        see(page, "intro")
        order(page.locator(".level input"), page.locator(".level strong"), language)
        person.finish("question")
        order(page.locator(".point").nth(0), page.locator(".point").nth(4), language)
        order(page.locator("progress"), page.locator(".progress span"), language)
        person.step()
        order(page.locator("#back"), page.locator("#next"), language)
        order(page.locator(".skip input"), page.locator(".skip span"), language)
        person.step()
        order(page.locator("#less"), page.locator("#more"), language)
        person.finish()
        page.goto(f"{generous.url}/me/ledger")
        see(page, "ledger")
        border = "borderLeftWidth" if language == "en-GB" else "borderRightWidth"
        width = page.locator(".timeline").evaluate(f"e => getComputedStyle(e).{border}")
        assert width == "2px"


def test_nothing_moves_for_people_who_asked_for_that(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """The mask moves on the welcome page, but not where the system asks for less motion."""
    moving = "document.getAnimations().length"
    page = new_visitor().page
    page.goto(f"{generous.url}/me")
    see(page, "welcome")
    page.wait_for_function(f"{moving} > 0")
    page = new_visitor(reduced_motion="reduce").page
    page.goto(f"{generous.url}/me")
    see(page, "welcome")
    page.locator(".demo button").click()
    page.wait_for_timeout(100)
    assert page.evaluate(moving) == 0
