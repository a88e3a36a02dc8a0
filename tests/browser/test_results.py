"""Results in a real browser: published, shown elsewhere, released."""

from __future__ import annotations

import math
import re
import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from masquerade.mechanisms import mask_response
from masquerade.results import SurveyResult
from masquerade.server.results.cache import ResultCache
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Comparison, Number, Question, Rating
from masquerade.surveys.survey import Survey, commitment_of

from .conftest import NewVisitor, Visitor, confirm
from .test_layout import LONG, LONG_QUESTIONS

pytestmark = pytest.mark.browser

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
LEVELS = ("high", "low")
QUESTIONS: tuple[Question, ...] = (
    Choice("c", "Which beast do you fear?", ("Aardvark", "Basilisk", "Chimera")),
    Rating("r", "How wild is the beast?", low_label="tame", high_label="wild"),
    Number("n", "How many scales has it?", 0, 80, "scales"),
    Comparison("p", "Which is worse?", "Basilisk", "Chimera"),
)


def closed(server: Any, *questions: Question, people: int = 24, **asked: Any) -> SurveyRecord:
    """Return a closed survey with people at both levels, and answers that differ by level."""
    given: dict[str, Any] = {"title": "Beasts", "levels": LEVELS, **asked}
    definition = Survey.at_levels(questions=questions or QUESTIONS, **given)
    survey = server.services.surveys.open_survey(definition)
    steps = server.services.participations
    for number in range(people):
        level = definition.levels[number % len(definition.levels)]
        mechanisms: Any = level.mechanisms
        who, salt = server.services.identity(secrets.token_hex(16)), secrets.token_hex(16)
        key = secrets.token_hex(16)
        begun, _ = steps.reserve(who, survey.token, level.name, idempotency_key=key)
        steps.open(who, begun.id)
        reports = mask_response(
            [(number + place) % 2 for place in range(len(mechanisms))], mechanisms
        )
        steps.seal(who, begun.id, commitment_of(begun.id, reports, salt))
        steps.respond(
            who, begun.id, reports=reports, salt=salt, level=level.name, survey_hash=survey.hash
        )
    found: SurveyRecord = server.services.surveys.close(survey)
    return found


@pytest.fixture
def owner(generous: Any, new_visitor: NewVisitor) -> Visitor:
    """A signed-in owner at a desk."""
    visitor = new_visitor(viewport=DESKTOP, own_cap=None)
    visitor.page.goto(generous.owner_link)
    return visitor


