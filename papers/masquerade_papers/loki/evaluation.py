"""Figures 2 to 4 of Kandappu et al. (2014), from measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masquerade.accounting.gaussian import gaussian_epsilon
from masquerade.exact.arrays import Floats
from masquerade_papers.loki.crowd import DEVIATIONS, EPSILONS, LEVELS, PRINTED
from masquerade_papers.loki.measurement import (
    ALPHAS,
    BUDGETS,
    DELTA,
    DENSE_ALPHAS,
    GREEDY,
    OURS_GREEDY,
    PARTS,
    QUICK_ALPHAS,
    QUICK_BUDGETS,
    SEQUENCE_BUDGET,
    SEQUENCE_CAP,
)
from masquerade_papers.study import (
    Cells,
    Evaluation,
    Figure,
    Panel,
    Scale,
    Series,
    Style,
    Table,
    means_by,
    real,
)
from masquerade_papers.verdict import Comparison, Estimate, Row, Statements

#: Policy, alpha, estimator and budget.
Key = tuple[str, float, str, float]

Errors = dict[Key, Estimate]
Squares = dict[Key, list[float]]
#: The squared error that eq. 5 predicts, by policy and budget.
Predictions = Mapping[tuple[Any, ...], Estimate]


def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
    """Return figures 2 to 4, and the losses of the levels."""
    budgets = QUICK_BUDGETS if scale.quick else BUDGETS
    alphas = QUICK_ALPHAS if scale.quick else ALPHAS
    surveys = [c for name, part in measured.items() if name.startswith("survey-") for c in part]
    data = next(c["data"] for c in surveys if "data" in c)
    squares = _squares(surveys)
    errors = {key: _root(each) for key, each in squares.items()}
    predictions = means_by(surveys, ("policy", "predicted_at"), "predicted_mse")
    runs = {n: part for n, part in measured.items() if n.startswith("sequence-")}
    dense = {n: part for n, part in measured.items() if n.startswith("dense-")}
    trials = [part for n, part in measured.items() if n.startswith("trial-")]
    items = "bfi, 131 people drawn, a stand-in" if real("bfi") else "simulated, 131 students"
    paper = Statements(PRINTED["statements"], data)
    everything = Statements(PRINTED["statements"], "simulated, every rater rated everything")
    rows = [
        *_level_rows(),
        *_survey_rows(paper, squares, errors, predictions, budgets, alphas),
        *_selection_rows(paper, measured["selected"]),
        *_sequence_rows(paper, runs, alphas, ""),
        *_sequence_rows(everything, dense, DENSE_ALPHAS, ", dense"),
        *_trial_rows(Statements(PRINTED["statements"], items), trials),
    ]
    cells = [
        {
            "policy": policy,
            "alpha": alpha,
            "estimator": estimator,
            "budget": budget,
            "rmse": error.mean,
            "standard_error": error.error,
        }
        for (policy, alpha, estimator, budget), error in errors.items()
    ]
    return Evaluation(
        rows,
        _comparisons(paper, squares, budgets),
        [Table("figure-2a-table", "Error by policy, estimator and budget", cells)],
        [
            _figure_2a(errors, predictions, budgets, alphas, data),
            _figure_2b(measured["selected"], data),
            _figure_3(runs, dense, alphas, data),
            _figure_4(trials, items),
        ],
    )


def _root(squares: Sequence[float]) -> Estimate:
    """Return the root of a mean; its error by the delta method, error / (2 root)."""
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


def _level_rows() -> list[Row]:
    paper = Statements(PRINTED["statements"], "exact", own=True)
    rows = []
    for level, deviation, printed in zip(LEVELS[1:], DEVIATIONS[1:], EPSILONS[1:], strict=True):
        exact = gaussian_epsilon(DELTA, mu=4 / deviation)
        rows.append(paper.value("rating-epsilon", exact, {"level": level}, paper=printed))
    for level, (flip, printed) in PRINTED["choice"].items():
        # (epsilon, delta) of randomized response on 5 options: 1 - flip = e^eps flip / 4 + delta
        exact = math.log((1 - flip - DELTA) / (flip / 4))
        rows.append(paper.value("choice-epsilon", exact, {"level": level}, paper=printed))
    return rows


def _survey_rows(
    paper: Statements,
    squares: Squares,
    errors: Errors,
    predictions: Predictions,
    budgets: Sequence[float],
    alphas: Sequence[float],
) -> list[Row]:
    below = [b for b in budgets if b <= 0.74]
    random, best, low, high = (
        ("random", 0.0),
        ("best-predictors", 0.0),
        (GREEDY, 0.0),
        (GREEDY, 1.0),
    )
    others = [best, ("precision", 0.0), *((GREEDY, alpha) for alpha in alphas)]

    def rmse(policy: tuple[str, float], budget: float) -> Estimate:
        return errors[(*policy, "mean", budget)]

    def gap(one: tuple[str, float], other: tuple[str, float], budget: float) -> Estimate:
        return _gap(squares, (*one, "mean", budget), (*other, "mean", budget))

    predicted = [
        Estimate(math.sqrt(max(predictions[GREEDY, b].mean, 0))) - rmse(low, b)
        for b in budgets
        if (GREEDY, b) in predictions
    ]
    middle = [rmse(best, b) for b in below if 0.3 <= b <= 0.5]
    return [
        paper.claim("random-is-worst", [gap(random, o, b) for b in below for o in others]),
        paper.alike("greedy-as-best", [gap(low, best, b) for b in below]),
        paper.alike("best-is-perfect", middle),
        paper.claim("alpha-costs", [gap(high, low, b) for b in below]),
        paper.alike("prediction", predicted),
        paper.alike("full-budget", [gap(other, random, 1.0) for other in others]),
    ]


def _comparisons(paper: Statements, squares: Squares, budgets: Sequence[float]) -> list[Comparison]:
    below = [b for b in budgets if b <= 0.74]
    return [
        paper.compare(
            "ours",
            [_gap(squares, (theirs, 0.0, "mean", b), (policy, 0.0, estimator, b)) for b in below],
            {"theirs": theirs, "ours": label},
        )
        for policy, estimator, label in (
            ("precision", "weighted", "precision, weighted mean"),
            ("precision", "debiased", "precision, weighted mean without biases"),
            ("random", "weighted", "random, weighted mean"),
            (OURS_GREEDY, "mean", "greedy with the covariance, plain mean"),
        )
        for theirs in (GREEDY, "best-predictors")
    ]


def _selection_rows(paper: Statements, cells: Cells) -> list[Row]:
    size = max(c["rank"] for c in cells) + 1

    def ranks(alpha: float) -> list[float]:
        return [c["rank"] / size for c in cells if c["alpha"] == alpha and c["selected"]]

    return [paper.claim("low-loss-first", [Estimate.of(ranks(0.0)) - Estimate.of(ranks(1.0))])]


def _by_seed(runs: Mapping[str, Cells], policy: str, alpha: float, measure: str) -> Floats:
    """Return the mean of each seed and part of the sequence, shape (n_seeds, PARTS)."""
    seeds = {
        int(name.rsplit("-", 1)[1]): run
        for name, run in runs.items()
        if run[0]["policy"] == policy and run[0]["alpha"] == alpha
    }
    means = [
        [
            float(np.mean([c[measure] for c in seeds[seed] if c["part"] == part]))
            for part in range(PARTS)
        ]
        for seed in sorted(seeds)
    ]
    return np.array(means)


def _sequence_rows(
    paper: Statements, runs: Mapping[str, Cells], alphas: Sequence[float], dense: str
) -> list[Row]:
    low, high = alphas[0], alphas[-1]

    def rise(alpha: float) -> Floats:
        errors = np.sqrt(_by_seed(runs, GREEDY, alpha, "squared"))
        return np.asarray(errors[:, -1] - errors[:, 0])

    # The same people, levels and surveys for both, so differences are taken seed by seed.
    gone = _by_seed(runs, GREEDY, low, "exhausted") - _by_seed(runs, GREEDY, high, "exhausted")
    early = [Estimate.of(gone[:, part]) for part in range(PARTS // 4)]
    texts = {"dense": dense}
    return [
        paper.claim("error-rises", [Estimate.of(rise(low))], texts),
        paper.claim("error-even", [Estimate.of(rise(low) - rise(high))], texts),
        paper.claim("exhausted-sooner", early, texts),
        paper.claim("last-longer", [Estimate.of(gone[:, -1])], texts),
    ]


def _trial_rows(paper: Statements, trials: list[Cells]) -> list[Row]:
    cells = [c for part in trials for c in part]
    noisy = [c for c in cells if c["level"] != "none"]
    size = np.log([c["n"] for c in noisy])
    distance = np.log(np.maximum([abs(c["difference"]) for c in noisy], 1e-6))
    correlation = float(np.corrcoef(size, distance)[0, 1])
    # standard error of a correlation: (1 - r^2) / sqrt(n - 1)
    error = (1 - correlation**2) / math.sqrt(len(noisy) - 1)
    spread = {
        label: Estimate.of([abs(c["difference"]) for c in cells if c["level"] == label])
        for label in LEVELS
    }
    steps = [spread["medium"] - spread["low"], spread["high"] - spread["medium"]]
    return [
        paper.claim("few-people", [Estimate(-correlation, error)]),
        paper.claim("more-privacy", steps),
    ]


def _figure_2a(
    errors: Errors,
    predictions: Predictions,
    budgets: Sequence[float],
    alphas: Sequence[float],
    data: str,
) -> Figure:
    def percent(some: Sequence[float]) -> list[float]:
        return [100 * b for b in some]

    def line(
        policy: str, alpha: float, estimator: str, label: str, style: Style = "paper"
    ) -> Series:
        y = [errors[policy, alpha, estimator, b] for b in budgets]
        return Series.of(label, percent(budgets), y, style)

    def predicted(label: str, policy: str, style: Style) -> Series:
        known = [b for b in budgets if (policy, b) in predictions]
        return Series.of(label, percent(known), [predictions[policy, b] for b in known], style)

    def true(label: str, policy: str, some: Sequence[float], style: Style) -> Series:
        squares = [errors[policy, 0.0, "mean", b].mean ** 2 for b in some]
        return Series(label, percent(some), squares, None, style)

    corrected = [b for b in budgets if (OURS_GREEDY, b) in predictions]
    policies = [
        line("random", 0.0, "mean", "random"),
        line("best-predictors", 0.0, "mean", "best predictors"),
        *(line(GREEDY, a, "mean", f"greedy, alpha {a:g}") for a in alphas),
    ]
    weighted = [
        line(GREEDY, 0.0, "mean", "greedy, alpha 0, plain mean"),
        line("random", 0.0, "weighted", "random, weighted (ours)", "ours"),
        line(GREEDY, 0.0, "weighted", "greedy, weighted (ours)", "ours"),
        line("precision", 0.0, "weighted", "precision, weighted (ours)", "ours"),
        line("precision", 0.0, "debiased", "precision, weighted, unbiased (ours)", "ours"),
    ]
    equation = [
        true("true", GREEDY, budgets, "paper"),
        predicted("predicted by eq. 5", GREEDY, "published"),
        true("corrected greedy (ours): true", OURS_GREEDY, corrected, "ours"),
        predicted("corrected greedy (ours): predicted", OURS_GREEDY, "ours"),
    ]
    money, rmse = "budget, % of asking everybody", "RMSE, points of the scale"
    return Figure(
        "figure-2a",
        f"Figure 2a: error of one survey ({data}); bars: two standard errors",
        [
            Panel("the paper's policies, plain mean", money, rmse, policies),
            Panel("the same reports, weighted by precision (ours)", money, rmse, weighted),
            Panel("what eq. 5 predicts for greedy, alpha 0", money, "mean squared error", equation),
        ],
    )


def _figure_2b(cells: Cells, data: str) -> Figure:
    alphas = sorted({c["alpha"] for c in cells})
    selections = []
    for alpha in alphas:
        ranks = [c["rank"] for c in cells if c["alpha"] == alpha and c["selected"]]
        selections.append(Series(f"alpha {alpha:g}", ranks, [alpha] * len(ranks), marks=True))
    first = [c for c in cells if c["alpha"] == alphas[0]]
    losses = [Series("past loss", [c["rank"] for c in first], [c["loss"] for c in first])]
    raters, marks = "raters by past loss, lowest first", "alpha (each mark: a person selected)"
    return Figure(
        "figure-2b",
        f"Figure 2b: who is selected for one survey, budget 74 % ({data})",
        [
            Panel("greedy, as published", raters, marks, selections, legend=False),
            Panel("their past loss", raters, "sum of published epsilons", losses, legend=False),
        ],
    )


def _figure_3(
    runs: Mapping[str, Cells], dense: Mapping[str, Cells], alphas: Sequence[float], data: str
) -> Figure:
    def panels(some: Mapping[str, Cells], alphas: Sequence[float], title: str) -> list[Panel]:
        surveys = max(len(run) for run in some.values())
        x = [(part + 0.5) * surveys / PARTS for part in range(PARTS)]

        def errors(policy: str, alpha: float, label: str, style: Style) -> Series:
            parts = _by_seed(some, policy, alpha, "squared").T.tolist()
            return Series.of(label, x, [_root(each) for each in parts], style)

        def exhausted(policy: str, alpha: float, label: str, style: Style) -> Series:
            parts = _by_seed(some, policy, alpha, "exhausted").T.tolist()
            shares = [Estimate.of(each) for each in parts]
            y = [Estimate(100 * share.mean, 100 * share.error) for share in shares]
            return Series.of(label, x, y, style)

        policies: list[tuple[str, float, str, Style]] = [
            *((GREEDY, a, f"greedy, alpha {a:g}", "paper") for a in alphas),
            ("random", 0.0, "random", "reference"),
            ("best-predictors", 0.0, "best predictors", "reference"),
            ("precision", 0.0, "precision, weighted (ours)", "ours"),
        ]
        rmse, spent = "RMSE, points of the scale", "people whose privacy is spent, %"
        return [
            Panel(f"error, {title}", "survey", rmse, [errors(*each) for each in policies]),
            Panel(f"exhausted, {title}", "survey", spent, [exhausted(*each) for each in policies]),
        ]

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
    means, people = [], []
    for label in LEVELS:
        level = [c for c in trials[0] if c["level"] == label]
        x = [c["item"] + 1 for c in level]
        errors = [c["error"] or math.nan for c in level]
        means.append(Series(label, x, [c["difference"] for c in level], errors, marks=True))
        people.append(Series(label, x, [c["n"] for c in level]))
    title = f"Figure 4: levels against each other, item by item ({data}; one draw)"
    items = "item, most raters first"
    return Figure(
        "figure-4",
        f"{title}; bars: two standard errors",
        [
            Panel("mean of the level minus overall mean", items, "points of the scale", means),
            Panel("people", items, "people at the level", people),
        ],
    )
