"""k-ary randomized response: keep the answer, or report one of the others evenly.

Warner (1965) for two options; the direct encoding of Kairouz, Bonawitz and Ramage (2016) for more.
It is the one-layer mechanism of Li et al., KDD 2018, section 4.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes
from masquerade.exact.coins import Words, WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import Micro
from masquerade.exact.number import NumberLike, exact, finite, in_range, whole
from masquerade.exact.pairs import Pair, ResponsePair
from masquerade.mechanisms.categorical import CategoricalMechanism, Channel, FlipMixture
from masquerade.mechanisms.mechanism import TASKS_SEEN, require_flag

MOST_SYMBOLS = 1 << 20
_LARGEST_TOTAL = 1 << 62
_LARGEST_EPSILON = 100  # far beyond ln(2**62), where the loss drawn stops growing

ASSUMPTIONS = (
    "each answer is masked once, on the person's device, with fresh operating-system randomness",
    TASKS_SEEN,
)


def grid_total(symbols: int) -> int:
    """Return the denominator of all probabilities that are not small fractions already.

    It is just below 2**62, so that four multiples nearly fill a 64-bit word, and divisible by
    ``symbols * (symbols - 1)``, so that the uniform channel is on the grid.
    """
    unit = symbols * (symbols - 1)
    return _LARGEST_TOTAL // unit * unit


def move(answers: Codes, other: Words | int, total: int, words: Words, symbols: int) -> Codes:
    """Return reports from uniform integers below `total`.

    A word below ``other`` moves the answer by one symbol, the next ``other`` words by two, and so
    on; every word from ``(symbols - 1) * other`` up keeps it. So each other symbol has probability
    exactly ``other / total``. The same operations run for every answer.
    """
    other = np.asarray(other, dtype=np.uint64)
    step = words // np.maximum(other, np.uint64(1)) + np.uint64(1)
    moved = words < other * np.uint64(symbols - 1)
    shift = np.where(moved, step, np.uint64(0)).astype(np.int64)
    return ((answers + shift) % symbols).astype(np.int32)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RandomizedResponse(CategoricalMechanism):
    """Report the answer with probability 1 - p, each other symbol with p / (symbols - 1).

    Parameters
    ----------
    options : int
        Number of options, at least 2.
    epsilon : number, optional
        Loss of one report in nats, at least 0 (0: reports are independent of the answer). The flip
        probability is rounded towards more privacy, by less than ``symbols / 2**61``.
    flip_probability : number, optional
        P(report differs from the answer), 0 to 1. Give this or `epsilon`.
    null : bool
        Adds the symbol "no answer", masked like the options.

    Privacy
    -------
    Protects each answer of a person from everyone but the person's own device. Neighbours: two
    people whose answers differ, in one (event) or in all n (user). One report costs exactly
    ``|ln((1 - p)(symbols - 1) / p)|``; one changed answer among n the same; n changed answers n
    times that. Li et al., Theorem 6.2, omit the absolute value: above (symbols - 1) / symbols their
    formula is negative.

    Examples
    --------
    >>> mechanism = RandomizedResponse(2, flip_probability=0.25)
    >>> str(mechanism), mechanism.guarantee(answers=10).epsilon_user.epsilon
    ('randomized-response:options=2,flip_probability=0.25', 10.986123)
    """

    name = "randomized-response"
    example = "randomized-response:options=4,epsilon=1"

    options: int
    epsilon: Fraction | float | None
    given_flip_probability: Fraction | None = field(metadata={"key": "flip_probability"})
    null: bool = False
    #: ``(other, total)``: each other symbol is reported with probability other / total.
    grid: tuple[int, int] = field(init=False)

    def __init__(
        self,
        options: int,
        *,
        epsilon: NumberLike | None = None,
        flip_probability: NumberLike | None = None,
        null: bool = False,
    ) -> None:
        options = whole(options, "options", low=2, high=MOST_SYMBOLS)
        require_flag(null, "null")
        loss = flip = None
        if epsilon is not None and flip_probability is None:
            loss = exact(epsilon, "epsilon")
            grid = _from_epsilon(loss, options + null)
        elif flip_probability is not None and epsilon is None:
            flip = finite(flip_probability, "flip_probability")
            grid = _from_flip_probability(flip, options + null)
        else:
            raise ParameterError("give epsilon or flip_probability, one of the two.")
        self._set(options=options, epsilon=loss, given_flip_probability=flip, null=null, grid=grid)

    @property
    def flip_probability(self) -> Fraction:
        """P(report differs from the answer), as it is drawn."""
        other, total = self.grid
        return Fraction((self.symbols - 1) * other, total)

    @property
    def mean_flip_probability(self) -> Fraction:
        """The same: everybody has one flip probability."""
        return self.flip_probability

    def channel(self) -> Channel:
        """Return P(report | answer), in exact fractions."""
        return Channel.symmetric(symbols=self.symbols, flip_probability=self.flip_probability)

    def flip_mixture(self, nodes: int = 24) -> FlipMixture:
        """Return the one flip probability that everybody has."""
        return FlipMixture(np.array([float(self.flip_probability)]), np.ones(1))

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: constant time.
        """
        answers = whole(answers, "answers", low=0)
        flip = self.flip_probability
        # Li et al. (2018), Theorem 6.2, with the absolute value that is missing there (in `Micro`).
        ratio = (1 - flip) * (self.symbols - 1) / flip if flip else math.inf
        one = Micro.of_ratio(ratio)
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one * min(answers, 1),
            epsilon_user=Micro.of_ratio(ratio, times=answers),
            answers=answers,
            assumptions=ASSUMPTIONS,
        )

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the pair of one answer, for each of them."""
        other, total = self.grid
        keep = total - (self.symbols - 1) * other
        return {ResponsePair(keep, other, self.symbols): whole(answers, "answers", low=0)}

    def device_form(self) -> dict[str, str | int]:
        """Return the whole-number form; see `CategoricalMechanism.device_form`."""
        other, total = map(str, self.grid)
        symbols = self.symbols
        return {
            "name": self.name,
            "symbols": symbols,
            "first": other,
            "last": other,
            "total": total,
        }

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return a report for each answer; see `CategoricalMechanism.mask`."""
        other, total = self.grid
        words = uniform_below(source, total, len(answers))
        return move(answers, other, total, words, self.symbols)


