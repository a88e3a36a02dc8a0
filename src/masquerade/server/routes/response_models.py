"""The shapes of all answers to participants, as the interface describes itself.

Answers are made elsewhere, from what the library gives; tests check that each fits its shape.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from masquerade.server.http.problem import Problem

Amount = float | Literal["inf"]


class Shape(BaseModel):
    """A JSON object with these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class Answer(Shape):
    """The base of all answers."""

    padding: str = Field(pattern=r"^ *$", description="Spaces, up to whole kibibytes")


class OfferedLevelShape(Shape):
    """A level in numbers and in words."""

    name: str
    mechanisms: list[str] = Field(description="Text form of each question's mask, in order")
    rho: Amount
    epsilon_single: Amount
    epsilon_event: Amount
    epsilon_user: Amount
    delta: float
    odds: str
    words: str
    words_all: str
    blur: str


class RewardShape(Shape):
    """The reward of a survey: an amount in a wallet at each level, or a completion code."""

    kind: Literal["wallet", "codes"]
    currency: str
    amounts: dict[str, int]


class InvitationShape(Shape):
    """An invitation to a survey: all that everybody may know of it."""

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
    levels: list[OfferedLevelShape]
    masks: dict[str, dict[str, Any]] = Field(
        description="Whole-number form of each mechanism, by its text form"
    )
    linked: list[list[int]] = Field(
        description="Places of questions whose reports can change with one answer"
    )
    fixed_level: str | None
    reward: RewardShape | None
    state: str


class Invitation(InvitationShape, Answer):
    """An invitation by itself."""


class BegunShape(Shape):
    """A participation with its state."""

    id: str
    state: str
    level: str


class OwnInvitation(InvitationShape):
    """An invitation with what its reader has begun."""

    participation: BegunShape | None


class Invitations(Answer):
    """A page of invitations."""

    invitations: list[OwnInvitation]
    next_cursor: str | None


class PriceShape(Shape):
    """The price of a response."""

    rho: Amount
    epsilon_event: Amount
    epsilon_user: Amount
    delta: float
    clear: int


class BatteryShape(Shape):
    """A person's privacy balance."""

    percent_left: int
    epsilon_spent: Amount
    delta: float
    epsilon_cap: Amount
    clear: int
    method: str


class Reserved(Answer):
    """A participation with its price."""

    id: str
    survey: str
    level: str
    state: str
    price: PriceShape
    battery: BatteryShape


class Standing(Answer):
    """The state of a participation after a step."""

    id: str
    state: str


class Opened(Standing):
    """The survey, the same for every level that was chosen."""

    level: str
    hash: str
    survey: str = Field(description="The canonical text of the survey, whose SHA-256 is the hash")
    masks: dict[str, dict[str, Any]]


class BillShape(Shape):
    """The cost of a response, and of all together."""

    survey_epsilon: Amount
    survey_delta: float
    survey_rho: Amount
    total_epsilon: Amount
    total_delta: float
    method: str
    surveys: int
    day: str


class PaidShape(Shape):
    """The amount that came into the wallet."""

    currency: str
    amount: int


class Sent(Standing):
    """The acknowledgement of a response."""

    bill: BillShape
    battery: BatteryShape
    paid: PaidShape | None
    completion_code: str | None


class CapsShape(Shape):
    """The caps on what all responses of a person may cost together."""

    epsilon: Amount
    delta: float
    clear: int
    rho: Amount


class CapsToCome(CapsShape):
    """Higher caps and the day on which they begin."""

    day: str


class OwnCaps(CapsShape):
    """Caps as they are and as they will be."""

    to_come: CapsToCome | None
    raise_days: int


class CapsSet(Answer):
    """The caps after a change."""

    caps: OwnCaps


class Me(Answer):
    """A person's own account: balance, caps and statement."""

    battery: BatteryShape
    caps: OwnCaps
    open_reservations: int
    statement: list[str]


class EntryShape(Shape):
    """A step on a person's account."""

    sequence: int
    kind: str
    survey: str | None
    title: str | None
    mechanisms: list[str]
    epsilon_event: Amount
    epsilon_user: Amount
    rho: Amount
    clear: int
    caps: CapsShape | None
    day: str
    hash: str


class LedgerPage(Answer):
    """A page of a person's account."""

    entries: list[EntryShape]
    total: int
    total_epsilon: Amount
    total_delta: float
    method: str
    unit: str
    clear: int
    next_cursor: str | None


class WalletShape(Shape):
    """A wallet: the amount that a team owes a person."""

    payer: str
    name: str
    currency: str
    balance: int


class PayoutShape(Shape):
    """A payout request; its destination is forgotten once it is settled."""

    id: str
    payer: str
    currency: str
    amount: int
    destination: str
    state: Literal["asked", "paid", "refused", "taken-back"]
    day: str


class WalletPage(Answer):
    """The wallets and payout requests of a person."""

    wallets: list[WalletShape]
    payouts: list[PayoutShape]


class PayoutAsked(Answer):
    """A payout, after it was asked for or taken back."""

    payout: PayoutShape


class Export(Answer):
    """Everything that is held about a person, as it is kept."""

    person: str
    participations: list[dict[str, Any]]
    caps_to_come: list[dict[str, Any]]
    balance: dict[str, Any]
    entries: list[EntryShape]
    wallets: list[WalletShape]
    payouts: list[PayoutShape]


class Left(Answer):
    """The counts of the responses of somebody who left."""

    withdrawn: int
    given_up: int
    kept: int
    explanation: list[str]


class LevelShape(Shape):
    """The parameters of a level."""

    name: str
    mu: str
    rho: float
    sigma_of_range: float
    options: dict[str, dict[str, Any]]


class Levels(Answer):
    """The parameters of all levels."""

    levels: list[LevelShape]
    clear: dict[str, Any]


_REFUSED = {
    401: "The header that says whose request it is is missing or wrong",
    404: "It is not there, or somebody else's",
    409: "It cannot be done now; the problem's type says why",
    413: "The body is too large",
    422: "The request does not have the expected form, or its values are not allowed",
    429: "Too many requests; `Retry-After` says for how long",
}


def answers(shape: type[Answer], *refused: int, status: int = 200) -> dict[int | str, Any]:
    """Return what a route's OpenAPI operation says of its answers.

    Parameters
    ----------
    shape : type
        Of the answer where all goes well.
    *refused : int
        Statuses of problems, beside those that every route can give.
    status : int
        Of the answer where something new was made; the same once more is 200.
    """
    good: dict[int | str, Any] = {
        one: {"model": shape, "description": "Done"} for one in {200, status}
    }
    bad: dict[int | str, Any] = {
        one: {
            "description": _REFUSED[one],
            "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
        }
        for one in sorted({*refused, 429})
    }
    return {**good, **bad}
