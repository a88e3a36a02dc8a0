"""Surveyors' pages: all surveys, the builder, audience and budget, review; what a survey shows."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import InvalidDocument, MasqueradeError
from masquerade.mechanisms.level import CLEAR
from masquerade.server.db.tables import CANCELLED, FINISHED, PUBLISHED, TAKING
from masquerade.server.http.pages import render
from masquerade.server.http.security import PREVIEW_POLICY
from masquerade.server.participants.privacy_balance import caps_json
from masquerade.server.results.view import result_view
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices, InSettings
from masquerade.server.routes.live import live_page
from masquerade.server.routes.publication import published_context
from masquerade.server.routes.survey_json import draft_json
from masquerade.server.routes.survey_summary import described
from masquerade.server.services import Services
from masquerade.server.settings import Settings
from masquerade.server.surveys.document import read_document_text, survey_of
from masquerade.server.surveys.drafts import DRAFT, Draft
from masquerade.server.surveys.invitation import introduction
from masquerade.server.surveys.opening import open_draft, planned_reward
from masquerade.server.surveys.templates import TEMPLATES, template_named
from masquerade.surveys import Number, Rating
from masquerade.surveys.levels import ALL_LEVELS

_GROUPS = (
    ("Draft", (DRAFT,)),
    ("Live", TAKING),
    ("Closed", (*FINISHED, CANCELLED)),
)


routes = APIRouter(include_in_schema=False)
Reader = Annotated[Actor, Depends(require("survey:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.get("/surveys")
def home(services: InServices, request: Request, actor: Reader) -> Response:
    found = services.surveys.listed(team=actor.team.id)
    groups = [
        (name, sorted((one for one in found if one.state in states), key=_newest_first))
        for name, states in _GROUPS
    ]
    context = {"groups": groups, "any": bool(found), "templates": TEMPLATES.values()}
    return render(request, "surveyor/surveys.html", context)


@routes.get("/surveys/new", dependencies=[Depends(require("survey:write"))])
def choose(request: Request) -> Response:
    return render(request, "surveyor/new.html", {"templates": TEMPLATES.values()})


@routes.post("/surveys/new")
def create(services: InServices, actor: Writer, template: Annotated[str, Form()]) -> Response:
    document = template_named(template).document()
    draft, _ = services.surveys.drafts.create(document, team=actor.team.id)
    return _to(f"/surveys/{draft.token}/edit")


@routes.post("/surveys/import")
def import_(
    services: InServices, request: Request, actor: Writer, file: Annotated[bytes, File()]
) -> Response:
    try:
        document = read_document_text(file.decode("utf-8-sig"))
    except (UnicodeDecodeError, InvalidDocument) as error:
        issues = getattr(error, "issues", [("", "the file is no text in UTF-8.")])
        context = {"templates": TEMPLATES.values(), "issues": issues}
        return render(request, "surveyor/new.html", context, status=422)
    draft, _ = services.surveys.drafts.create(document, team=actor.team.id)
    return _to(f"/surveys/{draft.token}/edit")


@routes.post("/surveys/{token}/copy")
def copy(services: InServices, actor: Writer, token: str) -> Response:
    document = services.surveys.document(actor.survey(token))
    draft, _ = services.surveys.drafts.create(document, team=actor.team.id)
    return _to(f"/surveys/{draft.token}/edit")


@routes.get("/surveys/{token}/edit")
def edit(
    services: InServices, settings: InSettings, request: Request, actor: Writer, token: str
) -> Response:
    return _draft_page(services, settings, request, actor, token, "surveyor/build.html")


@routes.get("/surveys/{token}/audience")
def audience(
    services: InServices, settings: InSettings, request: Request, actor: Writer, token: str
) -> Response:
    return _draft_page(services, settings, request, actor, token, "surveyor/audience.html")


@routes.get("/surveys/{token}/review")
def review(
    services: InServices, settings: InSettings, request: Request, actor: Writer, token: str
) -> Response:
    return _draft_page(services, settings, request, actor, token, "surveyor/review.html")


@routes.get("/surveys/{token}/preview")
def preview(
    services: InServices, settings: InSettings, request: Request, actor: Reader, token: str
) -> Response:
    page = _draft_page(services, settings, request, actor, token, "surveyor/preview.html")
    page.headers["Content-Security-Policy"] = PREVIEW_POLICY
    return page


@routes.post("/surveys/{token}/open")
def open_(
    services: InServices,
    settings: InSettings,
    request: Request,
    actor: Writer,
    token: str,
    version: Annotated[int, Form()],
) -> Response:
    try:
        open_draft(
            services.surveys,
            actor.team.id,
            token,
            commission_percent=services.commission_percent,
            version=version,
        )
    except MasqueradeError as error:
        if not services.surveys.drafts.is_draft(token, team=actor.team.id):
            actor.survey(token)  # opened in another tab
            return _to(f"/surveys/{token}")
        return _draft_page(
            services, settings, request, actor, token, "surveyor/review.html", refused=error
        )
    return _to(f"/surveys/{token}")


@routes.post("/surveys/{token}/delete")
def remove(services: InServices, actor: Writer, token: str) -> Response:
    services.surveys.drafts.delete(token, team=actor.team.id)
    return _to("/surveys")


@routes.get("/surveys/{token}")
def survey_page(
    services: InServices, settings: InSettings, request: Request, actor: Reader, token: str
) -> Response:
    if services.surveys.drafts.is_draft(token, team=actor.team.id):
        if actor.may("survey:write"):
            return _to(f"/surveys/{token}/edit")
        return _draft_page(services, settings, request, actor, token, "surveyor/review.html")
    survey = actor.survey(token)
    if survey.state in TAKING:
        return live_page(services, request, survey)
    # Some roles see results only once they are everybody's.
    seen = actor.may("results:read") or survey.state == PUBLISHED
    shown = survey.state in FINISHED and seen
    context = {
        "survey": survey,
        "shown": described(survey),
        "view": result_view(survey.definition, services.results.result(survey)) if shown else None,
        "synthesis": any(isinstance(q, Number | Rating) for q in survey.definition.questions),
        **published_context(request, token),
    }
    return render(request, "surveyor/survey.html", context)


@routes.post("/surveys/{token}/publish")
def publish(services: InServices, actor: Writer, token: str) -> Response:
    services.surveys.publish(actor.survey(token))
    return _to(f"/surveys/{token}")


@routes.post("/surveys/{token}/unpublish")
def unpublish(services: InServices, actor: Writer, token: str) -> Response:
    services.surveys.unpublish(actor.survey(token))
    return _to(f"/surveys/{token}")


def _draft_page(
    services: Services,
    settings: Settings,
    request: Request,
    actor: Actor,
    token: str,
    name: str,
    **more: Any,
) -> Response:
    if not services.surveys.drafts.is_draft(token, team=actor.team.id):
        return _to(f"/surveys/{actor.survey(token).token}")
    draft = services.surveys.drafts.draft(token, team=actor.team.id)
    known = draft_json(draft, services.surveys)
    context = {
        "draft": draft,
        "known": known,
        "document": draft.document,
        "levels": [*ALL_LEVELS, *([CLEAR] if settings.allow_clear else [])],
        **_promised(draft, known["forecast"], services.commission_percent),
        "caps": caps_json(services.surveys.drafts.caps),
        **more,
    }
    return render(request, name, context, status=422 if more else 200)


def _promised(
    draft: Draft, forecast: dict[str, Any] | None, commission_percent: int
) -> dict[str, Any]:
    """Return what people see before they begin, and what is set aside to pay them.

    Of what cannot be opened yet there is neither.
    """
    if forecast is None:
        return {"introduction": None, "set_aside": 0}
    definition = survey_of(draft.document)
    asked = {level["name"]: level["asked"] for level in forecast["levels"]}
    reward, budget = planned_reward(draft.document.plan, asked, commission_percent)
    told = introduction(
        definition, token=draft.token, hash_=definition.content_hash(), reward=reward
    )
    return {"introduction": told, "set_aside": budget}


def _newest_first(one: Any) -> tuple[int, str]:
    return -int(one.day.replace("-", "")), one.title


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)
