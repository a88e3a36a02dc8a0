"""The builder on a narrow screen, a survey's own look, and conditions that are copied."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest
from playwright.sync_api import expect

from masquerade.surveys import DateQuestion, PairVote, PromoterScore, Ranking

from .conftest import NewVisitor
from .test_builder import DESKTOP, YES_NO, draft, kept, saved

pytestmark = pytest.mark.browser

STICKS_OUT = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => `${one.getBoundingClientRect().right}: ${one.outerHTML.slice(0, 150)}`)"""


def picture() -> bytes:
    """Return a white PNG of 30 x 10 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 30, 10, 8, 0, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress((b"\0" + b"\xff" * 30) * 10))
    return b"\x89PNG\r\n\x1a\n" + head + rows + chunk(b"IEND", b"")


def four() -> list[dict[str, Any]]:
    """Return four questions, of which the second is shown after a yes to the first."""
    follow = {"show_if": {"question": "q1", "answers": ["Yes"]}, "allow_skip": True}
    questions = [{**YES_NO, "id": f"q{n}", "text": f"Question {n}?"} for n in range(1, 5)]
    return [questions[0], {**questions[1], **follow}, *questions[2:]]


@pytest.mark.parametrize("page_name", ["edit", "audience", "review", "preview"])
def test_pages_of_a_draft_fit_a_screen_of_320_pixels(
    generous: Any, new_visitor: NewVisitor, page_name: str
) -> None:
    """Nothing makes a page of a draft wider than a narrow phone, with every fold open."""
    page = new_visitor(viewport={"width": 320, "height": 568}).page
    page.goto(generous.owner_link)
    token = draft(generous, questions=four())
    answer = page.goto(f"{generous.url}/surveys/{token}/{page_name}")
    assert answer is not None
    assert answer.ok
    page.wait_for_load_state("load")
    for place in ("-1", "0", "1") if page_name == "edit" else ("",):
        if place:
            page.locator(f'[data-place="{place}"]').first.click()
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 320, (place, width, page.evaluate(STICKS_OUT))


def test_a_survey_wears_its_own_colour_and_logo(generous: Any, new_visitor: NewVisitor) -> None:
    """A colour nobody could read is mended by a press, and a logo is kept and taken away again."""
    owner = new_visitor(viewport=DESKTOP)
    page, token = owner.page, draft(generous, questions=four())
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator('[data-place="-1"]').click()
    page.locator("summary", has_text="Colour and logo").click()
    colour = page.get_by_label("Colour of buttons and links")
    colour.fill("reddish")
    saved(page)
    expect(page.locator('[data-key="/look/colour"] .error')).to_be_visible()
    colour.fill("#FFFF00")
    page.get_by_role("button", name="instead").click()
    expect(page.locator('[data-key="/look/colour"] .error')).to_be_hidden()
    page.get_by_label("Logo", exact=True).set_input_files(
        {"name": "no.png", "mimeType": "image/png", "buffer": b"no picture"}
    )
    expect(page.get_by_text("This file is no picture")).to_be_visible()
    page.get_by_label("Logo", exact=True).set_input_files(
        {"name": "logo.png", "mimeType": "image/png", "buffer": picture()}
    )
    page.get_by_label("What the logo says").fill("The house")
    saved(page)
    look = kept(generous, token).look
    assert look.colour not in ("", "#ffff00")
    assert look.logo_text == "The house"
    head, _, data = look.logo.partition(",")
    assert head.startswith("data:image/")
    assert base64.b64decode(data)
    page.reload()
    page.locator('[data-place="-1"]').click()
    page.locator("summary", has_text="Colour and logo").click()
    expect(page.get_by_role("img", name="The house")).to_be_visible()
    page.get_by_role("button", name="Remove the logo").click()
    saved(page)
    assert kept(generous, token).look.logo == ""
    assert owner.complaints == []


def test_a_condition_is_copied_to_several_questions_at_once(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Questions that are ticked have the condition, others have none; Undo takes it back."""
    owner = new_visitor(viewport=DESKTOP)
    page, token = owner.page, draft(generous, questions=four())
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator('[data-place="1"]').click()
    page.locator("summary", has_text="Use it for other questions too").click()
    page.get_by_label("Question 4?").check()
    page.get_by_role("button", name="Copy the condition to them").click()
    saved(page)
    first, second, third, fourth = kept(generous, token).questions
    assert fourth["show_if"] == second["show_if"]
    assert fourth["allow_skip"]
    assert "show_if" not in first
    assert "show_if" not in third
    page.locator("#undo-step").click()
    saved(page)
    assert kept(generous, token).questions == four()
    assert owner.complaints == []


def test_conditions_are_on_dates_recommendations_and_places_of_rankings(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Each kind offers its own fields; a vote on a pair of a list says why it decides nothing."""
    questions = [
        DateQuestion("d", "Since?", first="2025-01", last="2025-12", bins=4).to_json(),
        PromoterScore("s", "Recommend?").to_json(),
        Ranking("r", "Topics?", ("Pay", "Time", "Food")).to_json(),
        PairVote("v", "Which?", ("A", "B", "C"), votes=1).to_json(),
        {**YES_NO, "id": "last", "text": "Why?", "allow_skip": True},
    ]
    owner = new_visitor(viewport=DESKTOP)
    page, token = owner.page, draft(generous, questions=questions)
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator('[data-place="4"]').click()
    expect(page.get_by_text("which two are shown is drawn for each person")).to_be_visible()
    page.get_by_label("Shown", exact=True).select_option("any")
    page.get_by_label("Time", exact=True).check()
    page.get_by_label("Pay", exact=True).uncheck()
    page.get_by_label("Among the first … places").fill("2")
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("The answer to").nth(1).select_option("s")
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("The answer to").nth(2).select_option("d")
    page.get_by_label("To", exact=True).nth(1).fill("2025-03")
    saved(page)
    assert kept(generous, token).questions[-1]["show_if"] == {
        "any": [
            {"question": "r", "answers": ["Time"], "first": 2},
            {"question": "s", "from": 0, "to": 6},
            {"question": "d", "from": "2025-01", "to": "2025-03"},
        ]
    }
    assert owner.complaints == []


def test_questions_are_asked_of_the_same_people(generous: Any, new_visitor: NewVisitor) -> None:
    """Those that are ticked are one block; a question that goes is left out of it."""
    owner = new_visitor(viewport=DESKTOP)
    page, token = owner.page, draft(generous, questions=four(), asked=1)
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator('[data-place="-1"]').click()
    page.locator("summary", has_text="Asked of the same people").click()
    for name in ("Question 1?", "Question 3?", "Question 4?"):
        page.get_by_label(name, exact=True).check()
    page.get_by_role("button", name="Ask them together").click()
    expect(page.get_by_text("Question 1? + Question 3? + Question 4?")).to_be_visible()
    saved(page)
    assert kept(generous, token).together == [["q1", "q3", "q4"]]
    page.locator('[data-place="3"]').click()
    page.get_by_role("button", name="Remove", exact=True).click()
    saved(page)
    assert kept(generous, token).together == [["q1", "q3"]]
    assert owner.complaints == []
