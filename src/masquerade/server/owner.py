"""The owner's routes: first-run link, new survey, share link, results."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.responses import Response

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.mechanisms import LEVELS, level_named
from masquerade.server.definition import (
    ALL_LEVELS,
    KEEP_PER_ANSWER,
    KEEP_PER_PERSON,
    TOPICS,
    Definition,
)
from masquerade.server.described import described
from masquerade.server.pages import qr_code, render
from masquerade.server.results import as_csv, compute
from masquerade.server.security import OwnerSessions, same_origin
from masquerade.server.settings import Settings
from masquerade.server.store import CLOSED, Store
from masquerade.server.template import TEMPLATES, questions_from_text

EVERYBODY_CHOOSES = "choose"


class OwnerNeeded(Exception):
    """The page is the owner's and the reader is not."""


def owner_routes(store: Store, settings: Settings, sessions: OwnerSessions) -> APIRouter:
    """Return the routes of the person who runs surveys."""
    routes = APIRouter(include_in_schema=False)

    def owner(request: Request) -> None:
        if not sessions.holds(request):
            raise OwnerNeeded
        if request.method not in ("GET", "HEAD") and not same_origin(request):
            raise OwnerNeeded

    @routes.get("/owner")
    def enter(request: Request, token: str = "") -> Response:
        if sessions.holds(request) and not token:
            return RedirectResponse("/surveys", 303)
        if not store.spend_owner_token(token):
            raise OwnerNeeded
        response = RedirectResponse("/surveys", 303)
        sessions.start(response, https=request.url.scheme == "https")
        return response

    @routes.get("/surveys", dependencies=[Depends(owner)])
    def home(request: Request) -> Response:
        context = {"surveys": store.surveys(), "templates": TEMPLATES.values()}
        return render(request, "surveys.html", context)

    @routes.get("/surveys/new", dependencies=[Depends(owner)])
    def new(request: Request, template: str = "rate") -> Response:
        if template not in TEMPLATES:
            raise NotFound("there is no such template; choose one on the first page.")
        chosen = TEMPLATES[template]
        values = {
            "title": chosen.example_title,
            "description": "",
            "items": chosen.example_items,
            "options": chosen.example_options,
            "level": EVERYBODY_CHOOSES,
            "topic": TOPICS[0],
            "masking": KEEP_PER_ANSWER,
            "allow_skip": False,
            "listed": False,
        }
        return _form(request, template, values)

    @routes.post("/surveys/new", dependencies=[Depends(owner)])
    def create(
        request: Request,
        template: Annotated[str, Form()],
        title: Annotated[str, Form()] = "",
        description: Annotated[str, Form()] = "",
        items: Annotated[str, Form()] = "",
        options: Annotated[str, Form()] = "",
        level: Annotated[str, Form()] = EVERYBODY_CHOOSES,
        topic: Annotated[str, Form()] = TOPICS[0],
        masking: Annotated[str, Form()] = KEEP_PER_ANSWER,
        allow_skip: Annotated[bool, Form()] = False,
        listed: Annotated[bool, Form()] = False,
    ) -> Response:
        try:
            questions = questions_from_text(
                template, items=items, options=options, allow_skip=allow_skip
            )
            definition = Definition.at_levels(
                title=title.strip(),
                description=description.strip(),
                template=template,
                levels=ALL_LEVELS if level == EVERYBODY_CHOOSES else (level_named(level).name,),
                questions=questions,
                masking=masking,
                topic=topic,
            )
        except ParameterError as error:
            values = {
                "title": title,
                "description": description,
                "items": items,
                "options": options,
                "level": level,
                "topic": topic,
                "masking": masking,
                "allow_skip": allow_skip,
                "listed": listed,
            }
            return _form(request, template, values, error=str(error))
        survey = store.open_survey(definition, listed=listed)
        return RedirectResponse(f"/surveys/{survey.token}", 303)

    @routes.get("/surveys/{token}", dependencies=[Depends(owner)])
    def survey_page(request: Request, token: str) -> Response:
        survey = store.survey(token)
        base = settings.public_url or str(request.base_url).rstrip("/")
        link = f"{base}/s/{token}"
        context: dict[str, Any] = {
            "survey": survey,
            "shown": described(survey),
            "link": link,
            "qr": qr_code(link),
            "result": compute(survey, store.responses(token)) if survey.state == CLOSED else None,
        }
        return render(request, "survey.html", context)

    @routes.get("/surveys/{token}/count", dependencies=[Depends(owner)])
    def count(token: str) -> dict[str, int]:
        return {"responses": store.survey(token).responses}

    @routes.post("/surveys/{token}/close", dependencies=[Depends(owner)])
    def close(token: str) -> Response:
        store.close_survey(token)
        return RedirectResponse(f"/surveys/{token}", 303)

    @routes.get("/surveys/{token}/results.json", dependencies=[Depends(owner)])
    def results_json(token: str) -> Response:
        return JSONResponse(_result(token))

    @routes.get("/surveys/{token}/results.csv", dependencies=[Depends(owner)])
    def results_csv(token: str) -> Response:
        return Response(
            as_csv(_result(token)),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="results-{token}.csv"'},
        )

    def _result(token: str) -> dict[str, Any]:
        survey = store.survey(token)
        if survey.state != CLOSED:
            raise WrongState("results are computed when the survey closes; close it first.")
        return compute(survey, store.responses(token))

    def _form(
        request: Request, template: str, values: dict[str, Any], *, error: str = ""
    ) -> Response:
        context = {
            "template": TEMPLATES.get(template, TEMPLATES["rate"]),
            "levels": LEVELS,
            "everybody_chooses": EVERYBODY_CHOOSES,
            "topics": TOPICS,
            "per_answer": KEEP_PER_ANSWER,
            "per_person": KEEP_PER_PERSON,
            "values": values,
            "error": error,
        }
        return render(request, "new.html", context, status=422 if error else 200)

    return routes
