"""The interface and the page of webhooks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import FailFast, Field
from starlette.responses import Response

from masquerade.errors import ParameterError, WrongState
from masquerade.server.http.pages import render
from masquerade.server.http.problem import status_of
from masquerade.server.http.request_body import StrictBody
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.services import Services
from masquerade.server.webhooks.addresses import LONGEST_ADDRESS
from masquerade.server.webhooks.deliveries import SIGNATURE
from masquerade.server.webhooks.webhooks import EVENTS, Delivery, Webhook

HERE = "/webhooks"
WebhookId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


class NewWebhook(StrictBody):
    """A new webhook: its address, and the events that it is told."""

    # What else holds of both is told here and checked where they are kept, for pages too.
    url: Annotated[
        str, Field(max_length=LONGEST_ADDRESS, json_schema_extra={"pattern": "^https?://"})
    ]
    events: Annotated[
        list[Annotated[str, Field(json_schema_extra={"enum": list(EVENTS)})]],
        Field(max_length=20, json_schema_extra={"minItems": 1}),
        FailFast(),
    ]


routes = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"])
Owner = Annotated[Actor, Depends(require("team:manage"))]


@routes.get("", summary="A team's webhooks")
def listing(services: InServices, actor: Owner) -> dict[str, Any]:
    return {"webhooks": [webhook_json(one) for one in services.webhooks.of_team(actor.team.id)]}


@routes.post("", status_code=201, summary="Add a webhook; its secret is shown this once")
def create(services: InServices, actor: Owner, new: NewWebhook) -> Response:
    made, secret = services.webhooks.create(actor.team.id, url=new.url, events=new.events)
    return JSONResponse({**webhook_json(made), "secret": secret}, 201)


@routes.delete("/{webhook}", status_code=204, summary="Remove a webhook")
def remove(services: InServices, actor: Owner, webhook: WebhookId) -> Response:
    services.webhooks.remove(actor.team.id, webhook)
    return Response(status_code=204)


@routes.post("/{webhook}/test", status_code=202, summary="Send a message that means nothing")
def test(services: InServices, actor: Owner, webhook: WebhookId) -> Response:
    services.webhooks.test(actor.team.id, webhook)
    # 202: it is sent a little later, by the process that delivers.
    return JSONResponse({"state": "waiting"}, 202)


@routes.get("/{webhook}/deliveries", summary="What a webhook was told, and how that went")
def deliveries(services: InServices, actor: Owner, webhook: WebhookId) -> dict[str, Any]:
    found = services.webhooks.log(actor.team.id, webhook=webhook)
    return {"deliveries": [delivery_json(one) for one in found]}


pages = APIRouter(include_in_schema=False, prefix=HERE)


@pages.get("")
def show(services: InServices, request: Request, actor: Owner) -> Response:
    return _page(services, request, actor)


@pages.post("")
def create_page(
    services: InServices,
    request: Request,
    actor: Owner,
    url: Annotated[str, Form()] = "",
    events: Annotated[list[str] | None, Form()] = None,
) -> Response:
    wanted = events or []
    try:
        made, secret = services.webhooks.create(actor.team.id, url=url, events=wanted)
    except ParameterError as error:
        return _page(services, request, actor, error=error, url=url, chosen=wanted)
    # Shown once and here only.
    return _page(services, request, actor, made=made, secret=secret)


@pages.post("/{webhook}/remove")
def remove_page(services: InServices, actor: Owner, webhook: WebhookId) -> Response:
    services.webhooks.remove(actor.team.id, webhook)
    return RedirectResponse(HERE, 303)


@pages.post("/{webhook}/test")
def test_page(services: InServices, request: Request, actor: Owner, webhook: WebhookId) -> Response:
    try:
        services.webhooks.test(actor.team.id, webhook)
    except WrongState as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse(f"{HERE}#log", 303)


def _page(
    services: Services,
    request: Request,
    actor: Actor,
    *,
    error: ParameterError | WrongState | None = None,
    url: str = "",
    chosen: list[str] | None = None,
    made: Webhook | None = None,
    secret: str = "",
) -> Response:
    known = services.webhooks.of_team(actor.team.id)
    context = {
        "webhooks": known,
        "hosts": {one.id: one.url.split("/")[2] for one in known},
        "log": services.webhooks.log(actor.team.id),
        "titles": {one.token: one.title for one in services.surveys.listed(team=actor.team.id)},
        "events": EVENTS,
        "chosen": list(EVENTS) if chosen is None else chosen,
        "url": url,
        "made": made,
        "secret": secret,
        "header": SIGNATURE,
        "private": services.webhooks.private,
        "error": error,
    }
    status = status_of(error)[0] if error else 200
    return render(request, "surveyor/webhooks.html", context, status=status)


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    """Return a webhook as the interface shows it."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "events": list(webhook.events),
        "day": webhook.day,
    }


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """Return a delivery as the interface shows it."""
    return {
        "id": delivery.id,
        "event": delivery.event,
        "survey": delivery.survey,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "outcome": delivery.outcome,
        "day": delivery.day,
    }
