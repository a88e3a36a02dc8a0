"""The table of a result is tidy, exact and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.results.made_up_reports import (
    compute,
    define,
    made_up,
    reports_of,
)

from masquerade.errors import ParameterError
from masquerade.results import SurveyResult, methods_text, result_table, sentence
from masquerade.results.columns import COLUMNS, documented
from masquerade.surveys import Choice, Comparison, Question, Rating

FORMULAS = (
    '=HYPERLINK("http://x","y")',
    "+1",
    "-1",
    "@SUM(A1)",
    "＝1",
    "＋1",
    "－1",
    "＠x",
)


def test_no_formula_in_the_table() -> None:
    """No cell of the CSV table that somebody wrote begins like a spreadsheet's formula."""
    questions: list[Question] = [
        Choice(text, text, (text, f"{text}{n}")) for n, text in enumerate(FORMULAS)
    ]
    questions += [Comparison("p", "?", "=a", "+b"), Rating("scale", "Change", low=-2, high=2)]
    definition = define(*questions, levels=("high", "low"))
    table = result_table(SurveyResult.of(compute(definition, made_up(definition, 30))))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) > 4 * len(FORMULAS)
    for row in rows:
        for column in ("survey", "question", "option", "estimator", "level"):
            assert not row[column].startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert rows[0]["question"] == f"'{FORMULAS[0]}"


def test_the_table_is_tidy_and_exact() -> None:
    """Each estimate has one row, with numbers that read back exactly."""
    definition = define(
        Choice("c", 'Comma, "quote"\u2028and more', ("A;B", "C,D")), levels=("high", "low")
    )
    result = compute(definition, made_up(definition, 40))
    rows = list(csv.DictReader(io.StringIO(result_table(SurveyResult.of(result)), newline="")))
    keys = [(r["question"], r["option"], r["estimator"], r["level"]) for r in rows]
    assert len(set(keys)) == len(keys)
    by_key = dict(zip(keys, rows, strict=True))
    for option in result["questions"][0]["options"]:
        row = by_key["c", option["label"], "within", "all"]
        assert float(row["value"]) == option["value"]
        assert float(row["se"]) == option["standard_error"]
        assert (float(row["low"]), float(row["high"])) == (option["low"], option["high"])
        assert row["n"] == "40"
    assert {row["level"] for row in rows} == {"all", "high", "low"}


def test_a_result_is_made_of_reports_and_of_its_json_object() -> None:
    """Both give the same table; other values are refused."""
    definition = define()
    reports = reports_of(definition, made_up(definition, 40))
    made = SurveyResult.of(reports)
    assert SurveyResult.of(made.to_dict()).to_arrow().equals(made.to_arrow())
    assert SurveyResult.of(made) is made
    with pytest.raises(ParameterError, match="expected the reports of a survey"):
        SurveyResult.of({"task": [1]})


def test_the_columns_are_declared_once() -> None:
    """Files, frames and the documentation have the same columns, in the same order."""
    definition = define()
    result = SurveyResult.of(reports_of(definition, made_up(definition, 40)))
    names = [column.name for column in COLUMNS]
    assert result_table(result).splitlines()[0].split(",") == names
    assert result.to_arrow().column_names == names
    page = Path(__file__).parents[2] / "docs" / "explanation" / "result-files.md"
    assert documented() in page.read_text()


def test_an_older_result_is_read() -> None:
    """A result that an earlier version exported has its figures; missing parts are left out."""
    path = Path(__file__).parent / "golden" / "older_result.json"
    content = json.loads(path.read_text())
    found = SurveyResult.from_json(content)
    option = found.questions[0].options[0]
    assert option.share.value == content["questions"][0]["options"][0]["value"]
    assert found.to_arrow().num_rows > 4
    assert sentence(found.questions[0])
    assert methods_text(found)
