"""Tables 1 to 3 and figures 1 to 4 of Li et al. (KDD 2018), from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

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
)
from masquerade_papers.two_layer.error_bounds import FlipProduct
from masquerade_papers.two_layer.measurement import (
    CA,
    CROWDS,
    EPSILONS,
    LABEL,
    MECHANISMS,
    MV,
    PRINTED,
    QUICK_EPSILONS,
    SAMPLED,
    STAND_INS,
    TD,
)
from masquerade_papers.verdict import Comparison, Estimate, Row, Statements

TABLES: Mapping[str, Mapping[str, Sequence[float]]] = PRINTED["tables"]
#: Of tables 2 and 3, in their order.
COLUMNS = tuple((mechanism, method) for mechanism in MECHANISMS for method in (MV, TD))

FITTED = "the crowds were made up so that the vote is about as accurate as published"
UNKNOWN_CROWD = "how much people differ, which truth discovery lives on, is not published"

#: By mechanism, method, epsilon, and what: ``change``, ``accuracy`` or ``clean``.
Means = dict[tuple[Any, ...], Estimate]


def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
    """Return tables 1 to 3 and figures 1 to 4, and the same on real sets."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    rows: list[Row] = [*_product_rows(), *_weight_rows(measured["weights"])]
    ours: list[Comparison] = []
    tables, figures = [], [_product_figure(), _weight_figure(measured["weights"])]
    for number, crowd in ((2, "peer-grading"), (3, "duchenne-smile")):
        parts = [cells for name, cells in measured.items() if name.startswith(crowd)]
        crowds = [[c for c in cells if "method" in c] for cells in parts]
        means = _over_crowds(crowds)
        data = f"simulated, {len(crowds)} crowds of the published size"
        artifact, paper = f"table {number}", Statements(PRINTED["statements"], data)
        rows += _size_rows(paper, crowd, parts[0])
        rows += _cell_rows(paper, artifact, crowd, means, epsilons)
        rows += _column_rows(paper, artifact, crowd, crowds, epsilons)
        rows += _direction_rows(paper, artifact, means, epsilons)
        rows += _coin_toss_rows(paper, artifact, means)
        rows += _loss_rows(artifact, crowd, crowds[0])
        ours += _comparisons(paper, artifact, means, epsilons)
        tables.append(_table(f"table-{number}", crowd, means, epsilons, crowds[0]))
        figures.append(_tradeoff(f"figure-{number + 1}", crowd, means, epsilons, crowds[0], data))
    for name in STAND_INS:
        if any(f"{name}-{mechanism}" not in measured for mechanism in MECHANISMS):
            continue
        parts = [measured[f"{name}-{mechanism}"] for mechanism in MECHANISMS]
        cells = [c for part in parts for c in part if "method" in c]
        means = _of_one_set(cells)
        data = f"{name}, a stand-in"
        artifact, paper = f"stand-in {name}", Statements(PRINTED["statements"], data)
        rows += _direction_rows(paper, artifact, means, epsilons)
        rows += _coin_toss_rows(paper, artifact, means)
        ours += _comparisons(paper, artifact, means, epsilons)
        tables.append(_table(f"stand-in-{name}", name, means, epsilons, cells))
        figures.append(_tradeoff(f"stand-in-{name}", name, means, epsilons, cells, data))
    return Evaluation(rows, ours, tables, figures)


def _over_crowds(crowds: list[Cells]) -> Means:
    keys = ("mechanism", "method", "epsilon")
    cells = [{**c, "change": c["clean_accuracy"] - c["accuracy"]} for run in crowds for c in run]
    measures = {"accuracy": "accuracy", "clean": "clean_accuracy", "change": "change"}
    return {
        (*key, what): mean
        for what, measure in measures.items()
        for key, mean in means_by(cells, keys, measure).items()
    }


def _of_one_set(cells: Cells) -> Means:
    means: Means = {}
    for cell in cells:
        key = (cell["mechanism"], cell["method"], cell["epsilon"])
        clean, error = cell["clean_accuracy"], cell["standard_error"]
        means[(*key, "accuracy")] = Estimate(cell["accuracy"], error)
        means[(*key, "clean")] = Estimate(clean)
        means[(*key, "change")] = Estimate(clean - cell["accuracy"], error)
    return means


