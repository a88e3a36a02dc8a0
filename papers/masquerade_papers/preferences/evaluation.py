"""Figures 1 to 10 of Wang et al. (2019), from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from masquerade_papers.preferences.figures import (
    SHAPE_DATA,
    Accuracies,
    Means,
    figures,
    ratio,
)
from masquerade_papers.preferences.measurement import (
    BOUNDS,
    CONSERVATIVE,
    EPSILONS,
    LABELS,
    LOW,
    MIDDLE,
    ONE,
    PRINTED,
    QUICK_BOUNDS,
    QUICK_EPSILONS,
    RECORDS,
    SYNTHETIC,
    THREE,
    TWO,
    VOTERS,
)
from masquerade_papers.study import Cells, Evaluation, Scale, Table, means_by
from masquerade_papers.verdict import Comparison, Estimate, Row, Statements

BEST_READING = (
    "Algorithm 3 is given the best reading found: directions of length 1, a ridge and trimming; "
    "the printed maximum does not exist"
)
OTHER_UNIT = "Algorithm 3 protects one record, the others a voter with all records"
DEALT_DATA = "moral_machine, real decisions dealt out to made-up voters"

#: The epsilon from which accuracies are compared; below, all are near a coin toss.
STRONG = 0.3


def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
    """Return figures 1 to 10."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    size_keys = ("voters", "records", "mechanism", "epsilon")
    sizes = _means(measured, "size-", size_keys)
    population = _means(measured, "size-", size_keys, "population")
    accuracies = Accuracies(
        sizes,
        _means(measured, "dimension-", ("features", "mechanism", "epsilon")),
        _means(measured, "groups-", ("voters", "setting", "x", "mechanism")),
        _means(measured, "bound-", ("voters", "records", "mechanism", "bound")),
        _means(measured, "machine-", ("voters", "mechanism", "epsilon")),
        _means(measured, "machinegroups-", ("setting", "x", "mechanism")),
        _means(measured, "real-", ("mechanism", "epsilon")),
        _means(measured, "real-", ("mechanism", "epsilon"), "held_out"),
    )
    paper = Statements(PRINTED["statements"], SYNTHETIC, own=True)
    shape = Statements(PRINTED["statements"], SHAPE_DATA)
    rows = [
        *_size_rows(paper, sizes, epsilons),
        *_dimension_rows(paper, accuracies.dimensions),
        *_group_rows(paper, accuracies.groups),
        *_bound_rows(paper, accuracies.bounds, scale.quick),
        *_machine_rows(shape, accuracies.machine, epsilons),
        *_machine_group_rows(shape, accuracies.machine_groups),
        *_ratio_rows(paper, sizes, population, epsilons),
    ]
    if accuracies.dealt_out:
        dealt = Statements(PRINTED["statements"], DEALT_DATA)
        rows += _order_rows(dealt, "figure 8", accuracies.dealt_out, epsilons)
    cells = [
        {**dict(zip(size_keys, key, strict=True)), "accuracy": e.mean, "standard_error": e.error}
        for key, e in sizes.items()
    ]
    return Evaluation(
        rows,
        [
            *_synthetic_comparisons(paper, sizes, accuracies.groups, epsilons),
            *_machine_comparisons(shape, accuracies.machine, epsilons),
        ],
        [Table("synthetic", "Accuracy against the mean of the true weights", cells)],
        figures(accuracies, _loss_factors(measured), epsilons),
    )


def _means(
    measured: Mapping[str, Cells], start: str, names: Sequence[str], what: str = "accuracy"
) -> Means:
    cells = (cell for job, some in measured.items() if job.startswith(start) for cell in some)
    return means_by(cells, names, what)


def _loss_factors(measured: Mapping[str, Cells]) -> Mapping[tuple[str, int], float]:
    """Return by mechanism and records the loss of a voter over the epsilon of its own unit."""
    cells = (c for job, part in measured.items() if job.startswith("size-") for c in part)
    return {
        (c["mechanism"], c["records"]): c["voter_level_epsilon"] / c["epsilon"]
        for c in cells
        if c.get("epsilon")
    }


def _strong(epsilons: Iterable[float]) -> list[float]:
    return [e for e in epsilons if e >= STRONG]


def _size_rows(paper: Statements, means: Means, epsilons: Sequence[float]) -> list[Row]:
    strong, low, high = _strong(epsilons), epsilons[0], epsilons[-1]
    rows = []
    for number, k in ((1, ONE), (2, TWO), (3, THREE)):
        privacy = [means[n, m, k, high] - means[n, m, k, low] for n in VOTERS for m in RECORDS]
        voters = [means[100, m, k, e] - means[50, m, k, e] for m in RECORDS for e in strong]
        records = [means[n, 100, k, e] - means[n, 10, k, e] for n in VOTERS for e in strong]
        texts = {"number": number, "label": LABELS[k], "low": low, "high": high}
        rows += [
            paper.claim("more-epsilon", privacy, texts),
            paper.claim("more-voters", voters, texts),
            paper.claim("more-records", records, texts),
        ]
    for n in VOTERS:
        for m in RECORDS:
            some = {key[2:]: each for key, each in means.items() if key[:2] == (n, m)}
            rows += _order_rows(paper, f"figure 4, {n} voters, {m} records", some, epsilons)
    return rows


def _order_rows(
    paper: Statements, artifact: str, means: Means, epsilons: Sequence[float]
) -> list[Row]:
    strong = _strong(epsilons)
    first = [means[ONE, e] - means[other, e] for e in strong for other in (TWO, THREE)]
    third = [means[THREE, e] - means[TWO, e] for e in strong]
    texts = {"artifact": artifact, "unit": OTHER_UNIT, "reading": BEST_READING}
    return [
        paper.claim("first-is-best", first, texts),
        paper.claim("third-over-second", third, texts),
    ]


