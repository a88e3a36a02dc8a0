"""Randomized response on the order of a few items of a ranking, drawn for each report.

A whole ranking of m items has m! values, of which randomized response tells next to nothing. The
order of two or three of them has few, and the mean rank of every item follows without bias.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.number import NumberLike, exact, in_range, whole
from masquerade.exact.pairs import Pair
from masquerade.mechanisms.categorical import Channel, require_small
from masquerade.mechanisms.combinations import place_of, sets_of_places
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Orders
from masquerade.mechanisms.mechanism import require_flag
from masquerade.mechanisms.randomized_response import RandomizedResponse, move

if TYPE_CHECKING:
    from masquerade.answers import Claims

MOST_ITEMS = 12


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MaskedOrder(DeviceMechanism):
    """Draw a few items, and mask the order in which a person ranks them.

    Answers are rankings of the first `top` items as `ranking_code` numbers them. Items that are not
    ranked stand after all others, in an order drawn evenly for this report alone, so that mean
    ranks count the shared middle rank. A report is the place of the set among all sets, times the
    number of symbols, plus the masked order, counted in the order of dictionaries.

    Parameters
    ----------
    items : int
        Number of items, 2 to 12.
    top : int, optional
        How many a person ranks, 1 to `items`; default: all.
    size : int
        How many are drawn, 2 or 3.
    epsilon : number
        Loss of one report in nats, at least 0.
    null : bool
        Adds the symbol "no answer", masked like the orders.

    Privacy
    -------
    Protects each ranking of a person, and whether it was given where `null`, from everyone but the
    person's own device. Which items are drawn is public: it depends on nothing, so a report loses
    exactly what randomized response on the orders loses, for any two rankings.

    Examples
    --------
    >>> mechanism = MaskedOrder(5, size=2, epsilon=1)
    >>> str(mechanism), mechanism.guarantee(answers=2).epsilon_user.epsilon
    ('masked-order:items=5,size=2,epsilon=1', 2.0)
    """

    name = "masked-order"
    example = "masked-order:items=4,size=2,epsilon=1"
    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    in_surveys = True

    items: int
    top: int | None
    size: int
    epsilon: Fraction | float
    null: bool = False
    #: What masks the order.
    response: RandomizedResponse = field(init=False)

    def __init__(
        self,
        items: int,
        top: int | None = None,
        *,
        size: int,
        epsilon: NumberLike,
        null: bool = False,
    ) -> None:
        require_flag(null, "null")
        items = whole(items, "items", low=2, high=MOST_ITEMS)
        size = whole(size, "size", low=2, high=min(3, items))
        top = None if top is None else whole(top, "top", low=1, high=items)
        loss = exact(epsilon, "epsilon")
        in_range(loss, "epsilon", low=0)
        response = RandomizedResponse(math.factorial(size) + null, epsilon=loss)
        self._set(items=items, top=top, size=size, epsilon=loss, null=null, response=response)

    @property
    def ranked(self) -> int:
        """Number of items that a person ranks."""
        return self.items if self.top is None else self.top

    @property
    def orders(self) -> int:
        """Number of orders of the items of a set."""
        return math.factorial(self.size)

    @property
    def symbols(self) -> int:
        """Number of symbols of a set: its orders, "no answer" counted."""
        return self.orders + self.null

    @property
    def sets(self) -> int:
        """Number of sets of items."""
        return math.comb(self.items, self.size)

    @property
    def rankings(self) -> int:
        """Number of rankings, "no answer" not counted."""
        return math.perm(self.items, self.ranked)

    @property
    def domain(self) -> Orders:
        """The rankings that it masks."""
        return Orders(self.items, self.ranked, self.null)

    @property
    def codes(self) -> int:
        """Number of rankings, and one more where "no answer" is masked."""
        return self.rankings + self.null

    def possible_reports(self) -> tuple[int, int]:
        """Return the first and the last report."""
        return 0, self.sets * self.symbols - 1

    @property
    def as_orders(self) -> MaskedOrder:
        """The mechanism itself."""
        return self

    @property
    def members(self) -> Integers:
        """The items of each set, ascending, shape (sets, size)."""
        return sets_of_places(self.items, self.size)

    @property
    def places(self) -> Integers:
        """The place of each item of a set in each order, 0 first; shape (orders, size)."""
        return _places(self.size)

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: constant time.
        """
        return self.response.guarantee(answers=answers)

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the pair of the response: the set that is drawn tells nothing."""
        return self.response.pairs(answers=answers)

    def channel(self) -> Channel:
        """Return P(report | answer) in exact fractions; rows are rankings, then "no answer".

        Raises
        ------
        ParameterError
            The table would have more than 2**22 entries.
        """
        require_small(self.codes, self.sets * self.symbols)
        other, total = self.response.grid
        floor = Fraction(other, total * self.sets)
        gain = Fraction(total - self.symbols * other, total * self.sets)
        ranks = ranks_of(np.arange(self.rankings), self.items, self.ranked)
        ties = _places(self.size)
        table = [[floor] * (self.sets * self.symbols) for _ in range(self.codes)]
        for start, members in enumerate(self.members):
            held = ranks[:, members]
            for tie in ties:
                orders = _order_codes(np.where(held == self.ranked, held + tie, held))
                for answer, order in enumerate(orders):
                    table[answer][start * self.symbols + int(order)] += gain / len(ties)
            if self.null:
                table[-1][start * self.symbols + self.orders] += gain
        return Channel(tuple(tuple(row) for row in table))

    def variance(self) -> float:
        """Return the largest second moment of the unbiased estimate of an item's rank.

        ``m (m - 1)**2 (s + 1) / (12 s (s - 1) D**2)``, D the signal of the response.
        """
        m, s, signal = self.items, self.size, float(self.response.signal)
        return (
            math.inf if signal == 0 else m * (m - 1) ** 2 * (s + 1) / (12 * s * (s - 1) * signal**2)
        )

    def device_form(self) -> dict[str, Any]:
        """Return the whole-number form that a device draws from, as JSON-ready values.

        Each other symbol of the set is reported with probability ``other / total``.
        """
        other, total = map(str, self.response.grid)
        return {
            "name": self.name,
            "items": self.items,
            "ranked": self.ranked,
            "size": self.size,
            "null": self.null,
            "other": other,
            "total": total,
        }

    def mask(self, answers: Integers, persons: Codes | Integers, source: WordSource) -> Integers:
        """Return a report for each answer; the draws never depend on the answers."""
        n, (other, total) = len(answers), self.response.grid
        pool = np.tile(np.arange(self.items, dtype=np.int64), (n, 1))
        rows = np.arange(n)
        for at in range(self.size):
            taken = at + uniform_below(source, self.items - at, n).astype(np.int64)
            pool[rows, at], pool[rows, taken] = pool[rows, taken], pool[rows, at]
        tie = _places(self.size)[uniform_below(source, self.orders, n).astype(np.int64)]
        words = uniform_below(source, total, n)
        members = np.sort(pool[:, : self.size], axis=1)
        given = np.asarray(answers, dtype=np.int64)
        ranks = ranks_of(np.minimum(given, self.rankings - 1), self.items, self.ranked)
        held = np.take_along_axis(ranks, members, axis=1)
        # Those that are not ranked share the rank after the last one, and the coins order them.
        order = _order_codes(np.where(held == self.ranked, held + tie, held))
        symbol = np.where(given == self.rankings, self.orders, order)
        sent = move(symbol.astype(np.int32), other, total, words, self.symbols)
        reports: Integers = place_of(members) * self.symbols + sent
        return reports

    def worths(self, reports: Integers) -> Floats:
        """Return the part of each report in the mean rank of each item, from the middle rank.

        ``(m / s) ((m - 1) / (s - 1)) (y - (s - 1) / 2) / D`` for an item at place y of its set, 0
        for the others and for "no answer"; unbiased for every ranking. Shape (n, items).
        """
        m, s = self.items, self.size
        factor = m / s * (m - 1) / (s - 1) / float(self.response.signal)
        place, symbol = np.divmod(np.asarray(reports, dtype=np.int64), self.symbols)
        shown = np.vstack([self.places - (s - 1) / 2, np.zeros((int(self.null), s))])
        worth: Floats = np.zeros((len(place), m))
        np.put_along_axis(worth, self.members[place], factor * shown[symbol], axis=1)
        return worth

    def answered(self, reports: Integers) -> Floats:
        """Return the part of each report in the share of respondents; unbiased."""
        other, total = self.response.grid
        said = np.asarray(reports, dtype=np.int64) % self.symbols < self.orders
        unsaid = np.where(said, 0.0, 1.0)
        found: Floats = 1 - (unsaid - other / total) / float(self.response.signal)
        return found if self.null else np.ones(len(said))

    def check(self, claims: Claims) -> NoReturn:
        """Refuse claims: each of them is one label, and an answer here is a ranking."""
        raise ParameterError(
            f"{self} masks rankings, and a claim is one label; mask each pair of items as a task "
            "with two labels, by randomized-response."
        )

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)


def ranking_code(ranking: list[int], items: int) -> int:
    """Return the number of a ranking: of each item its place among those not yet named.

    Examples
    --------
    >>> ranking_code([0, 1, 2], 3), ranking_code([2, 1, 0], 3), ranking_code([2], 3)
    (0, 5, 2)
    """
    left, code = list(range(items)), 0
    for item in ranking:
        place = left.index(item)
        code = code * len(left) + place
        left.pop(place)
    return code


def ranking_of(code: int, items: int, ranked: int) -> list[int]:
    """Return the ranking of a number; the inverse of `ranking_code`."""
    places = []
    for size in range(items - ranked + 1, items + 1):
        code, place = divmod(code, size)
        places.append(place)
    left = list(range(items))
    return [left.pop(place) for place in reversed(places)]


def ranks_of(codes: Integers, items: int, ranked: int) -> Integers:
    """Return the rank of each item in each ranking, 0 first and `ranked` where it has none.

    Shape (n, items).
    """
    rest, places = np.asarray(codes, dtype=np.int64), []
    for size in range(items - ranked + 1, items + 1):
        rest, place = np.divmod(rest, size)
        places.append(place)
    ranks = np.full((len(rest), items), ranked, dtype=np.int64)
    left = np.tile(np.arange(items), (len(rest), 1))
    for rank, place in enumerate(reversed(places)):
        item = np.take_along_axis(left, place[:, None], axis=1)
        np.put_along_axis(ranks, item, rank, axis=1)
        keep = np.arange(left.shape[1]) != place[:, None]
        left = left[keep].reshape(len(rest), left.shape[1] - 1)
    return ranks


def _places(size: int) -> Integers:
    """Return the place of each of `size` items in each order, in the order of dictionaries."""
    orders = np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    return np.argsort(orders, axis=1)


def _order_codes(ranks: Integers) -> Integers:
    """Return the place, in the order of dictionaries, of the order of items with these ranks."""
    order, size = np.argsort(ranks, axis=1), ranks.shape[1]
    code: Integers = np.zeros(len(ranks), dtype=np.int64)
    for at in range(size):
        behind = (order[:, at + 1 :] < order[:, at : at + 1]).sum(axis=1)
        code += behind * math.factorial(size - 1 - at)
    return code
