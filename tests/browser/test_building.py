"""Surveys are made on the pages, answered through the real client, and closed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from masquerade.client import Answer, Client, is_asked
from masquerade.errors import InvalidDocument
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import changed
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys import Number

from .accessibility import AXE
from .conftest import Person, close_survey, confirm, open_survey

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
PEOPLE = 8
NewVisitor = Callable[..., Any]


@pytest.fixture
def owner(generous: Any, new_visitor: NewVisitor) -> Any:
    """A signed-in owner at a desk."""
    visitor = new_visitor(viewport=DESKTOP)
    visitor.page.goto(generous.owner_link)
    return visitor


def use(page: Page, template: str) -> str:
    """Begin with a template and return the draft's token."""
    page.get_by_role("button", name=f"Use “{TEMPLATES[template].title}”").click()
    expect(page.locator(".outline-entry").first).to_be_visible()
    return page.url.split("/")[-2]


def saved(page: Page) -> None:
    """Wait until the typed text is on the server."""
    expect(page.locator("#saved")).to_have_text("Saved")


def answered(url: str, token: str, home: Path, person: int) -> None:
    """Let a person answer every question through the Python client."""
    with Client(url, home=home) as me:
        me.device.set_caps(epsilon=1000, confirm=True)  # as generous as the server
        levels = [one["name"] for one in me.invitation(token)["levels"]]
        part = me.begin(token, levels[person % len(levels)])
        part.open()
        given: dict[str, Answer] = {}
        codes: list[int] = []
        for place, one in enumerate(part.questions):
            answer: Answer = None
            if is_asked(part.questions, codes):
                question = one.question
                if isinstance(question, Number):
                    answer = question.low + (person * 7) % question.answer_count * question.step
                else:
                    answer = question.labels[(person + place) % len(question.labels)]
                given[question.id] = answer
            codes.append(one.code(answer))
        part.answer(given)


IN_EVERY_RUN = ("label", "pulse")
"""Templates that go all the way on the pages; the others do over HTTP, in a test of the server."""


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(name, marks=[] if name in IN_EVERY_RUN else [pytest.mark.exhaustive])
        for name in sorted(TEMPLATES)
    ],
)
def test_a_template_goes_from_draft_to_result(
    template: str, generous: Any, owner: Any, tmp_path: Path
) -> None:
    """Used as it is, answered by people with the real client, closed: each question has a part."""
    page = owner.page
    token = use(page, template)
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    expect(page.locator("#responses")).to_have_text("0")
    with ThreadPoolExecutor(PEOPLE) as crowd:
        list(
            crowd.map(lambda n: answered(generous.url, token, tmp_path / str(n), n), range(PEOPLE))
        )
    expect(page.locator("#responses")).to_have_text(str(PEOPLE))
    close_survey(page)
    expect(page.get_by_text("Privacy bill")).to_be_visible()
    survey = generous.services.surveys.record(token)
    assert (survey.state, survey.responses) == ("closed", PEOPLE)
    text = page.locator("main").inner_text()
    for question in survey.survey.questions:
        assert question.text in text
    confirm(page, "Publish results", "Publish them")
    assert generous.services.surveys.record(token).state == "published"
    assert owner.complaints == []


