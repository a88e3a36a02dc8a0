"""Exported reports read back to the last digit, and tell their faults."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.results.made_up_reports import EVERY_KIND, Row, codebook, define, made_up, reports_of

from masquerade.errors import ParameterError, SchemaError, UnreadableFile
from masquerade.results import (
    REPORT_FORMATS,
    Codebook,
    SurveyReports,
    notebook,
    read_codebook,
    read_reports,
    result_bytes,
    survey_result,
    write_reports,
)
from masquerade.results.reports import SurveyReports as Reports
from masquerade.surveys import Choice
from masquerade.surveys.characters import FORMULA_STARTS, safe
from masquerade.surveys.codebook import COLUMNS


def written(book: Codebook, rows: Sequence[Row], path: Path, *, chunk: int = 7) -> Path:
    """Write rows as a file of the kind that its ending says, a few people at a time."""
    ready = sorted((p, level, json.dumps(reports)) for p, level, reports in rows)
    chunks = (ready[start : start + chunk] for start in range(0, len(ready), chunk))
    path.write_bytes(b"".join(write_reports(book, chunks, kind=path.suffix[1:])))
    return path


@pytest.fixture
def rows() -> list[Row]:
    """Reports of 60 people to a question of every kind, at three levels."""
    return made_up(definition(), 60)


def definition() -> Any:
    """Return a survey with every kind of question, and names that need care in a file."""
    return define(*EVERY_KIND, levels=("high", "medium", "low"))


@pytest.mark.parametrize("kind", list(REPORT_FORMATS))
def test_files_give_the_result_bit_for_bit(rows: list[Row], tmp_path: Path, kind: str) -> None:
    """Every kind of file gives the bytes of the result that the rows themselves give."""
    asked = definition()
    direct = reports_of(asked, rows)
    path = written(direct.codebook, rows, tmp_path / f"r.{kind}")
    found = read_reports(path, codebook=None if kind == "parquet" else direct.codebook)
    assert found.digest() == direct.digest()
    assert result_bytes(survey_result(found)) == result_bytes(survey_result(direct))


def test_the_codebook_can_be_a_path(rows: list[Row], tmp_path: Path) -> None:
    """The file that was downloaded beside the reports does, as a text or a path, nothing else."""
    direct = reports_of(definition(), rows)
    path = written(direct.codebook, rows, tmp_path / "r.csv")
    book = tmp_path / "codebook.json"
    book.write_text(json.dumps(direct.codebook.to_json()))
    for path_given in (book, str(book)):
        assert read_reports(path, codebook=path_given).digest() == direct.digest()
    with pytest.raises(ParameterError, match="codebook is of type dict, expected the path"):
        read_reports(path, codebook=direct.codebook.to_json())  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="codebook=PATH in Python"):
        read_reports(path)


@pytest.mark.parametrize("kind", list(REPORT_FORMATS))
def test_no_reports_are_a_file_too(tmp_path: Path, kind: str) -> None:
    """A survey that nobody answered has files without rows."""
    book = codebook(definition())
    path = written(book, [], tmp_path / f"r.{kind}")
    assert len(read_reports(path, codebook=book)) == 0


def test_the_codebook_reads_back(rows: list[Row], tmp_path: Path) -> None:
    """The codebook of a file, and of the metadata of a Parquet file, is the same as before."""
    counts = {"high": 10, "medium": 20, "low": 30}
    book = codebook(definition(), n_by_level=counts, pool=counts)
    path = tmp_path / "codebook.json"
    path.write_text(json.dumps(book.to_json()))
    assert read_codebook(path) == book
    assert read_codebook(written(book, rows, tmp_path / "r.parquet")) == book


def test_the_codebook_says_what_it_cost() -> None:
    """Each mechanism stands with its level, epsilon and number of people."""
    asked = define(levels=("high", "low"))
    told = codebook(asked, n_by_level={"high": 3, "low": 4}).to_json()
    assert told["n"] == 7
    row = told["mechanisms"][0]
    mechanism = asked.level("high").mechanisms[0]
    assert f"{row['mech']}:{row['param']}" == str(mechanism)
    assert row["epsilon"] == mechanism.guarantee(answers=1).epsilon_event.to_json()
    assert (row["level_id"], row["n"]) == ("high", 3)
    assert told["levels"][0]["guarantee"] == asked.level("high").guarantee().to_json()
    assert told["questions"][0]["codes"] == ["Yes", "No"]


def test_csv_is_safe_and_standard(rows: list[Row], tmp_path: Path) -> None:
    """Lines end as RFC 4180 says, texts are quoted, and none begins like a formula."""
    book = codebook(definition())
    text = written(book, rows, tmp_path / "r.csv").read_bytes().decode()
    assert text.count("\r\n") == text.count("\n") == 60 * 5 + 1
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(table[0]) == list(COLUMNS)
    for row in table:
        assert not any(row[c].startswith(FORMULA_STARTS) for c in COLUMNS if c != "report")
        int(row["report"])
    assert {row["question_id"] for row in table} == {"'=c", "r", "n", "p1", "p2"}


def test_parquet_has_types(rows: list[Row], tmp_path: Path) -> None:
    """Reports are whole numbers, names are dictionaries, for every reader."""
    schema = pa_parquet.read_schema(written(codebook(definition()), rows, tmp_path / "r.parquet"))
    assert schema.names == list(COLUMNS)
    assert schema.field("report").type == pa.int64()
    assert pa.types.is_dictionary(schema.field("level_id").type)


def test_json_lines_are_objects(rows: list[Row], tmp_path: Path) -> None:
    """Each line is an object with the same columns."""
    path = written(codebook(definition()), rows, tmp_path / "r.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 300
    assert all(list(line) == list(COLUMNS) for line in lines)
    assert lines[0]["question_id"] == "=c"


def test_no_more_than_a_piece_is_read_ahead(rows: list[Row]) -> None:
    """A file is written while it is read: a piece comes out before the next is asked for."""
    book = codebook(definition())
    ready = sorted((p, level, json.dumps(reports)) for p, level, reports in rows)
    for kind in REPORT_FORMATS:
        asked: list[int] = []

        def chunks(asked: list[int] = asked) -> Iterator[list[tuple[str, str, str]]]:
            for start in range(0, 60, 20):
                asked.append(start)
                yield ready[start : start + 20]

        pieces = write_reports(book, chunks(), kind=kind)
        seen = b""
        while ready[0][0].encode() not in seen and kind != "parquet":
            seen += next(pieces)
        if kind == "parquet":
            next(pieces)
        assert asked == [0]


@given(st.text(max_size=20))
def test_prop_a_safe_text_is_no_formula(text: str) -> None:
    """For every text, the safe one is no formula and ends with it."""
    assert not safe(text).startswith(FORMULA_STARTS)
    assert safe(text).removeprefix("'") == text or text.startswith("'")


def changed(table: pa.Table, row: int, **values: Any) -> pa.Table:
    """Return a table with other values in one row."""
    rows = table.to_pylist()
    rows[row] |= values
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"question_id": "zz"}, "'zz' is none of the codebook's"),
        ({"level_id": "none"}, "'none' is none of the codebook's"),
        ({"param": "options=2,epsilon=1"}, "the codebook says"),
        ({"survey_pseudonym": "ghost"}, "reports to question"),
        ({"report": 99}, "is none that"),
        ({"report": None}, "row 1: the value is missing"),
    ],
)
def test_rows_that_do_not_fit_are_named(
    rows: list[Row], tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    """A question, level, mechanism, person or report that cannot be is an error that says which."""
    book = codebook(definition())
    path = written(book, rows, tmp_path / "r.parquet")
    table = pa_parquet.read_table(path)
    plain = pa.schema(
        [(name, pa.string()) for name in table.schema.names[:-1]] + [("report", pa.int64())]
    )
    pa_parquet.write_table(changed(table.cast(plain), 0, **values), path)
    with pytest.raises(SchemaError, match=message):
        read_reports(path, codebook=book)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, another kind, a missing column and a missing codebook are told apart."""
    book = codebook(definition())
    with pytest.raises(UnreadableFile, match="is not a file; check the path"):
        read_reports(tmp_path / "none.csv", codebook=book)
    (tmp_path / "none.txt").touch()
    with pytest.raises(UnreadableFile, match=r"\.txt"):
        read_reports(tmp_path / "none.txt", codebook=book)
    path = tmp_path / "r.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match="survey_pseudonym"):
        read_reports(path, codebook=book)
    with pytest.raises(SchemaError, match="give the codebook too"):
        read_reports(path)
    with pytest.raises(ParameterError, match="kind is 'xls'"):
        write_reports(book, [], kind="xls")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{}", SchemaError, "not the codebook"),
        ("[1]", SchemaError, "not the codebook"),
        ("nonsense", UnreadableFile, "cannot be read"),
        ('{"format": "masquerade-reports", "format_version": 9}', SchemaError, "version 9"),
        ('{"format": "masquerade-reports", "format_version": 1}', SchemaError, "has no 'survey'"),
    ],
)
def test_codebooks_that_cannot_be_read(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    """A file that is no codebook, or of a later version, is an error that says so."""
    path = tmp_path / "codebook.json"
    path.write_text(text)
    with pytest.raises(error, match=message):
        read_codebook(path)


def test_a_parquet_file_of_others_has_no_codebook(tmp_path: Path) -> None:
    """A Parquet file without our metadata asks for the codebook."""
    path = tmp_path / "other.parquet"
    pa_parquet.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(SchemaError, match="no codebook in its metadata"):
        read_reports(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((["a"], ["other"], [[0, 1]]), "level 'other'"),
        ((["a", "a"], ["medium"] * 2, [[0, 1]] * 2), "stands twice"),
        ((["a"], ["medium"], [[0]]), "row 1 has 1 report for 2 questions"),
        ((["a", "b"], ["medium"] * 2, ["[0,1]", "[0]"]), "row 2"),
        ((["a"], ["medium"], ["[0,x]"]), "whole numbers"),
        ((["a"], ["medium"], [[2, 0]]), "is none that"),
        ((["a"], ["medium"], [[0, -1]]), "is none that"),
        ((["a"], ["medium"], []), "0 rows"),
    ],
)
def test_rows_are_checked(rows: Any, message: str) -> None:
    """Rows that cannot be reports of the survey are errors."""
    with pytest.raises(SchemaError, match=message):
        SurveyReports.from_rows(codebook(define()), *rows)


