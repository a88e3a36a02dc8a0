"""In a real browser: a survey between two parties, from the question to the result.

The survey's server runs in this process, the helper in one of its own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from masquerade.server.db.party_tables import SPLIT_TASK
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys import Choice, PairVote, Question, Ranking, Rating, ShowIf
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

from .conftest import PHONE, SENTINELS, NewVisitor, Person, Visitor, beasts, confirm, see, width

pytestmark = pytest.mark.browser

OPERATOR = "The works council of Beasts"
QUESTIONS = (
    Choice("c", "Which beast?", SENTINELS),
    Rating("r", "How wild is the beast?", low_label="tame", high_label="wild", allow_skip=True),
    Choice("w", "Which beast by night?", SENTINELS, allow_skip=True),
)


@dataclass
class HelperProcess:
    """A helper in a process of its own, as its operator sees it."""

    address: str
    fingerprint: str
    link: str
    token: str
    database: Path


@pytest.fixture
def helper(tmp_path: Path) -> Iterator[HelperProcess]:
    """Run ``masquerade helper``, and read from its first lines the part for the surveyor."""
    folder = tmp_path / "helper"
    words = ["helper", "--data-dir", str(folder), "--port", "0", "--operator", OPERATOR]
    with subprocess.Popen(
        [sys.executable, "-c", "from masquerade.cli import main; main()", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        said = "".join(lines)
        try:
            address = re.search(r"at (http://\S+)", said)
            digits = re.search(r"key: ([0-9a-f ]+)", said)
            link = re.search(r"once\): (\S+)", said)
            token = re.search(r"(mqh_\S+)", said)
            assert address is not None, said
            assert digits is not None, said
            assert link is not None, said
            assert token is not None, said
            [database] = folder.glob("*.sqlite3")
            yield HelperProcess(
                address[1], digits[1].replace(" ", "").strip(), link[1], token[1], database
            )
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture
def leader(live_server: Any) -> Any:
    """A server that may ask a helper on this computer."""
    return live_server(helper_private=True, rate_participant=0, rate_address=0)


def define(
    helper: HelperProcess, questions: tuple[Question, ...] | None = None, **terms: Any
) -> Survey:
    """Return a survey between the two: of beasts, or of other questions without conditions."""
    given = {"rho": "0.5", "minimum": 2, **terms}
    parties = TwoParties.of(
        helper=helper.address, operator=OPERATOR, fingerprint=helper.fingerprint, **given
    )
    conditions = () if questions else (None, None, ShowIf("c", (SENTINELS[0],)))
    asked = questions or QUESTIONS
    level = OfferedLevel("two-parties", ())
    return Survey("Beasts", "", "pick", asked, (level,), conditions=conditions, two_parties=parties)


def propose(
    server: Any, helper: HelperProcess, **terms: Any
) -> tuple[Survey, str, Callable[[], str]]:
    """Propose a survey; return it, its token, and a function that asks the helper once more."""
    services = server.services
    services.helpers.add(
        FIRST_TEAM, address=helper.address, token=helper.token, fingerprint=helper.fingerprint
    )
    survey, token = define(helper, **terms), secrets.token_hex(8)

    def ask() -> str:
        found = services.proposals.ask(
            survey, token=token, team=FIRST_TEAM, leader=server.url, people=40
        )
        return str(found["state"])

    assert ask() == "proposed"
    return survey, token, ask


def open_survey(
    server: Any,
    helper: HelperProcess,
    operator: Page,
    *,
    before: Callable[[], None] = lambda: None,
    **terms: Any,
) -> SurveyRecord:
    """Propose a survey, let the helper's operator approve it on the page, and open it."""
    survey, token, ask = propose(server, helper, **terms)
    before()
    operator.goto(helper.link)
    operator.get_by_role("button", name="Approve").click()
    expect(operator.locator(".badge")).to_have_text("approved")
    assert ask() == "approved"
    record: SurveyRecord = server.services.surveys.open_survey(survey, token=token)
    return record


