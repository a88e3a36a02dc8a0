"""Simulated surveys, many at once: how often intervals of figures hold, and how wide they are.

Each `Runs` is a batch of surveys of one crowd, as reports of people at one level. The core works on
batches of figures, so a figure of a thousand surveys is computed in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import chdtri

from masquerade.errors import ParameterError
from masquerade.estimation import ALIKE, WITHIN, Crowd, difference, ratio_difference, ratios
from masquerade.estimation.contenders import largest_difference
from masquerade.estimation.figures import Figures
from masquerade.estimation.reports import Worths
from masquerade.exact.arrays import Floats, on_simplex

CUT = float(chdtri(1, 0.05))


def channel(symbols: int, epsilon: float | None) -> Floats:
    """Return P(report | answer) of randomised response by columns; the identity in clear."""
    if epsilon is None:
        return np.eye(symbols)
    keep = np.exp(epsilon) / (np.exp(epsilon) + symbols - 1)
    other = (1 - keep) / (symbols - 1)
    return np.asarray(other + (keep - other) * np.eye(symbols))


@dataclass(frozen=True, eq=False)
class Runs:
    """Reports of many surveys of the same crowd, at one level.

    Attributes
    ----------
    count : float array, shape (n_surveys, n_symbols)
        Reports, or noisy sums where there is noise.
    channel : float array, shape (n_symbols, n_symbols)
    noise : float
        Variance of each count, of two parties.
    unasked : float
        (N - n) / (N - 1) of a population of N.
    """

    count: Floats
    channel: Floats
    noise: float = 0.0
    unasked: float = 1.0
    people: Floats | None = None
    _inverse: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_inverse", np.linalg.inv(self.channel))

    @property
    def n(self) -> float:
        """Number of people, the same in each survey."""
        each = self.count.sum(axis=1) if self.people is None else self.people
        return float(each.max())

    @property
    def symbols(self) -> int:
        """Number of answers."""
        return int(self.count.shape[1])

    def repeated(self, times: int) -> Runs:
        """Return each survey so many times, one after the other."""
        people = None if self.people is None else np.repeat(self.people, times)
        return Runs(
            np.repeat(self.count, times, axis=0), self.channel, self.noise, self.unasked, people
        )

    def tiled(self, times: int) -> Runs:
        """Return all surveys so many times."""
        people = None if self.people is None else np.tile(self.people, times)
        count = np.tile(self.count, (times, 1))
        return Runs(count, self.channel, self.noise, self.unasked, people)

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of one figure for each survey."""
        zero = np.zeros(len(scores))
        if self.noise:
            assert self.people is not None
            n = self.people[:, None]
            held = on_simplex(self.count, self.people)
            away = scores - scores.mean(axis=1, keepdims=True)
            value = (away * self.count / n).sum(axis=1) + scores.mean(axis=1)
            shift = value - (scores * held / n).sum(axis=1)
            noise = self.noise * (away**2).sum(axis=1) / self.people**2
            sums = Worths(held, scores, None, noise, shift, zero)
            return sums.of_population(self.unasked) if self.unasked < 1 else sums
        worth = scores @ self._inverse
        count, worths = self.count, Worths(self.count, worth, None, zero, zero, zero)
        if self.unasked < 1:
            n = self.count.sum(axis=1, keepdims=True)
            held = on_simplex((self.count / n) @ self._inverse.T)
            people = (held * scores**2).sum(axis=1) - (held * scores).sum(axis=1) ** 2
            mean = (count * worth).sum(axis=1, keepdims=True) / n
            total = (count * (worth - mean) ** 2).sum(axis=1) / n[:, 0]
            part = np.minimum(people / np.where(total > 0, total, 1.0), 1.0)
            clear = np.array_equal(self.channel, np.eye(self.symbols))
            return worths.of_population(1 - (1.0 if clear else part) * (1 - self.unasked))
        return worths

    def shares(self) -> Worths:
        """Refuse: figures of batches are given by their scores."""
        raise ParameterError("a batch of surveys has figures by their scores only.")


def surveys(
    rng: np.random.Generator,
    shares: Floats,
    n: int,
    *,
    epsilon: float | None = None,
    deviation: float = 0.0,
    runs: int,
) -> Runs:
    """Draw surveys of n people, masked, or with noise of a deviation on each count."""
    if deviation:
        held = rng.multinomial(n, shares, runs) + np.rint(
            deviation * rng.standard_normal((runs, len(shares)))
        )
        people = np.full(runs, float(n))
        return Runs(held.astype(float), np.eye(len(shares)), deviation**2, people=people)
    mask = channel(len(shares), epsilon)
    return Runs(rng.multinomial(n, mask @ shares, runs).astype(float), mask)


