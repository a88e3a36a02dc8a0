"""Tables in and out: any frame, a dict of arrays, CSV(.gz), Parquet or a spreadsheet."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from masquerade.answers.csv_files import read_csv
from masquerade.answers.sheets import read_sheet, write_sheet
from masquerade.errors import InputError, MissingValue, MixedTypes, SchemaError, UnreadableFile
from masquerade.lazy import suggestion

#: A table of any kind that narwhals reads (pandas, polars, pyarrow, duckdb, Ibis, ...), any
#: object that speaks the Arrow interface, or a dict of arrays.
Frame = Any

#: The path that is standard input or output.
STANDARD = Path("-")

_EARLIER = b"masquerade: earlier name of "  # key of a renamed column in a schema's metadata

_ENDINGS = ".csv, .csv.gz, .parquet, .xlsx, .json or .jsonl"
_SEPARATED = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET_MAGIC = b"PAR1"
# A table of JSON with more cells has values in at least one of so many.
_MOST_CELLS, _MOST_CELLS_FOR_ONE = 10_000_000, 20
_QUOTED = pa_csv.WriteOptions(quoting_style="needed")


def to_arrow(frame: Frame, *, columns: Collection[str] | None = None) -> pa.Table:
    """Return `frame` as an Arrow table.

    Parameters
    ----------
    frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
        Or whatever else narwhals or the Arrow interface reads. A lazy frame (polars, Ibis,
        PySpark) is collected.
    columns : collection of str, optional
        The columns that will be read; the content of others is ignored. Default: all.

    Raises
    ------
    MixedTypes
        A column holds values of several types; the message names the first odd row.
    SchemaError
        The object is not a table.

    Examples
    --------
    >>> to_arrow({"task": ["a", "b"], "value": [1.0, 2.5]}).to_pylist()
    [{'task': 'a', 'value': 1.0}, {'task': 'b', 'value': 2.5}]
    """
    if isinstance(frame, pa.Table):
        return _without_views(frame)
    if isinstance(frame, Mapping):
        _require_one_index(frame)
        return _assemble([(str(name), column) for name, column in frame.items()], columns)
    # pandas column by column: of a column of objects we say which row is odd.
    if is_pandas(frame):
        names = [str(name) for name in frame.columns]
        return _assemble([(n, frame.iloc[:, i]) for i, n in enumerate(names)], columns)
    return _without_views(_of_frame(frame, columns))


def _require_one_index(columns: Mapping[Any, Any]) -> None:
    """Refuse pandas series of different rows, which would be put together by their places."""
    pandas = sys.modules.get("pandas")
    series = [
        (name, column)
        for name, column in columns.items()
        if pandas is not None and isinstance(column, pandas.Series)
    ]
    for name, column in series[1:]:
        if not column.index.equals(series[0][1].index):
            raise SchemaError(
                f"columns {series[0][0]!r} and {name!r} are pandas series with different indexes. "
                "Make a table of them with pandas.DataFrame(columns), which joins rows by the "
                "index, or give their values alone with .to_numpy()."
            )


def _of_frame(frame: Frame, columns: Collection[str] | None) -> pa.Table:
    import narwhals

    known = narwhals.from_native(frame, pass_through=True)
    try:
        if isinstance(known, narwhals.LazyFrame):
            known = known.collect("pyarrow")
        if isinstance(known, narwhals.DataFrame):
            for name, kind in known.schema.items():
                # Arrow would hold the objects' addresses in memory.
                if kind == narwhals.Object and (columns is None or name in columns):
                    raise SchemaError(f"column {name!r} holds objects; give texts or numbers.")
            return known.to_arrow()
        if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
            return pa.table(frame)
    except pa.ArrowException as error:  # one column alone, or a type that Arrow does not have
        raise _no_table(frame, str(error)) from error
    raise _no_table(frame)


def _no_table(frame: Frame, reason: str = "") -> SchemaError:
    because = f" that can be read ({reason})" if reason else ""
    return SchemaError(
        f"{type(frame).__name__} is not a table{because}; pass a pandas, polars, pyarrow or "
        "duckdb table, or a dict of arrays (a file is read with read(path))."
    )


def like_frame(table: pa.Table, frame: Frame) -> Frame:
    """Return `table` in the kind of `frame`; Arrow where that kind is lazy or not known.

    Examples
    --------
    >>> like_frame(pa.table({"task": ["a"], "label": ["cat"]}), pa.table({"any": [1]})).column_names
    ['task', 'label']
    """
    if isinstance(frame, pa.Table):
        return table
    if isinstance(frame, Mapping):
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    if is_pandas(frame):
        return table.to_pandas()
    import narwhals

    known = narwhals.from_native(frame, pass_through=True)
    if isinstance(known, narwhals.DataFrame):
        return narwhals.from_arrow(table, backend=known.implementation).to_native()
    if isinstance(known, narwhals.LazyFrame) and known.implementation.is_polars():
        return narwhals.from_arrow(table, backend=known.implementation).to_native()
    return table


def is_pandas(frame: Frame) -> bool:
    """Return whether `frame` is a pandas DataFrame (pandas itself is never imported here)."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def column_names(frame: Frame) -> list[str]:
    """Return the names of a table's columns; a lazy frame is not collected for them."""
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    if is_pandas(frame):
        return [str(name) for name in frame.columns]
    if isinstance(frame, pa.Table):
        return list(frame.column_names)
    import narwhals

    known = narwhals.from_native(frame, pass_through=True)
    if isinstance(known, narwhals.DataFrame | narwhals.LazyFrame):
        return list(known.collect_schema().names())
    return list(to_arrow(frame, columns=()).column_names)


