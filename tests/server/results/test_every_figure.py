"""Every figure of results.json stands in every file and picture of a result, and no other does."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas
import pyreadstat
import pytest
from tests.results.golden_surveys import golden_files, sums_of
from tests.server.results.reading import read_page, table_rows

from masquerade.results import (
    Codebook,
    SurveyReports,
    SurveyResult,
    Weighting,
    chart_svg,
    notebook,
    question_charts,
    report_pdf,
    result_bytes,
    result_sav,
    result_table,
    result_workbook,
    split_result,
    survey_result,
    weighted_result,
    write_reports,
)
from masquerade.results.simulated import simulate_reports
from masquerade.server.http.pages import _templates
from masquerade.server.results.view import result_view
from masquerade.surveys import (
    Choice,
    Comparison,
    DateQuestion,
    Matrix,
    Number,
    PairVote,
    PromoterScore,
    Question,
    Ranking,
    Rating,
    SeveralOf,
    ShowIf,
)
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

#: Beside its figures a file has ends of intervals held at once, and values of made-up people.
BESIDE = ("simultaneous_low", "simultaneous_high", "known")
QUARTILES = {0.25: "(first quartile)", 0.5: "(median)", 0.75: "(third quartile)"}
TESTS = {"heterogeneity": "(levels alike)", "plausibility": "(honest reports)"}
#: The seven numbers of a figure: in results.json, and in the columns of a file.
NUMBERS = {
    "value": "value",
    "shown": "shown",
    "low": "low",
    "high": "high",
    "standard_error": "se",
    "sampling_error": "sampling_error",
    "mechanism_error": "mechanism_error",
}
#: Question, option, level, n, the seven numbers, and those beside them.
Row = tuple[Any, ...]
PEOPLE = 210
ILL = Choice("ill", "Worked while ill?", ("Yes", "No"))
EVERY_KIND: tuple[Question, ...] = (
    ILL,
    Choice("why", "Why?", ("Money", "=Fear"), allow_skip=True),
    Rating("stress", "How stressful?", allow_skip=True),
    Matrix("m", "How good were", 1, 5, rows=("Talks", "Food")),
    PromoterScore("nps", "Would you tell a friend?"),
    Number("hours", "How long?", 0, 40, "h"),
    Number("maybe", "How many?", 0, 10, "cups", allow_skip=True),
    SeveralOf("ticks", "Which?", ("a", "b", "c")),
    SeveralOf("two", "Which two?", ("x", "y", "z"), most=2),
    DateQuestion("day", "When?", ("2026-05-17", "2026-05-18")),
    Ranking("rank", "Which first?", ("p", "q", "r")),
    Comparison("p1", "Which of both?", "X", "Y"),
)
SUMMED = (
    ILL,
    Choice("why", "Why?", ("Money", "=Fear"), allow_skip=True),
    Rating("mood", "How are you?", 0, 10, allow_skip=True),
    Number("hours", "How long?", -2, 40, "h", 0.5),
    SeveralOf("ticks", "Which?", ("a", "b", "c")),
)


@dataclass(frozen=True)
class Case:
    """A survey with its result, and with the rows of its reports where they are looked at."""

    survey: Survey
    result: SurveyResult
    codebook: Codebook | None = None
    rows: Sequence[tuple[str, str, list[int]]] = ()

    @property
    def content(self) -> dict[str, Any]:
        """The result as results.json has it."""
        found: dict[str, Any] = json.loads(result_bytes(self.result))
        return found


def answer(question: Question, rng: np.random.Generator) -> Any:
    """Return a made-up answer, the first ones more often than the others."""
    if question.kind == "several":
        return [one for one in question.labels if rng.random() < 0.4][:2]
    if question.kind == "ranking":
        return [question.labels[place] for place in rng.permutation(3)]
    if question.allow_skip and rng.random() < 0.15:
        return None
    code = int(rng.random() ** 2 * question.answer_count)
    return question.answer(code)


@cache
def cases() -> dict[str, Case]:
    """Return a survey with masks of all kinds, one between two parties, and a weighted one."""
    rng = np.random.default_rng(3)
    survey = Survey.at_levels(
        title="Work", description="Made up", questions=EVERY_KIND, levels=("low", "none")
    )
    answers = {one.id: [answer(one, rng) for _ in range(PEOPLE)] for one in survey.questions}
    levels = ["low" if n % 3 else "none" for n in range(PEOPLE)]
    drawn = simulate_reports(survey, answers, rng, levels=levels)
    people = [(name, row) for name in drawn.counts() for row in drawn.at_level(name).tolist()]
    rows = [(f"p{n:03}", name, row) for n, (name, row) in enumerate(people)]
    reports = SurveyReports.from_rows(drawn.codebook, *map(list, zip(*rows, strict=True)))
    margins = Weighting({"ill": {"Yes": 0.35, "No": 0.65}}, population=10 * PEOPLE)
    terms = TwoParties.of(
        helper="https://helper.example",
        operator="The works council",
        fingerprint="5a" * 16,
        rho="2",
        cross=(("ill", "why"),),
    )
    split = Survey(
        *("Together", "", "pick"),
        SUMMED,
        (OfferedLevel("two-parties", ()),),
        conditions=(None, ShowIf("ill", ("Yes",)), None, None, None),
        two_parties=terms,
    )
    summed = split_result(split, sums_of(split, 500, 7), token="5a" * 8, count=500, refused=2)
    return {
        "masks": Case(survey, survey_result(reports), reports.codebook, rows),
        "parties": Case(split, summed),
        "weighted": Case(survey, weighted_result(reports, margins)),
    }


NAMES = ("masks", "parties", "weighted")


def figures(content: Mapping[str, Any]) -> list[Row]:
    """Return every figure of results.json, found by its keys, with its place."""
    split = content.get("trust") == "two-parties"
    found: list[Row] = []
    for question in content["questions"]:
        for part in ("options", "mean", "ranks", "by_level"):
            name = "(mean)" if part == "mean" else ""
            found += _figures(question.get(part), question["id"], name, "all", question["n"])
        lone = [(one["label"], one["reported_share"]) for one in question["options"] if not split]
        lone += [(one["item"], one["first_choice"]) for one in question.get("ranks") or ()]
        lone += [(TESTS[key], (question[key] or {}).get("probability")) for key in TESTS]
        found += [
            (question["id"], *named(one, question["n"]))
            for one in lone
            if one[0] not in TESTS.values() or one[1] is not None
        ]
        for one in question.get("quartiles") or ():
            name, n = QUARTILES[one["share"]], question["n"]
            found.append(_within(question["id"], name, n, one["value"], one["low"], one["high"]))
    n = content["responses"]
    for table in content.get("cross_tables") or ():
        name = " × ".join(table["questions"])
        found += _figures(table["cells"], name, "", "all", n)
    for one in content["labels"]:
        found.append((one["id"], *named((one["label"], one["probability"]), n)))
    for item in content["ranking"]:
        numbers = (item["strength"], item["low"], item["high"], item["standard_error"])
        found.append(_within("", item["item"], n, *numbers))
    for board in content.get("leaderboards") or ():
        for item in board["items"]:
            of = (board["question"], item["item"], board["votes"])
            numbers = (item["strength"], item["low"], item["high"], item["standard_error"])
            found.append(_within(*of, *numbers))
            found.append(_within(*of, item["rating"], None, None))
            found.append(_within(*of, None, item["rank_low"], item["rank_high"]))
    return found


def named(one: tuple[str, float], n: int) -> Row:
    """Return option, level, n and numbers of a share that stands without an interval."""
    return _within("", one[0], n, one[1], None, None)[1:]


def _within(
    question: str,
    name: str,
    n: int,
    value: float | None,
    low: float | None,
    high: float | None,
    error: float | None = None,
) -> Row:
    return (question, name, "all", n, value, None, low, high, error, *[None] * 5)


def _figures(node: Any, question: str, name: str, level: str, n: int) -> Iterator[Row]:
    if isinstance(node, list):
        for one in node:
            yield from _figures(one, question, name, level, n)
    elif isinstance(node, dict):
        name = str(node.get("label", node.get("item", name)))
        level, n = node.get("level", level), node.get("n", n)
        if set(NUMBERS) <= set(node):
            known = node.get("known_share", node.get("known_mean"))
            beside = (node.get("simultaneous_low"), node.get("simultaneous_high"), known)
            yield (question, name, level, n, *(node[key] for key in NUMBERS), *beside)
        for key, one in node.items():
            yield from _figures(one, question, "(mean)" if key == "mean" else name, level, n)


def rows_of(frame: Any, *, texts: bool = True) -> list[Row]:
    """Return the rows of a file as `figures` has them, numbers as numbers."""
    names = ("question", "option", "level")
    found = []
    for line in frame.to_dict("records"):
        cells = [line[one] for one in ("n", *NUMBERS.values(), *BESIDE)]
        numbers = [None if pandas.isna(one) else float(one) for one in cells]
        words = ["" if pandas.isna(line[one]) else str(line[one]) for one in names]
        found.append((*(words if texts else [one.removeprefix("'") for one in words]), *numbers))
    return found


def equal(found: list[Row], expected: list[Row], *, rel: float = 0.0) -> None:
    """Compare two lists of figures, in whatever order; `rel` is how far a program rounds."""

    def order(row: Row) -> list[Any]:
        return [one if isinstance(one, str) else (one is None, one or 0.0) for one in row]

    one, other = sorted(found, key=order), sorted(expected, key=order)
    assert [row[:3] for row in one] == [row[:3] for row in other]
    for row, known in zip(one, other, strict=True):
        assert [x is None for x in row] == [x is None for x in known]
        numbers = [[x for x in each[3:] if isinstance(x, int | float)] for each in (row, known)]
        assert numbers[0] == pytest.approx(numbers[1], rel=rel, abs=0), row


def crossed(content: Mapping[str, Any]) -> list[Row]:
    """Return every cell of the tables that two parties counted."""
    return [
        (cell["label"], "", "", cell["value"], cell["low"], cell["high"])
        for table in content.get("cross_tables") or ()
        for cell in table["cells"]
    ]


def said(text: str, figure: Mapping[str, float | None], scale: float = 1.0) -> None:
    """Check that words say a figure: its point to the digits printed, its interval outwards."""
    written = re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-").replace(",", ""))
    numbers = [float(one) / scale for one in written]
    # percentages of parts of a whole are rounded together, so one may be off by a whole digit
    digit = 1.001 * 10.0 ** -(len(written[0].partition(".")[2])) / scale
    if " to " in text or "between" in text:
        low, high = figure["low"], figure["high"]
        assert low is not None
        assert high is not None
        assert low - digit <= numbers[0] <= low + 1e-9
        assert high - 1e-9 <= numbers[1] <= high + digit
    else:
        assert figure["shown"] is not None
        assert abs(numbers[0] - figure["shown"]) <= digit


def test_the_surveys_have_what_is_to_be_compared() -> None:
    """All kinds, points and intervals, levels apart, ranks, pairs, cells and weights are there."""
    known = {name: figures(one.content) for name, one in cases().items()}
    assert {row[2] for row in known["masks"]} == {"all", "low", "none"}
    assert {row[0] for row in known["masks"]} >= {one.id for one in EVERY_KIND[:-1]}
    assert "" in {row[0] for row in known["masks"]}
    for rows in known.values():
        assert any(row[5] is not None for row in rows)
    assert any(row[5] is None and row[6] is not None for row in known["masks"])
    assert len(crossed(cases()["parties"].content)) > 4
    weighted = {row[:2]: row[4] for row in known["weighted"] if row[2] == "all" and row[6]}
    assert weighted["ill", "Yes"] == pytest.approx(0.35)


def test_every_estimator_of_files_is_documented() -> None:
    """The page on files explains each name that stands in the column `estimator`."""
    page = Path(__file__).parents[3] / "docs" / "explanation" / "result-files.md"
    [row] = re.findall(r"^\| `estimator` \|.*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    tables = [io.StringIO(result_table(one.result)) for one in cases().values()]
    names = {name for table in tables for name in pandas.read_csv(table, dtype=str)["estimator"]}
    assert len(names) > 6
    assert [name for name in sorted(names) if f"`{name}`" not in row] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_workbook_a_table_and_a_file_for_spss_hold_every_figure(
    tmp_path: Path, name: str
) -> None:
    """Pandas, openpyxl, pyreadstat: the figures of results.json and no other; sheets too."""
    case = cases()[name]
    expected, content = figures(case.content), case.content
    path = tmp_path / "r.xlsx"
    path.write_bytes(result_workbook(case.result, case.survey))
    # a workbook has 16 digits
    equal(rows_of(pandas.read_excel(path, sheet_name="Results")), expected, rel=1e-15)
    book = openpyxl.load_workbook(path)
    head, *cells = book["Results"].iter_rows(values_only=True)
    equal(rows_of(pandas.DataFrame(cells, columns=head)), expected, rel=1e-15)
    _, *cells = book["Cross tables"].iter_rows(values_only=True)
    equal([(row[2], "", "", *row[4:7]) for row in cells], crossed(content), rel=1e-15)
    _, *cells = book["At a glance"].iter_rows(values_only=True)
    assert [row[2] for row in cells] == [one["n"] for one in content["questions"]]
    about = dict(book["About"].iter_rows(values_only=True, min_row=2))
    told = {"responses": "responses", "confidence": "confidence of intervals"}
    assert {key: about[text] for key, text in told.items()} == {key: content[key] for key in told}
    assert about["hash of the survey"] == content["hash"]
    table = pandas.read_csv(io.StringIO(result_table(case.result)), dtype=str)
    equal(rows_of(table, texts=False), expected)
    spss = tmp_path / "r.sav"
    spss.write_bytes(result_sav(case.result))
    equal(rows_of(pyreadstat.read_sav(str(spss))[0]), expected)


def test_the_tables_of_fifty_surveys_hold_every_figure() -> None:
    """Of nobody, one or many, with labels, known shares, two parties: no figure is missing."""
    files = dict(golden_files())
    names = [name.removesuffix("/result.json") for name in files if name.endswith("/result.json")]
    assert len(names) == 50
    beside = 0
    for name in names:
        expected = figures(json.loads(files[f"{name}/result.json"]))
        beside += sum(None not in row[-3:] for row in expected)
        table = pandas.read_csv(io.BytesIO(files[f"{name}/result.csv"]), dtype=str)
        equal(rows_of(table, texts=False), expected)
    assert beside > 20


def test_the_table_of_votes_holds_ranks_and_ratings() -> None:
    """Each item of a leaderboard has its strength, its rating and the ranks that it may have."""
    votes = PairVote("best", "Which is better?", ("=A", "B", "C", "D"), votes=2, tie="Both alike")
    asked = (ILL, *votes.parts())
    terms = TwoParties.of(
        helper="https://helper.example", operator="-", fingerprint="5a" * 16, rho="2"
    )
    level = OfferedLevel("two-parties", ())
    survey = Survey("Votes", "", "pick", asked, (level,), two_parties=terms)
    sums = [[300, 100], [300, 200, 100, 50, 50, 100, 200, 300]]
    result = split_result(survey, sums, token="5a" * 8, count=400, refused=0)
    expected = figures(json.loads(result_bytes(result)))
    assert sum(row[0] == "best" for row in expected) == 12
    table = pandas.read_csv(io.StringIO(result_table(result)), dtype=str)
    equal(rows_of(table, texts=False), expected)


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_reads_every_figure_of_workbooks_and_tables(tmp_path: Path) -> None:
    """In one run it opens three workbooks, and saves all sheets with the numbers they hold."""
    for name, case in cases().items():
        (tmp_path / f"{name}.xlsx").write_bytes(result_workbook(case.result, case.survey))
    # comma, quotes, UTF-8; cells as they are and not as they look; each sheet in a file
    form = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    files = [str(tmp_path / f"{name}.xlsx") for name in cases()]
    command = ["soffice", profile, "--headless", "--convert-to", form, "--outdir", str(tmp_path)]
    subprocess.run([*command, *files], check=True, capture_output=True, timeout=300)
    for name, case in cases().items():
        frame = pandas.read_csv(tmp_path / f"{name}-Results.csv", dtype=str)
        equal(rows_of(frame), figures(case.content), rel=1e-14)
        cells = pandas.read_csv(tmp_path / f"{name}-Cross tables.csv", dtype=str)
        found = cells[["row", "value", "low", "high"]].itertuples(index=False, name=None)
        equal(
            [(one, "", "", *map(float, rest)) for one, *rest in found],
            crossed(case.content),
            rel=1e-14,
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_drawn_where_its_figures_lie(name: str) -> None:
    """Bars and whiskers of the SVG are as long as the figures say, and its words say them."""
    content = {one["id"]: one for one in cases()[name].content["questions"]}
    found = question_charts(cases()[name].result)
    assert set(found) == {one for one, told in content.items() if told["options"] or told["mean"]}
    for key, chart in found.items():
        tree = ET.fromstring(chart_svg(chart))
        drawn = [one.get("d", "") for one in tree if one.tag.endswith("path")]
        bars = [float(one.get("width", "")) for one in tree if one.tag.endswith("rect")][1:]
        options = content[key]["options"]
        figures = [one["of_answered"] for one in options if "of_answered" in one] or options
        start, length = (0.0, 1.0) if options else _axis(tree)
        figures = figures or [content[key]["mean"]]
        assert len(drawn) == len(figures) == len(chart.rows)
        for line, row, figure in zip(drawn, chart.rows, figures, strict=True):
            low, high = map(float, re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", line)[0])
            # of 350 pixels; ends and ticks are drawn to a tenth
            for place, end in ((low, "low"), (high, "high")):
                at = start + length * (place - 200) / 350
                assert at == pytest.approx(figure[end], abs=0.2 * length / 350)
            said(row.text, figure, 100.0 if options else 1.0)
        points = [one["shown"] for one in figures if one["shown"] is not None]
        assert bars == pytest.approx([350 * (one - start) / length for one in points], abs=0.2)


def _axis(tree: ET.Element) -> tuple[float, float]:
    """Return where a picture's axis begins, and how long it is, by the ticks at its ends."""
    ticks = [one for one in tree if one.get("text-anchor") == "middle"]
    places = [(float(one.get("x", "")), float(one.text or "")) for one in ticks]
    (x, first), (y, last) = places[0], places[-1]
    length = (last - first) / (y - x) * 350
    return first - length * (x - 200) / 350, length


