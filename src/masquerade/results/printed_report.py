"""A result on paper (PDF) and its charts as pictures (PNG), set by Typst, an extra of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from masquerade.errors import MissingExtra
from masquerade.results.charts import Chart, question_charts
from masquerade.results.methods import methods_text

if TYPE_CHECKING:
    from masquerade.results.typed_result import SurveyResult

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
    people = "person" if result.responses == 1 else "people"
    content = {
        "kind": "report",
        "title": result.title,
        "description": description,
        "about": f"{result.responses} {people}; intervals of {100 * result.confidence:.0f} %.",
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
