"""Addresses of results and exports."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from masquerade.errors import NotFound
from masquerade.server.db.tables import PUBLISHED
from masquerade.server.http.problem import PROBLEM_ANSWER, file_answer
from masquerade.server.results.relations import relation_table
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import SOMETIMES, Actor, admit, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.surveys.survey_records import SurveyRecord

_ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {
        "description": "it is being worked out; ask again after `Retry-After` seconds",
        "content": PROBLEM_ANSWER["content"],
    },
    401: {"description": "nobody is signed in"},
    403: {"description": "the role or token lacks the right"},
    404: {"description": "no such survey of this team"},
    409: {"description": "the survey is not closed"},
}

_CSV = "text/csv; charset=utf-8"
_NOTEBOOK = "application/x-ipynb+json"
# Of `masquerade.results.REPORT_FORMATS`, which is slow to load.
_REPORT_TYPES = ("text/csv", "application/vnd.apache.parquet", "application/x-ndjson")

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SAV = "application/x-spss-sav"
_PICTURES = {"svg": "image/svg+xml", "png": "image/png"}

Token = Annotated[str, Path(max_length=64)]
Kind = Literal["csv", "parquet", "jsonl"]
Picture = Literal["svg", "png"]


# Results of a published survey are everybody's; else they need this right.
_READ = "results:read"
routes = APIRouter(prefix="/api/v1/surveys/{token}", tags=["results"], responses=_ANSWERS)
Reader = Annotated[Actor, Depends(require(_READ))]
#: Ids of questions.
Chosen = Annotated[str, Query(max_length=200)]
Predictors = Annotated[list[str], Query(max_length=100)]
Taker = Annotated[Actor, Depends(require("reports:read"))]


#: One of the survey's languages, for the texts of the result; the first where none is named.
SpokenIn = Annotated[str | None, Query(max_length=20)]


async def _visible(
    services: InServices, request: Request, token: Token, language: SpokenIn = None
) -> SurveyRecord:
    try:
        survey = await run_in_threadpool(services.surveys.record, token)
    except NotFound:
        await admit(request, _READ)  # a stranger is told to sign in, whether it is there or not
        raise
    if survey.state != PUBLISHED:
        actor = await admit(request, _READ)
        survey = await run_in_threadpool(actor.survey, token)
    return await run_in_threadpool(survey.in_language, language)


def _ready(
    services: InServices, survey: Annotated[SurveyRecord, Depends(_visible)]
) -> SurveyRecord:
    services.results.require(survey)
    return survey


#: A survey whose result can be given now.
Visible = Annotated[SurveyRecord, Depends(_ready)]


@routes.get("/results", openapi_extra=SOMETIMES)
def read_results(services: InServices, survey: Visible) -> Response:
    """Return the result, always the same bytes."""
    return Response(services.results.result_text(survey), media_type="application/json")


@routes.get("/results.csv", openapi_extra=SOMETIMES, **file_answer("text/csv"))
def results_csv(services: InServices, survey: Visible) -> Response:
    """Return the numbers of the result as one tidy table."""
    # with a mark, by which spreadsheet programs know UTF-8
    text = "\ufeff" + services.results.table(survey)
    return _file(text, _CSV, f"results-{survey.token}.csv")


@routes.get("/results.xlsx", openapi_extra=SOMETIMES, **file_answer(_XLSX))
def results_workbook(services: InServices, survey: Visible) -> Response:
    """Return the result as a workbook: findings, numbers, codebook."""
    content = services.results.workbook(survey, crossed=False)
    return _file(content, _XLSX, f"results-{survey.token}.xlsx")


@routes.get("/workbook.xlsx", **file_answer(_XLSX))
def workbook(actor: Reader, token: Token) -> Response:
    """Return the result as a workbook that also has all tables of two questions."""
    survey = actor.survey(token)
    actor.services.results.require(survey)
    content = actor.services.results.workbook(survey, crossed=True)
    return _file(content, _XLSX, f"workbook-{token}.xlsx")


@routes.get("/results.sav", openapi_extra=SOMETIMES, **file_answer(_SAV))
def results_sav(services: InServices, survey: Visible) -> Response:
    """Return the numbers of the result for SPSS."""
    content = services.results.statistics_file(survey)
    return _file(content, _SAV, f"results-{survey.token}.sav")


@routes.get("/report.pdf", openapi_extra=SOMETIMES, **file_answer("application/pdf"))
def report(services: InServices, survey: Visible) -> Response:
    """Return the result on paper."""
    content = services.results.paper(survey)
    return _file(content, "application/pdf", f"report-{survey.token}.pdf")


@routes.get("/chart.{picture}", openapi_extra=SOMETIMES, **file_answer(*_PICTURES.values()))
def chart(services: InServices, survey: Visible, picture: Picture, question: Chosen) -> Response:
    """Return the chart of one question as a picture."""
    content = services.results.chart(survey, question, picture)
    place = [one.id for one in survey.survey.questions].index(question) + 1
    return _file(content, _PICTURES[picture], f"chart-{survey.token}-{place}.{picture}")


@routes.get("/cross-table")
def cross(actor: Reader, token: Token, first: str, second: str) -> Response:
    """Return how the answers to two questions go together."""
    text = actor.services.results.cross_table(actor.survey(token), first, second)
    return Response(text, media_type="application/json")


@routes.get("/groups")
def groups(actor: Reader, token: Token, by: Chosen) -> Response:
    """Return every question in the groups of one question's answers, with their differences."""
    survey = actor.survey(token)
    text = actor.services.groups.text(survey, by)
    return Response(text, media_type="application/json")


