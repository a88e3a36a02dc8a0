"""Claims are checked once, row by row, and come back as they went in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.answers.claim_rows import ROWS, changed, expected, rows_of

from masquerade.answers import Claims, to_arrow
from masquerade.errors import (
    EmptyTable,
    InputError,
    MissingValue,
    MixedTypes,
    ParameterError,
    SchemaError,
    UnknownLabel,
)


def chunked_dictionaries() -> pa.Table:
    """Return the rows with dictionary columns in chunks with different dictionaries."""
    chunks = {
        name: pa.chunked_array(
            [pa.array(v[:1]).dictionary_encode(), pa.array(v[1:]).dictionary_encode()]
        )
        for name, v in ROWS.items()
    }
    return pa.table(chunks)


FRAMES: dict[str, Callable[[], Any]] = {
    "dict of lists": lambda: ROWS,
    "dict of numpy arrays": lambda: {k: np.array(v) for k, v in ROWS.items()},
    "dict of arrow arrays": lambda: {k: pa.array(v) for k, v in ROWS.items()},
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas object": lambda: pd.DataFrame(ROWS, dtype=object),
    "pandas string": lambda: pd.DataFrame(ROWS, dtype="string"),
    "pandas categorical": lambda: pd.DataFrame(ROWS).astype("category"),
    "pandas with odd index": lambda: pd.DataFrame(ROWS, index=[7, 7, 3, 1]),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars categorical": lambda: pl.DataFrame(ROWS).with_columns(pl.all().cast(pl.Categorical)),
    "polars enum": lambda: pl.DataFrame(ROWS).with_columns(
        pl.col("label").cast(pl.Enum(["yes", "no", "maybe"]))
    ),
    "pyarrow": lambda: pa.table(ROWS),
    "pyarrow record batch": lambda: pa.RecordBatch.from_pydict(ROWS),
    "pyarrow chunked dictionaries": chunked_dictionaries,
    "pyarrow large strings": lambda: pa.table(
        {k: pa.array(v, pa.large_string()) for k, v in ROWS.items()}
    ),
    "pyarrow string views": lambda: pa.table(
        {k: pa.array(v, pa.string_view()) for k, v in ROWS.items()}
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_frame_gives_the_same_claims(name: str) -> None:
    """In every frame, tasks and workers are coded by appearance and options are sorted."""
    claims = Claims.from_frame(FRAMES[name]())
    assert rows_of(claims) == expected()
    assert claims.tasks.to_pylist() == ["b", "a"]
    assert claims.workers.to_pylist() == ["y", "x"]
    assert claims.options is not None
    assert claims.options.to_pylist() == ["maybe", "no", "yes"]
    assert claims.task.tolist() == [0, 1, 0, 1]
    assert claims.worker.tolist() == [0, 0, 1, 1]
    assert claims.value.tolist() == [2, 1, 2, 0]
    assert {a.dtype for a in (claims.task, claims.worker, claims.value)} == {np.dtype(np.int32)}
    assert (len(claims), claims.n_tasks, claims.n_workers, claims.n_options) == (4, 2, 2, 3)
    assert claims.kind == "categorical"
    assert not claims.null
    assert repr(claims) == "Claims(4 claims of 2 workers on 2 tasks, 3 options)"


def test_a_duckdb_relation_gives_the_same_claims() -> None:
    """A duckdb query can be passed as it is."""
    duckdb = pytest.importorskip("duckdb")
    values = ", ".join(str(row) for row in expected())
    relation = duckdb.sql(f"select * from (values {values}) t(task, worker, label)")
    assert rows_of(Claims.from_frame(relation)) == expected()
    numbers = duckdb.sql("select 'a' as task, 1 as worker, 2.5::double as value")
    assert rows_of(Claims.from_frame(numbers)) == [("a", 1, 2.5)]


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        ([3, 1, 3, 2], [3, 1, 3, 2]),
        (np.array([3, 1, 3, 2], dtype=np.uint8), [3, 1, 3, 2]),
        ([3.0, 1.0, 3.0, 2.0], [3, 1, 3, 2]),
        ([True, False, True, True], [True, False, True, True]),
        (pd.array([3, 1, 3, 2], dtype="Int64"), [3, 1, 3, 2]),
        (pd.array([3.0, 1.0, 3.0, 2.0], dtype="Float64"), [3, 1, 3, 2]),
        (pd.Categorical([3, 1, 3, 2]), [3, 1, 3, 2]),
        (pl.Series([3, 1, 3, 2]), [3, 1, 3, 2]),
    ],
    ids=["int", "uint8", "whole float", "bool", "Int64", "Float64", "categorical", "polars"],
)
def test_labels_keep_their_type_and_whole_floats_are_integers(labels: Any, kept: list[Any]) -> None:
    """Integer, boolean and nullable labels come back as they are; 3.0 is the category 3."""
    claims = Claims.from_frame(changed(label=labels))
    assert [row[2] for row in rows_of(claims)] == kept


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan, 2.0, 1.0],
        pd.array([1, None, 2, 1], dtype="Int64"),
        pd.array([1.0, None, 2.0, 1.0], dtype="Float64"),
        pd.Series([1, None, 2, 1], dtype=object),
        pa.array([1, None, 2, 1]),
        pa.array([1.0, float("nan"), 2.0, None]).fill_null(1.0),
    ],
    ids=["NaN", "Int64", "Float64", "object", "arrow", "arrow NaN"],
)
def test_a_missing_label_is_an_error_or_no_answer(labels: Any) -> None:
    """A null or NaN label is an error with its row, or the code after the last option."""
    for frame in (changed(label=labels), pd.DataFrame(changed(label=labels))):
        with pytest.raises(MissingValue, match=r"column 'label', row 2: .*null=True"):
            Claims.from_frame(frame)
        claims = Claims.from_frame(frame, null=True)
        assert claims.null
        assert claims.value.tolist() == [0, 2, 1, 0]
        assert [row[2] for row in rows_of(claims)] == [1, None, 2, 1]
        assert claims.answered().value.tolist() == [0, 1, 0]
        assert claims.answered().task.tolist() == [0, 0, 1]
        assert not claims.answered().null
        assert len(claims) == 4


@pytest.mark.parametrize("options", [None, ["no", "yes"]])
def test_an_empty_text_is_a_missing_label_too(options: list[str] | None) -> None:
    """An empty text is never an option: an error, or no answer where that is allowed."""
    frame = changed(label=["yes", "no", "", None])
    with pytest.raises(MissingValue, match=r"column 'label', row 3: the label is missing \(''\)"):
        Claims.from_frame(frame, options=options)
    claims = Claims.from_frame(frame, options=options, null=True)
    assert claims.value.tolist() == [1, 0, 2, 2]
    assert claims.n_options == 2


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "dict of lists"])
def test_declared_options_keep_their_order_and_those_never_seen(name: str) -> None:
    """Declared options stand in their order, also those that nobody gave."""
    options = ["yes", "never", "maybe", "no"]
    claims = Claims.from_frame(FRAMES[name](), options=options)
    assert claims.options is not None
    assert claims.options.to_pylist() == options
    assert claims.value.tolist() == [0, 3, 0, 2]
    assert rows_of(claims) == expected()


@pytest.mark.parametrize(
    ("labels", "options", "values"),
    [
        (["2", "1", "2", "1"], [2, 1], [0, 1, 0, 1]),
        ([2, 1, 2, 1], ["1", "2", "3"], [1, 0, 1, 0]),
        ([2.0, 1.0, 2.0, 1.0], [1, 2], [1, 0, 1, 0]),
        ([True, False, True, True], [True, False], [0, 1, 0, 0]),
    ],
)
def test_declared_options_are_read_in_the_labels_type(
    labels: list[Any], options: list[Any], values: list[int]
) -> None:
    """Options typed as text match whole-number labels, and the other way round."""
    claims = Claims.from_frame(changed(label=labels), options=options)
    assert claims.value.tolist() == values


def test_claims_without_any_answer_can_have_declared_options() -> None:
    """A table without any label is readable where the options are declared."""
    frame = changed(label=[None] * 4)
    assert Claims.from_frame(frame, options=["a", "b"], null=True).value.tolist() == [2] * 4
    with pytest.raises(MissingValue, match="every label is missing; declare the options"):
        Claims.from_frame(frame, null=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (["yes", "no"], UnknownLabel, r"column 'label', row 4: 'maybe' is not one of the 2"),
        (["yes", "no", "maybe", "yes"], ParameterError, "all different"),
        ([], ParameterError, "must be some"),
        (["yes", None], ParameterError, "none missing"),
        ("yes", ParameterError, "options is 'yes', expected a sequence"),
    ],
)
def test_bad_options_are_refused(options: Any, error: type[Exception], message: str) -> None:
    """A label outside the options, and options that are no options, are errors."""
    with pytest.raises(error, match=message):
        Claims.from_frame(ROWS, options=options)


def test_options_of_another_type_than_the_labels_are_refused() -> None:
    """Words cannot be options of whole-number labels."""
    with pytest.raises(MixedTypes, match=r"\['a', 'b'\] are not all of the labels' type int64"):
        Claims.from_frame(changed(label=[1, 2, 1, 2]), options=["a", "b"])


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("label", [1, 2, 1, 2], "categorical"),
        ("value", [1, 2, 1, 2], "numeric"),
        ("value", ["1", "2.5", "-3", "1e2"], "numeric"),
        ("answer", ["1", "2", "1", "2"], "categorical"),
        ("answer", [1.0, 2.0, 1.0, 2.0], "categorical"),
        ("answer", [1.5, 2.0, 1.0, 2.0], "numeric"),
        ("answer", ["1.5", "2", "1", "2"], "numeric"),
        ("answer", ["a", "2", "1", "2"], "categorical"),
    ],
)
def test_the_kind_is_guessed_from_the_columns_name_and_content(
    column: str, values: list[Any], kind: str
) -> None:
    """`label` is categorical, `value` numeric, and the type of `answer` follows its entries."""
    frame = {"task": ROWS["task"], "worker": ROWS["worker"], column: values}
    assert Claims.from_frame(frame).kind == kind


def test_answers_that_are_many_different_whole_numbers_are_not_guessed() -> None:
    """Up to 20 different whole numbers are labels; of more the kind has to be said."""
    for distinct, kind in ((20, None), (21, "categorical"), (21, "numeric")):
        table = {"task": range(distinct), "worker": ["x"] * distinct, "answer": range(distinct)}
        claims = Claims.from_frame(table, kind=kind)  # type: ignore[arg-type]
        assert claims.kind == (kind or "categorical")
    with pytest.raises(SchemaError, match=r"21 different whole numbers.*--kind"):
        Claims.from_frame(table)


@pytest.mark.parametrize("labels", [[1, 1.0, True], [2.5, True, 1.0], [True, 1, 0]])
def test_true_among_numbers_is_an_error(labels: list[Any]) -> None:
    """True is not read as 1, in a list or in a column of objects."""
    table = {"task": [1, 2, 3], "worker": ["x"] * 3}
    for column in (labels, pd.Series(labels, dtype=object), np.array(labels, dtype=object)):
        with pytest.raises(MixedTypes, match="row"):
            Claims.from_frame({**table, "label": column}, kind="categorical")


def test_the_kind_can_be_said() -> None:
    """A stated kind wins over the guess, and another word is an error."""
    frame = {"task": ["a"], "worker": ["x"], "value": [3]}
    assert Claims.from_frame(frame, kind="categorical").options is not None
    assert Claims.from_frame(changed(label=[1, 2, 3, 4]), kind="numeric").value.tolist() == [
        1,
        2,
        3,
        4,
    ]
    assert Claims.from_frame({**frame, "value": [2.5]}).value.dtype == np.float64
    assert Claims.from_frame(frame, options=[3, 4]).kind == "categorical"
    with pytest.raises(ParameterError, match="kind is 'ordinal'"):
        Claims.from_frame(frame, kind="ordinal")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="options are declared for numeric claims"):
        Claims.from_frame(frame, kind="numeric", options=[3, 4])


def test_label_is_preferred_to_answer_and_answer_to_value() -> None:
    """Of several columns of answers the first of label, answer, value is read."""
    frame = changed(value=[1, 2, 3, 4], answer=["p", "q", "p", "q"])
    assert rows_of(Claims.from_frame(frame)) == expected()
    del frame["label"]
    assert Claims.from_frame(frame).options.to_pylist() == ["p", "q"]  # type: ignore[union-attr]


@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "pandas"])
def test_other_columns_are_ignored_whatever_they_hold(make: Any) -> None:
    """A further column of mixed or unreadable things does not get in the way."""
    frame = make(changed(note=[1, "a", None, {2}], label=ROWS["label"]))
    assert rows_of(Claims.from_frame(frame)) == expected()


BAD_ROWS: list[tuple[str, dict[str, Any], type[InputError], str]] = [
    ("null task", changed(task=["b", None, "b", "a"]), MissingValue, "column 'task', row 2"),
    (
        "empty task",
        changed(task=["b", "a", "b", ""]),
        MissingValue,
        r"column 'task', row 4.*\(''\)",
    ),
    ("NaN task", changed(task=[1.0, 2.0, np.nan, 3.0]), MissingValue, "column 'task', row 3"),
    ("null worker", changed(worker=["y", "y", "x", None]), MissingValue, "column 'worker', row 4"),
    ("empty worker", changed(worker=["", "y", "x", "x"]), MissingValue, "column 'worker', row 1"),
    ("null label", changed(label=["a", None, "b", "a"]), MissingValue, "column 'label', row 2"),
    ("NaN label", changed(label=[1, 2, np.nan, 1]), MissingValue, "column 'label', row 3"),
    ("empty label", changed(label=["", "b", "b", "a"]), MissingValue, "column 'label', row 1"),
    ("all null", changed(label=[None] * 4), MissingValue, "column 'label', row 1"),
    (
        "int then text",
        changed(label=[1, "a", 2, 1]),
        MixedTypes,
        "column 'label', row 2: 'a' is str while earlier rows hold int",
    ),
    (
        "text then int",
        changed(task=["a", "b", 3, "c"]),
        MixedTypes,
        "column 'task', row 3: 3 is int while earlier rows hold str",
    ),
    (
        "text then bytes",
        changed(worker=["a", "b", "c", b"a"]),
        MixedTypes,
        "column 'worker', row 4: b'a' is bytes",
    ),
    (
        "bool then int",
        changed(label=[True, False, True, 2]),
        MixedTypes,
        "column 'label', row 4: 2 is int while earlier rows hold bool",
    ),
    ("fraction", changed(label=[1.0, 2.0, 1.5, 1.0]), SchemaError, "column 'label', row 3: 1.5"),
    ("infinite", changed(label=[1.0, np.inf, 2.0, 1.0]), SchemaError, "column 'label', row 2: inf"),
    ("huge", changed(label=[1.0, 2.0, 2.0, 1e300]), SchemaError, r"row 4: 1e\+300"),
    ("lists", changed(label=[[1], [2], [1], [2]]), SchemaError, "column 'label' holds list"),
    ("list ids", changed(task=[[1], [2], [1], [2]]), SchemaError, "column 'task' holds list"),
    ("huge int", changed(label=[1, 2, 1, 2**70]), SchemaError, "column 'label' cannot be read"),
    ("complex", changed(label=np.array([1j] * 4)), SchemaError, "column 'label' cannot be read"),
]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [row[1:] for row in BAD_ROWS],
    ids=[row[0] for row in BAD_ROWS],
)
def test_bad_rows_are_named_and_the_frame_stays_as_it_was(
    frame: dict[str, Any], error: type[InputError], message: str
) -> None:
    """Each kind of bad row is its own error, naming column, row and value; nothing is changed."""
    before = {name: list(column) for name, column in frame.items()}
    with pytest.raises(error, match=message):
        Claims.from_frame(frame)
    assert str(before) == str({name: list(column) for name, column in frame.items()})
    table = pd.DataFrame({name: pd.Series(list(v)) for name, v in frame.items()})
    copy = table.copy(deep=True)
    with pytest.raises(error, match=message):
        Claims.from_frame(table)
    pd.testing.assert_frame_equal(table, copy)


def test_mixed_types_are_found_beyond_pandas_missing_values() -> None:
    """A pandas NA before the odd row does not hide it."""
    frame = pd.DataFrame({**ROWS, "label": pd.Series([1, pd.NA, "a", 2], dtype=object)})
    with pytest.raises(MixedTypes, match="column 'label', row 3: 'a' is str"):
        Claims.from_frame(frame)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["1", "two", "3", "4"], SchemaError, "row 2: 'two' is not a number"),
        (["1", "2", "3", " 4"], SchemaError, "row 4: ' 4' is not a number"),
        (["1", "2", "1_000", "4"], SchemaError, "row 3: '1_000' is not a number"),
        (
            [1, 2, 2**60 + 1, 4],
            SchemaError,
            "row 3: 1152921504606846977 is not a number that a float",
        ),
        ([1.0, np.inf, 3.0, 4.0], SchemaError, "row 2: inf is not finite"),
        (["1", "2", "-inf", "4"], SchemaError, "row 3: -inf is not finite"),
        ([1.0, 2.0, np.nan, 4.0], MissingValue, "row 3: the value is missing"),
        (["1", "2", "", "4"], MissingValue, "row 3: the value is missing"),
        (np.array(["2020-01-01"] * 4, dtype="datetime64[s]"), SchemaError, "row 1: .*not a number"),
    ],
)
def test_a_value_that_is_no_finite_number_is_named(
    values: Any, error: type[InputError], message: str
) -> None:
    """Words, infinities, gaps and integers that a float cannot hold are errors with their row."""
    frame = {"task": ROWS["task"], "worker": ROWS["worker"], "value": values}
    with pytest.raises(error, match=f"column 'value', {message}"):
        Claims.from_frame(frame)


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (
            {"worker": ["x"], "label": [1]},
            SchemaError,
            r"'task' is missing; .*\['worker', 'label'\]",
        ),
        ({"task": ["a"], "label": [1]}, SchemaError, "'worker' is missing"),
        ({"task": ["a"], "worker": ["x"], "said": [1]}, SchemaError, r"none of .*'label'.*'said'"),
        ({}, SchemaError, "columns 'task', 'worker' and 'label' are missing"),
        ({"task": [], "worker": [], "label": []}, EmptyTable, "no rows"),
        (pd.DataFrame(ROWS).iloc[:0], EmptyTable, "no rows"),
        (pl.DataFrame(ROWS).clear(), EmptyTable, "no rows"),
        (changed(label=["a"]), SchemaError, "columns differ in length: {'task': 4"),
        (changed(label=3), SchemaError, r"column 'label' is int \(3\), expected an array"),
        (changed(label=np.zeros((4, 2))), SchemaError, "column 'label' cannot be read"),
        ([1, 2], SchemaError, "list is not a table; pass a pandas"),
        (None, SchemaError, "NoneType is not a table"),
        (
            pd.DataFrame([["a", "x", 1, 2]], columns=["task", "worker", "label", "label"]),
            SchemaError,
            "column 'label' stands twice",
        ),
        (
            pa.Table.from_arrays([pa.array(["a"])] * 4, ["task", "task", "worker", "label"]),
            SchemaError,
            "column 'task' stands twice",
        ),
    ],
)
def test_what_is_no_table_of_claims_is_refused(
    frame: Any, error: type[InputError], message: str
) -> None:
    """Missing or doubled columns, no rows, unequal columns and other objects are errors."""
    with pytest.raises(error, match=message):
        Claims.from_frame(frame)


@pytest.mark.parametrize("name", FRAMES)
def test_reading_leaves_the_frame_as_it_was(name: str) -> None:
    """No frame is changed by being read, not even where its columns are borrowed."""
    frame = FRAMES[name]()
    before = to_arrow(FRAMES[name]())
    Claims.from_frame(frame, duplicates="last")
    assert to_arrow(frame).equals(before)


def test_a_million_claims_are_read_in_columns() -> None:
    """A million rows are coded right; every step works on whole columns."""
    n = 1_000_000
    rng = np.random.default_rng(8)
    task, worker = np.divmod(rng.permutation(n), 1000)
    frame = {"task": task, "worker": worker, "label": rng.integers(0, 4, n)}
    claims = Claims.from_frame(frame)
    assert (len(claims), claims.n_tasks, claims.n_workers, claims.n_options) == (n, 1000, 1000, 4)
    assert np.array_equal(claims.tasks.to_numpy()[claims.task], task)
    assert np.array_equal(claims.workers.to_numpy()[claims.worker], worker)
    assert np.array_equal(claims.value, frame["label"])


def test_other_values_make_other_claims() -> None:
    """Replacing the values leaves the claims themselves as they were."""
    claims = Claims.from_frame(ROWS)
    other = claims.with_values(np.array([0, 1, 3, 0], dtype=np.int32), null=True)
    assert claims.value.tolist() == [2, 1, 2, 0]
    assert [row[2] for row in rows_of(other)] == ["maybe", "no", None, "maybe"]
    assert claims.with_values(claims.value).null is False
    assert claims.answered() is claims


def test_options_must_be_a_sequence() -> None:
    """A number of options is not the options."""
    with pytest.raises(ParameterError, match="options is 2, expected a sequence of labels"):
        Claims.from_frame(ROWS, options=2)  # type: ignore[arg-type]


def test_half_floats_are_categories_too() -> None:
    """Whole 16-bit floats are read like other whole floats."""
    claims = Claims.from_frame(changed(label=np.array([1, 2, 1, 2], np.float16)))
    assert claims.options is not None
    assert claims.options.to_pylist() == [1, 2]


def test_without_claims_nobody_is_busy() -> None:
    """Claims of which none is an answer have a busiest worker of 0 claims."""
    silent = Claims.from_frame(changed(label=[None] * 4), options=["yes"], null=True).answered()
    assert silent.most_claims_of_a_worker() == 0
