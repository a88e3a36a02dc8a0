"""The page on which synthetic claims are made, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.responses import Response

from masquerade.server.http.pages import render
from masquerade.server.http.security import MOST_UPLOADED
from masquerade.server.results.cache import Findings
from masquerade.server.results.synthesis import (
    ENGINES,
    Wish,
    from_file,
    from_reports,
    promise,
    released,
)
from masquerade.server.routes.authorization import Actor, Guard
from masquerade.server.store import Store, Survey
from masquerade.server.surveys.frozen_surveys import FINISHED
from masquerade.surveys import Number, Rating

if TYPE_CHECKING:
    from masquerade.release import Domain

Text = Annotated[str, Query(max_length=40)]
Token = Annotated[str, Query(max_length=64)]
Count = Annotated[int, Query(ge=1, le=1000)]


def _wish(
    engine: Text = "hist", epsilon: Text = "1", low: Text = "", high: Text = "", step: Text = "",
    unit: Text = "claim", cap: Count = 10, samples: Count = 30, delta: Text = "",
    bandwidth: Text = "",
) -> Wish:  # fmt: skip
    return Wish(
        engine, epsilon.strip(), low.strip(), high.strip(), step.strip(), unit, cap, samples,
        delta.strip(), bandwidth.strip(),
    )  # fmt: skip


def synthesis_pages(store: Store, guard: Guard) -> APIRouter:
    """Return the page of releases. Whoever uses it may see single reports anyway.

    A file of claims is in memory while its release is made, and nowhere else.
    """
    routes = APIRouter(include_in_schema=False, prefix="/release")
    results = Findings(store)
    taker = Depends(guard.right("reports:read"))
    wished = Depends(_wish)

    def of_survey(survey: Survey) -> Domain:
        from masquerade.results import numeric_domain

        return numeric_domain(results.codebook(survey))

    @routes.get("")
    def page(request: Request, survey: Token = "", actor: Actor = taker) -> Response:
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
        return render(request, "release.html", context)

    @routes.get("/promise")
    def promised(survey: Token = "", wish: Wish = wished, actor: Actor = taker) -> Response:
        domain = of_survey(actor.survey(survey)) if survey else wish.domain()
        return JSONResponse(promise(wish, domain))

    @routes.post("/synthetic")
    async def synthetic(
        request: Request,
        survey: Token = "",
        level: Text = "",
        wish: Wish = wished,
        actor: Actor = taker,
    ) -> Response:
        data = b"" if survey else await request.body()

        def begun() -> Iterator[bytes]:
            if survey:
                held = actor.survey(survey)
                engine = wish.made(of_survey(held))
                return released(wish, from_reports(results.reports(held), level or None), engine)
            engine = wish.made(wish.domain())
            return released(wish, from_file(data), engine)

        lines = await run_in_threadpool(begun)
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return routes


def _asks_for_numbers(survey: Survey) -> bool:
    return any(isinstance(question, Number | Rating) for question in survey.definition.questions)