@pytest.mark.parametrize("name", NAMES)
def test_a_report_on_paper_says_every_picture(name: str) -> None:
    """The text of the PDF has each question, its sentence, and each row with its words."""
    pypdf = pytest.importorskip("pypdf")
    case = cases()[name]
    pages = pypdf.PdfReader(io.BytesIO(report_pdf(case.result))).pages
    text = re.sub(r"\s+", " ", " ".join(page.extract_text() for page in pages))
    assert f"{case.content['responses']} people; intervals of 95 %." in text
    assert f"survey {case.content['hash'][:16]}" in text
    for chart in question_charts(case.result).values():
        rows = " ".join(f"{row.label} {row.text}" for row in chart.rows)
        card = f"{chart.title} {chart.said} {rows} {' '.join(one for _, one in chart.ticks)}"
        assert re.sub(r"\s+", " ", f"{card} {chart.note}") in text


@pytest.mark.parametrize("name", NAMES)
def test_the_table_below_a_chart_says_every_figure(name: str) -> None:
    """Each row of a page's table has the estimate, the interval and both errors of its figure."""
    case = cases()[name]
    template = _templates.env.from_string(
        '{% import "result/result.html" as shows %}{{ shows.results(view) }}'
    )
    page = read_page(template.render(view=result_view(case.survey, case.result)))
    sections = {one.attributes.get("id", ""): one for one in page.all("section")}
    split = name == "parties"
    for question in case.content["questions"]:
        table = sections[f"question-{question['id']}"].first("table", "twin")
        assert table is not None
        expected = _twin(question)
        rows = table_rows(table)
        assert [row[next(iter(row))] for row in rows] == [label for label, *_ in expected]
        for row, (_, figure, reported, scale) in zip(rows, expected, strict=True):
            if figure["shown"] is None:
                assert row["Estimate"] == "–"
            else:
                said(row["Estimate"], figure, scale)
            said(row["Interval"], figure, scale)
            for column, key in ((0, "sampling_error"), (1, "mechanism_error")):
                cell = row[("± people", "± noise" if split else "± masks")[column]]
                said(cell, {"shown": figure[key]}, scale)
            if reported is not None and not split:
                said(row["Reported"], {"shown": reported}, 100)
    cells = [cell.text for one in page.all("section", "cross") for cell in one.all("td", "num")]
    for cell, (*_, value, low, high) in zip(cells, crossed(case.content), strict=True):
        point, between = cell.split("%", 1)
        said(between, {"low": low, "high": high}, 100)
        if point.strip() != "–":
            said(point, {"shown": value}, 100)


