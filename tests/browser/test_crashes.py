"""The device dies at every step: never two draws, never a lost response, never a second charge.

``MASQUERADE_CRASH_ROUNDS`` runs each crash that often; once by default.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, Request, expect
from tests.patience import PATIENCE_SECONDS, wait_until

from .conftest import ANSWERS, NewVisitor, Person, open_survey, pairs

pytestmark = pytest.mark.browser

ROUNDS = range(int(os.environ.get("MASQUERADE_CRASH_ROUNDS", "1")))
REQUESTS = {
    "reserve": "**/api/v1/participations",
    "open": "**/open",
    "seal": "**/seal",
    "send": "**/response",
}


def die_at(page: Page, request: str, *, answered: bool, crash: Callable[[], None]) -> None:
    """Let the device die when it makes a request, before or after the server has answered it."""

    def handle(route: Any) -> None:
        if answered:
            route.fetch()
        crash()

    page.route(REQUESTS[request], handle)


def commitments(requests: list[Request]) -> set[str]:
    """Return every commitment that was sent, one for each draw there was."""
    seals = [r.post_data for r in requests if r.url.endswith("/seal")]
    return {json.loads(body or "{}")["commitment"] for body in seals}


def check(server: Any, token: str, person: Person, requests: list[Request], early: Any) -> None:
    """Check that there was one draw, one response that stayed as it was, and one charge."""
    assert len(commitments(requests)) == 1
    assert len({sent for _, sent in person.shown}) <= 1
    [response] = server.services.reports.of_survey(token)
    assert early in (None, response.reports)
    bodies = [json.loads(r.post_data or "") for r in requests if r.url.endswith("/response")]
    assert {tuple(body["reports"]) for body in bodies} == {tuple(response.reports)}
    [one] = server.services.profiles.persons()
    charges = [e.charge for e in server.services.ledger.entries(one) if e.charge.survey == token]
    assert [charge.kind for charge in charges].count("commit") == 1


IN_EVERY_RUN = {
    "reserve": (True, 0),
    "open": (False, 1),
    "seal": (False, 0),
    "send": (True, 1),
}
"""Whether the server has answered before the crash, and whether reports are sent before shown."""


def crashes_of_tabs() -> list[Any]:
    """Return each request, crash and screen; one crash a request, in turn, is for every run."""
    return [
        pytest.param(
            request,
            answered,
            reveal,
            id=f"{request}-{'answered' if answered else 'unanswered'}-{reveal}",
            marks=[]
            if (answered, sends_first) == IN_EVERY_RUN[request]
            else [pytest.mark.exhaustive],
        )
        for turn, request in enumerate(REQUESTS)
        for answered in (False, True)
        for sends_first, reveal in enumerate(("before_send", "after_send"))
    ]


@pytest.mark.parametrize("round_", ROUNDS)
@pytest.mark.parametrize(("request_", "answered", "reveal"), crashes_of_tabs())
def test_a_tab_that_dies_during_a_request_is_taken_up_again(
    generous: Any, new_visitor: NewVisitor, request_: str, answered: bool, reveal: str, round_: int
) -> None:
    """The tab is closed before or after the server answers; a new one ends the same response."""
    survey = open_survey(generous, reveal=reveal)
    visitor = new_visitor()
    first = visitor.page
    address = f"{generous.url}/s/{survey.token}"
    first.goto(address)
    die_at(first, request_, answered=answered, crash=first.close)
    person = Person(first)
    with pytest.raises(Error):
        person.finish()
    early = [response.reports for response in generous.services.reports.of_survey(survey.token)]
    person.page = visitor.another_page()
    person.page.goto(address)
    person.finish()
    check(generous, survey.token, person, visitor.requests, early[0] if early else None)


def test_a_tab_that_is_closed_on_any_screen_is_taken_up_again(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """A new tab after every single step shows where the old one was, and one draw leads through."""
    survey = open_survey(generous)
    visitor = new_visitor()
    address = f"{generous.url}/s/{survey.token}"
    visitor.page.goto(address)
    person = Person(visitor.page)
    for _ in range(len(ANSWERS) + 4):
        if person.view() == "done":
            break
        person.step()
        before = person.place()
        person.page.close()
        person.page = visitor.another_page()
        person.page.goto(address)
        assert person.place() == before
    assert person.view() == "done"
    check(generous, survey.token, person, visitor.requests, None)


def test_nothing_brings_a_second_draw(generous: Any, new_visitor: NewVisitor) -> None:
    """Reload, back, forward and other tabs, an old one too, all show the first draw."""
    survey = open_survey(generous)
    visitor = new_visitor()
    page = visitor.page
    address = f"{generous.url}/s/{survey.token}"
    page.goto(f"{generous.url}/me")
    page.goto(address)
    person = Person(page)
    person.finish("seal")
    late = visitor.another_page()  # a tab that stands where the masks are not yet drawn
    late.goto(address)
    assert Person(late).view() == "seal"
    person.finish("reveal")
    first = pairs(page)
    page.reload()
    assert pairs(page) == first
    page.go_back()
    page.go_forward()
    assert pairs(page) == first
    if late.locator("#seal").is_visible():
        late.locator("#seal").click()
    assert pairs(late) == first
    late.locator("#send").click()
    expect(late.locator('main[data-view="done"]')).to_be_visible()
    page.reload()
    assert person.view() == "done"
    check(generous, survey.token, person, visitor.requests, None)


@contextmanager
def own_chromium(chromium: Browser, folder: Path) -> Iterator[tuple[Page, Callable[[], None]]]:
    """Start a Chromium of its own in a folder; yield a page and a function that kills it."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    port_file = folder / "DevToolsActivePort"
    port_file.unlink(missing_ok=True)
    process = subprocess.Popen(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--lang=en-GB",
            f"--user-data-dir={folder}",
            "--remote-debugging-port=0",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def kill() -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    try:
        wait_until(
            "Chromium has not started",
            lambda: port_file.exists() and port_file.read_text().count("\n"),
        )
        port = port_file.read_text().split("\n")[0]
        browser = chromium.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}")
        page = browser.contexts[0].pages[0]
        page.set_default_timeout(1000 * PATIENCE_SECONDS)
        yield page, kill
    finally:
        kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("round_", ROUNDS)
@pytest.mark.parametrize(
    ("request_", "answered"),
    [
        pytest.param("open", True, marks=pytest.mark.exhaustive),
        ("seal", False),
        pytest.param("seal", True, marks=pytest.mark.exhaustive),
        pytest.param("send", True, marks=pytest.mark.exhaustive),
    ],
)
def test_a_browser_that_is_killed_keeps_its_one_draw(
    generous: Any, chromium: Browser, tmp_path: Path, request_: str, answered: bool, round_: int
) -> None:
    """``kill -9`` of all of Chromium in the middle of a request; it is started anew and goes on."""
    survey = open_survey(generous)
    address = f"{generous.url}/s/{survey.token}"
    requests: list[Request] = []
    with own_chromium(chromium, tmp_path) as (page, kill):
        page.on("request", lambda request: requests.append(request))
        page.goto(address)
        die_at(page, request_, answered=answered, crash=kill)
        person = Person(page)
        with pytest.raises(Error):
            person.finish()
    early = [response.reports for response in generous.services.reports.of_survey(survey.token)]
    with own_chromium(chromium, tmp_path) as (page, _):
        page.on("request", lambda request: requests.append(request))
        page.goto(address)
        person.page = page
        person.finish()
    check(generous, survey.token, person, requests, early[0] if early else None)
