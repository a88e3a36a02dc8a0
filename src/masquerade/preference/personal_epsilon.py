"""Personal epsilons of voters, and the weight of each voter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.guarantee import question_of_loss
from masquerade.exact.micro import MICRO
from masquerade.exact.number import NumberLike, finite, in_range, one_of, text_of

Epsilon = NumberLike | Sequence[NumberLike]
Weighting = Literal["equal", "inverse-variance", "capped"]

WEIGHTINGS: tuple[Weighting, ...] = ("equal", "inverse-variance", "capped")
#: Under ``"capped"``, nobody counts more than this many times an equal share.
MOST_TIMES_EQUAL = 2.0


def read_epsilon(epsilon: Epsilon) -> Fraction | tuple[Fraction, ...]:
    """Return one epsilon, or a tuple of one a voter, rounded down to millionths."""
    if isinstance(epsilon, Sequence | np.ndarray) and not isinstance(epsilon, str):
        return tuple(_one(value, f"voter {i}: ") for i, value in enumerate(epsilon, start=1))
    return _one(epsilon, "")


def _one(value: NumberLike, whose: str) -> Fraction:
    name = f"{whose}epsilon"
    number = finite(value, name)
    # Down: a voter never gives more than was written.
    rounded = Fraction(int(number * MICRO), MICRO)
    if number <= 0 or rounded == 0:
        raise ParameterError(
            f"{name} is {text_of(number)}, expected at least a millionth; for a result without "
            "privacy choose the mechanism 'none'."
        )
    question = question_of_loss(float(rounded), name=name)
    if question is not None:
        warnings.warn(question, stacklevel=5)
    return rounded


def epsilons_of(epsilon: Fraction | tuple[Fraction, ...], voters: int) -> tuple[Fraction, ...]:
    """Return one epsilon a voter."""
    if isinstance(epsilon, Fraction):
        return (epsilon,) * voters
    if len(epsilon) != voters:
        raise ParameterError(
            f"there are {len(epsilon)} epsilons for {voters} voters; give one a voter, in the "
            "order of comparisons.voters, or one for all."
        )
    return epsilon


def voter_weights(
    rule: Weighting, *, between: Floats, noise: Floats, most: float = MOST_TIMES_EQUAL
) -> Floats:
    """Return each voter's share of the result; shares add to 1.

    `rule` ({"equal", "inverse-variance", "capped"}): ``"equal"``: one voter, one vote, so that the
    noise of those who give least rules. ``"inverse-variance"``: shares are proportional to ``1 /
    (between + noise)``, which makes the result most precise and gives more say to those who give
    more away. ``"capped"``: the same, but nobody has more than `most` times an equal share.
    `between` (float array, shape (n_voters,)): variance of the voters' own numbers, from public
    knowledge.
    `noise` (float array, shape (n_voters,)): variance of the privacy noise in each voter's numbers.
    `most`: at least 1.

    Privacy
    -------
    Shares depend on epsilons and numbers of records alone, which are public, and cost nothing. An
    epsilon that was chosen after answering could itself tell something; choose it before.
    """
    one_of(rule, "weights", WEIGHTINGS)
    in_range(most, "most", low=1)
    voters = len(noise)
    if rule == "equal":
        return np.full(voters, 1 / max(voters, 1))
    # Inverse variance: 1 / (tau**2 + noise), the most precise mean (the specification, 5.7).
    shares = 1 / (between + noise)
    shares /= shares.sum()
    if rule == "inverse-variance":
        return shares
    limit = most / voters
    at_limit = np.zeros(voters, dtype=np.bool_)
    # Whatever is cut is shared among the others, which may bring more of them to the limit.
    while (shares[~at_limit] > limit * (1 + 1e-12)).any():
        at_limit |= shares > limit
        rest = 1 - limit * np.count_nonzero(at_limit)
        shares = np.where(at_limit, limit, shares * (rest / shares[~at_limit].sum()))
    return shares


def effective_voters(shares: Floats) -> float:
    """Return how many equally weighted voters give as precise a mean: 1 / (sum of squares)."""
    # Kish's effective sample size.
    return float(shares.sum() ** 2 / (shares**2).sum()) if shares.size else 0.0


def weight_report(shares: Floats, epsilons: Sequence[Fraction]) -> dict[str, Any]:
    """Return the weights of voters by epsilon, as JSON values."""
    groups: dict[Fraction, float] = {}
    for epsilon, share in zip(epsilons, shares.tolist(), strict=True):
        groups[epsilon] = groups.get(epsilon, 0.0) + share
    return {
        "effective_voters": effective_voters(shares),
        "largest_share_times_voters": float(shares.max(initial=0) * len(shares)),
        "share_by_epsilon": {text_of(key): groups[key] for key in sorted(groups)},
    }