def with_own_names(table: pa.Table, own: Mapping[str, str]) -> pa.Table:
    """Return a table that keeps the own names of its renamed columns; see `own_name`.

    `own`: the earlier names by the present ones.
    """
    known = {_EARLIER + name.encode(): earlier.encode() for name, earlier in own.items()}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **known})


def own_name(table: pa.Table, name: str) -> str:
    """Return the name that a column has in the table that people gave, for messages.

    Examples
    --------
    >>> own_name(with_own_names(pa.table({"task": ["a"]}), {"task": "item"}), "task")
    'item'
    """
    earlier = (table.schema.metadata or {}).get(_EARLIER + name.encode())
    return name if earlier is None else str(earlier.decode())


def plain_column(table: pa.Table, name: str) -> pa.Array:
    """Return one column as one array, dictionaries spelt out."""
    if table.column_names.count(name) > 1:
        raise SchemaError(f"column {name!r} stands twice; rename or drop one.")
    column = table[name]
    if isinstance(column.type, pa.BaseExtensionType):
        raise SchemaError(
            f"column {own_name(table, name)!r} holds {column.type.extension_name}; give texts or "
            "numbers."
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)


def missing_column(
    name: str, found: list[str], *, table: str = "the table", others: Sequence[str] = ()
) -> SchemaError:
    """Return the error of a missing column, with a suggestion.

    `others`: further columns that are not there.
    """
    missing = (name, *others)
    said = f"column {name!r} is"
    if others:
        said = f"columns {', '.join(map(repr, missing[:-1]))} and {missing[-1]!r} are"
    alike = {one: other for one in missing for other in found if other.strip().lower() == one}
    if alike:
        renamed = " and ".join(f"{other!r} to {one!r}" for one, other in alike.items())
        hint = f"Rename {renamed}."
        if len(alike) < len(missing):
            hint += " Rename or add the others."
    elif others:
        hint = "Rename columns, or add them."
    elif suggestion(name, found):
        hint = f"Rename a column, or add it.{suggestion(name, found)}"
    else:
        hint = "Rename a column, or add it."
    return SchemaError(f"{said} missing; {table} has {found}. {hint}")


def id_column(table: pa.Table, name: str, *, wanted: str) -> pa.Array:
    """Return a column of ids as one array; the error says that every row needs `wanted`."""
    ids, called = plain_column(table, name), own_name(table, name)
    row = first_missing(ids)
    if row is not None:
        raise MissingValue(
            f"column {called!r}, row {row}: the id is missing ({ids[row - 1].as_py()!r}); "
            f"give every {wanted}, or remove the row. In CSV a name such as null stands between "
            "quotes."
        )
    if pa.types.is_nested(ids.type):
        raise SchemaError(
            f"column {called!r} holds {ids.type}; give texts or whole numbers as ids."
        )
    return ids


def first_missing(array: pa.Array) -> int | None:
    """Return the first row, from 1, that is null, NaN or an empty text."""
    is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    if pa.types.is_integer(array.type) and not array.null_count:
        return None
    # Lengths are differences of offsets: no text is compared where none is missing.
    if is_text and not array.null_count and (pc.min(pc.binary_length(array)).as_py() or 0) > 0:
        return None
    row = pc.index(missing_entries(array), True).as_py()
    return None if row < 0 else row + 1


