"""The preview of a survey is the participants' view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document_survey import document_of
from masquerade.server.surveys.survey_records import introduction
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys import Choice, Number, Question, Rating, question_from_json
from masquerade.surveys.kinds import kinds
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

from .conftest import ANSWERS, QUESTIONS, NewVisitor, Person, beasts, of_every_kind

pytestmark = pytest.mark.browser


KINDS: tuple[Question, ...] = (
    *QUESTIONS,
    Choice("short", "Is it wild?", ("Yes", "No")),
    Choice("long", "Which of these?", tuple(f"Beast number {n}" for n in range(1, 13))),
    Rating("eleven", "How likely?", low=0, high=10, low_label="never", high_label="surely"),
    Number("tenths", "How far?", -1, 1, "km", step=0.1),
)
KINDS_ANSWERS = (*ANSWERS, 0, 7, 5, "0.3")


def drafted(server: Any, *questions: Question) -> tuple[str, Survey]:
    """Keep a draft of a survey about beasts; return its token and its survey."""
    definition = beasts(questions=questions)
    document = document_of(definition, listed=False)
    draft, _ = server.services.drafts.create(document, team=FIRST_TEAM)
    return draft.token, definition


# Each element of a page's main part: where it is, and every style it has.
DRAWN = """main => {
  const {x: left, y: top} = main.getBoundingClientRect();
  return [...main.querySelectorAll("*")].map((one) => {
    const {x, y, width, height} = one.getBoundingClientRect();
    const place = [x - left, y - top, width, height].map((size) => size.toFixed(1));
    const style = getComputedStyle(one);
    const styles = [...style].sort().map((name) => style.getPropertyValue(name));
    return [one.tagName, ...place, ...styles].join();
  });
}"""


def still(page: Page, main: Locator) -> Locator:
    """Return the main part of a page with nothing in it focused or pointed at."""
    page.mouse.move(0, 0)
    main.evaluate("main => main.ownerDocument.activeElement?.blur()")
    main.evaluate("() => Promise.all(document.getAnimations().map((each) => each.finished))")
    return main


def picture(page: Page) -> bytes:
    """Return the pixels of the main part of a page."""
    return still(page, page.locator("main")).screenshot(animations="disabled", caret="hide")


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 390),
        pytest.param("dark", 1280, marks=pytest.mark.exhaustive),
        pytest.param("dark", 390, marks=pytest.mark.exhaustive),
        pytest.param("light", 1280, marks=pytest.mark.exhaustive),
    ],
)
def test_the_preview_is_what_participants_see(
    generous: Any, new_visitor: NewVisitor, tmp_path: Path, width: int, scheme: str
) -> None:
    """Of each kind of question the preview has the very pixels of the participants' page.

    In a window of its own it is compared by screenshots; in the phone beside the builder, which may
    stand between two pixels, by the place and every style of each element at the phone's width.
    """
    window = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    owner = new_visitor(**window)
    token, definition = drafted(generous, *KINDS)
    builder, own = owner.page, owner.another_page()
    builder.goto(generous.owner_link)
    own.goto(f"{generous.url}/surveys/{token}/preview")
    own.locator("#start").click()
    builder.goto(f"{generous.url}/surveys/{token}/edit")
    phone = builder.frame_locator("#phone")
    expect(phone.locator("main[data-view=question]")).to_be_visible()
    inside = phone.locator("html").evaluate("() => ({width: innerWidth, height: innerHeight})")

    visitor = new_visitor(**window)
    page, survey = visitor.page, generous.services.surveys.open_survey(definition)
    page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(page, answers=KINDS_ANSWERS, level="high")
    while person.view() != "question":
        person.step()
    different = []
    for place, question in enumerate(definition.questions):
        builder.locator(f'[data-place="{place}"]').click()
        for shown in (page, own, phone):
            expect(shown.locator(".progress span")).to_have_text(f"{place + 1} of {len(KINDS)}")
        preview, seen = picture(own), picture(page)
        if preview != seen:
            different.append(f"{question.id} in a window")
            (tmp_path / f"{question.id}-preview.png").write_bytes(preview)
            (tmp_path / f"{question.id}-page.png").write_bytes(seen)
        page.set_viewport_size(inside)
        beside = still(builder, phone.locator("main")).evaluate(DRAWN)
        if beside != still(page, page.locator("main")).evaluate(DRAWN):
            different.append(f"{question.id} in the phone")
        page.set_viewport_size({"width": width, "height": 900})
        person.step()
        own.locator("#next").click()
    assert different == [], f"pictures are in {tmp_path}"
    assert owner.complaints == visitor.complaints == []


# The pages of a survey by the participants' code and by the preview's, each as its markup.
BOTH_PAGES = """async ({ draft, surveys }) => {
  const at = (name) => import(`/static/${name}`);
  await at("app/kinds/every.js");
  const [{ readInvitation }, text, { pageView }, { Preview }] = await Promise.all(
    ["app/invitation.js", "app/survey_text.js", "app/page_view.js", "surveyor/preview.js"].map(at),
  );
  const nothing = () => {};
  const markup = (elements) => {
    const main = document.createElement("main");
    main.append(...elements.flat(Infinity).filter(Boolean));
    return main.innerHTML;
  };
  return surveys.flatMap((survey) => {
    const invitation = { ...survey.invitation, state: "open" };
    const promise = text.promiseOf(readInvitation(invitation, survey.token));
    return Object.keys(promise.levels).map((level) => {
      const questions = text.questionsOf(survey.text, promise, level, [[0, 1]]);
      const { pages } = text.layoutOfText(survey.text, questions);
      const known = { questions, answers: {}, images: {}, agreed: {}, count: pages.length };
      const acts = { choose: nothing, agree: nothing, next: nothing };
      const theirs = pages.map((page, index) =>
        markup(pageView(page, { ...known, index }, { ...acts, back: index > 0 ? nothing : null })),
      );
      const main = document.createElement("main");
      const preview = new Preview(main, nothing);
      const shown = draft.questions.map((_, place) => {
        preview.show({ ...draft, unmasked: ["two-parties", "none"].includes(level) }, place);
        return main.innerHTML;
      });
      return [survey.trust, level, theirs, shown];
    });
  });
}"""


def test_each_kind_looks_alike_in_the_preview(generous: Any, new_visitor: NewVisitor) -> None:
    """Of every registered kind, at each level and between two parties, the markup is the same."""
    questions = of_every_kind()
    asked = tuple(map(question_from_json, questions))
    masked = beasts(questions=asked, levels=("high", "medium", "low", "none"))
    split = Survey(
        *("Beasts", "", "pick", masked.questions, (OfferedLevel("two-parties", ()),)),
        two_parties=TwoParties.of(
            helper="https://helper.example", operator="A charity", fingerprint="ab" * 16, rho="0.5"
        ),
        layout=masked.layout,
    )
    token = "0" * 16
    approval = dict.fromkeys(("configuration", "terms", "public_key", "signature"), "")
    surveys = [
        {
            "trust": survey.trust,
            "token": token,
            "text": survey.text(),
            "invitation": introduction(
                survey,
                token=token,
                hash_=survey.content_hash(),
                approval={**approval, "task": "ab" * 32},
            ),
        }
        for survey in (masked, split)
    ]
    draft = {"title": "Beasts", "questions": questions, "pages": [], "images": {}}
    visitor = new_visitor()
    visitor.page.goto(generous.owner_link)
    found = visitor.page.evaluate(BOTH_PAGES, {"draft": draft, "surveys": surveys})
    assert [level for _, level, _, _ in found] == ["high", "medium", "low", "none", "two-parties"]
    for trust, level, theirs, shown in found:
        for name, page, preview in zip(kinds(), theirs, shown, strict=True):
            assert preview == page, f"{name}, {trust}, {level}"
            assert f"Which {name}?" in page
    assert visitor.complaints == []


def test_the_preview_walks_through_the_survey(generous: Any, new_visitor: NewVisitor) -> None:
    """In its own window it begins with the levels, follows the conditions, and sends nothing."""
    visitor = new_visitor()
    page = visitor.page
    page.goto(generous.owner_link)
    draft, _ = generous.services.drafts.create(TEMPLATES["pulse"].document(), team=FIRST_TEAM)
    page.goto(f"{generous.url}/surveys/{draft.token}/preview", wait_until="networkidle")
    before = len(visitor.requests)
    page.locator('input[name="level"][value="medium"]').check()
    expect(page.locator('input[name="level"][value="medium"]')).to_be_checked()
    page.locator("#start").click()
    seen = []
    while page.locator("main").get_attribute("data-view") == "question":
        seen.append(page.locator(".progress span").inner_text())
        if page.locator("#number").count():
            page.locator("#number").fill("40")
        else:
            page.locator('input[name="answer"][value="1"]').check()
        page.locator("#next").click()
    assert seen == ["1 of 4", "2 of 4", "3 of 4"]  # the fourth follows on another answer
    page.locator("#back").click()
    expect(page.locator(".progress span")).to_have_text("3 of 4")
    assert len(visitor.requests) == before
    assert visitor.complaints == []
