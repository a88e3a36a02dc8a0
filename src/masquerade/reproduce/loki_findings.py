"""Figures 2 to 4 of Kandappu et al. (2014), from what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from masquerade.accounting.gaussian import gaussian_epsilon
from masquerade.exact.arrays import Floats
from masquerade.reproduce.loki import (
    ALPHAS,
    BUDGETS,
    DELTA,
    DENSE_ALPHAS,
    GREEDY,
    LEVELS_CHOICE,
    OURS_GREEDY,
    PARTS,
    QUICK_ALPHAS,
    QUICK_BUDGETS,
    SEQUENCE_BUDGET,
    SEQUENCE_CAP,
)
from masquerade.reproduce.rating_pool import DEVIATIONS, EPSILONS, LEVELS
from masquerade.reproduce.study import (
    Cells,
    Figure,
    Findings,
    Panel,
    Scale,
    Series,
    Table,
    real,
)
from masquerade.reproduce.verdict import Comparison, Estimate, Row, alike, claim, compare, value


def results(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return figures 2 to 4, and the losses of the levels."""
    budgets = QUICK_BUDGETS if scale.quick else BUDGETS
    alphas = QUICK_ALPHAS if scale.quick else ALPHAS
    surveys = [c for n, part in found.items() if n.startswith("survey-") for c in part]
    data = next(c["data"] for c in surveys if "data" in c)
    rows = _level_rows()
    squares = _squares(surveys)
    errors = {key: _root(each) for key, each in squares.items()}
    expected = _expected(surveys)
    rows += _survey_rows(squares, errors, expected, budgets, alphas, data)
    rows += _selected_rows(found["selected"], data)
    runs = {n: part for n, part in found.items() if n.startswith("sequence-")}
    dense = {n: part for n, part in found.items() if n.startswith("dense-")}
    rows += _sequence_rows(runs, alphas, data, "")
    everything = "simulated, every rater rated everything"
    rows += _sequence_rows(dense, DENSE_ALPHAS, everything, ", dense")
    trials = [part for n, part in found.items() if n.startswith("trial-")]
    items = "bfi, 131 people drawn, a stand-in" if real("bfi") else "simulated, 131 students"
    rows += _trial_rows(trials, items)
    return Findings(
        rows,
        _ours(squares, budgets, data),
        [
            Table("figure-2a-table", "Error by policy, estimator and budget",
                  [{"policy": p, "alpha": a, "estimator": e, "budget": b, "rmse": f.mean,
                    "standard_error": f.error} for (p, a, e, b), f in errors.items()]),
        ],
        [
            _figure_2a(errors, expected, budgets, alphas, data),
            _figure_2b(found["selected"], data),
            _figure_3(runs, dense, alphas, data),
            _figure_4(trials, items),
        ],
    )  # fmt: skip


Key = tuple[str, float, str, float]
"""Policy, alpha, estimator and budget."""

Errors = dict[Key, Estimate]
Squares = dict[Key, list[float]]


def _root(squares: list[float]) -> Estimate:
    mean = Estimate.of(squares)
    root = math.sqrt(max(mean.mean, 0.0))
    return Estimate(root, mean.error / (2 * root) if root > 0 else mean.error)


def _squares(cells: Cells) -> Squares:
    """Return the mean squared errors of the draws, in the same order for every key."""
    gathered: Squares = {}
    for c in cells:
        if "mse" in c:
            key = (c["policy"], c["alpha"], c["estimator"], c["budget"])
            gathered.setdefault(key, []).append(c["mse"])
    return gathered


def _gap(squares: Squares, one: Key, other: Key) -> Estimate:
    """Return how much larger the root of one error is, draw by draw: both met the same people."""
    return Estimate.of(np.sqrt(squares[one]) - np.sqrt(squares[other]))


def _expected(cells: Cells) -> dict[tuple[str, float], tuple[Estimate, float]]:
    """Return by policy and budget the predicted squared error, and how often it is negative."""
    gathered: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for c in cells:
        if "predicted_mse" in c:
            key = (c["policy"], c["predicted_at"])
            gathered.setdefault(key, []).append((c["predicted_mse"], c["negative"]))
    return {
        key: (Estimate.of([m for m, _ in each]), float(np.mean([n for _, n in each])))
        for key, each in gathered.items()
    }


