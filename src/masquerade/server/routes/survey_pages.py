"""Surveyors' pages: all surveys; a survey while people answer, and at its end."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Query
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import (
    MasqueradeError,
    ParameterError,
    UnderWay,
    WrongState,
)
from masquerade.server.db.idempotency import body_text
from masquerade.server.db.party_tables import UNDER_WAY
from masquerade.server.db.tables import CANCELLED, FINISHED, PUBLISHED, TAKING
from masquerade.server.http.pages import qr_code
from masquerade.server.results.groups import comparable
from masquerade.server.results.view import result_view
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InSettings
from masquerade.server.routes.draft_pages import PAGE, draft_page
from masquerade.server.routes.forms import Text, form
from masquerade.server.routes.publication import file_kinds, published_context, summary
from masquerade.server.routes.surveys import (
    cancel,
    close,
    publish,
    share_link,
    unpublish,
)
from masquerade.server.surveys.drafts import DRAFT
from masquerade.server.surveys.forecast import live_margins
from masquerade.server.surveys.lifecycle import progress_json
from masquerade.server.surveys.selection_runs import (
    MOST_WAVES,
    SelectionRequest,
    next_wave,
    planned_wave,
    timeline,
)
from masquerade.server.surveys.templates import TEMPLATES

_GROUPS = (
    ("Draft", (DRAFT,)),
    ("Live", TAKING),
    ("Closed", (*FINISHED, CANCELLED)),
)

routes = APIRouter(include_in_schema=False)
Reader = Annotated[Actor, Depends(require("survey:read"))]
ResultReader = Annotated[Actor, Depends(require("results:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.get("/surveys")
def home(actor: Reader) -> Response:
    surveys = actor.services.surveys.listed(team=actor.team.id)
    groups = [
        (name, sorted((one for one in surveys if one.state in states), key=_newest_first))
        for name, states in _GROUPS
    ]
    context = {"groups": groups, "any": bool(surveys), "templates": TEMPLATES.values()}
    return actor.page("surveyor/surveys.html", context)


def _newest_first(one: Any) -> tuple[int, str]:
    return -int(one.day.replace("-", "")), one.title


def _weights_refused(actor: Actor, token: str, *, error: MasqueradeError, **_: Any) -> Response:
    return _ended_page(actor, token, error=error)


def _weighted(*, token: str, result: str, **_: Any) -> Response:
    return RedirectResponse(f"/surveys/{token}?weights={result}", 303)


@routes.get(f"{PAGE}/over-time")
def over_time(actor: ResultReader, token: str) -> Response:
    record = actor.survey(token)
    context = {"record": record, "view": actor.services.over_time.view(record)}
    return actor.page("surveyor/over_time.html", context)


@form(routes, f"{PAGE}/weights", then=_weighted, refused=_weights_refused)
@audited("weighted a result")
def weigh(
    actor: ResultReader,
    token: str,
    table: Text = "",
    population: Annotated[str, Form(max_length=12)] = "",
    file: Annotated[bytes, File()] = b"",
) -> str:
    text = table if table.strip() else file.decode("utf-8-sig", errors="replace")
    size = int(population) if population.strip().isdecimal() else None
    return actor.services.weighted.create(actor.survey(token), text, size)


@routes.get(PAGE)
def survey_page(
    settings: InSettings,
    actor: Reader,
    token: str,
    by: Annotated[str, Query(max_length=200)] = "",
    weights: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    if actor.draft(token) is not None:
        if actor.may("survey:write"):
            return RedirectResponse(f"/surveys/{token}/edit", 303)
        return draft_page(settings, actor, token, "review")
    record = actor.survey(token)
    if record.state in TAKING:
        return live_page(actor, token)
    return _ended_page(actor, token, by=by, weights=weights)


def _ended_page(
    actor: Actor,
    token: str,
    *,
    by: str = "",
    weights: str = "",
    error: MasqueradeError | None = None,
    **_: Any,
) -> Response:
    """Return the page of a survey that has ended: its result, in groups or weighted if asked."""
    record = actor.survey(token)
    # Some roles see results only once they are everybody's.
    visible = actor.may("results:read") or record.state == PUBLISHED
    view, waiting, adding = None, "", False
    working: UnderWay | None = None
    groups, weighted, refused = None, None, error
    if record.state in FINISHED and visible:
        try:
            actor.services.results.require(record)
            view = result_view(record.survey, actor.services.results.result(record))
        except UnderWay as why:
            working = why
        except WrongState as why:  # two parties have not added up, or cannot
            waiting = str(why)
            adding = _is_adding(actor, token)
    if view and (by or weights) and actor.may("results:read"):
        try:
            if weights:
                weighted = actor.services.weighted.view(record, weights)
                view = result_view(record.survey, weighted.result)
            else:
                groups = actor.services.groups.view(record, by)
        except UnderWay as why:
            working, view = why, None
        except MasqueradeError as why:  # the page says it, above the results of everybody
            refused = why
    context = {
        "groups": groups,
        "weighted": weighted,
        "repeated": view is not None and len(actor.services.over_time.chain(record)) > 1,
        "by": by,
        "files": file_kinds(),
        "comparable": comparable(record.survey) if view else [],
        "record": record,
        "summary": summary(record),
        "view": view,
        "waiting": waiting,
        "adding": adding,
        "working": working,
        **published_context(actor.request, token),
    }
    page = actor.page("surveyor/survey.html", context, error=refused)
    if working is not None:
        page.headers["Refresh"] = str(working.seconds)
    return page


def _is_adding(actor: Actor, token: str) -> bool:
    """Return whether two parties are still adding up a closed survey, or wait to."""
    try:
        return actor.services.aggregation.progress(token)["state"] in UNDER_WAY
    except WrongState:  # it has no task
        return False


#: Days that the page of an open survey shows.
_DAYS = 14


def live_page(
    actor: Actor, token: str, *, error: MasqueradeError | None = None, **_: Any
) -> Response:
    """Return the page of a survey that is open or closing, with why a change was refused."""
    record, lifecycle = actor.survey(token), actor.services.surveys
    if error and record.state not in TAKING:
        raise error
    link = share_link(actor, token)
    progress = progress_json(record, lifecycle.progress(record))
    origins = lifecycle.frozen(token)[0].ways.origins
    embed_code = f'<iframe src="{link}" title="Survey" width="100%" height="700"></iframe>'
    plan, runs = lifecycle.document(record).plan, actor.services.selection_runs.runs(token)
    target = sum(record.quotas.values()) if record.quotas else plan.people
    context: dict[str, object] = {
        "record": record,
        "expected": live_margins(record.survey, (progress["responses"], target or 0)),
        "link": link,
        "qr": qr_code(link),
        "origins": origins,
        "embed_code": embed_code if origins else "",
        "progress": progress,
        "days": lifecycle.days(token, most=_DAYS),
        "target": target,
        "summary": summary(record),
        "today": actor.services.drafts.today,
        "plan": plan,
        "top_decided": actor.services.pair_plans.decided(token),
        "waves": timeline(runs, responses=progress["responses"]),
        "planned": planned_wave(runs),
        "next_wave": next_wave(runs),
        "most_waves": MOST_WAVES,
        # One for each form of the page, so that a second click does nothing.
        "keys": [secrets.token_hex(16) for _ in range(2)],
    }
    return actor.page("surveyor/live.html", context, error=error, status=422 if error else 200)


# What these do for programs, they do for the page's buttons too.
form(routes, f"{PAGE}/close", then=PAGE, refused=live_page)(close)
form(routes, f"{PAGE}/cancel", then=PAGE, refused=live_page)(cancel)
form(routes, f"{PAGE}/publish", then=PAGE)(publish)
form(routes, f"{PAGE}/unpublish", then=PAGE)(unpublish)


@form(routes, f"{PAGE}/extend", then=PAGE, refused=live_page)
@audited("gave a survey more time")
def extend(actor: Writer, token: str, closes: Text = "") -> None:
    actor.services.surveys.extend(actor.survey(token), closes or None)


@form(routes, f"{PAGE}/seats", then=PAGE, refused=live_page)
@audited("changed how many people a survey takes")
def quota(
    actor: Writer,
    token: str,
    level: Annotated[list[str], Form()],
    places: Annotated[list[str], Form()],
    limit: Annotated[bool, Form()] = True,
) -> None:
    record, numbers = actor.survey(token), {}
    for name, text in zip(level, places, strict=False) if limit else ():
        if not (text.isascii() and text.isdigit()):
            raise ParameterError(f"level {name!r} has the quota {text!r}, expected a number.")
        numbers[name] = int(text)
    actor.services.surveys.set_quotas(record, numbers if limit else None)


@form(routes, f"{PAGE}/waves", then=f"{PAGE}#waves", refused=live_page)
@audited("ran a selection")
def waves(
    actor: Writer,
    token: str,
    key: Annotated[str, Form(pattern=r"^[0-9a-f]{32}$")],
    percent: Annotated[int, Form(ge=1, le=100)],
    alpha: Annotated[float, Form(ge=0, le=1)] = 0.0,
    budget: Annotated[int | None, Form(ge=0, le=10**9)] = None,
    take: Annotated[bool, Form()] = False,
) -> None:
    runs = actor.services.selection_runs
    wave = next_wave(runs.runs(actor.survey(token).token))
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
    # What the form said, not the wave: a second click comes when that is already the next one.
    request = (f"{actor.account.id} {key}", body_text([token, budget, alpha, percent, take]))
    runs.decide(actor.team.id, token, selection, request=request)
