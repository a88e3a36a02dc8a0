"""The builder loses no typed text, and says at each field the fault of its value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.bad_values import bad_values, refused

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import Document, changed
from masquerade.surveys.builder_form import FormField
from masquerade.surveys.kinds import kinds

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
NewVisitor = Callable[..., Any]
YES_NO = {"kind": "choice", "text": "Ill?", "options": ["Yes", "No"], "allow_skip": False}
PROGRAMMERS = re.compile(r"[a-z]_[a-z]|String should|valid|None|True|False|[{}\[\]]|null|pointer")
"""Words and signs that no message for a surveyor has."""


@pytest.fixture
def owner(generous: Any, new_visitor: NewVisitor) -> Any:
    """A signed-in owner at a desk."""
    visitor = new_visitor(viewport=DESKTOP)
    visitor.page.goto(generous.owner_link)
    return visitor


def draft(server: Any, **fields: Any) -> str:
    """Return the token of a new draft."""
    known = changed(Document(title="Work"), fields)
    return str(server.services.drafts.create(known, team=FIRST_TEAM)[0].token)


def kept(server: Any, token: str) -> Document:
    """Return a draft as the server has it."""
    document: Document = server.services.drafts.draft(token, team=FIRST_TEAM).document
    return document


def saved(page: Page) -> None:
    """Wait until the typed text is on the server."""
    expect(page.locator("#saved")).to_have_text("Saved")


def three(**fields: Any) -> list[dict[str, Any]]:
    """Return three questions, of which the last is shown after a yes to the first."""
    follow = {"show_if": {"question": "q1", "answers": ["Yes"]}, "allow_skip": True}
    first, second = ({**YES_NO, **fields, "id": f"q{n}"} for n in (1, 2))
    return [first, second, {**YES_NO, "id": "q3", "text": "How ill?", **follow}]


def ids(server: Any, token: str) -> list[str]:
    """Return the names of a draft's questions, in order."""
    return [one["id"] for one in kept(server, token).questions]


def test_steps_are_undone_and_redone_also_after_a_reload(generous: Any, owner: Any) -> None:
    """Undo takes back typing, moves and removals one after the other; redo brings them again."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.get_by_label("Question", exact=True).fill("Were you ill?")
    page.locator('[data-place="1"]').click()
    page.get_by_role("button", name="Duplicate").first.click()
    page.get_by_role("button", name="Remove").click()
    saved(page)
    assert ids(generous, token) == ["q1", "q2", "q3"]
    page.reload()
    page.locator("#undo-step").click()
    page.locator("#undo-step").click()
    saved(page)
    assert ids(generous, token) == ["q1", "q2", "q3"]
    page.locator("body").press("Control+z")
    saved(page)
    assert kept(generous, token).questions == three()
    expect(page.locator("#undo-step")).to_be_disabled()
    for _ in range(3):
        page.locator("#redo-step").click()
    saved(page)
    assert kept(generous, token).questions[0]["text"] == "Were you ill?"
    expect(page.locator("#redo-step")).to_be_disabled()
    assert owner.complaints == []


def test_questions_are_dragged_and_duplicated_with_their_conditions(
    generous: Any, owner: Any
) -> None:
    """A copy follows its question and keeps its condition, as pasted lines do."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator('[data-place="2"]').click()
    page.get_by_role("button", name="Duplicate").first.click()
    page.get_by_text("Add several at once").click()
    page.get_by_label("One on each line").fill("How long?\nHow often?")
    page.get_by_role("button", name="Add them").click()
    saved(page)
    questions = kept(generous, token).questions
    assert [one["text"] for one in questions[2:]] == [
        "How ill?",
        "How ill?",
        "How long?",
        "How often?",
    ]
    assert all(one["show_if"] == questions[2]["show_if"] for one in questions[3:])
    page.locator('[data-place="5"]').drag_to(page.locator('[data-place="2"]'))
    saved(page)
    assert [one["text"] for one in kept(generous, token).questions][2] == "How often?"
    assert owner.complaints == []


