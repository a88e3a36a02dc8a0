"""Comparisons are checked once, row by row, and stand sorted by voter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Comparisons, Feature, to_arrow
from masquerade.errors import (
    DuplicateVoter,
    EmptyTable,
    InvalidRecord,
    MissingValue,
    ParameterError,
    SchemaError,
    UnreadableFile,
)

ROWS: dict[str, list[Any]] = {
    "voter": ["b", "a", "b", "c"],
    "comparison": [1, 1, 2, 1],
    "price": [-300.0, 200.0, 100.0, 0.0],
    "comfort": [1.0, 0.0, -1.0, 0.0],
}
RANGES = {"price": (0.0, 1000.0), "comfort": (0.0, 2.0)}


def test_records_of_a_voter_stand_together_in_the_order_of_the_table() -> None:
    """Records are sorted by voter, voters by first appearance; offsets say where each begins."""
    comparisons = Comparisons.from_frame(ROWS)
    assert comparisons.voters.to_pylist() == ["b", "a", "c"]
    assert comparisons.offsets.tolist() == [0, 2, 3, 4]
    assert comparisons.voter.tolist() == [0, 0, 1, 2]
    assert comparisons.difference.tolist() == [[-300, 1], [100, -1], [200, 0], [0, 0]]
    assert comparisons.of_voter(0).tolist() == [[-300, 1], [100, -1]]
    assert comparisons.names == ("price", "comfort")
    assert (len(comparisons), comparisons.n_voters, comparisons.n_features) == (4, 3, 2)
    assert comparisons.most_records_of_a_voter() == 2
    assert repr(comparisons) == "Comparisons(4 records of 3 voters, 2 features)"


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_of_frame_gives_the_same_comparisons(kind: Callable[..., Any]) -> None:
    """pandas, polars, Arrow and plain dicts are read alike."""
    given_one, expected = Comparisons.from_frame(kind(ROWS)), Comparisons.from_frame(ROWS)
    assert given_one.voters.to_pylist() == expected.voters.to_pylist()
    np.testing.assert_array_equal(given_one.difference, expected.difference)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files_go_round(tmp_path: Path, ending: str) -> None:
    """Written comparisons are read back, numbers exactly."""
    rows = {"voter": ["x", "y", "x"], "f": [0.1, -1 / 3, 2.5], "g": [1.0, 0.0, -7.0]}
    comparisons = Comparisons.from_frame(rows)
    comparisons.write(tmp_path / f"c.{ending}")
    again = Comparisons.read(tmp_path / f"c.{ending}")
    np.testing.assert_array_equal(again.difference, comparisons.difference)
    np.testing.assert_array_equal(again.offsets, comparisons.offsets)
    with pytest.raises(UnreadableFile, match="is not a file"):
        Comparisons.read(tmp_path / "nothing.csv")


def test_differences_are_scaled_by_the_public_ranges_alone() -> None:
    """A difference is divided by the width of its range, and by 1 where none was declared."""
    comparisons = Comparisons.from_frame(ROWS, ranges=RANGES)
    assert comparisons.features == (Feature("price", 0, 1000), Feature("comfort", 0, 2))
    assert comparisons.scaled()[0].tolist() == [-0.3, 0.5]
    assert np.abs(comparisons.scaled()).max() <= 1
    unscaled = Comparisons.from_frame(ROWS)
    np.testing.assert_array_equal(unscaled.scaled(), unscaled.difference)


def test_pairs_give_their_difference() -> None:
    """Both alternatives can be given by their features; each is clipped to its range."""
    comparisons = Comparisons.from_pairs(
        [[1.0, 5.0], [0.0, 9.0]],
        [[3.0, 5.0], [1.0, 2.0]],
        ["v", "w"],
        features=["f", "g"],
        ranges={"f": (0, 3), "g": (0, 6)},
    )
    assert comparisons.difference.tolist() == [[-2, 0], [-1, 4]]
    assert comparisons.clipped == 1


# The table of bad input, row by row.


@pytest.mark.parametrize("bad", [float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_names_voter_and_row(bad: float) -> None:
    """Infinity is refused with row, voter and feature."""
    rows = ROWS | {"price": [1.0, 2.0, bad, 4.0]}
    with pytest.raises(InvalidRecord, match=r"'price', row 3 \(voter 'b'\): -?inf is not finite"):
        Comparisons.from_frame(rows)


@pytest.mark.parametrize("bad", [float("nan"), None])
def test_a_missing_number_names_voter_and_row(bad: float | None) -> None:
    """NaN and null are refused with row, voter and feature."""
    rows = ROWS | {"comfort": [1.0, bad, 0.0, 0.0]}
    with pytest.raises(InvalidRecord, match=r"'comfort', row 2 \(voter 'a'\).*missing"):
        Comparisons.from_frame(rows)


def test_a_text_among_numbers_names_voter_and_row(tmp_path: Path) -> None:
    """A text in a column of numbers is refused, and the message says how to leave columns out."""
    path = tmp_path / "c.csv"
    path.write_text("voter,f\nv,1\nv,cheap\n")
    with pytest.raises(InvalidRecord, match=r"'f', row 2 \(voter 'v'\): 'cheap' is not a number"):
        Comparisons.read(path)


@pytest.mark.parametrize(
    ("chosen", "rejected"),
    [
        ([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]),
        ([1.0, 2.0], [[1.0, 2.0]]),
        ([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]]),
        ([["a", "b"]], [[1.0, 2.0]]),
        ([[1.0, float("nan")]], [[1.0, 2.0]]),
    ],
)
def test_pairs_that_do_not_fit_the_features_are_refused(chosen: Any, rejected: Any) -> None:
    """Another number of features or records, texts and NaN are all refused."""
    with pytest.raises(InvalidRecord):
        Comparisons.from_pairs(chosen, rejected, ["v"], features=["f", "g"])


def test_a_feature_outside_its_range_is_clipped_and_counted() -> None:
    """Numbers beyond the range are clipped, and a private count says how many there were."""
    rows = ROWS | {"price": [-3000.0, 200.0, 5000.0, 0.0]}
    comparisons = Comparisons.from_frame(rows, ranges=RANGES)
    assert comparisons.clipped == 2
    assert comparisons.difference[:, 0].tolist() == [-1000, 1000, 200, 0]


def test_a_zero_difference_is_kept() -> None:
    """Two equal alternatives are a record like any other."""
    assert Comparisons.from_frame(ROWS).of_voter(2).tolist() == [[0.0, 0.0]]


def test_a_voter_without_records_is_counted() -> None:
    """Declared voters are there even if they said nothing, in their declared order."""
    comparisons = Comparisons.from_frame(ROWS, voters=["z", "a", "b", "c"])
    assert comparisons.voters.to_pylist() == ["z", "a", "b", "c"]
    assert comparisons.records_per_voter().tolist() == [0, 1, 2, 1]
    nobody = Comparisons.from_frame({"voter": [], "f": []}, voters=["x", "y"])
    assert (len(nobody), nobody.n_voters) == (0, 2)
    assert nobody.most_records_of_a_voter() == 0


def test_a_voter_declared_twice_is_refused() -> None:
    """One voter has one budget."""
    with pytest.raises(DuplicateVoter, match="'a' is declared twice"):
        Comparisons.from_frame(ROWS, voters=["a", "b", "a", "c"])
    with pytest.raises(DuplicateVoter):
        Comparisons.from_frame(ROWS).of_voters([0, 0])


def test_a_record_of_an_undeclared_voter_is_refused() -> None:
    """A stranger's record names its row."""
    with pytest.raises(InvalidRecord, match=r"row 4: 'c' is not among the 2 declared voters"):
        Comparisons.from_frame(ROWS, voters=["a", "b"])
    with pytest.raises(ParameterError, match="declared voters"):
        Comparisons.from_frame(ROWS, voters=[1.5, object()])


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        ({"f": [1.0]}, SchemaError, "column 'voter' is missing"),
        ({"voter": ["v"]}, SchemaError, "no feature"),
        ({"voter": [], "f": []}, EmptyTable, "no rows"),
        ({"voter": ["v", None], "f": [1.0, 2.0]}, MissingValue, "row 2"),
        ({"voter": [["v"]], "f": [1.0]}, SchemaError, "ids"),
        ({"voter": ["v"], "f": [1.0], "choice": [None]}, MissingValue, "'choice', row 1"),
    ],
)
def test_a_table_of_the_wrong_form_is_refused(
    rows: dict[str, Any], error: type[Exception], match: str
) -> None:
    """Missing columns, ids and rows are refused with advice."""
    with pytest.raises(error, match=match):
        Comparisons.from_frame(rows)


