"""How near the three estimators of a survey's mean come, and how often their intervals hold.

A five-point rating answered by people at four levels (noise 0, 3, 6 and 12), in shares of 13.7,
24.4, 38.9 and 22.9 %, who differ by a standard deviation of 1. Levels differ in their mean by a
normal draw of the standard deviation in the first column. ``RMSE/coverage`` of 95 % intervals,
beside the figures that a computation with the between-level deviation fixed at 0.3 gave.

    python benchmarks/results_coverage.py [surveys]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from card import Cards, sized
from masquerade.mechanisms import DiscreteGaussian, Lattice
from masquerade.truth import ESTIMATORS, level_mean, level_shares
from masquerade.truth.channel_view import SymbolChannel
from masquerade.truth.level_weights import LevelValues, combine

CARDS = Cards(__file__)
SHARES = np.array([0.137, 0.244, 0.389, 0.229])
NOISE = np.array([0.0, 3.0, 6.0, 12.0])
GOLDEN = {
    (1000, 0.0): ((0.224, 0.95), (0.073, 0.96), (0.119, 0.99)),
    (1000, 0.3): ((0.227, 0.94), (0.237, 0.47), (0.152, 0.945)),
    (10_000, 0.3): ((0.070, 0.95), (0.236, 0.15), (0.062, 0.95)),
}


def main() -> None:
    surveys = int(sys.argv[1]) if len(sys.argv) > 1 else sized(100, 2000)
    rng = np.random.default_rng(11)
    started = time.perf_counter()
    print(f"{surveys} surveys a row; RMSE/coverage of 95 % intervals\n")
    print("mean     n  sd   " + "".join(f"{name:>14}" for name in ESTIMATORS) + "   warned  golden")
    for n, spread in ((1000, 0.0), (1000, 0.3), (10_000, 0.3), (1000, 0.15), (10_000, 0.5)):
        print_row(
            f"known  {n:6} {spread:.2f}",
            means_of_moments(rng, n, spread, surveys),
            GOLDEN.get((n, spread)),
        )
    for n, spread in ((200, 0.0), (1000, 0.0), (1000, 0.3)):
        few = max(surveys // 4, 1)
        print_row(f"report {n:6} {spread:.2f}", means_of_reports(rng, n, spread, few), None)
    print("\nshare of the first of three options, levels high, medium, low")
    for n, spread in ((200, 0.0), (1000, 0.0), (1000, 0.075), (10_000, 0.075)):
        few = max(surveys // 2, 1)
        print_row(f"share  {n:6} {spread:.3f}", shares(rng, n, spread, few), None)
    print(f"\n{time.perf_counter() - started:.0f} s")


def means_of_moments(
    rng: np.random.Generator, n: int, spread: float, surveys: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return errors, hits and warnings where the variances are known, as in the golden figures."""
    size = n * SHARES
    variance = (1 + NOISE**2) / size
    missed, hit = np.zeros((surveys, 3)), np.zeros((surveys, 3))
    for survey in range(surveys):
        level = rng.normal(0, spread, 4) if spread else np.zeros(4)
        value = level + rng.normal(0, np.sqrt(variance))
        found = combine(
            LevelValues(
                size,
                value[:, None],
                (1 / size)[:, None],
                (NOISE**2 / size)[:, None],
                pool=1e9 * SHARES,
            ),
            width=4,
        )
        truth = float(SHARES @ level / SHARES.sum())
        for place, name in enumerate(ESTIMATORS):
            one = found[name].estimate(quantile=1.959964)
            missed[survey, place] = one.value - truth
            hit[survey, place] = one.low <= truth <= one.high
    return missed, hit, float("nan")


