"""The page on which synthetic claims are made, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.responses import Response

from masquerade.server.db.tables import FINISHED
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
from masquerade.server.surveys.survey_records import SurveyRecord

if TYPE_CHECKING:
    from masquerade.release import Domain

Text = Annotated[str, Query(max_length=40)]
Token = Annotated[str, Query(max_length=64)]


routes = APIRouter(include_in_schema=False, prefix="/release")
Taker = Annotated[Actor, Depends(require("reports:read"))]
Specification = Annotated[SynthesisRequest, Depends()]


def _domain(actor: Actor, survey: str, request: SynthesisRequest) -> Domain:
    from masquerade.results import numeric_domain

    if not survey:
        return request.domain()
    return numeric_domain(actor.services.results.codebook(actor.survey(survey)))


@routes.get("")
def page(actor: Taker, survey: Token = "") -> Response:
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
    return actor.page("surveyor/release.html", context)


@routes.get("/promise")
def promised(actor: Taker, specification: Specification, survey: Token = "") -> Response:
    return JSONResponse(promise(specification, _domain(actor, survey, specification)))


@routes.post("/synthetic")
async def synthetic(
    actor: Taker, specification: Specification, survey: Token = "", level: Text = ""
) -> Response:
    # Read only now that it is known who sends it; see `UPLOADS`.
    data = b"" if survey else await actor.request.body()

    def begun() -> Iterator[bytes]:
        engine = specification.made(_domain(actor, survey, specification))
        if not survey:
            return released(specification, from_file(data), engine)
        reports = actor.services.results.reports(actor.survey(survey))
        return released(specification, from_reports(reports, level or None), engine)

    # What fails up to here has a status of its own; what fails later is a line of the answer.
    lines = await run_in_threadpool(begun)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _asks_for_numbers(record: SurveyRecord) -> bool:
    return any(question.lattice is not None for question in record.survey.questions)
