"""What a release is good for: truths learned from made-up claims that were released, and spread.

Everything here follows from two public numbers, claims about an object and epsilon. No claim and no
released number is read, so that the table may stand on a page that is published.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import in_range, whole
from masquerade.release.engine import LARGEST_EPSILON
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.synthesis import parse_engine, simulate

#: Engines that are compared: the default, the one for truths, and the plain histogram.
COMPARED = ("claims", "source", "hist")

#: More claims about an object than that change little, and are not made up.
MOST_CLAIMS = 100

_OBJECTS = 60
_SPREAD = 0.1  # standard deviation of claims about an object, in widths of the domain
_MIDDLE = (0.1, 0.9)  # where the true values lie, in widths of the domain


@dataclass(frozen=True, slots=True)
class Use:
    """How well released claims stand for claims: errors in hundredths of the domain's width."""

    engine: str | None  # None: the made-up claims themselves
    epsilon: float | None
    mean_error: float  # mean absolute error of the means of an object's points as its true value
    median_error: float  # the same for medians
    correlation: float  # of the means with the true values
    spread: float  # of points within an object, over that of the claims


def expected_uses(claims: int, epsilon: float) -> tuple[Use, ...]:
    """Return what releases are good for at half of an epsilon, at it, and at twice as much.

    `claims`: about each object, at least 1; at least 2 and at most `MOST_CLAIMS` are made up.
    `epsilon`: of one object.

    Privacy
    -------
    A function of these two numbers alone. Sixty objects are made up with a fixed seed, their true
    values evenly over the middle eight tenths of the domain, claims normal around them with a
    standard deviation of a tenth of the domain; then they are released with seeded noise.
    """
    whole(claims, "claims", low=1)
    in_range(epsilon, "epsilon", above=0)
    # one claim has no spread to compare with
    return _uses(min(max(claims, 2), MOST_CLAIMS), float(epsilon))


@lru_cache(maxsize=64)
def _uses(count: int, epsilon: float) -> tuple[Use, ...]:
    rng = np.random.default_rng(0)
    truth = rng.uniform(*_MIDDLE, _OBJECTS)
    value = np.clip(rng.normal(truth[:, None], _SPREAD, (_OBJECTS, count)), 0, 1)
    claims = GroupedClaims.of(
        {
            "task": np.repeat(np.arange(_OBJECTS), count),
            "worker": np.tile(np.arange(count), _OBJECTS),
            "value": value.ravel(),
        }
    )
    # Objects are sorted by name, here numbers in their order.
    spread = _within(claims.value, claims.offset)
    found = [Use(None, None, *_learned(claims.value, claims.offset, truth), 1.0)]
    epsilons = (epsilon / 2, epsilon, 2 * epsilon)
    for each, name in itertools.product(epsilons, COMPARED):
        if not each <= LARGEST_EPSILON:
            continue
        engine = parse_engine(name, epsilon=each, domain=(0, 1))
        made = simulate(claims, np.random.default_rng(1), engine=engine)
        ratio = _within(made.points, made.offset) / spread
        found.append(Use(name, each, *_learned(made.points, made.offset, truth), ratio))
    return tuple(found)


def _learned(values: Floats, offset: Integers, truth: Floats) -> tuple[float, float, float]:
    """Return the errors of means and of medians as true values, and the means' correlation."""
    rows = np.split(values, offset[1:-1])
    means = np.array([row.mean() for row in rows])
    medians = np.array([np.median(row) for row in rows])
    return (
        100 * float(np.abs(means - truth).mean()),
        100 * float(np.abs(medians - truth).mean()),
        float(np.corrcoef(means, truth)[0, 1]),
    )


def _within(values: Floats, offset: Integers) -> float:
    """Return the root of the mean variance within objects."""
    return float(np.sqrt(np.mean([row.var() for row in np.split(values, offset[1:-1])])))
