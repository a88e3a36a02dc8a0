"""The routes of a person's own account: what is left, what was spent, caps, export, leaving."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from masquerade.accounting import Caps, Entry, Rho
from masquerade.exact import MICRO, Loss
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.http.bodies import padded, spare
from masquerade.server.participants.privacy_balance import PrivacyAccount, caps_json
from masquerade.server.participants.profile import RAISE_DAYS
from masquerade.server.routes.dependencies import InServices, Participant
from masquerade.server.routes.participations import Body
from masquerade.server.routes.response_models import (
    CapsSet,
    Export,
    Invitations,
    LedgerPage,
    Left,
    Me,
    answers,
)
from masquerade.server.routes.wallets import wallet_json
from masquerade.server.services import Services
from masquerade.server.surveys.frozen_surveys import FrozenSurvey
from masquerade.server.surveys.invitation import invitation, longest_mechanisms

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
    """Caps to lower, or to raise; what is left out stays."""

    epsilon: Annotated[float, Field(ge=0, le=LARGEST_CAP)] | None = None
    delta: Annotated[float, Field(ge=0, le=0.01)] | None = None
    clear: Annotated[int, Field(ge=0, le=1000)] | None = None
    confirm: bool = Field(default=False, description="Needed to raise a cap")


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
    found, following = services.profiles.invitations(participant, after=cursor, limit=limit)
    shown = [
        {
            **invitation(one.survey, state=one.state),
            "participation": one.participation,
        }
        for one in found
    ]
    room = sum(spare((one["participation"] or {}).get("level"), _LONGEST_LEVEL) for one in shown)
    return padded({"invitations": shown, "next_cursor": following}, room=room)


@routes.get("/me", summary="What this person has left", responses=answers(Me, 401))
def me(services: InServices, participant: Participant) -> Response:
    account = services.profiles.account(participant)
    return padded(
        {
            "battery": account.battery(),
            "caps": _caps(services, participant, account),
            "open_reservations": account.balance.open,
            "statement": list(services.profiles.statement(account)),
        },
        least=_LONGEST_ACCOUNT,
    )


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
    amounts = {
        "total_epsilon": spent.epsilon.to_json(),
        "total_delta": float(spent.delta),
        "method": spent.method,
        "clear": account.balance.spent_clear,
    }
    return padded(
        {
            "entries": entries,
            "total": total,
            **amounts,
            "unit": "worker",
            "next_cursor": str(end) if end < total else None,
        },
        room=_room(entries, surveys) + spare(amounts, _LONGEST_AMOUNTS),
    )


@routes.get(
    "/me/export",
    summary="Everything that is held about this person",
    responses=answers(Export, 401),
)
def export(services: InServices, participant: Participant) -> Response:
    account, chain = services.profiles.page(participant, 0, LONGEST_CHAIN)
    surveys = services.profiles.surveys(chain)
    entries = [_entry(entry, surveys) for entry in chain]
    held, balance = services.profiles.everything(participant), account.balance.to_json()
    room = _room(entries, surveys) + spare(balance, 2 * _LONGEST_AMOUNTS)
    for one in held["participations"]:
        reports = one["reports"] or []
        # As long as the longest number in every place, so that the size tells no report.
        room += spare(reports, _LONGEST_REPORT * len(reports) + 2)
        room += spare(one["level"], _LONGEST_LEVEL)
    wallet = wallet_json(services.wallets, participant)
    amounts = [one["balance"] for one in wallet["wallets"]]
    amounts += [one["amount"] for one in wallet["payouts"]]
    room += sum(spare(amount, _LONGEST_REPORT) for amount in amounts)
    return padded({**held, "balance": balance, "entries": entries, **wallet}, room=room)


@routes.patch(
    "/me/caps",
    summary="Lower the caps at once, or raise them later",
    responses=answers(CapsSet, 401, 409, 413, 422),
)
def set_caps(services: InServices, participant: Participant, new: NewCaps) -> Response:
    services.profiles.set_caps(participant, lambda now: _changed(now, new), confirm=new.confirm)
    return padded({"caps": _caps(services, participant, services.profiles.account(participant))})


@routes.delete("/me", summary="Withdraw from all open surveys", responses=answers(Left, 401))
def leave(services: InServices, participant: Participant) -> Response:
    left = services.profiles.leave(participant)
    return padded(
        {
            "withdrawn": left.withdrawn,
            "given_up": left.given_up,
            "kept": left.kept,
            "explanation": [
                "The reports you sent to surveys that are still open are deleted.",
                f"{left.kept} of your responses stay: their surveys are closed and their "
                "results are out.",
                LEDGER_STAYS,
            ],
        }
    )


def _caps(services: Services, who: Pseudonyms, account: PrivacyAccount) -> dict[str, Any]:
    later = services.profiles.caps_to_come(who)
    return {
        **caps_json(account.balance.caps),
        "to_come": None if later is None else {**caps_json(later[0]), "day": later[1]},
        "raise_days": RAISE_DAYS,
    }


def _changed(now: Caps, new: NewCaps) -> Caps:
    return Caps(
        # Down to whole millionths: never more than what was written.
        now.epsilon if new.epsilon is None else Loss(int(Decimal(str(new.epsilon)) * MICRO)),
        now.delta if new.delta is None else Fraction(str(new.delta)),
        now.clear if new.clear is None else new.clear,
    )


def _room(entries: list[dict[str, Any]], surveys: dict[str, FrozenSurvey]) -> int:
    """Return how many bytes entries are shorter than they could be at other levels."""
    names = ("kind", "epsilon_event", "epsilon_user", "rho", "clear")
    return sum(
        spare(entry["mechanisms"], longest_mechanisms(surveys[entry["survey"]]))
        + spare([entry[name] for name in names], _LONGEST_AMOUNTS)
        for entry in entries
        if entry["survey"] in surveys
    )


def _entry(entry: Entry, surveys: dict[str, FrozenSurvey]) -> dict[str, Any]:
    charge = entry.charge
    frozen = surveys.get(charge.survey)
    return {
        "sequence": entry.sequence,
        "kind": charge.kind,
        "survey": charge.survey or None,
        "title": None if frozen is None else frozen.survey.title,
        "mechanisms": list(charge.mechanisms),
        "epsilon_event": charge.event.to_json(),
        "epsilon_user": charge.user.to_json(),
        "rho": Rho(charge.cost.micro_rho).to_json(),
        "clear": charge.cost.clear,
        "caps": None if charge.caps is None else caps_json(charge.caps),
        "day": charge.day,
        "hash": entry.hash,
    }
