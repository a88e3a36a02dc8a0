"""The interface and the page of a team's money."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Header, Path, Request
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, Field
from pydantic.config import JsonDict
from starlette.responses import Response

from masquerade.errors import MasqueradeError, ParameterError
from masquerade.server.http.pages import render
from masquerade.server.http.problem import file_answer, status_of
from masquerade.server.http.request_body import StrictBody
from masquerade.server.payments.funds import LARGEST_AMOUNT, Funds, Overview
from masquerade.server.payments.wallets import Payout
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.services import Services

HERE = "/funds"

Key = Annotated[
    str, Header(pattern=r"^[0-9a-f-]{16,64}$", description="Random; resending is safe with it")
]
PayoutId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
_FORM_KEY = r"^[0-9a-f]{32}$"


# The bounds are told here and checked where amounts move, for pages too.
_BOUNDS: JsonDict = {"minimum": 1, "maximum": LARGEST_AMOUNT}
Amount = Annotated[int, Field(description="Whole units of the currency", json_schema_extra=_BOUNDS)]


class Movement(StrictBody):
    """An amount that came from outside, or goes back there."""

    amount: Amount
    currency: Annotated[str, Field(max_length=64)] = "credits"
    note: Annotated[str, Field(max_length=400)] = ""


class _MovementForm(BaseModel):
    """The same as it is typed into the page, with a field against forged requests beside it."""

    amount: str = ""
    currency: str = ""
    note: str = ""
    key: Annotated[str, Field(pattern=_FORM_KEY)] = ""


MovementForm = Annotated[_MovementForm, Form()]


class TopUp(StrictBody):
    """An additional amount that an open survey may spend."""

    amount: Amount


routes = APIRouter(tags=["funds"])
Owner = Annotated[Actor, Depends(require("funds:manage"))]


@routes.get("/api/v1/funds", summary="A team's money")
def read(services: InServices, actor: Owner) -> dict[str, Any]:
    return overview_json(services.funds.overview(actor.team.id))


@routes.post("/api/v1/funds/deposits", status_code=201, summary="Money came from outside")
def deposit(services: InServices, actor: Owner, moved: Movement, idempotency_key: Key) -> Response:
    new = _move(services.funds, actor, moved, key=idempotency_key, into=True)
    # 201 where money was moved now, 200 where the same request had moved it before.
    return JSONResponse(overview_json(services.funds.overview(actor.team.id)), 201 if new else 200)


@routes.post("/api/v1/funds/withdrawals", status_code=201, summary="Money goes back outside")
def withdraw(services: InServices, actor: Owner, moved: Movement, idempotency_key: Key) -> Response:
    new = _move(services.funds, actor, moved, key=idempotency_key, into=False)
    return JSONResponse(overview_json(services.funds.overview(actor.team.id)), 201 if new else 200)


@routes.post(
    "/api/v1/funds/surveys/{token}", status_code=201, summary="Give an open survey more money"
)
def top_up(
    services: InServices, actor: Owner, token: str, more: TopUp, idempotency_key: Key
) -> Response:
    new = services.funds.top_up(
        actor.team.id, actor.survey(token).token, more.amount, key=idempotency_key
    )
    return JSONResponse(overview_json(services.funds.overview(actor.team.id)), 201 if new else 200)


@routes.get("/api/v1/funds/payouts", summary="What participants asked to be paid")
def payouts(services: InServices, actor: Owner) -> dict[str, Any]:
    return {"payouts": [payout_json(one) for one in services.funds.payouts(actor.team.id)]}


@routes.get(
    "/api/v1/funds/payouts.csv",
    summary="The same as a file, to pay by",
    **file_answer("text/csv"),
)
def payouts_file(services: InServices, actor: Owner) -> Response:
    return _csv(services.funds.payouts_csv(actor.team.id))


@routes.post("/api/v1/funds/payouts/{payout}/paid", summary="A payout was made")
def paid(services: InServices, actor: Owner, payout: PayoutId) -> dict[str, Any]:
    services.funds.settle_payouts(actor.team.id, [payout], paid=True)
    return {"payouts": [payout_json(one) for one in services.funds.payouts(actor.team.id)]}


@routes.post("/api/v1/funds/payouts/{payout}/refused", summary="A payout will not be made")
def refused(services: InServices, actor: Owner, payout: PayoutId) -> dict[str, Any]:
    services.funds.settle_payouts(actor.team.id, [payout], paid=False)
    return {"payouts": [payout_json(one) for one in services.funds.payouts(actor.team.id)]}


pages = APIRouter(include_in_schema=False, prefix=HERE)


@pages.get("")
def show(services: InServices, request: Request, actor: Owner) -> Response:
    return _page(services, request, actor)


@pages.post("/deposits")
def deposit_page(
    services: InServices, request: Request, actor: Owner, typed: MovementForm
) -> Response:
    return _move_page(services, request, actor, typed, into=True)


@pages.post("/withdrawals")
def withdraw_page(
    services: InServices, request: Request, actor: Owner, typed: MovementForm
) -> Response:
    return _move_page(services, request, actor, typed, into=False)


@pages.post("/surveys/{token}")
def top_up_page(
    services: InServices,
    request: Request,
    actor: Owner,
    token: str,
    amount: Annotated[str, Form()] = "",
    key: Annotated[str, Form(pattern=_FORM_KEY)] = "",
) -> Response:
    survey = actor.survey(token)
    try:
        services.funds.top_up(
            survey.team, survey.token, _whole(amount), key=key or secrets.token_hex(16)
        )
    except MasqueradeError as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse(HERE, 303)


@pages.post("/payouts")
def settle(
    services: InServices,
    request: Request,
    actor: Owner,
    payouts: Annotated[list[str] | None, Form()] = None,
    refuse: Annotated[str, Form()] = "",
) -> Response:
    try:
        if not payouts:
            raise ParameterError("tick the payouts first.")
        services.funds.settle_payouts(actor.team.id, payouts, paid=not refuse)
    except MasqueradeError as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse(HERE, 303)


@pages.get("/payouts.csv")
def payouts_file_page(services: InServices, actor: Owner) -> Response:
    return _csv(services.funds.payouts_csv(actor.team.id))


def _move_page(
    services: Services, request: Request, actor: Actor, typed: _MovementForm, *, into: bool
) -> Response:
    try:
        moved = Movement(
            amount=_whole(typed.amount), currency=typed.currency[:64], note=typed.note[:400]
        )
        _move(services.funds, actor, moved, key=typed.key or secrets.token_hex(16), into=into)
    except MasqueradeError as error:
        tried = typed.model_dump(exclude={"key"}) | {"into": into}
        return _page(services, request, actor, error=error, tried=tried)
    return RedirectResponse(HERE, 303)


def _page(
    services: Services,
    request: Request,
    actor: Actor,
    *,
    error: MasqueradeError | None = None,
    tried: dict[str, Any] | None = None,
) -> Response:
    found = services.funds.overview(actor.team.id)
    context = {
        "money": found,
        "titles": {one.token: one.title for one in found.surveys},
        "words": _WORDS,
        # In each form of the page: a second click sends the same key and moves nothing.
        "key": secrets.token_hex(16),
        "error": error,
        "tried": tried or {},
        "commission": services.commission_percent,
    }
    return render(
        request, "surveyor/funds.html", context, status=status_of(error)[0] if error else 200
    )


_WORDS = {
    "deposit": "Paid in",
    "withdrawal": "Taken out",
    "escrow": "Given to a survey",
    "refund": "Back from a survey",
    "hold": "Set aside for people who began",
    "release": "Not needed after all",
    "pay": "Earned by participants",
    "commission": "Commission",
    "payout": "Asked to be paid out",
    "paid_out": "Paid out",
    "taken_back": "Taken back by participants",
}


def overview_json(money: Overview) -> dict[str, Any]:
    """Return a team's money as the interface shows it."""
    names = ("currency", "free", "in_surveys", "held", "owed", "waiting", "commission", "paid_in")
    of_survey = ("token", "title", "state", "currency", "given", "left", "held", "spent")
    of_line = ("day", "what", "currency", "note", "amount", "count")
    return {
        "balances": [{n: getattr(one, n) for n in names} for one in money.standings],
        "surveys": [{n: getattr(one, n) for n in of_survey} for one in money.surveys],
        "payouts": {"waiting": len(money.payouts)},
        "history": [{n: getattr(one, n) for n in of_line} for one in money.history],
    }


def payout_json(payout: Payout) -> dict[str, Any]:
    """Return a payout as the interface shows it."""
    return {
        "id": payout.id,
        "payer": payout.payer,
        "currency": payout.currency,
        "amount": payout.amount,
        "destination": payout.destination,
        "state": payout.state,
        "day": payout.day,
    }


def _move(funds: Funds, actor: Actor, moved: Movement, *, key: str, into: bool) -> bool:
    way = funds.pay_in if into else funds.take_out
    return way(
        actor.team.id, amount=moved.amount, currency=moved.currency, note=moved.note, key=key
    )


def _whole(text: str) -> int:
    digits = "".join(text.split())
    if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
        raise ParameterError(f"the amount is {text[:40]!r}, expected a whole number above 0.")
    return int(digits)


def _csv(text: str) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="payouts.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