def everything_in(database: Path) -> str:
    """Return all rows of all tables of a database as one text."""
    with closing(sqlite3.connect(database)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        return repr(
            [connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables]
        )


def bodies(visitor: Visitor, path: str) -> list[str]:
    """Return the requests of a device to addresses with this in them."""
    return [one.post_data or "" for one in visitor.requests if path in one.url]


def answer_on_phones(
    leader: Any,
    record: SurveyRecord,
    new_visitor: NewVisitor,
    people: Sequence[tuple[Sequence[int], Callable[[Person], None]]],
) -> str:
    """Let each answer on a phone of their own, and add up; return all that was sent.

    Of each: codes for questions with buttons, and what is done before those are pressed. What is
    sealed is of one length, whatever was answered.
    """
    sent, wire = [], ""
    for answers, begin in people:
        visitor = new_visitor()
        visitor.page.goto(f"{leader.url}/s/{record.token}")
        person = Person(visitor.page, answers, "two-parties")
        person.finish("question")
        begin(person)
        person.finish("reveal")
        expect(visitor.page.locator("main")).to_contain_text("The length is the same")
        person.finish()
        assert not visitor.complaints
        sent += bodies(visitor, "/sealed-report")
        wire += "".join(str(one.post_data) for one in visitor.requests)
    assert len({len(body) for body in sent}) == 1
    leader.services.surveys.close(record)
    assert leader.services.aggregation.run() == 1
    return wire


def result_page(leader: Any, record: SurveyRecord, new_visitor: NewVisitor) -> Page:
    """Return the page of a result, at its owner's desk."""
    page = new_visitor(viewport={"width": 1280, "height": 900}).page
    page.goto(leader.owner_link)
    page.goto(f"{leader.url}/surveys/{record.token}")
    return page


def test_a_survey_is_answered_on_a_phone_and_added_up(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """No answer is on the wire or in a database, lengths are equal, and the result is right."""
    record = open_survey(leader, helper, new_visitor().page)
    sent, visitors = [], []
    for answers in ((0, 3, 1), (1, 5, 0), (1, 0, 0)):
        visitor = new_visitor()
        page = visitor.page
        page.goto(f"{leader.url}/s/{record.token}")
        see(page, "intro")
        assert width(page) <= 390
        expect(page.locator("main")).to_contain_text(OPERATOR)
        page.locator("summary", has_text="fingerprint").click()
        shown = page.locator(".fingerprint").inner_text()
        assert shown.replace(" ", "") == helper.fingerprint
        person = Person(page, answers, "two-parties")
        person.finish("reveal")
        expect(page.locator("main")).to_contain_text("The length is the same")
        page.reload()  # what was sealed is on the disk
        person.finish()
        assert not visitor.complaints
        sent += bodies(visitor, "/sealed-report")
        visitors.append(visitor)
    assert len({len(body) for body in sent}) == 1
    assert len({len(json.loads(body)["report"]) for body in sent}) == 1
    wire = "".join(str(one.post_data) for each in visitors for one in each.requests)
    assert not any(name in wire for name in (*SENTINELS, "answers", '"reports"'))
    # The account says both truths: what was sent to whom, and what both together could read.
    visitors[0].page.goto(f"{leader.url}/me/ledger")
    account = visitors[0].page.locator("main")
    expect(account).to_contain_text("1 response lies with two parties")
    expect(account).to_contain_text(f"one for this website and one for \u2068{OPERATOR}\u2069")
    expect(account).to_contain_text("Until the survey closes you can take it back")
    # One more, who takes it back.
    visitor = new_visitor()
    visitor.page.goto(f"{leader.url}/s/{record.token}")
    Person(visitor.page, (2, 1, 0), "two-parties").finish()
    confirm(visitor.page, "Take it back", "Take my answers out")
    see(visitor.page, "ended")
    visitor.page.goto(f"{leader.url}/me/ledger")
    expect(visitor.page.locator("main")).to_contain_text("You took your halves back")
    leader.services.surveys.close(record)
    databases = [Path(str(leader.services.engine.url.database)), helper.database]
    for database in databases:
        text = everything_in(database)
        # Options stand in the survey's definition, and nowhere beside a person.
        assert not re.search(r"'(answers|measurement)'", text)
    assert leader.services.aggregation.run() == 1
    result = leader.services.results.result(leader.services.surveys.record(record.token)).to_json()
    assert (result["responses"], result["refused"]) == (3, 0)


def test_votes_on_pairs_are_drawn_on_the_phone_and_added_up(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """Which pairs a person saw and how they voted is on no wire; all send equally much."""
    beasts_twice = tuple(f"{one} {time}" for one in SENTINELS for time in ("by day", "by night"))
    votes = PairVote("v", "Which beast is better?", beasts_twice, 3, "Both alike")
    record = open_survey(leader, helper, new_visitor().page, questions=votes.parts())

    def begin(person: Person) -> None:
        fields = person.page.locator("fieldset")
        first = fields.inner_text()
        assert sum(name in first for name in beasts_twice) == 2
        person.page.reload()
        person.finish("question")
        assert fields.inner_text() == first  # drawn once

    people = [((code,) * votes.votes, begin) for code in (0, 1, 2)]
    wire = answer_on_phones(leader, record, new_visitor, people)
    assert not any(name in wire for name in (*SENTINELS, "pairs", '"reports"'))
    page = result_page(leader, record, new_visitor)
    board = page.locator(".leaderboard")
    expect(board).to_contain_text("two parties added them up with noise")
    expect(board).to_contain_text(SENTINELS[0])


def test_a_ranking_is_pressed_on_the_phone_and_added_up(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """Nothing of an order is on the wire, lengths are equal, first places and ranks are counted."""
    beasts = ("heron", "otter", "marten")
    ranking = Ranking("k", "Rank the beasts", beasts)
    record = open_survey(leader, helper, new_visitor().page, questions=(ranking,))

    def pressing(*order: str) -> Callable[[Person], None]:
        def begin(person: Person) -> None:
            for beast in order:
                person.page.locator("button.rank", has_text=beast).click()
            expect(person.page.locator('button.rank[aria-pressed="true"]')).to_have_count(3)
            person.page.locator("#next").click()
            see(person.page, "seal")

        return begin

    orders = (("heron", "otter"), ("heron", "marten"), ("marten", "otter"))
    people = [((), pressing(*order)) for order in orders]
    wire = answer_on_phones(leader, record, new_visitor, people)
    assert not any(name in wire for name in (*beasts, "answers", '"reports"'))
    result = leader.services.results.result(leader.services.surveys.record(record.token))
    assert (result.responses, result.refused) == (3, 0)
    ranks = result.questions[0].ranks or ()
    assert [one.item for one in ranks] == list(beasts)
    assert not any(one.by_model for one in ranks)
    page = result_page(leader, record, new_visitor)
    page.locator("summary", has_text="Table and precision").click()
    expect(page.locator("table.first-choices")).to_contain_text("heron")


def lie(change: Callable[[dict[str, Any]], None]) -> Callable[[Any], None]:
    """Return a route that changes a server's answers."""

    def answer(route: Any) -> None:
        response = route.fetch()
        data = response.json()
        change(data)
        route.fulfill(response=response, json=data)

    return answer


def other_key(invitation: dict[str, Any]) -> None:
    """Name another fingerprint than the key's."""
    invitation["two_parties"]["fingerprint"] = "0" * 32


def other_minimum(invitation: dict[str, Any]) -> None:
    """Say that sums of other sizes are shown."""
    invitation["two_parties"]["minimum"] = 50


def other_noise(invitation: dict[str, Any]) -> None:
    """Name less noise than was signed."""
    approval = invitation["two_parties"]["approval"]
    terms = json.loads(approval["terms"])
    terms["noise"] = ["1/1000000" for _ in terms["noise"]]
    approval["terms"] = json.dumps(terms, sort_keys=True, separators=(",", ":"))


def other_words(approval: dict[str, Any]) -> None:
    """Let the helper say that somebody else runs it."""
    approval["operator"] = "Somebody else"


@pytest.mark.parametrize(
    ("where", "change", "says"),
    [
        ("**/invitation", other_key, "another fingerprint"),
        pytest.param(
            "**/invitation",
            other_minimum,
            "terms of this survey are not those",
            marks=pytest.mark.exhaustive,
        ),
        ("**/invitation", other_noise, "terms of this survey are not those"),
        ("**/approval", other_words, "says something else than this website"),
    ],
)
def test_a_device_begins_nothing_where_the_parties_do_not_agree(
    leader: Any,
    helper: HelperProcess,
    new_visitor: NewVisitor,
    where: str,
    change: Callable[[dict[str, Any]], None],
    says: str,
) -> None:
    """Another key, noise, minimum or word of the helper: no request of the person is made."""
    record = open_survey(leader, helper, new_visitor().page)
    visitor = new_visitor(service_workers="block")
    page = visitor.page
    page.route(where, lie(change))
    page.goto(f"{leader.url}/s/{record.token}")
    see(page, "intro")
    page.locator("#start").click()
    see(page, "cannot")
    expect(page.locator("main")).to_contain_text(says)
    assert not bodies(visitor, "/participations")


def test_a_helper_that_is_away_keeps_nothing_from_anybody(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """Where the helper cannot be asked nothing is begun; later the same press goes on."""
    record = open_survey(leader, helper, new_visitor().page)
    visitor = new_visitor(service_workers="block")
    page = visitor.page
    page.route("**/approval", lambda route: route.abort())
    page.goto(f"{leader.url}/s/{record.token}")
    see(page, "intro")
    page.locator("#start").click()
    expect(page.get_by_role("alert").first).to_contain_text("could not be asked")
    assert not bodies(visitor, "/participations")
    page.unroute("**/approval")
    Person(page, (0, 3, 1), "two-parties").finish()


def test_a_surveyor_chooses_two_parties_and_asks_the_helper(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """Forecasts stand side by side, a helper is added, asked and approves: the survey opens."""
    drafts = leader.services.drafts
    desk, operator = new_visitor(viewport={"width": 1280, "height": 900}), new_visitor()
    page = desk.page
    page.goto(leader.owner_link)
    draft, _ = drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    page.goto(f"{leader.url}/surveys/{draft.token}/audience")
    figures = page.locator('label:has(input[name="trust"]) .figure')
    expect(figures).to_have_count(2)
    device, split = (float(text.split()[1]) for text in figures.all_inner_texts())
    assert split < device / 2
    page.get_by_label("Two parties").check()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.locator("summary", has_text="Add a helper").click()
    page.locator("#adding").get_by_label("Address").fill(helper.address)
    page.locator("#adding").get_by_label("Fingerprint").fill(helper.fingerprint)
    page.locator("#adding").get_by_label("Token").fill(helper.token)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("Second party", exact=True)).to_have_value(helper.address)
    page.get_by_role("button", name="Ask the helper").click()
    expect(page.get_by_text("Waiting.")).to_be_visible()
    operator.page.goto(helper.link)
    operator.page.get_by_role("button", name="Approve").click()
    expect(operator.page.locator(".badge")).to_have_text("approved")
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Approved.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Approved.")).to_be_visible()
    assert width(page) <= 1280
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert width(page) <= PHONE["width"]
    assert not desk.complaints
    record = drafts.open(draft.token, team=FIRST_TEAM)
    assert record.survey.trust == "two-parties"


LEAK = "fetch('/leak?' + document.querySelector('main').dataset.view);"
"""What a dishonest party adds to its page, for all of it to see that it runs."""


def test_a_survey_opened_at_the_helper_is_not_the_leaders_page(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """A page that the leader tampered with leaks; the helper's own does not, and learns nothing."""
    record = open_survey(leader, helper, new_visitor().page)

    def tamper(route: Any) -> None:
        """Answer as a leader would that adds to its own files, hashes and policy and all."""
        response = route.fetch()
        if "/app/main.js" in route.request.url:
            route.fulfill(response=response, body=response.text() + LEAK)
            return
        page = re.sub(r' integrity="[^"]*"', "", response.text())
        route.fulfill(response=response, body=page)

    visitor = new_visitor(service_workers="block")
    page = visitor.page
    for address in ("/s/*", "/app/*/app/main.js"):
        visitor.context.route(f"{leader.url}{address}", tamper)
    with page.expect_request("**/leak?*"):
        page.goto(f"{leader.url}/s/{record.token}")
    see(page, "intro")
    # From there to the helper's own address, which the leader cannot answer for.
    visitor.requests.clear()
    visitor.complaints.clear()  # of the address that it leaked to
    page.locator("summary", has_text="What is left to trust").click()
    page.get_by_role("link", name="Open it at the second party").click()
    page.wait_for_url(f"{helper.address}/s/{record.token}")
    see(page, "intro")
    expect(page.locator("main")).to_contain_text(f"This page comes from \u2068{OPERATOR}\u2069")
    assert width(page) <= 390
    page.locator("summary", has_text="fingerprint").click()
    expect(page.locator("main")).to_contain_text("they are the same")
    assert page.locator(".fingerprint").inner_text().replace(" ", "") == helper.fingerprint
    Person(page, (0, 3, 1), "two-parties").finish()
    assert not visitor.complaints
    assert not any("/leak" in one.url for one in visitor.requests)
    files = [one for one in visitor.requests if "/app/" in one.url]
    assert files
    assert all(one.url.startswith(helper.address) for one in files)
    to_helper = [one for one in visitor.requests if one.url.startswith(helper.address)]
    assert all(one.method == "GET" and one.post_data is None for one in to_helper)
    assert not any("masquerade-participant" in one.headers for one in to_helper)
    assert len(bodies(visitor, f"{leader.url}/api/v1/participations/")) > 1
    # It is the same response as any other: taken back here, counted there.
    confirm(page, "Take it back", "Take my answers out")
    see(page, "ended")
    page.goto(f"{helper.address}/me/ledger")
    see(page, "ledger")
    expect(page.locator("main")).to_contain_text("Beasts")


@pytest.mark.parametrize("change", ["device", "other"])
def test_the_helpers_page_asks_nothing_that_it_did_not_approve(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor, change: str
) -> None:
    """An invitation without a second party, or with another one, begins nothing there."""
    record = open_survey(leader, helper, new_visitor().page)
    masked = leader.services.surveys.open_survey(beasts())
    visitor = new_visitor(service_workers="block")
    page = visitor.page

    def other(invitation: dict[str, Any]) -> None:
        if change == "device":
            said = httpx.get(
                f"{leader.url}/api/v1/surveys/{masked.token}/invitation", trust_env=False
            ).json()
            invitation.clear()
            invitation.update(said, token=record.token)
        else:
            invitation["two_parties"]["helper"] = "https://elsewhere.example"

    page.route("**/invitation", lie(other))
    page.goto(f"{helper.address}/s/{record.token}")
    see(page, "cannot")
    expect(page.locator("main")).to_contain_text("another second party")
    assert not bodies(visitor, "/participations")


def test_the_helper_serves_only_what_its_operator_approved(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor
) -> None:
    """A survey that is proposed or unknown has no page there; the files are those of the leader."""

    def nothing_yet() -> None:
        """Ask for pages of surveys before anything is approved."""
        query = select(SPLIT_TASK.c.survey)
        token = leader.services.transactions.read(lambda connection: connection.scalar(query))
        with httpx.Client(base_url=helper.address, trust_env=False) as stranger:
            for path in (f"/s/{token}", "/s/0000", "/me", "/me/ledger"):
                assert stranger.get(path).status_code == 404

    record = open_survey(leader, helper, new_visitor().page, before=nothing_yet)
    with httpx.Client(trust_env=False) as visitor:
        pages = [visitor.get(f"{url}/s/{record.token}") for url in (leader.url, helper.address)]
        own, there = [
            re.findall(r'(?:src|href)="([^"]+)" integrity="([^"]+)"', one.text) for one in pages
        ]
        assert own == there
        assert own
        assert f"connect-src 'self' {leader.url};" in pages[1].headers["content-security-policy"]
        for path, _ in there:
            same = [visitor.get(f"{url}{path}").content for url in (leader.url, helper.address)]
            assert same[0] == same[1]
