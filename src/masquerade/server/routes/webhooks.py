"""The interface and the page of webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Depends, Path
from pydantic import FailFast, Field
from starlette.datastructures import FormData
from starlette.responses import Response

from masquerade.errors import MasqueradeError
from masquerade.server.http.outgoing import LONGEST_ADDRESS
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.forms import FormBody, form, page
from masquerade.server.webhooks.sender import SIGNATURE
from masquerade.server.webhooks.webhooks import EVENTS, Delivery, Webhook

HERE = "/webhooks"
WebhookId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


class NewWebhook(FormBody):
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

    @classmethod
    def of_form(cls, fields: FormData) -> Self:
        """Return the webhook that was typed; its address is read where it is kept."""
        events = [str(one) for one in fields.getlist("events")]
        return cls.model_construct(url=str(fields.get("url", "")), events=events)


@dataclass(frozen=True, slots=True)
class SecretWebhook(Webhook):
    """A new webhook with its secret, which is shown this once."""

    secret: str


routes = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"])
pages = APIRouter(include_in_schema=False, prefix=HERE)
Owner = Annotated[Actor, Depends(require("team:manage"))]


@page(pages, "")
def webhooks_page(
    actor: Owner,
    *,
    error: MasqueradeError | None = None,
    new: FormData | None = None,
    result: SecretWebhook | None = None,
    **_: Any,
) -> Response:
    services, team = actor.services, actor.team.id
    webhooks = services.webhooks.of_team(team)
    context = {
        "webhooks": webhooks,
        "hosts": {one.id: one.url.split("/")[2] for one in webhooks},
        "log": services.webhooks.log(team),
        "titles": {one.token: one.title for one in services.surveys.listed(team=team)},
        "events": EVENTS,
        "chosen": new.getlist("events") if new and error else list(EVENTS),
        "url": new.get("url", "") if new and error else "",
        "created": result,
        "header": SIGNATURE,
        "private": services.webhooks.private,
    }
    return actor.page("surveyor/webhooks.html", context, error=error)


@routes.get("", summary="A team's webhooks")
def listing(actor: Owner) -> dict[Literal["webhooks"], list[Webhook]]:
    return {"webhooks": actor.services.webhooks.of_team(actor.team.id)}


@routes.post("", status_code=201, summary="Add a webhook; its secret is shown this once")
@form(pages, "", then=webhooks_page, refused=webhooks_page)
@audited("added a webhook")
def create(actor: Owner, new: NewWebhook) -> SecretWebhook:
    webhook, secret = actor.services.webhooks.create(actor.team.id, url=new.url, events=new.events)
    return SecretWebhook(webhook.id, webhook.url, webhook.events, webhook.day, secret)


@routes.delete("/{webhook}", status_code=204, summary="Remove a webhook")
@form(pages, "/{webhook}/remove", then=HERE)
@audited("removed a webhook")
def remove(actor: Owner, webhook: WebhookId) -> None:
    actor.services.webhooks.remove(actor.team.id, webhook)


# 202: it is sent a little later, by the process that delivers.
@routes.post("/{webhook}/test", status_code=202, summary="Send a message that means nothing")
@form(pages, "/{webhook}/test", then=f"{HERE}#log", refused=webhooks_page)
@audited("tested a webhook")
def test(actor: Owner, webhook: WebhookId) -> dict[Literal["state"], Literal["waiting"]]:
    actor.services.webhooks.test(actor.team.id, webhook)
    return {"state": "waiting"}


@routes.get("/{webhook}/deliveries", summary="What a webhook was told, and how that went")
def deliveries(actor: Owner, webhook: WebhookId) -> dict[Literal["deliveries"], list[Delivery]]:
    return {"deliveries": actor.services.webhooks.log(actor.team.id, webhook=webhook)}
