"""In a real browser: servers that lie learn nothing more, and nothing that they say is shown.

The lies are rows of ``tests/vectors/hostile-server.json``; ``tests/web/hostile.test.mjs`` runs them
all. The app comes from a real server; a route in the process of the test answers for its API.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import QUESTIONS, NewVisitor, Person, Visitor, open_survey, see

pytestmark = pytest.mark.browser

LATER = pytest.mark.exhaustive
"""For rows that the modules of the browser answer in every run, under Node.js."""

TABLE = json.loads(
    (Path(__file__).parents[1] / "vectors" / "hostile-server.json").read_text(encoding="utf-8")
)
STEPS = (
    ("GET", r"/surveys/\w+/invitation", "invitation"),
    ("GET", r"/invitations", "invitations"),
    ("POST", r"/participations", "reserve"),
    ("POST", r"/participations/\w+/(open|seal|withdraw|abandon)", ""),
    ("PUT", r"/participations/\w+/response", "send"),
    ("GET", r"/me", "me"),
    ("GET", r"/me/ledger", "ledger"),
)
USUAL = {"epsilon": 10_000_000, "clear": 0}
WIDE = {"epsilon": 20_000_000, "clear": 200}
LIE = "Nobody can ever learn anything from this."


class LyingServer:
    """Answers for the API of one survey of the table.

    Parameters
    ----------
    survey : dict
        A survey of the table, with honest answers.
    lies : dict
        What is said in place of them, by step.

    Attributes
    ----------
    asked : list of tuple
        Step and body of every request.
    """

    def __init__(self, survey: dict[str, Any], lies: dict[str, Any]) -> None:
        self.survey, self.lies = survey, lies
        self.asked: list[tuple[str, str]] = []

    def answer(self, route: Route) -> None:
        """Answer a request."""
        path = re.sub(r"^.*/api/v1|\?.*$", "", route.request.url)
        for method, pattern, name in STEPS:
            found = re.fullmatch(pattern, path)
            if found and method == route.request.method:
                step = name or found[1]
                self.asked.append((step, route.request.post_data or ""))
                status, text = self.told(step)
                route.fulfill(status=status, body=text, content_type="application/json")
                return
        route.fulfill(status=404, body="{}", content_type="application/json")

    def told(self, step: str) -> tuple[int, str]:
        """Return status and body of the answer in a step."""
        honest, lie = self.survey["steps"][step], self.lies.get(step, {})
        status = lie.get("status", honest["status"])
        if "raw" in lie:
            return status, lie["raw"]
        if "body" in lie:
            return status, json.dumps(lie["body"])
        body = copy.deepcopy(honest["body"])
        for change in lie.get("change", ()):
            *way, last = change["path"]
            place = body
            for each in way:
                place = place[each]
            if change.get("delete"):
                del place[last]
            else:
                place[last] = change["value"]
        return status, json.dumps(body)

    def steps(self) -> list[str]:
        """Return the steps that were asked for, without looks at the account."""
        return [step for step, _ in self.asked if step not in ("me", "ledger", "invitations")]

    def bodies(self, step: str) -> set[str]:
        """Return the different bodies of a step, without padding."""
        found = [json.loads(body) for name, body in self.asked if name == step]
        return {json.dumps({k: v for k, v in each.items() if k != "padding"}) for each in found}


def row(name: str) -> dict[str, Any]:
    """Return a case of the table."""
    found: dict[str, Any] = next(case for case in TABLE["cases"] if case["name"] == name)
    return found


def visit(
    server: Any, new_visitor: NewVisitor, case: dict[str, Any], cap: dict[str, int]
) -> tuple[Visitor, LyingServer]:
    """Open the survey of a case on a new device, at a server that lies as the case says."""
    survey = TABLE["surveys"][case["survey"]]
    lying = LyingServer(survey, case["lies"])
    visitor = new_visitor(own_cap=cap, service_workers="block")
    visitor.context.route("**/api/v1/**", lying.answer)
    visitor.page.goto(f"{server.url}/s/{survey['token']}")
    return visitor, lying


def person_of(page: Page, case: dict[str, Any]) -> Person:
    """Return a person that answers the survey of a case."""
    survey = TABLE["surveys"][case["survey"]]
    codes: list[int | str] = list(survey["codes"])
    if case["survey"] == "work":
        codes[3] = survey["answers"]["hours"]
    return Person(page, codes, survey["level"])


@pytest.mark.parametrize(
    "name",
    [
        "rho is 'inf' and epsilon_event 0.33, for answers in clear",
        "two-layer is priced by its mean, and the numbers are those of before",
        pytest.param(
            "one answer of twenty is sent as it is, and the numbers are those of before",
            marks=LATER,
        ),
        pytest.param("level high sends answers in clear and says so in numbers alone", marks=LATER),
        pytest.param("epsilon_user is 1e999", marks=LATER),
    ],
)
def test_a_level_that_costs_more_than_is_said_cannot_be_chosen(
    generous: Any, new_visitor: NewVisitor, name: str
) -> None:
    """The invitation is the only request about the survey, and no level is offered."""
    visitor, lying = visit(generous, new_visitor, row(name), WIDE)
    see(visitor.page, "cannot")
    assert lying.steps() == ["invitation"]
    assert visitor.page.locator('input[name="level"], #start').count() == 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a question's text changes, and the hash with it", marks=LATER),
        "a question's text changes, under the same hash",
        pytest.param("a form is weaker when opened", marks=LATER),
    ],
)
def test_other_questions_than_were_promised_are_not_shown(
    generous: Any, new_visitor: NewVisitor, name: str
) -> None:
    """No question is shown and nothing is drawn; with an honest server the survey goes on."""
    case = row(name)
    visitor, lying = visit(generous, new_visitor, case, WIDE)
    person = person_of(visitor.page, case)
    person.step()
    see(visitor.page, "cannot")
    assert lying.steps() == ["invitation", "reserve", "open"]
    lying.lies = {}
    visitor.page.reload()
    person.finish()
    assert len(lying.bodies("seal")) == len(lying.bodies("send")) == 1


@pytest.mark.parametrize("step", ["seal", pytest.param("send", marks=LATER)])
def test_a_draw_that_is_called_expired_is_not_drawn_again(
    generous: Any, new_visitor: NewVisitor, step: str
) -> None:
    """After the refusal there is no way to begin again, on this screen or after a reload."""
    case = row(f"{step} is refused as 'expired'")
    visitor, lying = visit(generous, new_visitor, case, WIDE)
    page = visitor.page
    person_of(page, case).finish("ended")
    lying.lies = {}
    for _ in range(2):
        page.reload()
        see(page, "ended")
        assert page.locator("#again, #start").count() == 0
    assert len(lying.bodies("seal")) == 1
    assert len(lying.bodies("send")) == (step == "send")
    page.goto(f"{generous.url}/me/ledger")
    see(page, "ledger")
    expect(page.locator(".timeline > li")).to_have_count(1)
    # The server's list has none; the device says so, and goes by its own.
    expect(page.locator("main")).to_contain_text("missing from the server's list")


def test_nothing_that_a_server_says_of_privacy_is_shown(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Levels' words, odds and blur, statements and refusals stand on no screen; numbers are own."""
    levels = range(len(TABLE["surveys"]["work"]["steps"]["invitation"]["body"]["levels"]))
    words = ("odds", "words", "words_all", "blur")
    lies = {
        "invitation": {
            "change": [{"path": ["levels", n, w], "value": LIE} for n in levels for w in words]
        },
        "me": {
            "change": [
                {"path": ["statement"], "value": [LIE, LIE]},
                {"path": ["battery", "percent_left"], "value": 99},
                {"path": ["battery", "epsilon_spent"], "value": 0.123},
                {"path": ["caps", "epsilon"], "value": 4567.0},
                {"path": ["caps", "to_come"], "value": {"epsilon": 9.0, "day": LIE}},
            ]
        },
        "ledger": {"change": [{"path": ["entries"], "value": [{"kind": LIE, "day": LIE}, LIE]}]},
        "invitations": {"change": [{"path": ["invitations", 0, "topic"], "value": LIE}]},
        "withdraw": {"status": 409, "body": {"type": "/problems/x", "detail": LIE}},
    }
    case = {"survey": "work", "lies": lies}
    visitor, _ = visit(generous, new_visitor, case, USUAL)
    page, person = visitor.page, None
    person = person_of(page, case)
    said: list[str] = []

    def look() -> None:
        page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
        said.append(page.locator("main").inner_text())

    for _ in range(20):
        look()
        if person.view() == "done":
            break
        person.step()
    page.locator("#withdraw").click()
    expect(page.locator(".notice")).to_be_visible()
    look()
    for path, view in (("/me", "home"), ("/me/ledger", "ledger"), ("/me/settings", "settings")):
        page.goto(generous.url + path)
        see(page, view)
        look()
    text = "\n".join(said)
    assert "Thank you" in text
    # as this device counts: 1 - 1.025914 / 5.839179 of the order that its cap adds up
    assert "82 % of your privacy here" in text
    for lie in (LIE, "99 %", "of 4"):
        assert lie not in text
    # What the server says is shown in one place each, as what it says.
    assert text.count("0.123") == text.count("The server says ε 0.123") == 1
    assert text.count("4,567") == text.count("The server says its limit is ε 4,567 now") == 1


