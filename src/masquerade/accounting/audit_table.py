"""The exact table of an audit: losses enumerated from the whole numbers that a device draws from.

A mechanism is not asked what it says of itself: its table of probabilities, its losses and the
number of bits that an answer can change follow here from `DeviceMechanism.device_form` alone.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import ORDERS

#: To this, losses that are computed in floats are known.
ROUNDING = 1e-9
#: Of a person who shares one flip probability, for the joint table in fractions.
MOST_ANSWERS = 500

_LARGEST_WINDOW = 1 << 21
_LARGEST_ROW = 1 << 12
_TAIL = 1e-13
_UNIT = 2.0**-53
_REACH = 45  # scales of Laplace noise: e**-45 is 3e-20
_SIGMAS = 12
_HALVINGS = 200

#: Reports, and the probability of each.
Row = tuple[Sequence[Any], Floats]


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


class Form(ABC):
    """The whole numbers that a device draws from; they fix the probability of every report."""

    #: How many whole numbers can stand for an answer.
    codes: int

    @abstractmethod
    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""

    @abstractmethod
    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss | None:
        """Return the loss of `answers` answers of one person; None where a table is too large.

        `claimed` and `delta`: where delta is looked at, of all answers.
        """

    @abstractmethod
    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report of an answer; None where they are too many."""

    def named(self, code: int) -> str:
        """Return an answer in words."""
        return str(code)


def read_form(form: Mapping[str, Any]) -> Form | None:
    """Return a device form by the numbers that it holds; None where they are of no known kind.

    Examples
    --------
    >>> from masquerade.mechanisms import BitwiseResponse
    >>> read_form(BitwiseResponse(12, 3, epsilon=1).device_form()).changes()
    6
    """
    from masquerade.accounting.audit_sets import OrderForm, SubsetForm

    kinds: dict[str, Callable[[Mapping[str, Any]], Form]] = {
        "most": Bits,
        "choices": SubsetForm,
        "items": OrderForm,
        "symbols": Response,
        "scale": LaplaceNoise,
        "variance": GaussianNoise,
    }
    for key, kind in kinds.items():
        if key in form:
            try:
                return kind(form)
            except KeyError:
                return None
    return None


