"""The first page of a server; that of the demonstration, whose visitors own its made-up surveys."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.server.db.tables import OPEN
from masquerade.server.demo import QUESTIONS, SHOWN_PEOPLE
from masquerade.server.http.pages import render
from masquerade.server.results.view import result_view
from masquerade.server.routes.authorization import actor_of
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.survey_views import summary

routes = APIRouter(include_in_schema=False)
demo_routes = APIRouter(include_in_schema=False)


@routes.get("/")
def front(request: Request) -> Response:
    if actor_of(request) is None:
        return render(request, "surveyor/welcome.html")
    return RedirectResponse("/surveys", 303)


@demo_routes.get("/")
def demo(services: InServices, request: Request) -> Response:
    surveys = services.surveys.records()
    finished = next(one for one in surveys if one.simulated_truth is not None)
    survey, definition = finished.token, finished.survey
    responses = services.reports.of_survey(survey)
    ledgers = (services.ledger.entries(person) for person in services.profiles.persons())
    context = {
        "record": finished,
        "summary": summary(finished),
        # The demonstration's own, not one that a visitor made in it.
        "opened": next(
            (s for s in surveys if s.state == OPEN and s.survey.questions == QUESTIONS), None
        ),
        "view": result_view(definition, services.results.result(finished)),
        "reports": [
            [
                question.labels[report]
                for question, report in zip(definition.questions, one.reports, strict=True)
            ]
            for one in responses[:SHOWN_PEOPLE]
        ],
        "ledger": next(entries for entries in ledgers if entries[0].charge.survey == survey),
        "people": len(responses),
    }
    return render(request, "result/demo.html", context)
