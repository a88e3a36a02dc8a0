"""How much each voter counts when voters give different amounts of privacy away."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import text_of

Weighting = Literal["equal", "inverse-variance", "capped"]

WEIGHTINGS: tuple[Weighting, ...] = ("equal", "inverse-variance", "capped")
MOST_TIMES_EQUAL = 2.0
"""Under ``"capped"``, nobody counts more than this many times an equal share."""


def voter_weights(
    rule: Weighting,
    *,
    between: Floats,
    noise: Floats,
    most: float = MOST_TIMES_EQUAL,
) -> Floats:
    """Return each voter's share of the result; shares add to 1.

    Parameters
    ----------
    rule : {"equal", "inverse-variance", "capped"}
        ``"equal"``: one voter, one vote, so that the noise of those who give least rules.
        ``"inverse-variance"``: shares are proportional to ``1 / (between + noise)``, which makes
        the result most precise and gives more say to those who give more away. ``"capped"``: the
        same, but nobody has more than `most` times an equal share.
    between : float array, shape (n_voters,)
        Variance of the voters' own numbers, from public knowledge.
    noise : float array, shape (n_voters,)
        Variance of the privacy noise in each voter's numbers.
    most : float
        At least 1.

    Privacy
    -------
    Shares depend on epsilons and numbers of records alone, which are public, and cost nothing. An
    epsilon that was chosen after answering could itself tell something; choose it before.
    """
    if rule not in WEIGHTINGS:
        raise ParameterError(f"weights is {rule!r}, expected one of {', '.join(WEIGHTINGS)}.")
    if not most >= 1:
        raise ParameterError(f"most is {most!r}, expected at least 1.")
    voters = len(noise)
    if rule == "equal":
        return np.full(voters, 1 / max(voters, 1))
    shares = 1 / (between + noise)
    shares /= shares.sum()
    if rule == "inverse-variance":
        return shares
    limit = most / voters
    capped = np.zeros(voters, dtype=np.bool_)
    # Whatever is cut is shared among the others, which may bring more of them to the limit.
    while (shares[~capped] > limit * (1 + 1e-12)).any():
        capped |= shares > limit
        rest = 1 - limit * np.count_nonzero(capped)
        shares = np.where(capped, limit, shares * (rest / shares[~capped].sum()))
    return shares


def effective_voters(shares: Floats) -> float:
    """Return how many equally weighted voters give as precise a mean: 1 / (sum of squares)."""
    return float(shares.sum() ** 2 / (shares**2).sum()) if shares.size else 0.0


def weight_report(shares: Floats, epsilons: Sequence[Fraction]) -> dict[str, Any]:
    """Return public numbers that say who counts how much, as JSON values."""
    groups: dict[Fraction, float] = {}
    for epsilon, share in zip(epsilons, shares.tolist(), strict=True):
        groups[epsilon] = groups.get(epsilon, 0.0) + share
    return {
        "effective_voters": effective_voters(shares),
        "largest_share_times_voters": float(shares.max(initial=0) * len(shares)),
        "share_by_epsilon": {text_of(key): groups[key] for key in sorted(groups)},
    }
