"""Scores against known truths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from masquerade.answers import Truths
from masquerade.errors import InputError, ParameterError, SchemaError
from masquerade.truth import (
    MajorityVote,
    accuracy,
    error_rate,
    mean_absolute_error,
    root_mean_squared_error,
)
from masquerade.truth.numeric import Mean, Median
from masquerade.truth.scores import error_rate_change, scored

ROWS: dict[str, list[Any]] = {
    "task": ["a", "a", "a", "b", "b", "c", "d"],
    "worker": ["x", "y", "z", "x", "y", "x", "x"],
    "label": ["n", "n", "y", "n", "y", "y", "y"],
}
NUMBERS: dict[str, list[Any]] = {
    "task": ["a", "a", "b"],
    "worker": ["x", "y", "x"],
    "value": [1.0, 3.0, 5.0],
}


def _truths(**truth: object) -> Truths:
    return Truths.from_frame({"task": list(truth), "truth": list(truth.values())})


def test_a_tie_counts_by_its_chance() -> None:
    """A task tied between r labels scores 1/r, for every seed; other tasks 0 or 1."""
    truths = _truths(a="n", b="y", c="n")
    for seed in range(5):
        assert accuracy(MajorityVote(seed=seed).fit(ROWS), truths) == pytest.approx(1.5 / 3)
    assert accuracy(MajorityVote(ties="first").fit(ROWS), truths) == pytest.approx(1 / 3)
    abstained = MajorityVote(ties="abstain").fit(ROWS)
    assert accuracy(abstained, truths) == pytest.approx(1 / 2)
    assert scored(abstained, truths) == 2
    assert scored(MajorityVote().fit(ROWS), truths) == 3


def test_a_truth_that_is_no_option_is_missed() -> None:
    """A truth that nobody reported counts as an error, and unknown tasks do not count."""
    assert error_rate(MajorityVote().fit(ROWS), _truths(a="n", c="maybe", zzz="n")) == 0.5


def test_tables_and_series_are_scored_like_estimators() -> None:
    """The result of fit_predict can be scored, types of ids need not match."""
    truths = _truths(a="n", c="n", d="y")
    fit = MajorityVote().fit(ROWS)
    series = MajorityVote().fit_predict(pd.DataFrame(ROWS))
    for answers in (fit, fit.truths_, series, fit.truths_.to_pydict()):
        assert accuracy(answers, truths) == pytest.approx(2 / 3)
        assert scored(answers, truths) == 3
    coded = {"task": [1, 2, 3], "label": [0, 1, None]}
    assert accuracy(coded, Truths.from_frame({"task": ["1", "2"], "truth": ["0", "0"]})) == 0.5


def test_error_rate_change_is_signed() -> None:
    """More errors behind the mask are positive, fewer negative."""
    truths = _truths(a="n", b="n")
    good, bad = ({"task": ["a", "b"], "label": labels} for labels in (["n", "n"], ["n", "y"]))
    assert error_rate_change(bad, good, truths) == 0.5
    assert error_rate_change(good, bad, truths) == -0.5


def test_numbers_are_scored_by_distance() -> None:
    """The two distances, by hand; from an estimator or a table; truths as text too."""
    for truths in (_truths(a=1.0, b=6.0, q=0.0), _truths(a="1", b="6")):
        for answers in (Mean().fit(NUMBERS), Median().fit(NUMBERS).truths_):
            assert mean_absolute_error(answers, truths) == pytest.approx(1)
            assert root_mean_squared_error(answers, truths) == pytest.approx(1)
            assert scored(answers, truths) == 2
    off = {"task": ["a", "b"], "value": [4.0, 6.0]}
    assert root_mean_squared_error(off, _truths(a=0.0, b=6.0)) == pytest.approx(np.sqrt(8))
    assert root_mean_squared_error(off, _truths(a=4.0, b=6.0)) == 0
    huge = {"task": ["a"], "value": [1e300]}
    assert root_mean_squared_error(huge, _truths(a=-1e300)) == pytest.approx(2e300)


def test_the_wrong_score_is_refused() -> None:
    """Labels have no distance and numbers no accuracy; the message names the right score."""
    with pytest.raises(ParameterError, match="score them with mean_absolute_error"):
        accuracy(Mean().fit(NUMBERS), _truths(a=1.0))
    with pytest.raises(ParameterError, match="score them with accuracy"):
        mean_absolute_error(MajorityVote().fit(ROWS), _truths(a="n"))
    with pytest.raises(SchemaError, match="must be numbers"):
        mean_absolute_error({"task": ["a"], "value": ["n"]}, _truths(a="n"))
    with pytest.raises(SchemaError, match="expected 'task' and 'label'"):
        accuracy({"task": ["a"], "answer": ["n"]}, _truths(a="n"))


def test_nothing_to_score_is_an_error() -> None:
    """Tables without a common task are an error and not a NaN."""
    for answers in (MajorityVote().fit(ROWS), {"task": ["a"], "label": ["n"]}):
        with pytest.raises(InputError, match="no task has both"):
            accuracy(answers, _truths(zzz="n"))


def test_dates_are_no_numbers() -> None:
    """Values that cannot be numbers are an error that says so, and not one of Arrow's."""
    answers = pd.DataFrame({"task": ["a"], "value": pd.to_datetime(["2020-01-01"], utc=True)})
    with pytest.raises(SchemaError, match="must be numbers to be compared"):
        mean_absolute_error(answers, Truths.from_frame({"task": ["a"], "truth": [1.0]}))


def test_tables_may_hold_categories() -> None:
    """Tasks and labels of pandas' categorical type are compared by their values."""
    answers = pd.DataFrame(
        {"task": pd.Categorical(["a", "b"]), "label": pd.Categorical(["u", "v"])}
    )
    assert accuracy(answers, Truths.from_frame({"task": ["b", "a"], "truth": ["v", "v"]})) == 0.5
