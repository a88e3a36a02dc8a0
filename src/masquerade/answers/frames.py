"""Tables in and out: any frame that speaks Arrow, a dict of arrays, CSV(.gz) or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from masquerade.errors import InputError, MixedTypes, SchemaError, UnreadableFile

Frame = Any
"""A pandas, polars, pyarrow or duckdb table, or a dict of arrays."""

MISSING_TEXT = ("", "NaN", "nan", "null", "NULL")
"""Texts that a CSV file may hold for "no value"; each is reported, never read as a label."""


def to_arrow(frame: Frame) -> pa.Table:
    """Return `frame` as an Arrow table.

    Raises
    ------
    MixedTypes
        A column holds values of several types; the message names the first odd row.
    SchemaError
        The object is not a table.
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, Mapping):
        columns = {str(name): _to_array(column, str(name)) for name, column in frame.items()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise SchemaError(f"columns differ in length: {lengths}; give every column one length.")
        return pa.table(columns)
    if _is_pandas(frame):
        return pa.table(
            {str(name): _to_array(frame[name], str(name)) for name in frame.columns},
        )
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if hasattr(frame, "to_arrow_table"):
        return frame.to_arrow_table()
    raise SchemaError(
        f"{type(frame).__name__} is not a table; pass a pandas, polars, pyarrow or duckdb table, "
        "or a dict of arrays."
    )


def like_frame(table: pa.Table, frame: Frame) -> Frame:
    """Return `table` in the kind of `frame`: pandas, polars, dict of arrays, else Arrow."""
    if _is_pandas(frame):
        return table.to_pandas()
    if isinstance(frame, Mapping):
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(frame, polars.DataFrame):
        return polars.from_arrow(table)
    return table


def is_pandas(frame: Frame) -> bool:
    """Return whether `frame` is a pandas DataFrame (pandas itself is never imported here)."""
    return _is_pandas(frame)


def _is_pandas(frame: Frame) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _to_array(column: Any, name: str) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise _mixed_types(column, name) from error


def _mixed_types(column: Any, name: str) -> InputError:
    first: Any = None
    for row, value in enumerate(column, start=1):
        if value is None or value != value:
            continue
        if first is None:
            first = value
        elif type(value) is not type(first):
            return MixedTypes(
                f"column {name!r}, row {row}: {value!r} is {type(value).__name__} while earlier "
                f"rows hold {type(first).__name__}; give the whole column one type."
            )
    return SchemaError(f"column {name!r} cannot be read as one column of values.")


def read_table(path: str | Path) -> pa.Table:
    """Read a CSV (also .gz) file, every column as text, or a Parquet file with its own types.

    Raises
    ------
    UnreadableFile
        The file is not there, of another kind, or broken (with the line, where known).
    """
    path = Path(path)
    if not path.is_file():
        raise UnreadableFile(f"{path} is not a file; check the path.")
    name = path.name.lower()
    try:
        if name.endswith((".parquet", ".pq")):
            return pa_parquet.read_table(path)
        if name.endswith((".csv", ".csv.gz")):
            return _read_csv(path)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}") from error
    raise UnreadableFile(
        f"{path} has the ending {path.suffix or '(none)'!r}; expected .csv, .csv.gz or .parquet."
    )


def _read_csv(path: Path) -> pa.Table:
    with pa_csv.open_csv(path) as reader:
        names = reader.schema.names
    return pa_csv.read_csv(
        path,
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=list(MISSING_TEXT),
            strings_can_be_null=True,
        ),
    )


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write `table` as CSV (also .gz) or Parquet, by the ending of `path`."""
    path = Path(path)
    name = path.name.lower()
    try:
        if name.endswith((".parquet", ".pq")):
            pa_parquet.write_table(table, path)
        elif name.endswith(".csv"):
            pa_csv.write_csv(table, path, pa_csv.WriteOptions(quoting_style="needed"))
        elif name.endswith(".csv.gz"):
            with pa.CompressedOutputStream(str(path), "gzip") as sink:
                pa_csv.write_csv(table, sink, pa_csv.WriteOptions(quoting_style="needed"))
        else:
            raise UnreadableFile(
                f"{path} has the ending {path.suffix or '(none)'!r}; "
                "expected .csv, .csv.gz or .parquet."
            )
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error}") from error
