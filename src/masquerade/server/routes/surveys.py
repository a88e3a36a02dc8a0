"""The surveyors' interface: make, change, open, watch and end surveys."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field
from starlette.responses import Response

from masquerade.errors import ParameterError, StaleVersion, WrongState
from masquerade.server.db.idempotency import body_text
from masquerade.server.http.request_body import StrictBody
from masquerade.server.routes.authorization import Actor, base_address, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.survey_json import (
    draft_json,
    listed_json,
    survey_json,
    verdict,
)
from masquerade.server.services import Services
from masquerade.server.surveys.document import (
    Document,
    changed,
    plan_fields_schema,
    read_document,
)
from masquerade.server.surveys.drafts import Draft
from masquerade.server.surveys.forecast import error_by_cost
from masquerade.server.surveys.lifecycle import progress_json
from masquerade.server.surveys.opening import open_draft
from masquerade.server.surveys.selection_runs import SelectionRequest, run_selection
from masquerade.server.surveys.templates import template_named

Key = Annotated[
    str, Header(pattern=r"^[0-9a-f-]{16,64}$", description="Random; resending is safe with it")
]
Match = Annotated[str | None, Header(description="The ETag of what was read")]


PlanFields = Annotated[
    dict[str, Any],
    Body(description="Fields of the plan to try", json_schema_extra=plan_fields_schema()),
]


class New(StrictBody):
    """The beginning of a new draft: a template, a document, or a copy of another survey."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                "template": {"type": "string", "maxLength": 32},
                "document": {"type": "object"},
                "copy_of": {"type": "string", "maxLength": 32},
            },
        }
    )

    template: Annotated[str, Field(max_length=32)] | None = None
    document: dict[str, Any] | None = None
    copy_of: Annotated[str, Field(max_length=32)] | None = None


class Closing(StrictBody):
    """The days of grace in which people can finish what they have begun."""

    grace_days: Annotated[int, Field(ge=0, le=30)] = 1


