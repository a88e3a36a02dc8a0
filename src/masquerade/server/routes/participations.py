"""The routes of the participants' protocol: reserve, open, seal, send; and the ways out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import FailFast, Field
from starlette.responses import Response

from masquerade.server.http.bodies import StrictBody, padded, spare
from masquerade.server.participants.participations import Participation
from masquerade.server.participants.privacy_balance import price
from masquerade.server.routes.dependencies import InBeginnings, InServices, Participant
from masquerade.server.routes.response_models import Opened, Reserved, Sent, Standing, answers
from masquerade.server.surveys.document import LevelName
from masquerade.server.surveys.invitation import masks_of

# The largest whole number up to which all are exact in JavaScript.
LARGEST_REPORT = 2**53 - 1
Hex128 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Hex256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Report = Annotated[int, Field(ge=-LARGEST_REPORT, le=LARGEST_REPORT)]
IdempotencyKey = Annotated[
    str, Header(pattern=r"^[0-9a-f]{32}$", description="Random; resending is safe with it")
]
Padding = Annotated[
    str, Field(pattern=r"^ *$", description="Spaces, so that bodies have few different sizes")
]


class Body(StrictBody):
    """The base of all bodies."""

    padding: Padding = ""


class Beginning(Body):
    """The survey and the level, chosen before a question is shown."""

    survey: Annotated[str, Field(max_length=64)]
    level: LevelName


class Seal(Body):
    """SHA-256 of the reports with a salt: binds without telling."""

    commitment: Hex256


class Sending(Body):
    """All that a device sends: masked reports, and what they were masked for."""

    # The first wrong report is enough: a body has room for thousands.
    reports: Annotated[list[Report], Field(max_length=200), FailFast()]
    salt: Hex128
    level: LevelName
    survey_hash: Hex256


routes = APIRouter(prefix="/api/v1/participations", tags=["participations"])


@routes.post(
    "",
    status_code=201,
    summary="Choose a level and reserve its cost",
    responses=answers(Reserved, 401, 404, 409, 413, 422, status=201),
)
def reserve(
    services: InServices,
    beginnings: InBeginnings,
    request: Request,
    participant: Participant,
    beginning: Beginning,
    idempotency_key: IdempotencyKey,
) -> Response:
    counted = beginnings.newcomer(request.client.host if request.client else "")
    new = False
    try:
        begun, new = services.participations.reserve(
            participant,
            beginning.survey,
            beginning.level,
            idempotency_key=idempotency_key,
            admit=counted.count,
        )
    finally:
        # Also where something was raised: who was refused is counted for nobody.
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
def show(services: InServices, participant: Participant, participation: str) -> Response:
    opened = services.participations.open(participant, participation)
    answer = {
        **_standing(opened),
        "level": opened.level.name,
        "hash": opened.survey.hash,
        "survey": opened.survey.text,
        # Of all levels, so that the size does not tell which was chosen.
        "masks": masks_of(opened.survey),
    }
    return padded(answer, room=spare(answer["level"], _LONGEST_LEVEL))


@routes.post(
    "/{participation}/seal",
    summary="Commit to the reports that were drawn",
    responses=answers(Standing, 401, 404, 409, 413, 422),
)
def seal(
    services: InServices, participant: Participant, participation: str, seal: Seal
) -> Response:
    return padded(
        _standing(services.participations.seal(participant, participation, seal.commitment))
    )


@routes.put(
    "/{participation}/response",
    status_code=201,
    summary="Send the masked reports",
    responses=answers(Sent, 401, 404, 409, 413, 422, status=201),
)
def respond(
    services: InServices, participant: Participant, participation: str, sent: Sending
) -> Response:
    done, new = services.participations.respond(
        participant,
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
    # Whether something is paid is public; how much would tell the level.
    room = spare(answer["paid"], _LONGEST_PAID) if answer["paid"] else 0
    return padded(answer, 201 if new else 200, room=room)


@routes.post(
    "/{participation}/withdraw",
    summary="Delete the reports; the cost stays spent",
    responses=answers(Standing, 401, 404, 409),
)
def withdraw(services: InServices, participant: Participant, participation: str) -> Response:
    return padded(_standing(services.participations.withdraw(participant, participation)))


@routes.post(
    "/{participation}/abandon",
    summary="Give up before sending",
    responses=answers(Standing, 401, 404, 409),
)
def abandon(services: InServices, participant: Participant, participation: str) -> Response:
    return padded(_standing(services.participations.abandon(participant, participation)))


_LONGEST_LEVEL = 64  # room for the longest name of a level
_LONGEST_PAID = 96


def _paid(done: Participation) -> dict[str, Any] | None:
    reward = done.survey.reward
    if reward is None or not reward.pays:
        return None
    return {"currency": reward.currency, "amount": reward.paid(done.level.name)}


def _standing(participation: Participation) -> dict[str, Any]:
    return {"id": participation.id, "state": participation.state}