@dataclass(frozen=True)
class Cell:
    """How often intervals of a figure held, and their median width."""

    coverage: float
    width: float


def coverage(crowd: Crowd, scores: Sequence[float], truth: float, *, wide: int = 100) -> Cell:
    """Return how often a linear figure's interval holds the truth."""
    runs = len(crowd.groups[0].count)  # type: ignore[attr-defined]
    figures = crowd.figures(np.tile(np.asarray(scores, dtype=float), (runs, 1)))
    return _cell(figures, truth, wide)


def _cell(figures: Figures, truth: float, wide: int) -> Cell:
    held = figures.statistic(truth) <= CUT
    low, high = figures.curve.interval(CUT)
    del wide
    return Cell(float(held.mean()), float(np.median(high - low)))


def ratio_coverage(
    crowd: Crowd, part: Sequence[float], whole: Sequence[float], truth: float
) -> float:
    """Return how often the interval of a ratio holds the truth."""
    scores = np.asarray(part, dtype=float) - truth * np.asarray(whole, dtype=float)
    return coverage(crowd, scores.tolist(), 0.0).coverage


def difference_coverage(first: Crowd, second: Crowd, scores: Sequence[float], truth: float) -> Cell:
    """Return how often the interval of a difference of two crowds holds the truth."""
    runs = len(first.groups[0].count)  # type: ignore[attr-defined]
    rows = np.tile(np.asarray(scores, dtype=float), (runs, 1))
    return _cell(difference(first.figures(rows), second.figures(rows)), truth, runs)


@dataclass(frozen=True)
class Firsts:
    """How often the true first was in the set, was named, and how often a name was false."""

    held: float
    size: float
    named: float
    false: float


def first_options(crowd: Crowd, shares: Floats, bits: Floats | None = None) -> Firsts:
    """Return how the options that may be first turn out over surveys of a crowd.

    `shares`: of the options, the first symbols, unless `bits` has their scores by symbol.
    """
    groups: Sequence[Runs] = crowd.groups  # type: ignore[assignment]
    k, runs = len(shares), len(groups[0].count)
    score = np.eye(groups[0].symbols)[:k] if bits is None else bits
    value = np.stack(
        [crowd.values(np.tile(score[option], (runs, 1))) for option in range(k)], axis=1
    )
    first = value.argmax(axis=1)
    others = np.array([[o for o in range(k) if o != f] for f in range(k)])[first]
    pairs = score[np.repeat(first, k - 1)] - score[others.ravel()]
    wide = Crowd(tuple(one.repeated(k - 1) for one in groups), crowd.weights, crowd.bound)
    statistic = wide.figures(pairs).statistic(0.0).reshape(runs, k - 1)
    named = statistic.min(axis=1) > CUT
    within = max(CUT, largest_difference(k, 0.95) ** 2)
    best = np.flatnonzero(shares >= shares.max() - 1e-12)
    candidate = np.zeros((runs, k), dtype=bool)
    np.put_along_axis(candidate, others, statistic <= within, axis=1)
    candidate[np.arange(runs), first] = True
    true = candidate[:, best[0]] & ~(named & (first != best[0]))
    false = named & ((first != best[0]) | (len(best) > 1))
    size = np.where(named, 1, candidate.sum(axis=1))
    return Firsts(float(true.mean()), float(size.mean()), float(named.mean()), float(false.mean()))


