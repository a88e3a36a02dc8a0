"""Tables 1 to 3 and figures 1 to 4 of Li et al. (KDD 2018), from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from masquerade.reproduce.published_two_layer import EPSILONS, SIZES, TABLES
from masquerade.reproduce.study import (
    Cells,
    Figure,
    Findings,
    Panel,
    Scale,
    Series,
    Table,
)
from masquerade.reproduce.two_layer import (
    CA,
    CROWDS,
    LABEL,
    MECHANISMS,
    MV,
    QUICK_EPSILONS,
    SAMPLED,
    STAND_INS,
    TD,
    TOLERANCE,
)
from masquerade.reproduce.verdict import (
    Comparison,
    Estimate,
    Row,
    alike,
    claim,
    compare,
    value,
)
from masquerade.truth import FlipProduct


def results(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return tables 1 to 3 and figures 1 to 4, and the same on real sets."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    rows: list[Row] = []
    ours: list[Comparison] = []
    tables, figures = [], [_products()]
    rows += _product_rows()
    rows += _weight_rows(found["weights"])
    figures.append(_weight_figure(found["weights"]))
    for number, crowd in ((2, "peer-grading"), (3, "duchenne-smile")):
        cells = [
            [c for c in part if "method" in c] for n, part in found.items() if n.startswith(crowd)
        ]
        means = _over_crowds(cells, epsilons)
        data = f"simulated, {len(cells)} crowds of the published size"
        sizes = next(part for n, part in found.items() if n.startswith(crowd))
        rows += _size_rows(crowd, sizes, data)
        rows += _printed_rows(number, crowd, means, epsilons, data)
        rows += _column_rows(number, crowd, cells, epsilons, data)
        rows += _claims_of(f"table {number}", means, epsilons, data)
        ours += _ours(f"table {number}", means, epsilons, data)
        rows += _half_rows(f"table {number}", means, data)
        rows += _loss_rows(number, crowd, cells[0])
        tables.append(_table(f"table-{number}", crowd, means, epsilons, cells[0]))
        figures.append(_tradeoff(f"figure-{number + 1}", crowd, means, epsilons, cells[0], data))
    for name in STAND_INS:
        parts = [found.get(f"{name}-{mechanism}") for mechanism in MECHANISMS]
        if None in parts:
            continue
        some = [c for part in parts for c in part or [] if "method" in c]
        means = _of_one(some)
        data = f"{name}, a stand-in"
        rows += _claims_of(f"stand-in {name}", means, epsilons, data)
        ours += _ours(f"stand-in {name}", means, epsilons, data)
        rows += _half_rows(f"stand-in {name}", means, data)
        tables.append(_table(f"stand-in-{name}", name, means, epsilons, some))
        figures.append(_tradeoff(f"stand-in-{name}", name, means, epsilons, some, data))
    return Findings(rows, ours, tables, figures)


COLUMN_TOLERANCE = 0.02
"""Of the mean of a column: what the vote's own columns are off by."""

FITTED = "the crowds were made up so that the vote is about as accurate as published"
UNKNOWN_CROWD = "how much people differ, which truth discovery lives on, is not published"

Means = dict[tuple[str, str, str, str], Estimate]
"""By mechanism, method, epsilon, and what: ``change``, ``accuracy`` or ``clean``."""


def _over_crowds(crowds: list[Cells], epsilons: tuple[str, ...]) -> Means:
    gathered: dict[tuple[str, str, str, str], list[float]] = {}
    for cells in crowds:
        for cell in cells:
            key = (cell["mechanism"], cell["method"], cell["epsilon"])
            gathered.setdefault((*key, "accuracy"), []).append(cell["accuracy"])
            gathered.setdefault((*key, "clean"), []).append(cell["clean_accuracy"])
            change = cell["clean_accuracy"] - cell["accuracy"]
            gathered.setdefault((*key, "change"), []).append(change)
    return {key: Estimate.of(each) for key, each in gathered.items()}


def _of_one(cells: Cells) -> Means:
    means: Means = {}
    for cell in cells:
        key = (cell["mechanism"], cell["method"], cell["epsilon"])
        clean, error = cell["clean_accuracy"], cell["standard_error"]
        means[(*key, "accuracy")] = Estimate(cell["accuracy"], error)
        means[(*key, "clean")] = Estimate(clean)
        means[(*key, "change")] = Estimate(clean - cell["accuracy"], error)
    return means