def test_every_page_is_accessible_in_both_widths_and_colours(generous: Any, owner: Any) -> None:
    """axe-core finds nothing, and nothing is wider than a phone of 390 pixels or a desk."""
    page, url = owner.page, generous.url
    faults: list[str] = []

    def look(name: str) -> None:
        page.evaluate(f"window.axe || (() => {{ {AXE} }})()")
        for width, scheme in ((1280, "light"), (390, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            faults.extend(
                f"{name} {width} {scheme}: {rule['id']} {node['target']}"
                for rule in page.evaluate("axe.run()")["violations"]
                for node in rule["nodes"]
            )
            if page.evaluate("document.documentElement.scrollWidth") > width:
                faults.append(f"{name} is wider than {width}")
        page.set_viewport_size(DESKTOP)

    owner.context.clear_cookies()
    page.goto(url)
    look("welcome")
    page.goto(f"{url}/owner?token={generous.services.values.new_owner_token()}")
    look("empty home")
    token = use(page, "pulse")
    for place in (-1, 3):
        page.locator(f'[data-place="{place}"]').click()
        look(f"builder {place}")
    page.goto(f"{url}/surveys/{token}/audience")
    page.get_by_label("Each person gets").select_option("graded")
    page.get_by_text("Advanced").click()
    expect(page.locator("#curve svg")).to_be_visible()
    look("audience")
    saved(page)
    page.goto(f"{url}/surveys/{token}/review")
    expect(page.frame_locator("#phone").locator("#start")).to_be_visible()
    look("review")
    page.locator("#open-it").click()
    page.get_by_role("button", name="Work it out").click()
    page.get_by_role("button", name="Open this wave").click()
    page.get_by_text("Plan wave 2").click()
    page.get_by_role("button", name="Work it out").click()
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true })")
    look("live")
    page.goto(f"{url}/surveys/new")
    look("templates")
    page.goto(f"{url}/surveys")
    look("home")
    assert not faults, "\n".join(faults)
    assert owner.complaints == []


def test_the_builder_needs_no_mouse(generous: Any, owner: Any) -> None:
    """Questions are added, written, moved and removed by keyboard; each change is kept."""
    page = owner.page
    token = use(page, "pick")

    def draft() -> Any:
        return generous.services.drafts.draft(token, team=FIRST_TEAM).document

    add = page.locator(".add > summary")
    add.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Rating").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type("How loud is it?")
    saved(page)
    assert [q["kind"] for q in draft().questions] == ["choice", "rating"]
    assert draft().questions[1]["text"] == "How loud is it?"
    expect(page.frame_locator("#phone").locator("h1")).to_have_text("How loud is it?")
    page.locator('[data-place="1"]').focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator('[data-place="0"]')).to_be_focused()
    saved(page)
    assert [q["kind"] for q in draft().questions] == ["rating", "choice"]
    page.get_by_role("button", name="Remove").focus()
    page.keyboard.press("Enter")
    saved(page)
    assert [q["kind"] for q in draft().questions] == ["choice"]
    assert owner.complaints == []


