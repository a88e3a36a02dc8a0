"""The promises of every truth method, for all computations."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from masquerade.answers import Claims
from masquerade.errors import DuplicateClaim, EmptyTable, NotFitted, ParameterError, SchemaError
from masquerade.mechanisms import RandomizedResponse, TwoLayer, parse_mechanism
from masquerade.truth import (
    METHODS,
    CategoricalEstimator,
    DawidSkene,
    Estimator,
    GoldMajorityVote,
    MajorityVote,
    OneCoin,
    method_named,
)

CATEGORICAL = [method for method in METHODS if issubclass(method, CategoricalEstimator)]
# Methods that need no known truths.
GENERAL = [method for method in CATEGORICAL if method is not GoldMajorityVote]
NUMERIC = [method for method in METHODS if method not in CATEGORICAL]
ROWS: dict[str, list[Any]] = {
    "task": ["b", "b", "b", "a", "a", "a"],
    "worker": ["x", "y", "z", "x", "y", "z"],
    "label": ["no", "yes", "yes", "no", "no", "yes"],
}
EXPECTED = {"b": "yes", "a": "no"}
RESULTS = ("truths_", "converged_", "iterations_", "components_", "claims_")
CATEGORICAL_RESULTS = (
    "posteriors_",
    "reliability_",
    "scores_",
    "labels_",
    "chances_",
    "unanswered_",
    "orientation_ambiguous_",
)


@pytest.mark.parametrize("method", METHODS)
def test_results_before_fit_say_to_fit(method: type[Estimator]) -> None:
    """Asking for a result before fit names the class and the method to call."""
    names = RESULTS + (CATEGORICAL_RESULTS if method in CATEGORICAL else ("intervals_",))
    for name in names:
        with pytest.raises(NotFitted, match=rf"{method.__name__}.*call fit"):
            getattr(method(), name)


@pytest.mark.parametrize("method", GENERAL)
def test_fit_returns_the_estimator_with_every_result(method: type[CategoricalEstimator]) -> None:
    """After fit, every table has one row a task or worker, under the documented columns."""
    estimator = method()
    fit = estimator.fit(ROWS)
    assert fit is estimator
    assert dict(zip(*(fit.truths_[c].to_pylist() for c in ("task", "label")), strict=True)) == (
        EXPECTED
    )
    assert fit.posteriors_.column_names == ["task", "no", "yes"]
    assert fit.reliability_.column_names == ["worker", "claims", "reliability", "weight"]
    assert fit.reliability_["worker"].to_pylist() == ["x", "y", "z"]
    assert fit.reliability_["claims"].to_pylist() == [2, 2, 2]
    assert all(0 <= r <= 1 for r in fit.reliability_["reliability"].to_pylist())
    assert fit.scores_.shape == (2, 2)
    assert fit.labels_.tolist() == [1, 0]
    assert len(fit.unanswered_) == 0
    assert fit.converged_
    assert fit.iterations_ >= 1
    assert fit.components_ == 1
    assert not fit.orientation_ambiguous_


@pytest.mark.parametrize("method", GENERAL)
def test_pandas_in_a_crowd_kit_series_out(method: type[CategoricalEstimator]) -> None:
    """From pandas comes a series named agg_label over the sorted tasks, with the frame's types."""
    frame = pd.DataFrame(ROWS)
    series = method().fit_predict(frame)
    expected = pd.Series(["no", "yes"], index=pd.Index(["a", "b"], name="task"), name="agg_label")
    pd.testing.assert_series_equal(series, expected)
    for dtype in ("int64", "int16", "float64", "category", "object"):
        codes = frame.assign(label=(frame["label"] == "yes").astype(int).astype(dtype))
        codes["task"] = codes["task"].map({"a": 10, "b": 2})
        series = method().fit_predict(codes)
        assert series.dtype == codes["label"].dtype
        assert series.index.dtype == codes["task"].dtype
        assert series.to_dict() == {2: 1, 10: 0}
        assert list(series.index) == [2, 10]


