"""Selection runs: how many people of each level to ask, decided, kept and explained.

A run sees levels, prices and how many people came; never a person, and never a report.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from masquerade.accounting import Caps
from masquerade.errors import ParameterError, WrongState
from masquerade.server.db.tables import OPEN
from masquerade.server.http.bodies import StrictBody
from masquerade.server.surveys.document import Document
from masquerade.server.surveys.drafts import DRAFT
from masquerade.server.surveys.forecast import expected_levels, margins, offers_of
from masquerade.server.surveys.frozen_surveys import SurveyRecord
from masquerade.server.surveys.lifecycle import Lifecycle, Progress, progress_json
from masquerade.surveys.survey import Survey


class SelectionRequest(StrictBody):
    """The request for a selection run; fields that are left out are as in the plan."""

    budget: Annotated[int, Field(ge=0, le=10**9)] | None = None
    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    policy: Literal["precision", "stratified-random", "random"] | None = None
    precision_target: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="Standard error to stop at, in widths of the range"
    )
    wave: Annotated[int, Field(ge=1, le=5)] | None = None
    response_rate: Annotated[float, Field(gt=0, le=1)] = 1.0
    apply: bool = Field(default=False, description="Whether an open survey takes so many people")


def run_selection(
    lifecycle: Lifecycle,
    team: str,
    token: str,
    selection: SelectionRequest,
    *,
    request: tuple[str, str],
) -> dict[str, Any]:
    """Decide how many people of each level to ask, keep that, and return it.

    Raises
    ------
    NotFound, WrongState, InvalidDocument, ParameterError, IdempotencyConflict
    """
    if lifecycle.drafts.is_draft(token, team=team):
        survey, state = None, DRAFT
        document = lifecycle.drafts.draft(token, team=team).document
        definition, _ = lifecycle.drafts.review(document).require()
        came = {level.name: 0 for level in definition.levels}
    else:
        survey = lifecycle.record(token, team=team)
        state, document = survey.state, lifecycle.document(survey)
        definition = survey.definition
        # Only what the page shows; see `known_levels`.
        came = known_levels(survey, lifecycle.progress(survey), document.plan.shares)
    if selection.apply and state != OPEN:
        raise WrongState(f"this survey is {state}; only an open one takes people.", state=state)
    run = {"state": state, **_decided(document, definition, came, selection, lifecycle.drafts.caps)}
    # Kept before it is applied; a repeated request returns the first run.
    kept = lifecycle.keep_run(token, run, request=request)
    if selection.apply and survey is not None:
        seats = {level["name"]: level["seats"] for level in run["levels"]}
        lifecycle.set_seats(survey, seats)
    return kept


def known_levels(
    survey: SurveyRecord, progress: Progress, shares: Mapping[str, float]
) -> dict[str, int]:
    """Return how many answered at each level, as far as the page of a survey tells it.

    Levels that are not counted apart get their sum in the proportions that were expected, so that
    a run tells no more than the page. The total is exact.
    """
    shown = progress_json(survey, progress)
    known = {level["name"]: level["responses"] for level in shown["levels"]}
    hidden = [name for name, count in known.items() if count is None]
    rest = shown["responses"] - sum(count or 0 for count in known.values())
    planned = {name: shares[name] for name in hidden if shares.get(name)}
    return {**known, **expected_levels(hidden, planned, rest)}


def _decided(
    document: Document,
    definition: Survey,
    came: dict[str, int],
    selection: SelectionRequest,
    caps: Caps,
) -> dict[str, Any]:
    """Return what a run decides, and all that it was decided by."""
    from masquerade.selection import quotas_by_level, quotas_of_wave, worth_by_level

    plan = document.plan
    names = [level.name for level in definition.levels]
    prices = {name: plan.prices.get(name, 0) for name in names}
    # More may have come than were planned, and none of them can be left out.
    people = max(plan.people, sum(came.values()))
    expected = expected_levels(names, plan.shares, people)
    # At no level can there be fewer people than have answered there.
    expected = {name: max(expected[name], came[name]) for name in names}
    paid = any(prices.values())
    # Where nobody is paid, a wave divides people: each costs one.
    costs = prices if paid or selection.wave is None else dict.fromkeys(names, 1)
    offers = offers_of(definition, expected, costs, caps)
    budget = plan.budget if selection.budget is None else selection.budget
    alpha = float(plan.alpha if selection.alpha is None else selection.alpha)
    policy = selection.policy or plan.policy
    if selection.wave is None:
        seats = quotas_by_level(
            offers,
            budget=budget,
            policy=policy,
            alpha=alpha,
            precision_target=selection.precision_target,
        )
        # Seats include those who came; fewer would count people as too many afterwards.
        total = {name: max(seats[name], came[name]) for name in names}
    else:
        if policy != "precision":
            raise ParameterError(f"policy is {policy!r}; a wave needs the policy 'precision'.")
        if budget is None:
            budget = sum(expected[name] * costs[name] for name in names)
        seats = quotas_of_wave(
            offers,
            budget=float(budget),
            wave=selection.wave,
            response_rate=selection.response_rate,
            responded=came,
            alpha=alpha,
        )
        total = {name: came[name] + seats[name] for name in names}
    worth = worth_by_level(offers, budget=budget, alpha=alpha)
    inputs = [
        [o.name, o.people, o.price, o.noise_variance, o.privacy_share, came[o.name]] for o in offers
    ]
    return {
        "policy": policy,
        "alpha": alpha,
        "budget": budget,
        "precision_target": selection.precision_target,
        "wave": selection.wave,
        "response_rate": selection.response_rate,
        # Ties the decision to what it was decided by, so that it can be computed again and
        # compared.
        "inputs": hashlib.sha256(json.dumps(inputs).encode()).hexdigest(),
        "cost": sum(total[name] * prices[name] for name in names),
        "currency": plan.currency,
        "responses": sum(came.values()),
        "expected": round(sum(seats.values()) * selection.response_rate),
        "levels": [
            {
                "name": offer.name,
                "responded": came[offer.name],
                "asked": seats[offer.name],
                "seats": total[offer.name],
                "price": prices[offer.name],
                "noise_variance": offer.noise_variance,
                # JSON has no infinity.
                "privacy_share": offer.privacy_share if offer.privacy_share < math.inf else None,
                "precision": worth[offer.name][0],
                "burden": worth[offer.name][1] if worth[offer.name][1] < math.inf else None,
            }
            for offer in offers
        ],
        "questions": margins(definition, total, estimator=document.estimator),
        "why": _why(policy, alpha, selection, paid=paid),
        "applied": selection.apply,
    }


def _why(policy: str, alpha: float, selection: SelectionRequest, *, paid: bool) -> str:
    how = {
        "precision": "whoever adds most precision for money and privacy comes first, with seats "
        "for every level",
        "stratified-random": "each level by its share of the people, at random",
        "random": "anybody, at random",
    }[policy]
    parts = [f"People are asked by level alone: {how}."]
    if alpha:
        parts.append(f"Privacy that is used up counts {alpha:g}, money {1 - alpha:g}.")
    if selection.precision_target is not None and policy == "precision":
        parts.append(f"It stops at a standard error of {selection.precision_target:g} widths.")
    if selection.wave is not None:
        parts.append(f"Wave {selection.wave}: who came counts, what they reported does not.")
        if not paid:
            parts.append("Nobody is paid, so the budget counts people.")
    return " ".join(parts)
