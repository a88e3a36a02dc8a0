"""A voter's whole preference as one of many random directions, in whole numbers."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import betaincinv

from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import Words, WordSource, uniform_below
from masquerade.exact.noise import bernoulli
from masquerade.exact.number import whole
from masquerade.preference.composition import Composition, Fidelity, Sensitivity, Unit
from masquerade.preference.directions import (
    VoterDirection,
    direction_fidelity,
    whole_directions_of_integers,
)
from masquerade.preference.mechanism import register
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import Device

TOTAL = 1 << 62
MOST_CANDIDATES = 1 << 16
_PRECISION = 1 << 16
_EACH_2, _EACH_4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EACH_8, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_SIMULATED = 1 << 20  # candidates
_CENTRE = 32  # mean of the number of ones in 64 random bits


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of one candidate, as whole numbers.

    Attributes
    ----------
    best : int
        How many of the candidates, the nearest ones, are selected more often.
    numerator : int
        One of the best is selected with probability numerator / `TOTAL`.
    """

    candidates: int
    best: int
    numerator: int

    def to_json(self) -> dict[str, object]:
        """Return the whole numbers that a device draws from."""
        return {
            "name": "direction-selection",
            "candidates": self.candidates,
            "best": self.best,
            "numerator": str(self.numerator),
            "total": str(TOTAL),
        }


