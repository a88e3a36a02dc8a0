"""The interface and the page of a survey's completion codes."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from pydantic import FailFast, Field
from starlette.responses import Response

from masquerade.errors import ParameterError, WrongState
from masquerade.server.http.pages import render
from masquerade.server.http.problem import status_of
from masquerade.server.http.request_body import StrictBody
from masquerade.server.payments.completion_codes import MOST_AT_ONCE, Codes
from masquerade.server.routes.authorization import Actor, Guard
from masquerade.server.store import Store


class Typed(StrictBody):
    """Codes that people showed."""

    codes: Annotated[
        list[Annotated[str, Field(max_length=64, json_schema_extra={"pattern": r"\S"})]],
        Field(max_length=MOST_AT_ONCE, min_length=1),
        FailFast(),
    ]


def code_routes(store: Store, guard: Guard) -> APIRouter:
    """Return the routes by which a surveyor checks completion codes off."""
    routes = APIRouter(tags=["completion codes"])
    codes = store.desk.codes
    writer = Depends(guard.right("survey:write"))

    @routes.get("/api/v1/surveys/{token}/codes", summary="How many codes; which, once it is over")
    def read(token: str, actor: Actor = writer) -> dict[str, Any]:
        found = codes.of_survey(actor.survey(token))
        listed = found.codes
        return {
            "given": found.given,
            "checked": found.checked,
            "codes": None
            if listed is None
            else [{"code": code, "checked": done} for code, done in listed],
        }

    @routes.post("/api/v1/surveys/{token}/codes/check", summary="Check codes off, each once")
    def check(token: str, typed: Typed, actor: Actor = writer) -> dict[str, Any]:
        found = codes.check(actor.survey(token), typed.codes)
        return {"codes": [{"code": code, "verdict": verdict} for code, verdict in found]}

    @routes.get("/surveys/{token}/codes", include_in_schema=False)
    def show(request: Request, token: str, actor: Actor = writer) -> Response:
        return page(request, token, actor)

    @routes.post("/surveys/{token}/codes", include_in_schema=False)
    def check_off(
        request: Request,
        token: str,
        typed: Annotated[str, Form(max_length=200_000)] = "",
        actor: Actor = writer,
    ) -> Response:
        survey = actor.survey(token)
        try:
            found = codes.check(survey, typed.replace(",", "\n").replace(";", "\n").splitlines())
        except (ParameterError, WrongState) as error:
            return page(request, token, actor, error=error, typed=typed)
        return page(request, token, actor, verdicts=found)

    @routes.get("/surveys/{token}/codes.csv", include_in_schema=False)
    def file(token: str, actor: Actor = writer) -> Response:
        found = codes.of_survey(actor.survey(token))
        if found.codes is None:
            raise WrongState("the list of codes is there once the survey is closed.")
        headers = {"Content-Disposition": f'attachment; filename="codes-{token}.csv"'}
        return Response(_csv(found), media_type="text/csv; charset=utf-8", headers=headers)

    def page(
        request: Request,
        token: str,
        actor: Actor,
        *,
        error: ParameterError | WrongState | None = None,
        typed: str = "",
        verdicts: list[tuple[str, str]] | None = None,
    ) -> Response:
        survey = actor.survey(token)
        context = {
            "survey": survey,
            "codes": codes.of_survey(survey),
            "gives": survey.reward is not None and survey.reward.kind == "codes",
            "error": error,
            "typed": typed,
            "verdicts": verdicts or [],
        }
        status = status_of(error)[0] if error else 200
        return render(request, "completion_codes.html", context, status=status)

    return routes


def _csv(codes: Codes) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(("code", "checked"))
    writer.writerows((code, "yes" if done else "no") for code, done in codes.codes or [])
    return file.getvalue()