def _size_rows(paper: Statements, crowd: str, cells: Cells) -> list[Row]:
    ours = {cell["size"]: float(cell["count"]) for cell in cells if "size" in cell}
    return [
        paper.given("size", ours[name], {"crowd": LABEL[crowd], "name": name}, paper=printed)
        for name, printed in PRINTED["sizes"][crowd].items()
    ]


def _cell_rows(
    paper: Statements, artifact: str, crowd: str, means: Means, epsilons: Iterable[str]
) -> list[Row]:
    rows = []
    for epsilon in epsilons:
        for (mechanism, method), printed in zip(COLUMNS, TABLES[crowd][epsilon], strict=True):
            texts = {"artifact": artifact, "method": method, "mechanism": mechanism}
            ours = means[mechanism, method, epsilon, "change"]
            rows.append(paper.value("cell", ours, {**texts, "epsilon": epsilon}, paper=printed))
    return rows


def _column_rows(
    paper: Statements, artifact: str, crowd: str, crowds: list[Cells], epsilons: Iterable[str]
) -> list[Row]:
    """Compare the means of whole columns, which are less noisy than single cells."""
    rows = []
    for column, (mechanism, method) in enumerate(COLUMNS):
        changes = [
            [
                c["clean_accuracy"] - c["accuracy"]
                for c in cells
                if (c["mechanism"], c["method"]) == (mechanism, method)
            ]
            for cells in crowds
        ]
        ours = Estimate.of([float(np.mean(some)) for some in changes])
        printed = float(np.mean([TABLES[crowd][e][column] for e in epsilons]))
        note = FITTED if method == MV else UNKNOWN_CROWD
        texts = {"artifact": artifact, "method": method, "mechanism": mechanism, "note": note}
        rows.append(paper.value("column", ours, texts, paper=printed))
    return rows


def _direction_rows(
    paper: Statements, artifact: str, means: Means, epsilons: Sequence[str]
) -> list[Row]:
    one, two = MECHANISMS
    texts = {"artifact": artifact}

    def gaps(high: tuple[str, str], low: tuple[str, str], some: Iterable[str]) -> list[Estimate]:
        return [means[(*high, e, "change")] - means[(*low, e, "change")] for e in some]

    weakest = means[two, TD, epsilons[-1], "change"]
    middle = _middle(epsilons)
    return [
        paper.alike("same-vote", gaps((one, MV), (two, MV), epsilons), texts),
        paper.claim("two-layers-lose-less", gaps((one, TD), (two, TD), middle), texts),
        paper.claim("vote-loses-more", gaps((two, MV), (two, TD), middle), texts),
        paper.claim("privacy-costs", [weakest - means[two, TD, epsilons[0], "change"]], texts),
    ]


def _middle(epsilons: Iterable[str]) -> list[str]:
    return [e for e in epsilons if 0.1 <= float(e) <= 1]


def _comparisons(
    paper: Statements, artifact: str, means: Means, epsilons: Sequence[str]
) -> list[Comparison]:
    def gaps(mechanism: str, method: str, some: Iterable[str]) -> list[Estimate]:
        return [
            means[mechanism, method, e, "accuracy"] - means[mechanism, TD, e, "accuracy"]
            for e in some
        ]

    sampled = [e for e in epsilons if ("two-layer", SAMPLED, e, "accuracy") in means]
    texts = {"artifact": artifact}
    return [
        *(
            paper.compare("one-coin", gaps(m, CA, _middle(epsilons)), {**texts, "mechanism": m})
            for m in MECHANISMS
        ),
        paper.compare("sampling", gaps("two-layer", SAMPLED, sampled), texts),
    ]


def _coin_toss_rows(paper: Statements, artifact: str, means: Means) -> list[Row]:
    """At epsilon 0, reports say nothing (or as much as their complement): accuracy is 1/2."""
    return [
        paper.alike(
            "coin-toss",
            [means[mechanism, method, "0", "accuracy"] - Estimate(0.5)],
            {"artifact": artifact, "method": method, "mechanism": mechanism},
        )
        for mechanism, method in COLUMNS
        if (mechanism, method, "0", "accuracy") in means
    ]