@pytest.mark.parametrize(
    "ranges",
    [
        {"price": (0, 1)},
        {"price": (0, 1), "comfort": (0, 1), "speed": (0, 1)},
        {"price": (1, 0), "comfort": (0, 1)},
        {"price": (0, float("inf")), "comfort": (0, 1)},
        {"price": (0, float("nan")), "comfort": (0, 1)},
        {"price": (0, 1, 2), "comfort": (0, 1)},
        {"price": ("a", "b"), "comfort": (0, 1)},
    ],
)
def test_ranges_that_say_too_little_are_refused(ranges: Any) -> None:
    """Every feature has a finite range, lower end first, or none has one."""
    with pytest.raises(ParameterError):
        Comparisons.from_frame(ROWS, ranges=ranges)


def test_declared_features_choose_the_columns() -> None:
    """Other columns are ignored, with any content; a missing one is an error."""
    rows = ROWS | {"note": ["x", "y", "z", "w"]}
    comparisons = Comparisons.from_frame(rows, features=["comfort", "price"])
    assert comparisons.names == ("comfort", "price")
    with pytest.raises(SchemaError, match="'speed', declared as a feature, is missing"):
        Comparisons.from_frame(rows, features=["speed"])
    with pytest.raises(SchemaError, match="stands twice"):
        Comparisons.from_frame(rows, features=["price", "price"])
    with pytest.raises(SchemaError, match="no feature"):
        Comparisons.from_frame(rows, features=["voter"])
    with pytest.raises(ParameterError, match="sequence"):
        Comparisons.from_frame(rows, features="price")