def test_what_both_changed_is_decided_by_the_person(generous: Any, owner: Any) -> None:
    """Keep mine keeps the text typed here, and their changes in other questions."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    theirs = three()
    theirs[1] = {**theirs[1], "text": "Theirs"}
    theirs.append({**YES_NO, "id": "q9", "text": "Added"})
    generous.services.drafts.change(token, {"questions": theirs}, team=FIRST_TEAM, version=1)
    page.get_by_label("Question", exact=True).fill("Mine")
    expect(page.locator("#saved")).to_contain_text("Changed elsewhere")
    page.reload()  # nothing is lost by leaving
    expect(page.locator("#conflict")).to_contain_text("kept in this browser")
    page.get_by_role("button", name="Keep mine").click()
    saved(page)
    texts = [one["text"] for one in kept(generous, token).questions]
    assert texts == ["Mine", "Theirs", "How ill?", "Added"]
    expect(page.get_by_label("Question", exact=True)).to_have_value("Mine")
    assert owner.complaints == [
        "Failed to load resource: the server responded with a status of 412 (Precondition Failed)"
    ]


def test_theirs_is_taken_and_mine_comes_back_by_undo(generous: Any, owner: Any) -> None:
    """A person that takes theirs has their texts, and can still undo that."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    generous.services.drafts.change(token, {"title": "Theirs"}, team=FIRST_TEAM, version=1)
    page.locator('[data-place="-1"]').click()
    page.get_by_label("Title").fill("Mine")
    page.get_by_role("button", name="Take theirs").click()
    expect(page.get_by_label("Title")).to_have_value("Theirs")
    assert kept(generous, token).title == "Theirs"
    page.locator("#undo-step").click()
    saved(page)
    assert kept(generous, token).title == "Mine"


def test_a_tab_closed_without_a_network_loses_nothing(generous: Any, owner: Any) -> None:
    """Unsent changes are in the browser, and are sent when the builder is opened again."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.route("**/api/v1/surveys/*", lambda route: route.abort())
    page.get_by_label("Question", exact=True).fill("Written in a tunnel")
    expect(page.locator("#saved")).to_contain_text("Not saved")
    page.close(run_before_unload=False)
    again = owner.another_page()
    again.goto(f"{generous.url}/surveys/{token}/edit")
    expect(again.get_by_label("Question", exact=True)).to_have_value("Written in a tunnel")
    saved(again)
    assert kept(generous, token).questions[0]["text"] == "Written in a tunnel"


def test_a_text_that_is_too_long_is_kept_and_counted(generous: Any, owner: Any) -> None:
    """A description of 2,001 characters is on the server, and its field says so."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator('[data-place="-1"]').click()
    field = page.get_by_label("Who asks, and what for")
    field.fill("x" * 2001)
    saved(page)
    assert len(kept(generous, token).description) == 2001
    box = page.locator('[data-key="/description"]')
    expect(box).to_contain_text("2,001 of 2,000 characters")
    expect(box.locator(".error")).to_have_text("This has 2,001 characters; shorten it to 2,000.")
    page.reload()
    page.locator('[data-place="-1"]').click()
    expect(field).to_have_value("x" * 2001)


def test_computed_choices_follow_what_is_typed(generous: Any, owner: Any) -> None:
    """How many can be ticked, and the right answer, are of the options as they are typed."""
    several = {**kinds()["several"].builder.blank, "kind": "several", "id": "q1", "text": "Which?"}
    choice = {**YES_NO, "id": "q2", "truth": None}
    page, token = owner.page, draft(generous, questions=[several, choice])
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.get_by_label("Options", exact=True).fill("A\nB\nC\nD\nE\nF\nG")
    most = page.get_by_label("How many can be ticked").locator("option")
    assert most.all_text_contents() == ["all", *(f"at most {n}" for n in range(1, 7))]
    page.locator('[data-place="1"]').click()
    page.locator("summary", has_text="Advanced").click()
    page.get_by_label("Options", exact=True).fill("Red\nGreen\nBlue")
    truth = page.get_by_label("Right answer").locator("option")
    assert truth.all_text_contents() == ["not known", "Red", "Green", "Blue"]
    expect(page.get_by_label("Options", exact=True)).to_be_focused()


MESSAGES = """
(scope) => [...document.querySelectorAll(`:is(${scope}) .error`)]
  .filter((one) => one.checkVisibility() && one.innerText)
  .map((one) => [one.closest("[data-key]")?.dataset.key ?? "", one.innerText])
"""


PASTE = """
(control, text) => {
  control.focus();
  control.value = text;
  control.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
}
"""
"""Puts a text into a field at once: `fill` types each of 600 lines by itself."""


def messages(page: Page) -> list[tuple[str, str]]:
    """Return the key of the field and the text of each message, once the server has answered."""
    # A network that comes back sends what was typed at once: no pause is waited for.
    page.evaluate("dispatchEvent(new Event('online'))")
    # The page says that it saves as it hears a key, and draws faults as it says how that went.
    expect(page.locator("#saved")).not_to_have_text("Saving…")
    return [(key, text) for key, text in page.evaluate(MESSAGES, "#properties, #plan")]


def one_message(page: Page, name: str, value: str) -> list[str]:
    """Return the faults of the page's message on a value: one, at its field, in words."""
    said = messages(page)
    shown = f"{name} {value[:20]!r}"
    right = len(said) == 1 and said[0][0].endswith(f"/{name}")
    faults = [] if right else [f"{shown}: {len(said)} messages {said}"]
    return faults + [f"{shown}: {text}" for _, text in said if PROGRAMMERS.search(text)]


