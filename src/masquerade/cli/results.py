"""``masquerade results``: estimates from the exported reports of a survey."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import p_value, show_rows
from masquerade.exact.number import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from masquerade.results import (
        Codebook,
        Difference,
        QuestionResult,
        SurveyReports,
        SurveyResult,
    )
    from masquerade.results.typed_result import RankedItem

_MEAN = "mean"


ReportsArgument = Annotated[
    Path,
    typer.Argument(
        help="File of reports that a survey server exported: .parquet, .csv or .jsonl.",
        metavar="REPORTS",
        show_default=False,
    ),
]
CodebookOption = Annotated[
    Path | None,
    typer.Option(
        help="File with the codebook (JSON) that the server exported beside a .csv or .jsonl "
        "file. A .parquet file contains its codebook."
    ),
]
EstimatorChoice = Annotated[
    str | None,
    choice(
        *("within", "own", "alike"),
        help="How far people at one level may differ from everybody: within, by 15 points of "
        "100; own, by any; alike, not at all. Default: what the survey fixed before it "
        "was opened.",
    ),
]
PoolOption = Annotated[
    str | None,
    typer.Option(
        help="How many people were asked at each level, whether they answered or not, such "
        "as high=300,low=200. Default: as the codebook says."
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        help="Id of a question. Compares the groups of people who answer it in different "
        "ways, for every other question.",
        metavar="QUESTION",
    ),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(
        help="File of reports of another survey or wave with the same questions (.parquet). "
        "Gives the differences, this survey minus the other.",
        metavar="OTHER",
    ),
]
WeightsOption = Annotated[
    Path | None,
    typer.Option(
        help="File (CSV) with what is known of the population: columns question, answer and share "
        "(raking), or weight. Gives the result in which people count by it.",
        metavar="TABLE",
    ),
]
LanguageOption = Annotated[
    str | None,
    typer.Option(
        help="One of the survey's languages, such as de, for its texts. Default: as they were "
        "written."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="File for the result (JSON). The name - prints it on standard output."),
]
TableOption = Annotated[
    Path | None,
    typer.Option(help="File for the numbers of the result (CSV). Default: not written."),
]


def results(
    reports: ReportsArgument,
    codebook: CodebookOption = None,
    estimator: EstimatorChoice = None,
    pool: PoolOption = None,
    by: ByOption = None,
    against: AgainstOption = None,
    weights: WeightsOption = None,
    language: LanguageOption = None,
    out: OutOption = None,
    table: TableOption = None,
    json: AsJson = False,
) -> None:
    """Compute the result of a survey from its exported reports, as its server does.

    Without --estimator and --pool, the JSON is the same as the server's, byte for byte, also in
    another language.

    Example: masquerade results reports.parquet --out result.json
    """
    from masquerade.answers.frames import STANDARD
    from masquerade.results import (
        Weighting,
        read_codebook,
        read_reports,
        result_bytes,
        result_in_language,
        result_table,
        survey_result,
        weighted_result,
    )

    known = None
    if codebook is not None or reports.suffix == ".parquet":
        known = _changed(read_codebook(codebook or reports), estimator, pool)
    found = read_reports(reports, codebook=known)
    if by is not None or against is not None:
        if language is not None:
            raise typer.BadParameter(
                "comparisons have the texts as they were written.", param_hint="--language"
            )
        _compare(found, by, against, json=json)
        return
    if weights is None:
        result = survey_result(found)
    else:
        result = weighted_result(found, Weighting.read(weights.read_text(encoding="utf-8-sig")))
    if language is not None:
        result = result_in_language(result, found.codebook.survey, language)
    text = result_bytes(result)
    if out is not None and out != STANDARD:
        out.write_bytes(text)
    if table is not None:
        table.write_bytes(result_table(result).encode())
    if json or out == STANDARD:
        sys.stdout.write(text.decode() + "\n")
    else:
        _show(result)


def _compare(reports: SurveyReports, by: str | None, against: Path | None, *, json: bool) -> None:
    """Print the groups of a question, or the differences to another survey."""
    from json import dumps

    from masquerade.results import all_differences, group_comparisons, read_reports

    groups = () if by is None else group_comparisons(reports, by=by)
    waves = () if against is None else all_differences(reports, read_reports(against))
    if json:
        content = {
            "groups": [one.to_dict() for one in groups],
            "differences": [one.to_dict() for one in waves],
        }
        sys.stdout.write(dumps(content, ensure_ascii=False) + "\n")
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for one in groups:
        share = one.option is not None
        name = f"{one.question}: {one.option}" if share else f"{one.question}: {_MEAN}"
        view = Table("group", "estimate", "from", "to", title=_plain(name), title_justify="left")
        for row in one.groups:
            figure = row.figure
            view.add_row(
                _plain(row.group),
                *(_number(x, share=share) for x in (figure.shown, figure.low, figure.high)),
            )
        console.print(view)
        _print_differences(console, one.differences)
    _print_differences(console, waves)
    rows = [*(row for one in groups for row in one.differences), *waves]
    if len(rows) > 1:
        console.print(
            f"{len(rows)} differences were looked at together: in 95 of 100 such tables all their "
            "intervals hold, and none is said to be there that is not."
        )


def _print_differences(console: Console, rows: Sequence[Difference]) -> None:
    for row in rows:
        share = row.option is not None
        name = row.question if row.option is None else f"{row.question}, {row.option}"
        low, high = (
            _number(end, share=share, signed=True)
            for end in (row.simultaneous_low, row.simultaneous_high)
        )
        sure = "differ" if row.differ else "may be alike"
        console.print(
            f"{_plain(name)}: {_plain(row.first_group)} minus {_plain(row.second_group)} between "
            f"{low} and {high}; they {sure} (p {p_value(row.probability, 3)})"
        )


def _number(value: float | None, *, share: bool, signed: bool = False) -> str:
    if value is None:
        return "–"
    sign = "+" if signed else ""
    return f"{value:{sign}.1%}" if share else f"{value:{sign}.3f}"


def _changed(codebook: Codebook, estimator: str | None, pool: str | None) -> Codebook:
    """Return the codebook with the values of the command line in place of its own."""
    from dataclasses import replace

    if estimator is not None:
        from masquerade.surveys.survey import LEVEL_RULES

        code = next(code for code, name in LEVEL_RULES.items() if name == estimator)
        codebook = replace(codebook, survey=replace(codebook.survey, estimator=code))
    if pool is not None:
        codebook = replace(codebook, pool=_counts(pool))
    return codebook


def _counts(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(","):
        name, _, count = (piece.strip() for piece in part.partition("="))
        if not name or not count.isdecimal():
            raise typer.BadParameter(
                f"{part!r} is not of the form level=number, such as high=300.", param_hint="--pool"
            )
        found[name] = int(count)
    return found


def _show(result: SurveyResult) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    # A level without a number may have nobody: small counts are kept back.
    levels = ", ".join(
        f"{'not counted' if one.responses is None else one.responses} at {one.name}"
        for one in result.levels
    )
    people = quantity(result.responses, "person", "people")
    console.print(f"[bold]{_plain(result.title)}[/bold]: {people} ({levels})")
    console.print(f"intervals of {result.confidence:.0%}")
    for question in result.questions:
        view = Table(title=_plain(question.text), title_justify="left")
        for column in ("answer", "estimate", "from", "to", "reported"):
            view.add_column(column, justify="left" if column == "answer" else "right")
        for row in _rows(question):
            view.add_row(*row)
        console.print(view)
        console.print(_headline(question))
        if question.plausibility.doubtful:
            console.print(
                "[bold red]Some reports cannot be trusted[/bold red]: "
                f"{_plain(question.plausibility.reason or '')}."
            )
        test = question.heterogeneity
        if test is not None and test.differ:
            console.print(
                "[bold red]People at different levels answer differently[/bold red] "
                f"(p {p_value(test.probability, 3)}): compare the levels."
            )
    labels = [(one.item, str(one.label)) for one in result.labels]
    ranking = [(one.item, f"{one.strength:.3f}") for one in result.ranking]
    for name, column, rows in (("labels", "label", labels), ("ranking", "strength", ranking)):
        if rows:
            view = Table("item", column, title=name, title_justify="left")
            for row in rows:
                view.add_row(*map(_plain, row))
            console.print(view)
    for board in result.leaderboards or ():
        console.print(f"[bold]Leaderboard[/bold]: {_plain(board.text)} ({board.votes} votes)")
        ranks = [(one.item, _ranks(one)) for one in board.items]
        show_rows(console, ("item", "may be ranked"), ranks, lines=False)
        for note in board.notes:
            console.print(f"note: {_plain(note)}")


def _ranks(one: RankedItem) -> str:
    if not one.placed:
        return f"not placed: {one.note}"
    same = one.rank_low == one.rank_high
    return str(one.rank_low) if same else f"{one.rank_low} to {one.rank_high}"


def _rows(question: QuestionResult) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a question's table: an option a line, then the mean."""
    from masquerade.results.headline import outward_interval, whole_percents
    from masquerade.surveys.kinds import kinds

    shares = [o.share.shown for o in question.options if o.share.shown is not None]
    # Shares of options that can be ticked together are no parts of a whole.
    parts = kinds()[question.kind].parts_of_whole
    percents = iter(whole_percents(shares, digits=1) if parts else [100 * one for one in shares])
    for option in question.options:
        share = option.share
        point = "–" if share.shown is None else f"{next(percents):.1f}%"
        ends = outward_interval(share.low or 0.0, share.high or 0.0, digits=3)
        rest = (*ends, option.reported_share)
        yield _plain(option.label), point, *(f"{number:.1%}" for number in rest)
    mean = None if question.mean is None else question.mean.mean
    if mean is not None and mean.value is not None:
        ends = outward_interval(mean.low or 0.0, mean.high or 0.0, digits=3)
        numbers = tuple(f"{end:.3f}" for end in ends)
        yield _MEAN, _number(mean.shown, share=False), *numbers, ""


def _headline(question: QuestionResult) -> str:
    """Return the headline of a question, and the ways to make it sharper."""
    from masquerade.results import sentence

    said, people = sentence(question), question.precision.people
    if question.headline.kind != "interval":
        return _plain(said)
    more = (
        "more people alone do not help" if people is None else quantity(people, "person", "people")
    )
    return _plain(f"{said}, wider than a quarter of the range; to bring it there: {more}")


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
