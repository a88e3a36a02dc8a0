"""Three real questionnaires are built from the pages' words, at a desk and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from .conftest import NewVisitor
from .test_builder import saved
from .test_builder_look import picture

pytestmark = pytest.mark.browser

WIDTHS = [
    # The builder's other tests are at a desk.
    pytest.param({"width": 1280, "height": 900}, id="desk", marks=pytest.mark.exhaustive),
    pytest.param({"width": 390, "height": 844}, id="phone"),
]


class Hand:
    """A person that sees names of buttons and fields, and counts each press and each text."""

    def __init__(self, page: Page) -> None:
        self.page, self.steps = page, 0

    def press(self, name: str) -> None:
        """Press a button or a link."""
        button = self.page.get_by_role("button", name=name, exact=True)
        button.or_(self.page.get_by_role("link", name=name, exact=True)).first.click()
        self.steps += 1

    def unfold(self, name: str) -> None:
        """Open a fold, if it is not open."""
        fold = self.page.locator("details", has=self.page.locator("summary", has_text=name)).last
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()
            self.steps += 1

    def write(self, label: str, text: str, *, place: int = 0) -> None:
        """Type into a field."""
        self.page.get_by_label(label, exact=True).nth(place).fill(text)
        self.steps += 1

    def choose(self, label: str, option: str, *, place: int = 0) -> None:
        """Choose from a list."""
        self.page.get_by_label(label, exact=True).nth(place).select_option(label=option)
        self.steps += 2

    def tick(self, label: str) -> None:
        """Tick a box."""
        self.page.get_by_label(label).first.check()
        self.steps += 1

    def add(self, kind: str, text: str, options: str = "") -> None:
        """Add a question, with its text and options."""
        self.unfold("Add a question")
        self.press(kind)
        self.write("Question", text)
        if options:
            self.write("Options", options)

    def add_page(self, heading: str) -> None:
        """Begin a page."""
        self.unfold("Add a page, text, image")
        self.press("Page")
        self.write("Heading", heading)


@pytest.fixture(params=WIDTHS)
def hand(request: pytest.FixtureRequest, generous: Any, new_visitor: NewVisitor) -> Any:
    """A hand on a blank survey, reached from the first page of a new owner."""
    visitor = new_visitor(viewport=request.param)
    visitor.page.goto(generous.owner_link)
    made = Hand(visitor.page)
    made.press("Blank survey, plan or import")
    made.press("Blank survey")
    yield made
    assert visitor.complaints == []


def opened(hand: Hand, server: Any) -> Any:
    """Open the survey, and return it as it opened."""
    saved(hand.page)
    token = hand.page.url.split("/")[-2]
    hand.press("Open survey")
    hand.page.locator("#open-it").click()
    expect(hand.page.locator("#responses")).to_have_text("0")
    return server.services.surveys.record(token).survey


def test_a_course_evaluation_stands_on_four_screens(hand: Hand, generous: Any) -> None:
    """Text, consent, a matrix of nine, several, a grade, and follow-ups of low grades."""
    rows = "Aims\nPace\nExamples\nSlides\nQuestions\nExercises\nWorkload\nExam\nAll in all"
    hand.write("Title", "Course evaluation")
    hand.write("Who asks, and what for", "The department asks what should change.")
    hand.unfold("Add a page, text, image")
    hand.press("Text")
    hand.write("Text", "**Welcome.** This takes three minutes.")
    hand.press("Consent")
    hand.write("What people agree to", "I take part of my own free will.")
    hand.add_page("The course")
    hand.add("Matrix", "How good were these?")
    hand.write("Rows", rows)
    hand.write("A word for each point", "Bad\nPoor\nFair\nGood\nVery good")
    hand.add_page("You and your grade")
    hand.add("Tick several", "What helped you?", "Lecture\nExercises\nBook\nVideos\nFriends")
    hand.add("Rating", "Which grade do you give the course?")
    hand.add_page("What went wrong")
    hand.choose("Shown", "when all of these hold")
    hand.tick("2")
    hand.add("Pick one", "What was worst?", "The pace\nThe rooms\nThe exercises")
    hand.add("Pick one", "Did you tell anybody?", "Yes\nNo")
    survey = opened(hand, generous)
    pages = survey.layout.pages
    assert [len(page.items) for page in pages] == [2, 9, 2, 2]
    assert pages[-1].show_if.to_json() == {"question": "q3", "answers": ["1", "2"]}
    assert all(one.labels[-1] == "5" for one in survey.questions[:9])
    assert hand.steps <= 35


def test_a_pulse_has_its_logic_its_score_and_its_order(hand: Hand, generous: Any) -> None:
    """Ten questions under headings: AND within OR, NPS, random order, prefer not to say."""
    hand.write("Title", "Pulse of November")
    hand.write("Who asks, and what for", "The works council asks how you are.")
    hand.add_page("Your work")
    hand.add("Rating", "How satisfied are you?")
    hand.tick("Offer “Prefer not to say”")
    hand.add("Rating", "How heavy is your workload?")
    hand.add("Number", "How many hours of overtime did you work?")
    hand.write("To", "40")
    hand.write("Unit", "hours")
    hand.add("Would recommend (NPS)", "Would you recommend us?")
    hand.add_page("Your team")
    hand.tick("Questions in another order for each person")
    hand.add("Rating", "My manager listens")
    hand.unfold("Add several at once")
    hand.write("One on each line", "My team helps me\nI can say what I think")
    hand.press("Add them")
    hand.add_page("Looking ahead")
    hand.add("Pick one", "Have you thought of leaving?", "Yes\nNo")
    hand.add("Tick several", "What would keep you?", "Pay\nHours\nTeam\nTraining")
    hand.choose("Shown", "when any of these holds")
    hand.press("Add a group")
    hand.choose("The answer to", "How satisfied are you?", place=1)
    hand.tick("2")
    hand.choose("The answer to", "How many hours of overtime did you work?", place=2)
    hand.write("From", "10")
    hand.write("To", "40")
    hand.add("Pick one", "May we ask again in May?", "Yes\nNo")
    survey = opened(hand, generous)
    assert len(survey.questions) == 10
    assert [page.shuffle for page in survey.layout.pages] == [False, True, False]
    [tree] = [one for one in survey.conditions if one is not None]
    leaving = {"question": "q8", "answers": ["Yes"]}
    ill, hours = {"question": "q1", "answers": ["1", "2"]}, {"question": "q3", "from": 10, "to": 40}
    assert tree.to_json() == {"any": [leaving, {"all": [ill, hours]}]}
    assert survey.questions[3].kind == "nps"
    assert hand.steps <= 49


def test_a_poll_ranks_dates_and_pictures_in_two_languages(hand: Hand, generous: Any) -> None:
    """Six topics are ranked, three days and four pictures stand for choice, in two languages."""
    hand.write("Title", "Summer party")
    hand.write("Who asks, and what for", "The staff club asks what you would like.")
    hand.add("Ranking", "Which topics should the talks have?")
    hand.write("Items", "Music\nSport\nCooking\nTravel\nBooks\nGames")
    hand.add("Date", "Which day suits you?")
    hand.write("Or these days", "2026-06-05\n2026-06-12\n2026-06-19")
    hand.add("Pick one", "Where shall we go?", "Sea\nWood\nTown\nHill")
    hand.unfold("Pictures")
    for name in ("Sea", "Wood", "Town", "Hill"):
        file: FilePayload = {"name": f"{name}.png", "mimeType": "image/png", "buffer": picture()}
        hand.page.get_by_label(name, exact=True).set_input_files(file)
        expect(hand.page.get_by_role("img", name=name)).to_be_visible()
        hand.steps += 2
    saved(hand.page)
    token = hand.page.url.split("/")[-2]
    hand.press("Languages")
    hand.write("Add a language", "Deutsch")
    hand.press("Save")
    hand.page.get_by_label("Where shall we go? (de)").fill("Wohin soll es gehen?")
    hand.page.get_by_label("Sea (de)").fill("Meer")
    hand.press("Save the translations")
    hand.press("Questions")
    survey = opened(hand, generous)
    assert generous.services.surveys.record(token).survey == survey
    ranking, day, place = survey.questions
    assert len(ranking.items) == 6
    assert day.dates == ("2026-06-05", "2026-06-12", "2026-06-19")
    assert len(place.pictures) == 4
    assert survey.languages.of("de")["questions/q3/options/0"] == "Meer"
    assert hand.steps <= 29