def test_texts_and_lists_are_the_same(rows: list[Row]) -> None:
    """Reports read from the JSON texts of a database are those read from lists."""
    book = codebook(definition())
    pseudonyms, levels, reports = zip(*rows, strict=True)
    texts = [json.dumps(list(report)) for report in reports]
    one = Reports.from_rows(book, pseudonyms, levels, reports)
    assert Reports.from_rows(book, pseudonyms, levels, texts).digest() == one.digest()


def test_the_notebook_runs(
    rows: list[Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its cells run beside the Parquet file and print the result; a title cannot break out."""
    book = codebook(definition())
    book = replace(book, survey=replace(book.survey, title="A {b}\n```\n# C"))
    made = notebook(book, reports="reports.parquet")
    assert json.loads(json.dumps(made)) == made
    assert (made["nbformat"], len({cell["id"] for cell in made["cells"]})) == (
        4,
        len(made["cells"]),
    )
    assert made["cells"][0]["source"].splitlines()[0] == "# A {b} ``` # C"
    written(book, rows, tmp_path / "reports.parquet")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            exec(cell["source"], scope)
    printed = capsys.readouterr().out
    again = survey_result(read_reports("reports.parquet"))
    assert scope["result"].to_json() == again.to_json()
    assert 'Which, "now"?' in printed
    assert "unbiased" not in printed


def test_a_notebook_of_numbers_runs_too() -> None:
    """There is nothing to count where no question has options; the last cells say nothing."""
    book = codebook(define(Choice("c", "?", ("A", "B"))))
    for cell in notebook(book, reports="x.parquet")["cells"][-2:]:
        exec(cell["source"], {"result": SimpleNamespace(questions=()), "reports": None})
