"""Opening a draft with the quotas and the reward of its plan."""

from __future__ import annotations

from collections.abc import Mapping

from masquerade.server.payments.rewards import NOTHING, Reward, reward_and_budget
from masquerade.server.surveys.document import Plan
from masquerade.server.surveys.frozen_surveys import SurveyRecord
from masquerade.server.surveys.lifecycle import Lifecycle


def open_draft(
    lifecycle: Lifecycle,
    team: str,
    token: str,
    *,
    commission_percent: int,
    version: int | None = None,
) -> SurveyRecord:
    """Open a draft of a team, with the quotas and the reward of its plan.

    Parameters
    ----------
    lifecycle : Lifecycle
    team, token : str
    commission_percent : int
        What the operator gets on top of what participants get.
    version : int, optional
        Of the draft that is meant; the present one by default.

    Raises
    ------
    NotFound, StaleVersion, InvalidDocument, InsufficientFunds
    """
    draft = lifecycle.drafts.draft(token, team=team)
    plan = draft.document.plan
    quotas = reward = None
    budget = 0
    review = lifecycle.drafts.review(draft.document)
    # One that is not finished is refused below, with all that is wrong in it.
    if review.forecast and not review.issues and (plan.quotas or plan.reward != NOTHING):
        people = {level["name"]: level["asked"] for level in review.forecast["levels"]}
        quotas = people if plan.quotas else None
        reward, budget = planned_reward(plan, people, commission_percent)
    return lifecycle.drafts.open(
        token,
        team=team,
        # The version that was reviewed here, so that nobody opens what was changed since.
        version=version or draft.version,
        seats=quotas,
        reward=reward,
        budget=budget,
    )


def planned_reward(
    plan: Plan, people: Mapping[str, int], commission_percent: int
) -> tuple[Reward | None, int]:
    """Return the reward of a plan, and the money it takes where so many come at each level."""
    return reward_and_budget(
        plan.reward,
        currency=plan.currency,
        prices=plan.prices,
        people=people,
        commission_percent=commission_percent,
    )
