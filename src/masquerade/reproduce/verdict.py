"""One rule for every verdict, computed from numbers.

A value agrees where it is within its tolerance and two standard errors of what is printed. A claim
("this is above that") agrees where at least four of five comparisons point its way and their mean
is more than two standard errors above 0. What agrees is ``reproduced`` on the paper's own data, by
its own recipe or in its own formula, and at best ``in shape`` on any other data; whatever does not
agree, or is too noisy to tell, is ``not reproduced``, and the reason says by how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["reproduced", "in shape", "not reproduced"]

VERDICTS: tuple[Verdict, ...] = ("reproduced", "in shape", "not reproduced")

MOST_WAYS = 0.8
"""Share of the comparisons of a claim that have to point its way."""

ERRORS = 2.0
"""How many standard errors are allowed for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its standard error; NaN for one trial, 0 for a formula."""

    mean: float
    error: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike) -> Estimate:
        """Return the mean of independent trials."""
        found = np.asarray(values, dtype=np.float64)
        error = found.std(ddof=1) / math.sqrt(found.size) if found.size > 1 else math.nan
        return cls(float(found.mean()), float(error))

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference, errors taken as independent."""
        return Estimate(self.mean - other.mean, math.hypot(self.error, other.error))


@dataclass(frozen=True, slots=True)
class Row:
    """One published value or statement beside what came out.

    Attributes
    ----------
    artifact : str
        ``"table 2"``, ``"figure 4"``, ``"text"``.
    quantity : str
        What is measured, unit included.
    paper : float or None
        The printed value; None where the paper states a direction only, or draws it.
    statement : str
        What the paper says, in our words.
    ours, standard_error : float
        NaN where there is none.
    data : str
        What it was measured on.
    verdict : {"reproduced", "in shape", "not reproduced"}
    reason : str
    """

    artifact: str
    quantity: str
    paper: float | None
    statement: str
    ours: float
    standard_error: float
    data: str
    verdict: Verdict
    reason: str


Outcome = Literal["better", "worse", "no clear difference"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A method of ours beside one of the paper, at the same honestly computed loss.

    Attributes
    ----------
    artifact, quantity, data : str
        See `Row`; the quantity says what is subtracted from what.
    difference, standard_error : float
        Above 0 where ours is better.
    outcome : {"better", "worse", "no clear difference"}
        Clear is more than two standard errors.
    """

    artifact: str
    quantity: str
    difference: float
    standard_error: float
    data: str
    outcome: Outcome


def compare(
    artifact: str, quantity: str, differences: Sequence[Estimate], *, data: str
) -> Comparison:
    """Return what ours gains, on average over `differences` (above 0: ours is better)."""
    mean = _pooled(differences)
    outcome: Outcome = "no clear difference"
    if abs(mean.mean) > ERRORS * mean.error:
        outcome = "better" if mean.mean > 0 else "worse"
    return Comparison(artifact, quantity, mean.mean, mean.error, data, outcome)


def value(
    artifact: str,
    quantity: str,
    *,
    paper: float,
    ours: Estimate | float,
    tolerance: float,
    data: str,
    own: bool,
    statement: str = "",
    note: str = "",
) -> Row:
    """Return the row of a printed value.

    Parameters
    ----------
    artifact, quantity, data, statement : str
        See `Row`.
    paper : float
        What is printed.
    ours : Estimate or float
        A float is exact.
    tolerance : float
        How far off still agrees, above 0, in the unit of the value.
    own : bool
        Whether the data, recipe or formula are the paper's own.
    note : str
        Added to the reason: why it comes out as it does, where that is known.
    """
    found = ours if isinstance(ours, Estimate) else Estimate(float(ours))
    off = found.mean - paper
    noise = ERRORS * found.error
    told = f"off by {off:+.3g}, tolerance {tolerance:.3g}"
    if found.error > 0:
        told += f" plus two standard errors of {found.error:.2g}"
    verdict, reason = _within(abs(off), noise, tolerance, own, told)
    return Row(artifact, quantity, paper, statement, found.mean, found.error, data, verdict,
               _noted(reason, note))  # fmt: skip


def claim(
    artifact: str,
    quantity: str,
    differences: Sequence[Estimate],
    *,
    statement: str,
    data: str,
    own: bool,
    note: str = "",
) -> Row:
    """Return the row of a statement that differences are above 0.

    The row's value is their mean. Its standard error takes the comparisons as independent, which
    is too small where they share data.

    Parameters
    ----------
    artifact, quantity, statement, data : str
        See `Row`.
    differences : sequence of Estimate
        Each above 0 where the statement holds.
    own, note
        See `value`.
    """
    mean, right = _pooled(differences), sum(d.mean > 0 for d in differences)
    told = (
        f"holds in {right} of {len(differences)} comparisons, mean {mean.mean:+.3g} +- "
        f"{mean.error:.2g}"
    )
    if not differences or math.isnan(mean.error):
        verdict, reason = _cannot_tell("there is no standard error")
    elif right >= MOST_WAYS * len(differences) and mean.mean > ERRORS * mean.error:
        verdict, reason = _agrees(own, told)
    else:
        verdict, reason = "not reproduced", told
        if 0 < abs(mean.mean) <= ERRORS * mean.error:
            right_way = mean.mean > 0 and right >= MOST_WAYS * len(differences)
            reason += ": the direction is right, but" if right_way else ":"
            reason += " within the noise; --trials lowers it"
    return Row(artifact, quantity, None, statement, mean.mean, mean.error, data, verdict,
               _noted(reason, note))  # fmt: skip


def alike(
    artifact: str,
    quantity: str,
    differences: Sequence[Estimate],
    *,
    statement: str,
    tolerance: float,
    data: str,
    own: bool,
    note: str = "",
) -> Row:
    """Return the row of a statement that two things are the same.

    It agrees where the mean of the absolute differences is within the tolerance and two mean
    standard errors.
    """
    if not differences:
        verdict, reason = _cannot_tell("there is nothing to compare")
        return Row(artifact, quantity, None, statement, math.nan, math.nan, data, verdict, reason)
    apart = float(np.mean([abs(d.mean) for d in differences]))
    error = float(np.mean([d.error for d in differences]))
    told = f"mean distance {apart:.3g}, tolerance {tolerance:.3g}, mean standard error {error:.2g}"
    verdict, reason = _within(apart, ERRORS * error, tolerance, own, told)
    return Row(artifact, quantity, None, statement, apart, error, data, verdict,
               _noted(reason, note))  # fmt: skip


def _within(
    off: float, noise: float, tolerance: float, own: bool, told: str
) -> tuple[Verdict, str]:
    if math.isnan(noise):
        return _cannot_tell("there is no standard error")
    if off > tolerance + noise:
        return "not reproduced", told
    if noise > 2 * tolerance:
        return _cannot_tell(f"the standard error is {noise / ERRORS:.2g}")
    return _agrees(own, told)


def _pooled(differences: Sequence[Estimate]) -> Estimate:
    if not differences:
        return Estimate(math.nan, math.nan)
    mean = float(np.mean([d.mean for d in differences]))
    error = math.sqrt(sum(d.error**2 for d in differences)) / len(differences)
    return Estimate(mean, error)


def _agrees(own: bool, told: str) -> tuple[Verdict, str]:
    return ("reproduced", told) if own else ("in shape", f"{told}; not the paper's own data")


def _noted(reason: str, note: str) -> str:
    return f"{reason}; {note}" if note else reason


def _cannot_tell(why: str) -> tuple[Verdict, str]:
    return "not reproduced", f"too noisy to tell: {why}; raise --trials"
