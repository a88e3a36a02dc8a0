"""The routes of a person's own account: budget, spending, caps, export, leaving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from masquerade.accounting import Caps, Entry
from masquerade.exact import MICRO, Micro
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.http.bodies import padded, spare
from masquerade.server.participants.privacy_balance import (
    Amount,
    Battery,
    CapAmounts,
    PrivacyAccount,
    cap_amounts,
)
from masquerade.server.participants.profile import RAISE_DAYS, Departure, HeldData
from masquerade.server.routes.dependencies import (
    InServices,
    Participant,
    ParticipantSecret,
    answers,
)
from masquerade.server.routes.participations import Body, Invitation
from masquerade.server.services import Services
from masquerade.server.surveys.survey_records import FrozenSurvey, invitation, longest_mechanisms

LARGEST_CAP = 1000
LONGEST_CHAIN = 2**31 - 1
_MOST_AT_ONCE = 100
Limit = Annotated[int, Query(ge=1, le=_MOST_AT_ONCE)]

# Lengths in bytes that what differs between levels and answers is treated as if it had.
_LONGEST_LEVEL, _LONGEST_REPORT, _LONGEST_AMOUNTS = 34, 20, 256
_LONGEST_ACCOUNT = 2560

LEDGER_STAYS = (
    "The entries of your ledger stay, under a name that only your secret leads to: otherwise "
    "coming back would begin with a full budget, and nothing promised to you would hold."
)


class NewCaps(Body):
    """Caps to lower, or to raise; missing ones stay."""

    epsilon: Annotated[float, Field(ge=0, le=LARGEST_CAP)] | None = None
    delta: Annotated[float, Field(ge=0, le=0.01)] | None = None
    clear: Annotated[int, Field(ge=0, le=1000)] | None = None
    confirm: bool = Field(default=False, description="Needed to raise a cap")


@dataclass(frozen=True, slots=True)
class Participated:
    """A participation with its state."""

    id: str
    state: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnInvitation(Invitation):
    """An invitation with its reader's participation."""

    participation: Participated | None


@dataclass(frozen=True, slots=True)
class Invitations:
    """A page of invitations."""

    invitations: list[OwnInvitation]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class FutureCaps(CapAmounts):
    """Higher caps and the day on which they begin."""

    day: str


@dataclass(frozen=True, slots=True)
class OwnCaps(CapAmounts):
    """Caps as they are and as they will be."""

    to_come: FutureCaps | None
    raise_days: int


@dataclass(frozen=True, slots=True)
class CapsSet:
    """The caps after a change."""

    caps: OwnCaps


@dataclass(frozen=True, slots=True)
class Me:
    """A person's own account: balance, caps and statement."""

    battery: Battery
    caps: OwnCaps
    open_reservations: int
    statement: list[str]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
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
    caps: CapAmounts | None
    day: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """A page of a person's account."""

    entries: list[LedgerEntry]
    total: int
    total_epsilon: Amount
    total_delta: float
    method: str
    unit: str = "worker"
    clear: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Export(HeldData):
    """Everything that is held about a person, as it is kept."""

    balance: Mapping[str, object]
    entries: list[LedgerEntry]


@dataclass(frozen=True, slots=True)
class Leaving(Departure):
    """The counts of a person's responses as they leave."""

    explanation: list[str]


class FormerSecret(Body):
    """A secret that the same person had before."""

    former: Annotated[str, Field(pattern="^w?[0-9a-f]{32}$")]


@dataclass(frozen=True, slots=True)
class Moving:
    """Whether an account is open to a secret after it was to be moved."""

    moved: bool


routes = APIRouter(prefix="/api/v1", tags=["account"])


@routes.get(
    "/invitations",
    summary="Surveys begun by this person, and open ones listed here",
    responses=answers(Invitations, 401, 422),
)
def invitations(
    services: InServices,
    participant: Participant,
    cursor: Annotated[str, Query(pattern=r"^[0-9a-f]{0,32}$")] = "",
    limit: Limit = 20,
) -> Response:
    page, following = services.profiles.invitations(participant, after=cursor, limit=limit)
    offers = [
        OwnInvitation(
            **invitation(one.survey, state=one.state),
            participation=Participated(**one.participation) if one.participation else None,
        )
        for one in page
    ]
    levels = [one.participation.level if one.participation else None for one in offers]
    room = sum(spare(level, _LONGEST_LEVEL) for level in levels)
    return padded(Invitations(offers, following), room=room)


@routes.get("/me", summary="What this person has left", responses=answers(Me, 401))
def me(services: InServices, participant: Participant) -> Response:
    account = services.profiles.account(participant)
    caps = _caps(services, participant, account)
    statement = list(services.profiles.statement(account))
    answer = Me(account.battery(), caps, account.balance.open, statement)
    return padded(answer, least=_LONGEST_ACCOUNT)


@routes.post(
    "/me/move",
    summary="Let this secret open the account of a former one",
    responses=answers(Moving, 401, 413, 422),
)
def move(services: InServices, secret: ParticipantSecret, former: FormerSecret) -> Response:
    return padded(Moving(services.moved_accounts.move(secret, former.former)))


