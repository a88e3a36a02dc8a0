"""A course evaluation in a browser: texts, consent, ratings on one page, follow-ups, an end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from tests.surveys.test_pages import png

from masquerade.surveys import Choice, Combined, Layout, Page, Rating, SeveralOf, ShowIf
from masquerade.surveys.blocks import ConsentBlock, ImageBlock, TextBlock
from masquerade.surveys.drawn_blocks import NOT_DRAWN

from .conftest import NewVisitor, Visitor, kept, open_survey, see

pytestmark = pytest.mark.browser

ITEMS = tuple(
    Rating(f"m{n}", text, low_label="not at all", high_label="fully", allow_skip=True)
    for n, text in enumerate(
        (
            "The goals were clear.",
            "The pace was right.",
            "The examples helped.",
            "Questions were welcome.",
        )
    )
)
METHODS = SeveralOf("used", "What did you use?", ("Slides", "Videos", "Exercises"), allow_skip=True)
WHY = Choice("why", "What made it unclear?", ("Too fast", "Too much", "Other"), allow_skip=True)
MORE = Choice("more", "Would you take another course?", ("Yes", "No"), allow_skip=True)
EITHER = Combined("any", (ShowIf("m0", ("1", "2")), ShowIf("m1", ("1", "2"))))
COURSE = {
    "title": "Course evaluation",
    "questions": (*ITEMS, METHODS, WHY, MORE),
    "conditions": (*[None] * 5, EITHER, None),
    "layout": Layout(
        (
            Page(
                (
                    TextBlock(
                        "We ask about **this course**.\n\n- It takes *two minutes*.\n- Read "
                        "[how answers are protected](https://example.org/privacy).\n\n"
                        "<b>No markup</b> is read."
                    ),
                    ImageBlock("room", "The lecture hall"),
                    ConsentBlock("I have read this and take part of my own will."),
                ),
                "About this survey",
            ),
            Page((*(one.id for one in ITEMS), "used"), "The course", shuffle=True),
            Page(("why", "more"), "Looking back"),
        ),
        order=("used", "more"),
        images={"room": png()},
        thanks="**Thank you!** The results are on the notice board.",
        return_address="https://example.org/courses",
    ),
}
SCREENSHOTS = os.environ.get("MASQUERADE_SCREENSHOTS")


def shot(tab: Tab, name: str) -> None:
    """Keep a picture of a page, where a folder for them is named."""
    if SCREENSHOTS:
        tab.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"), full_page=True)


def begin(visitor: Visitor, server: Any, survey: Any, level: str = "medium") -> Tab:
    """Open a survey and go on to its first page."""
    tab = visitor.page
    tab.goto(f"{server.url}/s/{survey.token}")
    see(tab, "intro")
    tab.locator(f'input[name="level"][value="{level}"]').check()
    tab.locator("#start").click()
    see(tab, "question")
    return tab


def rate(tab: Tab, place: int, code: int) -> None:
    """Choose a point of the rating at a place of the survey."""
    tab.locator(f'input[name="q{place}"][value="{code}"]').check(force=True)


def see_questions(tab: Tab, count: int) -> None:
    """Wait for a page with so many questions."""
    expect(tab.locator("fieldset.on-page")).to_have_count(count)


def answer(tab: Tab, *, unclear: bool) -> None:
    """Answer the course evaluation from its first page to the mask."""
    tab.get_by_label("I agree").check()
    tab.locator("#next").click()
    for place in range(4):
        rate(tab, place, 1 if unclear and place == 0 else 4)
    tab.locator("#q4").get_by_label("Videos").check()
    tab.locator("#next").click()
    expect(tab.locator("#q6")).to_be_visible()
    expect(tab.locator("#q5")).to_be_visible(visible=unclear)
    if unclear:
        tab.locator("#q5").get_by_label("Too much").check()
    tab.locator("#q6").get_by_label("Yes").check()
    tab.locator("#next").click()
    see(tab, "seal")


@pytest.mark.parametrize(
    "window",
    [
        (320, 640),
        pytest.param((390, 844), marks=pytest.mark.exhaustive),
        pytest.param((1280, 900), marks=pytest.mark.exhaustive),
    ],
)
def test_a_course_evaluation_is_answered_on_three_pages(
    generous: Any, new_visitor: NewVisitor, window: tuple[int, int]
) -> None:
    """Texts, consent, several questions on one page and follow-ups, at every width."""
    survey = open_survey(generous, **COURSE)
    visitor = new_visitor(viewport={"width": window[0], "height": window[1]})
    tab = begin(visitor, generous, survey)
    shot(tab, f"course-1-{window[0]}")
    link = tab.get_by_role("link", name="how answers are protected")
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert "<b>No markup</b> is read." in tab.locator("main").inner_text()
    expect(tab.locator("main strong").first).to_have_text("this course")
    expect(tab.get_by_role("img", name="The lecture hall")).to_be_visible()

    tab.locator("#next").click()
    see(tab, "refused")
    tab.locator("#back").click()
    see(tab, "question")
    tab.get_by_label("I agree").check()
    kept(tab)
    tab.reload()
    expect(tab.get_by_label("I agree")).to_be_checked()
    tab.locator("#next").click()

    see_questions(tab, 5)
    order = tab.locator("fieldset.on-page h2").all_inner_texts()
    rate(tab, 0, 1)
    rate(tab, 1, 4)
    shot(tab, f"course-2-{window[0]}")
    tab.locator("#next").click()
    expect(tab.locator("#announcement")).to_contain_text("3 questions have no answer")
    tab.reload()
    see_questions(tab, 5)
    assert tab.locator("fieldset.on-page h2").all_inner_texts() == order
    tab.locator("#next").click()
    expect(tab.locator("#announcement")).to_contain_text("3 questions have no answer")
    tab.locator("#next").click()

    expect(tab.locator("#q5")).to_be_visible()
    shot(tab, f"course-3-{window[0]}")
    tab.locator("#q5").get_by_label("Too much").check()
    tab.locator("#q6").get_by_label("Yes").check()
    assert tab.evaluate("document.documentElement.scrollWidth") <= window[0]
    tab.locator("#next").click()
    see(tab, "seal")
    tab.locator("#seal").click()
    see(tab, "reveal")
    tab.locator("#send").click()
    see(tab, "done")
    expect(tab.locator(".thanks strong")).to_have_text("Thank you!")
    assert tab.locator("#return").get_attribute("href") == "https://example.org/courses"
    shot(tab, f"course-4-{window[0]}")
    assert visitor.complaints == []


def test_nothing_that_leaves_tells_orders_consents_or_what_was_shown(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Bodies have equal lengths and the same fields, for all draws, consents and answers."""
    survey = open_survey(generous, **COURSE)
    lengths, orders = set(), set()
    for number in range(4):
        visitor = new_visitor()
        tab = begin(visitor, generous, survey, ("high", "medium", "low")[number % 3])
        tab.get_by_label("I agree").check()
        tab.locator("#next").click()
        see_questions(tab, 5)
        orders.add(tuple(tab.locator("fieldset.on-page h2").all_inner_texts()))
        tab.locator("#back").click()
        answer(tab, unclear=number % 2 == 0)
        tab.locator("#seal").click()
        see(tab, "reveal")
        tab.locator("#send").click()
        see(tab, "done")
        bodies = {
            one.url.rpartition("/")[2]: one.post_data or ""
            for one in visitor.requests
            if one.method != "GET"
        }
        lengths.add(tuple(sorted((name, len(body)) for name, body in bodies.items())))
        sent = json.loads(bodies["response"])
        assert set(sent) == {"reports", "salt", "level", "survey_hash", "padding"}
        assert len(sent["reports"]) == 7
        assert visitor.complaints == []
    assert len(lengths) == 1
    # 24 orders of four: all alike with a chance of 1 in 13,824, and of five units less.
    assert len(orders) > 1


