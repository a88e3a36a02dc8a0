"""Mean ranks of masked orders, and the strengths that a model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from masquerade.estimation.reports import Worths
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import MaskedOrder

_RIDGE = 1e-3  # of squared log strengths, so that an item that never wins has a finite one
_LARGEST_STRENGTH = 12.0


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Number of people of each masked order; figures are sums of ranks, and the number of answers.

    Attributes
    ----------
    count : float array, shape (n_reports,)
    basis : float array, shape (n_items + 1, n_reports)
        Of each report the unbiased rank of each item, 0 of who did not answer; then who answered.
    every : float array, shape (n_items + 1, n_possible)
        The same of every report that is possible.
    clear : bool
        Whether reports are the answers: the orders of all items, not masked.
    """

    count: Floats
    basis: Floats
    every: Floats
    clear: bool = False

    @classmethod
    def of(cls, reports: ArrayLike, people: ArrayLike, mechanism: MaskedOrder) -> Ranks:
        """Return reports, each with the number of its people."""
        last = mechanism.possible_reports()[1]
        every = _basis(np.arange(last + 1), mechanism)
        sent = np.asarray(reports, dtype=np.int64)
        # Of some items alone, which ones are drawn makes mean ranks err, and so do ties.
        drawn = mechanism.size < mechanism.items or mechanism.ranked < mechanism.items - 1
        clear = mechanism.response.signal == 1 and not drawn
        return cls(np.asarray(people, dtype=np.float64), every[:, sent], every, clear)

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """The ranks, and the number of answers."""
        return len(self.basis)

    def tiled(self, times: int) -> Ranks:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of ranks and of answers."""
        worth, possible = scores @ self.basis, scores @ self.every
        far = np.stack([possible.min(axis=-1), possible.max(axis=-1)], axis=-1)
        zero = np.zeros(len(worth))
        # Ranks of one person are 1 to m: on average over the items they spread as these do, and
        # those of an item no more than ranks of its mean can.
        m = self.symbols - 1
        own = scores[:, :m]
        spread = (m**2 - 1) / 12 * ((own**2).sum(-1) * m - own.sum(-1) ** 2) / (m - 1)
        order, ranks = np.sort(own, axis=-1), np.arange(1.0, m + 1)
        least, most = order @ ranks[::-1], order @ ranks
        mean = np.clip(own @ (self.basis[:m] @ self.count) / max(self.n, 1.0), least, most)
        people = np.minimum(spread, (most - mean) * (mean - least))
        # Of one person: the ranks of an order, or 0 without an answer.
        given = scores[:, m]
        ends = np.stack([np.minimum(least + given, 0.0), np.maximum(most + given, 0.0)], axis=-1)
        count = np.broadcast_to(self.count, worth.shape)
        return Worths(count, worth, far, zero, zero, people, ends=ends, clear=self.clear)

    def shares(self) -> Worths:
        """Return the worths for the rank of each item, and for the number of answers."""
        return self.worths(np.eye(self.symbols))


@dataclass(frozen=True, slots=True, eq=False)
class RankSums:
    """Sums of ranks of two parties; figures are sums of ranks, and the number of answers.

    Attributes
    ----------
    people : float
        Responses.
    ranks : float array, shape (n_items,)
        Noisy sums of each item's rank from the middle one.
    variance : float
        Of the noise on each.
    answered : (float, float)
        Noisy number of people who answered, and the variance of the noise.
    first : float array, shape (n_items,), optional
        Noisy number of people who rank each item first.
    ranked : int, optional
        How many items a person ranks, the others sharing the middle of the ranks that are left; by
        default all.
    """

    people: float
    ranks: Floats
    variance: float
    answered: tuple[float, float]
    first: Floats | None = None
    ranked: int | None = None

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.people)

    @property
    def symbols(self) -> int:
        """The ranks, and the number of answers."""
        return len(self.ranks) + 1

    def tiled(self, times: int) -> RankSums:
        """Return the sums themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths for figures of ranks and of answers.

        How ranks of an item are spread is not known: two reports stand for all, as far apart as
        ranks of this mean and so many first places can be at most (Bhatia and Davis), so that
        intervals hold whatever people answer.
        """
        m, n = len(self.ranks), max(self.n, 1.0)
        own, middle = scores[:, :m], (m + 1) / 2
        # Ranks from the middle add to 0 for everybody, so scores around their mean carry the least.
        away = own - own.mean(axis=-1, keepdims=True)
        given = middle * own.sum(axis=-1) + scores[:, m]
        count, noise = self.answered
        share = min(max(count / n, 0.0), 1.0)
        value = (away @ self.ranks + given * count) / n
        mean = np.clip(self.ranks / max(count, 1.0), -(m - 1) / 2, (m - 1) / 2)
        order, ranks = np.sort(own, axis=-1), self._each
        least, most = order @ ranks[::-1] + scores[:, m], order @ ranks + scores[:, m]
        told = np.clip(own @ (mean + middle) + scores[:, m], least, most)
        spread = np.minimum((most - told) * (told - least), self._spread(own, mean + middle, count))
        people = share * (spread + (1 - share) * told**2)
        apart = np.sqrt(people)
        worth = np.stack([value - apart, value + apart], axis=-1)
        far = np.stack([np.minimum(least, 0.0), np.maximum(most, 0.0)], axis=-1)
        added = (self.variance * (away**2).sum(-1) + given**2 * noise) / n**2
        both = np.full(worth.shape, n / 2)
        clear = self.variance == 0 and noise == 0
        return Worths(both, worth, far, added, np.zeros(len(worth)), people, clear=clear)

    @property
    def _each(self) -> Floats:
        """The ranks that one person gives, ascending."""
        m = len(self.ranks)
        k = m if self.ranked is None else self.ranked
        place = np.arange(1.0, m + 1)
        ranks: Floats = np.where(place <= k, place, (k + 1 + m) / 2)
        return ranks

    def _spread(self, own: Floats, mean: Floats, count: float) -> Floats:
        """Return the largest variance of one item's rank, by its mean and its first places.

        Who does not rank it first gives it the second rank or the worst one: with p first places,
        E rank^2 is at most mean (worst + 2) - 2 worst + p (worst - 1). Infinite for figures of
        several items.
        """
        if self.first is None:
            return np.full(len(own), np.inf)
        worst = float(self._each[-1])
        rank = np.clip(mean, 1.0, worst)
        first = np.clip(self.first / max(count, 1.0), np.maximum(2 - rank, 0.0), 1.0)
        square = rank * (worst + 2) - 2 * worst + first * (worst - 1)
        each = np.maximum(square - rank**2, 0.0)
        alone = (own != 0).sum(axis=-1) == 1
        return np.where(alone, own**2 @ each, np.inf)

    def shares(self) -> Worths:
        """Return the worths for the rank of each item, and for the number of answers."""
        return self.worths(np.eye(self.symbols))


def _basis(reports: np.ndarray[tuple[int, ...], np.dtype[np.int64]], mask: MaskedOrder) -> Floats:
    answered = mask.answered(reports)
    ranks = mask.worths(reports) + (mask.items + 1) / 2 * answered[:, None]
    return np.vstack([ranks.T, answered])


def model_shares(sent: Sequence[tuple[ArrayLike, ArrayLike, MaskedOrder]]) -> Floats:
    """Return the share of first choices of each item, if one set of strengths fits everybody.

    See `model_strengths`; where groups of people rank differently these shares are off by some
    points, however many people there are.

    Parameters
    ----------
    sent : sequence of (reports, people, mechanism)

    Examples
    --------
    >>> mask = MaskedOrder(2, size=2, epsilon=30)
    >>> model_shares([([0, 1], [300, 100], mask)]).round(2).tolist()
    [0.75, 0.25]
    """
    held = np.exp(model_strengths(sent)[0])
    shares: Floats = held / held.sum()
    return shares


def model_strengths(
    sent: Sequence[tuple[ArrayLike, ArrayLike, MaskedOrder]],
) -> tuple[Floats, Floats]:
    """Return the strengths of Plackett and Luce that make masked orders most likely, with errors.

    Strengths are natural logarithms around a mean of 0: of two items a difference of 1 is odds of
    2.7 to 1 that the stronger one stands before the other. Standard errors are those of the model,
    from the squares of the slopes of its likelihood.

    Parameters
    ----------
    sent : sequence of (reports, people, mechanism)
        Of several masks together.

    Examples
    --------
    >>> mask = MaskedOrder(2, size=2, epsilon=30)
    >>> strength, error = model_strengths([([0, 1], [300, 100], mask)])
    >>> strength.round(2).tolist(), error.round(3).tolist()
    ([0.55, -0.55], [0.058, 0.058])
    """
    from scipy.optimize import minimize  # dear to load

    items = sent[0][2].items
    cells = []
    for reports, people, mask in sent:
        place, symbol = np.divmod(np.asarray(reports, dtype=np.int64), mask.symbols)
        said = symbol < mask.orders
        places = mask.places[symbol[said]]
        members = np.take_along_axis(mask.members[place[said]], np.argsort(places, axis=1), axis=1)
        other, signal = float(mask.response.other_probability), float(mask.response.signal)
        cells.append((np.asarray(people, dtype=np.float64)[said], members, other, signal))

    def chances(strength: Floats, members: np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
        held = np.exp(strength[members])
        # P(order): each next one by its strength among those that are left (Plackett, Luce)
        left = np.cumsum(held[:, ::-1], axis=1)[:, ::-1]
        part: Floats = held / left
        return part.prod(axis=1), held[:, None, :] / left[:, :, None]

    def loss(strength: Floats) -> float:
        total = _RIDGE * float(strength @ strength)
        for people, members, other, signal in cells:
            total -= float(people @ np.log(other + signal * chances(strength, members)[0]))
        return total

    bounds = [(-_LARGEST_STRENGTH, _LARGEST_STRENGTH)] * items
    found = minimize(loss, np.zeros(items), method="L-BFGS-B", bounds=bounds).x
    information = 2 * _RIDGE * np.eye(items)
    for people, members, other, signal in cells:
        chance, part = chances(found, members)
        # An item's slope: 1 where it is next, less its part of those that are left, step by step.
        slope = 1 - np.tril(part.swapaxes(1, 2)).sum(axis=2)
        each = np.zeros((len(members), items))
        np.put_along_axis(each, members, slope, axis=1)
        each *= (signal * chance / (other + signal * chance))[:, None]
        information += each.T * people @ each
    centred = np.eye(items) - 1 / items
    covariance = centred @ np.linalg.inv(information) @ centred
    return found - found.mean(), np.sqrt(np.maximum(np.diag(covariance), 0.0))
