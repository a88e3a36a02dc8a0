"""Relations in a real browser: chosen, shown, refused, at both widths."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import Document
from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.survey import Survey, commitment_of

pytestmark = pytest.mark.browser

QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while you were ill in the last year?", ("No", "Yes")),
    Rating("stress", "How stressful is your work?", 1, 3),
)


def closed(server: Any, people: int = 60) -> str:
    """Return a closed survey with reports in which ill and stress go together."""
    definition = Survey.at_levels(title="Work", levels=("low",), questions=QUESTIONS)
    survey = server.services.surveys.open_survey(definition)
    steps, rng = server.services.participations, np.random.default_rng(4)
    for _ in range(people):
        stress = int(rng.integers(3))
        reports = [int(rng.random() < (0.05, 0.5, 0.95)[stress]), stress]
        who, salt = server.services.identity(secrets.token_hex(16)), secrets.token_hex(16)
        begun, _ = steps.reserve(who, survey.token, "low", idempotency_key=secrets.token_hex(16))
        steps.open(who, begun.id)
        steps.seal(who, begun.id, commitment_of(begun.id, reports, salt))
        steps.respond(
            who, begun.id, reports=reports, salt=salt, level="low", survey_hash=survey.hash
        )
    return str(server.services.surveys.close(survey).token)


def test_a_surveyor_relates_two_questions(
    generous: Any, new_visitor: Callable[..., Any], faults: Any
) -> None:
    """From the result to a sentence, a chart, a table; everybody can use it at both widths."""
    visitor = new_visitor(viewport={"width": 1280, "height": 900})
    page, token = visitor.page, closed(generous)
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{token}")
    page.get_by_role("link", name="Relations").click()
    assert faults(page, "relations-empty") == {}
    page.get_by_label("To be explained").select_option("ill")
    page.get_by_role("checkbox", name="How stressful is your work?").check()
    page.get_by_role("button", name="Relate").click()
    relation = page.locator("#relation")
    expect(relation.locator(".relation-sentence")).to_contain_text("more often: odds")
    expect(relation.locator(".plot-label")).to_have_count(1)
    page.get_by_text("The same as a table").click()
    page.get_by_text("Method", exact=True).click()
    expect(relation.get_by_role("columnheader", name="Naive")).to_be_visible()
    assert faults(page, "relations") == {}
    page.get_by_role("checkbox", name="Have you worked").check()
    page.get_by_role("button", name="Relate").click()
    expect(page.get_by_role("alert")).to_contain_text("outcome and predictor")
    assert faults(page, "relations-refused") == {}
    assert [each for each in visitor.complaints if "422" not in each] == []


def test_relations_between_two_parties_are_declared_with_their_cost(
    generous: Any, new_visitor: Callable[..., Any], faults: Any
) -> None:
    """The builder says the cost of the tables of all pairs, and declares them."""
    visitor = new_visitor(viewport={"width": 1280, "height": 900})
    page = visitor.page
    questions = [
        {"kind": "rating", "id": one, "text": f"How is your {one}?"}
        for one in ("sleep", "work", "mood")
    ]
    document = Document.model_validate({"title": "Work", "questions": questions})
    draft, _ = generous.services.drafts.create(document, team=FIRST_TEAM)
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{draft.token}/audience")
    page.get_by_label("Two parties").check()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.locator("summary", has_text="Cross tables (0)").click()
    declare = page.get_by_role("button", name="Declare these relations")
    expect(declare).to_be_disabled()
    for one in ("sleep", "work", "mood"):
        page.get_by_role("checkbox", name=f"How is your {one}?").check()
    cost = page.get_by_role("status").filter(has_text="more tables")
    expect(cost).to_have_text("3 more tables: the noise on every count is about 41 % larger.")
    assert faults(page, "relations-builder") == {}
    declare.click()
    expect(page.locator("summary", has_text="Cross tables (3)")).to_be_visible()
    expect(page.get_by_text("All pairs of these are declared.")).to_be_visible()
    expect(page.locator("#saved")).to_have_text("Saved")
    found = generous.services.drafts.find(draft.token, team=FIRST_TEAM)
    pairs = [["sleep", "work"], ["sleep", "mood"], ["work", "mood"]]
    assert found.document.two_parties.cross == pairs
    page.get_by_role("button", name="Declare one table of them all").click()
    expect(page.locator("summary", has_text="Cross tables (4)")).to_be_visible()
    expect(
        page.get_by_text("How is your sleep? × How is your work? × How is your mood?")
    ).to_be_visible()
    expect(page.locator("#saved")).to_have_text("Saved")
    found = generous.services.drafts.find(draft.token, team=FIRST_TEAM)
    assert found.document.two_parties.cross == [*pairs, ["sleep", "work", "mood"]]
    assert not visitor.complaints
