"""Figures 1 to 10 of Wang et al. (2019), from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from masquerade.reproduce.preferences import (
    BOUNDS,
    CONSERVATIVE,
    EPSILONS,
    LABELS,
    LOW,
    MIDDLE,
    ONE,
    QUICK_BOUNDS,
    QUICK_EPSILONS,
    RECORDS,
    SYNTHETIC,
    THREE,
    TWO,
    VOTERS,
)
from masquerade.reproduce.preferences_figures import SHAPE_DATA, Means, Measured, figures, ratio
from masquerade.reproduce.study import (
    Cells,
    Findings,
    Scale,
    Table,
)
from masquerade.reproduce.verdict import Comparison, Estimate, Row, claim, compare, value

BEST_READING = (
    "Algorithm 3 is given the best reading found: directions of length 1, a ridge and trimming; "
    "the printed maximum does not exist"
)
OTHER_UNIT = "Algorithm 3 protects one record, the others a voter with all records"


def results(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return figures 1 to 10."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    sizes = _means(found, "size-", ("voters", "records", "mechanism", "epsilon"))
    by_dimension = _means(found, "dimension-", ("features", "mechanism", "epsilon"))
    by_group = _means(found, "groups-", ("voters", "setting", "x", "mechanism"))
    by_bound = _means(found, "bound-", ("voters", "records", "mechanism", "bound"))
    machine = _means(found, "machine-", ("voters", "mechanism", "epsilon"))
    machine_groups = _means(found, "machinegroups-", ("setting", "x", "mechanism"))
    population = _means(found, "size-", ("voters", "records", "mechanism", "epsilon"), "population")
    dealt_out = _means(found, "real-", ("mechanism", "epsilon"))
    held_out = _means(found, "real-", ("mechanism", "epsilon"), "held_out")
    rows = [
        *_size_rows(sizes, epsilons),
        *_dimension_rows(by_dimension),
        *_group_rows(by_group),
        *_bound_rows(by_bound, scale.quick),
        *_machine_rows(machine, epsilons, 200, "figure 8", SHAPE_DATA),
        *_machine_group_rows(machine_groups),
        *_ratio_rows(sizes, population, epsilons),
    ]
    if dealt_out:
        rows += _order_rows("figure 8", dealt_out, epsilons, _dealt_data(), own=False)
    drawn = figures(
        Measured(sizes, by_dimension, by_group, by_bound, machine, machine_groups, dealt_out,
                 held_out),
        _honest_factors(found), epsilons,
    )  # fmt: skip
    tables = [
        Table("synthetic", "Accuracy against the mean of the true weights",
              [dict(zip(("voters", "records", "mechanism", "epsilon"), key, strict=True),
                    accuracy=each.mean, standard_error=each.error)
               for key, each in sizes.items()]),
    ]  # fmt: skip
    return Findings(rows, _ours(sizes, by_group, machine, epsilons), tables, drawn)


def _means(
    found: Mapping[str, Cells], start: str, names: tuple[str, ...], what: str = "accuracy"
) -> Means:
    gathered: dict[tuple[Any, ...], list[float]] = {}
    for job, cells in found.items():
        if job.startswith(start):
            for cell in cells:
                if what in cell:
                    gathered.setdefault(tuple(cell[name] for name in names), []).append(cell[what])
    return {key: Estimate.of(each) for key, each in gathered.items()}


def _size_rows(means: Means, epsilons: Sequence[float]) -> list[Row]:
    strong = [e for e in epsilons if e >= 0.3]
    rows = []
    for number, mechanism in ((1, ONE), (2, TWO), (3, THREE)):
        label = f"accuracy of {LABELS[mechanism]}"
        rows += [
            claim(f"figure {number}", f"{label}: epsilon {epsilons[-1]:g} minus {epsilons[0]:g}",
                  [means[n, m, mechanism, epsilons[-1]] - means[n, m, mechanism, epsilons[0]]
                   for n in VOTERS for m in RECORDS],
                  statement="a larger epsilon is more accurate", data=SYNTHETIC, own=True),
            claim(f"figure {number}", f"{label}: 100 voters minus 50, epsilon from 0.3",
                  [means[100, m, mechanism, e] - means[50, m, mechanism, e]
                   for m in RECORDS for e in strong],
                  statement="more voters are more accurate", data=SYNTHETIC, own=True),
            claim(f"figure {number}", f"{label}: 100 records minus 10, epsilon from 0.3",
                  [means[n, 100, mechanism, e] - means[n, 10, mechanism, e]
                   for n in VOTERS for e in strong],
                  statement="more records are more accurate", data=SYNTHETIC, own=True),
        ]  # fmt: skip
    for n in VOTERS:
        per_records = {m: {k: v for k, v in means.items() if k[0] == n and k[1] == m}
                       for m in RECORDS}  # fmt: skip
        for m in RECORDS:
            flat = {key[2:]: each for key, each in per_records[m].items()}
            rows += _order_rows(f"figure 4, {n} voters, {m} records", flat, epsilons, SYNTHETIC,
                                own=True)  # fmt: skip
    return rows


def _order_rows(
    artifact: str, means: Means, epsilons: Sequence[float], data: str, *, own: bool
) -> list[Row]:
    strong = [e for e in epsilons if e >= 0.3]
    return [
        claim(artifact, "accuracy, epsilon from 0.3: Algorithm 1 minus Algorithms 2 and 3",
              [means[ONE, e] - means[other, e] for e in strong for other in (TWO, THREE)],
              statement="Algorithm 1 is the most accurate", data=data, own=own, note=OTHER_UNIT),
        claim(artifact, "accuracy, epsilon from 0.3: Algorithm 3 minus Algorithm 2",
              [means[THREE, e] - means[TWO, e] for e in strong],
              statement="Algorithm 3 is far more accurate than Algorithm 2", data=data, own=own,
              note=f"{BEST_READING}; {OTHER_UNIT}"),
    ]  # fmt: skip


def _dimension_rows(means: Means) -> list[Row]:
    dimensions = sorted({key[0] for key in means})
    return [
        claim("figure 5", f"accuracy of {LABELS[mechanism]}: fewer features minus more",
              [means[low, mechanism, e] - means[high, mechanism, e]
               for low, high in pairwise(dimensions) for e in (1, 3)],
              statement="accuracy falls with the number of features", data=SYNTHETIC, own=True)
        for mechanism in (ONE, THREE)
    ]  # fmt: skip


def _group_rows(means: Means) -> list[Row]:
    rows = []
    for setting, values, statement, sign in (
        ("conservative", CONSERVATIVE, "more conservative voters are less accurate", -1),
        ("low", LOW, "a larger epsilon of the conservative is more accurate", 1),
        ("middle", MIDDLE, "a larger epsilon of the moderate is more accurate", 1),
    ):
        ends = (values[0], values[-1])[::sign]
        rows.append(
            claim("figure 6", f"accuracy of Algorithm 3: {setting} {ends[1]} minus {ends[0]}",
                  [means[n, setting, ends[1], THREE] - means[n, setting, ends[0], THREE]
                   for n in VOTERS],
                  statement=statement, data=SYNTHETIC, own=True)
        )  # fmt: skip
    return rows


def _bound_rows(means: Means, quick: bool) -> list[Row]:
    best = (2, 3)
    others = [b for b in (QUICK_BOUNDS if quick else BOUNDS) if b not in best]
    return [
        claim("figure 7", f"accuracy of {LABELS[mechanism]}: bound 2 and 3 minus others",
              [means[n, m, mechanism, b] - means[n, m, mechanism, o]
               for n, m in ((50, 50), (100, 100)) for b in best for o in others],
              statement="a bound of 2 or 3 is best", data=SYNTHETIC, own=True)
        for mechanism in (ONE, TWO)
    ]  # fmt: skip


def _machine_rows(
    means: Means, epsilons: Sequence[float], voters: int, artifact: str, data: str
) -> list[Row]:
    flat = {key[1:]: each for key, each in means.items() if key[0] == voters}
    rows = _order_rows(artifact, flat, epsilons, data, own=False)
    rows.append(
        claim(artifact, "accuracy, epsilon from 0.3: 200 voters minus 50, all three",
              [means[200, m, e] - means[50, m, e]
               for m in (ONE, TWO, THREE) for e in epsilons if e >= 0.3],
              statement="more voters are more accurate", data=data, own=False)
    )  # fmt: skip
    rows.append(
        value("figure 10", "accuracy without privacy, 200 voters x 13 records", paper=0.982,
              ours=means[voters, "none", None], tolerance=0.02, data=data, own=False)
    )  # fmt: skip
    return rows


def _machine_group_rows(means: Means) -> list[Row]:
    return [
        claim("figure 9", f"accuracy of Algorithm 3: {setting} {values[-1]} minus {values[0]}",
              [means[setting, values[-1], THREE] - means[setting, values[0], THREE]],
              statement=f"a larger epsilon of the {whom} is more accurate", data=SHAPE_DATA,
              own=False)
        for setting, values, whom in (("low", LOW, "conservative"), ("middle", MIDDLE, "moderate"))
    ]  # fmt: skip


def _ratio_rows(means: Means, population: Means, epsilons: Sequence[float]) -> list[Row]:
    base = means[50, 100, "none", None]
    rows = [
        value("figure 10", "accuracy without privacy, 50 voters x 100 records, against the mean of "
              "the voters' true weights", paper=0.924, ours=base, tolerance=0.02, data=SYNTHETIC,
              own=True),
        value("figure 10", "the same, against the population's mean", paper=0.924,
              ours=population[50, 100, "none", None], tolerance=0.02, data=SYNTHETIC, own=True),
    ]  # fmt: skip
    for n in VOTERS:
        without = means[n, 100, "none", None]
        for mechanism in (ONE, THREE):
            for least, above in ((0.8, 0.3), (0.9, 1.0)):
                beyond = [e for e in epsilons if e > above]
                ratios = [ratio(means[n, 100, mechanism, e], without) for e in beyond]
                lowest = min(range(len(ratios)), key=lambda i: ratios[i].mean)
                rows.append(
                    claim("figure 10", f"{n} voters x 100 records, {LABELS[mechanism]} over no "
                          f"privacy, least at any epsilon above {above:g}, minus {least}",
                          [ratios[lowest] - Estimate(least)],
                          statement=f"above {100 * least:.0f} % for epsilon above {above:g}",
                          data=SYNTHETIC, own=True,
                          note=f"least at epsilon {beyond[lowest]:g}"
                          + (f"; {BEST_READING}" if mechanism == THREE else ""))
                )  # fmt: skip
    return rows


def _ours(
    sizes: Means, groups: Means, machine: Means, epsilons: Sequence[float]
) -> list[Comparison]:
    strong = [e for e in epsilons if e >= 0.3]
    found = []
    for n, m in ((50, 10), (50, 100), (100, 10), (100, 100)):
        artifact = f"figure 4, {n} voters, {m} records"
        found += [
            compare(artifact,
                    f"accuracy at the same epsilon of a record: linear-knorm minus {LABELS[THREE]}",
                    [sizes[n, m, "linear-knorm", e] - sizes[n, m, THREE, e] for e in strong],
                    data=SYNTHETIC),
            compare(artifact, "accuracy at the same epsilon of a voter: direction-selection minus "
                    f"{LABELS[TWO]}",
                    [sizes[n, m, "direction-selection", e] - sizes[n, m, TWO, e] for e in strong],
                    data=SYNTHETIC),
            compare(artifact,
                    "accuracy at the same epsilon of a voter (that of a record times the records): "
                    f"choice-response minus {LABELS[TWO]}",
                    [sizes[n, m, "choice-response", small] - sizes[n, m, TWO, large]
                     for small in epsilons for large in epsilons
                     if abs(small * m - large) < 1e-9], data=SYNTHETIC),
        ]  # fmt: skip
    found.append(
        compare("figure 6", "accuracy at the same personal epsilons of a record: linear-knorm, "
                f"inverse variance, minus {LABELS[THREE]}",
                [groups[(*key[:3], "linear-knorm")] - each
                 for key, each in groups.items() if key[3] == THREE], data=SYNTHETIC)
    )  # fmt: skip
    found += [
        compare("figure 8", f"accuracy at the same epsilon of a {unit}: {ours} minus "
                f"{LABELS[theirs]}",
                [machine[200, ours, e] - machine[200, theirs, e] for e in strong],
                data=SHAPE_DATA)
        for unit, ours, theirs in (("record", "linear-knorm", THREE),
                                   ("voter", "direction-selection", TWO))
    ]  # fmt: skip
    return found


def _dealt_data() -> str:
    return "moral_machine, real decisions dealt out to made-up voters"


def _honest_factors(found: Mapping[str, Cells]) -> Mapping[tuple[str, int], float]:
    """Return by mechanism and records the loss of a voter over the epsilon of its own unit."""
    return {
        (c["mechanism"], c["records"]): c["voter_level_epsilon"] / c["epsilon"]
        for job, cells in found.items() if job.startswith("size-")
        for c in cells if c.get("epsilon")
    }  # fmt: skip
