"""Reports in files: written piece by piece, read back to the last digit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pa_parquet

from masquerade.answers import Frame, to_arrow
from masquerade.errors import ParameterError, SchemaError, UnreadableFile
from masquerade.results.reports import PersonRows, SurveyReports
from masquerade.surveys.characters import safe
from masquerade.surveys.codebook import COLUMNS, Codebook

#: A person's pseudonym, level and reports, the last as the JSON text of a list.
Row = tuple[str, str, str]

#: The kinds of file, by their ending, with their media type.
REPORT_FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/x-ndjson",
}

METADATA_KEY = b"masquerade"

_TEXT = [name for name in COLUMNS if name != "report"]
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXT), ("report", pa.int64())])
_ENCODED = pa.schema(
    [
        ("survey_pseudonym", pa.string()),
        *((name, pa.dictionary(pa.int32(), pa.string())) for name in _TEXT[1:]),
        ("report", pa.int64()),
    ]
)


def write_reports(
    codebook: Codebook, chunks: Iterable[Sequence[Row]], *, kind: str
) -> Iterator[bytes]:
    """Yield a file of reports, one row a person and question, piece by piece.

    Memory is that of one chunk, however many there are.

    Parameters
    ----------
    codebook : Codebook
    chunks : iterable of sequences of (pseudonym, level, reports)
        Pseudonyms are letters and digits.
    kind : {"csv", "parquet", "jsonl"}
        CSV is RFC 4180, and no cell begins like a formula; Parquet has types, and the codebook in
        its metadata under ``masquerade``; JSON Lines is one object a row.

    Raises
    ------
    ParameterError
        There is no such kind.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> rows = [("p1", "medium", "[0,1]"), ("p2", "medium", "[1,1]")]
    >>> b"".join(write_reports(book, [rows], kind="csv")).count(b"p1")
    2
    """
    writers: dict[str, Callable[[Codebook, Iterable[Sequence[Row]]], Iterator[bytes]]] = {
        "csv": _csv,
        "parquet": _parquet,
        "jsonl": _json_lines,
    }
    if kind not in writers:
        raise ParameterError(f"kind is {kind!r}, expected one of {', '.join(writers)}.")
    return writers[kind](codebook, chunks)


def read_codebook(path: str | Path) -> Codebook:
    """Return the codebook of a JSON file, or of the metadata of a Parquet file of reports.

    Raises
    ------
    UnreadableFile, SchemaError
        It is not there, or none.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "codebook.json"
    ...     _ = file.write_text(json.dumps(book.to_json()))
    ...     print(read_codebook(file).token)
    0123456789abcdef
    """
    path = Path(path)
    try:
        if path.suffix == ".parquet":
            found = (pa_parquet.read_schema(path).metadata or {}).get(METADATA_KEY)
            if found is None:
                raise SchemaError(f"{path} has no codebook in its metadata; give one as a file.")
            return Codebook.from_json(json.loads(found))
        return Codebook.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, pa.ArrowInvalid, ValueError, RecursionError) as error:
        if isinstance(error, SchemaError):
            raise
        raise UnreadableFile(f"{path} cannot be read as a codebook: {error}") from error


def read_reports(
    source: str | Path | Frame, *, codebook: Codebook | str | Path | None = None
) -> SurveyReports:
    """Return the reports that a survey server exported, from a file or a table.

    Parameters
    ----------
    source : path, or pandas, polars, pyarrow or duckdb table, or dict of arrays
        ``.csv``, ``.parquet`` or ``.jsonl``; rows in any order.
    codebook : Codebook or path, optional
        What was downloaded beside the reports, or its file. Default: that of a Parquet file's
        metadata. CSV, JSON Lines and a table need one.

    Raises
    ------
    UnreadableFile
        The file is not there, of another kind, or broken.
    SchemaError
        A column is missing; there is no codebook; a row does not fit the codebook; a person has
        answered a question twice or not at all. The message names the row or the person.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> rows = [("p1", "medium", "[0,1]"), ("p2", "medium", "[1,1]")]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "reports.csv"
    ...     _ = file.write_bytes(b"".join(write_reports(book, [rows], kind="csv")))
    ...     print(len(read_reports(file, codebook=book)))
    2
    """
    if isinstance(codebook, str | Path):
        codebook = read_codebook(codebook)
    if not isinstance(codebook, Codebook | None):
        raise ParameterError(
            f"codebook is of type {type(codebook).__name__}, expected the path of the file "
            "that was downloaded beside the reports, or read_codebook(path).",
            field="codebook",
        )
    if not isinstance(source, str | Path):
        if codebook is None:
            raise SchemaError("a table says nothing of the questions; give the codebook too.")
        return _from_table(codebook, _typed(to_arrow(source, columns=COLUMNS)), written=str)
    path = Path(source)
    if not path.is_file():
        raise UnreadableFile(f"{path} is not a file; check the path.")
    if codebook is None:
        if path.suffix != ".parquet":
            raise SchemaError(
                f"{path.name} says nothing of the questions; give the codebook too "
                "(codebook=PATH in Python, --codebook PATH on the command line), or use the "
                "Parquet file, which holds it."
            )
        codebook = read_codebook(path)
    return _from_table(codebook, _table(path), written=safe if path.suffix == ".csv" else str)


def _table(path: Path) -> pa.Table:
    types = {name: _SCHEMA.field(name).type for name in COLUMNS}
    try:
        if path.suffix == ".csv":
            # An empty cell is a wrong text that gets its own message, not a null.
            options = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            return pa_csv.read_csv(path, convert_options=options)
        if path.suffix == ".jsonl":
            # pyarrow refuses an empty file, which is what a survey without reports exports.
            if path.stat().st_size == 0:
                return _SCHEMA.empty_table()
            options = pa_json.ParseOptions(explicit_schema=_SCHEMA)
            return pa_json.read_json(path, parse_options=options)
        if path.suffix == ".parquet":
            # Dictionary columns become plain text, as the other kinds have it.
            return _typed(pa_parquet.read_table(path))
    except (OSError, pa.ArrowInvalid) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}") from error
    raise UnreadableFile(f"{path} ends in {path.suffix!r}, expected .csv, .parquet or .jsonl.")


def _typed(table: pa.Table) -> pa.Table:
    """Return a table with its columns as texts and whole numbers."""
    try:
        for name in set(COLUMNS) & set(table.column_names):
            place, kind = table.column_names.index(name), _SCHEMA.field(name).type
            table = table.set_column(place, name, table.column(name).cast(kind))
    except pa.ArrowInvalid as error:
        raise SchemaError(f"column {name!r} cannot be read: {error}") from error
    return table


def _from_table(
    codebook: Codebook, table: pa.Table, *, written: Callable[[str], str]
) -> SurveyReports:
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise SchemaError(
            f"column {missing[0]!r} is missing; there are {table.column_names}, expected "
            f"{list(COLUMNS)}."
        )
    for name in COLUMNS:
        if table[name].null_count:
            row = pc.index(pc.is_null(table[name]), True).as_py() + 1
            raise SchemaError(f"column {name!r}, row {row}: the value is missing.")
    # CSV cells were written by `safe`, so ids are compared in the same form.
    ids = [written(question.id) for question in codebook.questions]
    names = list(codebook.levels)
    question = _codes(table, "question_id", ids)
    level = _codes(table, "level_id", names)
    _check_mechanisms(codebook, table, question, level)
    person = table["survey_pseudonym"].combine_chunks().dictionary_encode()
    if isinstance(person, pa.ChunkedArray):  # `combine_chunks` may leave one
        person = person.combine_chunks()
    who = person.indices.to_numpy()
    people, questions = len(person.dictionary), len(ids)
    # The number of (person, question); every one has to be filled exactly once.
    cell = who.astype(np.int64) * questions + question
    filled = np.bincount(cell, minlength=people * questions)
    odd = np.flatnonzero(filled != 1)
    if odd.size:
        i, j = divmod(int(odd[0]), questions)
        raise SchemaError(
            f"person {person.dictionary[i].as_py()!r} has {filled[odd[0]]} reports to question "
            f"{codebook.questions[j].id!r}; expected one."
        )
    report = np.empty(people * questions, dtype=np.int64)
    report[cell] = table["report"].to_numpy()
    of_cell = np.empty(people * questions, dtype=np.int64)
    of_cell[cell] = level
    of_person = of_cell.reshape(people, questions)
    mixed = np.flatnonzero((of_person != of_person[:, :1]).any(axis=1))
    if mixed.size:
        raise SchemaError(
            f"person {person.dictionary[int(mixed[0])].as_py()!r} has reports at several levels; "
            "expected one level a person."
        )
    rows = PersonRows.from_arrays(
        codebook,
        np.array(person.dictionary.to_pylist(), dtype=np.str_),
        of_person[:, 0] if people else np.empty(0, dtype=np.int64),
        report.reshape(people, questions),
    )
    return rows.counted(codebook)


def _codes(table: pa.Table, column: str, known: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    codes = pc.index_in(table[column], value_set=pa.array(known, pa.string()))
    if codes.null_count:
        row = pc.index(pc.is_null(codes), True).as_py()
        raise SchemaError(
            f"column {column!r}, row {row + 1}: {table[column][row].as_py()!r} is none of the "
            f"codebook's {known[:10]}; reports and codebook are of different surveys."
        )
    found: np.ndarray[Any, np.dtype[np.int64]] = codes.to_numpy().astype(np.int64)
    return found


def _check_mechanisms(codebook: Codebook, table: pa.Table, question: Any, level: Any) -> None:
    text = pc.binary_join_element_wise(table["mech"], table["param"], ":")
    encoded = text.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    names = encoded.dictionary.to_pylist()
    levels = list(codebook.levels.values())
    size = len(codebook.questions)
    # One number for (mechanism, level, question): each combination is checked once, not each row.
    key = (encoded.indices.to_numpy().astype(np.int64) * len(levels) + level) * size + question
    for one in np.unique(key).tolist():
        rest, asked = divmod(one, size)
        mechanism, at = divmod(rest, len(levels))
        expected = str(levels[at][asked])
        if names[mechanism] != expected:
            raise SchemaError(
                f"question {codebook.questions[asked].id!r} was masked by {names[mechanism]}, the "
                f"codebook says {expected}; reports and codebook are of different surveys."
            )


def _spelt(codebook: Codebook) -> dict[str, list[tuple[str, str, str, str]]]:
    """Return question, level, mechanism and parameters, for each level and question."""
    return {
        name: [
            (question.id, name, *_parts(str(mechanism)))
            for question, mechanism in zip(codebook.questions, mechanisms, strict=True)
        ]
        for name, mechanisms in codebook.levels.items()
    }


def _parts(mechanism: str) -> tuple[str, str]:
    name, _, parameters = mechanism.partition(":")
    return name, parameters


def _csv(codebook: Codebook, chunks: Iterable[Sequence[Row]]) -> Iterator[bytes]:
    def line(cells: Sequence[str]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(cells)
        return out.getvalue()

    yield (line(list(COLUMNS)) + "\r\n").encode()
    # What all people of a level share is spelt once; only pseudonym and report differ.
    middle = {
        level: [f",{line([safe(cell) for cell in cells])}," for cells in columns]
        for level, columns in _spelt(codebook).items()
    }
    yield from _lines(chunks, middle, before="", after="\r\n")


def _json_lines(codebook: Codebook, chunks: Iterable[Sequence[Row]]) -> Iterator[bytes]:
    middle = {}
    for level, columns in _spelt(codebook).items():
        named = [dict(zip(_TEXT[1:], cells, strict=True)) for cells in columns]
        texts = [json.dumps(cells, ensure_ascii=False, separators=(",", ":")) for cells in named]
        middle[level] = [f'",{text[1:-1]},"report":' for text in texts]
    yield from _lines(chunks, middle, before='{"survey_pseudonym":"', after="}\n")


def _lines(
    chunks: Iterable[Sequence[Row]], middle: dict[str, list[str]], *, before: str, after: str
) -> Iterator[bytes]:
    for chunk in chunks:
        parts: list[str] = []
        for pseudonym, level, reports in chunk:
            start = before + pseudonym
            # The text of a list of whole numbers: its digits are copied, never parsed.
            for text, report in zip(middle[level], reports[1:-1].split(","), strict=True):
                parts += (start, text, report.strip(), after)
        yield "".join(parts).encode()


def _parquet(codebook: Codebook, chunks: Iterable[Sequence[Row]]) -> Iterator[bytes]:
    told = json.dumps(codebook.to_json(), ensure_ascii=False).encode()
    schema = _ENCODED.with_metadata({METADATA_KEY: told})
    spelt = _spelt(codebook)
    # One code for each level and question, the same in every piece.
    columns = [cells for level in spelt.values() for cells in level]
    words = [pa.array(column, pa.string()) for column in zip(*columns, strict=True)]
    places = {name: place for place, name in enumerate(spelt)}
    size = len(codebook.questions)
    out = io.BytesIO()
    with pa_parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for chunk in chunks:
            found = PersonRows.of(codebook, *zip(*chunk, strict=True))
            person = np.repeat(np.arange(len(found.level)), size)
            first = np.array([places[name] for name in codebook.levels])[found.level] * size
            code = pa.array((first[:, None] + np.arange(size)).ravel().astype(np.int32))
            writer.write_table(
                pa.Table.from_arrays(
                    [
                        pa.array(found.pseudonyms).take(pa.array(person)),
                        *(_named(code, column) for column in words),
                        pa.array(found.report.ravel()),
                    ],
                    schema=schema,
                )
            )
            yield _drained(out)  # a piece: the writer holds no more than one chunk
    # Closing the writer has added the footer.
    yield _drained(out)


def _named(code: pa.Array, column: pa.Array) -> pa.Array:
    values = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(values.indices.take(code), values.dictionary)


def _drained(out: io.BytesIO) -> bytes:
    found = out.getvalue()
    out.seek(0)
    out.truncate()
    return found
