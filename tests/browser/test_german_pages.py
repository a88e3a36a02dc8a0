"""A German surveyor's way through the builder: no English sentence of the catalogue is seen."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tools.page_words import extracted

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.http.page_words import page_words
from masquerade.server.surveys.document import Document, changed
from masquerade.surveys.kinds import kinds

from .conftest import NewVisitor

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
EXPRESSION = re.compile(r"\{\{.*?\}\}|\{\w+\}")

# Every text that is seen, a piece each, and what stands beyond the window. The phone beside the
# builder is in the survey's language, which is nobody's but the participants'.
SEEN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    if (parentElement.closest("script, style") || !parentElement.checkVisibility()) continue;
    found.push(textContent);
  }
  for (const one of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
    for (const name of ["aria-label", "title", "placeholder"]) {
      found.push(one.getAttribute(name) ?? "");
    }
  }
  return found.map((one) => one.replace(/\\s+/g, " ").trim()).filter(Boolean);
}"""
BEYOND = """() => document.documentElement.scrollWidth <= innerWidth ? "" :
  [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest(".scroll"))
    .map((one) => one.outerHTML.slice(0, 80)).join(", ")"""
OPEN_ALL = "document.querySelectorAll('main details').forEach((one) => { one.open = true })"


def english() -> tuple[set[str], list[re.Pattern[str]]]:
    """Return the English messages that are other in German, and those with places as patterns."""
    words = page_words("de")
    plain, placed = set(), []
    for message in extracted():
        if words[message] == message or not re.search("[A-Za-z]{2}", message):
            continue
        parts = EXPRESSION.split(message.strip())
        if len(parts) == 1:
            plain.add(message.strip())
        elif len("".join(parts)) > 12:
            placed.append(re.compile(".+?".join(map(re.escape, parts)), re.DOTALL))
    # Of words that are German too, or that a survey's own texts are.
    return plain - set(words.values()) - {"Work"}, placed


class Reader:
    """A surveyor who reads every text of each page, and looks how wide it is."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []
        self.plain, self.placed = english()

    def read(self, name: str) -> None:
        """Note texts in English, and elements wider than the window."""
        self.page.evaluate(OPEN_ALL)
        seen = self.page.evaluate(SEEN)
        assert len(seen) > 5
        for text in dict.fromkeys(seen):
            if text in self.plain or any(one.fullmatch(text) for one in self.placed):
                self.faults.append(f"{name}: {text}")
        if beyond := self.page.evaluate(BEYOND):
            self.faults.append(f"{name}: beyond the window: {beyond}")
        if folder := os.environ.get("MASQUERADE_PICTURES"):
            width = self.page.viewport_size["width"] if self.page.viewport_size else 0
            picture = Path(folder) / f"{re.sub('[^a-z0-9]+', '-', name)}-{width}.png"
            self.page.screenshot(path=picture, full_page=True)


def questions() -> list[dict[str, Any]]:
    """Return a question of every kind; the second is shown after answers to the first."""
    found = []
    ordered = sorted(kinds().items(), key=lambda one: one[0] != "choice")
    for number, (kind, one) in enumerate(ordered, 1):
        blank = one.builder.translated(lambda text: page_words("de")[text]).blank
        found.append({**blank, "kind": kind, "id": f"q{number}", "text": f"Frage {number}?"})
    leaf = {"question": "q1", "answers": ["Ja"]}
    found[2] |= {"show_if": {"any": [leaf, {"none": [leaf]}]}, "allow_skip": True}
    return found


def draft(server: Any, **fields: Any) -> str:
    """Return the token of a new draft with a question of every kind."""
    plan = {"people": 1200, "prices": {"low": 10, "medium": 20, "high": 1000}}
    given = {"description": "Wie es geht.", "questions": questions(), "plan": plan, **fields}
    known = changed(Document(title="Arbeit"), given)
    return str(server.services.drafts.create(known, team=FIRST_TEAM)[0].token)


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["1280", "390"])
def test_a_german_surveyor_reads_no_english(
    window: dict[str, int], generous: Any, new_visitor: NewVisitor
) -> None:
    """Builder, audience, review and the open survey are German, and fit the window."""
    visitor = new_visitor(viewport=window, locale="de-DE")
    page, reader = visitor.page, Reader(visitor.page)
    page.goto(generous.owner_link)
    reader.read("surveys")
    page.goto(f"{generous.url}/surveys/new?people=1200&questions=3&exact=10")
    reader.read("new")
    token = draft(generous, look={"colour": "#ffff00", "logo": "", "logo_text": ""})
    page.goto(f"{generous.url}/surveys/{token}/edit")
    for place in range(-1, len(questions())):
        page.locator(f'[data-place="{place}"]').click()
        reader.read(f"builder {place}")
    for place, name in enumerate(("Seite", "Text", "Einwilligung", "Bild")):
        page.locator("#blocks button", has_text=name).click()
        reader.read(f"block {place}")
    expect(page.locator("#saved")).to_have_text("Gespeichert")
    token = draft(generous)
    page.goto(f"{generous.url}/surveys/{token}/audience")
    expect(page.locator("#outcome h2")).to_have_text("Was Sie erwarten können")
    reader.read("audience")
    page.locator('[data-key="/plan/people"] input').fill("viele")
    reader.read("audience with no number")
    page.locator('[data-key="/plan/people"] input').fill("1200")
    expect(page.locator("#saved")).to_have_text("Gespeichert")
    page.locator('input[name="trust"][value="two-parties"]').check()
    expect(page.locator("#adding")).to_be_attached()
    reader.read("audience of two parties")
    page.locator('input[name="trust"][value="device"]').check()
    expect(page.locator("#saved")).to_have_text("Gespeichert")
    page.goto(f"{generous.url}/surveys/{token}/review")
    reader.read("review")
    page.locator("#open-it").click()
    expect(page.locator("#responses")).to_be_visible()
    reader.read("live")
    assert not reader.faults, "\n".join(reader.faults)
    assert visitor.complaints == []
