"""Tickets, consent, panels and frames in a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from tests.server.surveys.test_tickets import set_day

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import read_document
from masquerade.surveys.reach import ticket_link

from .conftest import NewVisitor, Person, see

if TYPE_CHECKING:
    from masquerade.server.surveys.survey_records import SurveyRecord

pytestmark = pytest.mark.browser

PANEL = {
    "parameters": ["PROLIFIC_PID", "SESSION_ID"],
    "complete": "http://127.0.0.1/done?cc={code}&pid={PROLIFIC_PID}",
    "screened_out": "http://127.0.0.1/out?pid={PROLIFIC_PID}",
    "full": "http://127.0.0.1/full?pid={PROLIFIC_PID}",
}


def opened(server: Any, **fields: Any) -> SurveyRecord:
    """Open a survey of one question."""
    question = {"kind": "choice", "id": "q", "text": "Tea?", "options": ["Yes", "No"]}
    asked = {"title": "Tea", "questions": [question], "levels": ["high"], **fields}
    draft, _ = server.services.drafts.create(read_document(asked), team=FIRST_TEAM)
    survey: SurveyRecord = server.services.drafts.open(draft.token, team=FIRST_TEAM)
    return survey


def link_of(server: Any, survey: SurveyRecord) -> str:
    """Return the link of a new ticket."""
    [code] = server.services.tickets.make(survey, 1)
    return ticket_link(f"{server.url}/s/{survey.token}", code, survey.hash)


def answer(page: Page) -> None:
    """Answer the one question, from the first screen on."""
    Person(page, answers=(0,)).finish()


def test_a_ticket_admits_one_browser_and_leaves_the_address(
    generous: Any, new_visitor: NewVisitor, faults: Any
) -> None:
    """With the link one browser answers; the code is sent once, without the person's secret."""
    words = {"asked_by": "Tea council", "contact": "t@example.org"}
    survey = opened(generous, tickets={"phases": 1}, **words)
    link = link_of(generous, survey)
    first, second, third = new_visitor(), new_visitor(), new_visitor()
    first.page.goto(link)
    see(first.page, "intro")
    assert "#ticket" not in first.page.url
    expect(first.page.locator(".asker")).to_contain_text("Tea council")
    expect(first.page.locator(".ticket")).to_contain_text("could guess it from the time")
    assert faults(first.page, "intro") == {}
    answer(first.page)
    asked = [one for one in first.requests if one.url.endswith("/ticket")]
    assert len(asked) == 1
    assert "masquerade-participant" not in asked[0].headers
    begun = [one for one in first.requests if one.url.endswith("/participations")]
    code = (asked[0].post_data_json or {})["code"]
    for request in first.requests:
        if request is not asked[0]:
            assert code not in f"{request.url}{request.post_data or ''}"
    assert len((begun[0].post_data_json or {})["ticket"]) > 500
    assert len(begun[0].post_data or "") % 1024 == 0
    second.page.goto(link)
    see(second.page, "intro")
    second.page.locator("#start").click()
    expect(second.page.locator(".notice[role=alert]")).to_contain_text("used before")
    third.page.goto(f"{generous.url}/s/{survey.token}")
    see(third.page, "intro")
    expect(third.page.locator("#start")).to_have_count(0)
    expect(third.page.locator("main")).to_contain_text("for invited people")
    assert first.complaints == third.complaints == []


