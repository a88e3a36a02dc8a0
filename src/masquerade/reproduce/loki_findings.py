"""Figures 2 to 4 of Kandappu et al. (2014), from what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from masquerade.accounting.gaussian import gaussian_epsilon
from masquerade.reproduce.loki import (
    ALPHAS,
    BUDGETS,
    DELTA,
    GREEDY,
    LEVELS_CHOICE,
    OURS_GREEDY,
    PARTS,
    QUICK_ALPHAS,
    QUICK_BUDGETS,
    SEQUENCE_BUDGET,
    SEQUENCE_CAP,
)
from masquerade.reproduce.rating_pool import (
    DEVIATIONS,
    EPSILONS,
    LEVELS,
    Floats,
)
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


def findings(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return figures 2 to 4, and the losses of the levels."""
    budgets = QUICK_BUDGETS if scale.quick else BUDGETS
    alphas = QUICK_ALPHAS if scale.quick else ALPHAS
    surveys = [c for n, part in found.items() if n.startswith("survey-") for c in part]
    data = next(c["data"] for c in surveys if "data" in c)
    rows = _level_rows()
    errors = _errors(surveys)
    expected = _expected(surveys)
    rows += _survey_rows(errors, expected, budgets, alphas, data)
    rows += _selected_rows(found["selected"], data)
    runs = {n: part for n, part in found.items() if n.startswith("sequence-")}
    rows += _sequence_rows(runs, alphas, data)
    trials = [part for n, part in found.items() if n.startswith("trial-")]
    items = "bfi, 131 people drawn, a stand-in" if real("bfi") else "simulated, 131 students"
    rows += _trial_rows(trials, items)
    return Findings(
        rows,
        _ours(errors, budgets, data),
        [
            Table("figure-2a-table", "Error by policy, estimator and budget",
                  [{"policy": p, "alpha": a, "estimator": e, "budget": b, "rmse": f.mean,
                    "standard_error": f.error} for (p, a, e, b), f in errors.items()]),
        ],
        [
            _figure_2a(errors, expected, budgets, alphas, data),
            _figure_2b(found["selected"], data),
            _figure_3(runs, alphas, data),
            _figure_4(trials, items),
        ],
    )  # fmt: skip


Errors = dict[tuple[str, float, str, float], Estimate]


def _root(squares: list[float]) -> Estimate:
    mean = Estimate.of(squares)
    root = math.sqrt(max(mean.mean, 0.0))
    return Estimate(root, mean.error / (2 * root) if root > 0 else mean.error)


def _errors(cells: Cells) -> Errors:
    gathered: dict[tuple[str, float, str, float], list[float]] = {}
    for c in cells:
        if "mse" in c:
            key = (c["policy"], c["alpha"], c["estimator"], c["budget"])
            gathered.setdefault(key, []).append(c["mse"])
    return {key: _root(each) for key, each in gathered.items()}


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
    errors: Errors,
    expected: Mapping[tuple[str, float], tuple[Estimate, float]],
    budgets: tuple[float, ...],
    alphas: tuple[float, ...],
    data: str,
) -> list[Row]:
    below = [b for b in budgets if b <= 0.74]

    def rmse(policy: str, alpha: float, budget: float) -> Estimate:
        return errors[policy, alpha, "mean", budget]

    plain = [("random", 0.0), ("best-predictors", 0.0), ("precision", 0.0)]
    plain += [(GREEDY, alpha) for alpha in alphas]
    some = [b for b in below if 0.3 <= b <= 0.5]
    solid = [
        Estimate(math.sqrt(max(expected[GREEDY, b][0].mean, 0))) - rmse(GREEDY, 0.0, b)
        for b in budgets if (GREEDY, b) in expected
    ]  # fmt: skip
    return [
        claim("figure 2a", "RMSE: random minus each other policy",
              [rmse("random", 0.0, b) - rmse(p, a, b) for b in below for p, a in plain[1:]],
              statement="random selection is least accurate", data=data, own=False),
        alike("figure 2a", "RMSE: greedy with alpha 0 minus best predictors",
              [rmse(GREEDY, 0.0, b) - rmse("best-predictors", 0.0, b) for b in below],
              statement="alpha 0 is as accurate as the best predictors", tolerance=0.05,
              data=data, own=False),
        alike("figure 2a", "RMSE of best predictors, budget 30 % to 50 %",
              [rmse("best-predictors", 0.0, b) for b in some],
              statement="best predictors are nearly perfect", tolerance=0.1, data=data, own=False),
        claim("figure 2a", "RMSE of greedy: alpha 1 minus alpha 0",
              [rmse(GREEDY, 1.0, b) - rmse(GREEDY, 0.0, b) for b in below],
              statement="the error grows with alpha", data=data, own=False),
        alike("figure 2a", "RMSE of greedy with alpha 0: predicted by eq. 5 minus true", solid,
              statement="the predicted error is close to the true one", tolerance=0.1,
              data=data, own=False),
        alike("figure 2a", "RMSE at full budget: each policy minus random, plain means",
              [Estimate(rmse(p, a, 1.0).mean - rmse("random", 0.0, 1.0).mean)
               for p, a in plain[1:]],
              statement="with all the money every policy asks the same people", tolerance=1e-9,
              data=data, own=False),
    ]  # fmt: skip


