"""The surveyors' interface: make, change, open, watch and end surveys."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field
from starlette.responses import Response

from masquerade.errors import InvalidDocument, ParameterError, StaleVersion, WrongState
from masquerade.server.db.idempotency import body_text
from masquerade.server.http.request_body import StrictBody
from masquerade.server.payments.rewards import NOTHING, reward_and_budget
from masquerade.server.routes.authorization import Actor, Guard
from masquerade.server.routes.survey_json import (
    draft_json,
    listed_json,
    progress_json,
    survey_json,
    verdict,
)
from masquerade.server.settings import Settings
from masquerade.server.store import Store
from masquerade.server.surveys.document import (
    Document,
    changed,
    definition_of,
    plan_fields_schema,
    read_document,
)
from masquerade.server.surveys.drafts import Draft
from masquerade.server.surveys.forecast import error_by_cost, forecast
from masquerade.server.surveys.selection_runs import Wish, run_selection
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
    """What a new draft begins as: a template, a document, or a copy of another survey."""

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
    """How long what was begun can be finished."""

    grace_days: Annotated[int, Field(ge=0, le=30)] = 1


def building_routes(store: Store, settings: Settings, guard: Guard) -> APIRouter:
    """Return the routes of `/api/v1/surveys` for surveyors."""
    routes = APIRouter(prefix="/api/v1/surveys", tags=["surveys"])
    workshop = store.workshop
    reader = Depends(guard.right("survey:read"))
    writer = Depends(guard.right("survey:write"))

    @routes.post("", status_code=201, summary="Make a draft")
    def create(new: New, idempotency_key: Key, actor: Actor = writer) -> Response:
        document = _beginning(new, actor)
        request = (f"{actor.account.id} {idempotency_key}", body_text(new.model_dump()))
        draft, fresh = workshop.create(document, team=actor.team.id, request=request)
        return _answered(
            draft_json(draft, workshop), draft, 201 if fresh else 200,
            Location=f"/api/v1/surveys/{draft.token}",
        )  # fmt: skip

    @routes.get("", summary="A team's surveys and drafts, by token")
    def listing(
        cursor: Annotated[str, Query(pattern=r"^[0-9a-f]{0,32}$")] = "",
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        actor: Actor = reader,
    ) -> dict[str, Any]:
        found = workshop.listed(team=actor.team.id, after=cursor, limit=limit + 1)
        return {
            "surveys": [listed_json(one) for one in found[:limit]],
            "next_cursor": found[limit - 1].token if len(found) > limit else None,
        }

    @routes.get("/{token}", summary="A survey or draft")
    def read(token: str, request: Request, actor: Actor = reader) -> Response:
        if workshop.is_draft(token, team=actor.team.id):
            draft = workshop.draft(token, team=actor.team.id)
            return _answered(draft_json(draft, workshop), draft)
        survey = actor.survey(token)
        return JSONResponse(survey_json(survey, workshop, link=_link(request, token)))

    @routes.patch(
        "/{token}", summary="Change a draft, or the last day and the seats of an open survey"
    )
    def change(
        token: str,
        changes: Annotated[dict[str, Any], Body()],
        request: Request,
        if_match: Match = None,
        actor: Actor = writer,
    ) -> Response:
        if workshop.is_draft(token, team=actor.team.id):
            draft = workshop.change(token, changes, team=actor.team.id, version=_version(if_match))
            return _answered(draft_json(draft, workshop), draft)
        survey = actor.survey(token)
        if set(changes) == {"closes"}:
            workshop.extend(survey, changes["closes"])
        elif set(changes) == {"seats"}:
            workshop.set_seats(survey, _seats(changes["seats"]))
        else:
            raise WrongState(
                f"this survey is {survey.state}, so what it asks is frozen. One at a time, its "
                'last day or its seats can still change: {"closes": "YYYY-MM-DD"}, or '
                '{"seats": {level: number}}.',
                state=survey.state,
            )
        survey = actor.survey(token)
        return JSONResponse(survey_json(survey, workshop, link=_link(request, token)))

    @routes.delete("/{token}", status_code=204, summary="Delete a draft")
    def remove(token: str, if_match: Match = None, actor: Actor = writer) -> Response:
        if not workshop.is_draft(token, team=actor.team.id):
            survey = actor.survey(token)
            raise WrongState(
                f"this survey is {survey.state}; only a draft can be deleted. Cancel it instead.",
                state=survey.state,
            )
        version = None if if_match is None else _version(if_match)
        workshop.delete(token, team=actor.team.id, version=version)
        return Response(status_code=204)

    @routes.get("/{token}/document", summary="The survey as a file, to keep or to import")
    def document(token: str, actor: Actor = reader) -> Response:
        found = _document(token, actor)
        name = re.sub(r"[^a-z0-9]+", "-", found.title.lower()).strip("-")[:40] or "survey"
        return Response(
            found.text(),
            media_type="application/json; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}.json"'},
        )

    @routes.post("/{token}/validate", summary="All that keeps a draft from being opened")
    def validate(token: str, actor: Actor = reader) -> dict[str, Any]:
        draft = workshop.draft(token, team=actor.team.id)
        found = verdict(draft.document, workshop)
        return {name: found[name] for name in ("valid", "errors")}

    @routes.post("/{token}/preview", summary="What a plan would ask, cost and tell")
    def preview(
        token: str,
        plan: PlanFields,
        actor: Actor = reader,
    ) -> dict[str, Any]:
        found = changed(_document(token, actor), {"plan": plan})
        places = workshop.places(found)
        if places:
            raise InvalidDocument(places)
        return forecast(found, definition_of(found), caps=workshop.caps)

    @routes.post("/{token}/curve", summary="How the error of the first question falls with cost")
    def curve(
        token: str,
        plan: PlanFields,
        actor: Actor = reader,
    ) -> dict[str, Any]:
        found = changed(_document(token, actor), {"plan": plan})
        if places := workshop.places(found):
            raise InvalidDocument(places)
        return {"points": error_by_cost(found, definition_of(found), caps=workshop.caps)}

    @routes.post("/{token}/open", summary="Freeze a draft and let people answer")
    def open_(
        token: str, request: Request, if_match: Match = None, actor: Actor = writer
    ) -> Response:
        version = None if if_match is None else _version(if_match)
        survey = open_draft(store, actor, token, version=version)
        return JSONResponse(survey_json(survey, workshop, link=_link(request, token)))

    @routes.post("/{token}/close", summary="Let nobody begin it any more")
    def close(token: str, closing: Closing, request: Request, actor: Actor = writer) -> Response:
        workshop.close(actor.survey(token), grace_days=closing.grace_days)
        return _standing(token, request, actor)

    @routes.post("/{token}/cancel", summary="End a survey without results")
    def cancel(token: str, request: Request, actor: Actor = writer) -> Response:
        workshop.cancel(actor.survey(token))
        return _standing(token, request, actor)

    @routes.post("/{token}/publish", summary="Let everybody see the results")
    def publish(token: str, request: Request, actor: Actor = writer) -> Response:
        workshop.publish(actor.survey(token))
        return _standing(token, request, actor)

    @routes.post("/{token}/unpublish", summary="Show the results to the team alone again")
    def unpublish(token: str, request: Request, actor: Actor = writer) -> Response:
        workshop.unpublish(actor.survey(token))
        return _standing(token, request, actor)

    @routes.get("/{token}/progress", summary="How many answered, by level")
    def progress(token: str, actor: Actor = reader) -> dict[str, Any]:
        survey = actor.survey(token)
        return progress_json(survey, workshop.progress(survey))

    @routes.post(
        "/{token}/selection-runs", status_code=201, summary="Decide how many of each level to ask"
    )
    def select(token: str, wish: Wish, idempotency_key: Key, actor: Actor = writer) -> Response:
        request = (
            f"{actor.account.id} run {idempotency_key}",
            body_text([token, wish.model_dump()]),
        )
        run = run_selection(store, actor, token, wish, request=request)
        location = f"/api/v1/surveys/{token}/selection-runs/{run['id']}"
        return JSONResponse(run, 201, headers={"Location": location})

    @routes.get("/{token}/selection-runs", summary="All selections of a survey, in their order")
    def selections(token: str, actor: Actor = reader) -> dict[str, Any]:
        if not workshop.is_draft(token, team=actor.team.id):
            actor.survey(token)
        return {"runs": workshop.runs(token)}

    @routes.get("/{token}/selection-runs/{run}", summary="A selection and why it is as it is")
    def selection(token: str, run: str, actor: Actor = reader) -> dict[str, Any]:
        if not workshop.is_draft(token, team=actor.team.id):
            actor.survey(token)
        return workshop.run(token, run)

    def _beginning(new: New, actor: Actor) -> Document:
        given = [name for name, value in new if value is not None]
        if len(given) != 1:
            raise ParameterError(
                f"the request names {given or 'nothing'}; give one of template, document, copy_of."
            )
        if new.template is not None:
            return template_named(new.template).document()
        if new.document is not None:
            return read_document(new.document)
        return _document(str(new.copy_of), actor)

    def _document(token: str, actor: Actor) -> Document:
        if workshop.is_draft(token, team=actor.team.id):
            return workshop.draft(token, team=actor.team.id).document
        return workshop.document(actor.survey(token))

    def _link(request: Request, token: str) -> str:
        return share_link(settings, request, token)

    def _standing(token: str, request: Request, actor: Actor) -> Response:
        survey = actor.survey(token)
        return JSONResponse(survey_json(survey, workshop, link=_link(request, token)))

    return routes


def open_draft(store: Store, actor: Actor, token: str, *, version: int | None = None) -> Any:
    """Open a draft of an actor's team, with as many seats as its plan has where it has them."""
    workshop = store.workshop
    draft = workshop.draft(token, team=actor.team.id)
    places = workshop.places(draft.document)
    plan = draft.document.plan
    seats = reward = None
    budget = 0
    if not places and (plan.quotas or plan.reward != NOTHING):
        found = forecast(draft.document, definition_of(draft.document), caps=workshop.caps)
        asked = {level["name"]: level["asked"] for level in found["levels"]}
        seats = asked if plan.quotas else None
        reward, budget = reward_and_budget(plan, asked, store.desk.commission_percent)
    return workshop.open(
        token,
        team=actor.team.id,
        version=version or draft.version,
        seats=seats,
        reward=reward,
        budget=budget,
    )


def share_link(settings: Settings, request: Request, token: str) -> str:
    """Return the address at which people take part."""
    base = settings.public_url or str(request.base_url).rstrip("/")
    return f"{base}/s/{token}"


def _seats(given: Any) -> dict[str, int] | None:
    if given is not None and not isinstance(given, dict):
        raise ParameterError(f"seats is {given!r}, expected an object of levels and numbers.")
    return given


def _version(if_match: str | None) -> int:
    found = re.fullmatch(r'(?:W/)?"v(\d{1,9})"', (if_match or "").strip())
    if found is None:
        raise StaleVersion(
            "the request does not say what it changes: send the ETag of what you read as If-Match."
        )
    return int(found[1])


def _answered(data: dict[str, Any], draft: Draft, status: int = 200, **headers: str) -> Response:
    return JSONResponse(data, status, headers={"ETag": f'"v{draft.version}"', **headers})