def _loss_rows(artifact: str, crowd: str, cells: Cells) -> list[Row]:
    """Compare the exact loss of the median person under two layers with the printed epsilon."""
    data = f"exact; {LABEL[crowd].lower()}'s numbers of answers"
    paper = Statements(PRINTED["statements"], data, own=True)
    return [
        paper.value(
            "loss",
            cell[f"epsilon_{level}"],
            {"artifact": artifact, "level": level},
            paper=float(cell["epsilon"]),
        )
        for cell in cells
        if cell["mechanism"] == "two-layer" and cell["method"] == MV
        for level in ("event", "user")
    ]


def _product_rows() -> list[Row]:
    paper = Statements(PRINTED["statements"], "exact", own=True)
    # The one-layer product with flip probability 1/4 of each worker is 0.25**n.
    ratios = [FlipProduct(workers=n, high=0.5).mean / 0.25**n for n in (1, 5, 10)]
    below = [FlipProduct(workers=n, high=0.5).below_one_layer for n in (2, 5, 10, 50)]

    def small(workers: int, high: float) -> Estimate:
        return Estimate(float(FlipProduct(workers=workers, high=high).distribution(0.001)))

    return [
        paper.claim("small-end", [small(5, 0.3) - small(5, 0.6)]),
        paper.claim("more-users", [small(5, 0.5) - small(2, 0.5)]),
        paper.claim("typical-product", [Estimate(share - 0.5) for share in below]),
        paper.claim("mean-product", [Estimate(round(1 - ratio, 12)) for ratio in ratios]),
    ]


def _product_figure() -> Figure:
    grid = np.geomspace(1e-6, 0.05, 240)

    def panel(title: str, pairs: list[tuple[int, float]]) -> Panel:
        lines = []
        for workers, high in pairs:
            density = FlipProduct(workers=workers, high=high).density(grid).tolist()
            lines.append(Series(f"{workers} users, U(0, {high:g})", grid.tolist(), density))
        return Panel(title, "product (probability)", "density", lines, log_x=True, log_y=True)

    return Figure(
        "figure-1",
        "Figure 1: density of the product of flip probabilities (exact)",
        [
            panel(
                "upper end of the flip probability varies", [(5, b) for b in (0.3, 0.4, 0.5, 0.6)]
            ),
            panel("number of users varies", [(n, 0.5) for n in (2, 3, 5, 8)]),
        ],
    )


def _weight_rows(cells: Cells) -> list[Row]:
    rows = []
    for crowd in CROWDS:
        some = [c for c in cells if c["crowd"] == crowd]
        change = np.array([c["after"] - c["before"] for c in some])
        flipped = np.array([c["flipped"] for c in some])
        correlation = float(np.corrcoef(change, flipped)[0, 1])
        # standard error of a correlation: (1 - r^2) / sqrt(n - 1)
        error = float((1 - correlation**2) / np.sqrt(len(some) - 1))
        paper = Statements(PRINTED["statements"], f"simulated, {len(some)} users")
        rows.append(
            paper.claim("weights", [Estimate(-correlation, error)], {"crowd": LABEL[crowd]})
        )
    return rows


def _weight_figure(cells: Cells) -> Figure:
    panels = []
    for crowd in CROWDS:
        some = [c for c in cells if c["crowd"] == crowd and c["shown"]]
        some.sort(key=lambda c: float(c["flipped"]))
        flipped = [c["flipped"] for c in some]
        series = [
            Series("true answers", flipped, [c["before"] for c in some], marks=True),
            Series("two-layer reports", flipped, [c["after"] for c in some], marks=True),
        ]
        share = "share of the user's answers that were flipped"
        title = f"{LABEL[crowd]} (simulated)"
        panels.append(Panel(title, share, "weight in truth discovery", series))
    title = "Figure 2: weights of ten users, drawn at random, epsilon 0.5 of one report"
    return Figure("figure-2", title, panels)


