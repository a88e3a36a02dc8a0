"""The routes of the participants' protocol: invitation, reserve, open, seal, send; the ways out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Header
from pydantic import FailFast, Field
from starlette.background import BackgroundTask
from starlette.responses import Response

from masquerade.errors import InvalidReport
from masquerade.mechanisms import LEVELS, Level
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.db.tables import PUBLISHED
from masquerade.server.http.bodies import StrictBody, padded, spare
from masquerade.server.http.front import FrontRoute
from masquerade.server.participants.privacy_balance import Amount, Battery, Bill, Price, price
from masquerade.server.participants.steps import (
    Abandon,
    Open,
    Participation,
    Reserve,
    Respond,
    RespondSplit,
    Withdraw,
)
from masquerade.server.participants.steps import Seal as SealStep
from masquerade.server.routes.dependencies import InCaller, InServices, InSettings, answers
from masquerade.server.surveys.document import LevelName
from masquerade.server.surveys.survey_records import invitation, masks_of, participants_state
from masquerade.server.surveys.ways import LONGEST_VALUE, MOST_PARAMETERS

_LONGEST_LEVEL = 64  # room for the longest name of a level
_LONGEST_PAID = 96
_OPTIONS = (2, 3, 4, 5, 7, 10)
Masks = Mapping[str, Mapping[str, object]]
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


# Whole groups of four, the last of them filled up.
_BASE64 = r"^([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class Body(StrictBody):
    """The base of all bodies."""

    padding: Padding = ""


class Beginning(Body):
    """The survey and the level, chosen before a question is shown."""

    survey: Annotated[str, Field(max_length=64)]
    level: LevelName
    ticket: Annotated[
        str,
        Field(max_length=800, pattern=r"^[A-Za-z0-9+/=]*$", description="Prefix and signature"),
    ] = ""


class Exchange(Body):
    """The code of a ticket, and the blinded message that is signed for it."""

    code: Annotated[str, Field(max_length=100)]
    blinded: Annotated[str, Field(max_length=800, pattern=_BASE64)]


class Arrived(Body):
    """A completion code, and the parameters with which a panel sent its holder."""

    code: Annotated[str, Field(max_length=64)]
    parameters: Annotated[
        dict[
            Annotated[str, Field(max_length=32)],
            Annotated[str, Field(max_length=LONGEST_VALUE)],
        ],
        Field(max_length=MOST_PARAMETERS),
    ]


class Seal(Body):
    """SHA-256 of the reports with a salt: binds without telling."""

    commitment: Hex256


class SealOpening(Body):
    """The salt of a seal, with the level and the survey of the answers."""

    salt: Hex128
    level: LevelName
    survey_hash: Hex256


class Sending(SealOpening):
    """All data that a device sends: masked reports, and the level and survey they are for."""

    # The first wrong report is enough: a body has room for thousands.
    reports: Annotated[list[Report], Field(max_length=200), FailFast()]


class SplitSending(SealOpening):
    """A report in two sealed shares, with the level and the survey it is for."""

    # In base64; 4.7 kB hold 30 questions of 7 answers.
    report: Annotated[str, Field(max_length=200_000, pattern=_BASE64)]


@dataclass(frozen=True, slots=True)
class LevelOffer:
    """A level in numbers and in words."""

    name: str
    mechanisms: Annotated[
        list[str], Field(description="Text form of each question's mask, in order")
    ]
    rho: Amount
    epsilon_single: Amount
    epsilon_event: Amount
    epsilon_user: Amount
    delta: float
    odds: str
    words: str
    words_all: str
    blur: str


@dataclass(frozen=True, slots=True)
class DrawOffer:
    """How many blocks each person is asked, and the places of each block's questions."""

    asked: int
    blocks: list[list[int]]


@dataclass(frozen=True, slots=True)
class RewardOffer:
    """The reward of a survey: a completion code, with its amount at each level."""

    kind: Literal["codes"]
    currency: str
    amounts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Approval:
    """The helper's agreement to a survey: hexadecimal, but for the terms."""

    task: str
    configuration: str
    terms: str
    public_key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Parties:
    """The parties that add up the answers to a survey."""

    helper: str
    operator: str
    fingerprint: str
    minimum: int
    assumptions: list[str]
    approval: Approval | None


@dataclass(frozen=True, slots=True)
class SpokenIn:
    """The languages of a survey, and translated texts by language and address."""

    languages: list[str]
    texts: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Signature:
    """A blind signature, in base64."""

    signature: str


@dataclass(frozen=True, slots=True)
class Bound:
    """Whether a completion code is bound to a panel's parameters."""

    bound: bool


