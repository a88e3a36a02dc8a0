"""How two questions go together, through both masks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.results.made_up_reports import (
    define,
    made_up,
    masked,
    masks,
    reports_of,
    rows_of,
)

from masquerade.errors import EmptyTable, ParameterError
from masquerade.results import cross_table
from masquerade.surveys import Choice, Number, Rating

TWO = (Choice("a", "?", ("X", "Y")), Choice("b", "?", ("K", "L", "M")))
TRUTH = np.array([[0.4, 0.1, 0.0], [0.05, 0.15, 0.3]])


def test_the_table_is_found_through_the_masks() -> None:
    """Every cell is within 6 standard errors of the truth; margins are those of each question."""
    definition = define(*TWO, levels=("medium", "low"))
    people = [[i, j] for i in range(2) for j in range(3) for _ in range(round(2000 * TRUTH[i, j]))]
    rows = [row for name in ("medium", "low") for row in masked(definition, name, people)]
    reports = reports_of(definition, rows)
    found = cross_table(reports, "a", "b")
    assert found.n == 4000
    for cell, truth in zip(found.estimates, TRUTH.ravel(), strict=True):
        assert abs(cell.value - truth) < 6 * cell.standard_error
        assert cell.low <= cell.shown <= cell.high
    assert found.independence.probability < 0.05
    assert found.reported.sum() == 4000


def test_without_masks_it_is_the_table_of_answers() -> None:
    """Answers in clear give the shares themselves, with the error of a sample; no cell is sure."""
    definition = define(*TWO, levels=("none",))
    rows = rows_of([(0, 0)] * 60 + [(1, 2)] * 40, level="none")
    found = cross_table(reports_of(definition, rows), "a", "b")
    assert found.estimates[0].value == pytest.approx(0.6)
    assert found.estimates[0].standard_error == pytest.approx(np.sqrt(0.6 * 0.4 / 100), rel=0.02)
    assert (found.estimates[1].value, found.estimates[1].low) == pytest.approx((0, 0))
    assert found.estimates[1].high > 0.02
    assert found.independence.probability < 1e-6


def test_a_bound_on_levels_makes_cells_sharper() -> None:
    """At mixed levels a cell is narrower than where each level may be anything (seed 9)."""
    rng = np.random.default_rng(9)
    definition = define(*TWO, levels=("high", "medium", "low"))
    flat = np.repeat([[0, 0], [1, 1]], 3000, axis=0)
    rows = []
    for level in definition.levels:
        report = flat.copy()
        for column, mask in enumerate(masks(definition, level.name)):
            flipped = rng.random(len(flat)) > float(mask.keep_probability)
            other = rng.integers(1, mask.symbols, size=len(flat))
            report[flipped, column] = (report[flipped, column] + other[flipped]) % mask.symbols
        names = [f"{level.name}{n:05}" for n in range(len(flat))]
        rows += [(name, level.name, one) for name, one in zip(names, report.tolist(), strict=True)]
    mixed = cross_table(reports_of(definition, rows), "a", "b").estimates[0]
    free = define(*TWO, levels=("high", "medium", "low"), estimator="respondent")
    wide = cross_table(reports_of(free, rows), "a", "b").estimates[0]
    assert mixed.high - mixed.low < 0.95 * (wide.high - wide.low)
    assert mixed.low <= 0.5 <= mixed.high


def test_small_cells_are_not_shown() -> None:
    """A cell with fewer than 20 reports is null, one with 20 is shown."""
    definition = define(*TWO, levels=("low",))
    rows = rows_of([(0, 0)] * 20 + [(1, 1)] * 19, level="low")
    shown = cross_table(reports_of(definition, rows), "a", "b").to_json()
    assert shown["cells"][0][0]["reports"] == 20
    assert shown["cells"][1][1] is None
    assert shown["cells"][0][1] is None
    assert (shown["rows"], shown["columns"]) == (["X", "Y"], ["K", "L", "M"])


def test_what_cannot_be_crossed_is_refused() -> None:
    """Numbers, one flip a person, unknown questions, a question with itself, and nobody."""
    definition = define(*TWO, Number("n", "?", 0, 9, "h"), Rating("r", "?"))
    reports = reports_of(definition, made_up(definition, 30))
    for first, second, message in (
        ("a", "n", "masked one by one"),
        ("a", "z", "none of the survey's"),
        ("a", "a", "with itself"),
    ):
        with pytest.raises(ParameterError, match=message):
            cross_table(reports, first, second)
    with pytest.raises(EmptyTable):
        cross_table(reports_of(definition, []), "a", "b")
    once = define(*TWO, masking="per-person")
    with pytest.raises(ParameterError, match="masked one by one"):
        cross_table(reports_of(once, made_up(once, 30)), "a", "b")