def _size_rows(crowd: str, cells: Cells, data: str) -> list[Row]:
    ours = {cell["size"]: cell["count"] for cell in cells if "size" in cell}
    return [
        value("table 1", f"{LABEL[crowd]}: {name}", paper=printed, ours=float(ours[name]),
              tolerance=0.5, data=data, own=False, statement="of the data; here by construction")
        for name, printed in SIZES[crowd].items()
    ]  # fmt: skip


def _printed_rows(
    number: int, crowd: str, means: Means, epsilons: tuple[str, ...], data: str
) -> list[Row]:
    rows = []
    for epsilon in epsilons:
        printed = TABLES[crowd][epsilon]
        for (mechanism, method), paper in zip(
            ((m, k) for m in MECHANISMS for k in (MV, TD)), printed, strict=True
        ):
            rows.append(
                value(
                    f"table {number}",
                    f"error-rate change, {method}, {mechanism}, epsilon {epsilon} of one report",
                    paper=paper,
                    ours=means[mechanism, method, epsilon, "change"],
                    tolerance=TOLERANCE,
                    data=data,
                    own=False,
                )
            )
    return rows


def _column_rows(
    number: int, crowd: str, crowds: list[Cells], epsilons: tuple[str, ...], data: str
) -> list[Row]:
    """Compare the means of whole columns, which are less noisy than single cells."""
    rows = []
    for column, (mechanism, method) in enumerate((m, k) for m in MECHANISMS for k in (MV, TD)):
        each = [
            [c["clean_accuracy"] - c["accuracy"] for c in cells
             if (c["mechanism"], c["method"]) == (mechanism, method)]
            for cells in crowds
        ]  # fmt: skip
        rows.append(
            value(
                f"table {number}",
                f"error-rate change, {method}, {mechanism}, mean over the epsilons",
                paper=float(np.mean([TABLES[crowd][e][column] for e in epsilons])),
                ours=Estimate.of([float(np.mean(some)) for some in each]),
                tolerance=COLUMN_TOLERANCE,
                data=data,
                own=False,
                note=FITTED if method == MV else UNKNOWN_CROWD,
            )
        )
    return rows


def _claims_of(artifact: str, means: Means, epsilons: tuple[str, ...], data: str) -> list[Row]:
    middle = [e for e in epsilons if 0.1 <= float(e) <= 1]

    def change(mechanism: str, method: str, epsilon: str) -> Estimate:
        return means[mechanism, method, epsilon, "change"]

    return [
        alike(artifact, "error-rate change of the vote: one-layer minus two-layer",
              [change("one-layer", MV, e) - change("two-layer", MV, e) for e in epsilons],
              statement="the vote does the same under both mechanisms", tolerance=0.02,
              data=data, own=False),
        claim(artifact, "error-rate change of truth discovery: one-layer minus two-layer",
              [change("one-layer", TD, e) - change("two-layer", TD, e) for e in middle],
              statement="truth discovery loses less under two layers", data=data, own=False),
        claim(artifact, "error-rate change, two-layer: vote minus truth discovery",
              [change("two-layer", MV, e) - change("two-layer", TD, e) for e in middle],
              statement="under two layers truth discovery loses less than the vote",
              data=data, own=False),
        claim(artifact, "error-rate change of truth discovery, two-layer: weakest minus strongest",
              [change("two-layer", TD, epsilons[-1]) - change("two-layer", TD, epsilons[0])],
              statement="more privacy costs more accuracy", data=data, own=False),
    ]  # fmt: skip


def _ours(artifact: str, means: Means, epsilons: tuple[str, ...], data: str) -> list[Comparison]:
    middle = [e for e in epsilons if 0.1 <= float(e) <= 1]
    found = [
        compare(artifact, f"accuracy, {mechanism}, epsilon 0.1 to 1: one-coin minus TD",
                [means[mechanism, CA, e, "accuracy"] - means[mechanism, TD, e, "accuracy"]
                 for e in middle], data=data)
        for mechanism in MECHANISMS
    ]  # fmt: skip
    sampled = [e for e in epsilons if ("two-layer", SAMPLED, e, "accuracy") in means]
    found.append(
        compare(artifact, "accuracy, same loss of a person: question sampling minus two-layer",
                [means["two-layer", SAMPLED, e, "accuracy"] - means["two-layer", TD, e, "accuracy"]
                 for e in sampled], data=data)
    )  # fmt: skip
    return found


def _half_rows(artifact: str, means: Means, data: str) -> list[Row]:
    """At epsilon 0, reports say nothing (or as much as their complement): accuracy is 1/2."""
    return [
        alike(artifact, f"accuracy at epsilon 0 minus 1/2: {method}, {mechanism}",
              [means[mechanism, method, "0", "accuracy"] - Estimate(0.5)],
              statement="epsilon 0 means that reports say nothing: a coin toss", tolerance=0.02,
              data=data, own=False)
        for mechanism in MECHANISMS for method in (MV, TD)
        if (mechanism, method, "0", "accuracy") in means
    ]  # fmt: skip


