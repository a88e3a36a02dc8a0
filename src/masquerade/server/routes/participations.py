"""The routes of the participants' protocol: reserve, open, seal, send; and the ways out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Security
from fastapi.security import APIKeyHeader
from pydantic import FailFast, Field
from starlette.responses import Response

from masquerade.errors import Unauthenticated
from masquerade.server.db.pseudonyms import Identity
from masquerade.server.http.padding import padded, spare
from masquerade.server.http.rate_limit import Beginnings
from masquerade.server.http.request_body import StrictBody
from masquerade.server.participants.participations import Participation
from masquerade.server.participants.privacy_balance import price
from masquerade.server.routes.response_models import Opened, Reserved, Sent, Standing, answers
from masquerade.server.store import Store
from masquerade.server.surveys.invitation import masks_of

HEADER = "Masquerade-Participant"
LARGEST_REPORT = 2**53 - 1
_SCHEME = APIKeyHeader(
    name=HEADER,
    scheme_name="participant",
    description="128 random bits, drawn by the device, in hexadecimal",
    auto_error=False,
)

Hex128 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Hex256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Level = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
Report = Annotated[int, Field(ge=-LARGEST_REPORT, le=LARGEST_REPORT)]
IdempotencyKey = Annotated[
    str, Header(pattern=r"^[0-9a-f]{32}$", description="Random; resending is safe with it")
]
Padding = Annotated[
    str, Field(pattern=r"^ *$", description="Spaces, so that bodies have few different sizes")
]


class Body(StrictBody):
    """What all bodies have in common."""

    padding: Padding = ""


class Beginning(Body):
    """The survey and the level, chosen before a question is shown."""

    survey: Annotated[str, Field(max_length=64)]
    level: Level


class Seal(Body):
    """SHA-256 of the reports with a salt: binds without telling."""

    commitment: Hex256


class Sending(Body):
    """All that a device sends: masked reports, and what they were masked for."""

    # The first wrong report is enough: a body has room for thousands.
    reports: Annotated[list[Report], Field(max_length=200), FailFast()]
    salt: Hex128
    level: Level
    survey_hash: Hex256


def participant_of(store: Store) -> Any:
    """Return the dependency that tells whose request it is."""

    # Asynchronous, as it waits for nothing: others are run in a thread.
    async def participant(
        secret: Annotated[str | None, Security(_SCHEME)],
    ) -> Identity:
        if secret is None or len(secret) != 32 or not set(secret) <= set("0123456789abcdef"):
            raise Unauthenticated(
                f"the header {HEADER} is missing or is not 32 hexadecimal digits; draw 128 random "
                "bits once and send them with every request."
            )
        return store.identity(secret)

    return Depends(participant)


def protocol_routes(store: Store, beginnings: Beginnings) -> APIRouter:
    """Return the routes by which a device takes part in a survey."""
    routes = APIRouter(prefix="/api/v1/participations", tags=["participations"])
    steps = store.participations
    who_asks = participant_of(store)

    @routes.post(
        "",
        status_code=201,
        summary="Choose a level and reserve its cost",
        responses=answers(Reserved, 401, 404, 409, 413, 422, status=201),
    )
    def reserve(
        request: Request,
        beginning: Beginning,
        idempotency_key: IdempotencyKey,
        who: Identity = who_asks,
    ) -> Response:
        counted = beginnings.newcomer(request.client.host if request.client else "")
        new = False
        try:
            begun, new = steps.reserve(
                who,
                beginning.survey,
                beginning.level,
                idempotency_key=idempotency_key,
                admit=counted.count,
            )
        finally:
            counted.end(begun=new)
        assert begun.account is not None
        answer = {
            "id": begun.id,
            "survey": begun.survey.token,
            "level": begun.level.name,
            "state": begun.state,
            "price": price(begun.level, begun.survey.token),
            "battery": begun.account.battery(),
        }
        return padded(answer, 201 if new else 200)

    @routes.post(
        "/{participation}/open",
        summary="Show the questions; the cost is spent",
        responses=answers(Opened, 401, 404, 409),
    )
    def show(participation: str, who: Identity = who_asks) -> Response:
        opened = steps.open(who, participation)
        answer = {
            **_standing(opened),
            "level": opened.level.name,
            "hash": opened.survey.hash,
            "survey": opened.survey.text,
            "masks": masks_of(opened.survey),
        }
        return padded(answer, room=spare(answer["level"], _LONGEST_LEVEL))

    @routes.post(
        "/{participation}/seal",
        summary="Commit to the reports that were drawn",
        responses=answers(Standing, 401, 404, 409, 413, 422),
    )
    def seal(participation: str, seal: Seal, who: Identity = who_asks) -> Response:
        return padded(_standing(steps.seal(who, participation, seal.commitment)))

    @routes.put(
        "/{participation}/response",
        status_code=201,
        summary="Send the masked reports",
        responses=answers(Sent, 401, 404, 409, 413, 422, status=201),
    )
    def respond(participation: str, sent: Sending, who: Identity = who_asks) -> Response:
        done, new = steps.respond(
            who,
            participation,
            reports=sent.reports,
            salt=sent.salt,
            level=sent.level,
            survey_hash=sent.survey_hash,
        )
        assert done.account is not None
        answer = {
            **_standing(done),
            "bill": done.account.bill(done.key, done.level),
            "battery": done.account.battery(),
            "paid": _paid(done),
            "completion_code": done.completion_code,
        }
        room = spare(answer["paid"], _LONGEST_PAID) if answer["paid"] else 0
        return padded(answer, 201 if new else 200, room=room)

    @routes.post(
        "/{participation}/withdraw",
        summary="Delete the reports; the cost stays spent",
        responses=answers(Standing, 401, 404, 409),
    )
    def withdraw(participation: str, who: Identity = who_asks) -> Response:
        return padded(_standing(steps.withdraw(who, participation)))

    @routes.post(
        "/{participation}/abandon",
        summary="Give up before sending",
        responses=answers(Standing, 401, 404, 409),
    )
    def abandon(participation: str, who: Identity = who_asks) -> Response:
        return padded(_standing(steps.abandon(who, participation)))

    return routes


_LONGEST_LEVEL = 64  # room for the longest name of a level
_LONGEST_PAID = 96


def _paid(done: Participation) -> dict[str, Any] | None:
    reward = done.survey.reward
    if reward is None or not reward.pays:
        return None
    return {"currency": reward.currency, "amount": reward.paid(done.level.name)}


def _standing(participation: Participation) -> dict[str, Any]:
    return {"id": participation.id, "state": participation.state}
