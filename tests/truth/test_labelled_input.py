"""Labelled input of every registered method: read by its labels, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from masquerade.errors import SchemaError
from masquerade.estimation import Counts, estimate_shares
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import Estimator
from masquerade.truth.methods import registered

METHODS = registered()
#: Labels and numbers that four workers give to three tasks.
TASKS = ["b", "a", "b", "a", "c", "c"] * 2
WORKERS = ["x", "x", "y", "y", "x", "y", "z", "z", "w", "w", "z", "w"]
ANSWERS: dict[str, list[Any]] = {
    "label": ["yes", "no", "yes", "no", "no", "yes"] * 2,
    "value": [1.0, 2.0, 1.5, 2.5, 3.0, 3.5] * 2,
}
KNOWN = {"a": "yes", "b": "no"}


def _columns(method: type[Estimator]) -> tuple[str, dict[str, list[Any]]]:
    name = "label" if method.kind == "categorical" else "value"
    return name, {"task": TASKS, "worker": WORKERS, name: ANSWERS[name]}


def _gold(method: type[Estimator], known: Any = None) -> dict[str, Any]:
    needs = method.name == "gold-majority-vote"
    return {"gold": KNOWN if known is None else known} if needs or known is not None else {}


def _plain(answers: Any) -> dict[str, Any]:
    """Return answers by task, numbers rounded: sums of rows in another order differ in bits."""
    return {
        task: round(answer, 6) if isinstance(answer, float) else answer
        for task, answer in answers.items()
    }


@pytest.mark.parametrize("name", METHODS)
def test_the_answer_is_of_the_kind_of_the_table(name: str) -> None:
    """A table of pandas gives a series by task, one of polars a table; the answers are the same."""
    method = METHODS[name]
    column, rows = _columns(method)
    gold = _gold(method)
    series = method().fit_predict(pd.DataFrame(rows), **gold)
    table = method().fit_predict(pl.DataFrame(rows), **gold)
    assert isinstance(series, pd.Series)
    assert isinstance(table, pl.DataFrame)
    assert _plain(series.to_dict()) == _plain(dict(zip(table["task"], table[column], strict=True)))


@pytest.mark.parametrize("name", METHODS)
def test_the_order_and_index_of_rows_say_nothing(name: str) -> None:
    """A table of pandas with shuffled rows, with their index, gives the same answers."""
    method = METHODS[name]
    frame = pd.DataFrame(_columns(method)[1])
    shuffled = frame.sample(frac=1, random_state=1)
    gold = _gold(method)
    first, second = (method().fit_predict(one, **gold) for one in (frame, shuffled))
    assert _plain(first.to_dict()) == _plain(second.to_dict())


@pytest.mark.parametrize("name", [n for n, one in METHODS.items() if one.kind == "categorical"])
def test_known_truths_are_read_by_their_tasks(name: str) -> None:
    """A dict and a series of known truths mean the same in any order."""
    method = METHODS[name]
    frame = pd.DataFrame(_columns(method)[1])
    turned = dict(reversed(KNOWN.items()))
    for known in (KNOWN, turned, pd.Series(KNOWN), pd.Series(turned)):
        found = method().fit(frame, **_gold(method, known)).truths_
        answers = dict(zip(found["task"].to_pylist(), found["label"].to_pylist(), strict=True))
        assert {task: answers[task] for task in KNOWN} == KNOWN


@pytest.mark.parametrize("name", METHODS)
def test_series_of_different_rows_are_refused(name: str) -> None:
    """Series with different indexes are no columns of one table; with one index they are."""
    method = METHODS[name]
    columns = {key: pd.Series(values) for key, values in _columns(method)[1].items()}
    method().fit(columns, **_gold(method))
    columns["worker"] = columns["worker"].iloc[::-1]
    with pytest.raises(SchemaError, match=r"'task' and 'worker' are pandas series"):
        method().fit(columns, **_gold(method))


def test_counts_are_read_by_their_labels() -> None:
    """A dict and a series of counts, in any order, are those of the list in the options' order."""
    mask = RandomizedResponse(2, epsilon=1)
    by_place = [60, 40]
    for labelled in ({"no": 40, "yes": 60}, pd.Series({"no": 40, "yes": 60})):
        shares = estimate_shares(labelled, mask, options=("yes", "no"))
        assert shares.estimates == estimate_shares(by_place, mask).estimates
        counts = Counts.of(labelled, mask, options=("yes", "no"))
        assert np.array_equal(counts.count, Counts.of(by_place, mask).count)
