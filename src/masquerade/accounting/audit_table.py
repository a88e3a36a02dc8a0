"""The exact table of an audit: losses enumerated from the whole numbers that a device draws from.

A mechanism is not asked what it says of itself: its table of probabilities, its losses and the
number of bits that an answer can change follow here from `DeviceMechanism.device_form` alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import ORDERS

#: To this, losses that are computed in floats are known.
ROUNDING = 1e-9

TAIL = 1e-13
_HALVINGS = 200


@dataclass(frozen=True, slots=True)
class Witness:
    """A report that shows a loss, and the two answers between which it does.

    Attributes
    ----------
    report : str
        A report, or a set of reports, in words.
    answers : (str, str)
        The report is more likely by the first answer than by the second.
    """

    report: str
    answers: tuple[str, str]

    def __str__(self) -> str:
        return f"report {self.report}: answer {self.answers[0]} against {self.answers[1]}"


@dataclass(frozen=True, slots=True)
class TableLoss:
    """The loss that follows from a table of probabilities."""

    method: str  # how it was found, in words
    # event, user: of one changed answer, and of all; rounded up to a millionth, as all amounts are.
    event: Micro
    user: Micro
    # Answers and a report that attain `user`; None where every report is as likely for any answer.
    worst: Witness | None
    # Renyi divergence of all changed answers, for each of ORDERS; None where it was not enumerated
    orders: tuple[float, ...] | None = None
    delta: float | None = None  # at the claimed epsilon, where the claim has a delta
    gaps: tuple[str, ...] = ()  # what was not enumerated, so that nothing is proven


def divergences(cells: Iterable[tuple[Any, Any, int]]) -> tuple[float, ...]:
    """Return ``ln (sum P**a Q**(1 - a)) / (a - 1)`` for each of `ORDERS`, of cells of two rows.

    `cells`: P, Q, and how many reports have them; whole numbers or fractions, each row in any one
    measure. The sum is exact and its logarithm a float.
    """
    known = [(Fraction(p), Fraction(q), many) for p, q, many in cells if many and p]
    if any(not q for _, q, _ in known):
        return (math.inf,) * len(ORDERS)
    rows = sum(p * many for p, _, many in known), sum(q * many for _, q, many in known)
    found = []
    for a in ORDERS:
        total = sum((many * p**a / q ** (a - 1) for p, q, many in known), Fraction(0))
        # of rows that add to 1: a factor of each row comes out of the sum
        total *= Fraction(rows[1]) ** (a - 1) / Fraction(rows[0]) ** a
        found.append(max(0.0, (math.log(total.numerator) - math.log(total.denominator)) / (a - 1)))
    return tuple(found)


def of_table(
    rows: Sequence[Sequence[Fraction | float]], *, inputs: Sequence[Any], reports: Sequence[Any]
) -> TableLoss:
    """Return the loss of one report by a table ``rows[input][report]``.

    `rows`: each adds to 1. `inputs` and `reports` are names, for words.
    """
    worst, witness = Fraction(1), None
    certain = False
    exact = ([Fraction(p) for p in row] for row in rows)
    for place, column in enumerate(zip(*exact, strict=True)):
        high, low = max(column), min(column)
        # a product and not a quotient, for `low` may be 0
        if certain or high <= low * worst:
            continue
        certain = low == 0
        worst = high if certain else high / low
        ends = inputs[column.index(high)], inputs[column.index(low)]
        witness = each_time(reports[place], *ends, 1)
    amount = Micro.of_ratio(math.inf if certain else worst)
    return TableLoss("table of fractions", amount, amount, witness)


def of_table_at(
    rows: Sequence[Sequence[Fraction | float]],
    *,
    inputs: Sequence[Any],
    delta: Fraction,
    claimed: Micro,
) -> TableLoss:
    """Return the least epsilon at `delta` of one report with a table, as in `of_table`.

    The sums are in floats, known to `ROUNDING`.
    """
    table = np.array([[float(p) for p in row] for row in rows])
    # a delta that is above by rounding alone must refute nobody
    allowed = float(delta) + TAIL
    pairs = list(itertools.permutations(range(len(table)), 2))
    losses = [(table[a], log_ratio(table[a], table[b])) for a, b in pairs]
    found = [epsilon_at(allowed, *one) for one in losses]
    a, b = pairs[found.index(max(found))]
    amount = lowest(max(found))
    at_claim = 0.0
    if claimed != INFINITE_LOSS:
        at_claim = max(delta_at(claimed.epsilon, *one) for one in losses)
    return TableLoss(
        "table, summed in floats",
        amount,
        amount,
        Witness("that loses more than epsilon", (str(inputs[a]), str(inputs[b])))
        if max(found) > 0
        else None,
        delta=at_claim,
        gaps=beyond_rounding(at_claim, delta),
    )


def log_ratio(one: Floats, other: Floats) -> Floats:
    """Return ln (one / other) for each report; minus infinity where `one` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(one > 0, np.log(one) - np.log(other), -np.inf)


