"""Surveyors' pages: all surveys, the builder, audience and budget, review, and the live survey."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.answers import Number
from masquerade.errors import InvalidDocument, MasqueradeError
from masquerade.server.building.answers import draft_json, progress_json
from masquerade.server.building.document import definition_of, read_document_text
from masquerade.server.building.drafts import DRAFT, Draft
from masquerade.server.building.routes import open_draft, share_link
from masquerade.server.building.templates import TEMPLATES, template_named
from masquerade.server.definition import ALL_LEVELS, CLEAR
from masquerade.server.described import described
from masquerade.server.findings import Findings
from masquerade.server.findings.publication import published_context
from masquerade.server.findings.shown import result_view
from masquerade.server.invitation import level_json
from masquerade.server.pages import qr_code, render
from masquerade.server.settings import Settings
from masquerade.server.store import Store, Survey
from masquerade.server.surveys import CANCELLED, FINISHED, PUBLISHED, TAKING
from masquerade.server.team import Actor, Guard

_GROUPS = (
    ("Draft", (DRAFT,)),
    ("Live", TAKING),
    ("Closed", (*FINISHED, CANCELLED)),
)


def building_pages(store: Store, settings: Settings, guard: Guard) -> APIRouter:
    """Return the pages on which surveys are made and watched."""
    routes = APIRouter(include_in_schema=False)
    workshop, findings = store.workshop, Findings(store)
    reader = Depends(guard.right("survey:read"))
    writer = Depends(guard.right("survey:write"))

    @routes.get("/surveys")
    def home(request: Request, actor: Actor = reader) -> Response:
        found = workshop.listed(team=actor.team.id)
        groups = [
            (name, sorted((one for one in found if one.state in states), key=_newest_first))
            for name, states in _GROUPS
        ]
        context = {"groups": groups, "any": bool(found), "templates": TEMPLATES.values()}
        return render(request, "surveys.html", context)

    @routes.get("/surveys/new", dependencies=[writer])
    def choose(request: Request) -> Response:
        return render(request, "new.html", {"templates": TEMPLATES.values()})

    @routes.post("/surveys/new")
    def create(template: Annotated[str, Form()], actor: Actor = writer) -> Response:
        document = template_named(template).document()
        draft, _ = workshop.create(document, team=actor.team.id)
        return _to(f"/surveys/{draft.token}/edit")

    @routes.post("/surveys/import")
    def import_(
        request: Request, file: Annotated[bytes, File()], actor: Actor = writer
    ) -> Response:
        try:
            document = read_document_text(file.decode("utf-8-sig"))
        except (UnicodeDecodeError, InvalidDocument) as error:
            places = getattr(error, "places", [("", "the file is no text in UTF-8.")])
            context = {"templates": TEMPLATES.values(), "places": places}
            return render(request, "new.html", context, status=422)
        draft, _ = workshop.create(document, team=actor.team.id)
        return _to(f"/surveys/{draft.token}/edit")

    @routes.post("/surveys/{token}/copy")
    def copy(token: str, actor: Actor = writer) -> Response:
        document = workshop.document(actor.survey(token))
        draft, _ = workshop.create(document, team=actor.team.id)
        return _to(f"/surveys/{draft.token}/edit")

    @routes.get("/surveys/{token}/edit")
    def edit(request: Request, token: str, actor: Actor = writer) -> Response:
        return _draft_page(request, token, actor, "build.html")

    @routes.get("/surveys/{token}/audience")
    def audience(request: Request, token: str, actor: Actor = writer) -> Response:
        return _draft_page(request, token, actor, "audience.html")

    @routes.get("/surveys/{token}/review")
    def review(request: Request, token: str, actor: Actor = writer) -> Response:
        return _draft_page(request, token, actor, "review.html")

    @routes.post("/surveys/{token}/open")
    def open_(
        request: Request, token: str, version: Annotated[int, Form()], actor: Actor = writer
    ) -> Response:
        try:
            open_draft(store, actor, token, version=version)
        except MasqueradeError as error:
            if not workshop.is_draft(token, team=actor.team.id):
                actor.survey(token)  # opened in another tab
                return _to(f"/surveys/{token}")
            return _draft_page(request, token, actor, "review.html", refused=error)
        return _to(f"/surveys/{token}")

    @routes.post("/surveys/{token}/delete")
    def remove(token: str, actor: Actor = writer) -> Response:
        workshop.delete(token, team=actor.team.id)
        return _to("/surveys")

    @routes.get("/surveys/{token}")
    def survey_page(request: Request, token: str, actor: Actor = reader) -> Response:
        if workshop.is_draft(token, team=actor.team.id):
            if actor.may("survey:write"):
                return _to(f"/surveys/{token}/edit")
            return _draft_page(request, token, actor, "review.html")
        survey = actor.survey(token)
        if survey.state in TAKING:
            return _live(request, survey)
        seen = actor.may("results:read") or survey.state == PUBLISHED
        shown = survey.state in FINISHED and seen
        context = {
            "survey": survey,
            "shown": described(survey),
            "view": result_view(survey.definition, findings.result(survey)) if shown else None,
            "synthesis": any(isinstance(q, Number) for q in survey.definition.questions),
            **published_context(guard, request, token),
        }
        return render(request, "survey.html", context)

    @routes.post("/surveys/{token}/close")
    def close(
        token: str, grace_days: Annotated[int, Form()] = 0, actor: Actor = writer
    ) -> Response:
        workshop.close(actor.survey(token), grace_days=grace_days)
        return _to(f"/surveys/{token}")

    @routes.post("/surveys/{token}/extend")
    def extend(token: str, closes: Annotated[str, Form()] = "", actor: Actor = writer) -> Response:
        workshop.extend(actor.survey(token), closes or None)
        return _to(f"/surveys/{token}")

    @routes.post("/surveys/{token}/cancel")
    def cancel(token: str, actor: Actor = writer) -> Response:
        workshop.cancel(actor.survey(token))
        return _to(f"/surveys/{token}")

    @routes.post("/surveys/{token}/publish")
    def publish(token: str, actor: Actor = writer) -> Response:
        workshop.publish(actor.survey(token))
        return _to(f"/surveys/{token}")

    @routes.post("/surveys/{token}/unpublish")
    def unpublish(token: str, actor: Actor = writer) -> Response:
        workshop.unpublish(actor.survey(token))
        return _to(f"/surveys/{token}")

    def _live(request: Request, survey: Survey) -> Response:
        link = share_link(settings, request, survey.token)
        progress = progress_json(survey, workshop.progress(survey))
        plan = workshop.document(survey).plan
        context = {
            "survey": survey,
            "link": link,
            "qr": qr_code(link),
            "progress": progress,
            "target": sum(survey.seats.values()) if survey.seats else plan.people,
            "shown": described(survey),
            "today": workshop.today,
        }
        return render(request, "live.html", context)

    def _draft_page(request: Request, token: str, actor: Actor, name: str, **more: Any) -> Response:
        if not workshop.is_draft(token, team=actor.team.id):
            return _to(f"/surveys/{actor.survey(token).token}")
        draft = workshop.draft(token, team=actor.team.id)
        known = draft_json(draft, workshop)
        context = {
            "draft": draft,
            "known": known,
            "document": draft.document,
            "levels": [*ALL_LEVELS, *([CLEAR] if settings.allow_clear else [])],
            "invited": _invited(draft, valid=known["valid"]),
            **more,
        }
        return render(request, name, context, status=422 if more else 200)

    return routes


def _invited(draft: Draft, *, valid: bool) -> list[dict[str, Any]]:
    """Return what participants are told of each level."""
    if not valid:
        return []
    return [level_json(level, draft.token) for level in definition_of(draft.document).levels]


def _newest_first(one: Any) -> tuple[int, str]:
    return -int(one.day.replace("-", "")), one.title


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)
