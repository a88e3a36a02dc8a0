"""Median and mean, their standard errors and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.truth import NumericAuto, NumericEstimator
from masquerade.truth.numeric import CATD, Mean, Median, Reliability

ROWS = {
    "task": ["a", "b", "a", "b", "a", "b", "c", "b"],
    "worker": ["w", "w", "x", "x", "y", "y", "z", "z"],
    "value": [1.0, 4.0, 2.0, 8.0, 9.0, 1.0, 7.0, 5.0],
}


def _claims(values: NDArray[np.float64]) -> Claims:
    """Return claims of one worker a column and one task a row."""
    tasks, workers = values.shape
    task, worker = np.divmod(np.arange(values.size), workers)
    assert task.max() == tasks - 1
    return Claims.from_frame({"task": task, "worker": worker, "value": values.ravel()})


def test_values_are_the_median_and_the_mean_of_each_task() -> None:
    """Odd and even numbers of claims, and a single one, give the textbook figure."""
    assert Median().fit(ROWS).truths_.to_pydict() == {
        "task": ["a", "b", "c"],
        "value": [2.0, 4.5, 7.0],
    }
    assert Mean().fit(ROWS).values_.tolist() == [4.0, 4.5, 7.0]


def test_the_mean_has_students_interval() -> None:
    """The interval is mean plus or minus t times s / sqrt(n); worked by hand for 1, 2, 9."""
    table = Mean().fit(ROWS).intervals_.to_pylist()
    error = np.sqrt(19 / 3)
    assert table[0]["standard_error"] == pytest.approx(error)
    assert table[0]["low"] == pytest.approx(4 - 4.302653 * error)
    assert table[0]["high"] == pytest.approx(4 + 4.302653 * error)
    assert [row["claims"] for row in table] == [3, 4, 1]


def test_one_claim_has_no_interval() -> None:
    """A single claim gives a value and null for everything about its error."""
    for method in (Mean(), Median()):
        row = method.fit(ROWS).intervals_.to_pylist()[2]
        assert row["value"] == 7.0
        assert (row["standard_error"], row["low"], row["high"]) == (None, None, None)


def test_the_median_has_an_interval_from_six_claims_on() -> None:
    """Order statistics cover the median with 95 % from n = 6, and the known ranks for n = 10, 25.

    The ranks (2, 9) and (8, 18) are those of standard tables of the sign-test interval.
    """
    for n, low, high in ((5, None, None), (6, 1, 6), (10, 2, 9), (25, 8, 18)):
        values = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
        row = Median().fit(_claims(values[None, :])).intervals_.to_pylist()[0]
        assert (row["low"], row["high"]) == (low, high)


@pytest.mark.parametrize("method", [Mean(), Median()])
def test_intervals_cover_as_often_as_they_say(method: Mean | Median) -> None:
    """At least 95 % of intervals hold the truth, and the standard error matches the spread.

    n = 4000 tasks of 15 normal claims: coverage is off by 5.5 standard errors (.019) with a
    probability below 1e-6.
    """
    values = np.random.default_rng(3).normal(size=(4000, 15))
    table = method.fit(_claims(values)).intervals_
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    assert ((low <= 0) & (high >= 0)).mean() > 0.95 - 0.019
    spread = table["value"].to_numpy().std()
    assert np.sqrt((table["standard_error"].to_numpy() ** 2).mean()) == pytest.approx(
        spread, rel=0.2
    )


def test_large_values_do_not_overflow() -> None:
    """Huge values, and values on very different scales, keep their figures."""
    values = np.array([[1e307, 1.5e307], [1e-200, 3e-200], [-2.0, 2.0], [0.0, 0.0]])
    for method in (Mean(), Median()):
        table = method.fit(_claims(values)).intervals_
        assert table["value"].to_pylist() == pytest.approx([1.25e307, 2e-200, 0, 0], rel=1e-12)
        error = np.array(table["standard_error"].to_pylist())
        assert error[[0, 1]] / [1e307, 1e-200] == pytest.approx(error[2] / 4 * np.array([0.5, 2]))
        assert error[3] == 0


def test_the_order_of_rows_does_not_matter() -> None:
    """Shuffled rows give bit for bit the same values."""
    values = np.random.default_rng(4).normal(size=(30, 7))
    table = _claims(values).to_arrow()
    order = np.random.default_rng(5).permutation(table.num_rows)
    for method in (Mean, Median):
        first = method().fit(table).truths_.sort_by("task")
        second = method().fit(table.take(order)).truths_.sort_by("task")
        assert first.equals(second)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_bad_confidence_is_refused(confidence: float) -> None:
    """A confidence outside (0, 1) is refused with an example."""
    with pytest.raises(ParameterError, match=f"confidence is {confidence}, expected above 0"):
        Mean(confidence=confidence)


@pytest.mark.parametrize("method", [CATD(), Reliability(), NumericAuto()])
def test_progress_counts_the_rounds(method: NumericEstimator) -> None:
    """Each round of a loop is told once, in order, with no total; the result is the same."""
    rng = np.random.default_rng(11)
    task, worker = np.divmod(np.arange(400), 8)
    value = rng.normal(task, 1 + worker % 3)
    rows = {"task": task, "worker": worker, "value": value}
    told: list[tuple[int, int]] = []
    values = method.fit(rows, progress=lambda *seen: told.append(seen)).values_
    assert told == [(round_, 0) for round_ in range(1, len(told) + 1)]
    assert len(told) > 1
    assert values.tolist() == method.fit(rows).values_.tolist()
