"""Selection runs: how many people of each level to ask, decided, kept and explained.

A run sees levels, prices and how many people came; never a person, and never a report.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from masquerade.errors import InvalidDocument, ParameterError, WrongState
from masquerade.server.building.document import definition_of
from masquerade.server.building.drafts import DRAFT
from masquerade.server.building.forecast import expected_levels, margins, offers_of
from masquerade.server.store import Store
from masquerade.server.surveys import OPEN
from masquerade.server.team import Actor


class Wish(BaseModel):
    """What a selection run is to decide; what is left out is as in the plan."""

    model_config = ConfigDict(extra="forbid", strict=True)

    budget: Annotated[int, Field(ge=0, le=10**9)] | None = None
    alpha: Annotated[int | float, Field(ge=0, le=1)] | None = None
    policy: Literal["precision", "stratified-random", "random"] | None = None
    precision_target: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="Standard error to stop at, in widths of the range"
    )
    wave: Annotated[int, Field(ge=1, le=5)] | None = None
    response_rate: Annotated[float, Field(gt=0, le=1)] = 1.0
    apply: bool = Field(default=False, description="Whether an open survey takes so many people")


def run_selection(
    store: Store, actor: Actor, token: str, wish: Wish, *, request: tuple[str, str]
) -> dict[str, Any]:
    """Decide how many people of each level to ask, keep that, and return it.

    Raises
    ------
    NotFound, WrongState, InvalidDocument, ParameterError, IdempotencyConflict
    """
    from masquerade.selection import seats_by_level, seats_of_wave

    workshop = store.workshop
    if workshop.is_draft(token, team=actor.team.id):
        survey, state = None, DRAFT
        document = workshop.draft(token, team=actor.team.id).document
        if places := workshop.places(document):
            raise InvalidDocument(places)
        definition = definition_of(document)
        came = {level.name: 0 for level in definition.levels}
    else:
        survey = actor.survey(token)
        state, document = survey.state, workshop.document(survey)
        definition = survey.definition
        came = workshop.progress(survey).responses
    if wish.apply and state != OPEN:
        raise WrongState(f"this survey is {state}; only an open one takes people.", state=state)
    plan = document.plan
    names = [level.name for level in definition.levels]
    prices = {name: plan.prices.get(name, 0) for name in names}
    people = max(plan.people, sum(came.values()))
    expected = expected_levels(names, plan.shares, people)
    expected = {name: max(expected[name], came[name]) for name in names}
    offers = offers_of(definition, expected, prices, workshop.caps)
    budget = plan.budget if wish.budget is None else wish.budget
    alpha = float(plan.alpha if wish.alpha is None else wish.alpha)
    policy = wish.policy or plan.policy
    if wish.wave is None:
        seats = seats_by_level(
            offers,
            budget=budget,
            policy=policy,
            alpha=alpha,
            precision_target=wish.precision_target,
        )
        total = {name: max(seats[name], came[name]) for name in names}
    else:
        if budget is None or policy != "precision":
            raise ParameterError("a wave needs a budget, and the policy 'precision'.")
        seats = seats_of_wave(
            offers,
            budget=float(budget),
            wave=wish.wave,
            response_rate=wish.response_rate,
            responded=came,
            alpha=alpha,
        )
        total = {name: came[name] + seats[name] for name in names}
    inputs = [
        [o.name, o.people, o.price, o.noise_variance, o.privacy_share, came[o.name]] for o in offers
    ]
    run = {
        "state": state,
        "policy": policy,
        "alpha": alpha,
        "budget": budget,
        "precision_target": wish.precision_target,
        "wave": wish.wave,
        "response_rate": wish.response_rate,
        "inputs": hashlib.sha256(json.dumps(inputs).encode()).hexdigest(),
        "cost": sum(total[name] * prices[name] for name in names),
        "currency": plan.currency,
        "levels": [
            {
                "name": name,
                "responded": came[name],
                "asked": seats[name],
                "seats": total[name],
                "price": prices[name],
            }
            for name in names
        ],
        "questions": margins(definition, total, estimator=document.estimator),
        "why": _why(policy, alpha, wish),
        "applied": wish.apply,
    }
    kept = workshop.keep_run(token, run, request=request)
    if wish.apply and survey is not None:
        workshop.set_seats(survey, total)
    return kept


def _why(policy: str, alpha: float, wish: Wish) -> str:
    how = {
        "precision": "whoever adds most precision for money and privacy comes first, with seats "
        "for every level",
        "stratified-random": "each level by its share of the people, at random",
        "random": "anybody, at random",
    }[policy]
    parts = [f"People are asked by level alone: {how}."]
    if alpha:
        parts.append(f"Privacy that is used up counts {alpha:g}, money {1 - alpha:g}.")
    if wish.precision_target is not None and policy == "precision":
        parts.append(f"It stops at a standard error of {wish.precision_target:g} widths.")
    if wish.wave is not None:
        parts.append(f"Wave {wish.wave}: who came counts, what they reported does not.")
    return " ".join(parts)
