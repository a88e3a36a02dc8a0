"""Every printed guarantee is true, and would not be if it were a tenth smaller."""

from __future__ import annotations

import pytest
from tests.honesty.guarantees import GUARANTEES, NO_AMOUNT, Printed

from masquerade import accounting


@pytest.mark.parametrize("row", GUARANTEES, ids=lambda row: row.name)
def test_exact_a_guarantee_holds_and_a_tenth_less_does_not(row: Printed) -> None:
    """The attained loss is within the printed amount, and beyond nine tenths of it."""
    assert row.exceeded(1.0) <= 1, f"{row.name}: {row.promise}"
    assert row.exceeded(0.9) > 1, f"{row.name} would not notice a smaller number"


def test_every_guarantee_has_a_row() -> None:
    """A public name of accounting is in the table, or prints no amount of its own."""
    named = {name for row in GUARANTEES for name in row.outputs}
    assert named | NO_AMOUNT == set(accounting.__all__), "add a row to tests/honesty/guarantees.py"
    assert not named & NO_AMOUNT
