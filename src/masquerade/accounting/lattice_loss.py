"""The loss of numbers masked by noise on a lattice, over all of their reports."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from masquerade.accounting.audit_report import Witness
from masquerade.accounting.exact_loss import (
    ROUNDING,
    ExactLoss,
    beyond_rounding,
    delta_at,
    epsilon_at,
    log_ratio,
    lowest,
)
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers

_LARGEST_WINDOW = 1 << 21
_LARGEST_TABLE = 1 << 23
_LARGEST_SUM = 1 << 22
_LARGEST_EPSILON = 500
_TAIL = 1e-13
_UNDERFLOW = 1e-280
_ALL_PAIRS = 40
_SAME = 1e-7  # of logs of probabilities in floats
_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class LatticeLaw:
    """Probabilities of reports on a lattice, for the answers to compare."""

    inputs: tuple[float, ...]  # answers, the two ends among them; NaN is "no answer"
    # ``probability(answer, report)`` in floats.
    probability: Callable[[ArrayLike, ArrayLike], Floats]
    # Reports from whole steps above the lowest answer, in both directions.
    values: Callable[[Integers], Floats]
    points: int  # of the answers

    def names(self, a: int, b: int) -> tuple[str, str]:
        """Return two of the answers, in words."""
        one, other = (
            "'no answer'" if math.isnan(v) else f"{v:g}" for v in (self.inputs[a], self.inputs[b])
        )
        return one, other

    def gaps(self) -> tuple[str, ...]:
        """Return the gaps that are left because not all answers are compared."""
        known = sum(not math.isnan(value) for value in self.inputs)
        if known == self.points:
            return ()
        return (f"probability() of {self.points - known} of {self.points} answers",)

    def telling_pairs(self, table: Floats) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
        """Return the pairs of answers that hold the largest loss, and the gaps that this leaves.

        Where noise does not depend on the answer and is log-concave, a larger distance loses more
        at every delta, so that the ends are enough. Both are looked up in the table, in which
        neighbouring columns are one step apart.
        """
        size = len(table)
        if size <= _ALL_PAIRS:
            return list(itertools.permutations(range(size), 2)), ()
        ends = [int(np.nanargmin(self.inputs)), int(np.nanargmax(self.inputs))]
        telling = list(itertools.permutations(ends, 2))
        nothing = [i for i, value in enumerate(self.inputs) if math.isnan(value)]
        telling += [pair for i in nothing for end in ends for pair in ((i, end), (end, i))]
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(table, _UNDERFLOW))
        alike = len(nothing) == 0 and self.points == size
        for i in range(size - 1):
            alike = alike and bool(np.abs(logs[i + 1, 1:] - logs[i, :-1]).max() < _SAME)
        alike = alike and bool(np.diff(logs[0], 2).max() < _SAME)
        gap = "pairs of answers other than those with an end of the range"
        return telling, () if alike else (gap,)

    def window(self) -> tuple[Floats, Floats] | None:
        """Return reports that hold all but 1e-13 of each law, and ``table[input, report]``."""
        reach = 64
        while (
            self.points + 2 * reach <= _LARGEST_WINDOW
            and len(self.inputs) * (self.points + 2 * reach) <= _LARGEST_TABLE
        ):
            reports = self.values(np.arange(-reach, self.points + reach))
            table = np.array([self.probability(answer, reports) for answer in self.inputs])
            if table.sum(axis=1).min() > 1 - _TAIL:
                # Where all probabilities are next to nothing, their ratio is lost to underflow.
                kept = (table.min(axis=0) > _UNDERFLOW) | (table.max(axis=0) > _TAIL**2)
                return reports[kept], table[:, kept]
            reach *= 2
        return None


def of_lattice(law: LatticeLaw, *, answers: int, claimed: Micro) -> ExactLoss | None:
    """Return the pure loss of `answers` numbers masked independently.

    The largest log ratio over all pairs of the answers and all reports of a window that holds all
    but 1e-13 of the probability, and must not grow at its ends. In floats, known to `ROUNDING`.
    None where the reports are too many, or the claim is beyond what floats can tell.
    """
    window = law.window() if claimed.epsilon <= _LARGEST_EPSILON * answers else None
    if window is None:
        return None
    reports, table = window
    with np.errstate(divide="ignore"):
        logs = np.log(table)
    spread = logs.max(axis=0) - logs.min(axis=0)
    place = int(spread.argmax())
    largest = float(spread[place])
    a, b = int(logs[:, place].argmax()), int(logs[:, place].argmin())
    # spread[report]: a bounded loss is flat at both ends of the window
    grows = bool(max(spread[0] - spread[1], spread[-1] - spread[-2]) > ROUNDING)
    fault = "the loss still grows at the last report that was looked at"
    return ExactLoss(
        f"probabilities of {len(reports)} reports, in floats",
        lowest(largest),
        lowest(largest, times=answers),
        Witness(f"{reports[place]:g}", law.names(a, b)) if largest > 0 else None,
        faults=(fault,) if grows else (),
        gaps=("reports beyond the window whose probabilities were computed", *law.gaps()),
    )


def of_laplace(law: LatticeLaw, *, scale: Fraction, answers: int, claimed: Micro) -> ExactLoss:
    """Return the pure loss of `answers` numbers under noise ``P(n) ~ exp(-|n| / scale)``.

    Two answers d steps apart lose d / scale, at every report beyond the one that is more likely,
    and never more; what stands in for "no answer" is one of the answers or a mixture of them, so
    nothing exceeds the two ends. The mechanism's own probabilities must say the same.

    `scale`: in lattice steps, as it is drawn. `claimed`: of all answers; probabilities are looked
    at where it is not beyond what floats can tell.
    """
    one = (law.points - 1) / scale
    low, high = (f"{value:g}" for value in law.values(np.array([0, law.points - 1])))
    exact = ExactLoss(
        "exponents in fractions",
        Micro.of_amount(one),
        Micro.of_amount(one * answers),
        Witness(f"{low} or below", (low, high)),
    )
    found = of_lattice(law, answers=1, claimed=claimed)
    if found is None:
        gap = "probability(), for floats cannot tell its values or they are too many"
        return replace(exact, gaps=(gap, *law.gaps()))
    faults = found.faults
    if abs(found.event.micro - exact.event.micro) > 1:
        faults += (
            f"the scale drawn from loses {exact.event}, by probability() it would be {found.event}",
        )
    method = f"{exact.method}, and {found.method}"
    return replace(exact, method=method, faults=faults, gaps=law.gaps())


def of_lattice_at(
    law: LatticeLaw, *, answers: int, claimed: Micro, delta: Fraction
) -> ExactLoss | None:
    """Return the least epsilon at `delta` of `answers` numbers masked independently, and rho.

    Delta at every epsilon is summed over a window of reports, and the rest counted as lost. For
    several answers the law of the sum of their losses is used, where a loss is linear in its
    report, as with Gaussian noise. Rho is the largest Renyi divergence per order, over some orders.
    None where the reports are too many, or a sum cannot be formed.

    `claimed`: of all answers; where delta is looked at.
    """
    window = law.window() if claimed.epsilon <= _LARGEST_EPSILON * answers else None
    if window is None:
        return None
    reports, table = window
    # A change of delta that floats and the window's tail can bring about must refute nobody.
    allowed = float(delta) + 2 * _TAIL
    largest, pair, rho = -1.0, (0, 1), 0.0
    pairs, gaps = law.telling_pairs(table)
    for a, b in pairs:
        loss = log_ratio(table[a], table[b])
        rho = max(rho, _rho(table[a], table[b]))
        epsilon = epsilon_at(allowed, table[a], loss)
        if epsilon > largest:
            largest, pair = epsilon, (a, b)
    a, b = pair
    single = table[a], log_ratio(table[a], table[b])
    together = single if answers == 1 else _together(*single, answers)
    if together is None:
        return None
    found = delta_at(claimed.epsilon, *together)
    return ExactLoss(
        f"probabilities of {len(reports)} reports, in floats",
        lowest(largest),
        lowest(epsilon_at(allowed, *together)),
        Witness("that loses more than epsilon", law.names(a, b)),
        delta=found,
        rho=rho * answers,
        gaps=(*gaps, *law.gaps(), *beyond_rounding(found, delta)),
    )


def _rho(one: Floats, other: Floats) -> float:
    both = (one > 0) & (other > 0)
    log_one, log_other = np.log(one[both]), np.log(other[both])
    best = 0.0
    for order in _ORDERS:
        # D(a) = ln sum P**a Q**(1 - a) / (a - 1), the sum taken relative to its largest term
        terms = order * log_one + (1 - order) * log_other
        top = float(terms.max())
        divergence = (top + math.log(float(np.exp(terms - top).sum()))) / (order - 1)
        best = max(best, divergence / order)
    return best


def _together(probability: Floats, loss: Floats, answers: int) -> tuple[Floats, Floats] | None:
    """Return the law of the sum of independent losses, where a loss is linear in its report."""
    places = np.arange(len(loss), dtype=np.float64)
    slope = (loss[-1] - loss[0]) / (len(loss) - 1)
    if not math.isfinite(slope) or answers * len(loss) > _LARGEST_SUM:
        return None
    line = loss[0] + slope * places
    if np.abs(loss - line).max() > ROUNDING * (1 + np.abs(loss).max()):
        return None
    size = answers * (len(loss) - 1) + 1
    # Errors of the transform are near 1e-16 each, far below any delta.
    # a linear loss depends on the sum of the reports alone, whose law is this convolution; `size`
    # holds every sum, so that none wraps around
    law = np.fft.irfft(np.fft.rfft(probability, size) ** answers, size)
    return np.maximum(law, 0.0), answers * loss[0] + slope * np.arange(size)
