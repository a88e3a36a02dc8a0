"""The interface and the page of a survey's completion codes."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from pydantic import FailFast, Field
from starlette.responses import Response

from masquerade.errors import ParameterError, WrongState
from masquerade.server.db.tables import TAKING
from masquerade.server.http.pages import render
from masquerade.server.http.problem import status_of
from masquerade.server.http.request_body import StrictBody
from masquerade.server.payments.completion_codes import MOST_AT_ONCE, Codes
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.services import Services
from masquerade.server.surveys.frozen_surveys import SurveyRecord


class Typed(StrictBody):
    """Codes that people showed."""

    codes: Annotated[
        list[Annotated[str, Field(max_length=64, json_schema_extra={"pattern": r"\S"})]],
        Field(max_length=MOST_AT_ONCE, min_length=1),
        FailFast(),
    ]


routes = APIRouter(tags=["completion codes"])
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.get("/api/v1/surveys/{token}/codes", summary="How many codes; which, once it is over")
def read(services: InServices, actor: Writer, token: str) -> dict[str, Any]:
    found = _codes(services, actor.survey(token))
    listed = found.codes
    return {
        "given": found.given,
        "checked": found.checked,
        "codes": None
        if listed is None
        else [{"code": code, "checked": done} for code, done in listed],
    }


@routes.post("/api/v1/surveys/{token}/codes/check", summary="Check codes off, each once")
def check(services: InServices, actor: Writer, token: str, typed: Typed) -> dict[str, Any]:
    found = _check(services, actor.survey(token), typed.codes)
    return {"codes": [{"code": code, "verdict": verdict} for code, verdict in found]}


@routes.get("/surveys/{token}/codes", include_in_schema=False)
def show(services: InServices, request: Request, actor: Writer, token: str) -> Response:
    return _page(services, request, actor, token)


@routes.post("/surveys/{token}/codes", include_in_schema=False)
def check_off(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    typed: Annotated[str, Form(max_length=200_000)] = "",
) -> Response:
    survey = actor.survey(token)
    try:
        found = _check(services, survey, typed.replace(",", "\n").replace(";", "\n").splitlines())
    except (ParameterError, WrongState) as error:
        return _page(services, request, actor, token, error=error, typed=typed)
    return _page(services, request, actor, token, verdicts=found)


@routes.get("/surveys/{token}/codes.csv", include_in_schema=False)
def file(services: InServices, actor: Writer, token: str) -> Response:
    found = _codes(services, actor.survey(token))
    if found.codes is None:
        raise WrongState("the list of codes is there once the survey is closed.")
    headers = {"Content-Disposition": f'attachment; filename="codes-{token}.csv"'}
    return Response(_csv(found), media_type="text/csv; charset=utf-8", headers=headers)


def _page(
    services: Services,
    request: Request,
    actor: Actor,
    token: str,
    *,
    error: ParameterError | WrongState | None = None,
    typed: str = "",
    verdicts: list[tuple[str, str]] | None = None,
) -> Response:
    survey = actor.survey(token)
    context = {
        "survey": survey,
        "codes": _codes(services, survey),
        "gives": survey.reward is not None and survey.reward.kind == "codes",
        "error": error,
        "typed": typed,
        "verdicts": verdicts or [],
    }
    status = status_of(error)[0] if error else 200
    return render(request, "surveyor/completion_codes.html", context, status=status)


def _csv(codes: Codes) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(("code", "checked"))
    writer.writerows((code, "yes" if done else "no") for code, done in codes.codes or [])
    return file.getvalue()


def _codes(services: Services, survey: SurveyRecord) -> Codes:
    return services.completion_codes.of_survey(survey.token, over=survey.state not in TAKING)


def _check(services: Services, survey: SurveyRecord, typed: list[str]) -> list[tuple[str, str]]:
    return services.completion_codes.check(survey.token, survey.reward, typed)