class Elsewhere(ThreadingHTTPServer):
    """Another site, with pages of its own."""

    def __init__(self) -> None:
        pages: dict[str, bytes] = {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(pages.get(self.path.strip("/"), b""))

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages
        self.url = f"http://127.0.0.1:{self.server_port}"

    def show(self, name: str, body: str) -> None:
        """Make a page."""
        self.pages[name] = f'<!doctype html><link rel=icon href="data:,">{body}'.encode()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """A running site on another port."""
    with Elsewhere() as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        yield site
        site.shutdown()
        thread.join(60)


def published(server: Any, **asked: Any) -> SurveyRecord:
    """Return a survey with published results."""
    survey = closed(server, **asked)
    server.services.surveys.publish(survey)
    found: SurveyRecord = server.services.surveys.record(survey.token)
    return found


def seen(part: Locator) -> Locator:
    """Return those of some elements that can be seen."""
    return part.locator("visible=true")


def figures(page: Page, question: str) -> list[str]:
    """Return the figures of a question's charts that can be seen."""
    return seen(page.locator(f"#question-{question} > .plot .plot-figures b")).all_inner_texts()


def large(mean: dict[str, Any]) -> str:
    """Return the large figures for the mean of a rating from 1 to 5."""
    low, high = mean["low"], mean["high"]
    if mean["shown"] is not None:
        return f"{mean['shown']:.2f}"
    return f"between {math.floor(100 * low) / 100:.2f} and {math.ceil(100 * high) / 100:.2f}"


def test_headlines_are_those_of_the_result(generous: Any, owner: Visitor) -> None:
    """A mean stands in large figures; how levels are put together is said to be fixed."""
    survey, page = closed(generous, estimator="respondent"), owner.page
    page.goto(f"{generous.url}/surveys/{survey.token}")
    result = page.request.get(f"{generous.url}/api/v1/surveys/{survey.token}/results").json()
    headline = page.locator("#question-r .headline .big-number")
    expect(headline).to_have_text(large(result["questions"][1]["mean"]))
    expect(page.locator(".levels-together")).to_contain_text("fixed before anybody answered")
    assert owner.complaints == []


def test_chart_and_table_say_the_same(generous: Any, new_visitor: NewVisitor) -> None:
    """Each bar and each dot stands where the table says, at both widths, also without scripts."""
    survey = published(generous)
    for width, scripts in ((390, True), (1280, True), (1280, False)):
        visitor = new_visitor(viewport={"width": width, "height": 900}, java_script_enabled=scripts)
        page = visitor.page
        page.goto(f"{generous.url}/r/{survey.token}")
        for question in ("c", "r", "n", "p"):
            part = page.locator(f"#question-{question}")
            part.get_by_text("Table and precision").click()
            table = seen(part.locator("table.twin tbody tr td:nth-of-type(1)")).all_inner_texts()
            drawn = figures(page, question)
            points = [text for text in table if text != "–"]  # else the interval stands alone
            # the table has more rows: means beside shares, and each level
            assert not Counter(text for text in drawn if " to " not in text) - Counter(points)
        for row in seen(page.locator("#question-n > .plot li:has(.dot)")).all():
            value = float(row.locator("b").inner_text().split()[0].replace("−", "-"))
            track, dot = row.locator("svg.track").bounding_box(), row.locator(".dot").bounding_box()
            assert track is not None
            assert dot is not None
            place = (dot["x"] + dot["width"] / 2 - track["x"]) / track["width"]
            assert place == pytest.approx(0.025 + 0.95 * value / 80, abs=0.01)
        assert visitor.complaints == []


def test_results_are_published_and_taken_back(
    generous: Any, owner: Visitor, new_visitor: NewVisitor
) -> None:
    """A stranger sees published results by their link, and nothing once they are unpublished."""
    survey, page = closed(generous), owner.page
    page.goto(f"{generous.url}/surveys/{survey.token}")
    confirm(page, "Publish results", "Publish them")
    link = str(page.locator("#public-link").get_attribute("href"))
    stranger = new_visitor(viewport=DESKTOP, own_cap=None)
    stranger.page.goto(link)
    expect(stranger.page.locator("h1")).to_have_text("Beasts")
    expect(stranger.page.locator("#question-c .plot").first).to_be_visible()
    expect(stranger.page.locator("#methods-text")).to_contain_text("Warner, 1965")
    stranger.page.get_by_text("Download", exact=True).click()
    with stranger.page.expect_download() as download:
        stranger.page.get_by_text("Numbers as a table").click()
    assert download.value.suggested_filename == f"results-{survey.token}.csv"
    assert not any("/surveys/" in r.url and "/api/" not in r.url for r in stranger.requests)
    page.locator("#publication > summary").click()
    page.get_by_role("button", name="Unpublish").click()
    expect(page.locator("summary", has_text="Publish results")).to_be_visible()
    fresh = new_visitor()
    answer = fresh.page.goto(link)
    assert answer is not None
    assert answer.status == 404
    assert (owner.complaints, stranger.complaints) == ([], [])


#: Charts of which two lines lie on axes of other places or widths.
COLUMNS_OF_TRACKS = """[...document.querySelectorAll(".plot")].map((plot) =>
  [...plot.querySelectorAll(".track")].map((track) => {
    const { left, width } = track.getBoundingClientRect();
    return `${left.toFixed(1)} ${width.toFixed(1)}`;
  })).filter((places) => new Set(places).size !== 1)"""
#: Labels of an axis that touch the one before.
TICKS_THAT_MEET = """[...document.querySelectorAll(".plot-axis")].flatMap((axis) => {
  const boxes = [...axis.querySelectorAll("text")].map((one) => [one, one.getBoundingClientRect()]);
  return boxes.filter(([, box]) => box.width)
    .filter(([, box], place, all) => place && all[place - 1][1].right > box.left)
    .map(([one]) => one.textContent);
})"""


def test_other_pages_show_the_embedded_one_alone(
    generous: Any, new_visitor: NewVisitor, elsewhere: Elsewhere
) -> None:
    """In a frame of another origin the embed is drawn with its style; the full page is refused."""
    survey = published(generous)
    visitor = new_visitor(viewport=DESKTOP, own_cap=None)
    page = visitor.page

    elsewhere.show("embed", f'<iframe src="{generous.url}/r/{survey.token}/embed" height=700>')
    elsewhere.show("whole", f'<iframe src="{generous.url}/r/{survey.token}" height=700>')
    page.goto(f"{elsewhere.url}/embed")
    frame = page.frame_locator("iframe")
    expect(frame.locator("h1")).to_have_text("Beasts")
    interval = frame.locator(".track .whisker").first
    expect(interval).to_be_attached()
    assert interval.evaluate("e => getComputedStyle(e).stroke") != "none"
    assert visitor.complaints == []
    with page.expect_popup() as popup:
        frame.get_by_role("link").click()
    expect(popup.value.locator("h1")).to_have_text("Beasts")
    with page.expect_event("console", lambda message: "frame-ancestors" in message.text):
        page.goto(f"{elsewhere.url}/whole")
    assert page.frame_locator("iframe").locator(".plot").count() == 0


def test_every_page_of_results_can_be_used_by_everybody(
    generous: Any, owner: Visitor, faults: Any
) -> None:
    """axe-core finds nothing with all parts open, targets are 44 pixels, nothing is cut off."""
    items = tuple(Choice(f"i{i}", f"Beast {i}?", ("cat", "dog"), truth="cat") for i in range(3))
    mixed, labels = published(generous), closed(generous, *items, template="label")
    page = owner.page
    for path in (
        f"/surveys/{mixed.token}",
        f"/surveys/{labels.token}",
    ):
        page.goto(generous.url + path)
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        assert faults(page) == {}
    page.set_viewport_size(DESKTOP)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{generous.url}/r/{mixed.token}/embed")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(TICKS_THAT_MEET) == []
        assert page.evaluate(COLUMNS_OF_TRACKS) == []
        assert page.locator(".plot-axis text:visible").count()
    assert owner.complaints == []


def test_the_menu_is_left_by_keyboard(generous: Any, owner: Visitor) -> None:
    """Escape closes it and gives the focus back; a click elsewhere closes it too."""
    survey, page = closed(generous), owner.page
    page.goto(f"{generous.url}/surveys/{survey.token}")
    menu = page.locator("details.menu", has_text="Download")
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(menu.get_by_role("link", name="Codebook")).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu.get_by_role("link", name="Codebook")).to_be_hidden()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    menu.locator("summary").click()
    page.locator("h1").click()
    expect(menu.get_by_role("link", name="Codebook")).to_be_hidden()