@routes.get(
    "/me/ledger",
    summary="What this person has spent, step by step",
    responses=answers(LedgerPage, 401, 422),
)
def ledger(
    services: InServices,
    participant: Participant,
    cursor: Annotated[int, Query(ge=0, le=LONGEST_CHAIN - _MOST_AT_ONCE)] = 0,
    limit: Limit = 50,
) -> Response:
    end = cursor + limit
    account, page = services.profiles.page(participant, cursor, end)
    surveys = services.profiles.surveys(page)
    entries, total = [_entry(entry, surveys) for entry in page], account.balance.entries
    spent = account.spent()
    answer = LedgerPage(
        entries=entries,
        total=total,
        total_epsilon=spent.epsilon.to_json(),
        total_delta=float(spent.delta),
        method=spent.method,
        clear=account.balance.spent_clear,
        next_cursor=str(end) if end < total else None,
    )
    varying = ("total_epsilon", "total_delta", "method", "clear")
    amounts = {name: getattr(answer, name) for name in varying}
    return padded(answer, room=_room(entries, surveys) + spare(amounts, _LONGEST_AMOUNTS))


@routes.get(
    "/me/export",
    summary="Everything that is held about this person",
    responses=answers(Export, 401),
)
def export(services: InServices, participant: Participant) -> Response:
    account, chain = services.profiles.page(participant, 0, LONGEST_CHAIN)
    surveys = services.profiles.surveys(chain)
    entries = [_entry(entry, surveys) for entry in chain]
    held = services.profiles.everything(participant)
    answer = Export(
        held.person,
        held.participations,
        held.sealed_reports,
        held.caps_to_come,
        balance=account.balance.to_json(),
        entries=entries,
    )
    room = _room(entries, surveys) + spare(answer.balance, 2 * _LONGEST_AMOUNTS)
    for one in answer.participations:
        reports = one["reports"] or []
        assert isinstance(reports, list)
        # As long as the longest number in every place, so that the size tells no report.
        room += spare(reports, _LONGEST_REPORT * len(reports) + 2)
        room += spare(one["level"], _LONGEST_LEVEL)
    return padded(answer, room=room)


@routes.patch(
    "/me/caps",
    summary="Lower the caps at once, or raise them later",
    responses=answers(CapsSet, 401, 409, 413, 422),
)
def set_caps(services: InServices, participant: Participant, new: NewCaps) -> Response:
    services.profiles.set_caps(participant, lambda now: _changed(now, new), confirm=new.confirm)
    account = services.profiles.account(participant)
    return padded(CapsSet(_caps(services, participant, account)))


@routes.delete("/me", summary="Withdraw from all open surveys", responses=answers(Leaving, 401))
def leave(services: InServices, participant: Participant) -> Response:
    departure = services.profiles.leave(participant)
    explanation = [
        "The reports you sent to surveys that are still open are deleted.",
        f"{departure.kept} of your responses stay: their surveys are closed and their "
        "results are out.",
        LEDGER_STAYS,
    ]
    return padded(Leaving(**asdict(departure), explanation=explanation))


def _caps(services: Services, who: Pseudonyms, account: PrivacyAccount) -> OwnCaps:
    now, later = cap_amounts(account.balance.caps), services.profiles.caps_to_come(who)
    to_come = FutureCaps(**asdict(cap_amounts(later[0])), day=later[1]) if later else None
    return OwnCaps(**asdict(now), to_come=to_come, raise_days=RAISE_DAYS)


def _changed(now: Caps, new: NewCaps) -> Caps:
    return Caps(
        # Down to whole millionths: never more than what was written.
        now.epsilon if new.epsilon is None else Micro(int(Decimal(str(new.epsilon)) * MICRO)),
        now.delta if new.delta is None else Fraction(str(new.delta)),
        now.clear if new.clear is None else new.clear,
    )


def _room(entries: list[LedgerEntry], surveys: dict[str, FrozenSurvey]) -> int:
    """Return how many bytes entries are shorter than they could be at other levels."""
    return sum(
        spare(one.mechanisms, longest_mechanisms(surveys[one.survey]))
        + spare(
            [one.kind, one.epsilon_event, one.epsilon_user, one.rho, one.clear], _LONGEST_AMOUNTS
        )
        for one in entries
        if one.survey in surveys
    )


def _entry(entry: Entry, surveys: dict[str, FrozenSurvey]) -> LedgerEntry:
    charge = entry.charge
    frozen = surveys.get(charge.survey)
    return LedgerEntry(
        sequence=entry.sequence,
        kind=charge.kind,
        survey=charge.survey or None,
        title=None if frozen is None else frozen.survey.title,
        mechanisms=list(charge.mechanisms),
        epsilon_event=charge.event.to_json(),
        epsilon_user=charge.user.to_json(),
        rho=charge.cost.rho.to_json(),
        clear=charge.cost.clear,
        caps=None if charge.caps is None else cap_amounts(charge.caps),
        day=charge.day,
        hash=entry.hash,
    )
