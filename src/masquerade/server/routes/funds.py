"""The interface and the page of a team's money."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Depends, Form, Path
from pydantic import Field
from pydantic.config import JsonDict
from starlette.datastructures import FormData
from starlette.responses import Response

from masquerade.errors import MasqueradeError, ParameterError
from masquerade.server.http.problem import file_answer
from masquerade.server.payments.funds import (
    LARGEST_AMOUNT,
    FundsBalance,
    StatementLine,
    SurveyMoney,
)
from masquerade.server.payments.wallets import Payout
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.forms import FormBody, Key, Text, form, page

HERE = "/funds"
PayoutId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
Payouts = dict[Literal["payouts"], list[Payout]]

# The bounds are told here and checked where amounts move, for pages too.
_BOUNDS: JsonDict = {"minimum": 1, "maximum": LARGEST_AMOUNT}
_LONGEST = {"currency": 64, "note": 400}


class TopUp(FormBody):
    """An additional amount that an open survey may spend."""

    amount: Annotated[
        int, Field(description="Whole units of the currency", json_schema_extra=_BOUNDS)
    ]

    @classmethod
    def of_form(cls, fields: FormData) -> Self:
        """Return what was typed: an amount of digits, with spaces between them."""
        digits = "".join(str(fields.get("amount", "")).split())
        if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
            raise ParameterError(
                f"the amount is {str(fields.get('amount', ''))[:40]!r}, expected a whole number "
                "above 0."
            )
        texts = {name: str(fields.get(name, ""))[:most] for name, most in _LONGEST.items()}
        known = {name: text for name, text in texts.items() if name in cls.model_fields}
        return cls(amount=int(digits), **known)


class Movement(TopUp):
    """An amount that came from outside, or goes back there."""

    currency: Annotated[
        str, Field(max_length=_LONGEST["currency"], json_schema_extra={"minLength": 1})
    ] = "credits"
    note: Annotated[str, Field(max_length=_LONGEST["note"])] = ""


routes = APIRouter(tags=["funds"], prefix="/api/v1/funds")
pages = APIRouter(include_in_schema=False, prefix=HERE)
Owner = Annotated[Actor, Depends(require("funds:manage"))]


@dataclass(frozen=True, slots=True)
class FundsResponse:
    """A team's money as the interface tells it."""

    balances: list[FundsBalance]
    surveys: list[SurveyMoney]
    payouts: dict[Literal["waiting"], int]
    history: list[StatementLine]


def _funds(actor: Actor, response: Response | None = None, *, new: bool = False) -> FundsResponse:
    if response is not None:
        # 201 where money was moved now, 200 where the same request had moved it before.
        response.status_code = 201 if new else 200
    money = actor.services.funds.overview(actor.team.id)
    waiting: dict[Literal["waiting"], int] = {"waiting": len(money.payouts)}
    return FundsResponse(money.balances, money.surveys, waiting, money.history)


@page(pages, "")
def funds_page(
    actor: Owner,
    *,
    error: MasqueradeError | None = None,
    movement: Mapping[str, Any] | None = None,
    into: bool = False,
    **_: Any,
) -> Response:
    money = actor.services.funds.overview(actor.team.id)
    context = {
        "money": money,
        "titles": {one.token: one.title for one in money.surveys},
        "words": _WORDS,
        # In each form of the page: a second click sends the same key and moves nothing.
        "key": secrets.token_hex(16),
        "tried": {**movement, "into": into} if movement else {},
        "commission": actor.services.commission_percent,
    }
    return actor.page("surveyor/funds.html", context, error=error)


@routes.get("", summary="A team's money")
def read(actor: Owner) -> FundsResponse:
    return _funds(actor)


@routes.post("/deposits", status_code=201, summary="Money came from outside")
@form(pages, "/deposits", then=HERE, refused=partial(funds_page, into=True))
@audited("paid in")
def deposit(
    actor: Owner, movement: Movement, idempotency_key: Key, response: Response
) -> FundsResponse:
    new = actor.services.funds.pay_in(actor.team.id, **movement.model_dump(), key=idempotency_key)
    return _funds(actor, response, new=new)


@routes.post("/withdrawals", status_code=201, summary="Money goes back outside")
@form(pages, "/withdrawals", then=HERE, refused=funds_page)
@audited("took money out")
def withdraw(
    actor: Owner, movement: Movement, idempotency_key: Key, response: Response
) -> FundsResponse:
    new = actor.services.funds.take_out(actor.team.id, **movement.model_dump(), key=idempotency_key)
    return _funds(actor, response, new=new)


@routes.post("/surveys/{token}", status_code=201, summary="Give an open survey more money")
@form(pages, "/surveys/{token}", then=HERE, refused=funds_page)
@audited("gave a survey more money")
def top_up(
    actor: Owner, token: str, more: TopUp, idempotency_key: Key, response: Response
) -> FundsResponse:
    survey = actor.survey(token)
    new = actor.services.funds.top_up(survey.team, survey.token, more.amount, key=idempotency_key)
    return _funds(actor, response, new=new)


@routes.get("/payouts", summary="What participants asked to be paid")
def payouts(actor: Owner) -> Payouts:
    return {"payouts": actor.services.funds.payouts(actor.team.id)}


# Reading, but it takes away where people want to be paid.
@routes.get("/payouts.csv", summary="The same as a file, to pay by", **file_answer("text/csv"))
@pages.get("/payouts.csv")
@audited("took the list of payouts away")
def payouts_file(actor: Owner) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="payouts.csv"'}
    text = actor.services.funds.payouts_csv(actor.team.id)
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@routes.post("/payouts/{payout}/paid", summary="A payout was made")
@audited("paid out")
def paid(actor: Owner, payout: PayoutId) -> Payouts:
    actor.services.funds.settle_payouts(actor.team.id, [payout], paid=True)
    return payouts(actor)


@routes.post("/payouts/{payout}/refused", summary="A payout will not be made")
@audited("refused to pay out")
def refused(actor: Owner, payout: PayoutId) -> Payouts:
    actor.services.funds.settle_payouts(actor.team.id, [payout], paid=False)
    return payouts(actor)


@form(pages, "/payouts", then=HERE, refused=funds_page)
@audited("settled payouts")
def settle(
    actor: Owner,
    payouts: Annotated[list[str], Form(default_factory=list)],
    refuse: Text = "",
) -> None:
    if not payouts:
        raise ParameterError("tick the payouts first.")
    actor.services.funds.settle_payouts(actor.team.id, payouts, paid=not refuse)


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