def test_paper_shows_the_findings(generous: Any, new_visitor: NewVisitor) -> None:
    """Printed, folded parts stay folded; it is black on white, and nothing can be pressed."""
    survey = published(generous)
    page = new_visitor(viewport=DESKTOP, color_scheme="dark").page
    page.goto(f"{generous.url}/r/{survey.token}")
    page.emulate_media(media="print")
    expect(seen(page.locator("#question-c .plot"))).to_have_count(1)
    expect(seen(page.locator("#question-c .sure, #bill, #methods"))).to_have_count(0)
    expect(seen(page.locator(".button, [type=radio]"))).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(255, 255, 255)"
    )


@pytest.mark.parametrize(
    "people",
    [
        pytest.param(1, marks=pytest.mark.exhaustive),
        19,
        pytest.param(60, marks=pytest.mark.exhaustive),
        pytest.param(600, marks=pytest.mark.exhaustive),
    ],
)
def test_no_page_shows_what_cannot_be(
    generous: Any, new_visitor: NewVisitor, people: int, faults: Any
) -> None:
    """However few people: no point below 20, percentages that can add to 100, at both widths.

    Where each option has a point they add to 100. Nothing is cut off; axe-core finds nothing.
    """
    survey = published(generous, people=people)
    for width in (390, 1280):
        visitor = new_visitor(viewport={"width": width, "height": 900})
        page = visitor.page
        page.goto(f"{generous.url}/r/{survey.token}")
        large = seen(page.locator(".question .big-number"))
        if people < 20:
            expect(large).to_have_count(0)
            expect(seen(page.locator(".headline.few"))).to_have_count(len(QUESTIONS))
        for question in ("c", "p"):
            shown = [
                [int(number) for number in re.findall(r"\d+", text)]
                for text in figures(page, question)
            ]
            # an option has a point, or the two ends of its interval
            points = [ends[0] for ends in shown if len(ends) == 1]
            assert sum(min(ends) for ends in shown) <= 100 <= sum(max(ends) for ends in shown)
            assert people >= 20 or not points
            assert sum(points) == 100 if len(points) == len(shown) else sum(points) <= 100
        [mean] = figures(page, "n")[:1]
        assert 0 <= float(mean.split()[0].replace("−", "-")) <= 80
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        bill = page.locator("#bill .scroll").first
        assert bill.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
        whole = seen(page.locator(".whole .plot-label"))
        heights = whole.evaluate_all("all => all.map((each) => each.offsetHeight)")
        assert max(heights) < 40, heights  # one line
        if width == 1280:
            assert faults(page, f"results-{people}") == {}
        assert visitor.complaints == []