routes = APIRouter(prefix="/api/v1/surveys", tags=["surveys"])
Reader = Annotated[Actor, Depends(require("survey:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.post("", status_code=201, summary="Make a draft")
def create(services: InServices, actor: Writer, new: New, idempotency_key: Key) -> Response:
    document = _beginning(services, actor, new)
    # The account is part of the key, so that the keys of two people never meet.
    request = (f"{actor.account.id} {idempotency_key}", body_text(new.model_dump()))
    draft, fresh = services.surveys.drafts.create(document, team=actor.team.id, request=request)
    return _answered(
        draft_json(draft, services.surveys),
        draft,
        201 if fresh else 200,
        Location=f"/api/v1/surveys/{draft.token}",
    )


@routes.get("", summary="A team's surveys and drafts, by token")
def listing(
    services: InServices,
    actor: Reader,
    cursor: Annotated[str, Query(pattern=r"^[0-9a-f]{0,32}$")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    found = services.surveys.listed(team=actor.team.id, after=cursor, limit=limit + 1)
    return {
        "surveys": [listed_json(one) for one in found[:limit]],
        "next_cursor": found[limit - 1].token if len(found) > limit else None,
    }


@routes.get("/{token}", summary="A survey or draft")
def read(services: InServices, request: Request, actor: Reader, token: str) -> Response:
    if services.surveys.drafts.is_draft(token, team=actor.team.id):
        draft = services.surveys.drafts.draft(token, team=actor.team.id)
        return _answered(draft_json(draft, services.surveys), draft)
    survey = actor.survey(token)
    return JSONResponse(survey_json(survey, services.surveys, link=share_link(request, token)))


@routes.patch("/{token}", summary="Change a draft, or the last day and the seats of an open survey")
def change(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    changes: Annotated[dict[str, Any], Body()],
    if_match: Match = None,
) -> Response:
    if services.surveys.drafts.is_draft(token, team=actor.team.id):
        draft = services.surveys.drafts.change(
            token, changes, team=actor.team.id, version=_version(if_match)
        )
        return _answered(draft_json(draft, services.surveys), draft)
    survey = actor.survey(token)
    if set(changes) == {"closes"}:
        services.surveys.extend(survey, changes["closes"])
    elif set(changes) == {"seats"}:
        services.surveys.set_seats(survey, _seats(changes["seats"]))
    else:
        raise WrongState(
            f"this survey is {survey.state}, so what it asks is frozen. One at a time, its "
            'last day or its seats can still change: {"closes": "YYYY-MM-DD"}, or '
            '{"seats": {level: number}}.',
            state=survey.state,
        )
    survey = actor.survey(token)
    return JSONResponse(survey_json(survey, services.surveys, link=share_link(request, token)))


@routes.delete("/{token}", status_code=204, summary="Delete a draft")
def remove(services: InServices, actor: Writer, token: str, if_match: Match = None) -> Response:
    if not services.surveys.drafts.is_draft(token, team=actor.team.id):
        survey = actor.survey(token)
        raise WrongState(
            f"this survey is {survey.state}; only a draft can be deleted. Cancel it instead.",
            state=survey.state,
        )
    version = None if if_match is None else _version(if_match)
    services.surveys.drafts.delete(token, team=actor.team.id, version=version)
    return Response(status_code=204)


@routes.get("/{token}/document", summary="The survey as a file, to keep or to import")
def document(services: InServices, actor: Reader, token: str) -> Response:
    found = _document(services, actor, token)
    # A title is free text, and a header takes only letters that need no quoting.
    name = re.sub(r"[^a-z0-9]+", "-", found.title.lower()).strip("-")[:40] or "survey"
    return Response(
        found.text(),
        media_type="application/json; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.json"'},
    )


@routes.post("/{token}/validate", summary="All that keeps a draft from being opened")
def validate(services: InServices, actor: Reader, token: str) -> dict[str, Any]:
    draft = services.surveys.drafts.draft(token, team=actor.team.id)
    found = verdict(draft.document, services.surveys)
    return {name: found[name] for name in ("valid", "errors")}


@routes.post("/{token}/preview", summary="What a plan would ask, cost and tell")
def preview(services: InServices, actor: Reader, token: str, plan: PlanFields) -> dict[str, Any]:
    document = changed(_document(services, actor, token), {"plan": plan})
    _, figures = services.surveys.drafts.review(document).require()
    return figures


@routes.post("/{token}/curve", summary="How the error of the first question falls with cost")
def curve(services: InServices, actor: Reader, token: str, plan: PlanFields) -> dict[str, Any]:
    document = changed(_document(services, actor, token), {"plan": plan})
    survey, _ = services.surveys.drafts.review(document).require()
    return {"points": error_by_cost(document, survey, caps=services.surveys.drafts.caps)}


@routes.post("/{token}/open", summary="Freeze a draft and let people answer")
def open_(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    if_match: Match = None,
) -> Response:
    version = None if if_match is None else _version(if_match)
    survey = open_draft(
        services.surveys,
        actor.team.id,
        token,
        commission_percent=services.commission_percent,
        version=version,
    )
    return JSONResponse(survey_json(survey, services.surveys, link=share_link(request, token)))


@routes.post("/{token}/close", summary="Let nobody begin it any more")
def close(
    services: InServices,
    request: Request,
    actor: Writer,
    token: str,
    closing: Closing,
) -> Response:
    services.surveys.close(actor.survey(token), grace_days=closing.grace_days)
    return _standing(services, request, actor, token)


@routes.post("/{token}/cancel", summary="End a survey without results")
def cancel(services: InServices, request: Request, actor: Writer, token: str) -> Response:
    services.surveys.cancel(actor.survey(token))
    return _standing(services, request, actor, token)


@routes.post("/{token}/publish", summary="Let everybody see the results")
def publish(services: InServices, request: Request, actor: Writer, token: str) -> Response:
    services.surveys.publish(actor.survey(token))
    return _standing(services, request, actor, token)


@routes.post("/{token}/unpublish", summary="Show the results to the team alone again")
def unpublish(services: InServices, request: Request, actor: Writer, token: str) -> Response:
    services.surveys.unpublish(actor.survey(token))
    return _standing(services, request, actor, token)


@routes.get("/{token}/progress", summary="How many answered, by level")
def progress(services: InServices, actor: Reader, token: str) -> dict[str, Any]:
    survey = actor.survey(token)
    return progress_json(survey, services.surveys.progress(survey))


@routes.post(
    "/{token}/selection-runs", status_code=201, summary="Decide how many of each level to ask"
)
def select(
    services: InServices,
    actor: Writer,
    token: str,
    selection: SelectionRequest,
    idempotency_key: Key,
) -> Response:
    request = (
        f"{actor.account.id} run {idempotency_key}",
        body_text([token, selection.model_dump()]),
    )
    run = run_selection(services.surveys, actor.team.id, token, selection, request=request)
    location = f"/api/v1/surveys/{token}/selection-runs/{run['id']}"
    return JSONResponse(run, 201, headers={"Location": location})


@routes.get("/{token}/selection-runs", summary="All selections of a survey, in their order")
def selections(services: InServices, actor: Reader, token: str) -> dict[str, Any]:
    if not services.surveys.drafts.is_draft(token, team=actor.team.id):
        actor.survey(token)
    return {"runs": services.surveys.runs(token)}


@routes.get("/{token}/selection-runs/{run}", summary="A selection and why it is as it is")
def selection(services: InServices, actor: Reader, token: str, run: str) -> dict[str, Any]:
    if not services.surveys.drafts.is_draft(token, team=actor.team.id):
        actor.survey(token)
    return services.surveys.run(token, run)


def _beginning(services: Services, actor: Actor, new: New) -> Document:
    given = [name for name, value in new if value is not None]
    if len(given) != 1:
        raise ParameterError(
            f"the request names {given or 'nothing'}; give one of template, document, copy_of."
        )
    if new.template is not None:
        return template_named(new.template).document()
    if new.document is not None:
        return read_document(new.document)
    return _document(services, actor, str(new.copy_of))


def _document(services: Services, actor: Actor, token: str) -> Document:
    if services.surveys.drafts.is_draft(token, team=actor.team.id):
        return services.surveys.drafts.draft(token, team=actor.team.id).document
    return services.surveys.document(actor.survey(token))


def _standing(services: Services, request: Request, actor: Actor, token: str) -> Response:
    survey = actor.survey(token)
    return JSONResponse(survey_json(survey, services.surveys, link=share_link(request, token)))


def share_link(request: Request, token: str) -> str:
    """Return the address at which people take part."""
    return f"{base_address(request)}/s/{token}"


def _seats(given: Any) -> dict[str, int] | None:
    if given is not None and not isinstance(given, dict):
        raise ParameterError(f"seats is {given!r}, expected an object of levels and numbers.")
    return given


def _version(if_match: str | None) -> int:
    # A proxy that compresses the answer makes its tag a weak one.
    found = re.fullmatch(r'(?:W/)?"v(\d{1,9})"', (if_match or "").strip())
    if found is None:
        raise StaleVersion(
            "the request does not say what it changes: send the ETag of what you read as If-Match."
        )
    return int(found[1])


def _answered(data: dict[str, Any], draft: Draft, status: int = 200, **headers: str) -> Response:
    return JSONResponse(data, status, headers={"ETag": f'"v{draft.version}"', **headers})
