"""Charts of a result as pictures that stand by themselves: one for each question, SVG and PNG.

The rows are those that the page draws, and the numbers are those of the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from xml.sax.saxutils import escape

from masquerade.results.headline import outward_interval, sentence, whole_percents
from masquerade.results.question_figures import Figure, QuestionResult
from masquerade.results.typed_result import SurveyResult
from masquerade.surveys.kinds import kinds

_WIDTH, _LEFT, _RIGHT, _ROW = 680, 200, 130, 30
_INK, _SOFT, _LINE, _ACCENT, _PAPER = "#1d1329", "#5f5569", "#d9d3df", "#5b1f6b", "#ffffff"
_MOST_TICKS = 5
_FONT = "system-ui, 'DejaVu Sans', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A line of a chart: numbers from 0 to 1 along its axis, and its words."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The chart of one question.

    Attributes
    ----------
    title, said, note : str
        The question, its sentence, and of whom the figures are.
    rows : tuple of ChartRow
    ticks : tuple of (float, str)
        Place, 0 to 1, and text.
    """

    title: str
    said: str
    note: str
    rows: tuple[ChartRow, ...]
    ticks: tuple[tuple[float, str], ...]

    def to_json(self) -> dict[str, object]:
        """Return the chart as a JSON object, for a document."""
        return {
            "title": self.title,
            "said": self.said,
            "note": self.note,
            "rows": [
                {"label": r.label, "value": r.value, "low": r.low, "high": r.high, "text": r.text}
                for r in self.rows
            ],
            "ticks": [[place, text] for place, text in self.ticks],
        }


def question_chart(result: SurveyResult, question: QuestionResult) -> Chart:
    """Return the chart of a question: shares of its answers, or its mean."""
    note = f"{question.n} people, intervals of {100 * result.confidence:.0f} %"
    answered = [one.of_answered for one in question.options if one.of_answered is not None]
    if question.options:
        figures = answered or [one.share for one in question.options]
        if answered:
            note += ", of those who answered"
        labels = [one.label for one in question.options]
        rows = _shares(question, labels, figures)
        ticks = tuple((part / 4, f"{25 * part} %") for part in range(5))
        return Chart(question.text, _said(question), note, rows, ticks)
    low, high, ticks = _range(question)
    figure = question.mean.mean if question.mean is not None else None
    if figure is None or figure.low is None or figure.high is None:
        return Chart(question.text, _said(question), note, (), ticks)
    start, stop = (_place(one, low, high) for one in (figure.low, figure.high))
    value = None if figure.shown is None else _place(figure.shown, low, high)
    first, last = outward_interval(figure.low, figure.high, digits=2)
    text = f"{first:.2f} to {last:.2f}" if figure.shown is None else f"{figure.shown:.2f}"
    row = ChartRow("Mean", value, start, stop, f"{text} {question.unit}".strip())
    return Chart(question.text, _said(question), note, (row,), ticks)


def question_charts(result: SurveyResult) -> dict[str, Chart]:
    """Return the chart of each question by its id; votes on pairs have a leaderboard instead."""
    return {
        one.id: question_chart(result, one)
        for one in result.questions
        if one.options or one.mean is not None
    }


def _shares(
    question: QuestionResult, labels: Sequence[str], figures: Sequence[Figure]
) -> tuple[ChartRow, ...]:
    shown = [one.shown for one in figures if one.shown is not None]
    parts = kinds()[question.kind].parts_of_whole
    percents = iter(whole_percents(shown) if parts else [round(100 * one) for one in shown])
    rows = []
    for label, one in zip(labels, figures, strict=False):
        text = "–"
        if one.shown is not None:
            percent = next(percents)
            sure = 0 < percent < 100 or one.low == one.high
            text = f"{'' if sure else 'about '}{percent:.0f} %"
        elif one.low is not None and one.high is not None:
            low, high = outward_interval(one.low, one.high, digits=2)
            text = f"{100 * low:.0f} to {100 * high:.0f} %"
        rows.append(ChartRow(label, one.shown, one.low, one.high, text))
    return tuple(rows)


def _place(number: float, low: float, high: float) -> float:
    """Return where a number is drawn on an axis from `low`, 0, to `high`, 1."""
    return (number - low) / (high - low)