def _twin(question: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], float | None, float]]:
    """Return label, figure, share of the reports and scale of each row of a page's table."""
    options, found = question["options"], []
    answered = [one for one in options if "of_answered" in one]
    of_all = f" of all {question['n']}" if answered else ""
    for one in options:
        found.append((one["label"] + of_all, one, one["reported_share"], 100.0))
    for one in answered:
        found.append((f"{one['label']} of those who answered", one["of_answered"], None, 100.0))
    for one in question.get("ranks") or ():
        found.append((one["item"], one, None, 1.0))
    if question["mean"] and not question.get("ranks"):
        first = "Mean, everybody" if options else "Everybody"
        found.append((first, question["mean"], None, 1.0))
        for level in question["by_level"]:
            label = f"Mean, {level['level']}" if options else level["level"]
            found.append((label, level["mean"], None, 1.0))
    return found


def test_a_notebook_computes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the reports as Parquet its cells give results.json, and print each interval."""
    case = cases()["masks"]
    assert case.codebook is not None
    rows = [(who, level, json.dumps(row)) for who, level, row in case.rows]
    content = b"".join(write_reports(case.codebook, [rows], kind="parquet"))
    (tmp_path / "reports.parquet").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for cell in notebook(case.codebook, reports="reports.parquet")["cells"]:
            if cell["cell_type"] == "code":
                exec(cell["source"], names)
    assert result_bytes(names["result"]) == result_bytes(case.result)
    for question in case.content["questions"]:
        figures = [(one["label"], one) for one in question["options"]]
        figures += [("mean", question["mean"])] if question["mean"] else []
        for label, one in figures:
            point = "" if one["shown"] is None else f"{one['shown']:.3f} "
            assert f"  {label}: {point}({one['low']:.3f} to {one['high']:.3f})" in out.getvalue()
