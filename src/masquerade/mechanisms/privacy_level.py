"""Privacy levels: one number a level, the same strength for every kind of question.

A level is its Gaussian-DP strength mu; a question's mechanism is chosen so that its
zero-concentrated loss is mu**2 / 2, whatever the number of options. What a level promises is still
stated as the exact pure epsilon of the mechanism that comes out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from masquerade.errors import ParameterError
from masquerade.exact.micro import MICRO
from masquerade.exact.number import largest_whole
from masquerade.lazy import suggestion
from masquerade.mechanisms.bitwise_response import BitwiseResponse, changed_bits
from masquerade.mechanisms.lattice import Lattice
from masquerade.mechanisms.masked_order import MaskedOrder
from masquerade.mechanisms.quantised_response import QuantisedResponse
from masquerade.mechanisms.randomized_response import RandomizedResponse
from masquerade.mechanisms.subset_selection import MOST_SUBSETS, SubsetSelection

#: Name of the clear level, at which answers are sent as they are; no other level may do that.
CLEAR = "none"
#: Regular expression of a level's name.
LEVEL_PATTERN = r"[a-z][a-z0-9-]{0,31}"

_STRONG = Fraction(1, 2)  # mu up to which a number is sent as low or high alone
_ORDERS = (1.0, *(1 + 10 ** (k / 8) for k in range(-24, 33)))


@dataclass(frozen=True, slots=True)
class Level:
    """A strength of protection that a participant can be asked to accept.

    Attributes
    ----------
    mu : Fraction
        Gaussian-DP strength; smaller protects more.

    Examples
    --------
    >>> level = Level("medium", Fraction(2, 3))
    >>> str(level.randomized_response(2))
    'randomized-response:options=2,epsilon=0.679266'
    """

    name: str
    mu: Fraction

    @property
    def rho(self) -> float:
        """Zero-concentrated loss of one answer, mu**2 / 2."""
        return float(self.mu**2 / 2)

    def randomized_response(self, options: int, *, null: bool = False) -> RandomizedResponse:
        """Return this level's mechanism for a question with `options` options."""
        epsilon = _largest_epsilon(self.rho, options + null)
        return RandomizedResponse(options, epsilon=epsilon, null=null)

    def categorical_response(
        self, options: int, *, null: bool = False
    ) -> RandomizedResponse | SubsetSelection:
        """Return this level's mechanism of least variance for a question with one answer.

        Subset selection of d of k symbols, d from 1 to k / 2, each at the epsilon of the level's
        rho; d = 1 is randomized response, and the smaller of equals is taken.
        """
        size, epsilon = _best_subset(self.rho, options + null)
        if size == 1:
            return self.randomized_response(options, null=null)
        return SubsetSelection(options, size=size, epsilon=epsilon, null=null)

    def masked_order(self, items: int, top: int | None, *, null: bool = False) -> MaskedOrder:
        """Return this level's mechanism for a ranking: of two items, of three where it is weak."""
        size = 3 if self.mu > 1 and items > 2 else 2
        epsilon = _largest_epsilon(self.rho, math.factorial(size) + null)
        return MaskedOrder(items, top, size=size, epsilon=epsilon, null=null)

    def bitwise_response(
        self, options: int, most: int | None = None, *, null: bool = False
    ) -> BitwiseResponse:
        """Return this level's mechanism for a question with several answers of `options`.

        Zero-concentrated losses of independent bits add, so each that can change has its share.
        """
        changes = changed_bits(options, most, null=null)
        # The loss of each bit is rounded up to a millionth, and their sum is to stay within rho.
        epsilon = _largest_epsilon(self.rho / changes - 1 / MICRO, 2)
        return BitwiseResponse(options, most, epsilon=epsilon * changes, null=null)

    def quantised_response(self, scale: Lattice, *, null: bool) -> QuantisedResponse:
        """Return this level's mechanism for a number that can be skipped, on a few levels.

        Two levels where protection is strong, else five: the mean of those who answer then errs
        least, whether half or nearly all of them do.
        """
        levels = min(scale.points, 2 if self.mu <= _STRONG else 5)
        epsilon = _largest_epsilon(self.rho, levels + null)
        ends = (scale.low, scale.high, scale.step)
        return QuantisedResponse(*ends, epsilon=epsilon, levels=levels, null=null)