@lru_cache(maxsize=4096)
def best_selection(epsilon: Fraction, features: int, candidates: int) -> Selection:
    """Return how many candidates to prefer so that the selected one is nearest on average.

    Privacy
    -------
    However many are preferred: with k of m, each of the best has probability at most ``e**epsilon``
    times that of each of the others. Rounding is towards more privacy.
    """
    rank = np.arange(1, candidates + 1)
    share = 1 - (rank - 0.375) / (
        candidates + 0.25
    )  # Blom's approximation of mean order statistics
    # Cosines of the candidates by rank: the square of one is beta(1/2, (d - 1) / 2) distributed.
    if features == 1:
        cosine = np.sign(share - 0.5)
    else:
        size = np.sqrt(betaincinv(0.5, (features - 1) / 2, np.abs(2 * share - 1)))
        cosine = np.sign(share - 0.5) * size
    # With k of m preferred, one of them is selected with probability k e**eps / (k e**eps + m - k);
    # the mean cosine is that of the best less what the others, on the other side, take from it.
    best = rank[: max(candidates // 2, 1)]
    inside = cosine.cumsum()[: len(best)] / best
    growth = np.exp(np.float64(epsilon))
    chance = best * growth / (best * growth + candidates - best)
    mean = (chance - (1 - chance) * best / (candidates - best)) * inside
    k = int(best[np.argmax(mean)])
    return Selection(candidates, k, _numerator(epsilon, k, candidates))


@lru_cache(maxsize=256)
def ranked_cosines(features: int, candidates: int) -> tuple[Floats, ...]:
    """Return the mean cosine of the nearest, second nearest, ... candidate, and its square's mean.

    Simulated, with a fixed seed: it depends on public numbers alone. The standard error of a mean
    is below 2 % of its distance from 1 for 1024 candidates.
    """
    # A seed is right here: nothing of a voter's is in it, and both sides get the same numbers.
    rng = np.random.default_rng([features, candidates])
    rounds = max(16, _SIMULATED // candidates)
    first, second = np.zeros(candidates), np.zeros(candidates)
    for _ in range(rounds):
        points = rng.binomial(64, 0.5, size=(candidates, features)) - float(_CENTRE)
        own = rng.normal(size=features)
        length = np.sqrt((points**2).sum(axis=1)) * np.sqrt(own @ own)
        cosine = -np.sort(-(points @ own) / np.where(length > 0, length, 1))
        first += cosine
        second += cosine**2
    return first / rounds, second / rounds


def _numerator(epsilon: Fraction, best: int, candidates: int) -> int:
    with decimal.localcontext(decimal.Context(prec=60)):
        growth = (decimal.Decimal(epsilon.numerator) / epsilon.denominator).exp()
        chance = best * growth / (best * growth + candidates - best)
        # Down, so that the loss drawn is never above epsilon; the guard covers 60 digits' rounding.
        share = chance * TOTAL - decimal.Decimal(10) ** -30
        return int(share.to_integral_value(decimal.ROUND_FLOOR))


def select(own: Integers, selection: Selection, source: WordSource) -> Integers:
    """Return one of many random directions, more often one of those nearest to `own`.

    Parameters
    ----------
    own : int64 array, shape (n_features,)
        The voter's direction, of any length.
    source : WordSource
        Words are drawn in this order: one a coordinate for each candidate in turn, then one for
        whether it is one of the best, then one for which of those, one for which of the others.

    Returns
    -------
    int64 array, shape (n_features,)
        Between -32 and 32: ones less zeros, halved, of 64 random bits a coordinate.
    """
    m, d = selection.candidates, len(own)
    # Ones less zeros of 64 bits, halved: binomial, nearly normal, so that points have no preferred
    # axis, and drawn before the voter's direction is looked at.
    points: Integers = _ones(source.words(m * d)).reshape(m, d) - _CENTRE
    along = points @ whole_directions_of_integers(own[None])[0]
    # the squared length of each point's shadow on `own`, with the sign of the side it is on
    shadow = along**2 * _PRECISION // np.maximum((points**2).sum(axis=1), 1)
    nearest = np.argsort(-np.sign(along) * shadow, kind="stable")  # of equal ones, the first
    inside = bernoulli(source, selection.numerator, TOTAL, 1)[0]
    # Both are drawn whichever is used: how many words a report takes tells nothing.
    among_best = int(uniform_below(source, selection.best, 1)[0])
    among_others = int(uniform_below(source, m - selection.best, 1)[0])
    place = among_best if inside else selection.best + among_others
    candidate: Integers = points[nearest[place]]
    return candidate


def _ones(words: Words) -> Integers:
    """Return how many of the 64 bits of each word are ones."""
    # Population count of 64 bits in parallel (Warren, Hacker's Delight, section 5-1).
    pairs = words - ((words >> np.uint64(1)) & _EACH_2)
    fours = (pairs & _EACH_4) + ((pairs >> np.uint64(2)) & _EACH_4)
    bytes_ = (fours + (fours >> np.uint64(4))) & _EACH_8
    counts: Integers = (bytes_ * _SUM >> np.uint64(56)).astype(np.int64)
    return counts


@dataclass(frozen=True, slots=True)
class SelectionNoise:
    """One of many random directions, more often one of those nearest to the voter's own.

    `candidates`: how many directions are drawn, 2 to 65536.
    """

    candidates: int = 1024

    hardened: ClassVar[bool] = True
    replacement: ClassVar[str | None] = None
    delta: ClassVar[Fraction] = Fraction(0)

    def __post_init__(self) -> None:
        number = whole(self.candidates, "candidates", low=2, high=MOST_CANDIDATES)
        object.__setattr__(self, "candidates", number)

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Integers:
        """Return the selected direction for each row, shape (n_voters, n_features)."""
        selection = best_selection(epsilon, rows.shape[1], self.candidates)
        if selection.numerator <= 0:
            raise ParameterError("epsilon is too small to prefer any candidate; raise it.")
        return np.array([select(own, selection, source) for own in rows])

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return epsilon for each unit; there is one a voter."""
        return Micro.of_amount(epsilon * units)

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return how near selected directions are to the voters' own."""
        selection = best_selection(epsilon, size, self.candidates)
        inside = selection.numerator / TOTAL
        cosine, square = (
            inside * float(ranked[: selection.best].mean())
            + (1 - inside) * float(ranked[selection.best :].mean())
            for ranked in ranked_cosines(size, self.candidates)
        )
        return direction_fidelity(cosine, square, size)

    def device_form(self, epsilon: Fraction, features: int) -> dict[str, object]:
        """Return the whole numbers that a voter's device draws from, as JSON-ready values."""
        selection = best_selection(epsilon, features, self.candidates)
        return {**selection.to_json(), "features": features}


@register
@dataclass(frozen=True)
class DirectionSelection(PrivateMechanism):
    """Each voter draws many random directions and sends one, more often one near the voter's own.

    The hardened way to do what `PrivUnit` does: the same accuracy, in whole numbers alone.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all, or one a voter.
    unit : {"voter", "record"}
        Both have the same noise, and under either a whole voter is protected.
    weights, most
        How much each voter counts; see `voter_weights`.
    candidates : int
        How many directions are drawn, 2 to 65536. More of them are worth it for large epsilons.

    Privacy
    -------
    Protects each voter, with all records and their number, from everybody but the voter's own
    device. The candidates are drawn without looking at the records. The voter's direction only
    ranks them, and the k nearest of m are preferred; as k and m are fixed, each candidate has one
    of two probabilities, whose ratio is at most ``e**epsilon``, exactly. That holds for every list
    of candidates, so also for what is sent, which shows one of them. However the ranking is
    rounded, the loss stays the same.

    References
    ----------
    Subset selection: Ye and Barg (2018), here over random directions.

    Examples
    --------
    >>> DirectionSelection(epsilon=1).unit, str(DirectionSelection(epsilon=1))
    ('voter', 'direction-selection:epsilon=1')
    """

    unit: Unit = "voter"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    candidates: int = 1024

    name = "direction-selection"
    units = VoterDirection.units

    def compose(self) -> Composition:
        """Return voters' directions, masked by selection."""
        noise = SelectionNoise(self.candidates)
        return Composition(VoterDirection(), noise, Device(self.weights, self.most))