@pytest.mark.parametrize("method", [*GENERAL, *NUMERIC])
def test_other_tables_come_back_in_their_own_kind(method: type[Estimator]) -> None:
    """From polars, Arrow, a dict or Claims come two columns, tasks in order of appearance."""
    rows = dict(ROWS)
    column, expected = "label", ["yes", "no"]
    if method in NUMERIC:
        rows["value"] = [1.0, 2.0, 3.0, 5.0, 5.0, 5.0]
        column, expected = "value", [2.0, 5.0]  # type: ignore[list-item]
        del rows["label"]
    claims = Claims.from_frame(rows)
    tables = [method().fit_predict(given) for given in (pl.DataFrame(rows), pa.table(rows), claims)]
    assert isinstance(tables[0], pl.DataFrame)
    assert all(isinstance(table, pa.Table) for table in tables[1:])
    for table in (tables[0].to_arrow(), *tables[1:]):
        assert table.column_names == ["task", column]
        assert table["task"].to_pylist() == ["b", "a"]
        assert table[column].to_pylist() == expected
    answer = method().fit_predict(rows)
    assert answer["task"].tolist() == ["b", "a"]
    assert answer[column].tolist() == expected


def test_duckdb_relations_are_tables() -> None:
    """A duckdb relation can be fitted, and gives an Arrow table."""
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.from_arrow(pa.table(ROWS))
    table = method_named("mv")().fit_predict(relation)
    assert table.to_pylist() == [{"task": k, "label": v} for k, v in EXPECTED.items()]


@pytest.mark.parametrize("method", GENERAL)
def test_masked_claims_must_fit_the_mechanism(method: type[CategoricalEstimator]) -> None:
    """A mechanism for another number of options is refused, with both numbers."""
    with pytest.raises(ParameterError, match="for 3 options, the claims have 2"):
        method().fit(ROWS, mechanism=RandomizedResponse(3, epsilon=1))


