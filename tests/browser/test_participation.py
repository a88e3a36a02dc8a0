"""A person answers in a real browser, and what leaves the device is watched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from masquerade.answers import Choice, Question, Rating
from masquerade.server.definition import KEEP_PER_PERSON, Definition
from masquerade.server.template import PICK

pytestmark = pytest.mark.browser

SECRETS = ("Sentinel-Aardvark", "Sentinel-Basilisk", "Sentinel-Chimera")
QUESTIONS: tuple[Question, ...] = (
    *(Choice(f"c{i}", f"Which beast number {i}?", SECRETS) for i in range(6)),
    *(Rating(f"r{i}", f"How wild is beast {i}?", allow_skip=True) for i in range(4)),
)
ANSWERS = [0, 1, 2, 0, 1, 2, 4, 3, 2, 5]  # the last one is "prefer not to say"


def definition(**changes: Any) -> Definition:
    """Return a survey of ten questions at the highest level."""
    values: dict[str, Any] = {
        "title": "Beasts",
        "description": "A survey about beasts.",
        "template": PICK,
        "level": "high",
        "questions": QUESTIONS,
        **changes,
    }
    return Definition.at_level(**values)


def answer_all(page: Page, answers: list[int]) -> None:
    """Go from the intro to the point where the masks would be drawn."""
    page.locator("#start").click()
    for answer in answers:
        page.locator(f'input[name="answer"][value="{answer}"]').check()
        page.locator("#next").click()
    expect(page.locator('main[data-view="seal"]')).to_be_visible()


def pairs(page: Page) -> list[tuple[str, str]]:
    """Return what the review shows as kept and as sent."""
    expect(page.locator('main[data-view="review"]')).to_be_visible()
    rows = page.locator(".pair")
    return [
        (row.locator(".mine").inner_text(), row.locator(".sent").inner_text()) for row in rows.all()
    ]


def label(question: Question, code: int) -> str:
    """Return the text of a code."""
    return [*question.labels, "Prefer not to say"][code]


def test_no_true_answer_leaves_the_device(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """The one request with content holds the masked reports only; no other holds anything."""
    server = live_server()
    survey = server.store.open_survey(definition())
    visitor = new_visitor()
    visitor.page.goto(f"{server.url}/s/{survey.token}", wait_until="networkidle")
    loaded = len(visitor.requests)
    answer_all(visitor.page, ANSWERS)
    visitor.page.locator("#seal").click()
    shown = pairs(visitor.page)
    for (mine, _), question, answer in zip(shown, QUESTIONS, ANSWERS, strict=True):
        assert mine.endswith(label(question, answer))
    assert len(visitor.requests) == loaded, "something was sent before the person said so"
    visitor.page.locator("#send").click()
    expect(visitor.page.locator('main[data-view="done"]')).to_be_visible()

    sent = [request for request in visitor.requests if request.method != "GET"]
    assert [request.method for request in sent] == ["POST"]
    body = json.loads(sent[0].post_data or "")
    assert set(body) == {"participant", "response_id", "survey_hash", "reports"}
    assert all(re.fullmatch("[0-9a-f]{32}", body[key]) for key in ("participant", "response_id"))
    assert body["survey_hash"] == survey.hash
    for (_, masked), question, report in zip(shown, QUESTIONS, body["reports"], strict=True):
        assert masked.endswith(label(question, report))
    # At this level all ten reports equal the answers with probability below 1e-4.
    assert body["reports"] != ANSWERS
    truth_as_text = json.dumps(ANSWERS, separators=(",", ":"))
    for request in visitor.requests:
        everything = " ".join(
            [request.url, request.post_data or "", *map(" ".join, request.all_headers().items())]
        )
        assert not any(secret in everything for secret in SECRETS)
        assert truth_as_text not in everything.replace(" ", "")
        assert request.url.startswith(server.url), "a third party was asked"
        if request.method == "GET":
            assert "?" not in request.url
    assert visitor.complaints == []
    [response] = server.store.responses(survey.token)
    assert list(response.reports) == body["reports"]


def test_the_device_forgets_the_answers_once_sent(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """After the acknowledgement no storage of the browser holds an answer or a draft."""
    server = live_server()
    survey = server.store.open_survey(definition())
    page = new_visitor().page
    page.goto(f"{server.url}/s/{survey.token}")
    answer_all(page, ANSWERS)
    page.locator("#seal").click()
    page.locator("#send").click()
    expect(page.locator('main[data-view="done"]')).to_be_visible()
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert not any(secret in kept for secret in SECRETS)
    assert "reports" not in kept
    page.reload()
    expect(page.locator('main[data-view="done"]')).to_be_visible()


def test_nothing_brings_a_second_draw(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """Reload, back, forward and another tab all show the masks of the first draw."""
    server = live_server()
    survey = server.store.open_survey(definition())
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{server.url}/healthz")
    page.goto(f"{server.url}/s/{survey.token}")
    answer_all(page, ANSWERS)
    late = visitor.another_page()  # a tab that stands where the masks are not yet drawn
    late.goto(f"{server.url}/s/{survey.token}")
    page.locator("#seal").click()
    first = pairs(page)
    page.reload()
    assert pairs(page) == first
    page.go_back()
    page.go_forward()
    assert pairs(page) == first
    fresh = visitor.another_page()
    fresh.goto(f"{server.url}/s/{survey.token}")
    assert pairs(fresh) == first
    if late.locator("#seal").is_visible():
        late.locator("#seal").click()
    assert pairs(late) == first
    page.locator("#send").click()
    expect(page.locator('main[data-view="done"]')).to_be_visible()
    [response] = server.store.responses(survey.token)
    for (_, masked), question, report in zip(first, QUESTIONS, response.reports, strict=True):
        assert masked.endswith(label(question, report))


def test_a_lost_connection_loses_nothing_and_counts_once(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """Sending without a network keeps the reports; with the network back they arrive once."""
    server = live_server()
    survey = server.store.open_survey(definition())
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{server.url}/s/{survey.token}")
    answer_all(page, ANSWERS)
    page.locator("#seal").click()
    first = pairs(page)
    visitor.context.set_offline(True)
    page.locator("#send").click()
    expect(page.locator("main")).to_contain_text("Not sent yet")
    assert pairs(page) == first
    assert server.store.responses(survey.token) == []
    visitor.context.set_offline(False)  # the page notices by itself
    expect(page.locator('main[data-view="done"]')).to_be_visible()
    assert len(server.store.responses(survey.token)) == 1


def test_two_layer_masks_by_one_flip_probability(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """A two-layer survey is answered, charged its exact joint loss, and shown on the bill."""
    server = live_server()
    questions = tuple(Choice(f"q{i}", f"Beast {i}?", ("Yes", "No")) for i in range(5))
    asked = definition(questions=questions, masking=KEEP_PER_PERSON, level="low")
    survey = server.store.open_survey(asked)
    page = new_visitor().page
    page.goto(f"{server.url}/s/{survey.token}")
    answer_all(page, [0] * 5)
    page.locator("#seal").click()
    page.locator("#send").click()
    expect(page.locator('main[data-view="done"]')).to_be_visible()
    person = server.store.persons()[0]
    [entry] = server.store.entries_of(person)
    assert entry.charge.user == asked.mechanisms[0].guarantee(answers=5).epsilon_user


def test_a_survey_can_be_answered_by_keyboard_alone(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any]
) -> None:
    """Tab, arrows, space and enter lead from the intro to the thanks."""
    server = live_server()
    survey = server.store.open_survey(definition(questions=QUESTIONS[5:7]))
    page = new_visitor().page
    page.goto(f"{server.url}/s/{survey.token}")

    def press_until(selector: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached by Tab")

    press_until("#start")
    page.keyboard.press("Enter")
    for _ in range(2):
        press_until('input[name="answer"]')
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        press_until("#next")
        page.keyboard.press("Enter")
    for button in ("#seal", "#send"):
        expect(page.locator(button)).to_be_visible()
        press_until(button)
        page.keyboard.press("Enter")
    expect(page.locator('main[data-view="done"]')).to_be_visible()
    assert len(server.store.responses(survey.token)) == 1