def with_every_type() -> list[Any]:
    """Return all kinds; those of every run have fields of each type.

    `test_service_messages` refuses the same values of every kind without a browser.
    """
    seen: set[str] = set()
    found = []
    for kind in sorted(kinds()):
        form = kinds()[kind].builder
        types = {one.type for row in (*form.rows, form.advanced) for one in row}
        found.append(pytest.param(kind, marks=[pytest.mark.exhaustive] if types <= seen else []))
        seen |= types
    return found


@pytest.mark.parametrize("kind", with_every_type())
def test_each_refused_value_has_one_message_at_its_field(
    kind: str, generous: Any, owner: Any
) -> None:
    """Every bad value of every field of every kind is said there, and a good one takes it away."""
    form = kinds()[kind].builder
    question = {**form.blank, "kind": kind, "id": "q1", "text": "Which?"}
    page, token = owner.page, draft(generous, questions=[question])
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    name = FormField("id", "Name in files")
    text = FormField("text", "Question")
    faults = []
    for field in (text, *(one for row in form.rows for one in row), *form.advanced, name):
        values = [
            value
            for value in bad_values(form, field)
            if field.type in ("number", "whole") or refused(kind, form.blank, field, value)
        ]
        if not values:
            continue
        control = page.locator(f'[data-key$="/{field.name}"]').locator("input, textarea").first
        before = control.input_value()
        for value in values:
            control.evaluate(PASTE, value)
            faults += one_message(page, field.name, value)
        control.evaluate(PASTE, before)
        faults += [f"{field.name} as before: {said}" for said in messages(page)]
    assert not faults, "\n".join(faults)
    assert owner.complaints == []


def test_a_text_with_a_link_stands_in_for_free_text(generous: Any, owner: Any) -> None:
    """Where the builder says why there is no free text, a button adds a text with a link."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/edit")
    page.locator("summary", has_text="Add a question").click()
    page.get_by_role("button", name="Add such a text").click()
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    saved(page)
    blocks = [one for each in kept(generous, token).pages for one in each["items"]]
    [text] = [one["text"] for one in blocks if isinstance(one, dict)]
    assert "](https://example.org/form)" in text
    assert owner.complaints == []


def test_the_audience_refuses_in_words_what_is_no_number(generous: Any, owner: Any) -> None:
    """Each wrong number of people is said at its field, kept over a reload, and changes nothing."""
    page, token = owner.page, draft(generous, questions=three())
    page.goto(f"{generous.url}/surveys/{token}/audience")
    box = page.locator('[data-key="/plan/people"]')
    faults = []
    for value in ("0", "-5", "1e9", "12.5", "", "many"):
        box.locator("input").fill(value)
        faults += one_message(page, "people", value)
    assert not faults, "\n".join(faults)
    expect(box.locator(".error")).to_have_text(
        "Give a whole number from 1 to 100,000; “many” is none."
    )
    page.reload()
    expect(box.locator("input")).to_have_value("many")
    page.get_by_role("link", name="Open survey").click()
    expect(page.locator("#saved")).to_contain_text("holds nothing that can be used")
    assert kept(generous, token).plan.people == 400
    box.locator("input").fill("250")
    expect(box.locator(".error")).to_be_hidden()
    saved(page)
    assert kept(generous, token).plan.people == 250


def test_a_survey_begins_blank_and_a_team_keeps_its_own_templates(
    generous: Any, owner: Any
) -> None:
    """A blank survey has no question; a template of the team begins others and is never opened."""
    page = owner.page
    page.goto(f"{generous.url}/surveys/new")
    page.get_by_role("button", name="Blank survey").click()
    expect(page.locator("#forecast")).to_contain_text("to do before a forecast")
    page.get_by_label("Title").fill("Every month")
    page.locator(".add > summary").click()
    page.get_by_role("button", name="Rating").click()
    page.get_by_label("Question", exact=True).fill("How was it?")
    saved(page)
    page.locator(".more > summary").click()
    page.get_by_role("button", name="Keep as a template").click()
    expect(page.get_by_role("heading", name="Your team’s templates")).to_be_visible()
    page.get_by_role("button", name="Use “Every month”").click()
    expect(page.locator(".outline-entry").first).to_contain_text("Every month")
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    expect(page.locator("#responses")).to_have_text("0")
    page.goto(f"{generous.url}/surveys")
    page.get_by_role("button", name="Duplicate “Every month”").first.click()
    expect(page.locator(".outline-entry").first).to_contain_text("Every month (copy)")
    assert owner.complaints == []