@dataclass(frozen=True, slots=True)
class Tickets:
    """The terms of single-use invitations."""

    key: str
    wave: int
    answers_from: str | None
    watched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An invitation to a survey: its public facts."""

    token: str
    title: str
    description: str
    topic: str
    hash: str
    reveal: Literal["before_send", "after_send"]
    simulated: bool
    questions: int
    kinds: dict[str, int]
    template: str
    estimator: str
    levels: list[LevelOffer]
    masks: Annotated[
        Masks, Field(description="Whole-number form of each mechanism, by its text form")
    ]
    linked: Annotated[
        list[list[int]],
        Field(description="Places of questions whose reports can change with one answer"),
    ]
    draw: Annotated[
        DrawOffer | None,
        Field(description="Where each person is asked some blocks of questions; null: all"),
    ]
    fixed_level: str | None
    reward: RewardOffer | None
    panel: Mapping[str, object] | None
    look: Annotated[
        dict[Literal["colour", "logo", "logo_text"], str] | None,
        Field(description="The survey's own colour and logo; null where it has none"),
    ]
    trust: Literal["device", "two-parties"]
    two_parties: Parties | None
    languages: Annotated[
        SpokenIn | None,
        Field(description="Languages of the survey, with its title and description in each"),
    ]
    asked_by: str
    contact: str
    consent: str
    invitations: Tickets | None
    results: Annotated[bool, Field(description="Whether everybody may see the results")]
    state: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """A participation with its price."""

    id: str
    survey: str
    level: str
    state: str
    price: Price
    battery: Battery


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a participation after a step."""

    id: str
    state: str


@dataclass(frozen=True, slots=True)
class Opened(Standing):
    """The survey, the same for every level that was chosen."""

    level: str
    hash: str
    survey: Annotated[
        str, Field(description="The canonical text of the survey, whose SHA-256 is the hash")
    ]
    masks: Masks
    pairs: Annotated[
        list[list[int]] | None,
        Field(
            description="Of each vote on a list the places of the two items that are shown; null "
            "where the survey has no list"
        ),
    ]


@dataclass(frozen=True, slots=True)
class RewardAmount:
    """The amount that a completion code is worth."""

    currency: str
    amount: int


@dataclass(frozen=True, slots=True)
class Sent(Standing):
    """The acknowledgement of a response."""

    bill: Bill
    battery: Battery
    reward: RewardAmount | None
    completion_code: str | None


@dataclass(frozen=True, slots=True)
class LevelParameters:
    """The parameters of a level."""

    name: str
    mu: str
    rho: float
    sigma_of_range: float
    options: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Levels:
    """The parameters of all levels."""

    levels: list[LevelParameters]
    clear: Mapping[str, object]


routes = APIRouter(prefix="/api/v1", tags=["participations"])
#: The steps, which the front answers.
steps = APIRouter(prefix="/api/v1", tags=["participations"], route_class=FrontRoute)
_STEP = "/participations/{participation}"


@routes.get(
    "/surveys/{token}/invitation",
    summary="What a survey asks for, without its questions",
    responses=answers(Invitation, 404),
)
def invite(services: InServices, token: str) -> Response:
    survey, state = services.surveys.frozen(token)
    told = services.tickets.state(survey, participants_state(state))
    facts = invitation(survey, state=told, results=state == PUBLISHED)
    return padded(Invitation(**facts))


@routes.post(
    "/surveys/{token}/ticket",
    summary="Exchange the code of a ticket for a blind signature, without the person's secret",
    responses=answers(Signature, 403, 404, 409, 413, 422),
)
def exchange(services: InServices, token: str, asked: Exchange) -> Response:
    blinded = base64.b64decode(asked.blinded)
    signature = services.tickets.exchange(token, asked.code, blinded)
    return padded(Signature(base64.b64encode(signature).decode()))


@routes.post(
    "/surveys/{token}/panel",
    summary="Bind a completion code to what a panel sent along, without the person's secret",
    responses=answers(Bound, 404, 409, 413, 422),
)
def bind(services: InServices, token: str, arrived: Arrived) -> Response:
    survey, _ = services.surveys.frozen(token)
    person, given = survey.ways.read(arrived.parameters)
    services.completion_codes.bind(survey.token, arrived.code, person, given)
    return padded(Bound(bound=True))


@routes.get("/levels", summary="The parameters of every level", responses=answers(Levels))
def levels(settings: InSettings) -> Response:
    clear = {"name": CLEAR, "allowed": settings.allow_clear}
    return padded(Levels([_level(level) for level in LEVELS], clear))


def _level(level: Level) -> LevelParameters:
    responses: dict[str, Mapping[str, object]] = {}
    for count in _OPTIONS:
        mechanism = level.randomized_response(count)
        responses[str(count)] = {
            "mechanism": str(mechanism),
            "flip_probability": float(mechanism.flip_probability),
            "epsilon": mechanism.guarantee().epsilon_single.to_json(),
        }
    return LevelParameters(level.name, str(level.mu), level.rho, float(1 / level.mu), responses)