def _level_rows() -> list[Row]:
    rows = []
    for level, deviation, printed in zip(LEVELS[1:], DEVIATIONS[1:], EPSILONS[1:], strict=True):
        exact = gaussian_epsilon(DELTA, mu=4 / deviation)
        rows.append(
            value("example 3", f"epsilon of level {level} at delta 0.01, rating from 1 to 5",
                  paper=printed, ours=exact, tolerance=0.005, data="exact", own=True)
        )  # fmt: skip
    for level, flip, printed in zip(LEVELS[1:], LEVELS_CHOICE, (3.57, 2.22, 1.77), strict=True):
        exact = math.log((1 - flip - DELTA) / (flip / 4))
        rows.append(
            value("example 4", f"epsilon of level {level} at delta 0.01, one of five options",
                  paper=printed, ours=exact, tolerance=0.006, data="exact", own=True)
        )  # fmt: skip
    return rows


def _survey_rows(
    squares: Squares,
    errors: Errors,
    expected: Mapping[tuple[str, float], tuple[Estimate, float]],
    budgets: tuple[float, ...],
    alphas: tuple[float, ...],
    data: str,
) -> list[Row]:
    below = [b for b in budgets if b <= 0.74]

    def rmse(policy: str, alpha: float, budget: float) -> Estimate:
        return errors[policy, alpha, "mean", budget]

    def gap(one: tuple[str, float], other: tuple[str, float], budget: float) -> Estimate:
        return _gap(squares, (*one, "mean", budget), (*other, "mean", budget))

    random, best, low, high = (
        ("random", 0.0), ("best-predictors", 0.0), (GREEDY, 0.0), (GREEDY, 1.0),
    )  # fmt: skip
    plain = [random, best, ("precision", 0.0)]
    plain += [(GREEDY, alpha) for alpha in alphas]
    some = [b for b in below if 0.3 <= b <= 0.5]
    solid = [
        Estimate(math.sqrt(max(expected[GREEDY, b][0].mean, 0))) - rmse(GREEDY, 0.0, b)
        for b in budgets if (GREEDY, b) in expected
    ]  # fmt: skip
    return [
        claim("figure 2a", "RMSE: random minus each other policy",
              [gap(random, other, b) for b in below for other in plain[1:]],
              statement="random selection is least accurate", data=data, own=False),
        alike("figure 2a", "RMSE: greedy with alpha 0 minus best predictors",
              [gap(low, best, b) for b in below],
              statement="alpha 0 is as accurate as the best predictors", tolerance=0.05,
              data=data, own=False),
        alike("figure 2a", "RMSE of best predictors, budget 30 % to 50 %",
              [rmse("best-predictors", 0.0, b) for b in some],
              statement="best predictors are nearly perfect", tolerance=0.1, data=data, own=False),
        claim("figure 2a", "RMSE of greedy: alpha 1 minus alpha 0",
              [gap(high, low, b) for b in below],
              statement="the error grows with alpha", data=data, own=False),
        alike("figure 2a", "RMSE of greedy with alpha 0: predicted by eq. 5 minus true", solid,
              statement="the predicted error is close to the true one", tolerance=0.1,
              data=data, own=False),
        alike("figure 2a", "RMSE at full budget: each policy minus random, plain means",
              [gap(other, random, 1.0) for other in plain[1:]],
              statement="with all the money every policy asks the same people", tolerance=1e-9,
              data=data, own=False),
    ]  # fmt: skip


def _ours(squares: Squares, budgets: tuple[float, ...], data: str) -> list[Comparison]:
    below = [b for b in budgets if b <= 0.74]
    return [
        compare("figure 2a", f"RMSE on the same reports: {theirs}, plain mean, minus {label}",
                [_gap(squares, (theirs, 0.0, "mean", b), (policy, 0.0, estimator, b))
                 for b in below], data=data)
        for policy, estimator, label in (
            ("precision", "weighted", "precision, weighted mean"),
            ("precision", "debiased", "precision, weighted mean without biases"),
            ("random", "weighted", "random, weighted mean"),
            (OURS_GREEDY, "mean", "greedy with the covariance, plain mean"),
        )
        for theirs in (GREEDY, "best-predictors")
    ]  # fmt: skip


def _selected_rows(cells: Cells, data: str) -> list[Row]:
    def ranks(alpha: float) -> Floats:
        size = max(c["rank"] for c in cells) + 1
        return np.array([c["rank"] / size for c in cells if c["alpha"] == alpha and c["selected"]])

    low, high = Estimate.of(ranks(0.0)), Estimate.of(ranks(1.0))
    return [
        claim("figure 2b", "mean rank by past loss (0 to 1) of the selected: alpha 0 minus alpha 1",
              [low - high], statement="alpha 1 selects people who have lost little so far",
              data=data, own=False)
    ]  # fmt: skip


def _by_seed(runs: Mapping[str, Cells], policy: str, alpha: float, what: str) -> Floats:
    """Return the mean of each seed and part of the sequence, shape (n_seeds, PARTS)."""
    mine = {
        int(name.rsplit("-", 1)[1]): run
        for name, run in runs.items()
        if run[0]["policy"] == policy and run[0]["alpha"] == alpha
    }
    return np.array([
        [float(np.mean([c[what] for c in mine[seed] if c["part"] == part]))
         for part in range(PARTS)]
        for seed in sorted(mine)
    ])  # fmt: skip


