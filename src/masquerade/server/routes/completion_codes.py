"""The interface and the page of a survey's completion codes."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends
from pydantic import FailFast, Field
from starlette.datastructures import FormData
from starlette.responses import Response

from masquerade.errors import MasqueradeError, WrongState
from masquerade.server.db.tables import TAKING
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.forms import FormBody, form, page
from masquerade.server.surveys.rewards import MOST_AT_ONCE, Codes
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.characters import safe


class CodeList(FormBody):
    """Codes that people showed."""

    codes: Annotated[
        list[Annotated[str, Field(max_length=64, json_schema_extra={"pattern": r"\S"})]],
        Field(max_length=MOST_AT_ONCE, min_length=1),
        FailFast(),
    ]

    @classmethod
    def of_form(cls, fields: FormData) -> Self:
        """Return the codes of a text, with lines, commas or semicolons between them."""
        typed = re.sub("[,;]", "\n", str(fields.get("typed", "")))
        return cls.model_construct(codes=typed.splitlines())


@dataclass(frozen=True, slots=True)
class CodeVerdict:
    """A code, and the outcome of checking it off."""

    code: str
    verdict: str


Verdicts = dict[Literal["codes"], list[CodeVerdict]]
routes = APIRouter(tags=["completion codes"], prefix="/api/v1/surveys/{token}/codes")
pages = APIRouter(include_in_schema=False, prefix="/surveys/{token}")
Writer = Annotated[Actor, Depends(require("survey:write"))]


@page(pages, "/codes")
def codes_page(
    actor: Writer,
    token: str,
    *,
    error: MasqueradeError | None = None,
    shown: FormData | None = None,
    result: Verdicts | None = None,
) -> Response:
    survey = actor.survey(token)
    context = {
        "record": survey,
        "codes": _codes(actor, survey),
        "reward": survey.reward,
        "typed": shown.get("typed", "") if shown and error else "",
        "verdicts": result["codes"] if result else [],
    }
    return actor.page("surveyor/completion_codes.html", context, error=error)


def _codes(actor: Actor, survey: SurveyRecord) -> Codes:
    over = survey.state not in TAKING
    return actor.services.completion_codes.of_survey(survey.token, over=over)


@routes.get("", summary="How many codes; which, once it is over")
def read(actor: Writer, token: str) -> Codes:
    return _codes(actor, actor.survey(token))


@routes.post("/check", summary="Check codes off, each once")
@form(pages, "/codes", then=codes_page, refused=codes_page)
@audited("checked completion codes")
def check(actor: Writer, token: str, shown: CodeList) -> Verdicts:
    survey = actor.survey(token)
    verdicts = actor.services.completion_codes.check(survey.token, survey.reward, shown.codes)
    return {"codes": [CodeVerdict(code, verdict) for code, verdict in verdicts]}


@pages.get("/codes.csv")
def file(actor: Writer, token: str) -> Response:
    survey = actor.survey(token)
    codes = _codes(actor, survey).codes
    if codes is None:
        raise WrongState("the list of codes is there once the survey is closed.")
    text = io.StringIO()
    writer = csv.writer(text)
    # Of those parameters alone that the survey names.
    names = actor.services.surveys.frozen(token)[0].ways.parameters
    writer.writerow(("code", "amount", "currency", "checked", *names))
    currency = "" if survey.reward is None else survey.reward.currency
    writer.writerows(
        (
            *(one.code, one.amount, currency, "yes" if one.checked else "no"),
            *(safe(one.panel.get(name, "")) for name in names),
        )
        for one in codes
    )
    headers = {"Content-Disposition": f'attachment; filename="codes-{token}.csv"'}
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