def _loss_rows(number: int, crowd: str, cells: Cells) -> list[Row]:
    """What the two-layer mechanism costs the median person, beside what is printed."""
    rows = []
    for cell in cells:
        if cell["mechanism"] != "two-layer" or cell["method"] != MV:
            continue
        for level in ("event", "user"):
            rows.append(
                value(
                    f"table {number}",
                    f"epsilon of the median user, {level} level, two-layer",
                    paper=float(cell["epsilon"]),
                    ours=cell[f"epsilon_{level}"],
                    tolerance=5e-4,
                    data=f"exact; {LABEL[crowd].lower()}'s numbers of answers",
                    own=True,
                    statement="two layers give the same privacy as one (theorem 6.4)",
                )
            )
    return rows


def _product_rows() -> list[Row]:
    exact = "exact"
    same = [FlipProduct(workers=n, high=0.5).mean / 0.25**n for n in (1, 5, 10)]
    return [
        claim("figure 1", "P(product below 0.001): upper end 0.3 minus 0.6, 5 users",
              [Estimate(_below(5, 0.3) - _below(5, 0.6))],
              statement="a smaller upper end makes small products likelier", data=exact, own=True),
        claim("figure 1", "P(product below 0.001): 5 users minus 2, upper end 0.5",
              [Estimate(_below(5, 0.5) - _below(2, 0.5))],
              statement="more users make small products likelier", data=exact, own=True),
        claim("section 6.2", "share of draws below the one-layer product, minus a half",
              [Estimate(FlipProduct(workers=n, high=0.5).below_one_layer - 0.5)
               for n in (2, 5, 10, 50)],
              statement="the product is typically smaller under two layers", data=exact, own=True),
        claim("section 6.2", "mean product: one-layer minus two-layer, over one-layer",
              [Estimate(round(1 - ratio, 12)) for ratio in same],
              statement="two layers have the better utility", data=exact, own=True),
    ]  # fmt: skip


def _below(workers: int, high: float) -> float:
    return float(FlipProduct(workers=workers, high=high).distribution(0.001))


def _products() -> Figure:
    grid = np.geomspace(1e-6, 0.05, 240)

    def lines(pairs: list[tuple[int, float]]) -> list[Series]:
        return [
            Series(f"{n} users, U(0, {b:g})", grid.tolist(),
                   FlipProduct(workers=n, high=b).density(grid).tolist())
            for n, b in pairs
        ]  # fmt: skip

    return Figure(
        "figure-1",
        "Figure 1: density of the product of flip probabilities (exact)",
        [
            Panel("upper end of the flip probability varies", "product (probability)", "density",
                  lines([(5, 0.3), (5, 0.4), (5, 0.5), (5, 0.6)]), log_x=True, log_y=True),
            Panel("number of users varies", "product (probability)", "density",
                  lines([(2, 0.5), (3, 0.5), (5, 0.5), (8, 0.5)]), log_x=True, log_y=True),
        ],
    )  # fmt: skip


def _weight_rows(cells: Cells) -> list[Row]:
    rows = []
    for crowd in CROWDS:
        some = [c for c in cells if c["crowd"] == crowd]
        change = np.array([c["after"] - c["before"] for c in some])
        flipped = np.array([c["flipped"] for c in some])
        correlation = float(np.corrcoef(change, flipped)[0, 1])
        error = (1 - correlation**2) / np.sqrt(len(some) - 1)
        rows.append(
            claim("figure 2", f"{LABEL[crowd]}: minus the correlation of weight change and flips",
                  [Estimate(-correlation, float(error))],
                  statement="who flips more gets a smaller weight",
                  data=f"simulated, {len(some)} users", own=False)
        )  # fmt: skip
    return rows


def _weight_figure(cells: Cells) -> Figure:
    panels = []
    for crowd in CROWDS:
        some = [c for c in cells if c["crowd"] == crowd and c["shown"]]
        some.sort(key=lambda c: float(c["flipped"]))
        flipped = [c["flipped"] for c in some]
        panels.append(
            Panel(f"{LABEL[crowd]} (simulated)",
                  "share of the user's answers that were flipped", "weight in truth discovery",
                  [Series("true answers", flipped, [c["before"] for c in some], marks=True),
                   Series("two-layer reports", flipped, [c["after"] for c in some], marks=True)])
        )  # fmt: skip
    return Figure("figure-2", "Figure 2: weights of ten users, drawn at random, epsilon 0.5 "
                  "of one report", panels)  # fmt: skip