STICKS_OUT = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const box = each.getBoundingClientRect();
  return each.checkVisibility() && !each.closest(".scroll, nav, pre, .visually-hidden") &&
    (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map((each) => each.outerHTML)"""


def widest(part: Any, *, low: float = 0, high: float = 1) -> Any:
    """Return a part of a result with every number in it as wide as its text can be."""
    if isinstance(part, list):
        return [widest(each, low=low, high=high) for each in part]
    if not isinstance(part, dict):
        return part
    for question in LONG_QUESTIONS:
        if isinstance(question, Number | Rating) and question.id == part.get("id"):
            low, high = question.low, question.high
    wide = {name: widest(each, low=low, high=high) for name, each in part.items()}
    errors = [name for name in part if name.endswith("_error")]
    extremes = {
        "low": low,
        "high": high,
        "shown": low if low < 0 else high,
        "value": 10 * low - high,
        "known_share": 1,
        "known_mean": high,
        "reported_share": 1,
        "likeliest_share": 1,
        "top_probability": 1,
        "simultaneous_low": low,
        "simultaneous_high": high,
        "strength": -99.99,
        "probability": 0.00012,
        "n": 1_000_000_000,
        "differ": True,
        "reason": f"all {10**9} reports are {LONG}",
        **dict.fromkeys(errors, 10 * (high - low)),
    }
    return wide | {name: extreme for name, extreme in extremes.items() if name in part}


@pytest.mark.parametrize(
    ("people", "kind"),
    [
        (1, "labels"),
        (60, "mixed"),
        pytest.param(60, "labels", marks=pytest.mark.exhaustive),
        pytest.param(1, "mixed", marks=pytest.mark.exhaustive),
    ],
)
def test_no_value_is_too_wide_for_a_phone(
    generous: Any, new_visitor: NewVisitor, monkeypatch: pytest.MonkeyPatch, people: int, kind: str
) -> None:
    """The longest words, the widest intervals and the lowest numbers fit 320 and 390 pixels."""
    items = tuple(Choice(f"i{i}", f"{LONG} {i}", (LONG, LONG[::-1]), truth=LONG) for i in range(2))
    asked = {"mixed": LONG_QUESTIONS, "labels": items}[kind]
    survey = closed(generous, *asked, people=people, title=LONG, description=LONG)
    result = {**widest(generous.services.results.result(survey).to_json()), "simulated": True}
    result["responses"] = people
    for question in result["questions"]:
        question["n"] = people if people < 20 else 1_000_000_000
    monkeypatch.setattr(ResultCache, "result", lambda *_: SurveyResult.from_json(result))
    generous.services.surveys.publish(survey)
    visitor = new_visitor(own_cap=None)
    page = visitor.page
    page.goto(generous.owner_link)
    for path in (f"/surveys/{survey.token}", f"/r/{survey.token}", f"/r/{survey.token}/embed"):
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 844})
            page.goto(generous.url + path)
            expect(page.locator(".results")).to_be_visible()
            assert page.evaluate(STICKS_OUT) == [], (path, width)
            page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
            assert page.evaluate(STICKS_OUT) == [], (path, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert visitor.complaints == []