def _ours(errors: Errors, budgets: tuple[float, ...], data: str) -> list[Comparison]:
    below = [b for b in budgets if b <= 0.74]
    return [
        compare("figure 2a", f"RMSE on the same reports: {theirs}, plain mean, minus {label}",
                [errors[theirs, 0.0, "mean", b] - errors[policy, 0.0, estimator, b]
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


def _parts(runs: Mapping[str, Cells], policy: str, alpha: float, what: str) -> list[Estimate]:
    """Return an estimate for each part of the sequence, over seeds."""
    mine = [p for p in runs.values() if p[0]["policy"] == policy and p[0]["alpha"] == alpha]
    found = []
    for part in range(PARTS):
        each = [float(np.mean([c[what] for c in run if c["part"] == part])) for run in mine]
        found.append(_root(each) if what == "squared" else Estimate.of(each))
    return found


def _sequence_rows(runs: Mapping[str, Cells], alphas: tuple[float, ...], data: str) -> list[Row]:
    low, high = alphas[0], alphas[-1]

    def rise(alpha: float) -> Estimate:
        errors = _parts(runs, GREEDY, alpha, "squared")
        return errors[-1] - errors[0]

    gone = {a: _parts(runs, GREEDY, a, "exhausted") for a in (low, high)}
    early = PARTS // 4
    return [
        claim("figure 3a", "RMSE of greedy with alpha 0: last part minus first", [rise(low)],
              statement="with low alpha the error rises", data=data, own=False),
        claim("figure 3a", "rise of the RMSE: alpha 0 minus alpha 1", [rise(low) - rise(high)],
              statement="with high alpha the error stays more even", data=data, own=False),
        claim("figure 3b", "share exhausted in the first parts: alpha 0 minus alpha 1",
              [a - b for a, b in zip(gone[low][:early], gone[high][:early], strict=True)],
              statement="with low alpha people are exhausted sooner", data=data, own=False),
        claim("figure 3b", "share exhausted at the end: alpha 0 minus alpha 1",
              [gone[low][-1] - gone[high][-1]],
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
                  "a person selected)", chosen),
            Panel("their past loss", "raters by past loss, lowest first",
                  "sum of published epsilons",
                  [Series("past loss", [c["rank"] for c in one], [c["loss"] for c in one])]),
        ],
    )  # fmt: skip


def _figure_3(runs: Mapping[str, Cells], alphas: tuple[float, ...], data: str) -> Figure:
    surveys = max(len(run) for run in runs.values())
    x = [(part + 0.5) * surveys / PARTS for part in range(PARTS)]

    def line(policy: str, alpha: float, what: str, label: str, style: Any) -> Series:
        found = _parts(runs, policy, alpha, what)
        scale = 100 if what == "exhausted" else 1
        return Series(label, x, [scale * f.mean for f in found], [scale * f.error for f in found],
                      style)  # fmt: skip

    def lines(what: str) -> list[Series]:
        return [
            *(line(GREEDY, a, what, f"greedy, alpha {a:g}", "paper") for a in alphas),
            line("random", 0.0, what, "random", "reference"),
            line("best-predictors", 0.0, what, "best predictors", "reference"),
            line("precision", 0.0, what, "precision, weighted (ours)", "ours"),
        ]

    return Figure(
        "figure-3",
        f"Figure 3: surveys one after another, cap {SEQUENCE_CAP:g}, budget "
        f"{100 * SEQUENCE_BUDGET:g} % ({data}); bars: two standard errors",
        [
            Panel("error", "survey", "RMSE, points of the scale", lines("squared")),
            Panel("exhausted", "survey", "people whose privacy is spent, %", lines("exhausted")),
        ],
    )  # fmt: skip


def _figure_4(trials: list[Cells], data: str) -> Figure:
    one = trials[0]
    return Figure(
        "figure-4",
        f"Figure 4: levels against each other, item by item ({data}; one draw)",
        [
            Panel("mean of the level minus overall mean", "item, most raters first",
                  "points of the scale",
                  [Series(label, [c["item"] + 1 for c in one if c["level"] == label],
                          [c["difference"] for c in one if c["level"] == label], marks=True)
                   for label in LEVELS]),
            Panel("people", "item, most raters first", "people at the level",
                  [Series(label, [c["item"] + 1 for c in one if c["level"] == label],
                          [c["n"] for c in one if c["level"] == label]) for label in LEVELS]),
        ],
    )  # fmt: skip
