"""Claims from files and to files: faults by their row, and written claims read back."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answers.claim_rows import ROWS, changed, expected, rows_of

from masquerade.answers import Claims
from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    InputError,
    MissingValue,
    SchemaError,
    UnreadableFile,
)


def write_text(path: Path, text: str | bytes) -> Path:
    """Write a file, gzipped if its name says so."""
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "CSV"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_csv_is_read_as_text(tmp_path: Path, ending: str, newline: str, start: str) -> None:
    """Ids and labels of CSV files are texts, leading zeros and all, for all line ends."""
    lines = ["task,worker,label", "007,x,1", "8,y,2", ""]
    claims = Claims.read(write_text(tmp_path / f"c.{ending}", start + newline.join(lines)))
    assert rows_of(claims) == [("007", "x", "1"), ("8", "y", "2")]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_quoted_commas_newlines_and_quotes_are_part_of_an_id(tmp_path: Path, ending: str) -> None:
    """Quoted fields may hold commas, line breaks and doubled quotes."""
    text = 'task,worker,label\n"a,1","x\ny",yes\n"say ""hi""",z,no\n'
    claims = Claims.read(write_text(tmp_path / f"c.{ending}", text))
    assert rows_of(claims) == [("a,1", "x\ny", "yes"), ('say "hi"', "z", "no")]


def test_line_breaks_in_fields_do_not_split_a_long_file(tmp_path: Path) -> None:
    """A file of many blocks, each row with a line break in its id, is read whole."""
    n = 150_000
    text = "task,worker,label\n" + "".join(f'"t\n{i}",w,{i % 2}\n' for i in range(n))
    claims = Claims.read(write_text(tmp_path / "c.csv", text))
    assert len(claims) == claims.n_tasks == n


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "task,worker,label\na,x,1\nb,y\n",
            UnreadableFile,
            "row 2 has 2 fields where .* has 3: 'b,y'",
        ),
        ("task,worker,label\na,x,1\nb,y,2,3\n", UnreadableFile, "row 2 has 4 fields"),
        ('task,worker,label\n"a\nb",x,1\n\nb\n', UnreadableFile, "row 2 has 1 fields"),
        ('task,worker,label\na,x,1\n"b,y,2\n', UnreadableFile, "row 2 has 1 fields"),
        (
            b"task,worker,label\na,\xc3\xa9,1\nb,y,\xe9\n",
            UnreadableFile,
            r"column 'label', row 2: b'\\xe9' is not UTF-8",
        ),
        (b"task,worker,lab\x8dl\na,x,1\n", UnreadableFile, "cannot be read"),
        ("", UnreadableFile, "cannot be read: it is empty; expected a first row"),
        ("task,worker,label\n", EmptyTable, "no rows"),
        ("task,worker,label\na,x,1\nb,,2\n", MissingValue, "column 'worker', row 2"),
        ("task,worker,label\na,x,1\nb,y,\n", MissingValue, "column 'label', row 2"),
        ("task,worker,label\na,x,1\nb,y,NaN\n", MissingValue, "column 'label', row 2"),
        ("task,worker,label\nnull,x,1\n", MissingValue, "column 'task', row 1"),
        ("task,worker,value\na,x,1\nb,y,one\n", SchemaError, "column 'value', row 2: 'one'"),
        ("task,worker,label\na,x,1\nb,y,2\na,x,2\n", DuplicateClaim, "row 3: .* in row 1"),
        ("task,worker,label,label\na,x,1,2\n", SchemaError, "column 'label' stands twice"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_bad_csv_file_names_the_row(
    tmp_path: Path, ending: str, text: str | bytes, error: type[InputError], message: str
) -> None:
    """Each fault of a CSV file is an error with the row, the header not counted."""
    path = write_text(tmp_path / f"c.{ending}", text)
    with pytest.raises(error, match=message) as caught:
        Claims.read(path)
    if error is UnreadableFile:
        assert str(path) in str(caught.value)


def test_a_fault_far_down_a_csv_file_is_found_by_its_row(tmp_path: Path) -> None:
    """Row numbers stay right beyond the first blocks of a file."""
    rows = [f"t{i},w,1" for i in range(200_000)]
    rows[177_776] = "t177776,w"
    path = write_text(tmp_path / "c.csv", "task,worker,label\n" + "\n".join(rows))
    with pytest.raises(UnreadableFile, match="row 177777 has 2 fields"):
        Claims.read(path)
    rows[177_776] = "t177776,w,"
    path = write_text(tmp_path / "c.csv", "task,worker,label\n" + "\n".join(rows))
    with pytest.raises(MissingValue, match="column 'label', row 177777"):
        Claims.read(path)


def test_a_file_that_is_not_there_or_broken_is_unreadable(tmp_path: Path) -> None:
    """A missing file, a folder, another ending, a cut archive and a broken Parquet are errors."""
    cut = write_text(tmp_path / "cut.csv.gz", "task,worker,label\n" + "a,x,1\n" * 50_000)
    cut.write_bytes(cut.read_bytes()[:-50])
    no_gzip = tmp_path / "no.csv.gz"
    no_gzip.write_bytes(b"task,worker,label\na,x,1\n")
    parquet = tmp_path / "broken.parquet"
    parquet.write_bytes(b"hello")
    other = write_text(tmp_path / "c.dat", "task,worker,label\na,x,1\n")
    for path, message in (
        (tmp_path / "none.csv", "none.csv is not a file; check the path"),
        (tmp_path, "is not a file"),
        (other, r"has the ending '.dat'; expected .csv, .csv.gz, .parquet, .xlsx, .json"),
        (cut, "cut.csv.gz cannot be read"),
        (no_gzip, "no.csv.gz cannot be read"),
        (parquet, "broken.parquet cannot be read"),
    ):
        with pytest.raises(UnreadableFile, match=message):
            Claims.read(path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "pq"])
