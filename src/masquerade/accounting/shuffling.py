"""Loss of published counts: the knowledge about one person from sums over many people.

Whoever sees a result sees how many people sent each report, and not who. Each report of another
person is, with some probability, drawn as if it were the person's own, under either of two answers:
such reports hide the person's. With ``q`` the least probability of a report under any answer,
every other person's report is with probability ``2 q`` one of the two reports in question, each
with one half, whatever that person answered. Telling which reports these are, and all the rest,
only helps the reader. What is left is the pair of Feldman, McMillan and Talwar (2023, theorem 3.2):

    C ~ Bin(n - 1, 2 q),  A ~ Bin(C, 1/2),  D ~ Bernoulli(e^epsilon / (e^epsilon + 1)),
    P = (A + D, C - A + 1 - D),  Q = (A + 1 - D, C - A + D).

With randomized response of k symbols a person's own report is one of the two with probability
``keep + other`` only; else it says nothing of which. Any other mechanism of loss epsilon0 has
clones with probability ``e^-epsilon0`` (their lemma 3.5). The distribution of the loss of this pair
is known, so that it is composed over questions by `composed`; every number is an upper bound.

It is assumed that a reader sees counts (or what follows from them) and nothing else, and that the
other people's devices masked as promised; of those who did not, none hides anybody.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.accounting.loss_distribution import LossDistribution, composed
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import RARE, Loss, no_loss, pure_loss
from masquerade.exact.pairs import Pair, Points
from masquerade.mechanisms.device_mechanism import DeviceMechanism

#: People beyond whom nothing is gained: fewer is an upper bound, and the tables stay small.
MOST_PEOPLE = 20_000
#: Delta at which losses of published counts are stated.
DELTA = RARE

_TAIL = 1e-17  # probability at which tables of binomials end, of the largest
_ROUNDING = 1e-10  # relative, far above what products of a few thousand factors lose
_SPLITS = tuple(0.5**power for power in range(1, 14))  # of a chance, between delta and its reach


@dataclass(frozen=True, slots=True)
class CountedPair(Pair):
    """The worst pair of the counts of reports of several people, one of whom changes an answer.

    Attributes
    ----------
    epsilon : Micro
        Loss of one report by itself.
    blanket : Fraction
        Probability with which another person's report is drawn as one of the two in question.
    own : Fraction
        Probability with which the person's own report is one of the two.
    others : int
        Other people whose reports are counted too.

    Examples
    --------
    >>> pair = CountedPair(Micro(1_000_000), Fraction(1, 2), Fraction(1), others=999)
    >>> pair.loss.epsilon == Micro(1_000_000)
    True
    >>> round(composed({pair: 1}).epsilon(1e-6), 2)
    0.15
    """

    epsilon: Micro
    blanket: Fraction
    own: Fraction
    others: int

    @property
    def loss(self) -> Loss:
        """The loss that holds outright: that of one report."""
        return pure_loss(self.epsilon)

    @property
    def rho(self) -> Fraction | float:
        """Half of the variance of the loss, where the grid of losses takes its step from."""
        loss, probability, _ = self.points()
        return max(float(probability @ loss**2) / 2, 1e-12)

    def points(self) -> Points:
        """Return the distribution of the privacy loss."""
        return _points(self)


@lru_cache(maxsize=256)
def _points(pair: CountedPair) -> Points:
    others = min(pair.others, MOST_PEOPLE)
    # rounded down: fewer clones are an upper bound
    chance = float(pair.blanket) * (1 - _ROUNDING)
    odds = math.exp(pair.epsilon.epsilon)
    keep, other = odds / (1 + odds), 1 / (1 + odds)
    first, clones, beyond = binomial(others, chance)
    losses, chances = [np.zeros(1)], [np.array([float(1 - pair.own)])]
    for count, weight in enumerate(clones, start=first):
        start, half, tail = binomial(count, 0.5)
        beyond += weight * tail
        # a: reports that are the first of the two, of count + 1
        sent = np.arange(start, start + len(half) + 1)
        left, right = np.append(0.0, half), np.append(half, 0.0)
        own = float(pair.own) * weight
        chances.append(own * (left * keep + right * other))
        ahead, behind = sent.astype(np.float64), count + 1.0 - sent
        # P / Q of a binomial's neighbours: C(c, a - 1) / C(c, a) = a / (c - a + 1)
        losses.append(np.log(ahead * keep + behind * other) - np.log(ahead * other + behind * keep))
    probability = np.concatenate(chances) * (1 + _ROUNDING)
    return Points(np.concatenate(losses), probability, beyond * (1 + _ROUNDING))


def binomial(n: int, chance: float) -> tuple[int, Floats, float]:
    """Return probabilities of a binomial: the first count, each from there on, the part left out.

    Products from the most likely count outwards, divided by their sum, so that no probability is
    below the true one by more than the rounding of its factors.

    Examples
    --------
    >>> first, probability, beyond = binomial(2, 0.5)
    >>> first, probability.tolist(), beyond
    (0, [0.25, 0.5, 0.25], 0.0)
    """
    middle = min(int((n + 1) * chance), n)
    odds = chance / (1 - chance) if chance < 1 else math.inf
    if n == 0 or math.isinf(odds):
        return n if n and math.isinf(odds) else 0, np.ones(1), 0.0
    # as wide as its tails are thinner than `_TAIL` (Bernstein), and never beyond its ends
    far = -math.log(_TAIL) + 3
    width = math.ceil(math.sqrt(2 * far * n * chance * (1 - chance)) + far) + 1
    up = np.arange(middle, min(middle + width, n))
    down = np.arange(middle, max(middle - width, 0), -1)
    above = np.cumprod((n - up) / (up + 1) * odds)
    below = np.cumprod(down / (n - down + 1) / odds)
    weight = np.concatenate([below[::-1], [1.0], above])
    beyond = 0.0
    for side, ends in ((above, middle + len(above) < n), (below, middle - len(below) > 0)):
        if ends and len(side) > 1:
            ratio = side[-1] / side[-2]  # falling, so that the rest is below a geometric series
            beyond += side[-1] * ratio / max(1 - ratio, 1e-12)
    total = weight.sum()
    return middle - len(below), weight / total, float(beyond / total)


def counted_pairs(mechanism: DeviceMechanism, people: int) -> dict[Pair, int]:
    """Return the worst pairs of the counts of so many people's reports by one mechanism.

    Those of single reports where nothing is gained: of noise, which has no pure loss, of answers in
    clear, or of one person.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> [pair] = counted_pairs(RandomizedResponse(3, epsilon=1), 100)
    >>> pair.others
    99
    """
    if people < 1:
        raise ParameterError(f"people is {people}; counts are of one person at least.")
    if people == 1 or mechanism.loss().in_clear or not mechanism.separate:
        return dict(mechanism.pairs(answers=1))
    response = mechanism.separate_response
    if response is not None:
        other = Fraction(response.other_probability)
        keep = other + Fraction(response.signal)
        if not other:
            return dict(mechanism.pairs(answers=1))
        epsilon = mechanism.loss().epsilon
        return {CountedPair(epsilon, 2 * other, keep + other, people - 1): 1}
    epsilon = Micro(mechanism.loss().pure)
    if epsilon >= INFINITE_LOSS:
        return dict(mechanism.pairs(answers=1))
    # rounded down once more, below the rounding of the exponential
    clone = Fraction(math.exp(-epsilon.epsilon) * (1 - _ROUNDING))
    return {CountedPair(epsilon, clone, Fraction(1), people - 1): 1}


@dataclass(frozen=True, slots=True)
class Published:
    """The loss of one person by published counts.

    Attributes
    ----------
    epsilon : Micro
        At `delta`.
    delta : Fraction
    suspicion : Micro
        By how much, as a logarithm, anybody's odds can grow, but for a chance of `delta`.

    Examples
    --------
    >>> Published(Micro(200_000), DELTA, Micro(210_000)).epsilon.epsilon
    0.2
    """

    epsilon: Micro
    delta: Fraction
    suspicion: Micro


def published_loss(
    counts: Iterable[tuple[DeviceMechanism, int]], *, delta: Fraction = DELTA
) -> Published | None:
    """Return the loss of one person by the counts of several questions; None where nothing holds.

    Parameters
    ----------
    counts : iterable of (DeviceMechanism, int)
        For each question its mask, and how many people's reports through that mask are counted.
    delta : Fraction

    Notes
    -----
    Given the answers, counts of one question are independent of those of another, as the masks are;
    so the losses add. Answers that are masked together gain nothing. It holds for counts of each
    question, not for tables of two.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> found = published_loss([(RandomizedResponse(2, epsilon=1), 1000)] * 2)
    >>> float(found.epsilon.epsilon) < 0.35
    True
    """
    pairs: Counter[Pair] = Counter()
    linked: Counter[DeviceMechanism] = Counter()
    try:
        for mechanism, people in counts:
            if mechanism.separate:
                pairs.update(counted_pairs(mechanism, people))
            else:
                linked[mechanism] += 1
        for mechanism, answers in linked.items():
            pairs.update(mechanism.pairs(answers=answers))
    except NoGuarantee:
        return None
    together = None if any(pair.loss.in_clear for pair in pairs) else composed(pairs)
    if together is None:
        return None
    # The sum of the losses holds outright, whatever rounding leaves of the distribution.
    total = sum((pair.loss * count for pair, count in pairs.items()), no_loss())
    outright = Micro(total.pure)
    epsilon = min(together.loss(delta), outright)
    return Published(epsilon, delta, min(_reach(together, delta), outright))


def _reach(together: LossDistribution, chance: Fraction) -> Micro:
    """Return a loss that the output exceeds with a probability of at most `chance`.

    Of anything computed from the counts: P(loss > epsilon + t) <= delta(epsilon) / (1 - e^-t),
    for every t, because delta falls when outcomes are merged.
    """
    found = []
    for more in _SPLITS:
        part = Fraction(-math.expm1(-more) * (1 - _ROUNDING))
        found.append(together.loss(chance * part) + Micro.of_bound(more, error=0.0))
    return min(found)