def test_rows_can_each_be_of_their_own_voter() -> None:
    """Without a column of voters, every row is a voter where the caller says so."""
    comparisons = Comparisons.from_frame({"f": [1.0, 2.0]}, one_each=True)
    assert comparisons.records_per_voter().tolist() == [1, 1]
    with pytest.raises(ParameterError, match="own voter"):
        Comparisons.from_frame({"f": [1.0]}, one_each=True, voters=["v"])


def test_records_of_one_choice_are_known_to_depend_on_one_another() -> None:
    """A choice costs the largest number of records per choice of one voter."""
    rows = {"voter": ["a", "a", "a", "b"], "choice": [1, 1, 2, 1], "f": [1.0, 2.0, 3.0, 4.0]}
    comparisons = Comparisons.from_frame(rows)
    assert comparisons.most_records_of_a_choice() == 2
    assert comparisons.names == ("f",)
    assert Comparisons.from_frame(ROWS).most_records_of_a_choice() == 1
    again = Comparisons.from_frame(comparisons.to_arrow())
    assert again.most_records_of_a_choice() == 2


def test_named_items_are_coded() -> None:
    """Records without features name two items, and can be turned into one feature an item."""
    rows = {
        "voter": ["v", "w", "v"],
        "chosen": ["tea", "milk", "tea"],
        "rejected": ["milk", "cola", "cola"],
    }
    comparisons = Comparisons.from_frame(rows)
    assert comparisons.items is not None
    assert comparisons.items.to_pylist() == ["cola", "milk", "tea"]
    assert repr(comparisons) == "Comparisons(3 records of 2 voters, 3 items)"
    by_items = comparisons.by_items()
    assert by_items.names == ("cola", "milk", "tea")
    assert by_items.difference.tolist() == [[0, -1, 1], [-1, 0, 1], [-1, 1, 0]]
    assert Comparisons.from_frame(comparisons.to_arrow()).items == comparisons.items
    with pytest.raises(ParameterError, match="name no items"):
        Comparisons.from_frame(ROWS).by_items()


@pytest.mark.parametrize(
    ("chosen", "rejected", "match"),
    [("tea", "tea", "compared with itself"), (None, "tea", "'chosen', row 1")],
)
def test_a_bad_pair_of_items_is_refused(chosen: Any, rejected: Any, match: str) -> None:
    """An item compared with itself, or with nothing, is an error with its row."""
    with pytest.raises(InvalidRecord, match=match):
        Comparisons.from_frame({"voter": ["v"], "chosen": [chosen], "rejected": [rejected]})


def test_parts_of_the_comparisons_can_be_taken() -> None:
    """Voters can be chosen in any order, and records capped; everything else follows."""
    rows = ROWS | {"choice": [5, 6, 7, 8]}
    comparisons = Comparisons.from_frame(rows)
    some = comparisons.of_voters([2, 0])
    assert some.voters.to_pylist() == ["c", "b"]
    assert some.difference.tolist() == [[0, 0], [-300, 1], [100, -1]]
    assert comparisons.of_voters(np.array([True, False, False])).offsets.tolist() == [0, 2]
    capped = comparisons.at_most(1)
    assert capped.records_per_voter().tolist() == [1, 1, 1]
    assert capped.difference.tolist() == [[-300, 1], [200, 0], [0, 0]]
    assert capped.choice is not None
    assert len(capped.choice) == 3
    with pytest.raises(ParameterError, match="at least 1"):
        comparisons.at_most(0)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.floats(-100, 100), st.floats(-100, 100)), min_size=1
    )
)
def test_prop_nothing_is_lost_by_sorting(rows: list[tuple[int, float, float]]) -> None:
    """Each voter's records are those of the table, in their order, for every order of rows."""
    voter, f, g = (list(column) for column in zip(*rows, strict=True))
    comparisons = Comparisons.from_frame({"voter": voter, "f": f, "g": g})
    for code, name in enumerate(comparisons.voters.to_pylist()):
        expected = [[x, y] for v, x, y in rows if v == name]
        assert comparisons.of_voter(code).tolist() == expected
    again = Comparisons.from_frame(to_arrow(comparisons.to_arrow()))
    np.testing.assert_array_equal(again.difference, comparisons.difference)


def test_declared_voters_need_ids() -> None:
    """A declared voter without an id, or a text in place of the voters, is an error."""
    with pytest.raises(ParameterError, match="the id of declared voter 2 is missing"):
        Comparisons.from_frame(ROWS, voters=["a", None, "b", "c"])
    with pytest.raises(ParameterError, match="voters is 'abc', expected a sequence"):
        Comparisons.from_frame(ROWS, voters="abc")


@pytest.mark.parametrize("code", [-1, 3])
def test_only_voters_that_there_are_can_be_kept(code: int) -> None:
    """A code of nobody is refused; -1 is not the last voter."""
    with pytest.raises(ParameterError, match=f"voter {code} is asked for, expected codes 0 to 2"):
        Comparisons.from_frame(ROWS).of_voters([0, code])
