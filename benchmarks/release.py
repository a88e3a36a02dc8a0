"""Errors of releases of claims on eleven sets, beside the engine before and a plain noisy mean.

Run with ``python benchmarks/release.py``. Real sets need ``MASQUERADE_DATA``. Errors are against
the claims themselves, in hundredths of the range: the distance of the rows (Wasserstein-1) and the
error of the means. Nothing is smoothed before it is compared.
"""

from __future__ import annotations

import time

import numpy as np

from card import Cards, sized
from masquerade.release import errors_of, simulate_release
from release_crowds import Case, crowds, made_up, real

CARDS = Cards(__file__)
SEEDS = sized(2, 4)
EPSILONS = (0.25, 0.5, 1, 2, 4, 8)
#: Most that the geometric mean of the ratios to `EARLIER` shall be, from epsilon .25 to 4.
TARGETS = (0.80, 0.75, 0.62, 0.46, 0.25)
#: Most that any ratio shall be.
WORST = 1.3
TOP = 20

#: Distance of 30 drawn points an object from the claims, of the engine ``claims`` that releases had
#: before they were summaries (commit 9162d4cf, means of seeds 1 to 4), at `EPSILONS`.
EARLIER = {
    "ratings, 60 x 20": (16.55, 13.85, 9.08, 7.43, 6.02, 5.37),
    "yes or no, 60 x 20": (18.51, 15.51, 11.6, 9.67, 9.58, 9.86),
    "heavy tails, 60 x 20": (16.5, 10.92, 7.82, 5.82, 4.51, 3.76),
    "both ends, 60 x 20": (21.53, 14.87, 11.61, 8.44, 6.62, 5.91),
    "lognormal, 60 x 20": (14.79, 9.36, 7.21, 5.23, 3.87, 2.98),
    "lognormal, 60 x 200": (4.38, 3.75, 3.08, 2.99, 2.7, 2.62),
    "MovieLens, 300 films, n 65-341": (7.22, 6.04, 5.2, 4.82, 4.54, 4.59),
    "MovieLens, 150 films, n 18-24": (14.27, 10.97, 8.89, 6.69, 5.27, 4.77),
    "emotion, 150 x 10": (18.57, 15.31, 10.9, 7.65, 5.61, 3.79),
    "count_people, 200 x 20": (14.04, 10.69, 7.41, 5.28, 3.86, 3.02),
    "count_vehicles, 200 x 20": (15.02, 9.71, 5.35, 3.62, 2.59, 1.72),
}


def laplace_error(case: Case, epsilon: float, rng: np.random.Generator) -> float:
    """Return the error of a Laplace mean of each object, cut at the range."""
    claims, low, high = case.claims, float(case.low), float(case.high)
    means = np.array([claims.value[claims.rows_of(i)].mean() for i in range(claims.n_objects)])
    noise = rng.laplace(0, case.width / (claims.count * epsilon))
    return 100 * float(np.abs(np.clip(means + noise, low, high) - means).mean()) / case.width


def same_top(case: Case, means: np.ndarray) -> int:
    """Return how many of the objects with the largest means are named by released means."""
    claims = case.claims
    exact = np.array([claims.value[claims.rows_of(i)].mean() for i in range(claims.n_objects)])
    first, second = (set(np.argsort(-each, kind="stable")[:TOP]) for each in (exact, means))
    return len(first & second)


def measure(case: Case, epsilon: float) -> float:
    """Measure a set at an epsilon, keep its cards, and return the distance of the rows."""
    found: dict[str, list[tuple[float, ...]]] = {"claims": [], "means": []}
    started = time.perf_counter()
    for seed in range(SEEDS):
        for aim, each in found.items():
            made = simulate_release(
                case.claims,
                np.random.default_rng(seed),
                epsilon=epsilon,
                domain=(case.low, case.high),
                step=case.step,
                aim=aim,
            )
            one = errors_of(made, case.claims)
            top = same_top(case, made.summary["mean"].to_numpy())
            part = 100 / case.width
            each.append((part * one.wasserstein, part * one.mean, one.rank_correlation, top))
    seconds = (time.perf_counter() - started) / SEEDS
    whole, direct = (np.mean(each, axis=0) for each in found.values())
    laplace = [laplace_error(case, epsilon, np.random.default_rng([s, 9])) for s in range(SEEDS)]
    CARDS.add(
        f"distance of the rows, {case.name}, epsilon {epsilon}",
        float(whole[0]),
        "",
        note=f"for means {direct[0]:.3g}; {seconds:.1f} s",
    )
    CARDS.add(
        f"error of the means, {case.name}, epsilon {epsilon}",
        float(direct[1]),
        "",
        peer="a Laplace mean",
        peer_value=float(np.mean(laplace)),
        note=f"for claims {whole[1]:.3g}; rank correlation {direct[2]:.3f}, for claims "
        f"{whole[2]:.3f}; of the first {TOP} the same {direct[3]:.3g}, for claims {whole[3]:.3g}",
    )
    return float(whole[0])


def summary(ratios: np.ndarray) -> None:
    """Keep the geometric mean over the sets, and the worst cell, at each epsilon but the last."""
    for place, target in enumerate(TARGETS):
        CARDS.add(
            f"distance of the rows over that of the engine before, epsilon {EPSILONS[place]}",
            float(np.exp(np.log(np.maximum(ratios[:, place], 1e-3)).mean())),
            "",
            at_most=target,
            note=f"geometric mean of {len(ratios)} sets; worst {ratios[:, place].max():.2f}",
        )
    CARDS.add("the same in the worst cell", float(ratios.max()), "", at_most=WORST)


def main() -> None:
    """Measure and print."""
    ratios = []
    for case in [*real(), *crowds()]:
        reached = np.array([measure(case, epsilon) for epsilon in EPSILONS])
        ratios.append(reached / EARLIER[case.name])
    summary(np.array(ratios))
    for case in (made_up("ratings", 5), made_up("lognormal", 5)):
        for epsilon in (1, 4, 8):
            measure(case, epsilon)


if __name__ == "__main__":
    main()
