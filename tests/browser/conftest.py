"""Devices with a browser that remember everything they sent, and people to answer on them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect
from tests.browser import accessibility
from tests.browser.accessibility import WINDOWS
from tests.patience import PATIENCE_SECONDS

from masquerade.accounting import Caps
from masquerade.exact import Micro
from masquerade.mechanisms import mask_response
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Comparison, Number, Question, Rating, SeveralOf
from masquerade.surveys.kinds import kinds
from masquerade.surveys.survey import Survey, commitment_of

PHONE = {"width": 390, "height": 844}
GENEROUS = {"epsilon": 1_000_000_000_000, "clear": 1000}
"""What a device lets its person spend where caps are not what is tested, in millionths."""

SET_CAPS = """
{
  const opening = indexedDB.open("masquerade", 3);
  opening.onupgradeneeded = () => {
    for (const table of ["device", "participations", "charges", "arrivals"]) {
      opening.result.createObjectStore(table);
    }
  };
  opening.onsuccess = () => {
    const device = opening.result.transaction("device", "readwrite").objectStore("device");
    device.get("settings").onsuccess = ({ target }) => {
      const settings = target.result ?? {};
      if (!settings.caps) device.put({ ...settings, caps: CAPS }, "settings");
    };
    device.transaction.oncomplete = () => opening.result.close();
  };
}
"""
"""Sets a device's own cap before the app reads it, as its person would in the settings."""

SENTINELS = ("Sentinel-Aardvark", "Sentinel-Basilisk", "Sentinel-Chimera")
NUMBER_ANSWER = 271_828
QUESTIONS: tuple[Question, ...] = (
    Choice("c", "Which beast?", SENTINELS),
    Choice("cs", "Which beast by night?", SENTINELS, allow_skip=True),
    Rating("r", "How wild is the beast?", low_label="tame", high_label="wild"),
    Rating("rs", "How loud is the beast?", low=0, high=10, allow_skip=True),
    Number("n", "How many scales has the beast?", 0, 999_999, "scales"),
    Comparison("p", "Which would you rather meet?", *SENTINELS[:2]),
    Comparison("pt", "Which would you rather feed?", *SENTINELS[:2], tie=SENTINELS[2]),
    SeveralOf("s", "Which beasts have you met?", SENTINELS, most=2, allow_skip=True),
)
ANSWERS = (0, 3, 4, 11, NUMBER_ANSWER, 1, 2, 0b101)
"""A code for each question; the second and the fourth are "prefer not to say"."""


FIRST_WINDOWS, OTHER_WINDOWS = WINDOWS


@pytest.fixture(params=[FIRST_WINDOWS, pytest.param(OTHER_WINDOWS, marks=pytest.mark.exhaustive)])
def faults(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """Return a function that finds the faults of a page, in one pair of windows of each two."""
    whole = request.param != FIRST_WINDOWS
    return partial(accessibility.faults, windows=WINDOWS[request.param], whole=whole)


@dataclass
class Visitor:
    """One device: its own storage and cookies.

    Attributes
    ----------
    context : BrowserContext
    page : Page
    requests : list of Request
        All requests of all pages of this device.
    complaints : list of str
        Errors of scripts and of the content security policy.
    """

    context: BrowserContext
    page: Page
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> Page:
        """Remember the requests and complaints of `page`."""
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("websocket", lambda socket: self.complaints.append(f"socket: {socket.url}"))
        return page

    def another_page(self) -> Page:
        """Open one more tab on the same device."""
        return self.watch(self.context.new_page())

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)


NewVisitor = Callable[..., Visitor]


@pytest.fixture
def new_visitor(chromium: Browser) -> Iterator[NewVisitor]:
    """Return a function that makes a device; each is forgotten after the test.

    Its own cap is `GENEROUS`, or what `own_cap` says; None leaves the app's.
    """
    contexts = []

    def make(*, own_cap: dict[str, int] | None = GENEROUS, **options: Any) -> Visitor:
        context = chromium.new_context(**{"viewport": PHONE, "locale": "en-GB", **options})
        if own_cap is not None:
            context.add_init_script(SET_CAPS.replace("CAPS", json.dumps(own_cap)))
        context.set_default_timeout(1000 * PATIENCE_SECONDS)
        contexts.append(context)
        page = context.new_page()
        visitor = Visitor(context, page)
        visitor.watch(page)
        return visitor

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def generous(live_server: Any) -> Any:
    """A server at which nobody's cap or quota is in the way, and clear answers may be offered."""
    return live_server(
        caps=Caps(Micro(1_000_000_000), Caps().delta, 1000),
        allow_clear=True,
        rate_participant=0,
        rate_address=0,
    )


def beasts(**changes: Any) -> Survey:
    """Return a survey with every kind of question and every level but "none"."""
    values: dict[str, Any] = {
        "title": "Beasts",
        "description": "A survey about beasts.",
        "questions": QUESTIONS,
        **changes,
    }
    return Survey.at_levels(**values)


def of_every_kind() -> list[dict[str, Any]]:
    """Return the builder's new question of each registered kind, to be skipped where possible."""
    found = []
    for name, kind in kinds().items():
        fields = {**kind.builder.blank, "kind": name, "id": name, "text": f"Which {name}?"}
        changed = {"votes": 1, "allow_skip": True}
        found.append(fields | {key: one for key, one in changed.items() if key in fields})
    return found