def test_people_enrol_and_come_back(
    generous: Any, new_visitor: NewVisitor, faults: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ticket is kept by the browser until the day on which people answer."""
    survey = opened(generous, tickets={"phases": 2, "answers_from": "2999-01-01"})
    visitor = new_visitor()
    page = visitor.page
    page.goto(link_of(generous, survey))
    see(page, "enrol")
    expect(page.locator(".ticket")).to_contain_text("nor the time of enrolment")
    page.locator("#enrol").click()
    expect(page.locator("#enrolled")).to_be_visible()
    assert faults(page, "enrol") == {}
    page.goto(f"{generous.url}/s/{survey.token}")
    expect(page.locator("#enrolled")).to_be_visible()
    set_day(monkeypatch, generous.services, "2999-01-01")
    # The device goes by its own clock, whatever the server says.
    page.goto(f"{generous.url}/s/{survey.token}")
    expect(page.locator("#enrolled")).to_be_visible()
    page.clock.set_fixed_time("2999-01-01T12:00:00Z")
    page.goto(f"{generous.url}/s/{survey.token}")
    answer(page)
    assert visitor.complaints == []


def test_no_secret_is_sent_beside_an_enrolment(generous: Any, new_visitor: NewVisitor) -> None:
    """A device that took part before enrols without a request that names the person."""
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{opened(generous).token}")
    answer(page)
    survey = opened(generous, tickets={"phases": 2, "answers_from": "2999-01-01"})
    before = len(visitor.requests)
    page.goto(link_of(generous, survey))
    see(page, "enrol")
    page.locator("#enrol").click()
    expect(page.locator("#enrolled")).to_be_visible()
    page.goto(f"{generous.url}/s/{survey.token}")
    expect(page.locator("#enrolled")).to_be_visible()
    beside = visitor.requests[before:]
    assert [one for one in beside if one.url.endswith("/ticket")]
    assert not [one for one in beside if "masquerade-participant" in one.headers]


@pytest.mark.parametrize(("path", "screen"), [("/me", "home"), ("/me/ledger", "ledger")])
def test_the_account_is_not_asked_for_while_one_is_enrolled(
    generous: Any, new_visitor: NewVisitor, faults: Any, path: str, screen: str
) -> None:
    """Opened by hand in the days of enrolment, a page of the account sends no secret unasked."""
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{opened(generous).token}")
    answer(page)
    other = opened(generous)
    survey = opened(generous, tickets={"phases": 2, "answers_from": "2999-01-01"})
    page.goto(link_of(generous, survey))
    see(page, "enrol")
    before = len(visitor.requests)

    def named() -> list[Any]:
        return [r for r in visitor.requests[before:] if "masquerade-participant" in r.headers]

    # Also before the code is exchanged: the person is about to.
    page.goto(f"{generous.url}{path}")
    expect(page.locator("#not-asked")).to_contain_text("2999")
    page.goto(f"{generous.url}/s/{survey.token}")
    page.locator("#enrol").click()
    expect(page.locator("#enrolled")).to_be_visible()
    page.goto(f"{generous.url}{path}")
    expect(page.locator("#not-asked")).to_be_visible()
    assert faults(page, "not-asked") == {}
    # Nor by the page of another survey, before anything is begun there.
    page.goto(f"{generous.url}/s/{other.token}")
    see(page, "intro")
    assert named() == []
    page.goto(f"{generous.url}{path}")
    page.locator("#ask-now").click()
    expect(page.locator("#not-asked")).to_have_count(0)
    assert named()
    # From the first day of answers on it is as always.
    page.clock.set_fixed_time("2999-01-01T12:00:00Z")
    before = len(visitor.requests)
    page.goto(f"{generous.url}{path}")
    see(page, screen)
    expect(page.locator("#not-asked")).to_have_count(0)
    assert named()


def test_an_account_that_begins_while_one_is_enrolled_is_not_shown_to_the_server(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """A device that only enrolled so far draws its secret, and keeps it to itself."""
    survey = opened(generous, tickets={"phases": 2, "answers_from": "2999-01-01"})
    visitor = new_visitor()
    page = visitor.page
    page.goto(link_of(generous, survey))
    page.locator("#enrol").click()
    expect(page.locator("#enrolled")).to_be_visible()
    page.goto(f"{generous.url}/me")
    page.locator("#begin").click()
    expect(page.locator("#not-asked")).to_be_visible()
    assert not [one for one in visitor.requests if "masquerade-participant" in one.headers]


def test_who_has_not_enrolled_asks_for_no_signature_in_the_days_of_answers(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """A server that would still sign could join the ticket with the answer by their time."""
    survey = opened(generous, tickets={"phases": 2, "answers_from": "2999-01-01"})
    visitor = new_visitor()
    visitor.page.clock.set_fixed_time("2999-01-01T12:00:00Z")
    # The server still enrols people, and says so.
    visitor.page.goto(link_of(generous, survey))
    see(visitor.page, "enrol")
    visitor.page.locator("#enrol").click()
    expect(visitor.page.locator(".notice[role=alert]")).to_be_visible()
    assert not [one for one in visitor.requests if one.method == "POST"]


def test_a_link_of_another_survey_is_not_answered(generous: Any, new_visitor: NewVisitor) -> None:
    """Where the hash in the link is another, nothing is exchanged."""
    survey = opened(generous, tickets={"phases": 1})
    visitor = new_visitor()
    link = link_of(generous, survey)
    visitor.page.goto(re.sub(r"\..{43}$", "." + "A" * 43, link))
    see(visitor.page, "cannot")
    assert not [one for one in visitor.requests if one.url.endswith("/ticket")]


def test_nobody_begins_without_consent(generous: Any, new_visitor: NewVisitor, faults: Any) -> None:
    """The text is on the first screen; without the tick nothing is sent."""
    asked = {"consent": "We keep it\nfor a year.", "plan": {"reward": "codes"}}
    survey = opened(generous, panel=PANEL, **asked)
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{survey.token}?PROLIFIC_PID=p%3D1")
    see(page, "intro")
    expect(page.locator(".consent")).to_contain_text("for a year")
    page.locator("#start").click()
    expect(page.locator("#announcement")).to_contain_text("agree")
    assert not [one for one in visitor.requests if one.method == "POST"]
    page.locator("summary", has_text="I do not agree").click()
    out = page.locator("#way-back").get_attribute("href")
    assert out == "http://127.0.0.1/out?pid=p%3D1"
    assert faults(page, "consent") == {}
    page.locator("#agree").check()
    answer(page)


def test_a_panel_gets_its_people_back_without_copying(
    generous: Any, new_visitor: NewVisitor, faults: Any
) -> None:
    """As Prolific does it: id in the address, code in the way back, and both in the file."""
    survey = opened(
        generous, panel=PANEL, plan={"reward": "codes", "prices": {"high": 5}, "people": 9}
    )
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{survey.token}?PROLIFIC_PID=p1&SESSION_ID=s&OTHER=x")
    answer(page)
    way = page.locator("#way-back").get_attribute("href")
    assert way is not None
    found = parse_qs(urlsplit(way).query)
    assert found["pid"] == ["p1"]
    assert faults(page, "done") == {}
    told = [one for one in visitor.requests if one.url.endswith("/panel")]
    assert len(told) == 1
    assert "masquerade-participant" not in told[0].headers
    body = told[0].post_data_json or {}
    assert body["parameters"] == {"PROLIFIC_PID": "p1", "SESSION_ID": "s"}
    # Coming back by the plain address shows the same, and tells nothing twice.
    page.goto(f"{generous.url}/s/{survey.token}")
    see(page, "done")
    assert page.locator("#way-back").get_attribute("href") == way
    assert len([one for one in visitor.requests if one.url.endswith("/panel")]) == 1
    generous.services.surveys.close(survey)
    codes = generous.services.completion_codes.of_survey(survey.token, over=True).codes
    assert [(one.code, one.panel["PROLIFIC_PID"]) for one in codes] == [(found["cc"][0], "p1")]
    late = new_visitor()
    late.page.goto(f"{generous.url}/s/{survey.token}?PROLIFIC_PID=p2")
    see(late.page, "closed")
    assert late.page.locator("#way-back").get_attribute("href") == "http://127.0.0.1/full?pid=p2"
    assert visitor.complaints == []


class Site(BaseHTTPRequestHandler):
    """Another site: its page shows a survey in a frame, and it takes a form."""

    survey = ""
    sent: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Show the survey in a frame."""
        self._answer(f'<iframe src="{self.survey}" width="390" height="800"></iframe>')

    def do_POST(self) -> None:
        """Take a form."""
        self.sent.append(self.rfile.read(int(self.headers["content-length"])).decode())
        self._answer("<p>taken</p>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _answer(self, html: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(html.encode())


@pytest.fixture
def two_sites() -> Iterator[list[str]]:
    """Return the origins of two other sites."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Site) for _ in range(2)]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    yield [f"http://localhost:{one.server_port}" for one in servers]
    for one in servers:
        one.shutdown()
        one.server_close()


def test_mturk_takes_a_form_from_within_its_frame(
    generous: Any, new_visitor: NewVisitor, two_sites: list[str]
) -> None:
    """A listed page shows the survey in a frame, and the answer goes back as a form; none else."""
    listed, other = two_sites
    survey = opened(
        generous,
        origins=[listed],
        plan={"reward": "codes"},
        panel={
            "parameters": ["workerId", "assignmentId"],
            "complete": f"{listed}/externalSubmit?assignmentId={{assignmentId}}&code={{code}}",
            "method": "form",
        },
    )
    Site.survey = f"{generous.url}/s/{survey.token}?workerId=w&assignmentId=a1"
    Site.sent.clear()
    visitor = new_visitor()
    page = visitor.page
    with page.expect_console_message(lambda told: "frame-ancestors" in told.text):
        page.goto(f"{other}/hit")
    page.goto(f"{listed}/hit")
    inner = page.frame_locator("iframe")
    inner.locator("#start").click()
    inner.locator('input[name="answer"][value="0"]').check()
    inner.locator("#next").click()
    inner.locator("#seal").click()
    inner.locator("#send").click()
    inner.locator("#way-back").click()
    expect(inner.get_by_text("taken", exact=True)).to_be_visible()
    [body] = Site.sent
    fields = parse_qs(body)
    assert fields["assignmentId"] == ["a1"]
    assert re.fullmatch(r"[0-9A-Z]{4}(-[0-9A-Z]{4}){3}", fields["code"][0])


def test_public_results_are_linked_from_the_closed_page(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Once they are published, and not before."""
    survey = opened(generous)
    generous.services.surveys.close(survey)
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    see(page, "closed")
    expect(page.locator("#results")).to_have_count(0)
    generous.services.surveys.publish(generous.services.surveys.record(survey.token))
    page.goto(f"{generous.url}/s/{survey.token}")
    assert page.locator("#results").get_attribute("href") == f"/r/{survey.token}"


def test_the_page_of_invitations_can_be_used_by_everybody(
    live_server: Any, new_visitor: NewVisitor, faults: Any
) -> None:
    """The audience page asks for tickets, the next one hands them out; axe finds nothing."""
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    page.goto(server.owner_link)
    question = {"kind": "choice", "id": "q", "text": "Tea?", "options": ["Yes", "No"]}
    asked = read_document({"title": "Tea", "questions": [question], "levels": ["high"]})
    draft, _ = server.services.drafts.create(asked, team=FIRST_TEAM)
    page.goto(f"{server.url}/surveys/{draft.token}/audience")
    page.get_by_label("Who asks").fill("Tea council")
    page.get_by_label("Who", exact=True).select_option("1")
    expect(page.locator("#plan")).to_contain_text("Nobody who steals the database")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert faults(page, "audience") == {}
    survey = server.services.drafts.open(draft.token, team=FIRST_TEAM)
    assert survey.survey.reach.asked_by == "Tea council"
    assert survey.survey.reach.invitations is not None
    page.goto(f"{server.url}/surveys/{draft.token}")
    page.get_by_role("link", name="Invitations").click()
    expect(page.locator("h1")).to_have_text("Invitations")
    assert faults(page, "invitations") == {}
    page.locator("#count").fill("6")
    page.get_by_role("button", name="As cards").click()
    expect(page.locator(".cards > li")).to_have_count(6)
    assert faults(page, "cards") == {}
    assert visitor.complaints == []
