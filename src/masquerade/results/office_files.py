"""A survey's results and reports as spreadsheets (.xlsx), .sav files, printed pages and pictures.

Every text is written as a text, so that no label of a survey becomes a formula; labels stay as they
are. The numbers are those of the result.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from masquerade.errors import MissingExtra, ParameterError
from masquerade.exact.number import quantity
from masquerade.results.charts import Chart, question_charts
from masquerade.results.columns import COLUMNS, NAMES
from masquerade.results.headline import sentence
from masquerade.results.methods import methods_text
from masquerade.results.result_rows import arrow_table
from masquerade.surveys.codebook import labels_of

if TYPE_CHECKING:
    from masquerade.results.cross_tables import CrossTable
    from masquerade.results.report_files import Row
    from masquerade.results.typed_result import SurveyResult
    from masquerade.surveys import Question
    from masquerade.surveys.codebook import Codebook
    from masquerade.surveys.survey import Survey

_Cell = str | float | None
_Sheet = tuple[str, Sequence[str], Iterable[Sequence[_Cell]]]
#: Characters that no spreadsheet can hold.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
#: A cell of a spreadsheet, a label and a value of SPSS: characters and bytes that they hold.
_LONGEST_CELL, _LONGEST_LABEL, _LONGEST_VALUE = 32_000, 250, 115


def result_workbook(
    result: SurveyResult, survey: Survey, *, tables: Sequence[CrossTable] = ()
) -> bytes:
    """Return a result as a workbook: at a glance, all numbers, cross tables, the codebook.

    Parameters
    ----------
    result : SurveyResult
    survey : Survey
    tables : sequence of CrossTable
        Of pairs of questions; those that two parties counted are in the result.

    Raises
    ------
    MissingExtra
        ``openpyxl`` is not installed: the extra ``sheets``.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> result_workbook(result, survey)[:2]
    b'PK'
    """
    rows = arrow_table(result)
    numbers = zip(*(rows[one.name].to_pylist() for one in COLUMNS), strict=True)
    sheets: list[_Sheet] = [
        ("At a glance", ("question", "finding", "n"), _glance(result)),
        ("Results", [one.name for one in COLUMNS], numbers),
        ("Cross tables", _CROSS, _crossed(result, tables)),
        ("Codebook", _CODES, _codes(survey)),
        ("About", ("what", "value"), _about(result)),
    ]
    return _workbook(sheets)


_CROSS = ("first", "second", "row", "column", "value", "low", "high", "reports")
_CODES = ("question", "text", "kind", "code", "label", "level", "mask")


def _glance(result: SurveyResult) -> Iterable[Sequence[_Cell]]:
    return ((one.text, sentence(one), one.n) for one in result.questions)


def _about(result: SurveyResult) -> Iterable[Sequence[_Cell]]:
    return (
        ("title", result.title),
        ("survey", result.survey),
        ("responses", result.responses),
        ("confidence of intervals", result.confidence),
        ("hash of the survey", result.hash),
        ("hash of what went in", result.inputs),
        ("version of the program", result.version),
    )


def _crossed(result: SurveyResult, tables: Sequence[CrossTable]) -> Iterable[Sequence[_Cell]]:
    for table in tables:
        for row in table.to_arrow().to_pylist():
            names = (table.first, table.second, row["row"], row["column"])
            yield (*names, row["value"], row["low"], row["high"], row["reports"])
    for counted in result.cross_tables or ():
        for cell in counted.cells:
            yield (*counted.questions, cell.label, "", *_ends(cell.share), None)


def _ends(figure: Any) -> tuple[float | None, float | None, float | None]:
    return figure.value, figure.low, figure.high


def _codes(survey: Survey) -> Iterable[Sequence[_Cell]]:
    for place, question in enumerate(survey.questions):
        for level in survey.levels:
            masks = level.mechanisms if survey.two_parties is None else ()
            mask = str(masks[place]) if masks else "added up by two parties"
            named = (question.id, question.text, question.kind)
            for code, label in enumerate(labels_of(question) or [""]):
                yield (*named, code if label else None, label, level.name, mask)


def _workbook(sheets: Sequence[_Sheet]) -> bytes:
    try:
        openpyxl = import_module("openpyxl")
    except ImportError as error:
        raise MissingExtra("spreadsheets need openpyxl", "sheets") from error
    cell_of, styles = import_module("openpyxl.cell").WriteOnlyCell, import_module("openpyxl.styles")
    book = openpyxl.Workbook(write_only=True)
    for name, headings, rows in sheets:
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        for place, heading in enumerate(headings):
            width = 60 if heading in ("text", "finding") else max(12, len(heading) + 2)
            sheet.column_dimensions["ABCDEFGHIJKLMNOP"[place]].width = width
        head = []
        for heading in headings:
            cell = cell_of(sheet, value=heading)
            cell.font = styles.Font(bold=True)
            head.append(cell)
        sheet.append(head)
        for row in rows:
            cells = []
            for value in row:
                cell = cell_of(sheet, value=_text(value) if isinstance(value, str) else value)
                if isinstance(value, str):
                    cell.data_type = "s"  # a text, whatever it begins with
                cells.append(cell)
            sheet.append(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _text(value: str) -> str:
    return _CONTROL.sub(" ", value)[:_LONGEST_CELL]


def result_sav(result: SurveyResult) -> bytes:
    """Return the numbers of a result for SPSS (.sav), with the columns of `result_table`.

    Raises
    ------
    MissingExtra
        ``pyreadstat`` is not installed: the extra ``sav``.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> result_sav(result)[:4]
    b'$FL2'
    """
    rows = arrow_table(result)
    columns = {one.name: rows[one.name].to_pylist() for one in COLUMNS}
    for one in NAMES:
        columns[one.name] = [value or "" for value in columns[one.name]]
    labels = {one.name: one.text[:_LONGEST_LABEL] for one in COLUMNS}
    return _sav(columns, labels, {}, f"Result of survey {result.survey}")


def reports_sav(codebook: Codebook, chunks: Iterable[Sequence[Row]]) -> bytes:
    """Return the masked reports of a survey for SPSS (.sav), a row a person, with labels.

    Labels of variables say that they are masked reports: percentages of them are not the result.

    Parameters
    ----------
    codebook : Codebook
    chunks : iterable of sequences of (pseudonym, level, reports)

    Raises
    ------
    MissingExtra
        ``pyreadstat`` is not installed: the extra ``sav``.
    ParameterError
        The survey is a vote on pairs of a list, whose reports have no codes of their own.
    """
    if any(one.takes_pair for one in codebook.questions):
        raise ParameterError("votes on pairs of a list have no .sav file; take the Parquet file.")
    names = _names(codebook.questions)
    columns: dict[str, list[Any]] = {"person": [], "level": []}
    columns |= {name: [] for name in names}
    for rows in chunks:
        for pseudonym, level, reports in rows:
            columns["person"].append(pseudonym)
            columns["level"].append(level)
            sent = reports.strip("[] \n").split(",") if isinstance(reports, str) else reports
            for name, value in zip(names, sent, strict=True):
                columns[name].append(float(value))
    texts = {"person": "pseudonym in this survey", "level": "level of protection"}
    values: dict[str, dict[float, str]] = {}
    for name, question in zip(names, codebook.questions, strict=True):
        texts[name] = f"Masked report: {question.whole_text}"[:_LONGEST_LABEL]
        labels = labels_of(question) if question.parts_of_whole else []
        if labels:
            values[name] = {
                float(code): label[:_LONGEST_VALUE] for code, label in enumerate(labels)
            }
    return _sav(columns, texts, values, f"Masked reports of survey {codebook.token}")


def _names(questions: Sequence[Question]) -> list[str]:
    """Return a name of a variable for each question: its place, then its id as far as it fits."""
    found = []
    for place, question in enumerate(questions, start=1):
        fit = re.sub(r"[^A-Za-z0-9_]+", "_", question.id).strip("_")[:40]
        found.append(f"q{place}_{fit}".rstrip("_"))
    return found


def _sav(
    columns: dict[str, list[Any]],
    labels: dict[str, str],
    values: dict[str, dict[float, str]],
    title: str,
) -> bytes:
    try:
        pyreadstat, pandas = import_module("pyreadstat"), import_module("pandas")
    except ImportError as error:
        raise MissingExtra("files of SPSS need pyreadstat and pandas", "sav") from error
    frame = pandas.DataFrame(columns)
    for name in frame.columns:
        if name in values or all(not isinstance(x, str) for x in columns[name]):
            frame[name] = frame[name].astype("float64")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.sav"
        pyreadstat.write_sav(
            frame,
            str(path),
            file_label=title[:60],
            column_labels=labels,
            variable_value_labels=values,
        )
        return path.read_bytes()


_TEMPLATE = Path(__file__).with_name("report.typ")


def report_pdf(result: SurveyResult, *, description: str = "") -> bytes:
    """Return a result as a PDF: at a glance, a chart for each question, the method.

    Parameters
    ----------
    result : SurveyResult
    description : str
        Of the survey, below its title.

    Raises
    ------
    MissingExtra
        Typst is not installed: the extra ``pdf``.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> report_pdf(result)[:4]
    b'%PDF'
    """
    people = quantity(result.responses, "person", "people")
    content = {
        "kind": "report",
        "title": result.title,
        "description": description,
        "about": f"{people}; intervals of {100 * result.confidence:.0f} %.",
        "footer": f"{result.title[:60]} · survey {result.hash[:16]} · Masquerade {result.version}",
        "charts": [one.to_json() for one in question_charts(result).values()],
        "method": methods_text(result),
    }
    return _set(content, "pdf")


def chart_png(chart: Chart) -> bytes:
    """Return a chart as a picture of dots (PNG), twice as fine as a screen.

    Raises
    ------
    MissingExtra
        Typst is not installed: the extra ``pdf``.

    Examples
    --------
    >>> from masquerade.results.charts import Chart, ChartRow
    >>> row = ChartRow("Yes", 0.4, 0.3, 0.5, "40 %")
    >>> chart_png(Chart("Ill?", "Yes is ahead", "60 people", (row,), ((0.0, "0 %"),)))[1:4]
    b'PNG'
    """
    content = {"kind": "chart", "title": chart.title, "charts": [chart.to_json()]}
    return _set(content, "png")


def _set(content: dict[str, Any], form: Literal["pdf", "png"]) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise MissingExtra("reports on paper and pictures need typst", "pdf") from error
    text = json.dumps(content, ensure_ascii=False)
    found: Any = typst.compile(
        _TEMPLATE.read_bytes(), format=form, ppi=192.0, sys_inputs={"data": text}
    )
    # pages of pictures come one by one; a chart is one
    return bytes(found[0] if isinstance(found, list) else found)
