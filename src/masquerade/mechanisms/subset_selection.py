"""Subset selection: report a few of many symbols, the answer more often than others among them.

Ye and Barg (2018). Of many symbols it errs less than randomized response, of which it is the case
of one symbol, and than bits for each symbol.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Flags, Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import Micro
from masquerade.exact.number import NumberLike, finite, in_range, whole
from masquerade.exact.pairs import Pair, SubsetPair
from masquerade.mechanisms.categorical import Channel, require_small
from masquerade.mechanisms.combinations import members_of, place_of
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Labels
from masquerade.mechanisms.mechanism import require_flag
from masquerade.mechanisms.randomized_response import ASSUMPTIONS

if TYPE_CHECKING:
    from masquerade.answers import Claims

MOST_SYMBOLS = 512
#: A report is the number of a subset, which a browser must hold.
MOST_SUBSETS = 1 << 53
_LARGEST_TOTAL = 1 << 62
_LARGEST_EPSILON = 100


def drawn_inside(symbols: int, size: int, epsilon: Fraction) -> tuple[int, int]:
    """Return ``(inside, total)``: the answer is in the subset with probability inside / total.

    ``d e**epsilon / (d e**epsilon + k - d)``, rounded down, so that the loss is never above
    epsilon, and never below d / k, where the subset tells nothing.

    Examples
    --------
    >>> drawn_inside(5, 2, Fraction(1, 2))
    (2414753221608904388, 4611686018427387900)
    """
    total = _LARGEST_TOTAL // symbols * symbols
    with decimal.localcontext(decimal.Context(prec=60)):
        loss = min(epsilon, Fraction(_LARGEST_EPSILON))
        growth = size * (decimal.Decimal(loss.numerator) / loss.denominator).exp()
        share = total * growth / (growth + symbols - size)
        # Down; the guard covers the rounding of the 60-digit division and exponential.
        below = (share - decimal.Decimal(10) ** -30).to_integral_value(decimal.ROUND_FLOOR)
    return max(size * total // symbols, int(below)), total


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SubsetSelection(DeviceMechanism):
    """Report a set of `size` symbols, in which the answer is more often than another.

    A report is the number of the set (`masquerade.mechanisms.combinations`).

    Parameters
    ----------
    options : int
        Number of options, at least 2.
    size : int
        Number of symbols of a report, less than there are.
    epsilon : number
        Loss of one report in nats, at least 0.
    null : bool
        Adds the symbol "no answer", masked like the options.

    Privacy
    -------
    Protects each answer of a person from everyone but the person's own device. With k symbols, d of
    them reported and the answer inside with probability p, a report loses exactly
    ``ln(p (k - d) / ((1 - p) d))``, at most epsilon, where it tells two answers apart: with one of
    them inside and the other not.

    References
    ----------
    Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential
    privacy" (2018), equation 4.

    Examples
    --------
    >>> mechanism = SubsetSelection(20, size=2, epsilon=1)
    >>> str(mechanism), mechanism.guarantee(answers=3).epsilon_user.epsilon
    ('subset-selection:options=20,size=2,epsilon=1', 3.0)
    """

    name = "subset-selection"
    example = "subset-selection:options=5,size=2,epsilon=1"
    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    in_surveys = True

    options: int
    size: int
    epsilon: Fraction
    null: bool = False
    #: ``(inside, total)``: the answer is in the subset with probability inside / total.
    grid: tuple[int, int] = field(init=False)

    def __init__(self, options: int, *, size: int, epsilon: NumberLike, null: bool = False) -> None:
        require_flag(null, "null")
        options = whole(options, "options", low=2, high=MOST_SYMBOLS - null)
        size = whole(size, "size", low=1, high=options + null - 1)
        if math.comb(options + null, size) > MOST_SUBSETS:
            raise ParameterError(
                f"size is {size}, and {options + null} symbols have more than 2**53 subsets of so "
                "many, which no browser can number; give a smaller size.",
                field="size",
            )
        loss = finite(epsilon, "epsilon")
        in_range(loss, "epsilon", low=0)
        grid = drawn_inside(options + null, size, loss)
        self._set(options=options, size=size, epsilon=loss, null=null, grid=grid)

    @property
    def symbols(self) -> int:
        """Number of options, "no answer" counted."""
        return self.options + self.null

    @property
    def subsets(self) -> int:
        """Number of different reports."""
        return math.comb(self.symbols, self.size)

    @property
    def domain(self) -> Labels:
        """The labels that it masks."""
        return Labels(self.symbols)

    @property
    def codes(self) -> int:
        """Number of different answers, "no answer" counted where it is masked."""
        return self.symbols

    def possible_reports(self) -> tuple[int, int]:
        """Return the numbers of the first and the last subset."""
        return 0, self.subsets - 1

    @property
    def as_subsets(self) -> SubsetSelection:
        """The mechanism itself."""
        return self

    @property
    def inside_probability(self) -> Fraction:
        """P(the answer is in the report)."""
        return Fraction(*self.grid)

    @property
    def other_probability(self) -> Fraction:
        """P(a certain other symbol is in the report)."""
        return (self.size - self.inside_probability) / (self.symbols - 1)

    @property
    def signal(self) -> Fraction:
        """`inside_probability` less `other_probability`: 0 where reports say nothing."""
        return self.inside_probability - self.other_probability

    def members(self, reports: Integers) -> Flags:
        """Return which symbols are in each report, shape (n, symbols)."""
        return members_of(reports, self.symbols, self.size)

    def members_of_report(self, report: int) -> list[int]:
        """Return the symbols in one report, ascending."""
        members: list[int] = np.flatnonzero(self.members(np.array([report]))[0]).tolist()
        return members

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: constant time.
        """
        answers = whole(answers, "answers", low=0)
        pair = self._pair
        ratio = Fraction(pair.keep, pair.other) if pair.other else math.inf
        one = Micro.of_ratio(ratio)
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one * min(answers, 1),
            epsilon_user=Micro.of_ratio(ratio, times=answers),
            answers=answers,
            assumptions=ASSUMPTIONS,
        )

    @property
    def _pair(self) -> SubsetPair:
        # Of two answers the report holds the first alone, the second alone, or both or neither.
        inside, total = self.grid
        keep, other = inside * (self.symbols - self.size), (total - inside) * self.size
        return SubsetPair(keep, other, total * (self.symbols - 1) - keep - other)

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the pair of one answer, for each of them."""
        return {self._pair: whole(answers, "answers", low=0)}

    def channel(self) -> Channel:
        """Return P(report | answer), in exact fractions.

        Raises
        ------
        ParameterError
            The table would have more than 2**22 entries.
        """
        require_small(self.symbols, self.subsets)
        inside = self.inside_probability / math.comb(self.symbols - 1, self.size - 1)
        outside = (1 - self.inside_probability) / math.comb(self.symbols - 1, self.size)
        held = self.members(np.arange(self.subsets))
        return Channel(
            tuple(
                tuple(inside if here else outside for here in held[:, answer])
                for answer in range(self.symbols)
            )
        )

    def variance(self) -> float:
        """Return the variance that the mask adds to the estimates of all shares together.

        ``(p (1 - p) + (k - 1) q (1 - q)) / (p - q)**2``, p and q the probabilities that the answer
        and another symbol are in a report.
        """
        p, q, signal = self.inside_probability, self.other_probability, self.signal
        if signal == 0:
            return math.inf
        return float((p * (1 - p) + (self.symbols - 1) * q * (1 - q)) / signal**2)

    def device_form(self) -> dict[str, Any]:
        """Return the whole-number form that a device draws from, as JSON-ready values.

        The answer is in the subset where a number below ``total`` is below ``inside``.
        """
        inside, total = map(str, self.grid)
        return {
            "name": self.name,
            "choices": self.symbols,
            "size": self.size,
            "inside": inside,
            "total": total,
        }

    def mask(
        self, answers: Codes | Integers, persons: Codes | Integers, source: WordSource
    ) -> Integers:
        """Return a report for each answer; the draws never depend on the answers."""
        inside, total = self.grid
        n, rows = len(answers), np.arange(len(answers))
        held = uniform_below(source, total, n) < np.uint64(inside)
        pool = np.tile(np.arange(self.symbols - 1, dtype=np.int64), (n, 1))
        for at in range(self.size):
            taken = at + uniform_below(source, self.symbols - 1 - at, n).astype(np.int64)
            pool[rows, at], pool[rows, taken] = pool[rows, taken], pool[rows, at]
        given = np.asarray(answers, dtype=np.int64)[:, None]
        chosen = pool[:, : self.size]
        chosen = chosen + (chosen >= given)  # places among the others, so the answer is left out
        chosen[:, -1] = np.where(held, given[:, 0], chosen[:, -1])
        return place_of(np.sort(chosen, axis=1))

    def check(self, claims: Claims) -> NoReturn:
        """Refuse claims: each of them is one label, and a report here is a set of them."""
        raise ParameterError(
            f"{self} reports sets of labels, and a claim is one label; mask claims by "
            "randomized-response."
        )

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)
