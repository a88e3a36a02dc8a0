"""The speech of a screen reader in the participants' app: names, roles, place, changes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import NUMBER_ANSWER, QUESTIONS, SENTINELS, NewVisitor, Person, open_survey, see

pytestmark = pytest.mark.browser


def test_every_answer_has_a_name_and_stands_in_its_question(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Questions name groups, words name answers, and the ends of a scale have a meaning."""
    survey = open_survey(generous, questions=QUESTIONS[1:7])
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    levels = page.get_by_role("group", name="How much should the mask hide?")
    expect(levels.get_by_role("radio")).to_have_count(3)
    expect(levels.get_by_role("radio", name=re.compile("^High privacy"))).to_be_checked()
    person = Person(page, answers=(0, 4, 10, NUMBER_ANSWER, 0, 0))
    person.finish("question")

    group = page.get_by_role("group", name=QUESTIONS[1].text)
    for name in (*SENTINELS, re.compile("^Prefer not to say")):
        expect(group.get_by_role("radio", name=name)).to_be_visible()
    person.step()
    group = page.get_by_role("group", name=QUESTIONS[2].text)
    for name in ("^1 ?, tame$", "^2$", "^5 ?, wild$"):
        expect(group.get_by_role("radio", name=re.compile(name))).to_be_visible()
    person.step()
    person.step()
    group = page.get_by_role("group", name=QUESTIONS[4].text)
    field = group.get_by_role("textbox", name=QUESTIONS[4].text)
    expect(field).to_have_accessible_description("A number from 0 to 999999, in scales")
    slider = group.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "– scales")
    field.fill("12")
    expect(slider).to_have_attribute("aria-valuetext", "12 scales")
    for name in ("Less", "More"):
        expect(group.get_by_role("button", name=name)).to_be_visible()
    person.step()
    group = page.get_by_role("group", name=QUESTIONS[5].text)
    expect(group.get_by_role("radio", name=SENTINELS[0])).to_be_visible()


def test_every_new_screen_is_said(generous: Any, new_visitor: NewVisitor) -> None:
    """On each screen the heading has the focus and names the page; there is one, and it is new."""
    survey = open_survey(generous, questions=QUESTIONS[:3])
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(page)
    seen = []
    while person.view() != "done":
        person.step()
        expect(page.locator("h1")).to_be_focused()
        [heading] = page.locator("h1").all_inner_texts()
        assert page.title() == f"{heading} · Masquerade"
        seen.append(heading)
    assert len(set(seen)) == len(seen) == 6


def test_what_goes_wrong_is_said(generous: Any, new_visitor: NewVisitor) -> None:
    """A number off the scale and a lost network are alerts, and give advice."""
    survey = open_survey(generous, questions=QUESTIONS[4:5])
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish("question")
    page.locator("#number").fill("12.5")
    page.locator("#next").click()
    alert = page.locator('[role="alert"]:not(:empty)')
    expect(alert).to_have_text("Please give a number from 0 to 999999, in steps of 1.")
    expect(page.locator("#number")).to_be_focused()
    page.locator("#number").fill("12")
    expect(alert).to_have_count(0)
    page.locator("#next").click()
    see(page, "seal")
    visitor.context.set_offline(True)
    page.locator("#seal").click()
    see(page, "waiting")
    expect(alert).to_contain_text("Nothing is lost")


def test_pages_have_landmarks_and_a_way_past_them(generous: Any, new_visitor: NewVisitor) -> None:
    """Each page has one main part, two named lists of links, and a link to its content."""
    page = new_visitor().page
    for path, name in (("", "Surveys"), ("/ledger", "Privacy"), ("/settings", "Settings")):
        page.goto(f"{generous.url}/me{path}")
        expect(page.locator('main:not([data-view="loading"])')).to_have_count(1)
        here = page.get_by_role("navigation", name="Pages").locator('[aria-current="page"]')
        expect(here).to_have_text(name)
    further = page.get_by_role("navigation", name="Good to know")
    further.get_by_role("link", name="Privacy in plain words").click()
    see(page, "plain")
    expect(page.get_by_role("heading", level=2)).to_have_text(
        [
            "In one line",
            "Masks, in one minute",
            "See it work",
            "Two parties, in one minute",
            "In ten minutes",
        ]
    )
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()


LISTEN = """
globalThis.heard = [];
const LIVE = '[role=alert], [role=status], [aria-live=polite], [aria-live=assertive]';
const note = (node) => {
  const text = node.textContent.trim();
  if (text) globalThis.heard.push(text);
};
addEventListener('DOMContentLoaded', () => new MutationObserver((changes) => {
  const regions = new Set();
  for (const { target, addedNodes } of changes) {
    const within = (target.nodeType === 1 ? target : target.parentElement)?.closest(LIVE);
    if (within) regions.add(within);
    for (const node of addedNodes) {
      if (node.nodeType !== 1) continue;
      if (node.matches(LIVE)) regions.add(node);
      for (const one of node.querySelectorAll(LIVE)) regions.add(one);
    }
  }
  regions.forEach(note);
}).observe(document.body, { subtree: true, childList: true, characterData: true }));
"""


def test_what_is_said_aloud_is_said_once(generous: Any, new_visitor: NewVisitor) -> None:
    """From the first screen to the last, no message is in two regions that are read aloud."""
    survey = open_survey(generous)
    visitor = new_visitor()
    page = visitor.page
    page.add_init_script(LISTEN)
    page.goto(f"{generous.url}/s/{survey.token}")
    person, twice = Person(page), []
    while True:
        view = person.view()
        if view == "question":  # without an answer first
            page.evaluate("heard.length = 0")
            page.locator("#next").click()
            page.wait_for_timeout(300)
            said = page.evaluate("heard")
            twice += [(view, one) for one in set(said) if said.count(one) > 1]
        page.evaluate("heard.length = 0")
        if view == "done":
            break
        person.step()
        said = page.evaluate("heard")
        twice += [(view, one) for one in set(said) if said.count(one) > 1]
    assert not twice, twice
