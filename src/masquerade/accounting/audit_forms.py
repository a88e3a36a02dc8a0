"""Forms of devices: the whole numbers that they draw from, and the loss that follows from these."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.accounting.audit_table import (
    TAIL,
    TableLoss,
    Witness,
    beyond_rounding,
    delta_at,
    divergences,
    each_time,
    epsilon_at,
    joint_loss,
    lowest,
    pattern_counts,
    ratio_of,
)
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import ORDERS

#: Of a person who shares one flip probability, for the joint table in fractions.
MOST_ANSWERS = 500

_LARGEST_WINDOW = 1 << 21
_LARGEST_ROW = 1 << 12
_UNIT = 2.0**-53
_REACH = 45  # scales of Laplace noise: e**-45 is 3e-20
_SIGMAS = 12

#: Reports, and the probability of each.
Row = tuple[Sequence[Any], Floats]


class Form(ABC):
    """The whole numbers that a device draws from; they fix the probability of every report."""

    #: How many whole numbers can stand for an answer.
    codes: int

    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""
        return 0 <= code < self.codes

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


def _by_ratio(
    method: str,
    ratio: Fraction | float,
    orders: Sequence[float],
    worst: Witness,
    *,
    times: int,
    each: int = 1,
) -> TableLoss:
    """Return the loss of `times` answers of `each` draws, of which every one has this ratio."""
    return TableLoss(
        method,
        Micro.of_ratio(ratio, times=each),
        Micro.of_ratio(ratio, times=each * times),
        worst if ratio > 1 else None,
        orders=tuple(each * times * one for one in orders),
    )


def read_form(form: Mapping[str, Any]) -> Form | None:
    """Return a device form by the numbers that it holds; None where they are of no known kind.

    Examples
    --------
    >>> from masquerade.mechanisms import BitwiseResponse
    >>> read_form(BitwiseResponse(12, 3, epsilon=1).device_form()).changes()
    6
    """
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

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss | None:
        """Return the loss of `answers` answers masked together, exactly; see `Form.loss`."""
        form = self.first, self.last, self.total, self.symbols
        if answers > 1 and self.first != self.last:
            return joint_loss(form, answers) if answers <= MOST_ANSWERS else None
        kept, moved = pattern_counts(*form, 1)
        ratio = ratio_of(kept, moved)
        orders = divergences([(kept, moved, 1), (moved, kept, 1), (moved, moved, self.symbols - 2)])
        ends = (0, 1) if not self.levels else (0, self.points - 1)
        worst = each_time(0, *(ends if kept > moved else ends[::-1]), answers)
        return _by_ratio("table of fractions", ratio, orders, worst, times=answers)

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
        return _by_ratio(
            "fractions of each bit, and all pairs of sizes of sets",
            ratio,
            orders,
            worst,
            times=answers,
            each=changes,
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
        allowed = float(delta) + 2 * TAIL  # what floats can bring about must refute nobody
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


class SubsetForm(Form):
    """A set of symbols with the answer inside with chance inside / total, the rest drawn evenly."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.codes, self.size = int(form["choices"]), int(form["size"])
        self.inside, self.total = int(form["inside"]), int(form["total"])

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss:
        """Return the loss: of two answers a set holds one, the other, or both or neither.

        By an answer that is inside, each set with it has the same chance, and each without it too;
        sets with both, or without either, have the same chance by both.
        """
        kept = self.inside * (self.codes - self.size)
        moved = (self.total - self.inside) * self.size
        rest = self.total * (self.codes - 1) - kept - moved
        ratio = ratio_of(kept, moved)
        orders = divergences([(kept, moved, 1), (moved, kept, 1), (1, 1, rest)])
        worst = each_time("with the first alone", 0, 1, answers)
        return _by_ratio(
            "fractions of sets with one of two answers", ratio, orders, worst, times=answers
        )

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report of an answer; None where they are too many."""
        count = math.comb(self.codes, self.size)
        if count > _LARGEST_ROW:
            return None
        inside = self.inside / self.total / math.comb(self.codes - 1, self.size - 1)
        outside = (1 - self.inside / self.total) / math.comb(self.codes - 1, self.size)
        law = np.zeros(count)
        for members in itertools.combinations(range(self.codes), self.size):
            number = sum(math.comb(place, i + 1) for i, place in enumerate(members))
            law[number] = inside if code in members else outside
        return range(count), law


class OrderForm(Form):
    """The order of a few items that are drawn, masked by randomized response on the orders."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.items, self.ranked = int(form["items"]), int(form["ranked"])
        self.size, self.null = int(form["size"]), bool(form["null"])
        self.other, self.total = int(form["other"]), int(form["total"])
        self.orders = math.factorial(self.size)
        self.symbols = self.orders + self.null
        self.rankings = math.perm(self.items, self.ranked)
        self.codes = self.rankings + self.null

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss:
        """Return the loss of randomized response on the orders.

        The set is drawn of nothing that was answered; given it, coins for items that are not ranked
        only mix rows, and a ranking and its reversal have rows that are not mixed and differ.
        """
        kept, moved = self.total - (self.symbols - 1) * self.other, self.other
        ratio = ratio_of(kept, moved)
        orders = divergences([(kept, moved, 1), (moved, kept, 1), (moved, moved, self.symbols - 2)])
        worst = each_time("of one set", 0, self.rankings - 1, answers)
        return _by_ratio("fractions of the orders of a set", ratio, orders, worst, times=answers)

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report of an answer; None where they are too many."""
        sets = list(itertools.combinations(range(self.items), self.size))
        if len(sets) * self.symbols > _LARGEST_ROW:
            return None
        sets.sort(key=lambda one: sum(math.comb(place, i + 1) for i, place in enumerate(one)))
        permuted = list(itertools.permutations(range(self.size)))
        law = np.full((len(sets), self.symbols), self.other / self.total)
        gain = 1 - self.symbols * self.other / self.total
        ranking = None if code == self.rankings else self._ranking(code)
        for row, members in zip(law, sets, strict=True):
            if ranking is None:
                row[-1] += gain
                continue
            for tie in permuted:
                # the drawn order of those without a rank: the tie-th of them stands tie places on
                rank = [
                    ranking.index(item) if item in ranking else self.ranked + tie.index(at)
                    for at, item in enumerate(members)
                ]
                order = tuple(sorted(range(self.size), key=rank.__getitem__))
                row[permuted.index(order)] += gain / len(permuted)
        return range(law.size), law.ravel() / len(sets)

    def _ranking(self, code: int) -> list[int]:
        places = []
        for size in range(self.items - self.ranked + 1, self.items + 1):
            code, place = divmod(code, size)
            places.append(place)
        left = list(range(self.items))
        return [left.pop(place) for place in reversed(places)]
