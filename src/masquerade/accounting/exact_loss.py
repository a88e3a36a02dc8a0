"""The loss of a mechanism, computed from its table of probabilities and not from its claim."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from masquerade.accounting.audit_report import Witness
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism

_HALVINGS = 200


def log_ratio(one: Floats, other: Floats) -> Floats:
    """Return ln (one / other) for each report; minus infinity where `one` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(one > 0, np.log(one) - np.log(other), -np.inf)


def delta_at(epsilon: float, probability: Floats, loss: Floats) -> float:
    """Return ``sum of P (1 - e**(epsilon - loss))+``, plus the part of 1 missing in P.

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


#: Of a person who shares one flip probability, for the joint table in fractions.
MOST_ANSWERS = 500

#: To this, losses that are computed in floats are known.
ROUNDING = 1e-9

_LARGEST_TABLE = 1 << 18
_ROUGHLY_ONE = Fraction(1, 10**9)  # for tables of floats
_DELTA_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class ExactLoss:
    """The loss that follows from the probabilities of a mechanism."""

    method: str  # how it was found, in words
    # event, user: of one changed answer, and of all; rounded up to a millionth, as all amounts are.
    event: Micro
    user: Micro
    # Answers and a report that attain `user`; None where every report is as likely for any answer.
    worst: Witness | None
    delta: float | None = None  # at the claimed epsilon, where the claim has a delta
    # Zero-concentrated loss of all changed answers, where the claim has one.
    rho: float | None = None
    faults: tuple[str, ...] = ()  # where the mechanism contradicts itself
    gaps: tuple[str, ...] = ()  # what was not enumerated, so that nothing is proven


def of_table(
    rows: Sequence[Sequence[Fraction | float]],
    *,
    inputs: Sequence[Any],
    reports: Sequence[Any],
    answers: int = 1,
) -> ExactLoss:
    """Return the loss of a table ``rows[input][report]``, `answers` reports drawn independently.

    Whole numbers and fractions are exact; floats are taken as the fractions that they are. `inputs`
    and `reports` are names, for words.
    """
    exact = [[Fraction(p) for p in row] for row in rows]
    require_probabilities(exact, inputs)
    worst, witness = Fraction(1), None
    certain = False
    for place, column in enumerate(zip(*exact, strict=True)):
        high, low = max(column), min(column)
        # a product and not a quotient, for `low` may be 0
        if certain or high <= low * worst:
            continue
        certain = low == 0
        worst = high if certain else high / low
        witness = _each_time(
            reports[place], inputs[column.index(high)], inputs[column.index(low)], answers
        )
    ratio = math.inf if certain else worst
    return ExactLoss(
        "table of fractions",
        Micro.of_ratio(ratio),
        Micro.of_ratio(ratio, times=answers),
        witness,
    )


def of_table_at(
    rows: Sequence[Sequence[Fraction | float]],
    *,
    inputs: Sequence[Any],
    delta: Fraction,
    claimed: Micro | None = None,
) -> ExactLoss:
    """Return the least epsilon at `delta` of one report with a table, as in `of_table`.

    The sums are in floats, known to `ROUNDING`. With a claimed epsilon, delta there too.
    """
    require_probabilities([[Fraction(p) for p in row] for row in rows], inputs)
    table = np.array([[float(p) for p in row] for row in rows])
    # a delta that is above by rounding alone must refute nobody
    allowed = float(delta) + _DELTA_ROUNDING
    pairs = list(itertools.permutations(range(len(table)), 2))
    found = [epsilon_at(allowed, table[a], log_ratio(table[a], table[b])) for a, b in pairs]
    largest = max(found)
    a, b = pairs[found.index(largest)]
    amount = lowest(largest)
    at_claim = None
    if claimed is not None and claimed != INFINITE_LOSS:
        at_claim = max(
            delta_at(claimed.epsilon, table[a], log_ratio(table[a], table[b])) for a, b in pairs
        )
    return ExactLoss(
        "table, summed in floats",
        amount,
        amount,
        Witness("that loses more than epsilon", (str(inputs[a]), str(inputs[b])))
        if largest > 0
        else None,
        delta=at_claim,
        gaps=beyond_rounding(at_claim, delta),
    )


def beyond_rounding(found: float | None, delta: Fraction) -> tuple[str, ...]:
    """Return the gap in a proof where delta at the claimed epsilon exceeds the claimed delta."""
    if found is None or found <= float(delta):
        return ()
    return ("the last digits: floats leave open whether delta is a little above the claimed one",)


def require_probabilities(rows: Sequence[Sequence[Fraction]], inputs: Sequence[Any]) -> None:
    """Raise where a row holds a negative number or does not add to 1."""
    for name, row in zip(inputs, rows, strict=True):
        total = sum(row, Fraction(0))
        if not row or min(row) < 0 or abs(total - 1) > _ROUGHLY_ONE:
            raise ParameterError(
                f"the probabilities of the reports for answer {name} add to {float(total)}, "
                "expected 1 and none below 0."
            )


def lowest(loss: float, *, times: int = 1) -> Micro:
    """Return a loss that is known to `ROUNDING`, rounded up from the lowest that it can be."""
    if math.isinf(loss):
        return INFINITE_LOSS
    return Micro(max(0, math.ceil((loss - ROUNDING) * times * MICRO)))


def of_response(mechanism: CategoricalMechanism, answers: int) -> ExactLoss | None:
    """Return the loss of `answers` answers of one person, masked together.

    By the whole-number form from which devices draw: one number i, uniform on first to last, then
    every other symbol with probability i / total. Everything is exact; see `pattern_counts`. For
    one answer the table of the mechanism, where it is not too large, is looked at too, and must
    agree. None for too many answers that share such a number.
    """
    numbers = device_numbers(mechanism)
    symbols = numbers[3]
    if answers > 1 or symbols**2 > _LARGEST_TABLE:
        return of_numbers(*numbers, answers)
    table = mechanism.channel().table
    found = of_table(table, inputs=range(symbols), reports=range(symbols))
    keep, other = pattern_probabilities(*numbers, 1)
    for answer, row in enumerate(table):
        if any(p != (keep if r == answer else other) for r, p in enumerate(row)):
            fault = f"channel() and device_form() differ for answer {answer}"
            drawn = of_numbers(*numbers, 1)
            assert drawn is not None
            return replace(max(found, drawn, key=lambda loss: loss.user), faults=(fault,))
    return found


def of_numbers(first: int, last: int, total: int, symbols: int, answers: int) -> ExactLoss | None:
    """Return the loss of a whole-number form; see `of_response`."""
    if first == last:  # reports are independent
        kept, changed = pattern_counts(first, last, total, symbols, 1)
        ratio = _ratio(kept, changed)
        witness = _each_time(0, *((0, 1) if kept > changed else (1, 0)), answers)
        return ExactLoss(
            "fractions, one report as the other",
            Micro.of_ratio(ratio),
            Micro.of_ratio(ratio, times=answers),
            witness if ratio > 1 else None,
        )
    if answers > MOST_ANSWERS:
        return None
    counts = pattern_counts(first, last, total, symbols, answers)
    high, low = counts.index(max(counts)), counts.index(min(counts))
    # Reports that differ from all answers being 0 in the first `high` places; other answers that
    # differ from these reports in the last `low` places.
    report = [1] * high + [0] * (answers - high)
    other = report[: answers - low] + [1 - symbol for symbol in report[answers - low :]]
    worst = Witness(_in_runs(report), (_in_runs([0] * answers), _in_runs(other)))
    return ExactLoss(
        "joint probabilities of all reports of a person, in fractions",
        Micro.of_ratio(max(_ratio(a, b) for a, b in itertools.pairwise(counts))),
        Micro.of_ratio(_ratio(counts[high], counts[low])),
        worst if counts[high] > counts[low] else None,
    )


@lru_cache(maxsize=16)
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


def pattern_probabilities(
    first: int, last: int, total: int, symbols: int, answers: int
) -> list[Fraction]:
    """Return `pattern_counts` as probabilities, of m given symbols in m given places."""
    scale = (last - first + 1) * total**answers
    # counts[m]: one changed answer moves m by one, all of them from any m to any other
    counts = pattern_counts(first, last, total, symbols, answers)
    return [Fraction(count, scale) for count in counts]


def pattern_law(mechanism: CategoricalMechanism, answers: int) -> Floats:
    """Return the probability that reports differ from the answers in m places, m = 0 to n."""
    numbers = device_numbers(mechanism)
    others = numbers[3] - 1
    return np.array(
        [
            float(math.comb(answers, m) * others**m * probability)
            for m, probability in enumerate(pattern_probabilities(*numbers, answers))
        ]
    )


def device_numbers(mechanism: Any) -> tuple[int, int, int, int]:
    """Return first, last, total and symbols of the whole-number form."""
    form = mechanism.device_form()
    return int(form["first"]), int(form["last"]), int(form["total"]), int(form["symbols"])


def _each_time(report: Any, answer: Any, other: Any, times: int) -> Witness:
    often = "" if times == 1 else f" ({times} times)"
    return Witness(f"{report}{often}", (f"{answer}{often}", f"{other}{often}"))


def _in_runs(symbols: Sequence[int]) -> str:
    runs = [(symbol, len(list(group))) for symbol, group in itertools.groupby(symbols)]
    return ", ".join(
        f"{symbol} ({count} times)" if count > 1 else f"{symbol}" for symbol, count in runs
    )


def _ratio(a: int, b: int) -> Fraction | float:
    low, high = min(a, b), max(a, b)
    return Fraction(high, low) if low else math.inf if high else Fraction(1)