def test_a_removed_question_comes_back_with_what_followed_on_it(generous: Any, owner: Any) -> None:
    """Removing one says which questions lose their condition; Undo brings all of it back."""
    page = owner.page
    token = use(page, "pulse")

    def questions() -> Any:
        return generous.services.drafts.draft(token, team=FIRST_TEAM).document.questions

    before = questions()
    [follower] = [one for one in before if "show_if" in one]
    place = [one["id"] for one in before].index(follower["show_if"]["question"])
    page.locator(f'[data-place="{place}"]').click()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#undo")).to_contain_text(before[place]["text"])
    expect(page.locator("#undo")).to_contain_text(f"“{follower['text']}” was shown only after")
    saved(page)
    rest = [one["id"] for one in before if one != before[place]]
    assert [one["id"] for one in questions()] == rest
    assert not any("show_if" in one for one in questions())
    page.get_by_role("button", name="Undo the removal").click()
    saved(page)
    assert questions() == before
    expect(page.locator("#undo")).to_be_empty()
    assert owner.complaints == []


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.exhaustive)])
def test_nothing_that_cannot_be_undone_takes_one_press(
    generous: Any, new_visitor: NewVisitor, width: int
) -> None:
    """To close, publish, cancel or delete, a first press tells the effect and changes nothing."""
    visitor = new_visitor(viewport={"width": width, "height": 900})
    page, drafts = visitor.page, generous.services.drafts
    page.goto(generous.owner_link)
    draft, _ = drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    page.goto(f"{generous.url}/surveys/{draft.token}/edit")
    page.get_by_text("This draft").click()
    page.locator("summary", has_text="Delete draft").click()
    expect(page.get_by_text("The questions are gone then")).to_be_visible()
    assert drafts.find(draft.token, team=FIRST_TEAM) is not None
    page.get_by_role("button", name="Delete it for good").click()
    expect(page).to_have_url(f"{generous.url}/surveys")
    assert drafts.find(draft.token, team=FIRST_TEAM) is None

    survey, other = open_survey(generous), open_survey(generous)
    page.goto(f"{generous.url}/surveys/{survey.token}")
    for ask, follows in (
        ("Close and see results", "It cannot be opened again"),
        ("Close, let people finish", "until the end of tomorrow"),
    ):
        page.locator("summary", has_text=ask).click()
        expect(page.locator(".confirm[open]", has_text=ask)).to_contain_text(follows)
    assert generous.services.surveys.record(survey.token).state == "open"
    page.get_by_role("button", name="Close it now").click()
    page.locator("summary", has_text="Publish results").click()
    expect(page.get_by_text("Everybody with the link sees these results")).to_be_visible()
    assert generous.services.surveys.record(survey.token).state == "closed"
    page.get_by_role("button", name="Publish them").click()
    expect(page.locator("#publication")).to_be_visible()

    page.goto(f"{generous.url}/surveys/{other.token}")
    page.get_by_text("Cancel without results").click()
    page.locator("summary", has_text="Cancel the survey").click()
    assert generous.services.surveys.record(other.token).state == "open"
    page.get_by_role("button", name="Cancel it for good").click()
    expect(page.locator(".notice")).to_contain_text("cancelled")
    assert visitor.complaints == []


def test_a_survey_that_nobody_can_take_is_not_opened(
    live_server: Any, new_visitor: NewVisitor
) -> None:
    """Where the usual caps allow no level it gives advice, and offers no button."""
    server = live_server()
    visitor = new_visitor(viewport=DESKTOP)
    page = visitor.page
    page.goto(server.owner_link)
    document = TEMPLATES["rate"].document()
    questions = [{**document.questions[0], "id": f"q{place}"} for place in range(40)]
    changes = {"questions": questions, "levels": ["medium", "low"]}
    draft, _ = server.services.drafts.create(changed(document, changes), team=FIRST_TEAM)
    page.goto(f"{server.url}/surveys/{draft.token}/review")
    expect(page.get_by_role("alert")).to_contain_text("Nobody could take part")
    expect(page.get_by_role("alert")).to_contain_text("Ask fewer questions")
    expect(page.locator("#open-it")).to_have_count(0)
    with pytest.raises(InvalidDocument, match="Nobody could take part"):
        server.services.drafts.open(draft.token, team=FIRST_TEAM)


def test_what_is_missing_is_said_beside_it(generous: Any, owner: Any) -> None:
    """An empty text is kept, marked and forecast as unfinished; the review links to it."""
    page = owner.page
    token = use(page, "pick")
    page.get_by_label("Question", exact=True).fill("")
    saved(page)
    expect(page.locator(".outline-entry").nth(1)).to_contain_text("to do")
    expect(page.locator("#properties")).to_contain_text("empty; give it some words")
    expect(page.locator("#forecast")).to_contain_text("1 thing to do before a forecast: ")
    page.get_by_role("link", name="Open survey").click()
    expect(page.locator("#open-it")).to_have_count(0)
    page.get_by_role("link", name="Question 1").click()
    page.get_by_label("Question", exact=True).fill("Where?")
    saved(page)
    expect(page.locator("#forecast")).to_contain_text("with 400 people")
    assert generous.services.drafts.draft(token, team=FIRST_TEAM).document.questions[0]["text"]