def _parts(runs: Mapping[str, Cells], policy: str, alpha: float, what: str) -> list[Estimate]:
    """Return an estimate for each part of the sequence, over seeds."""
    columns = _by_seed(runs, policy, alpha, what).T.tolist()
    return [_root(each) if what == "squared" else Estimate.of(each) for each in columns]


def _sequence_rows(
    runs: Mapping[str, Cells], alphas: tuple[float, ...], data: str, dense: str
) -> list[Row]:
    low, high = alphas[0], alphas[-1]

    def rise(alpha: float) -> Floats:
        errors = np.sqrt(_by_seed(runs, GREEDY, alpha, "squared"))
        return np.asarray(errors[:, -1] - errors[:, 0])

    # The same people, levels and surveys for both, so differences are taken seed by seed.
    gone = _by_seed(runs, GREEDY, low, "exhausted") - _by_seed(runs, GREEDY, high, "exhausted")
    early = PARTS // 4
    return [
        claim(f"figure 3a{dense}", "RMSE of greedy with alpha 0: last part minus first",
              [Estimate.of(rise(low))], statement="with low alpha the error rises",
              data=data, own=False),
        claim(f"figure 3a{dense}", "rise of the RMSE: alpha 0 minus alpha 1",
              [Estimate.of(rise(low) - rise(high))],
              statement="with high alpha the error stays more even", data=data, own=False),
        claim(f"figure 3b{dense}", "share exhausted in the first parts: alpha 0 minus alpha 1",
              [Estimate.of(gone[:, part]) for part in range(early)],
              statement="with low alpha people are exhausted sooner", data=data, own=False),
        claim(f"figure 3b{dense}", "share exhausted at the end: alpha 0 minus alpha 1",
              [Estimate.of(gone[:, -1])],
              statement="with high alpha people last longer", data=data, own=False),
    ]  # fmt: skip


def _trial_rows(trials: list[Cells], data: str) -> list[Row]:
    cells = [c for part in trials for c in part]
    noisy = [c for c in cells if c["level"] != "none"]
    size = np.log([c["n"] for c in noisy])
    off = np.log(np.maximum([abs(c["difference"]) for c in noisy], 1e-6))
    correlation = float(np.corrcoef(size, off)[0, 1])
    error = (1 - correlation**2) / math.sqrt(len(noisy) - 1)
    spread = {
        label: Estimate.of([abs(c["difference"]) for c in cells if c["level"] == label])
        for label in LEVELS
    }
    return [
        claim("figure 4", "minus the correlation of log people and log distance, within levels",
              [Estimate(-correlation, error)],
              statement="with fewer people the levels' means lie further apart", data=data,
              own=False),
        claim("figure 4", "mean distance from the overall mean: higher level minus lower",
              [spread["medium"] - spread["low"], spread["high"] - spread["medium"]],
              statement="more so at higher privacy", data=data, own=False),
    ]  # fmt: skip


def _figure_2a(
    errors: Errors,
    expected: Mapping[tuple[str, float], tuple[Estimate, float]],
    budgets: tuple[float, ...],
    alphas: tuple[float, ...],
    data: str,
) -> Figure:
    def line(policy: str, alpha: float, estimator: str, label: str, style: Any) -> Series:
        found = [errors[policy, alpha, estimator, b] for b in budgets]
        x = [100 * b for b in budgets]
        return Series(label, x, [f.mean for f in found], [f.error for f in found], style)

    x = [100 * b for b in budgets if (GREEDY, b) in expected]
    squares = [expected[GREEDY, x_ / 100][0] for x_ in x]
    own = [b for b in budgets if (OURS_GREEDY, b) in expected]
    money = "budget, % of asking everybody"
    return Figure(
        "figure-2a",
        f"Figure 2a: error of one survey ({data}); bars: two standard errors",
        [
            Panel("the paper's policies, plain mean", money, "RMSE, points of the scale",
                  [line("random", 0.0, "mean", "random", "paper"),
                   line("best-predictors", 0.0, "mean", "best predictors", "paper"),
                   *(line(GREEDY, a, "mean", f"greedy, alpha {a:g}", "paper") for a in alphas)]),
            Panel("the same reports, weighted by precision (ours)", money,
                  "RMSE, points of the scale",
                  [line(GREEDY, 0.0, "mean", "greedy, alpha 0, plain mean", "paper"),
                   line("random", 0.0, "weighted", "random, weighted (ours)", "ours"),
                   line(GREEDY, 0.0, "weighted", "greedy, weighted (ours)", "ours"),
                   line("precision", 0.0, "weighted", "precision, weighted (ours)", "ours"),
                   line("precision", 0.0, "debiased", "precision, weighted, unbiased (ours)",
                        "ours")]),
            Panel("what eq. 5 predicts for greedy, alpha 0", money, "mean squared error",
                  [Series("true", [100 * b for b in budgets],
                          [errors[GREEDY, 0.0, "mean", b].mean ** 2 for b in budgets], None),
                   Series("predicted by eq. 5", x, [s.mean for s in squares],
                          [s.error for s in squares], "published"),
                   Series("corrected greedy (ours): true", [100 * b for b in own],
                          [errors[OURS_GREEDY, 0.0, "mean", b].mean ** 2 for b in own], None,
                          "ours"),
                   Series("corrected greedy (ours): predicted", [100 * b for b in own],
                          [expected[OURS_GREEDY, b][0].mean for b in own],
                          [expected[OURS_GREEDY, b][0].error for b in own], "ours")]),
        ],
    )  # fmt: skip