#: Figures of one group: shares of answers, scores, and what is asked of whom where it is a ratio.
PROMOTERS = [-1.0] * 7 + [0.0] * 2 + [1.0] * 2
_FLAT = np.full(11, 1 / 11)
_SKEWED = np.array([0.01] * 7 + [0.08, 0.15, 0.35, 0.35])
ONE_GROUP: dict[str, tuple[Sequence[float], Sequence[float], Sequence[float] | None]] = {
    "share 2 %": ([0.02, 0.98], [1, 0], None),
    "share 50 %": ([0.5, 0.5], [1, 0], None),
    "10 % of 5, skewed": ([0.6, 0.2, 0.1, 0.07, 0.03], [0, 0, 1, 0, 0], None),
    "10 % of 10, flat": ([0.1] * 10, [1] + [0] * 9, None),
    "mean 1-5, skewed": ([0.05, 0.05, 0.1, 0.3, 0.5], [1, 2, 3, 4, 5], None),
    "mean 1-5, flat": ([0.2] * 5, [1, 2, 3, 4, 5], None),
    "mean 1-5, 98 % five, 2 % four": ([0, 0, 0, 0.02, 0.98], [1, 2, 3, 4, 5], None),
    "mean 1-5, 98 % five, 2 % one": ([0.02, 0, 0, 0, 0.98], [1, 2, 3, 4, 5], None),
    "mean 1-5, all five": ([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], None),
    "promoters, flat": (_FLAT.tolist(), PROMOTERS, None),
    "promoters, skewed": ((_SKEWED / _SKEWED.sum()).tolist(), PROMOTERS, None),
    "75 % yes among 20 % asked": ([0.15, 0.05, 0.8], [1, 0, 0], [1, 1, 0]),
    "ordered pair, 30 % less 25 %": ([0.3, 0.25, 0.25, 0.2], [1, -1, 0, 0], None),
}
#: Privacy of one group: epsilon, or the deviation of the noise of two parties.
PRIVACY: dict[str, tuple[float | None, float]] = {
    "clear": (None, 0),
    "epsilon 4": (4, 0),
    "epsilon 2": (2, 0),
    "epsilon 1": (1, 0),
    "epsilon 0.5": (0.5, 0),
    "two parties, sd 3": (None, 3),
    "two parties, sd 10": (None, 10),
}


def one_group(name: str, privacy: str, n: int, *, runs: int, seed: int) -> Cell:
    """Return how a figure of one group turns out."""
    shares, scores, whole = ONE_GROUP[name]
    epsilon, deviation = PRIVACY[privacy]
    held = np.array(shares)
    rng = np.random.default_rng(
        [seed, n, list(ONE_GROUP).index(name), list(PRIVACY).index(privacy)]
    )
    drawn = surveys(rng, held, n, epsilon=epsilon, deviation=deviation, runs=runs)
    crowd = Crowd((drawn,), np.ones(1))
    if whole is not None:
        truth = float(held @ scores) / float(held @ whole)
        return Cell(ratio_coverage(crowd, scores, whole, truth), np.nan)
    return coverage(crowd, scores, float(held @ scores))


#: Epsilons and shares of three levels.
LEVELS = ((0.33, 0.27), (0.68, 0.45), (1.44, 0.28))


def level_crowd(
    rng: np.random.Generator,
    shares: Sequence[Floats],
    n: int,
    *,
    runs: int,
    bound: float = WITHIN,
    epsilons: Sequence[float | None] = (0.33, 0.68, 1.44),
) -> Crowd:
    """Return surveys of people at three levels, each with shares of its own."""
    sizes = [round(n * weight) for _, weight in LEVELS]
    groups = tuple(
        surveys(rng, one, size, epsilon=epsilon, runs=runs)
        for one, size, epsilon in zip(shares, sizes, epsilons, strict=True)
    )
    return Crowd(groups, np.array(sizes) / sum(sizes), bound)


def levels(share: float, away: float, n: int, bound: float, *, runs: int, seed: int) -> Cell:
    """Return how a share turns out where levels are `away` above, at and below it."""
    rng = np.random.default_rng([seed, n, round(100 * share), round(100 * away)])
    own = np.clip([share + away, share, share - away], 0, 1)
    crowd = level_crowd(rng, [np.array([p, 1 - p]) for p in own], n, runs=runs, bound=bound)
    return coverage(crowd, [1, 0], float(crowd.weights @ own))


Simulation = Callable[[int, int], dict[str, float]]