def test_nobody_overwrites_what_somebody_else_wrote(generous: Any, owner: Any) -> None:
    """A page that does not know the newest version says so and keeps nothing of its own."""
    page = owner.page
    token = use(page, "pick")
    drafts = generous.services.drafts
    drafts.change(token, {"title": "Theirs"}, team=FIRST_TEAM, version=1)
    page.locator('[data-place="-1"]').click()
    page.get_by_label("Title").fill("Mine")
    expect(page.locator("#saved")).to_contain_text("Changed elsewhere")
    assert drafts.draft(token, team=FIRST_TEAM).document.title == "Theirs"
    page.reload()
    expect(page.locator(".outline-entry").first).to_contain_text("Theirs")


def test_without_a_network_nothing_typed_is_lost(generous: Any, owner: Any) -> None:
    """Unsent changes are said to be unsaved, and are sent once the network is back."""
    page = owner.page
    token = use(page, "pick")
    page.locator('[data-place="-1"]').click()
    owner.context.set_offline(True)
    page.get_by_label("Title").fill("Written in a tunnel")
    expect(page.locator("#saved")).to_contain_text("Not saved")
    owner.context.set_offline(False)
    saved(page)
    title = generous.services.drafts.draft(token, team=FIRST_TEAM).document.title
    assert title == "Written in a tunnel"


def test_no_other_site_shows_the_preview(generous: Any, owner: Any) -> None:
    """Our own pages may frame the preview, other sites may not; nothing else may be framed."""
    draft, _ = generous.services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    policies = {}
    for name in ("preview", "edit"):
        answer = owner.page.goto(f"{generous.url}/surveys/{draft.token}/{name}")
        policies[name] = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policies["preview"]
    assert "frame-ancestors 'none'" in policies["edit"]


def test_who_is_not_asked_sends_a_masked_no_answer(
    generous: Any, owner: Any, new_visitor: NewVisitor
) -> None:
    """After "No" the follow-up is skipped, forwards and back, and a report is still sent to it."""
    page = owner.page
    token = use(page, "pulse")
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    phone = new_visitor()
    phone.page.goto(f"{generous.url}/s/{token}")
    person = Person(phone.page, answers=[2, 40, 1], level="high")
    while person.view() != "seal":
        person.step()
    phone.page.locator("#back").click()
    expect(phone.page.locator(".progress span")).to_have_text("3 of 4")
    phone.page.locator("#next").click()
    phone.page.locator("#seal").click()
    expect(phone.page.locator(".pair .mine").nth(3)).to_have_text("Not asked, after your answers")
    phone.page.locator("#send").click()
    expect(phone.page.locator('main[data-view="done"]')).to_be_visible()
    [response] = generous.services.reports.of_survey(token)
    assert len(response.reports) == 4
    assert phone.complaints == []


def test_people_are_told_when_a_level_is_full(
    generous: Any, owner: Any, new_visitor: NewVisitor
) -> None:
    """A person too late for a level reads so before any question, and may choose another."""
    draft, _ = generous.services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    survey = generous.services.drafts.open(
        draft.token, team=FIRST_TEAM, quotas={"high": 0, "medium": 5, "low": 5}
    )
    phone = new_visitor()
    phone.page.goto(f"{generous.url}/s/{survey.token}")
    phone.page.locator('input[name="level"][value="high"]').check()
    phone.page.locator("#start").click()
    expect(phone.page.locator(".notice")).to_contain_text("another level may still be open")
    Person(phone.page, answers=[1], level="low").finish()
    assert [r.level for r in generous.services.reports.of_survey(survey.token)] == ["low"]


def test_while_it_closes_only_who_is_answering_goes_on(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """A person that saw the questions can finish; a newcomer reads that it is closed."""
    services = generous.services
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM)
    link = f"{generous.url}/s/{survey.token}"
    early, late = new_visitor(), new_visitor()
    early.page.goto(link)
    person = Person(early.page, answers=[1], level="high")
    while person.view() != "question":
        person.step()
    services.surveys.close(survey, grace_days=1)
    late.page.goto(link)
    expect(late.page.locator('main[data-view="closed"]')).to_be_visible()
    early.page.reload()
    person.finish()
    assert services.surveys.record(survey.token).responses == 1
    assert early.complaints == late.complaints == []