class Response(Form):
    """Every other symbol with chance i / total, i uniform from first to last, once a person.

    With levels, an answer between two levels is first moved to one of them: its row is a mixture
    of rows of levels, so that no two answers are told apart better than two levels (the divergences
    are jointly quasi-convex), and both ends are levels.
    """

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.first, self.last, self.total = (int(form[key]) for key in ("first", "last", "total"))
        self.symbols = int(form["symbols"])
        self.levels, self.null = int(form.get("levels", 0)), bool(form.get("null", False))
        self.points = int(form["points"]) if self.levels else 0
        self.codes = self.points + self.null if self.levels else self.symbols

    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""
        return 0 <= code < self.codes

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss | None:
        """Return the loss of `answers` answers masked together, exactly; see `Form.loss`."""
        form = self.first, self.last, self.total, self.symbols
        if answers > 1 and self.first != self.last:
            return _joint(form, answers) if answers <= MOST_ANSWERS else None
        kept, moved = pattern_counts(*form, 1)
        ratio = ratio_of(kept, moved)
        orders = divergences([(kept, moved, 1), (moved, kept, 1), (moved, moved, self.symbols - 2)])
        ends = (0, 1) if not self.levels else (0, self.points - 1)
        worst = each_time(0, *(ends if kept > moved else ends[::-1]), answers)
        return TableLoss(
            "table of fractions",
            Micro.of_ratio(ratio),
            Micro.of_ratio(ratio, times=answers),
            worst if ratio > 1 else None,
            orders=tuple(answers * one for one in orders),
        )

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report; see `Form.row`."""
        kept, moved = (
            float(Fraction(count, (self.last - self.first + 1) * self.total))
            for count in pattern_counts(self.first, self.last, self.total, self.symbols, 1)
        )
        held = np.zeros(self.symbols)
        if not self.levels:
            held[code] = 1
        elif code == self.points:
            held[-1] = 1
        else:
            level, rest = divmod(code * (self.levels - 1), self.points - 1)
            held[level] = 1 - rest / (self.points - 1)
            if rest:
                held[level + 1] = rest / (self.points - 1)
        return range(self.symbols), moved + (kept - moved) * held


class Bits(Form):
    """Each bit of a set of options, and of "no answer", flipped with chance other / total."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.options, self.most = int(form["options"]), int(form["most"])
        self.null = bool(form["null"])
        self.other, self.total = int(form["other"]), int(form["total"])
        self.bits = self.options + self.null
        self.codes = 1 << self.bits

    def allows(self, code: int) -> bool:
        """Return whether a row of bits is an answer."""
        if self.null and code >> self.options:
            return code == 1 << self.options
        return 0 <= code < self.codes and code.bit_count() <= self.most

    def changes(self) -> int:
        """Return the largest number of bits in which two answers differ, over all sizes of sets."""
        sizes = range(min(self.most, self.options) + 1)
        # sets of a and b options, as far apart as they can be, share a + b - options at least
        most = max(a + b - 2 * max(0, a + b - self.options) for a in sizes for b in sizes)
        return max(most, sizes[-1] + 1) if self.null else most

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss:
        """Return the loss of the bits that can change, which are drawn separately."""
        changes = self.changes()
        keep = self.total - self.other
        ratio = ratio_of(keep, self.other)
        orders = divergences([(keep, self.other, 1), (self.other, keep, 1)])
        all_bits = (1 << changes) - 1
        # the answers farthest apart: the first bits against the next ones
        ends = (0, all_bits) if changes <= self.most else (all_bits >> changes // 2, all_bits)
        worst = each_time(f"{changes} bits", self.named(ends[0]), self.named(ends[1]), answers)
        return TableLoss(
            "fractions of each bit, and all pairs of sizes of sets",
            Micro.of_ratio(ratio, times=changes),
            Micro.of_ratio(ratio, times=changes * answers),
            worst if ratio > 1 else None,
            orders=tuple(changes * answers * one for one in orders),
        )

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one row of bits; see `Form.row`."""
        if self.codes > _LARGEST_ROW:
            return None
        flip = self.other / self.total
        moved = np.array([(code ^ report).bit_count() for report in range(self.codes)])
        return range(self.codes), flip**moved * (1 - flip) ** (self.bits - moved)

    def named(self, code: int) -> str:
        """Return a set of options in words."""
        if self.null and code == 1 << self.options:
            return "'no answer'"
        return "{" + " ".join(str(b + 1) for b in range(self.bits) if code >> b & 1) + "}"


class LaplaceNoise(Form):
    """A number of steps plus noise ``P(n) ~ exp(-|n| / scale)``."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.points, self.null = int(form["points"]), bool(form["null"])
        self.fill = form["fill"]
        top, bottom = form["scale"]
        self.scale = Fraction(int(top), int(bottom))
        self.codes = self.points + self.null
        self.reach = int(_REACH * self.scale) + 1

    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""
        return 0 <= code < self.codes

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss:
        """Return the loss by exponents, in fractions.

        Two answers d steps apart lose d / scale, at every report beyond the one that is more
        likely, and never more; what stands in for "no answer" is one of the answers or a mixture
        of them, so that nothing exceeds the two ends.
        """
        apart = self.points - 1
        one = apart / self.scale
        orders: tuple[float, ...] | None = None
        gaps: tuple[str, ...] = ("divergences: the window of reports is too large",)
        if apart + 2 * self.reach <= _LARGEST_WINDOW:
            orders, gaps = tuple(answers * d for d in self._divergences(apart)), ()
        return TableLoss(
            "exponents in fractions",
            Micro.of_amount(one),
            Micro.of_amount(one * answers),
            each_time("0 or below", 0, apart, answers) if apart else None,
            orders=orders,
            gaps=gaps,
        )

    def _divergences(self, apart: int) -> list[float]:
        steps = np.arange(-self.reach, apart + self.reach + 1)
        one, other = self._logs(steps), self._logs(steps - apart)
        found = []
        for a in ORDERS:
            terms = a * one + (1 - a) * other
            top = float(terms.max())
            found.append((top + math.log(float(np.exp(terms - top).sum()))) / (a - 1))
        return found

    def _logs(self, steps: Any) -> Floats:
        h = 1 / float(self.scale)
        logs: Floats = math.log(math.tanh(h / 2)) - np.abs(steps) * h
        return logs

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report; see `Form.row`."""
        reports = np.arange(-self.reach, self.points + self.reach)
        if len(reports) > _LARGEST_ROW:
            return None
        at = [code]
        if code == self.points and self.fill is not None:
            at = list(range(self.points)) if self.fill == "uniform" else [int(self.fill)]
        law = sum((np.exp(self._logs(reports - place)) for place in at), np.zeros(len(reports)))
        return reports.tolist(), law / len(at)


class GaussianNoise(Form):
    """A number of steps plus noise ``P(n) ~ exp(-n**2 / (2 variance))``."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.points = self.codes = int(form["points"])
        top, bottom = form["variance"]
        self.variance = Fraction(int(top), int(bottom))
        self.reach = int(_SIGMAS * math.sqrt(self.variance)) + 2

    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""
        return 0 <= code < self.codes

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss | None:
        """Return the least epsilon at `delta`, delta at the claimed epsilon, and all divergences.

        The loss of a change by d steps is linear in the report, and d whole, so that D_a is
        ``a d**2 / (2 variance)`` by completing the square; a larger change is never harder to tell,
        for the noise is log-concave. Delta is summed over a window that holds all but 1e-13.
        """
        apart = self.points - 1
        # steps of noise n lose (d**2 - 2 d n) / (2 v); of several answers the sum of noise counts
        noise = np.arange(-self.reach, self.reach + 1)
        if answers * len(noise) > _LARGEST_WINDOW:
            return None
        law = np.exp(-(noise**2) / float(2 * self.variance))
        law /= law.sum()
        size = answers * (len(noise) - 1) + 1
        # The transform is right to less than a rounding of 1 at each report.
        error = size * _UNIT if answers > 1 else 0.0
        together = np.maximum(np.fft.irfft(np.fft.rfft(law, size) ** answers, size), 0.0)

        def losses(steps: Floats, count: int) -> Floats:
            return (count * apart**2 - 2 * apart * steps) / float(2 * self.variance)

        single = law, losses(noise.astype(np.float64), 1)
        reach = self.reach * answers
        every = together, losses(np.arange(-reach, reach + 1, dtype=np.float64), answers)
        found = delta_at(claimed.epsilon, *every)
        allowed = float(delta) + 2 * _TAIL  # what floats can bring about must refute nobody
        rho = answers * apart**2 / (2 * self.variance)
        return TableLoss(
            f"probabilities of {size} reports, in floats",
            lowest(epsilon_at(allowed, *single)),
            lowest(epsilon_at(allowed, *every)),
            Witness("that loses more than epsilon", ("0", str(apart))),
            orders=tuple(float(a * rho) for a in ORDERS),
            delta=found,
            gaps=beyond_rounding(found + error, delta),
        )

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report; see `Form.row`."""
        noise = np.arange(-self.reach, self.reach + 1)
        if len(noise) > _LARGEST_ROW:
            return None
        law = np.exp(-(noise**2) / float(2 * self.variance))
        return (noise + code).tolist(), law / law.sum()


def _joint(form: tuple[int, int, int, int], answers: int) -> TableLoss:
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
    rows: Sequence[Sequence[Fraction | float]],
    *,
    inputs: Sequence[Any],
    reports: Sequence[Any],
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
    allowed = float(delta) + _TAIL
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


def _in_runs(symbols: Sequence[int]) -> str:
    runs = [(symbol, len(list(group))) for symbol, group in itertools.groupby(symbols)]
    return ", ".join(
        f"{symbol} ({count} times)" if count > 1 else f"{symbol}" for symbol, count in runs
    )