def _figure_2b(cells: Cells, data: str) -> Figure:
    alphas = sorted({c["alpha"] for c in cells})
    chosen = [
        Series(f"alpha {a:g}", [c["rank"] for c in cells if c["alpha"] == a and c["selected"]],
               [a] * sum(c["selected"] for c in cells if c["alpha"] == a), marks=True)
        for a in alphas
    ]  # fmt: skip
    one = [c for c in cells if c["alpha"] == alphas[0]]
    return Figure(
        "figure-2b",
        f"Figure 2b: who is selected for one survey, budget 74 % ({data})",
        [
            Panel("greedy, as published", "raters by past loss, lowest first", "alpha (each mark: "
                  "a person selected)", chosen, legend=False),
            Panel("their past loss", "raters by past loss, lowest first",
                  "sum of published epsilons",
                  [Series("past loss", [c["rank"] for c in one], [c["loss"] for c in one])],
                  legend=False),
        ],
    )  # fmt: skip


def _figure_3(
    runs: Mapping[str, Cells], dense: Mapping[str, Cells], alphas: tuple[float, ...], data: str
) -> Figure:
    def panels(some: Mapping[str, Cells], alphas: tuple[float, ...], title: str) -> list[Panel]:
        surveys = max(len(run) for run in some.values())
        x = [(part + 0.5) * surveys / PARTS for part in range(PARTS)]

        def line(policy: str, alpha: float, what: str, label: str, style: Any) -> Series:
            found = _parts(some, policy, alpha, what)
            scale = 100 if what == "exhausted" else 1
            return Series(label, x, [scale * f.mean for f in found],
                          [scale * f.error for f in found], style)  # fmt: skip

        def lines(what: str) -> list[Series]:
            return [
                *(line(GREEDY, a, what, f"greedy, alpha {a:g}", "paper") for a in alphas),
                line("random", 0.0, what, "random", "reference"),
                line("best-predictors", 0.0, what, "best predictors", "reference"),
                line("precision", 0.0, what, "precision, weighted (ours)", "ours"),
            ]

        return [
            Panel(f"error, {title}", "survey", "RMSE, points of the scale", lines("squared")),
            Panel(f"exhausted, {title}", "survey", "people whose privacy is spent, %",
                  lines("exhausted")),
        ]  # fmt: skip

    surveys = max(len(run) for run in dense.values())
    return Figure(
        "figure-3",
        f"Figure 3: surveys one after another, budget {100 * SEQUENCE_BUDGET:g} %, cap "
        f"{SEQUENCE_CAP:g} ({data}), and cap {surveys * SEQUENCE_CAP / 100:g} on simulated dense "
        "ratings; bars: two standard errors",
        panels(runs, alphas, "real ratings" if real("movielens_small") else "simulated")
        + panels(dense, DENSE_ALPHAS, "dense ratings (simulated)"),
    )


def _figure_4(trials: list[Cells], data: str) -> Figure:
    one = trials[0]
    return Figure(
        "figure-4",
        f"Figure 4: levels against each other, item by item ({data}; one draw); bars: two standard "
        "errors",
        [
            Panel("mean of the level minus overall mean", "item, most raters first",
                  "points of the scale",
                  [Series(label, [c["item"] + 1 for c in one if c["level"] == label],
                          [c["difference"] for c in one if c["level"] == label],
                          [c["error"] or math.nan for c in one if c["level"] == label],
                          marks=True) for label in LEVELS]),
            Panel("people", "item, most raters first", "people at the level",
                  [Series(label, [c["item"] + 1 for c in one if c["level"] == label],
                          [c["n"] for c in one if c["level"] == label]) for label in LEVELS]),
        ],
    )  # fmt: skip
