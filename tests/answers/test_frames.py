"""Frames come in as Arrow tables and results go out in the caller's own kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from masquerade.answers import like_frame, to_arrow
from masquerade.answers.frames import (
    column_names,
    csv_bytes,
    first_missing,
    is_pandas,
    missing_column,
    plain_column,
    read_csv_bytes,
    read_table,
    write_table,
)
from masquerade.errors import MixedTypes, SchemaError, UnreadableFile

TABLE = pa.table({"task": ["a", "b"], "truth": [1, 2]})


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (pd.DataFrame({"x": [1]}), pd.DataFrame),
        (pl.DataFrame({"x": [1]}), pl.DataFrame),
        ({"x": [1]}, dict),
        (pa.table({"x": [1]}), pa.Table),
    ],
)
def test_results_come_back_in_the_kind_that_went_in(frame: Any, kind: type) -> None:
    """Pandas in, pandas out; likewise for polars, dicts of arrays and Arrow."""
    result = like_frame(TABLE, frame)
    assert isinstance(result, kind)
    assert to_arrow(result).to_pydict() == TABLE.to_pydict()
    assert is_pandas(frame) == (kind is pd.DataFrame)


def test_a_dict_comes_back_as_numpy_arrays() -> None:
    """The columns of a dict result are numpy arrays."""
    result = like_frame(TABLE, {})
    assert isinstance(result["truth"], np.ndarray)
    assert result["truth"].tolist() == [1, 2]


def test_an_arrow_table_is_taken_as_it_is() -> None:
    """A table without string views is not copied."""
    assert to_arrow(TABLE) is TABLE


def test_string_views_become_strings_and_other_columns_stay() -> None:
    """Views, plain or in dictionaries, empty or with gaps, become strings that can be sorted."""
    view = pa.array(["b", None, "a"]).cast(pa.string_view())
    coded = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), view)
    table = to_arrow(pa.table({"v": view, "d": coded, "n": [1, 2, 3]}))
    assert table.to_pydict() == {"v": ["b", None, "a"], "d": [None, "b", None], "n": [1, 2, 3]}
    assert table.schema.field("v").type == pa.large_string()
    assert table.schema.field("d").type.value_type == pa.large_string()
    assert to_arrow(table.slice(0, 0)).num_rows == 0
    assert to_arrow(pl.DataFrame({"x": ["a"]}).clear()).num_rows == 0


def test_only_the_columns_that_are_read_must_be_readable() -> None:
    """With `columns`, the content of other columns is not looked at; without, all must be sound."""
    frame = {"task": ["a", "b"], "note": [1, "x"]}
    assert to_arrow(frame, columns=("task",)).column_names == ["task", "note"]
    with pytest.raises(MixedTypes, match="column 'note', row 2"):
        to_arrow(frame)


def test_what_is_no_table_is_refused() -> None:
    """A list, a number and one column alone are not tables."""
    for frame in ([1], 3, pl.Series("x", [1])):
        with pytest.raises(SchemaError, match=r"is not a table.*; pass a pandas, polars"):
            to_arrow(frame)


def test_a_plain_column_spells_dictionaries_out() -> None:
    """Chunks and dictionaries become one array; a doubled name is an error."""
    table = pa.table({"x": pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode()})
    assert plain_column(table, "x").equals(pa.array(["a", "b", "a"]))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(SchemaError, match="column 'x' stands twice"):
        plain_column(twice, "x")


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["a", "b"], None),
        (["a", None, ""], 2),
        (["a", ""], 2),
        ([1.0, float("nan")], 2),
        ([1, 2, None], 3),
        ([None, None], 1),
        ([], None),
        ([" "], None),
    ],
)
def test_the_first_missing_row_is_found(values: list[Any], row: int | None) -> None:
    """Null, NaN and empty text are missing; rows are counted from 1."""
    assert first_missing(pa.array(values)) == row


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "pq", "PARQUET"])
def test_tables_survive_files(tmp_path: Path, ending: str) -> None:
    """Written tables are read back; CSV as text, Parquet with its types."""
    path = tmp_path / f"t.{ending}"
    write_table(TABLE, path)
    assert path.read_bytes()[:2] == {"csv": b'"t', "csv.gz": b"\x1f\x8b"}.get(ending, b"PA")
    truths = [1, 2] if "csv" not in ending else ["1", "2"]
    assert read_table(path).to_pydict() == {"task": ["a", "b"], "truth": truths}
    assert read_table(str(path)).num_rows == 2


def test_tables_survive_memory(tmp_path: Path) -> None:
    """The content of a CSV file is the same in memory, and is read as the file is."""
    write_table(TABLE, tmp_path / "t.csv")
    assert csv_bytes(TABLE) == (tmp_path / "t.csv").read_bytes()
    assert read_csv_bytes(csv_bytes(TABLE)) == read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "upload cannot be read"),
        (b"task,truth\na,1\nb\n", "upload cannot be read: row 2 has 1 fields"),
        ("täsk,truth\n".encode() + b"\xff,1\n", "column 'täsk', row 1: .* not UTF-8"),
        (b"\xef\xbb\xbft\xc3\xa2che,\xc3\xa9\na,\xe9\n", "column 'é', row 1: .* not UTF-8"),
        (b"task,truth\na,1\n\xff,\xfe,\xe9\n", "row 2 has 3 fields where the header has 2"),
        (b"\x1f\xe9\xfe,\x81\n\xf4\n\xe9,\x80,\n", "its header is not UTF-8 text; expected a CSV"),
    ],
)
def test_what_is_wrong_with_bytes_is_said(data: bytes, words: str) -> None:
    """As of a file, with the row, under the name that the caller gives."""
    with pytest.raises(UnreadableFile, match=words):
        read_csv_bytes(data, name="the upload")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path, text: str) -> None:
    """It ends in a sentence with the file's name, in both forms."""
    for ending in ("json", "jsonl"):
        path = tmp_path / f"deep.{ending}"
        path.write_text(text)
        with pytest.raises(UnreadableFile, match="cannot be read"):
            read_table(path)