def _dimension_rows(paper: Statements, means: Means) -> list[Row]:
    steps = list(pairwise(sorted({key[0] for key in means})))
    return [
        paper.claim(
            "more-features",
            [means[low, k, e] - means[high, k, e] for low, high in steps for e in (1, 3)],
            {"label": LABELS[k]},
        )
        for k in (ONE, THREE)
    ]


def _group_rows(paper: Statements, means: Means) -> list[Row]:
    rows = []
    for setting, (low, high), statement in (
        (
            "conservative",
            CONSERVATIVE[::-1][:: len(CONSERVATIVE) - 1],
            "more conservative voters are less accurate",
        ),
        ("low", LOW[:: len(LOW) - 1], "a larger epsilon of the conservative is more accurate"),
        ("middle", MIDDLE[:: len(MIDDLE) - 1], "a larger epsilon of the moderate is more accurate"),
    ):
        gaps = [means[n, setting, high, THREE] - means[n, setting, low, THREE] for n in VOTERS]
        texts = {"setting": setting, "high": high, "low": low, "statement": statement}
        rows.append(paper.claim("group", gaps, texts))
    return rows


def _bound_rows(paper: Statements, means: Means, quick: bool) -> list[Row]:
    best, sizes = (2, 3), ((50, 50), (100, 100))
    others = [b for b in (QUICK_BOUNDS if quick else BOUNDS) if b not in best]
    return [
        paper.claim(
            "bound",
            [
                means[n, m, k, b] - means[n, m, k, other]
                for n, m in sizes
                for b in best
                for other in others
            ],
            {"label": LABELS[k]},
        )
        for k in (ONE, TWO)
    ]


def _machine_rows(paper: Statements, means: Means, epsilons: Sequence[float]) -> list[Row]:
    largest = {key[1:]: each for key, each in means.items() if key[0] == 200}
    voters = [
        means[200, k, e] - means[50, k, e] for k in (ONE, TWO, THREE) for e in _strong(epsilons)
    ]
    return [
        *_order_rows(paper, "figure 8", largest, epsilons),
        paper.claim("machine-voters", voters),
        paper.value("machine-without-privacy", largest["none", None]),
    ]


def _machine_group_rows(paper: Statements, means: Means) -> list[Row]:
    rows = []
    for setting, values, whom in (("low", LOW, "conservative"), ("middle", MIDDLE, "moderate")):
        low, high = values[0], values[-1]
        texts = {"setting": setting, "high": high, "low": low, "whom": whom}
        gap = means[setting, high, THREE] - means[setting, low, THREE]
        rows.append(paper.claim("machine-group", [gap], texts))
    return rows


def _ratio_rows(
    paper: Statements, means: Means, population: Means, epsilons: Sequence[float]
) -> list[Row]:
    rows = [
        paper.value("without-privacy", means[50, 100, "none", None]),
        paper.value("without-privacy-population", population[50, 100, "none", None]),
    ]
    for n in VOTERS:
        without = means[n, 100, "none", None]
        for mechanism in (ONE, THREE):
            for least, above in ((0.8, 0.3), (0.9, 1.0)):
                ratios = {
                    e: ratio(means[n, 100, mechanism, e], without) for e in epsilons if e > above
                }
                worst = min(ratios, key=lambda e: ratios[e].mean)
                reading = f"; {BEST_READING}" if mechanism == THREE else ""
                texts = {
                    "voters": n,
                    "label": LABELS[mechanism],
                    "above": above,
                    "least": least,
                    "percent": 100 * least,
                    "note": f"least at epsilon {worst:g}{reading}",
                }
                rows.append(paper.claim("ratio", [ratios[worst] - Estimate(least)], texts))
    return rows


def _synthetic_comparisons(
    paper: Statements, sizes: Means, groups: Means, epsilons: Sequence[float]
) -> list[Comparison]:
    strong = _strong(epsilons)
    rows = []
    for n, m in ((50, 10), (50, 100), (100, 10), (100, 100)):
        artifact = f"figure 4, {n} voters, {m} records"
        of_record = {"artifact": artifact, "theirs": LABELS[THREE]}
        of_voter = {"artifact": artifact, "theirs": LABELS[TWO]}

        def gaps(
            ours: str, theirs: str, pairs: Iterable[tuple[float, float]], n: int = n, m: int = m
        ) -> list[Estimate]:
            return [sizes[n, m, ours, one] - sizes[n, m, theirs, other] for one, other in pairs]

        same = [(e, e) for e in strong]
        # A voter's m choices at epsilon each cost what one voter does at m times epsilon.
        times = [(e, f) for e in epsilons for f in epsilons if abs(e * m - f) < 1e-9]
        rows += [
            paper.compare("linear-knorm", gaps("linear-knorm", THREE, same), of_record),
            paper.compare("direction-selection", gaps("direction-selection", TWO, same), of_voter),
            paper.compare("choice-response", gaps("choice-response", TWO, times), of_voter),
        ]
    personal = [
        groups[(*key[:3], "linear-knorm")] - each for key, each in groups.items() if key[3] == THREE
    ]
    rows.append(paper.compare("personal-epsilons", personal, {"theirs": LABELS[THREE]}))
    return rows


def _machine_comparisons(
    paper: Statements, means: Means, epsilons: Sequence[float]
) -> list[Comparison]:
    return [
        paper.compare(
            ours,
            [means[200, ours, e] - means[200, theirs, e] for e in _strong(epsilons)],
            {"artifact": "figure 8", "theirs": LABELS[theirs]},
        )
        for ours, theirs in (("linear-knorm", THREE), ("direction-selection", TWO))
    ]