@steps.post(
    "/participations",
    status_code=201,
    summary="Choose a level and reserve its cost",
    responses=answers(Reserved, 401, 403, 404, 409, 413, 422, 503, status=201),
)
async def reserve(
    caller: InCaller, beginning: Beginning, idempotency_key: IdempotencyKey
) -> Response:
    counted = caller.beginnings.newcomer(caller.address)
    new = False
    try:
        begun, new = await caller.take(
            Reserve(
                caller.names,
                beginning.survey,
                beginning.level,
                idempotency_key,
                ticket=beginning.ticket,
                admit=counted.count,
            )
        )
    finally:
        # Also where something was raised: who was refused is counted for nobody.
        counted.end(begun=new)
    assert begun.account is not None
    survey, level = begun.survey.token, begun.level
    cost, battery = price(level, survey), begun.account.battery()
    answer = Reserved(begun.id, survey, level.name, begun.state, cost, battery)
    return padded(answer, 201 if new else 200)


@steps.post(
    f"{_STEP}/open",
    summary="Show the questions; the cost is spent",
    responses=answers(Opened, 401, 404, 409, 503),
)
async def show(caller: InCaller, participation: str) -> Response:
    opened, first = await caller.take(Open(caller.names, participation))
    survey, level = opened.survey, opened.level.name
    if first:
        # Now that it is durable: a place of a survey with quotas is held no more.
        caller.beginnings.opened(survey, caller.address)
    # Masks of all levels, so that the size does not tell which was chosen.
    masks = masks_of(survey)
    pairs = None if opened.pairs is None else [list(pair) for pair in opened.pairs]
    answer = Opened(opened.id, opened.state, level, survey.hash, survey.text, masks, pairs)
    return padded(answer, room=spare(level, _LONGEST_LEVEL))


@steps.post(
    f"{_STEP}/seal",
    summary="Commit to the reports that were drawn",
    responses=answers(Standing, 401, 404, 409, 413, 422, 503),
)
async def seal(caller: InCaller, participation: str, sealed: Seal) -> Response:
    return _stand(await caller.take(SealStep(caller.names, participation, sealed.commitment)))


@steps.put(
    f"{_STEP}/response",
    status_code=201,
    summary="Send the masked reports",
    responses=answers(Sent, 401, 404, 409, 413, 422, 503, status=201),
)
async def respond(caller: InCaller, participation: str, sent: Sending) -> Response:
    masked_for = sent.salt, sent.level, sent.survey_hash
    done, new = await caller.take(Respond(caller.names, participation, *masked_for, sent.reports))
    answer = _sent(done, new)
    plans = caller.services.pair_plans
    if new and plans.concern(done.survey):
        # Afterwards: a plan takes time, and what it runs into is not this person's.
        answer.background = BackgroundTask(plans.arrived, done.survey)
    return answer


@steps.put(
    f"{_STEP}/sealed-report",
    status_code=201,
    summary="Send the answers in two sealed shares",
    responses=answers(Sent, 401, 404, 409, 413, 422, 503, status=201),
)
async def respond_split(caller: InCaller, participation: str, sent: SplitSending) -> Response:
    try:
        report = base64.b64decode(sent.report, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidReport("the report is no base64 text.") from None
    masked_for = sent.salt, sent.level, sent.survey_hash
    return _sent(*await caller.take(RespondSplit(caller.names, participation, *masked_for, report)))


def _sent(done: Participation, new: bool) -> Response:
    """Return the acknowledgement of a response."""
    assert done.account is not None
    reward, due = done.survey.reward, None
    if reward is not None and any(reward.prices.values()):
        due = RewardAmount(reward.currency, reward.amount(done.level.name))
    bill, battery = done.account.bill(done.key, done.level), done.account.battery()
    answer = Sent(done.id, done.state, bill, battery, due, done.completion_code)
    # Whether a code is worth something is public; how much would tell the level.
    room = spare(due, _LONGEST_PAID) if due else 0
    return padded(answer, 201 if new else 200, room=room)


@steps.post(
    f"{_STEP}/withdraw",
    summary="Delete the reports; the cost stays spent",
    responses=answers(Standing, 401, 404, 409, 503),
)
async def withdraw(caller: InCaller, participation: str) -> Response:
    return _stand(await caller.take(Withdraw(caller.names, participation)))


@steps.post(
    f"{_STEP}/abandon",
    summary="Give up before sending",
    responses=answers(Standing, 401, 404, 409, 503),
)
async def abandon(caller: InCaller, participation: str) -> Response:
    return _stand(await caller.take(Abandon(caller.names, participation)))


def _stand(participation: Participation) -> Response:
    return padded(Standing(participation.id, participation.state))