@pytest.mark.parametrize("method", [m for m in METHODS if not getattr(m, "ordinal", False)])
def test_claims_of_the_other_kind_are_refused(method: type[Estimator]) -> None:
    """Numbers for a method for categories, and the reverse, are refused with advice."""
    kind = "numeric" if method in CATEGORICAL else "categorical"
    rows = {"task": [1, 1], "worker": [1, 2], "answer": [1, 2]}
    with pytest.raises(ParameterError, match=f"takes {method.kind} claims, these are {kind}; read"):
        method().fit(Claims.from_frame(rows, kind=kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", NUMERIC)
def test_numbers_are_not_masked_by_categorical_mechanisms(method: type[Estimator]) -> None:
    """A mechanism for categories is refused where the claims are numbers."""
    rows = {"task": [1, 1], "worker": [1, 2], "value": [1.0, 2.0]}
    with pytest.raises(ParameterError, match="masks categories, the claims are numbers"):
        method().fit(
            Claims.from_frame(rows, kind="numeric"), mechanism=RandomizedResponse(2, epsilon=1)
        )


def test_repeated_claims_are_an_error_until_a_rule_is_given() -> None:
    """A table where a worker answers twice is refused; Claims read with a rule are not."""
    rows = {"task": ["a", "a", "a"], "worker": ["x", "x", "y"], "label": ["n", "n", "y"]}
    with pytest.raises(DuplicateClaim, match="row 2"):
        method_named("mv")().fit(rows)
    votes = method_named("mv")().fit(Claims.from_frame(rows, duplicates="all"))
    assert votes.truths_["label"].to_pylist() == ["n"]


def test_a_table_without_labels_is_an_error() -> None:
    """A missing column is named."""
    with pytest.raises(SchemaError, match="label"):
        method_named("td")().fit({"task": ["a"], "worker": ["x"]})


@pytest.mark.parametrize("method", GENERAL)
def test_a_failed_fit_leaves_the_earlier_result(method: type[CategoricalEstimator]) -> None:
    """An error in a second fit does not spoil the result of the first one."""
    fit = method().fit(ROWS)
    with pytest.raises(SchemaError):
        fit.fit({"task": ["a"], "worker": ["x"]})
    assert fit.labels_.tolist() == [1, 0]


@pytest.mark.parametrize("method", GENERAL)
@pytest.mark.parametrize(
    ("low", "high", "ambiguous"),
    [(0, 1, True), (0.2, 0.8, True), (0.5, 0.5, True), (0, 0.9, False)],
)
def test_symmetric_flips_leave_the_orientation_open(
    method: type[CategoricalEstimator], low: float, high: float, ambiguous: bool
) -> None:
    """Where a flip is as likely as none, labels are known up to a swap only, and it is said."""
    fit = method().fit(ROWS, mechanism=TwoLayer(2, low=low, high=high))
    assert fit.orientation_ambiguous_ is ambiguous


@pytest.mark.parametrize("method", GENERAL)
def test_tasks_that_nobody_answered_get_no_label(method: type[CategoricalEstimator]) -> None:
    """A task with all reports "no answer" has a null label and is listed."""
    rows = {
        "task": ["a", "b", "a", "b"],
        "worker": ["x", "x", "y", "z"],
        "label": ["yes", None, "yes", None],
    }
    claims = Claims.from_frame(rows, options=["no", "yes"], null=True)
    fit = method().fit(claims)
    assert fit.truths_["label"].to_pylist() == ["yes", None]
    assert fit.unanswered_.to_pylist() == ["b"]
    assert fit.labels_.tolist() == [1, -1]
    nobody = fit.posteriors_.slice(1).to_pylist()[0]
    assert nobody["no"] + nobody["yes"] == pytest.approx(1)
    assert nobody["no"] <= 0.5  # even, or how often each truth holds as far as is known
    assert fit.reliability_["claims"].to_pylist() == [1, 1, 0]
    assert fit.components_ == 1
    reliability = fit.reliability_["reliability"][2].as_py()
    if method.name in ("majority-vote", "weighted-vote", "truth-discovery"):
        assert reliability == pytest.approx(0.5, abs=1e-3)
    if method.name in ("one-coin", "two-coin"):
        assert reliability == pytest.approx(2 / 3, abs=1e-3)
    assert 0 <= reliability <= 1


@pytest.mark.parametrize("method", GENERAL)
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([("a", "x", "no")], {"a": "no"}, id="one task, one worker"),
        pytest.param(
            [("a", "x", "no"), ("b", "x", "yes")], {"a": "no", "b": "yes"}, id="one worker"
        ),
        pytest.param(
            [("a", "x", "no"), ("a", "y", "no"), ("a", "z", "yes")], {"a": "no"}, id="one task"
        ),
        pytest.param(
            [(t, w, "no" if t < "c" else "yes") for t in "abcd" for w in "xyz"],
            {"a": "no", "b": "no", "c": "yes", "d": "yes"},
            id="all agree",
        ),
        pytest.param(
            [(t, w, "yes" if w == "z" or t > "b" else "no") for t in "abcd" for w in "wxyz"],
            {"a": "no", "b": "no", "c": "yes", "d": "yes"},
            id="a worker who always says the same",
        ),
        pytest.param(
            [(t, w, "no" if t < "c" else "yes") for t in "abcd" for w in "xyz"]
            + [("a", "q", "yes")],
            {"a": "no", "b": "no", "c": "yes", "d": "yes"},
            id="a worker with a single claim",
        ),
    ],
)
def test_small_crowds_get_the_plain_answer(
    method: type[CategoricalEstimator], rows: list[tuple[str, str, str]], expected: dict[str, str]
) -> None:
    """Crowds too small or too like-minded to learn from get the label of their votes, in any case.

    Options that are declared and never reported change nothing and win nothing.
    """
    table = dict(zip(("task", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))
    for options in (["no", "yes"], ["never", "no", "yes", "nor this"]):
        fit = method().fit(Claims.from_frame(table, options=options))
        assert dict(zip(*fit.truths_.to_pydict().values(), strict=True)) == expected
        assert fit.posteriors_.num_columns == 1 + len(options)
        assert np.isfinite(fit.scores_).all()
        assert fit.converged_ or method.name == "mace"  # its likelihood need not settle


@pytest.mark.parametrize("method", GENERAL)
def test_a_single_option_is_the_answer(method: type[CategoricalEstimator]) -> None:
    """Claims in which only one label was ever seen give that label."""
    fit = method().fit({"task": ["a", "b"], "worker": ["x", "y"], "label": ["only", "only"]})
    assert fit.truths_["label"].to_pylist() == ["only", "only"]
    assert fit.posteriors_["only"].to_pylist() == [1, 1]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_no_mechanism_is_refused(method: type[Estimator]) -> None:
    """A text that describes no mechanism, and anything else, is refused by every method."""
    with pytest.raises(ParameterError, match="is no Mechanism"):
        method().fit(ROWS, mechanism=5)
    with pytest.raises(ParameterError, match="'loud' is unknown"):
        method().fit(ROWS, mechanism="loud:options=2")


def test_a_text_is_taken_for_its_mechanism() -> None:
    """The text form of a mechanism gives the fit of the mechanism."""
    text = "randomized-response:options=2,epsilon=1"
    rows = {"task": [*"aabb"], "worker": [*"xyxy"], "label": [0, 0, 1, 1]}
    fits = [OneCoin().fit(rows, mechanism=given) for given in (text, parse_mechanism(text))]
    assert fits[0].posteriors_.equals(fits[1].posteriors_)


@pytest.mark.parametrize("method", [*GENERAL, *NUMERIC])
def test_claims_without_any_answer(method: type[Estimator]) -> None:
    """Where every claim is "no answer", a method finds nothing, or says that there is nothing."""
    rows = {"task": ["a", "b"], "worker": ["x", "y"], "label": [None, None]}
    numeric = method in NUMERIC
    claims = (
        Claims.from_frame(rows, kind="numeric", null=True)
        if numeric
        else Claims.from_frame(rows, options=["u", "v"], null=True)
    )
    if method.name in ("moments", "channel-em"):
        with pytest.raises(EmptyTable, match="every claim is 'no answer'"):
            method().fit(claims)
    else:
        assert method().fit(claims).truths_.column(1).null_count == 2


@pytest.mark.parametrize("method", METHODS)
def test_claims_go_with_the_last_fit_of_them(method: type[Estimator]) -> None:
    """Claims, which can be large, do not wait in circles of references for a collection."""
    needs: Any = {"gold": EXPECTED} if method is GoldMajorityVote else {}
    numbers = {**ROWS, "value": [1, 2, 2, 0, 0, 1]}
    del numbers["label"]
    claims = Claims.from_frame(numbers if method in NUMERIC else ROWS)
    kept = weakref.ref(claims.task)
    gc.disable()
    try:
        fit = method().fit(claims, **needs)
        assert fit.truths_.num_rows == 2
        assert len(fit.reliability_) == 3
        assert isinstance(fit.remarks_, tuple)
        del fit, claims
        assert kept() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("bad", ["10", None, [3], True])
@pytest.mark.parametrize("name", ["max_iterations", "tolerance", "smoothing"])
def test_a_parameter_that_is_no_number_is_an_error_that_names_it(name: str, bad: Any) -> None:
    """A text where a number belongs is a `ParameterError`, never a bare `TypeError`."""
    with pytest.raises(ParameterError, match=f"{name} is .*expected a number"):
        DawidSkene(**{name: bad})


def test_a_label_called_task_keeps_its_column() -> None:
    """Posteriors have a column for each label, with all names of labels."""
    frame = pd.DataFrame(
        {
            "task": ["a", "a", "b"],
            "worker": ["x", "y", "x"],
            "label": ["task", "label task", "task"],
        }
    )
    fit = MajorityVote().fit(frame)
    assert fit.posteriors_.column_names == ["task", "label task", "label label task"]
    shares = MajorityVote().fit_predict_proba(frame)
    assert list(shares.columns) == ["label task", "task"]
    assert shares.loc["a"].tolist() == [0.5, 0.5]
    assert shares.loc["b", "task"] == 1
    as_dict = MajorityVote().fit_predict_proba({name: frame[name].to_list() for name in frame})
    assert len(as_dict) == 3
