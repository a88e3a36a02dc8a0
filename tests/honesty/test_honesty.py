"""Everything that is printed of a survey is right as often as it says."""

from __future__ import annotations

import importlib

import pytest
from tests.honesty import one_by_one
from tests.honesty.table import NO_FIGURE, ROWS, Row


def assert_holds(row: Row, runs: int, seed: int) -> None:
    """Assert that no case of a row is beyond the bound of chance."""
    rates = row.rates(runs, seed)
    bound = row.bound(runs, len(rates))
    if row.errors:
        wrong = {name: rate for name, rate in rates.items() if rate > bound}
    else:
        wrong = {name: rate for name, rate in rates.items() if rate < bound}
    assert not wrong, f"{row.name}: {row.promise}; beyond {bound:.3f} of {runs}: {wrong}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_audit_what_is_printed_is_right_as_often_as_it_says(row: Row) -> None:
    """The quick slice: up to 1,000 surveys a case, fixed seed, false alarm of a row 1e-6."""
    assert_holds(row, row.quick, seed=1)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_audit_what_is_printed_is_right_over_many_surveys(row: Row) -> None:
    """The whole: 1,000 surveys a case (a tenth where the slice is small), false alarm 1e-6."""
    assert_holds(row, max(1000, 2 * row.quick) if row.quick > 20 else 200, seed=2)


def test_audit_a_selection_errs_as_predicted() -> None:
    """Predicted errors of selections are those of 2,000 simulated ones, to a tenth."""
    ratios = one_by_one.selected_people(100, 1)
    assert all(0.9 < ratio < 1.1 for ratio in ratios.values()), ratios


@pytest.mark.parametrize("room", NO_FIGURE)
def test_every_output_has_a_row(room: str) -> None:
    """A public name of estimates, results and plans is in the table, or prints no figure."""
    public = set(importlib.import_module(f"masquerade.{room}").__all__)
    named = {
        name.partition(".")[2] for row in ROWS for name in row.outputs if name.startswith(room)
    }
    assert public - named - NO_FIGURE[room] == set(), "add a row to tests/honesty/table.py"
    assert (named | NO_FIGURE[room]) - public == set(), "the table names what is gone"
