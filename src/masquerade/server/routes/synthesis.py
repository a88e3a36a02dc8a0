"""The page on which synthetic claims are made, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.responses import Response

from masquerade.server.db.tables import FINISHED
from masquerade.server.http.pages import render
from masquerade.server.http.security import MOST_UPLOADED
from masquerade.server.results.synthesis import (
    ENGINES,
    SynthesisRequest,
    from_file,
    from_reports,
    promise,
    released,
)
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.services import Services
from masquerade.server.surveys.frozen_surveys import SurveyRecord
from masquerade.surveys import Number, Rating

if TYPE_CHECKING:
    from masquerade.release import Domain

Text = Annotated[str, Query(max_length=40)]
Token = Annotated[str, Query(max_length=64)]
Count = Annotated[int, Query(ge=1, le=1000)]


def _wish(
    engine: Text = "hist",
    epsilon: Text = "1",
    low: Text = "",
    high: Text = "",
    step: Text = "",
    unit: Text = "claim",
    cap: Count = 10,
    samples: Count = 30,
    delta: Text = "",
    bandwidth: Text = "",
) -> SynthesisRequest:
    return SynthesisRequest(
        engine,
        epsilon.strip(),
        low.strip(),
        high.strip(),
        step.strip(),
        unit,
        cap,
        samples,
        delta.strip(),
        bandwidth.strip(),
    )


routes = APIRouter(include_in_schema=False, prefix="/release")
Taker = Annotated[Actor, Depends(require("reports:read"))]
Specification = Annotated[SynthesisRequest, Depends(_wish)]


def _of_survey(services: Services, survey: SurveyRecord) -> Domain:
    from masquerade.results import numeric_domain

    return numeric_domain(services.results.codebook(survey))


@routes.get("")
def page(request: Request, actor: Taker, survey: Token = "") -> Response:
    numeric = [
        one
        for one in actor.surveys()
        if one.state in FINISHED and one.responses and _asks_for_numbers(one)
    ]
    chosen = next((one.token for one in numeric if one.token == survey), None)
    context = {
        "surveys": numeric,
        "chosen": chosen,
        "engines": ENGINES,
        "largest": MOST_UPLOADED // 2**20,
    }
    return render(request, "surveyor/release.html", context)


@routes.get("/promise")
def promised(
    services: InServices, actor: Taker, specification: Specification, survey: Token = ""
) -> Response:
    domain = _of_survey(services, actor.survey(survey)) if survey else specification.domain()
    return JSONResponse(promise(specification, domain))


@routes.post("/synthetic")
async def synthetic(
    services: InServices,
    request: Request,
    actor: Taker,
    specification: Specification,
    survey: Token = "",
    level: Text = "",
) -> Response:
    # Read only now that it is known who sends it; see `UPLOADS`.
    data = b"" if survey else await request.body()

    def begun() -> Iterator[bytes]:
        if survey:
            held = actor.survey(survey)
            engine = specification.made(_of_survey(services, held))
            return released(
                specification, from_reports(services.results.reports(held), level or None), engine
            )
        engine = specification.made(specification.domain())
        return released(specification, from_file(data), engine)

    # What fails up to here has a status of its own; what fails later is a line of the answer.
    lines = await run_in_threadpool(begun)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _asks_for_numbers(survey: SurveyRecord) -> bool:
    return any(isinstance(question, Number | Rating) for question in survey.definition.questions)
