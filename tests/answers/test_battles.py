"""Tables of votes between two items: layouts, outcomes, files and errors with rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from masquerade.answers import Battles
from masquerade.answers.frames import write_table
from masquerade.errors import (
    EmptyTable,
    InvalidRecord,
    MasqueradeError,
    MissingValue,
    ParameterError,
    SchemaError,
    UnreadableFile,
)

ARENA: dict[str, list[Any]] = {
    "model_a": ["x", "y", "x"],
    "model_b": ["y", "z", "z"],
    "winner": ["model_a", "tie", "model_b"],
}


@pytest.mark.parametrize(
    "table",
    [
        ARENA,
        ARENA | {"winner": ["1", ".5", "0"]},
        ARENA | {"winner": [1, 0.5, 0]},
        ARENA | {"winner": ["left", "tie (bothbad)", "right"]},
        ARENA | {"winner": ["x", "both_bad", "z"]},
        {"left": ["x", "y", "x"], "right": ["y", "z", "z"], "label": ["x", "tie", "z"]},
        {"chosen": ["x", "y", "z"], "rejected": ["y", "z", "x"], "tie": [0, 1, 0]},
        {"chosen": ["x", "y", "z"], "rejected": ["y", "z", "x"], "tie": [False, True, False]},
    ],
    ids=["arena", "texts", "numbers", "sides", "names", "crowd-kit", "chosen", "flags"],
)
def test_each_layout_is_read_the_same(table: dict[str, list[Any]]) -> None:
    """Item x beats y, y and z tie, z beats x, whichever way the table says it."""
    battles = Battles.from_frame(table)
    won = []
    for first, second, outcome in zip(battles.first, battles.second, battles.outcome, strict=True):
        pair = (battles.items[first], battles.items[second])
        won.append(frozenset(pair) if outcome == 1 else pair[0] if outcome == 0 else pair[1])
    assert won == ["x", frozenset("yz"), "z"]
    assert battles.items == ("x", "y", "z")
    assert battles.n_ties == 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_other_libraries_are_read(frame: Any) -> None:
    """pandas, polars and pyarrow tables."""
    assert Battles.from_frame(frame(ARENA)).outcome.tolist() == [0, 1, 2]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".xlsx", ".json", ".jsonl"])
def test_each_kind_of_file_is_read(tmp_path: Path, ending: str) -> None:
    """With a voter and a covariate; a Parquet file's other columns are left out."""
    table = ARENA | {"judge": ["a", "b", "a"], "home": [1, 0, 1], "prompt": ["p", "q", "r"]}
    path = tmp_path / f"battles{ending}"
    rows = pa.table(table).to_pylist()
    if ending == ".json":
        path.write_text(json.dumps(rows))
    elif ending == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    else:
        write_table(pa.table(table), path)
    battles = Battles.read(path, covariates=["home"])
    assert battles.outcome.tolist() == [0, 1, 2]
    assert (battles.voters, battles.covariates[:, 0].tolist()) == (2, [1, 0, 1])


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Codes, weights and voters survive a file."""
    table = ARENA | {"voter": ["a", "b", "a"], "weight": [1.0, 0.5, 2.0]}
    battles = Battles.from_frame(table)
    battles.write(tmp_path / "battles.parquet")
    again = Battles.read(tmp_path / "battles.parquet")
    assert again.items == battles.items
    assert again.outcome.tolist() == battles.outcome.tolist()
    assert again.weight is not None
    assert again.weight.tolist() == [1.0, 0.5, 2.0]


def test_both_bad_is_a_tie_or_nothing() -> None:
    """A vote that both are bad is a tie, and is left out where that is asked for."""
    table = ARENA | {"winner": ["model_a", "tie (bothbad)", "model_b"]}
    assert Battles.from_frame(table).outcome.tolist() == [0, 1, 2]
    assert Battles.from_frame(table, both_bad="drop").outcome.tolist() == [0, 2]


def test_listed_items_keep_their_order() -> None:
    """A public list stands in the result as given, met or not."""
    battles = Battles.from_frame(ARENA, items=["z", "w", "y", "x"])
    assert battles.items == ("z", "w", "y", "x")
    assert battles.items_given


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"a": ["x"]}, SchemaError, "'model_a' and 'model_b' are missing"),
        ({"model_a": ["x"], "model_b": ["y"]}, SchemaError, "'winner' is missing"),
        ({name: [] for name in ARENA}, EmptyTable, "no rows"),
        (ARENA | {"model_b": ["y", "y", "z"]}, InvalidRecord, "row 2: 'y' is compared with itself"),
        (ARENA | {"winner": ["model_a", "draw", "model_b"]}, InvalidRecord, "row 2: 'draw'"),
        (ARENA | {"winner": ["model_a", None, "model_b"]}, InvalidRecord, "row 2: the outcome"),
        (ARENA | {"model_a": ["x", "", "x"]}, InvalidRecord, "'model_a', row 2: the item"),
        (ARENA | {"model_a": ["x", None, "x"]}, InvalidRecord, "'model_a', row 2: the item"),
        (ARENA | {"weight": [1, -1, 1]}, InvalidRecord, "row 2: -1.0 is below 0"),
        (ARENA | {"weight": [1, float("inf"), 1]}, InvalidRecord, "row 2: inf is not finite"),
        (ARENA | {"voter": ["a", None, "b"]}, MissingValue, "'voter', row 2"),
        (ARENA | {"voter": ["a"] * 3, "user": ["b"] * 3}, SchemaError, "name one with voter="),
        (
            {"chosen": ["x", "y"], "rejected": ["y", "x"], "tie": [0, 2]},
            InvalidRecord,
            "'tie', row 2: '2' is not 1",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_row(
    table: dict[str, list[Any]], error: type[MasqueradeError], message: str
) -> None:
    """Nothing unknown is taken for a tie."""
    with pytest.raises(error, match=message):
        Battles.from_frame(table)


def test_items_outside_the_list_and_odd_options_are_refused(tmp_path: Path) -> None:
    """With the row of the stranger; and a line of JSON that is none."""
    with pytest.raises(InvalidRecord, match="'model_b', row 2: 'z' is not among"):
        Battles.from_frame(ARENA, items=["x", "y"])
    with pytest.raises(ParameterError, match="both_bad"):
        Battles.from_frame(ARENA, both_bad="maybe")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="'length' is missing"):
        Battles.from_frame(ARENA, covariates=["length"])
    path = tmp_path / "battles.jsonl"
    path.write_text('{"model_a": "x"}\n[1]\n')
    with pytest.raises(UnreadableFile, match=r"row 2 is \[1\]"):
        Battles.read(path)
    path.write_text('{"model_a": "x"}\n{"model_a"\n')
    with pytest.raises(UnreadableFile, match="row 2"):
        Battles.read(path)
