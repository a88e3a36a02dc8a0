"""Files of a result open elsewhere, hold the numbers of results.json, and no text is a formula."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import openpyxl
import pandas
import pyreadstat
import pytest
from tests.results.made_up_reports import define, reports_of, rows_of

from masquerade.errors import ParameterError
from masquerade.results import (
    SurveyReports,
    SurveyResult,
    chart_png,
    chart_svg,
    cross_table,
    question_charts,
    report_pdf,
    reports_sav,
    result_bytes,
    result_sav,
    result_table,
    result_workbook,
    survey_result,
)
from masquerade.surveys import Choice, Number, Rating, SeveralOf
from masquerade.surveys.survey import Survey

NASTY = "=1+1 <b>&'\"#{}\\[] ‮"
ASKED = (
    Choice("=ill", NASTY, ("Yes", "=cmd|'/c calc'!A0", "@no", "شاي")),
    Rating("stress", "How stressful?", allow_skip=True),
    Number("hours", "How many hours?", 0, 40, "h"),
    SeveralOf("help", "What helps?", ("Tea", "+Sleep")),
)


@pytest.fixture(scope="module")
def survey() -> Survey:
    """Return a survey with texts that are markup and formulas elsewhere."""
    return define(*ASKED, levels=("low",), title="#set text(red)")


@pytest.fixture(scope="module")
def reports(survey: Survey) -> SurveyReports:
    """Return reports of 90 people."""
    rng = np.random.default_rng(4)
    answers = [
        [int(rng.integers(4)), int(rng.integers(6)), int(rng.integers(41)), 1] for _ in range(90)
    ]
    return reports_of(survey, rows_of(answers, level="low"))


@pytest.fixture(scope="module")
def result(reports: SurveyReports) -> SurveyResult:
    """Return their result."""
    return survey_result(reports)


def test_a_workbook_holds_the_numbers_and_no_formula(
    tmp_path: Path, result: SurveyResult, survey: Survey, reports: SurveyReports
) -> None:
    """Pandas reads the table that is the CSV's; every text is a text; the cross table is there."""
    table = cross_table(reports, "=ill", "stress")
    content = result_workbook(result, survey, tables=[table])
    path = tmp_path / "r.xlsx"
    path.write_bytes(content)
    frame = pandas.read_excel(path, sheet_name="Results")
    rows = result.to_arrow().to_pylist()
    for name in ("value", "low", "high", "shown", "n"):
        known = [r[name] for r in rows if r[name] is not None]
        # sheets keep 16 digits
        assert frame[name].dropna().tolist() == pytest.approx(known, rel=1e-15, abs=0)
    assert frame["option"].tolist() == [r["option"] for r in rows]
    for sheet in openpyxl.load_workbook(path):
        for row in sheet.iter_rows():
            assert all(cell.data_type != "f" for cell in row)
    crossed = pandas.read_excel(path, sheet_name="Cross tables")
    known = [r["value"] for r in table.to_arrow().to_pylist()]
    assert crossed["value"].tolist() == pytest.approx(known, nan_ok=True) or len(crossed) == len(
        known
    )
    codes = pandas.read_excel(path, sheet_name="Codebook")
    assert set(codes["question"]) == {one.id for one in ASKED}
    glance = pandas.read_excel(path, sheet_name="At a glance")
    assert len(glance) == len(ASKED)


def test_spss_reads_results_and_reports_with_their_labels(
    tmp_path: Path, result: SurveyResult, reports: SurveyReports
) -> None:
    """Numbers are those of the result to the last digit; codes have the answers as labels."""
    path = tmp_path / "r.sav"
    path.write_bytes(result_sav(result))
    frame, meta = pyreadstat.read_sav(str(path))
    rows = result.to_arrow().to_pylist()
    assert frame["value"].dropna().tolist() == [r["value"] for r in rows if r["value"] is not None]
    assert frame["option"].tolist() == [r["option"] or "" for r in rows]
    assert "interval" in (meta.column_names_to_labels["low"] or "")
    people = tmp_path / "p.sav"
    sent = [("a1", "low", "[3, 0, 7, 1]"), ("b2", "low", "[1, 5, -2, 3]")]
    people.write_bytes(reports_sav(reports.codebook, [sent[:1], sent[1:]]))
    frame, meta = pyreadstat.read_sav(str(people))
    assert frame.iloc[:, 2:].to_numpy().tolist() == [[3, 0, 7, 1], [1, 5, -2, 3]]
    assert frame.columns.tolist() == [
        "person",
        "level",
        "q1_ill",
        "q2_stress",
        "q3_hours",
        "q4_help",
    ]
    assert meta.variable_value_labels["q1_ill"] == dict(enumerate(ASKED[0].labels))
    assert (meta.column_names_to_labels["q2_stress"] or "").startswith("Masked report: ")


def test_a_csv_file_begins_no_cell_like_a_formula(result: SurveyResult) -> None:
    """Labels that begin like formulas stand behind an apostrophe; numbers are the result's."""
    frame = pandas.read_csv(io.StringIO(result_table(result)))
    texts = [str(x) for name in ("question", "option") for x in frame[name].dropna()]
    assert not [text for text in texts if text[0] in "=+-@"]
    rows = result.to_arrow().to_pylist()
    assert frame["value"].dropna().tolist() == [r["value"] for r in rows if r["value"] is not None]


def test_charts_are_pictures_of_the_results_numbers(result: SurveyResult) -> None:
    """Each is well-formed and draws the interval ends of results.json; texts stay texts."""
    told = {one["id"]: one for one in json.loads(result_bytes(result))["questions"]}
    found = question_charts(result)
    assert list(found) == [one.id for one in ASKED]
    for name, chart in found.items():
        text = chart_svg(chart)
        tree = ET.fromstring(text)
        assert "".join(tree.itertext()).count("people") == 1
        assert not list(tree.iter("{http://www.w3.org/2000/svg}script"))
        for row, option in zip(chart.rows, told[name]["options"], strict=False):
            known = option.get("of_answered") or option
            assert (row.low, row.high, row.value) == (known["low"], known["high"], known["shown"])
        assert chart_png(chart)[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_report_on_paper_takes_no_text_for_markup(result: SurveyResult) -> None:
    """Titles and labels that are markup elsewhere give a PDF, and so does a survey of nobody."""
    assert report_pdf(result, description="$x$ #panic() ]").startswith(b"%PDF")
    nobody = survey_result(reports_of(define(*ASKED, levels=("low",)), []))
    assert report_pdf(nobody).startswith(b"%PDF")


def test_votes_on_pairs_have_no_file_for_spss() -> None:
    """Their reports name the pair too, which no code of the question does."""
    from tests.surveys.small_surveys import define as small

    from masquerade.results import Codebook
    from masquerade.surveys import PairVote

    survey = small(PairVote("p", "Which?", ("a", "b", "c"), votes=1), levels=("low",))
    book = Codebook("0" * 16, survey, survey.content_hash())
    with pytest.raises(ParameterError, match="Parquet"):
        reports_sav(book, [])