def test_who_does_not_agree_sends_nothing(generous: Any, new_visitor: NewVisitor) -> None:
    """The survey ends without a report, and says so."""
    survey = open_survey(generous, **COURSE)
    visitor = new_visitor()
    tab = begin(visitor, generous, survey)
    tab.locator("#next").click()
    see(tab, "refused")
    tab.locator("#end").click()
    see(tab, "ended")
    assert not any(one.url.endswith(("/seal", "/response")) for one in visitor.requests)
    assert generous.services.reports.of_survey(survey.token) == []


def test_a_device_draws_which_questions_are_asked_and_sends_as_much_whatever_it_is(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """The set is sent in clear, the same after a reload, and bodies have equal lengths."""
    questions = tuple(
        Choice(f"d{n}", f"Beast {n}?", ("Yes", "No", "Perhaps")[: 2 + n % 2]) for n in range(6)
    )
    survey = open_survey(generous, title="Some", questions=questions, asked=2)
    lengths, sets = set(), set()
    for _ in range(4):
        visitor = new_visitor()
        tab = begin(visitor, generous, survey)
        expect(tab.locator(".progress span")).to_have_text("1 of 2")
        first = tab.locator("h1").inner_text()
        tab.reload()
        expect(tab.locator("h1")).to_have_text(first)
        for at in ("1 of 2", "2 of 2"):
            expect(tab.locator(".progress span")).to_have_text(at)
            tab.locator('input[name="answer"][value="0"]').check()
            tab.locator("#next").click()
        see(tab, "seal")
        tab.locator("#seal").click()
        see(tab, "reveal")
        expect(tab.locator(".pair")).to_have_count(2)
        tab.locator("#send").click()
        see(tab, "done")
        bodies = {
            one.url.rpartition("/")[2]: one.post_data or ""
            for one in visitor.requests
            if one.method != "GET"
        }
        lengths.add(tuple(sorted((name, len(body)) for name, body in bodies.items())))
        reports = json.loads(bodies["response"])["reports"]
        assert sum(one != NOT_DRAWN for one in reports) == 2
        sets.add(tuple(one != NOT_DRAWN for one in reports))
        assert visitor.complaints == []
    assert len(lengths) == 1
    assert len(sets) > 1  # four alike of 15 sets: a chance of 1 in 3,375
    assert len(generous.services.reports.of_survey(survey.token)) == 4
