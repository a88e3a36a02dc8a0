"""The page of a survey that people answer: how far it is, waves, more time and places, the end."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import MasqueradeError, ParameterError
from masquerade.server.db.idempotency import body_text
from masquerade.server.db.tables import TAKING
from masquerade.server.http.pages import qr_code, render
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.survey_summary import described
from masquerade.server.routes.surveys import share_link
from masquerade.server.services import Services
from masquerade.server.surveys.frozen_surveys import SurveyRecord
from masquerade.server.surveys.lifecycle import progress_json
from masquerade.server.surveys.selection_runs import SelectionRequest, run_selection
from masquerade.server.surveys.waves import MOST_WAVES, next_number, planned, timeline

routes = APIRouter(include_in_schema=False, prefix="/surveys/{token}")
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.post("/close")
def close(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    grace_days: Annotated[int, Form()] = 0,
) -> Response:
    return _done(
        services,
        request,
        actor,
        token,
        lambda s: services.surveys.close(s, grace_days=grace_days),
    )


@routes.post("/extend")
def extend(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    closes: Annotated[str, Form()] = "",
) -> Response:
    return _done(
        services,
        request,
        actor,
        token,
        lambda s: services.surveys.extend(s, closes or None),
    )


@routes.post("/seats")
def seats(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    level: Annotated[list[str], Form()],
    places: Annotated[list[str], Form()],
    limit: Annotated[bool, Form()] = True,
) -> Response:
    def work(survey: SurveyRecord) -> None:
        services.surveys.set_seats(survey, _numbers(level, places) if limit else None)

    return _done(services, request, actor, token, work)


@routes.post("/waves")
def waves(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    key: Annotated[str, Form(pattern=r"^[0-9a-f]{32}$")],
    percent: Annotated[int, Form(ge=1, le=100)],
    alpha: Annotated[float, Form(ge=0, le=1)] = 0.0,
    budget: Annotated[int | None, Form(ge=0, le=10**9)] = None,
    take: Annotated[bool, Form()] = False,
) -> Response:
    def work(survey: SurveyRecord) -> None:
        wave = next_number(services.surveys.runs(token))
        if wave > MOST_WAVES:
            raise ParameterError(
                f"wave is {wave}, expected 1 to {MOST_WAVES}. Set how many can take part."
            )
        selection = SelectionRequest(
            budget=budget,
            alpha=alpha,
            policy="precision",
            wave=wave,
            response_rate=percent / 100,
            apply=take,
        )
        asked = body_text([token, budget, alpha, percent, take])
        run_selection(
            services.surveys,
            actor.team.id,
            token,
            selection,
            request=(f"{actor.account.id} {key}", asked),
        )

    return _done(services, request, actor, token, work, at="#waves")


@routes.post("/cancel")
def cancel(services: InServices, request: Request, actor: Writer, token: str) -> Response:
    return _done(services, request, actor, token, services.surveys.cancel)


def _done(
    services: Services,
    request: Request,
    actor: Actor,
    token: str,
    work: Callable[[SurveyRecord], object],
    *,
    at: str = "",
) -> Response:
    survey = actor.survey(token)
    try:
        work(survey)
    except MasqueradeError as error:
        if survey.state not in TAKING:
            raise
        return live_page(services, request, survey, refused=error)
    return RedirectResponse(f"/surveys/{token}{at}", 303)


def live_page(
    services: Services,
    request: Request,
    survey: SurveyRecord,
    *,
    refused: MasqueradeError | None = None,
) -> Response:
    """Return the page of a survey that is open or closing."""
    lifecycle = services.surveys
    link = share_link(request, survey.token)
    progress = progress_json(survey, lifecycle.progress(survey))
    plan, runs = lifecycle.document(survey).plan, lifecycle.runs(survey.token)
    context: dict[str, Any] = {
        "survey": survey,
        "link": link,
        "qr": qr_code(link),
        "progress": progress,
        "target": sum(survey.seats.values()) if survey.seats else plan.people,
        "shown": described(survey),
        "today": lifecycle.drafts.today,
        "plan": plan,
        "waves": timeline(runs, responses=progress["responses"]),
        "planned": planned(runs),
        "next_wave": next_number(runs),
        "most_waves": MOST_WAVES,
        # One for each form of the page, so that a second click does nothing.
        "keys": [secrets.token_hex(16) for _ in range(2)],
        "refused": refused,
    }
    return render(request, "surveyor/live.html", context, status=422 if refused else 200)


def _numbers(levels: list[str], places: list[str]) -> dict[str, int]:
    found = {}
    for name, text in zip(levels, places, strict=False):
        if not (text.isascii() and text.isdigit()):
            raise ParameterError(f"level {name!r} has {text!r} places, expected a number.")
        found[name] = int(text)
    return found