@dataclass
class Person:
    """A person that answers a survey on a page, from any place in it.

    Attributes
    ----------
    page : Page
    answers : sequence of int
        A code for each question.
    level : str
        What they choose.
    shown : list of tuple
        Each time reports were on the screen: the texts of answers and of reports.
    """

    page: Page
    answers: Sequence[int | str] = ANSWERS
    level: str = "high"
    shown: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)

    def view(self) -> str:
        """Return the name of the screen, once there is one."""
        main = self.page.locator('main:not([data-view="loading"])')
        return str(main.get_attribute("data-view"))

    def finish(self, until: str = "done") -> None:
        """Go on until a screen is reached."""
        for _ in range(4 * len(self.answers) + 20):
            if self.view() == until:
                return
            self.step()
        raise AssertionError(f"{until!r} is not reached; this is {self.view()!r}")

    def step(self) -> None:
        """Do the step that the screen asks for, and wait for the next one."""
        before = self.place()
        act = getattr(self, f"_on_{before.split()[0]}", None)
        if act is None:  # it went on by itself, to a screen that asks for nothing
            return
        act()
        self.page.wait_for_function(
            "before => document.querySelector('main').dataset.view + ' ' + "
            "(document.querySelector('.progress span')?.textContent ?? '') !== before",
            arg=before,
        )

    def place(self) -> str:
        """Return the name of the screen, and which question it is."""
        view = self.view()
        progress = self.page.locator(".progress span")
        return f"{view} {progress.inner_text() if view == 'question' else ''}"

    def _on_intro(self) -> None:
        radio = self.page.locator(f'input[name="level"][value="{self.level}"]')
        if radio.count():
            radio.check()
        if self.level == "none":
            self.page.locator("#accept-clear").check()
        self.page.locator("#start").click()

    def _on_resume(self) -> None:
        self.page.locator("#go").click()

    def _on_question(self) -> None:
        at = int(self.page.locator(".progress span").inner_text().split()[0]) - 1
        answer = self.answers[at]
        if self.page.locator("#number").count():
            self.page.locator("#number").fill(str(answer))
        elif self.page.locator('input[type="checkbox"][name="answer"]').count():
            # one box each; "none of these" (0) and "prefer not to say" stand alone
            ticked = [1 << place for place in range(60) if int(answer) >> place & 1] or [0]
            for value in ticked:
                self.page.locator(f'input[name="answer"][value="{value}"]').check()
        else:
            self.page.locator(f'input[name="answer"][value="{answer}"]').check()
        self.page.locator("#next").click()

    def _on_seal(self) -> None:
        self.page.locator("#seal").click()

    def _on_waiting(self) -> None:
        """Wait, as a person would."""

    def _on_reveal(self) -> None:
        # At once, as what was asked for before goes on by itself, and the screen with it.
        mine, sent = self.page.evaluate(
            """() => {
              const texts = (kind) =>
                [...document.querySelectorAll(`.pair .${kind}`)].map((each) => each.innerText);
              const shown = [texts("mine"), texts("sent")];
              document.querySelector("#send:enabled")?.click();
              return shown;
            }"""
        )
        if sent:
            self.shown.append((tuple(mine), tuple(sent)))

    def _on_revealed(self) -> None:
        self.shown.append(pairs(self.page))
        self.page.locator("#finish").click()


def see(page: Page, view: str) -> None:
    """Wait for a screen."""
    expect(page.locator(f'main[data-view="{view}"]')).to_be_visible()


def kept(page: Page) -> None:
    """Wait until the device has written down the answers: a change waits for earlier ones."""
    page.evaluate(
        """async () => {
          const {href} = document.querySelector('link[href$="/database.js"]');
          const {openDatabase} = await import(href);
          await (await openDatabase()).change("participations", "", (nothing) => nothing);
        }"""
    )


def pairs(page: Page) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts that are shown as kept and as sent."""
    expect(page.locator(".pair").first).to_be_visible()
    texts = [tuple(page.locator(f".pair .{kind}").all_inner_texts()) for kind in ("mine", "sent")]
    return texts[0], texts[1]


def text_of(question: Question, code: int) -> str:
    """Return how the app writes an answer or a report."""
    if isinstance(question, Number):
        return f"{code} {question.unit}".replace("-", "−")
    if isinstance(question, SeveralOf):
        skip = ["Prefer not to say"] if code >> len(question.options) else []
        return " · ".join([*question.ticked(code), *skip]) or "None of these"
    return [*question.labels, "Prefer not to say"][code]


def respond(server: Any, survey: SurveyRecord, secret: str | None = None) -> None:
    """Let somebody without a browser give the first answer to every question of a survey."""
    who = server.services.identity(secret or secrets.token_hex(16))
    steps = server.services.participations
    level, salt = survey.survey.levels[0], secrets.token_hex(16)
    mechanisms: Any = level.mechanisms
    begun, _ = steps.reserve(who, survey.token, level.name, idempotency_key=secrets.token_hex(16))
    steps.open(who, begun.id)
    reports = mask_response([0] * len(mechanisms), mechanisms)
    steps.seal(who, begun.id, commitment_of(begun.id, reports, salt))
    steps.respond(
        who, begun.id, reports=reports, salt=salt, level=level.name, survey_hash=survey.hash
    )


def open_survey(server: Any, **changes: Any) -> SurveyRecord:
    """Open a survey about beasts."""
    survey: SurveyRecord = server.services.surveys.open_survey(beasts(**changes))
    return survey


def confirm(page: Page, ask: str, do: str) -> None:
    """Press a summary for a step that cannot be undone, then the button of the step."""
    page.locator("summary", has_text=ask).click()
    page.get_by_role("button", name=do).click()


def width(page: Page) -> int:
    """Return how wide a page is, once its style sheets are there: without them it is wider."""
    page.wait_for_load_state("load")
    return int(page.evaluate("document.documentElement.scrollWidth"))


def close_survey(page: Page) -> None:
    """Close a survey on its page, and wait for the results."""
    confirm(page, "Close and see results", "Close it now")
