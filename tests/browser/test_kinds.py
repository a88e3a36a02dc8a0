"""New kinds of question on a phone and on a desk: rankings, dates, recommendations, a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from masquerade.surveys import Choice, DateQuestion, Matrix, Number, PromoterScore, Ranking, Rating

from .conftest import NewVisitor, Person, open_survey, see

pytestmark = pytest.mark.browser

DOT = "data:image/png;base64," + (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
QUESTIONS = (
    Ranking("rank", "Rank the topics", ("Ada", "Bell", "Cy")),
    PromoterScore("nps", "Would you recommend us?", "not at all", "surely"),
    DateQuestion("since", "Since when?", first="2024-01", last="2025-12"),
    DateQuestion("day", "Which day?", dates=("2026-05-17", "2026-05-18")),
    Number("hours", "How many hours?", 0, 40, "hours", allow_skip=True),
    Choice("logo", "Which logo?", ("A dot", "Another dot"), pictures=(DOT, DOT), other="Neither"),
    Rating(
        "mood", "How is it?", words=("bad", "poor", "fair", "good", "great"), dont_know="No idea"
    ),
    Matrix("m", "How good were", rows=("The talks", "The food"), dont_know="Was not there"),
)


@pytest.mark.parametrize("width", [390, 1280])
def test_new_kinds_are_answered(
    generous: Any, new_visitor: NewVisitor, width: int, tmp_path: Path
) -> None:
    """Each kind is answered and sent; the answer stands beside the report."""
    survey = open_survey(generous, questions=QUESTIONS, reveal="before_send")
    page = new_visitor(viewport={"width": width, "height": 844}).page
    page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(page)
    person.finish("question")

    def on(name: str) -> None:
        page.screenshot(path=str(tmp_path / f"{name}-{width}.png"), full_page=True)
        scroll = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert scroll <= 0, f"{name} scrolls sideways by {scroll} pixels"
        page.locator("#next").click()

    page.get_by_role("button", name="Cy").click()
    page.get_by_role("button", name="Ada").click()
    expect(page.get_by_role("button", name="Bell, place 3")).to_be_visible()
    on("ranking")
    page.get_by_role("radio", name="9", exact=True).check()
    on("nps")
    page.get_by_label("Since when?").last.select_option("2025-03")
    on("date")
    page.get_by_role("radio").nth(1).check()
    on("days")
    page.get_by_role("radio", name="Prefer not to say").check()
    on("number")
    page.get_by_role("radio", name="Another dot").check()
    on("pictures")
    page.get_by_role("radio", name="No idea").check()
    on("words")
    page.get_by_role("radio", name="The talks: 4").check()
    page.get_by_role("radio", name="The food: Was not there").check()
    on("matrix")
    see(page, "seal")
    page.locator("#seal").click()
    see(page, "reveal")
    page.screenshot(path=str(tmp_path / f"reveal-{width}.png"), full_page=True)
    mine = page.locator(".pair .mine").all_inner_texts()
    assert mine[0] == "1. Cy · 2. Ada · 3. Bell"
    assert mine[1:3] == ["9", "2025-03"]
    assert mine[5:] == ["Another dot", "No idea", "4", "Was not there"]
    assert page.locator(".pair .row").all_inner_texts() == ["The talks", "The food"]
    person.finish()
    [response] = generous.services.reports.of_survey(survey.token)
    assert len(response.reports) == 9