#: The three levels that a survey offers by default, the best protected first.
LEVELS = (
    Level("high", Fraction(1, 3)),
    Level("medium", Fraction(2, 3)),
    Level("low", Fraction(4, 3)),
)


def level_named(name: str) -> Level:
    """Return the level of this name.

    Examples
    --------
    >>> level_named("high").mu
    Fraction(1, 3)
    """
    for level in LEVELS:
        if level.name == name:
            return level
    raise ParameterError(
        f"level is {name!r}, expected one of {', '.join(level.name for level in LEVELS)}."
        f"{suggestion(name, (level.name for level in LEVELS))}"
    )


@lru_cache(maxsize=1024)
def _largest_epsilon(rho: float, symbols: int, size: int = 1) -> Fraction:
    # rho grows with epsilon
    micro = largest_whole(
        lambda m: concentrated_loss(m / MICRO, symbols, size) <= rho, high=60 * MICRO
    )
    return Fraction(micro, MICRO)


@lru_cache(maxsize=1024)
def _best_subset(rho: float, symbols: int) -> tuple[int, Fraction]:
    """Return size and epsilon of the subsets of least variance at a rho."""
    best: tuple[float, int, Fraction] | None = None
    for size in range(1, max(symbols // 2, 1) + 1):
        if math.comb(symbols, size) > MOST_SUBSETS:
            break
        epsilon = _largest_epsilon(rho, symbols, size)
        inside = size * math.exp(epsilon) / (size * math.exp(epsilon) + symbols - size)
        other = (size - inside) / (symbols - 1)
        noise = inside * (1 - inside) + (symbols - 1) * other * (1 - other)
        found = noise / (inside - other) ** 2, size, epsilon
        if best is not None and found[0] > 1.1 * best[0]:
            break  # it has one least value, and rises from there on
        best = found if best is None or found[0] < best[0] else best
    assert best is not None
    return best[1], best[2]


def concentrated_loss(epsilon: float, symbols: int, size: int = 1) -> float:
    """Return sup over orders a of (Renyi divergence of order a) / a for subset selection.

    Randomized response is the case of one symbol. The supremum is searched on a grid of orders that
    includes the limit a = 1, then between the neighbours of the best one. It sets levels and never
    a promise.
    """
    law = _law(epsilon, symbols, size)
    values = [_divergence_per_order(order, epsilon, law) for order in _ORDERS]
    best = values.index(max(values))
    low = math.log(max(_ORDERS[max(best - 1, 0)], 1 + 1e-4) - 1)
    high = math.log(_ORDERS[min(best + 1, len(_ORDERS) - 1)] - 1)
    for _ in range(40):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if _divergence_per_order(1 + math.exp(left), epsilon, law) < _divergence_per_order(
            1 + math.exp(right), epsilon, law
        ):
            low = left
        else:
            high = right
    return max(values[best], _divergence_per_order(1 + math.exp(low), epsilon, law))


def _law(epsilon: float, symbols: int, size: int) -> tuple[float, float, float]:
    """Return the probabilities that a report speaks for the answer, for another, for neither."""
    if size == 1:
        other = 1 / (symbols - 1 + math.exp(epsilon))
        return math.exp(epsilon) * other, other, (symbols - 2) * other
    inside = size * math.exp(epsilon) / (size * math.exp(epsilon) + symbols - size)
    kept = inside * (symbols - size) / (symbols - 1)
    other = (1 - inside) * size / (symbols - 1)
    return kept, other, 1 - kept - other


def _divergence_per_order(order: float, epsilon: float, law: tuple[float, float, float]) -> float:
    keep, other, rest = law
    # Renyi divergence D_a = ln(sum of P**a Q**(1 - a)) / (a - 1) of the reports of two answers;
    # its limit at a = 1 is the Kullback-Leibler divergence. In logs, for keep**a underflows.
    if order == 1:
        return (keep - other) * epsilon
    log_terms = (
        order * math.log(keep) + (1 - order) * math.log(other),
        order * math.log(other) + (1 - order) * math.log(keep),
        math.log(rest) if rest > 0 else -math.inf,
    )
    top = max(log_terms)
    total = top + math.log(sum(math.exp(term - top) for term in log_terms))
    return total / (order - 1) / order
