"""Known truths of any type are checked once and lined up with claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from masquerade.answers import Claims, Truths
from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    InputError,
    MissingValue,
    MixedTypes,
    ParameterError,
    SchemaError,
    UnreadableFile,
)

WORDS = Claims.from_frame({"task": ["a", "b", "c"], "worker": ["x"] * 3, "label": ["u", "v", "u"]})
WHOLE = Claims.from_frame({"task": [1, 2, 3], "worker": ["x"] * 3, "label": [5, 7, 5]})
NUMBERS = Claims.from_frame({"task": ["a", "b", "c"], "worker": ["x"] * 3, "value": [1, 2.5, 3]})


@pytest.mark.parametrize(
    "frame",
    [
        {"task": ["c", "a"], "truth": ["v", "w"]},
        pd.DataFrame({"task": ["c", "a"], "truth": ["v", "w"]}),
        pd.DataFrame({"task": ["c", "a"], "truth": ["v", "w"], "note": [1, "x"]}, dtype="category"),
        pl.DataFrame({"task": ["c", "a"], "truth": ["v", "w"]}),
        pl.DataFrame({"task": ["c", "a"], "truth": ["v", "w"]}).with_columns(
            pl.all().cast(pl.Categorical)
        ),
        pa.table({"truth": ["v", "w"], "task": pa.array(["c", "a"]).dictionary_encode()}),
        {"task": ["c", "a", "elsewhere"], "truth": ["v", "w", "u"]},
    ],
    ids=["dict", "pandas", "category", "polars", "polars categorical", "pyarrow", "more tasks"],
)
def test_truths_are_lined_up_with_the_claims(frame: Any) -> None:
    """Each task gets its option's code, -1 without a truth, -2 with a truth that is no option."""
    truths = Truths.from_frame(frame)
    assert truths.codes(WORDS).tolist() == [-2, -1, 1]
    assert truths.codes(WORDS).dtype == np.int32
    assert len(truths) in (2, 3)


@pytest.mark.parametrize(
    ("task", "truth"),
    [
        ([3, 1], [7, 5]),
        (["3", "1"], ["7", "5"]),
        ([3.0, 1.0], [7.0, 5.0]),
        (["3", "1", "other"], ["7", "5", "5"]),
        ([3, 1, 2], ["7", "5", "unsure"]),
        ([3, 1, 2], [7.0, 5.0, 6.5]),
    ],
)
def test_whole_numbers_match_their_texts(task: list[Any], truth: list[Any]) -> None:
    """Truths read as text match claims in whole numbers; a text that is no number is no option."""
    codes = Truths.from_frame({"task": task, "truth": truth}).codes(WHOLE).tolist()
    assert (codes[0], codes[2]) == (0, 1)
    assert codes[1] == (-2 if 2 in task else -1)


def test_whole_number_truths_match_claims_read_as_text() -> None:
    """Claims from CSV are texts; truths in whole numbers still match them."""
    claims = Claims.from_frame({"task": ["1", "2"], "worker": ["x"] * 2, "label": ["5", "7"]})
    assert Truths.from_frame({"task": [2, 1], "truth": [7, 9]}).codes(claims).tolist() == [-2, 1]


def test_numeric_truths_are_numbers_and_unknown_ones_nan() -> None:
    """Each task gets its true value, NaN where there is none; texts of numbers are read."""
    for truth in ([2, 1.5], ["2", "1.5"]):
        numbers = Truths.from_frame({"task": ["c", "a"], "truth": truth}).numbers(NUMBERS)
        assert numbers.tolist()[::2] == [1.5, 2.0]
        assert np.isnan(numbers[1])


@pytest.mark.parametrize("truth", [["two", "3"], pd.to_datetime(["2020-01-01", "2021-01-01"])])
def test_truths_that_are_no_numbers_are_refused_for_numeric_claims(truth: Any) -> None:
    """Words and dates are no true values of numeric claims."""
    with pytest.raises(SchemaError, match="column 'truth' must hold numbers"):
        Truths.from_frame({"task": ["a", "b"], "truth": truth}).numbers(NUMBERS)


def test_codes_of_numeric_claims_are_refused() -> None:
    """Numeric claims have no options, which the error says."""
    with pytest.raises(ParameterError, match="have no options; read them with kind='categorical'"):
        Truths.from_frame({"task": ["a"], "truth": [1]}).codes(NUMBERS)


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ({"task": ["a"]}, SchemaError, r"column 'truth' is missing; .*\['task'\]"),
        ({"truth": ["a"]}, SchemaError, "column 'task' is missing"),
        ({"task": [], "truth": []}, EmptyTable, "no rows"),
        ({"task": ["a", None], "truth": ["u", "v"]}, MissingValue, "column 'task', row 2"),
        (
            {"task": ["a", "b"], "truth": ["", "v"]},
            MissingValue,
            r"column 'truth', row 1: .*\(''\)",
        ),
        ({"task": ["a", "b"], "truth": [1, np.nan]}, MissingValue, "column 'truth', row 2"),
        (pa.table({"task": [1], "truth": [float("nan")]}), MissingValue, "column 'truth', row 1"),
        (
            {"task": ["a", "b", "a"], "truth": [1, 2, 3]},
            DuplicateClaim,
            "row 3: task 'a' has the truth 3, and 1 in row 1",
        ),
        ({"task": ["a", 1], "truth": [1, 2]}, MixedTypes, "column 'task', row 2: 1 is int"),
        ({"task": ["a", "b"], "truth": [[1], [2]]}, SchemaError, "column 'truth' holds list"),
        ({"task": ["a"], "truth": [1, 2]}, SchemaError, "columns differ in length"),
    ],
)
def test_bad_truths_are_named(frame: Any, error: type[InputError], message: str) -> None:
    """Missing columns and values, doubled tasks and odd types are errors with column and row."""
    with pytest.raises(error, match=message):
        Truths.from_frame(frame)


def test_truths_are_read_from_files(tmp_path: Path) -> None:
    """CSV files of truths are read as texts, and missing files are errors."""
    path = tmp_path / "truths.csv"
    path.write_text('task,truth\na,u\n"b",v\n')
    assert Truths.read(path).codes(WORDS).tolist() == [0, 1, -1]
    path.write_text("task,truth\na,u\nb,\n")
    with pytest.raises(MissingValue, match="column 'truth', row 2"):
        Truths.read(path)
    with pytest.raises(UnreadableFile):
        Truths.read(tmp_path / "none.csv")


def test_truths_that_are_no_texts_match_no_label() -> None:
    """Bytes that are no text are known truths that no option equals."""
    truths = Truths.from_frame({"task": ["a", "b"], "truth": [b"\xff", b"u"]})
    assert truths.codes(WORDS).tolist() == [-2, -2, -1]


def test_equal_repeats_of_a_truth_are_one() -> None:
    """A task that stands twice with the same truth is known once, in the order of first rows."""
    rows = {"task": ["b", "a", "b", "a"], "truth": ["x", "y", "x", "y"]}
    assert Truths.from_frame(rows).to_arrow().to_pydict() == {
        "task": ["b", "a"],
        "truth": ["x", "y"],
    }