@pytest.mark.parametrize(
    ("template", "lines", "fields"),
    [
        ("label", "Fine. = Positive\n1 + 1 = 2", {"text": "Fine.", "truth": "Positive"}),
        ("compare", "Tea / Coffee\nOr / And/Or", {"item_a": "Tea", "item_b": "Coffee"}),
        pytest.param(
            "rate",
            "The food\nThe room",
            {"text": "The food", "high_label": "excellent"},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_several_questions_at_once(
    generous: Any, owner: Any, template: str, lines: str, fields: dict[str, Any]
) -> None:
    """Each line becomes a question like the chosen one, with a name of its own."""
    page = owner.page
    token = use(page, template)
    before = len(TEMPLATES[template].document().questions)
    page.get_by_text("Add several at once").click()
    page.get_by_label("One on each line").fill(lines)
    page.get_by_role("button", name="Add them").click()
    saved(page)
    document = generous.services.drafts.draft(token, team=FIRST_TEAM).document
    added = document.questions[before:]
    assert len(added) == 2
    assert {name: added[0][name] for name in fields} == fields
    assert generous.services.drafts.review(document).issues == []


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.exhaustive)])
def test_the_review_shows_what_people_see_first(
    generous: Any, new_visitor: NewVisitor, width: int
) -> None:
    """The phone beside the review holds the same elements as the first screen of a new device."""
    owner = new_visitor(viewport={"width": width, "height": 900})
    page = owner.page
    page.goto(generous.owner_link)
    token = use(page, "pulse")
    page.get_by_role("link", name="Open survey").click()
    # But for the price: a new device knows no caps yet, the review reckons with the usual ones.
    shape = """(root) => [...root.querySelectorAll('.levels *, .leaves *, .stays *')]
        .filter((one) => !one.matches('.level-price'))
        .map((one) => [one.tagName, one.className, one.children.length ? '' : one.textContent])"""
    frame = page.frame_locator("#phone")
    expect(frame.locator("#start")).to_be_visible()
    shown = frame.locator("main").evaluate(shape)
    expect(frame.locator(".level-price").first).to_contain_text("privacy here")
    frame.locator('input[value="medium"]').check()
    expect(frame.locator('input[value="medium"]')).to_be_checked()
    page.locator("#open-it").click()
    phone = new_visitor()
    phone.page.goto(f"{generous.url}/s/{token}")
    expect(phone.page.locator("#start")).to_be_visible()
    seen = phone.page.locator("main").evaluate(shape)
    assert shown == seen
    assert owner.complaints == []


def test_a_wave_counts_who_comes(generous: Any, owner: Any, tmp_path: Path) -> None:
    """Planned and opened on the page, a wave limits places and counts people as they come."""
    page = owner.page
    token = use(page, "pick")
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    page.get_by_label("People of all waves").fill("40")
    page.get_by_label("People who come, of 100 asked").fill("80")
    page.get_by_role("button", name="Work it out").click()
    expect(page.get_by_role("heading", name="Wave 1, worked out and not opened")).to_be_visible()
    assert generous.services.surveys.record(token).quotas is None
    page.get_by_role("button", name="Open this wave").click()
    expect(page.locator("#came")).to_have_text("0")
    seats = generous.services.surveys.record(token).quotas
    assert sum(seats.values()) == 30  # 0.6 of 40, for eight in ten
    answered(generous.url, token, tmp_path, 0)
    expect(page.locator("#came")).to_have_text("1")
    expect(page.locator("#responses")).to_have_text("1")
    assert owner.complaints == []