def means_of_reports(
    rng: np.random.Generator, n: int, spread: float, surveys: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the same from whole reports: a rating of 1 to 5 and the levels that surveys offer."""
    lattice = Lattice(1, 5)
    names, share = ("high", "medium", "low"), np.array([0.27, 0.45, 0.28])
    sigmas = dict(zip(names, (12, 6, 3), strict=True))
    mechanisms = {name: DiscreteGaussian(1, 5, sigma=sigma) for name, sigma in sigmas.items()}
    missed, hit, warned = np.zeros((surveys, 3)), np.zeros((surveys, 3)), 0
    for survey in range(surveys):
        level = rng.normal(0, spread, 3) if spread else np.zeros(3)
        chance = [rating_shares(3 + shift) for shift in level]
        truth = float(share @ [one @ np.arange(1, 6) for one in chance])
        sizes = rng.multinomial(n, share)
        groups = {}
        for name, size, one in zip(names, sizes, chance, strict=True):
            answers = rng.choice(5, size, p=one)
            noise = np.rint(rng.normal(0, sigmas[name], size)).astype(int)
            groups[name] = (answers + noise, mechanisms[name])
        mean = level_mean(groups, lattice)
        warned += mean.heterogeneity.differ
        for place, name in enumerate(ESTIMATORS):
            estimate = mean.estimate(name)
            missed[survey, place] = estimate.value - truth
            hit[survey, place] = estimate.low <= truth <= estimate.high
    return missed, hit, warned / surveys


def rating_shares(mean: float) -> np.ndarray:
    """Return shares of ratings 1 to 5 with about this mean and a standard deviation near 1."""
    weight = np.exp(-((np.arange(1, 6) - mean) ** 2) / 2)
    return np.asarray(weight / weight.sum())


def shares(
    rng: np.random.Generator, n: int, spread: float, surveys: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the same for the share of an option, by randomized response."""
    from masquerade.mechanisms import level_named

    names, share = ("high", "medium", "low"), np.array([0.27, 0.45, 0.28])
    mechanisms = {name: level_named(name).randomized_response(3) for name in names}
    base = np.array([0.3, 0.45, 0.25])
    missed, hit, warned = np.zeros((surveys, 3)), np.zeros((surveys, 3)), 0
    for survey in range(surveys):
        shift = rng.normal(0, spread, 3) if spread else np.zeros(3)
        held = np.clip(base + shift[:, None] * [1, -0.5, -0.5], 0.01, None)
        held /= held.sum(axis=1, keepdims=True)
        truth = float(share @ held[:, 0])
        sizes = rng.multinomial(n, share)
        groups = {}
        for name, size, one in zip(names, sizes, held, strict=True):
            reported = SymbolChannel.of(mechanisms[name]).reported(one)
            groups[name] = (rng.multinomial(size, reported).tolist(), mechanisms[name])
        found = level_shares(groups)
        warned += found.heterogeneity.differ
        for place, name in enumerate(ESTIMATORS):
            estimate = found.estimates(name)[0]
            missed[survey, place] = estimate.value - truth
            hit[survey, place] = estimate.low <= truth <= estimate.high
    return missed, hit, warned / surveys


def print_row(
    name: str,
    found: tuple[np.ndarray, np.ndarray, float],
    golden: tuple[tuple[float, float], ...] | None,
) -> None:
    """Print root-mean-squared errors and coverages."""
    missed, hit, warned = found
    cells = [f"{np.sqrt((missed[:, i] ** 2).mean()):.3f}/{hit[:, i].mean():.3f}" for i in range(3)]
    told = "" if golden is None else "  " + ", ".join(f"{a:.3f}/{b:g}" for a, b in golden)
    print(name + "".join(f"{cell:>14}" for cell in cells) + f"   {warned:6.2f}{told}")
    for place, estimator in enumerate(ESTIMATORS):
        what, size, spread = name.split()
        CARDS.add(
            f"95 % intervals that hold, {what}, {size} people, levels {spread} apart, {estimator}",
            hit[:, place].mean(),
            "",
        )


if __name__ == "__main__":
    main()