def delta_at(epsilon: float, probability: Floats, loss: Floats) -> float:
    """Return ``sum of P (1 - e**(epsilon - loss))+``, plus the part of P that is missing to 1.

    `probability` (n,): P of each report. `loss` (n,): ln (P / Q) of each report.
    """
    # Only reports with loss above epsilon count: elsewhere P (1 - e**(epsilon - loss)) is below 0.
    above = (probability > 0) & (loss > epsilon)
    # expm1: 1 - e**(epsilon - loss) keeps its digits where loss is just above epsilon
    found = float(probability[above] @ -np.expm1(epsilon - loss[above]))
    return found + max(0.0, 1 - float(probability.sum()))


def epsilon_at(delta: float, probability: Floats, loss: Floats) -> float:
    """Return the least epsilon of at least 0 with ``delta_at(epsilon) <= delta``, to a float."""
    low, high = 0.0, float(loss[probability > 0].max(initial=0.0))
    if delta_at(low, probability, loss) <= delta:
        return 0.0
    if high == np.inf:
        high = float(loss[np.isfinite(loss)].max(initial=0.0))
        if delta_at(high, probability, loss) > delta:
            return float("inf")
    # delta falls with epsilon; what is returned is on the side where delta is small enough.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if delta_at(middle, probability, loss) > delta else (low, middle)
    return high


def beyond_rounding(found: float, delta: Fraction) -> tuple[str, ...]:
    """Return the gap where delta at the claimed epsilon is not below the claimed one."""
    if found <= float(delta):
        return ()
    return ("the last digits: floats leave open whether delta is a little above the claimed one",)


def lowest(loss: float) -> Micro:
    """Return a loss that is known to `ROUNDING`, rounded up from the lowest that it can be."""
    if math.isinf(loss):
        return INFINITE_LOSS
    return Micro(max(0, math.ceil((loss - ROUNDING) * MICRO)))


def ratio_of(a: int, b: int) -> Fraction | float:
    """Return the larger over the smaller of two counts."""
    low, high = min(a, b), max(a, b)
    return Fraction(high, low) if low else math.inf if high else Fraction(1)


def each_time(report: Any, answer: Any, other: Any, times: int) -> Witness:
    """Return a witness of one report, or of the same report each time."""
    often = "" if times == 1 else f" ({times} times)"
    return Witness(f"{report}{often}", (f"{answer}{often}", f"{other}{often}"))


def joint_loss(form: tuple[int, int, int, int], answers: int) -> TableLoss:
    """Return the loss of answers that share a number, from the joint table of all reports."""
    counts = pattern_counts(*form, answers)
    high, low = counts.index(max(counts)), counts.index(min(counts))
    # Reports that differ from all answers being 0 in the first `high` places; other answers that
    # differ from these reports in the last `low` places.
    report = [1] * high + [0] * (answers - high)
    other = report[: answers - low] + [1 - symbol for symbol in report[answers - low :]]
    worst = Witness(_in_runs(report), (_in_runs([0] * answers), _in_runs(other)))
    return TableLoss(
        "joint probabilities of all reports of a person, in fractions",
        Micro.of_ratio(max(ratio_of(a, b) for a, b in itertools.pairwise(counts))),
        Micro.of_ratio(ratio_of(counts[high], counts[low])),
        worst if counts[high] > counts[low] else None,
    )


def pattern_counts(
    first: int, last: int, total: int, symbols: int, answers: int
) -> tuple[int, ...]:
    """Return, for m = 0 to `answers`, how likely a pattern is that differs in m given places.

    It is ``sum over i = first to last of i**m (total - (symbols - 1) i)**(answers - m)``, a whole
    number; divided by ``(last - first + 1) total**answers`` it is the probability that m given
    answers are reported as given other symbols, and all others kept.

    Notes
    -----
    With T(m, j) the sum of ``i**m (total - (symbols - 1) i)**j``, the sums of powers T(m, 0) come
    from each other by ``(last + 1)**(p + 1) - first**(p + 1) = sum over k <= p of C(p + 1, k)
    T(k, 0)``, and ``T(m, j) = total T(m, j - 1) - (symbols - 1) T(m + 1, j - 1)``.
    Cost: answers**2 products of whole numbers of up to ``answers log2(total)`` bits.
    """
    n = answers
    if first == last:
        keep = total - (symbols - 1) * first
        return tuple(first**m * keep ** (n - m) for m in range(n + 1))
    # sums[p] = T(p, 0), whole numbers: the division leaves no rest
    sums: list[int] = []
    for p in range(n + 1):
        all_terms = (last + 1) ** (p + 1) - first ** (p + 1)
        known = sum(math.comb(p + 1, k) * sums[k] for k in range(p))
        sums.append((all_terms - known) // (p + 1))
    # T(m, j) for all m from T(., j - 1): each round has one fewer, whose last is T(n - j, j)
    counts = [sums[n]]
    for _ in range(n):
        sums = [total * a - (symbols - 1) * b for a, b in itertools.pairwise(sums)]
        counts.append(sums[-1])
    return tuple(reversed(counts))


def _in_runs(symbols: Sequence[int]) -> str:
    runs = [(symbol, len(list(group))) for symbol, group in itertools.groupby(symbols)]
    return ", ".join(
        f"{symbol} ({count} times)" if count > 1 else f"{symbol}" for symbol, count in runs
    )