def _table(name: str, crowd: str, means: Means, epsilons: tuple[str, ...], cells: Cells) -> Table:
    losses = {
        (c["mechanism"], c["epsilon"]): (c["epsilon_event"], c["epsilon_user"]) for c in cells
    }
    rows: Cells = []
    for epsilon in epsilons:
        for mechanism in MECHANISMS:
            event, user = losses[mechanism, epsilon]
            for method in (MV, TD, CA, SAMPLED):
                key = (mechanism, method, epsilon)
                if (*key, "change") not in means:
                    continue
                sampled, change = method == SAMPLED, means[(*key, "change")]
                rows.append(
                    {
                        "epsilon": epsilon,
                        "mechanism": "question-sampling" if sampled else mechanism,
                        "method": TD if sampled else method,
                        "ours": method in (CA, SAMPLED),
                        "epsilon_event": None if sampled else event,
                        "epsilon_user": user,
                        "error_rate_change": change.mean,
                        "standard_error": change.error,
                        "accuracy": means[(*key, "accuracy")].mean,
                        "clean_accuracy": means[(*key, "clean")].mean,
                        "paper": _printed(crowd, *key),
                    }
                )
    return Table(name, f"{LABEL.get(crowd, crowd)}: error-rate change", rows)


def _printed(crowd: str, mechanism: str, method: str, epsilon: str) -> float | None:
    if crowd not in TABLES or (mechanism, method) not in COLUMNS:
        return None
    return TABLES[crowd][epsilon][COLUMNS.index((mechanism, method))]


def _tradeoff(
    name: str, crowd: str, means: Means, epsilons: tuple[str, ...], cells: Cells, data: str
) -> Figure:
    short = {MV: "MV", TD: "TD"}
    losses = {(c["mechanism"], c["epsilon"]): float(c["epsilon_user"]) for c in cells}

    def line(
        label: str, mechanism: str, method: str, what: str = "accuracy", style: Style = "paper"
    ) -> Series:
        known = [e for e in epsilons if (mechanism, method, e, what) in means]
        y = [means[mechanism, method, e, what] for e in known]
        return Series.of(label, [float(e) for e in known], y, style)

    def at_user(label: str, mechanism: str, method: str, style: Style = "paper") -> Series:
        """Return accuracy against the loss of all reports of the median user."""
        known = [e for e in epsilons if (mechanism, method, e, "accuracy") in means]
        known = [e for e in known if losses[mechanism, e] > 0]
        known.sort(key=lambda e: losses[mechanism, e])
        y = [means[mechanism, method, e, "accuracy"] for e in known]
        return Series.of(label, [losses[mechanism, e] for e in known], y, style)

    changes = [line(f"{short[k]}, {m}", m, k, "change") for m, k in COLUMNS]
    if crowd in TABLES:
        x = [float(e) for e in epsilons]
        for m, k in COLUMNS:
            y = [_printed(crowd, m, k, e) or 0.0 for e in epsilons]
            changes.append(Series(f"printed: {short[k]}, {m}", x, y, None, "published"))
    absolute = [
        *(line(f"{short[k]}, {m}", m, k) for m, k in COLUMNS),
        *(line(f"one-coin (ours), {m}", m, CA, style="ours") for m in MECHANISMS),
    ]
    honest = [
        at_user("TD, one-layer", "one-layer", TD),
        at_user("TD, two-layer", "two-layer", TD),
        at_user("one-coin (ours), two-layer", "two-layer", CA, "ours"),
        at_user("TD, question sampling (ours)", "two-layer", SAMPLED, "ours"),
    ]
    title = {"figure-3": "Figure 3: ", "figure-4": "Figure 4: "}.get(name, "")
    one, everything = "epsilon of one report", "epsilon of all reports of the median user"
    return Figure(
        name,
        f"{title}{LABEL.get(crowd, crowd)} ({data}); bars: two standard errors",
        [
            Panel("as published", one, "error-rate change", changes),
            Panel("absolute", one, "accuracy", absolute),
            Panel("at the honest loss", everything, "accuracy", honest, log_x=True),
        ],
    )