def missing_entries(array: pa.Array) -> pa.Array:
    """Return which entries are null, NaN or an empty text."""
    bad = pc.is_null(array, nan_is_null=True)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        bad = pc.or_(bad, pc.fill_null(pc.equal(array, ""), False))
    return bad


def _without_views(table: pa.Table) -> pa.Table:
    """Return `table` with views (polars has them) as strings and bytes, which Arrow can sort."""
    for i, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            chunks = [
                pa.DictionaryArray.from_arrays(
                    chunk.indices, chunk.dictionary.cast(pa.large_string())
                )
                for chunk in table.column(i).chunks
            ]
            kind = pa.dictionary(kind.index_type, pa.large_string())
            table = table.set_column(i, field.name, pa.chunked_array(chunks, kind))
        elif pa.types.is_string_view(kind):
            table = table.set_column(i, field.name, table.column(i).cast(pa.large_string()))
        elif pa.types.is_binary_view(kind):
            table = table.set_column(i, field.name, table.column(i).cast(pa.large_binary()))
    return table


def _assemble(given: list[tuple[str, Any]], wanted: Collection[str] | None) -> pa.Table:
    arrays = [
        _to_array(column, name) if wanted is None or name in wanted else None
        for name, column in given
    ]
    lengths = {n: len(a) for (n, _), a in zip(given, arrays, strict=True) if a is not None}
    if len(set(lengths.values())) > 1:
        raise SchemaError(f"columns differ in length: {lengths}; give every column one length.")
    rows = next(iter(lengths.values()), 0)
    return _without_views(
        pa.Table.from_arrays(
            [pa.nulls(rows) if array is None else array for array in arrays],
            names=[name for name, _ in given],
        )
    )


def _to_array(column: Any, name: str) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(column, str | bytes):  # as a sequence it would be read letter by letter
        raise _no_column(column, name)
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _mixed_types(column, name) from error
    if pa.types.is_binary(array.type) and any(isinstance(value, str) for value in column):
        raise _mixed_types(column, name)
    # Among numbers True would be read as 1. Arrays of numbers hold no such objects.
    numbers = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if numbers and _has_objects(column):
        first = next((v for v in column if not isinstance(v, bool) and not _is_missing(v)), None)
        row, odd = next(
            ((row, v) for row, v in enumerate(column, start=1) if isinstance(v, bool)), (0, None)
        )
        if row:
            raise MixedTypes(
                f"column {name!r}, row {row}: {odd!r} is bool while other rows hold "
                f"{type(first).__name__}; give the whole column one type."
            )
    return array


def _has_objects(column: Any) -> bool:
    """Return whether a column may hold values of several types: a list, or an array of objects."""
    kind = getattr(column, "dtype", None)
    return isinstance(column, Iterable) and (kind is None or str(kind) == "object")


def _mixed_types(column: Any, name: str) -> InputError:
    if not isinstance(column, Iterable):
        return _no_column(column, name)
    first: Any = None
    for row, value in enumerate(column, start=1):
        if _is_missing(value):
            continue
        if first is None:
            first = value
        elif type(value) is not type(first):
            return MixedTypes(
                f"column {name!r}, row {row}: {value!r} is {type(value).__name__} while earlier "
                f"rows hold {type(first).__name__}; give the whole column one type."
            )
    return SchemaError(
        f"column {name!r} cannot be read as one column of values; give texts or numbers (whole "
        "numbers beyond 64 bits as texts)."
    )


def _no_column(column: Any, name: str) -> SchemaError:
    return SchemaError(
        f"column {name!r} is {type(column).__name__} ({column!r:.40}), expected an array or a list "
        "with one entry a row."
    )


