"""Messages of the server to anybody beside the contents of a participant's own account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.refusals import problem_of
from tests.surveys.small_surveys import define

if TYPE_CHECKING:
    from tests.server.conftest import Site

LEVELS = ("high", "medium")


def test_no_answer_tells_how_many_places_are_left(site: Site) -> None:
    """Quotas and how many have begun are in no answer; only that one is full is."""
    survey = site.services.surveys.open_survey(define(levels=LEVELS), listed=True)
    site.services.surveys.set_quotas(survey, {"high": 987_654, "medium": 1})
    first = site.phone()
    answers = first.take_part(survey, level="high")
    answers.append(site.phone().reserve(survey.token, "medium"))
    full = site.phone().reserve(survey.token, "medium")
    problem = problem_of(full, 409, "budget-exhausted")
    assert set(problem) == {"type", "title", "status", "detail", "padding"}
    answers += [
        full,
        site.visitor.get(f"/api/v1/surveys/{survey.token}/invitation"),
        site.visitor.get(f"/s/{survey.token}", headers={"Accept": "text/html"}),
        site.phone().ask("GET", "/invitations"),
        first.ask("GET", "/invitations"),
        first.ask("GET", "/me/export"),
    ]
    for answer in answers:
        assert answer.status_code < 500
        for told in ("987654", "987653", "seats", "quota", '"begun"'):
            assert told not in answer.text, (told, answer.request.url)


@pytest.mark.parametrize("level", LEVELS)
def test_what_others_do_changes_no_answer(site: Site, level: str) -> None:
    """Whether nobody or many took part, a survey's invitation and steps are answered alike."""
    survey = site.services.surveys.open_survey(define(levels=LEVELS), listed=True)

    def told() -> list[object]:
        phone = site.phone()
        found: list[object] = [
            site.visitor.get(f"/api/v1/surveys/{survey.token}/invitation").json(),
            phone.ask("GET", "/invitations").json(),
        ]
        for answer in phone.take_part(survey, level=level):
            body = answer.json()
            found.append((answer.status_code, len(answer.content), {**body, "id": ""}))
        found.append({**phone.ask("GET", "/me").json()})
        return found

    before = told()
    for _ in range(4):
        site.phone().take_part(survey, level="high")
        site.phone().reserve(survey.token, "medium")
    assert told() == before
