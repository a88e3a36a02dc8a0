"""The routes of wallets and payout requests."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.http.bodies import padded, spare
from masquerade.server.payments.wallets import Payout, Wallets
from masquerade.server.routes.dependencies import InServices, Participant
from masquerade.server.routes.participations import Body, Hex128, IdempotencyKey
from masquerade.server.routes.response_models import PayoutAsked, WalletPage, answers

_LONGEST_AMOUNT = 20


class Wish(Body):
    """A payout request: the amount, and where to pay it."""

    payer: Hex128
    currency: Annotated[str, Field(max_length=16)]
    amount: Annotated[int, Field(ge=1, le=10**12)] | None = None
    destination: Annotated[
        str,
        Field(
            max_length=400,
            description="Read by people who pay; deleted once they have. Visible letters, one line",
            json_schema_extra={"pattern": r"\S"},
        ),
    ]


routes = APIRouter(prefix="/api/v1/me", tags=["account"])


@routes.get("/wallet", summary="What this person is owed", responses=answers(WalletPage, 401))
def read(services: InServices, participant: Participant) -> Response:
    held = wallet_json(services.wallets, participant)
    amounts = [one["balance"] for one in held["wallets"]]
    amounts += [one["amount"] for one in held["payouts"]]
    # The amount says at which levels somebody took part.
    return padded(held, room=sum(spare(amount, _LONGEST_AMOUNT) for amount in amounts))


@routes.post(
    "/payouts",
    status_code=201,
    summary="Ask to be paid",
    responses=answers(PayoutAsked, 401, 404, 409, 413, 422, status=201),
)
def ask(
    services: InServices, participant: Participant, wish: Wish, idempotency_key: IdempotencyKey
) -> Response:
    payout, new = services.wallets.ask(
        participant,
        payer=wish.payer,
        currency=wish.currency,
        amount=wish.amount,
        destination=wish.destination,
        idempotency_key=idempotency_key,
    )
    return _payout(payout, 201 if new else 200)


@routes.post(
    "/payouts/{payout}/take-back",
    summary="Put a payout that was not made back into the wallet",
    responses=answers(PayoutAsked, 401, 404, 409),
)
def take_back(services: InServices, participant: Participant, payout: str) -> Response:
    return _payout(services.wallets.take_back(participant, payout))


def wallet_json(service: Wallets, participant: Pseudonyms) -> dict[str, Any]:
    """Return what a person is owed and asked for."""
    wallets, payouts = service.of(participant)
    return {"wallets": [asdict(one) for one in wallets], "payouts": [asdict(p) for p in payouts]}


def _payout(payout: Payout, status: int = 200) -> Response:
    answer = {"payout": asdict(payout)}
    return padded(answer, status, room=spare(payout.amount, _LONGEST_AMOUNT))