def _is_missing(value: Any) -> bool:
    # pandas.NA is known by its name: pandas itself is never imported here.
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def read_table(path: str | Path) -> pa.Table:
    """Read CSV (also .tsv and .gz) or .xlsx as texts; Parquet or JSON with their own types.

    The path ``-`` is standard input, as CSV or Parquet.
    """
    path = Path(path)
    if path == STANDARD:
        data = sys.stdin.buffer.read()
        # Standard input has no ending by which to tell the format.
        if not data.startswith(_PARQUET_MAGIC):
            return read_csv_bytes(data, name="standard input")
        import pyarrow.parquet as pa_parquet  # dear to load, and most files are CSV

        try:
            return pa_parquet.read_table(pa.BufferReader(data))
        except (pa.ArrowInvalid, OSError) as error:
            raise UnreadableFile(f"standard input cannot be read: {error}") from error
    if not path.is_file():
        raise UnreadableFile(f"{path} is not a file; check the path.")
    name = path.name.lower()
    try:
        if name.endswith((".parquet", ".pq")):
            import pyarrow.parquet as pa_parquet

            return pa_parquet.read_table(path)
        if name.endswith(_SEPARATED):
            return read_csv(lambda: path, path)
        if name.endswith(".xlsx"):
            return read_sheet(path)
        if is_json(path):
            return _read_json(path)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}") from error
    if name.endswith((".xls", ".ods")):
        raise UnreadableFile(f"{path} is a spreadsheet; save it as .xlsx or CSV, and give that.")
    raise UnreadableFile(f"{path} has the ending {path.suffix or '(none)'!r}; expected {_ENDINGS}.")


def _read_json(path: Path) -> pa.Table:
    """Read objects as rows; a key that is absent is no value."""
    rows = json_rows(path)
    names = dict.fromkeys(name for row in rows for name in row)
    cells, filled = len(rows) * len(names), sum(map(len, rows))
    # Rows that have no key in common come to a table as large as the square of the file.
    if cells > _MOST_CELLS and cells > filled * _MOST_CELLS_FOR_ONE:
        raise UnreadableFile(
            f"{path} has {len(rows):,} rows with {len(names):,} different keys, and nearly no row "
            "has the key of another; expected the same keys in each row."
        )
    return to_arrow({name: [row.get(name) for row in rows] for name in names})


def is_json(path: Path) -> bool:
    """Return whether a path has an ending of JSON files."""
    return path.name.lower().endswith((".json", ".jsonl"))


def json_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file: an array of them, or one a line (.jsonl).

    Raises
    ------
    UnreadableFile
        It is no JSON, or a row is no object; the message names the row.
    """
    lines = path.name.lower().endswith(".jsonl")
    rows: list[Any] = []
    text = path.read_text(encoding="utf-8-sig")
    try:
        if lines:
            for line in filter(str.strip, text.splitlines()):
                rows.append(json.loads(line))
        else:
            found = json.loads(text)
            rows = found if isinstance(found, list) else [found]
    except (ValueError, RecursionError) as error:  # no JSON, or nested too deeply
        where = f"row {len(rows) + 1}: " if lines else ""
        raise UnreadableFile(f"{path} cannot be read: {where}{error}") from error
    odd = next((place for place, row in enumerate(rows, 1) if not isinstance(row, dict)), None)
    if odd is not None:
        raise UnreadableFile(
            f"{path} cannot be read: row {odd} is {rows[odd - 1]!r:.60}, expected an object with a "
            "value for each column."
        )
    return rows


def read_csv_bytes(data: bytes, *, name: str = "the file") -> pa.Table:
    """Read the content of a CSV file, every column as text; errors call it `name`."""
    try:
        return read_csv(lambda: pa.BufferReader(data), name)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{name} cannot be read: {error}") from error


def csv_bytes(table: pa.Table) -> bytes:
    """Return `table` as the content of a CSV file."""
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink, _QUOTED)
    return bytes(sink.getvalue())


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write `table` as CSV (also .gz), Parquet or .xlsx, by `path`'s ending; ``-`` prints CSV."""
    path = Path(path)
    if path == STANDARD:
        sys.stdout.write(csv_bytes(table).decode())
        return
    name = path.name.lower()
    try:
        if name.endswith((".parquet", ".pq")):
            import pyarrow.parquet as pa_parquet

            pa_parquet.write_table(table, path)
        elif name.endswith(".csv"):
            pa_csv.write_csv(table, path, _QUOTED)
        elif name.endswith(".csv.gz"):
            with pa.CompressedOutputStream(str(path), "gzip") as sink:
                pa_csv.write_csv(table, sink, _QUOTED)
        elif name.endswith(".xlsx"):
            write_sheet(table, path)
        else:
            raise UnreadableFile(
                f"{path} has the ending {path.suffix or '(none)'!r}; expected {_ENDINGS}."
            )
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error}") from error