@routes.get("/weighted")
def weighted(actor: Reader, token: Token, weights: Chosen) -> Response:
    """Return the result by a weighting that was given on its page, with the weighting."""
    text = actor.services.weighted.text(actor.survey(token), weights)
    return Response(text, media_type="application/json")


@routes.get("/relations")
def relations(actor: Reader, token: Token, outcome: Chosen, predictor: Predictors) -> Response:
    """Return the regression of one question on others, with the level as a term."""
    text = actor.services.relations.text(actor.survey(token), outcome, predictor)
    return Response(text, media_type="application/json")


@routes.get("/relations.csv", **file_answer("text/csv"))
def relations_csv(actor: Reader, token: Token, outcome: Chosen, predictor: Predictors) -> Response:
    """Return the terms of a regression as one table."""
    survey = actor.survey(token)
    found = actor.services.relations.found(survey, outcome, predictor)
    return _file(relation_table(found), _CSV, f"relations-{survey.token}.csv")


@routes.get("/reports.{kind}", **file_answer(*_REPORT_TYPES))
@audited("took reports away")
def reports(actor: Taker, token: Token, kind: Kind) -> Response:
    """Return the masked reports, one row a person and question."""
    from masquerade.results import REPORT_FORMATS

    survey = actor.survey(token)
    return StreamingResponse(
        actor.services.results.file(survey, kind),
        media_type=REPORT_FORMATS[kind],
        headers=_named(f"reports-{survey.token}.{kind}"),
    )


@routes.get("/persons.sav", **file_answer(_SAV))
@audited("took reports away")
def persons(actor: Taker, token: Token) -> Response:
    """Return the masked reports for SPSS, one row a person."""
    content = actor.services.results.reports_file(actor.survey(token))
    return _file(content, _SAV, f"reports-{token}.sav")


@routes.get("/codebook")
def codebook(actor: Taker, token: Token) -> Response:
    """Return the codebook of the reports: questions, codes and mechanisms."""
    survey = actor.survey(token)
    text = json.dumps(actor.services.results.codebook_json(survey), ensure_ascii=False, indent=1)
    return _file(text, "application/json", f"codebook-{survey.token}.json")


@routes.get("/notebook", **file_answer(_NOTEBOOK))
def notebook(actor: Taker, token: Token) -> Response:
    """Return a notebook that computes the result from the reports."""
    survey = actor.survey(token)
    text = json.dumps(actor.services.results.notebook(survey), ensure_ascii=False, indent=1)
    return _file(text, _NOTEBOOK, f"survey-{survey.token}.ipynb")


def _file(text: str | bytes, media_type: str, name: str) -> Response:
    return Response(text, media_type=media_type, headers=_named(name))


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
