"""One rule for every verdict, computed from numbers.

A value agrees where it is within its tolerance and two standard errors of what is printed. A claim
("this is above that") agrees where at least four of five comparisons point its way and their mean
is more than two standard errors above 0. What agrees is ``reproduced`` on the paper's own data, by
its own recipe or in its own formula, and at best ``in shape`` on any other data. Where noise hides
the answer it is ``undecided``; what is left is ``not reproduced``. The reason says by how much. A
number that was put into made-up data is ``by construction``: it agrees, and shows nothing.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers.result import Result

Verdict = Literal["reproduced", "in shape", "undecided", "not reproduced", "by construction"]

#: All verdicts on a published claim, the best first.
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "in shape",
    "undecided",
    "not reproduced",
    "by construction",
)

#: Share of the comparisons of a claim that have to point its way.
MOST_WAYS = 0.8

#: How many standard errors are allowed for.
ERRORS = 2.0

#: What stands in the places of a statement's texts.
Texts = Mapping[str, object]

NO_TEXTS: Texts = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """A mean and its standard error; NaN for one trial, 0 for a formula.

    Examples
    --------
    >>> Estimate.of([0.8, 0.9, 0.85]).mean
    0.8500000000000001
    """

    mean: float
    error: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike) -> Estimate:
        """Return the mean of independent trials."""
        trials = np.asarray(values, dtype=np.float64)
        error = trials.std(ddof=1) / math.sqrt(trials.size) if trials.size > 1 else math.nan
        return cls(float(trials.mean()), float(error))

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference, errors taken as independent."""
        return Estimate(self.mean - other.mean, math.hypot(self.error, other.error))


@dataclass(frozen=True, slots=True)
class Row(Result):
    """One published value or statement beside ours.

    Examples
    --------
    >>> Row("table 2", "accuracy", 0.8, "", 0.81, 0.01, "simulated", "reproduced", "").verdict
    'reproduced'
    """

    artifact: str  # ``"table 2"``, ``"figure 4"``, ``"text"``
    quantity: str  # what is measured, unit included
    # The printed value; None where the paper states a direction only, or draws it.
    paper: float | None
    statement: str  # what the paper says, in our words
    # ours, standard_error: naN where there is none.
    ours: float
    standard_error: float
    data: str  # what it was measured on
    verdict: Verdict  # one of `VERDICTS`
    reason: str