def differences(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of differences: clear, masked, two parties, levels of both crowds."""
    found = {}
    cases = [(0.02, 0.02), (0.1, 0.1), (0.02, 0.3), (0.5, 0.5)]
    for privacy, (epsilon, deviation) in PRIVACY.items():
        for a, b in cases:
            for n, m in ((20, 20), (20, 200), (60, 60), (200, 200), (20, 1000)):
                rng = np.random.default_rng([seed, n, m, round(100 * a), round(100 * b)])
                one, other = (
                    Crowd(
                        (
                            surveys(
                                rng,
                                np.array([p, 1 - p]),
                                size,
                                epsilon=epsilon,
                                deviation=deviation,
                                runs=runs,
                            ),
                        ),
                        np.ones(1),
                    )
                    for p, size in ((a, n), (b, m))
                )
                cell = difference_coverage(one, other, [1, 0], a - b)
                found[f"{privacy}, {a:g} of {n} less {b:g} of {m}"] = cell.coverage
    return found


def level_differences(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of differences of two crowds at three levels each."""
    found = {}
    for share, away in ((0.5, 0.0), (0.5, 0.1), (0.1, 0.05)):
        for n in (60, 200, 1000):
            rng = np.random.default_rng([seed, n, round(100 * away)])
            own = np.clip([share + away, share, share - away], 0, 1)
            shares = [np.array([p, 1 - p]) for p in own]
            one, other = (level_crowd(rng, shares, n, runs=runs) for _ in range(2))
            found[f"{share:g} +- {away:g}, {n} each"] = difference_coverage(
                one, other, [1, 0], 0.0
            ).coverage
    return found


#: Shares of options of which one, or two, are first.
FIRSTS: dict[str, list[float]] = {
    "tie of 2": [0.5, 0.5],
    ".52 / .48": [0.52, 0.48],
    ".4 .25 .2 .15": [0.4, 0.25, 0.2, 0.15],
    "two tied of 5": [0.3, 0.3, 0.2, 0.1, 0.1],
    "flat 4": [0.25] * 4,
    "flat 10": [0.1] * 10,
    ".2 of 10": [0.2] + [0.8 / 9] * 9,
}


@lru_cache(maxsize=2)
def firsts(runs: int, seed: int) -> dict[str, Firsts]:
    """Return how first options turn out: clear, masked, two parties."""
    found = {}
    for name, shares in FIRSTS.items():
        held = np.array(shares)
        for n in (20, 200, 1000):
            rng = np.random.default_rng([seed, n, list(FIRSTS).index(name)])
            for privacy in ("clear", "epsilon 1", "two parties, sd 3", "two parties, sd 10"):
                epsilon, deviation = PRIVACY[privacy]
                drawn = surveys(rng, held, n, epsilon=epsilon, deviation=deviation, runs=runs)
                found[f"{name}, {privacy}, {n}"] = first_options(Crowd((drawn,), np.ones(1)), held)
    return found


def level_firsts(runs: int, seed: int) -> dict[str, Firsts]:
    """Return how first options turn out where people at three levels differ."""
    found = {}
    for name in ("tie of 2", ".4 .25 .2 .15", "flat 4"):
        held = np.array(FIRSTS[name])
        # what one level has more of the first option, another has less
        tilt = np.zeros(len(held))
        tilt[0], tilt[-1] = 0.05, -0.05
        own = [held + tilt, held, held - tilt * 0.27 / 0.28]
        mixtures = {"levels": (0.33, 0.68, 1.44), "clearer levels": (1, 2, None)}
        for mixed, epsilons in mixtures.items():
            for n in (60, 200, 1000):
                rng = np.random.default_rng([seed, n, list(FIRSTS).index(name)])
                crowd = level_crowd(rng, own, n, runs=runs, epsilons=epsilons)
                found[f"{name}, {mixed}, {n}"] = first_options(crowd, held)
    return found


def ticks(runs: int, seed: int) -> dict[str, Firsts]:
    """Return how first options of questions with several answers turn out: three options."""
    found = {}
    cells = np.array([[bit >> place & 1 for place in range(3)] for bit in range(8)], dtype=float)
    for name, rates in {
        "equal": [0.4, 0.4, 0.4],
        "two tied": [0.5, 0.5, 0.2],
        "one first": [0.5, 0.4, 0.2],
        "rare": [0.05, 0.03, 0.02],
    }.items():
        rate = np.array(rates)
        # the first two go together more often than by chance
        joint = np.prod(np.where(cells == 1, rate, 1 - rate), axis=1)
        both = 0.5 * min(rate[0], rate[1]) * (1 - max(rate[0], rate[1]))
        for cell, sign in ((0b011, 1), (0b000, 1), (0b001, -1), (0b010, -1)):
            for last, part in ((0, 1 - rate[2]), (0b100, rate[2])):
                joint[cell | last] += sign * both * part
        for privacy, epsilon in (("clear", None), ("epsilon 2", 2.0), ("epsilon 1", 1.0)):
            bit = channel(2, epsilon)
            mask = np.kron(np.kron(bit, bit), bit)
            for n in (20, 200, 1000):
                rng = np.random.default_rng([seed, n])
                drawn = Runs(rng.multinomial(n, mask @ joint, runs).astype(float), mask)
                crowd = Crowd((drawn,), np.ones(1))
                found[f"{name}, {privacy}, {n}"] = first_options(crowd, rate, cells.T)
    return found


def finite_populations(runs: int, seed: int) -> dict[str, float]:
    """Return coverage where a part of a known population answered."""
    found = {}
    sizes = ((20, 16), (50, 25), (100, 20), (100, 60), (100, 95), (100, 99), (1000, 500))
    for size, n in sizes:
        for share in (0.05, 0.1, 0.5):
            for privacy in ("clear", "epsilon 2", "epsilon 1", "two parties, sd 3"):
                epsilon, deviation = PRIVACY[privacy]
                rng = np.random.default_rng([seed, size, n])
                yes = round(share * size)
                held = rng.hypergeometric(yes, size - yes, n, runs)
                people, unasked = None, (size - n) / (size - 1)
                if deviation:
                    count = np.stack([held, n - held], 1) + np.rint(
                        deviation * rng.standard_normal((runs, 2))
                    )
                    people = np.full(runs, float(n))
                    mask = np.eye(2)
                else:
                    mask = channel(2, epsilon)
                    said = rng.binomial(held, mask[0, 0]) + rng.binomial(n - held, mask[0, 1])
                    count = np.stack([said, n - said], 1)
                drawn = Runs(count.astype(float), mask, deviation**2, unasked, people)
                cell = coverage(Crowd((drawn,), np.ones(1)), [1, 0], yes / size)
                found[f"{n} of {size}, {share:g}, {privacy}"] = cell.coverage
    return found


def raking(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of weighted shares: two strata of which one answers four times as often."""
    found = {}
    for n in (20, 60, 200, 1000):
        for a, b in ((0.5, 0.5), (0.6, 0.3), (0.1, 0.02)):
            for epsilon in (None, 2.0, 1.0):
                rng = np.random.default_rng([seed, n, round(100 * a)])
                mask = channel(2, epsilon)
                first = rng.binomial(n, 0.8, runs)
                size = np.stack([first, n - first], axis=1)
                rate = np.array([mask[0] @ [p, 1 - p] for p in (a, b)])
                yes = rng.binomial(size, rate)
                # both strata are half of the population
                weight = np.where(size > 0, n / 2 / np.maximum(size, 1), 0.0)
                total = (weight * size).sum(axis=1)
                effective = total**2 / (weight**2 * size).sum(axis=1)
                said = (weight * yes).sum(axis=1) / total * effective
                pair = np.stack([said, effective - said], axis=1).astype(np.float64)
                drawn = Runs(pair, mask)
                cell = coverage(Crowd((drawn,), np.ones(1)), [1, 0], (a + b) / 2)
                found[f"{n}, {a:g} and {b:g}, epsilon {epsilon}"] = cell.coverage
    return found


def masked_groups(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of a difference of two groups that a masked answer tells apart."""
    found = {}
    # answers: (in the group, yes), (in it, no), (not in it, yes), (not in it, no)
    joint = np.array([0.2 * 0.3, 0.2 * 0.7, 0.8 * 0.35, 0.8 * 0.65])
    rows = (([1, 0, 0, 0], [1, 1, 0, 0]), ([0, 0, 1, 0], [0, 0, 1, 1]))
    for n in (60, 200, 1000, 5000):
        for privacy, epsilons in {
            "clear": (None,),
            "epsilon 4": (4.0,),
            "epsilon 2": (2.0,),
            "epsilon 1": (1.0,),
            "levels": (1.0, 2.0, 4.0),
        }.items():
            rng = np.random.default_rng([seed, n])
            groups = []
            for epsilon in epsilons:
                mask = np.kron(channel(2, epsilon), channel(2, epsilon))
                drawn = rng.multinomial(n // len(epsilons), mask @ joint, runs).astype(float)
                groups.append(Runs(drawn, np.asarray(mask, dtype=np.float64)))
            crowd = Crowd(tuple(groups), np.full(len(groups), 1 / len(groups)))
            one, other = (
                ratios(crowd, np.tile(part, (runs, 1)), np.tile(whole, (runs, 1)))
                for part, whole in rows
            )
            held = ratio_difference(one, other).statistic(-0.05) <= CUT
            found[f"{privacy}, {n}"] = float(held.mean())
    return found


def levels_alike_too_narrow(runs: int, seed: int) -> float:
    """Return coverage of levels taken for alike where they are 15 points apart."""
    return levels(0.5, 0.15, 1000, ALIKE, runs=runs, seed=seed).coverage