def test_a_forgetful_server_gets_no_more_than_the_device_s_own_cap(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """The server admits anything; the device stops, says so, and lets its person change the cap."""
    first, second = (open_survey(generous, questions=QUESTIONS[:1]) for _ in range(2))
    visitor = new_visitor(own_cap={"epsilon": 500_000, "clear": 0})
    page = visitor.page
    page.goto(f"{generous.url}/s/{first.token}")
    Person(page).finish()
    page.goto(f"{generous.url}/s/{second.token}")
    see(page, "intro")
    expect(page.locator("#start")).to_have_count(0)  # no level fits what is left
    assert [r.url for r in visitor.requests].count(f"{generous.url}/api/v1/participations") == 1
    page.goto(f"{generous.url}/me/settings")
    page.locator("#own-cap").fill("nothing")
    page.locator("#own-cap-save").click()
    expect(page.locator("#announcement")).to_contain_text("number above 0")
    page.locator("#own-cap").fill("1.5")
    page.locator("#own-cap-save").click()
    expect(page.locator("#announcement")).to_contain_text("is changed")
    page.goto(f"{generous.url}/s/{second.token}")
    Person(page).finish()
    page.goto(f"{generous.url}/me/ledger")
    see(page, "ledger")
    expect(page.locator("main")).to_contain_text("Both lists name the same surveys")
    expect(page.locator("main")).to_contain_text("stops at ε 1.5 by itself")
    expect(page.locator(".timeline > li")).to_have_count(2)


def test_two_tabs_cannot_pass_the_cap_together(generous: Any, new_visitor: NewVisitor) -> None:
    """Two surveys are begun at once where one fits: one is opened, the other is not."""
    surveys = [open_survey(generous, questions=QUESTIONS[:1]) for _ in range(2)]
    visitor = new_visitor(own_cap={"epsilon": 500_000, "clear": 0})
    visitor.page.goto(f"{generous.url}/me")
    visitor.page.locator("#begin").click()
    see(visitor.page, "home")
    pages = [visitor.another_page() for _ in surveys]
    for page, survey in zip(pages, surveys, strict=True):
        page.goto(f"{generous.url}/s/{survey.token}")
        see(page, "intro")
    for page in pages:
        page.evaluate("document.querySelector('#start').click()")
    opened, stopped = "question", ("intro", "resume")
    for page in pages:
        page.wait_for_selector('main[data-view="question"], main .notice')
    views = sorted(str(page.locator("main").get_attribute("data-view")) for page in pages)
    assert opened in views
    assert any(view in stopped for view in views)
    sent = [request.url for request in visitor.requests if request.url.endswith("/open")]
    assert len(sent) == 1