def _range(question: QuestionResult) -> tuple[float, float, tuple[tuple[float, str], ...]]:
    """Return the ends of a number's axis, which hold 0 and the mean's interval, and its ticks."""
    figure = question.mean.mean if question.mean is not None else None
    low, high = 0.0, 1.0
    if figure is not None and figure.low is not None and figure.high is not None:
        low, high = min(figure.low, 0.0), max(figure.high, 0.0)
        high = high if high > low else low + 1.0
    size = 10.0 ** math.floor(math.log10(high - low))
    steps = [size * part for part in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0)]
    step = next(one for one in steps if (high - low) / one <= _MOST_TICKS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    places = range(first, last + 1)
    ticks = tuple(((k - first) / (last - first), f"{k * step:g}") for k in places)
    return first * step, last * step, ticks


def _said(question: QuestionResult) -> str:
    """Return the sentence of a question, with as many digits as its chart."""
    return sentence(question, digits=0 if question.headline.option is not None else 2)


def chart_svg(chart: Chart) -> str:
    """Return a chart as a picture (SVG) that needs nothing else; texts are escaped.

    Examples
    --------
    >>> row = ChartRow("Yes <b>", 0.4, 0.3, 0.5, "40 %")
    >>> text = chart_svg(Chart("Ill?", "Yes is ahead", "60 people", (row,), ((0.0, "0 %"),)))
    >>> "Yes &lt;b&gt;" in text, text.startswith("<svg ")
    (True, True)
    """
    title, said = wrap(chart.title, 62) or [""], wrap(chart.said, 76) or [""]
    top = 34 + 24 * len(title) + 20 * len(said)
    labels = [wrap(row.label, 26)[:3] or [""] for row in chart.rows]
    heights = [max(_ROW, 8 + 17 * len(one)) for one in labels]
    bottom = top + sum(heights)
    height = bottom + 56
    plot = _WIDTH - _LEFT - _RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="{_FONT}" font-size="14" fill="{_INK}">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="{_PAPER}"/>',
        *(
            f'<text x="20" y="{36 + 24 * place}" font-size="18" font-weight="700">'
            f"{escape(line)}</text>"
            for place, line in enumerate(title)
        ),
        *(
            f'<text x="20" y="{34 + 24 * len(title) + 20 * place}" fill="{_ACCENT}" '
            f'font-weight="600">{escape(line)}</text>'
            for place, line in enumerate(said)
        ),
    ]
    for place, text in chart.ticks:
        x = _LEFT + plot * place
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="{_LINE}"/>'
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" font-size="12" '
            f'fill="{_SOFT}">{escape(text)}</text>'
        )
    y = float(top)
    for row, lines, size in zip(chart.rows, labels, heights, strict=True):
        parts.append(_row(row, lines, y + size / 2))
        y += size
    parts.append(
        f'<text x="20" y="{height - 14}" font-size="12" fill="{_SOFT}">{escape(chart.note)}</text>'
    )
    return "".join([*parts, "</svg>"])


def _row(row: ChartRow, lines: Sequence[str], middle: float) -> str:
    plot = _WIDTH - _LEFT - _RIGHT
    first = middle + 5 - 8.5 * (len(lines) - 1)
    parts = [
        f'<text x="20" y="{first + 17 * place:.1f}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    ]
    if row.value is not None:
        parts.append(
            f'<rect x="{_LEFT}" y="{middle - 8:.1f}" width="{plot * row.value:.1f}" height="16" '
            f'fill="{_ACCENT}" fill-opacity="0.28"/>'
        )
    if row.low is not None and row.high is not None:
        low, high = (_LEFT + plot * end for end in (row.low, row.high))
        parts.append(
            f'<path d="M{low:.1f} {middle - 5:.1f}v10M{low:.1f} {middle:.1f}H{high:.1f}'
            f'M{high:.1f} {middle - 5:.1f}v10" stroke="{_ACCENT}" stroke-width="2.5" fill="none"/>'
        )
    parts.append(
        f'<text x="{_WIDTH - 20}" y="{middle + 5:.1f}" text-anchor="end" font-weight="700">'
        f"{escape(row.text)}</text>"
    )
    return "".join(parts)
