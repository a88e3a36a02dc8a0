"""The demonstration's page; whoever opens it is the owner of its made-up surveys."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from masquerade.server.db.tables import OPEN
from masquerade.server.demo import QUESTIONS, SHOWN_PEOPLE
from masquerade.server.http.pages import render
from masquerade.server.results.view import result_view
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.survey_summary import described
from masquerade.server.services import Services
from masquerade.server.surveys.frozen_surveys import SurveyRecord

routes = APIRouter(include_in_schema=False)


@routes.get("/")
def demo(services: InServices, request: Request) -> Response:
    surveys = services.surveys.records()
    finished = next(s for s in surveys if s.simulated_truth is not None)
    opened = next((s for s in surveys if s.state == OPEN and _is_ours(s)), None)
    return render(request, "result/demo.html", _context(services, finished, opened))


def _is_ours(survey: SurveyRecord) -> bool:
    """Return whether a survey is the demonstration's own, not one that a visitor made in it."""
    return survey.definition.questions == QUESTIONS


def _context(
    services: Services, finished: SurveyRecord, opened: SurveyRecord | None
) -> dict[str, Any]:
    survey = finished.token
    responses = services.reports.of_survey(survey)
    questions = finished.definition.questions
    rows = [
        [question.labels[report] for question, report in zip(questions, r.reports, strict=True)]
        for r in responses[:SHOWN_PEOPLE]
    ]
    ledgers = (services.ledger.entries(person) for person in services.profiles.persons())
    return {
        "survey": finished,
        "shown": described(finished),
        "opened": opened,
        "view": result_view(finished.definition, services.results.result(finished)),
        "reports": rows,
        "ledger": next(entries for entries in ledgers if entries[0].charge.survey == survey),
        "people": len(responses),
    }