@pytest.mark.parametrize("null", [False, True])
def test_written_claims_read_back_the_same(tmp_path: Path, ending: str, null: bool) -> None:
    """Claims survive every file format, "no answer" included."""
    labels = ["yes", None if null else "no", "yes", "maybe"]
    claims = Claims.from_frame(changed(label=labels), null=null)
    path = tmp_path / f"claims.{ending}"
    claims.write(path)
    again = Claims.read(path, null=null)
    assert rows_of(again) == rows_of(claims) == expected(changed(label=labels))
    assert np.array_equal(again.value, claims.value)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_written_numbers_read_back_the_same(tmp_path: Path, ending: str) -> None:
    """Numbers keep all their digits in every file format."""
    values = [0.1, -1e-300, 1 / 3, 12345678.9]
    claims = Claims.from_frame({"task": ROWS["task"], "worker": ROWS["worker"], "value": values})
    path = tmp_path / f"claims.{ending}"
    claims.write(path)
    assert Claims.read(path).value.tolist() == values


def test_parquet_keeps_types(tmp_path: Path) -> None:
    """Whole-number ids and labels of a Parquet file stay whole numbers, dictionaries or not."""
    table = pa.table(
        {"task": [1, 2], "worker": pa.array(["x", "y"]).dictionary_encode(), "label": [5, 7]}
    )
    pa_parquet.write_table(table, tmp_path / "c.parquet")
    assert rows_of(Claims.read(tmp_path / "c.parquet")) == [(1, "x", 5), (2, "y", 7)]


@pytest.mark.parametrize("word", ["null", "NULL", "nan", "NaN"])
def test_between_quotes_a_word_for_nothing_is_a_name(tmp_path: Path, word: str) -> None:
    """A worker, task or label called null is read where it is quoted, and written so."""
    path = tmp_path / "claims.csv"
    path.write_text(f'task,worker,label\n"{word}","{word}","{word}"\n')
    claims = Claims.read(path)
    assert claims.options is not None
    assert [a.to_pylist() for a in (claims.tasks, claims.workers, claims.options)] == [[word]] * 3
    claims.write(tmp_path / "again.csv")
    assert Claims.read(tmp_path / "again.csv").workers.to_pylist() == [word]
    path.write_text(f"task,worker,label\na,{word},b\n")
    with pytest.raises(MissingValue, match="between quotes"):
        Claims.read(path)
    path.write_text('task,worker,label\na,"",b\n')
    with pytest.raises(MissingValue, match="column 'worker', row 1"):
        Claims.read(path)


def test_claims_cannot_be_written_everywhere(tmp_path: Path) -> None:
    """An unknown ending and a folder that is not there are errors with the path."""
    claims = Claims.from_frame(ROWS)
    with pytest.raises(UnreadableFile, match=r"ending '\.json'"):
        claims.write(tmp_path / "claims.json")
    with pytest.raises(UnreadableFile, match="cannot be written"):
        claims.write(tmp_path / "none" / "claims.csv")


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(
    lambda text: "\0" not in text
)


@given(
    rows=st.lists(
        st.tuples(ids, ids, ids), min_size=1, max_size=12, unique_by=lambda row: (row[0], row[1])
    )
)
def test_prop_any_texts_survive_csv_and_parquet(
    rows: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Commas, quotes, line breaks, spaces and any script come back from a file unchanged."""
    folder = tmp_path_factory.mktemp("claims")
    claims = Claims.from_frame(
        dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True))
    )
    assert rows_of(claims) == rows
    for ending in ("csv", "parquet"):
        claims.write(folder / f"c.{ending}")
        assert rows_of(Claims.read(folder / f"c.{ending}")) == rows


@pytest.mark.parametrize(("mark", "said"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "csv.gz"])
def test_columns_may_be_separated_by_another_mark(
    tmp_path: Path, mark: str, said: str, ending: str
) -> None:
    """By the header, and it is said; a comma inside a cell is a text's."""
    rows = [("task", "worker", "label"), ("a", "x", "yes, I do"), ("b", "y", "no")]
    path = write_text(tmp_path / f"c.{ending}", "\n".join(map(mark.join, rows)))
    with pytest.warns(UserWarning, match=f"separated by {said}"):
        assert rows_of(Claims.read(path)) == rows[1:]


@pytest.mark.parametrize(("encoding", "said"), [("utf-16", "UTF-16"), ("cp1252", "Windows-1252")])
def test_other_encodings_are_found_and_said(tmp_path: Path, encoding: str, said: str) -> None:
    """UTF-16 by its mark, Windows-1252 where nothing is written as in UTF-8."""
    path = tmp_path / "c.csv"
    path.write_bytes("task,worker,label\ncafé,Jürgen,€ 5\n".encode(encoding))
    with pytest.warns(UserWarning, match=f"read as {said}"):
        assert rows_of(Claims.read(path)) == [("café", "Jürgen", "€ 5")]


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    """Where no entry has a point, and they cannot be thousands; else the error says both."""
    path = write_text(tmp_path / "c.csv", "task;worker;value\na;x;8,13\na;y;-7,5\nb;x;1\n")
    with pytest.warns(UserWarning, match=r"decimal commas|semicolons"):
        assert Claims.read(path).value.tolist() == [8.13, -7.5, 1.0]
    write_text(path, "task;worker;value\na;x;1,135\na;y;7,522\n")
    with (
        pytest.warns(UserWarning, match="semicolons"),
        pytest.raises(SchemaError, match="row 1: '1,135' may have a decimal comma or one between"),
    ):
        Claims.read(path)