def _table(name: str, crowd: str, means: Means, epsilons: tuple[str, ...], cells: Cells) -> Table:
    rows: Cells = []
    losses = {
        (c["mechanism"], c["epsilon"]): (c["epsilon_event"], c["epsilon_user"]) for c in cells
    }
    for epsilon in epsilons:
        for mechanism in MECHANISMS:
            event, user = losses[mechanism, epsilon]
            for method in (MV, TD, CA, SAMPLED):
                if (mechanism, method, epsilon, "change") not in means:
                    continue
                change, right, clean = (
                    means[mechanism, method, epsilon, what]
                    for what in ("change", "accuracy", "clean")
                )
                rows.append(
                    {
                        "epsilon": epsilon,
                        "mechanism": mechanism if method != SAMPLED else "question-sampling",
                        "method": method if method != SAMPLED else TD,
                        "ours": method in (CA, SAMPLED),
                        "epsilon_event": event if method != SAMPLED else None,
                        "epsilon_user": user,
                        "error_rate_change": change.mean,
                        "standard_error": change.error,
                        "accuracy": right.mean,
                        "clean_accuracy": clean.mean,
                        "paper": _printed(crowd, epsilon, mechanism, method),
                    }
                )
    return Table(name, f"{LABEL.get(crowd, crowd)}: error-rate change", rows)


def _printed(crowd: str, epsilon: str, mechanism: str, method: str) -> float | None:
    if crowd not in TABLES or method not in (MV, TD):
        return None
    return TABLES[crowd][epsilon][2 * MECHANISMS.index(mechanism) + (MV, TD).index(method)]


def _tradeoff(
    name: str, crowd: str, means: Means, epsilons: tuple[str, ...], cells: Cells, data: str
) -> Figure:
    x = [float(e) for e in epsilons]

    def line(mechanism: str, method: str, what: str, label: str, style: Any = "paper") -> Series:
        known = [e for e in epsilons if (mechanism, method, e, what) in means]
        found = [means[mechanism, method, e, what] for e in known]
        return Series(label, [float(e) for e in known], [f.mean for f in found],
                      [f.error for f in found], style)  # fmt: skip

    labels = {MV: "MV", TD: "TD"}
    changes = [
        line(m, k, "change", f"{labels[k]}, {m}") for m in MECHANISMS for k in (MV, TD)
    ]  # fmt: skip
    if crowd in TABLES:
        changes += [
            Series(f"printed: {k}, {m}", x,
                   [_printed(crowd, e, m, key) or 0.0 for e in epsilons], None, "published")
            for m in MECHANISMS for k, key in (("MV", MV), ("TD", TD))
        ]  # fmt: skip
    right = [
        *(line(m, k, "accuracy", f"{labels[k]}, {m}") for m in MECHANISMS for k in (MV, TD)),
        *(line(m, CA, "accuracy", f"one-coin (ours), {m}", "ours") for m in MECHANISMS),
    ]
    user = {c["epsilon"]: c["epsilon_user"] for c in cells if c["mechanism"] == "two-layer"}
    one = {c["epsilon"]: c["epsilon_user"] for c in cells if c["mechanism"] == "one-layer"}

    def at_user(mechanism: str, method: str, label: str, losses: dict[str, float],
                style: Any = "paper") -> Series:  # fmt: skip
        known = [
            e for e in epsilons
            if losses[e] > 0 and (mechanism, method, e, "accuracy") in means
        ]  # fmt: skip
        known.sort(key=lambda e: losses[e])
        found = [means[mechanism, method, e, "accuracy"] for e in known]
        return Series(label, [losses[e] for e in known], [f.mean for f in found],
                      [f.error for f in found], style)  # fmt: skip

    honest = [
        at_user("one-layer", TD, "TD, one-layer", one),
        at_user("two-layer", TD, "TD, two-layer", user),
        at_user("two-layer", CA, "one-coin (ours), two-layer", user, "ours"),
        at_user("two-layer", SAMPLED, "TD, question sampling (ours)", user, "ours"),
    ]
    title = {"figure-3": "Figure 3: ", "figure-4": "Figure 4: "}.get(name, "")
    return Figure(
        name,
        f"{title}{LABEL.get(crowd, crowd)} ({data}); bars: two standard errors",
        [
            Panel("as published", "epsilon of one report", "error-rate change", changes),
            Panel("absolute", "epsilon of one report", "accuracy", right),
            Panel("at the honest loss", "epsilon of all reports of the median user", "accuracy",
                  honest, log_x=True),
        ],
    )  # fmt: skip