def _from_epsilon(epsilon: Fraction | float, symbols: int) -> tuple[int, int]:
    in_range(epsilon, "epsilon", low=0)
    total = grid_total(symbols)
    if isinstance(epsilon, float):
        return 0, total
    if epsilon == 0:
        # the uniform channel, exactly, for total is a multiple of symbols
        return total // symbols, total
    epsilon = min(epsilon, Fraction(_LARGEST_EPSILON))
    with decimal.localcontext(decimal.Context(prec=60)):
        growth = (decimal.Decimal(epsilon.numerator) / epsilon.denominator).exp()
        share = decimal.Decimal(total) / (symbols - 1 + growth)
        # Up, so that the loss drawn is never above the epsilon asked for; the guard covers the
        # rounding of the 60-digit division and exponential.
        other = (share + decimal.Decimal(10) ** -30).to_integral_value(decimal.ROUND_CEILING)
    return min(int(other), total // symbols), total


def _from_flip_probability(flip: Fraction, symbols: int) -> tuple[int, int]:
    in_range(flip, "flip_probability", low=0, high=1)
    share = flip / (symbols - 1)
    # a device can draw with this denominator: the probability asked for, exactly
    if share.denominator <= _LARGEST_TOTAL:
        return share.numerator, share.denominator
    total = grid_total(symbols)
    scaled = share * total
    below_uniform = flip <= Fraction(symbols - 1, symbols)
    # towards the uniform channel, from either side: never less private than asked for
    return (math.ceil(scaled) if below_uniform else math.floor(scaled)), total
