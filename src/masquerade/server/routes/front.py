"""The first page of a server, and the demonstration, open to everybody as its owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import RedirectResponse
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import Response

from masquerade.server.db.tables import OPEN
from masquerade.server.demo import QUESTIONS, SHOWN_PEOPLE, SecondSurvey
from masquerade.server.http.pages import LANGUAGE_COOKIE, render
from masquerade.server.results.view import result_view
from masquerade.server.routes.authorization import actor_of
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.publication import summary

routes = APIRouter(include_in_schema=False)
demo_routes = APIRouter(include_in_schema=False)


@routes.get("/")
def front(request: Request) -> Response:
    if actor_of(request) is None:
        return render(request, "surveyor/welcome.html")
    return RedirectResponse("/surveys", 303)


@routes.get("/language")
@demo_routes.get("/language")
def language(to: Annotated[str, Query(pattern=r"^[a-z]{2}$")], next: str = "/") -> Response:
    """Keep in which language somebody reads surveyors' pages."""
    here = next.startswith("/") and not next.startswith(("//", "/\\"))
    answer = RedirectResponse(next if here else "/", 303)
    year = 365 * 24 * 3600
    answer.set_cookie(LANGUAGE_COOKIE, to, max_age=year, httponly=True, samesite="lax")
    return answer


@demo_routes.get("/")
def demo(services: InServices, request: Request) -> Response:
    surveys = services.surveys.records()
    made_up = [one for one in surveys if one.simulated_truth is not None]
    finished = next(one for one in made_up if one.survey.two_parties is None)
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
        **_second(request),
    }
    response = render(request, "result/demo.html", context)
    second = _second_survey(request)
    if second is not None:
        # Only now, so that nobody waits for the second party to see the first page.
        response.background = BackgroundTask(second.begin)
    return response


@demo_routes.get("/second-party")
def second_party(request: Request) -> Mapping[str, object]:
    """Return how far the survey between two parties is, for the page that waits for it."""
    second = _second_survey(request)
    if second is None:
        raise HTTPException(404)
    return second.stage()


def attend(app: FastAPI, second: SecondSurvey) -> None:
    """Let an application show a second survey, and end it before the application's services."""
    app.state.second = second
    before: Callable[[Any], Any] = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: Any) -> AsyncIterator[Any]:
        async with before(served) as state:
            try:
                yield state
            finally:
                await asyncio.to_thread(second.end)

    app.router.lifespan_context = lifespan


def _second_survey(request: Request) -> SecondSurvey | None:
    return getattr(request.app.state, "second", None)


def _second(request: Request) -> Mapping[str, object]:
    """Return the page's values for the survey between two parties."""
    second = _second_survey(request)
    record = None if second is None else second.record()
    services = request.app.state.services
    return {
        "second": record,
        "second_stage": None if second is None else second.stage(),
        "second_helper": None if second is None else second.helper,
        "second_summary": None if record is None else summary(record),
        "second_view": None
        if record is None
        else result_view(record.survey, services.results.result(record)),
    }