def test_rows_without_a_common_key_are_refused(tmp_path: Path) -> None:
    """A short file does not come to a table as large as its square; few missing keys do no harm."""
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(f'{{"k{n}":1}}\n' for n in range(4_000)))
    with pytest.raises(UnreadableFile, match="4,000 rows with 4,000 different keys"):
        read_table(path)
    path.write_text("".join(f'{{"k{n % 40}":1,"all":2}}\n' for n in range(4_000)))
    assert read_table(path).shape == (4_000, 41)


def test_a_file_of_another_kind_is_refused_both_ways(tmp_path: Path) -> None:
    """Reading and writing name the ending and the ones that work."""
    path = tmp_path / "table.ods"
    with pytest.raises(UnreadableFile, match=r"'\.ods'; expected \.csv"):
        write_table(TABLE, path)
    path.write_text("x")
    with pytest.raises(UnreadableFile, match=r"is a spreadsheet; save it as \.xlsx or CSV"):
        read_table(path)
    other = tmp_path / "table.dat"
    other.write_text("x")
    with pytest.raises(UnreadableFile, match=r"'\.dat'; expected \.csv"):
        read_table(other)
    bare = tmp_path / "table"
    bare.write_text("x")
    with pytest.raises(UnreadableFile, match=r"ending '\(none\)'"):
        read_table(bare)


@pytest.mark.parametrize("text", ["me", b"me"])
def test_a_text_is_no_column(text: Any) -> None:
    """A single text is not read letter by letter as a column of letters."""
    with pytest.raises(SchemaError, match=r"column 'worker' is (str|bytes) .*one entry a row"):
        to_arrow({"task": ["a", "b"], "worker": text})


def test_a_series_and_a_type_unknown_to_arrow_are_no_tables() -> None:
    """One column alone, and 128-bit integers, are refused with the reason."""
    wide = pl.DataFrame({"task": [1]}).with_columns(pl.col("task").cast(pl.Int128))
    with pytest.raises(SchemaError, match=r"is not a table that can be read \(.*; pass a pand"):
        to_arrow(wide)
    # the reason is there from pandas 3 on, whose columns speak Arrow
    with pytest.raises(SchemaError, match=r"Series is not a table.*; pass a pand"):
        to_arrow(pd.Series([1, 2]))


def test_a_lazy_frame_is_collected() -> None:
    """A lazy frame is read as the table it comes to; results then come as polars tables."""
    lazy = pl.LazyFrame({"x": ["b", "a"]}).filter(pl.col("x") == "a")
    assert to_arrow(lazy).to_pydict() == {"x": ["a"]}
    assert isinstance(like_frame(TABLE, lazy), pl.DataFrame)


def test_objects_are_refused_and_not_read_as_addresses() -> None:
    """A polars column of Python objects is refused where it is read, and ignored elsewhere."""
    frame = pl.DataFrame({"x": [object()], "y": [1]})
    with pytest.raises(SchemaError, match="column 'x' holds objects; give texts"):
        to_arrow(frame)
    assert to_arrow(frame, columns=("y",))["y"].to_pylist() == [1]


def test_any_object_that_speaks_arrow_is_read() -> None:
    """An object with the Arrow interface is a table, though no library of frames made it."""

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return TABLE.__arrow_c_stream__(requested_schema)

    assert to_arrow(Stream()) == TABLE
    assert column_names(Stream()) == column_names(TABLE) == ["task", "truth"]
    assert like_frame(TABLE, Stream()) is TABLE


def test_types_of_their_own_are_refused() -> None:
    """Pandas periods are neither texts nor numbers."""
    table = to_arrow(pd.DataFrame({"x": pd.period_range("2020", periods=2, freq="D")}))
    with pytest.raises(SchemaError, match=r"column 'x' holds pandas.period; give texts"):
        plain_column(table, "x")


def test_views_are_read_as_texts_and_bytes() -> None:
    """Views of strings and of bytes, which Arrow cannot sort, become plain columns."""
    table = to_arrow(
        {"x": pa.array(["b"], pa.string_view()), "y": pa.array([b"b"], pa.binary_view())}
    )
    assert [str(field.type) for field in table.schema] == ["large_string", "large_binary"]


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        (["Task", "worker"], "Rename 'Task' to 'task'"),
        (["worker", " task"], "Rename ' task' to 'task'"),
        (["job", "worker"], "Rename a column, or add it"),
    ],
)
def test_a_missing_column_says_what_is_probably_meant(found: list[str], hint: str) -> None:
    """Other capitals and spaces are recognised."""
    assert hint in str(missing_column("task", found))