Outcome = Literal["better", "worse", "no clear difference"]


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """A method of ours beside one of the paper, at the same honestly computed loss.

    Examples
    --------
    >>> Comparison("table 2", "accuracy", 0.02, 0.01, "simulated", "better").difference
    0.02
    """

    # artifact, quantity, data: see `Row`; the quantity says what is subtracted from what.
    artifact: str
    quantity: str
    # difference, standard_error: above 0 where ours is better.
    difference: float
    standard_error: float
    data: str
    # {"better", "worse", "no clear difference"}. Clear is more than two standard errors.
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements of a paper by name, and the data that they are judged on."""

    # By name: ``artifact`` and ``quantity``, and where there are any ``statement``, ``note`` (why
    # it comes out as it does), ``paper`` (a printed value) and ``tolerance`` (how far off still
    # agrees, above 0, in the unit of the value). Texts may have ``{places}`` to fill in.
    printed: Mapping[str, Mapping[str, Any]]
    data: str  # see `Row`
    own: bool = False  # whether the data, recipe or formula are the paper's own

    def value(
        self,
        name: str,
        ours: Estimate | float,
        texts: Texts = NO_TEXTS,
        *,
        paper: float | None = None,
        tolerance: float | None = None,
    ) -> Row:
        """Return the row of a printed value; a float of ours is exact."""
        entry = self.printed[name]
        printed = entry["paper"] if paper is None else paper
        allowed = entry["tolerance"] if tolerance is None else tolerance
        mean = ours if isinstance(ours, Estimate) else Estimate(float(ours))
        off = mean.mean - printed
        numbers = f"off by {off:+.3g}, tolerance {allowed:.3g}"
        if mean.error > 0:
            numbers += f" plus two standard errors of {mean.error:.2g}"
        outcome = self._within(abs(off), ERRORS * mean.error, allowed, numbers)
        return self._row(name, texts, mean, outcome, printed)

    def given(self, name: str, count: float, texts: Texts = NO_TEXTS, *, paper: float) -> Row:
        """Return the row of a count that was put into made-up data.

        It is ``by construction`` where it is the printed one, else ``not reproduced``.
        """
        off = count - paper
        outcome: tuple[Verdict, str] = (
            ("by construction", "put into the made-up data by hand")
            if off == 0
            else ("not reproduced", f"off by {off:+.3g}")
        )
        return self._row(name, texts, Estimate(count), outcome, paper)

    def claim(self, name: str, differences: Sequence[Estimate], texts: Texts = NO_TEXTS) -> Row:
        """Return the row of a statement that differences are above 0; its value is their mean.

        The standard error takes them as independent, which is too small where they share data.
        """
        mean, right = _pooled(differences), sum(d.mean > 0 for d in differences)
        numbers = (
            f"holds in {right} of {len(differences)} comparisons, mean {mean.mean:+.3g} +- "
            f"{mean.error:.2g}"
        )
        if not differences or math.isnan(mean.error):
            outcome = _cannot_tell("there is no standard error")
        # both: a large mean of a few comparisons is not a statement that holds in general
        elif right >= MOST_WAYS * len(differences) and mean.mean > ERRORS * mean.error:
            outcome = self._agrees(numbers)
        else:
            reason = numbers
            verdict: Verdict = "not reproduced"
            if 0 < abs(mean.mean) <= ERRORS * mean.error:
                right_way = mean.mean > 0 and right >= MOST_WAYS * len(differences)
                reason += ": the direction is right, but" if right_way else ":"
                reason += " within the noise; --trials lowers it"
                verdict = "undecided"
            outcome = (verdict, reason)
        return self._row(name, texts, mean, outcome)

    def alike(self, name: str, differences: Sequence[Estimate], texts: Texts = NO_TEXTS) -> Row:
        """Return the row of a statement that two things are the same.

        It agrees where the mean of the absolute differences is within the tolerance and two mean
        standard errors.
        """
        if not differences:
            nothing = Estimate(math.nan, math.nan)
            return self._row(name, texts, nothing, _cannot_tell("there is nothing to compare"))
        tolerance = self.printed[name]["tolerance"]
        distance = float(np.mean([abs(d.mean) for d in differences]))
        error = float(np.mean([d.error for d in differences]))
        numbers = (
            f"mean distance {distance:.3g}, tolerance {tolerance:.3g}, mean standard error "
            f"{error:.2g}"
        )
        outcome = self._within(distance, ERRORS * error, tolerance, numbers)
        return self._row(name, texts, Estimate(distance, error), outcome)

    def compare(
        self, name: str, differences: Sequence[Estimate], texts: Texts = NO_TEXTS
    ) -> Comparison:
        """Return our mean gain (above 0: ours is better) over the paper's method."""
        words, mean = self._words(name, texts), _pooled(differences)
        outcome: Outcome = "no clear difference"
        if abs(mean.mean) > ERRORS * mean.error:
            outcome = "better" if mean.mean > 0 else "worse"
        return Comparison(
            words["artifact"], words["quantity"], mean.mean, mean.error, self.data, outcome
        )

    def _words(self, name: str, texts: Texts) -> dict[str, str]:
        entry = self.printed[name]
        keys = ("artifact", "quantity", "statement", "note")
        return {key: str(entry.get(key, "")).format(**texts) for key in keys}

    def _row(
        self,
        name: str,
        texts: Texts,
        ours: Estimate,
        outcome: tuple[Verdict, str],
        paper: float | None = None,
    ) -> Row:
        words, (verdict, reason) = self._words(name, texts), outcome
        return Row(
            words["artifact"],
            words["quantity"],
            paper,
            words["statement"],
            ours.mean,
            ours.error,
            self.data,
            verdict,
            f"{reason}; {words['note']}" if words["note"] else reason,
        )

    def _within(
        self, off: float, noise: float, tolerance: float, numbers: str
    ) -> tuple[Verdict, str]:
        if math.isnan(noise):
            return _cannot_tell("there is no standard error")
        if off > tolerance + noise:
            return "not reproduced", numbers
        # an error so large that nearly anything would agree
        if noise > 2 * tolerance:
            return _cannot_tell(f"the standard error is {noise / ERRORS:.2g}")
        return self._agrees(numbers)

    def _agrees(self, numbers: str) -> tuple[Verdict, str]:
        if self.own:
            return "reproduced", numbers
        return "in shape", f"{numbers}; not the paper's own data"


@lru_cache(maxsize=8)
def printed_in(paper: str) -> Mapping[str, Any]:
    """Return the printed tables of numbers of a paper, and ``statements`` by name."""
    text = (files("masquerade_papers") / paper.replace("-", "_") / "printed.toml").read_text(
        "utf-8"
    )
    return MappingProxyType(tomllib.loads(text))


def _pooled(differences: Sequence[Estimate]) -> Estimate:
    if not differences:
        return Estimate(math.nan, math.nan)
    mean = float(np.mean([d.mean for d in differences]))
    # of a mean of independent numbers; see `claim` for what shares data
    error = math.sqrt(sum(d.error**2 for d in differences)) / len(differences)
    return Estimate(mean, error)


def _cannot_tell(why: str) -> tuple[Verdict, str]:
    return "undecided", f"too noisy to tell: {why}; raise --trials"
