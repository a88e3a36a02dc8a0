"""``masquerade results``: what the exported reports of a survey say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.output import AsJson

if TYPE_CHECKING:
    from masquerade.findings import Codebook

_MEAN = "mean"


def results(
    reports: Annotated[
        Path,
        typer.Argument(
            help="Reports that a survey server exported: .parquet, .csv or .jsonl.",
            metavar="REPORTS",
            show_default=False,
        ),
    ],
    codebook: Annotated[
        Path | None,
        typer.Option(help="The codebook beside a .csv or .jsonl file; a .parquet file holds it."),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="eb, respondent or ivw; default: the survey's own, fixed beforehand."),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            help="How many people were asked at each level, where known: high=300,low=200."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the result as JSON.")] = None,
    table: Annotated[Path | None, typer.Option(help="Where to write its numbers as CSV.")] = None,
    json: AsJson = False,
) -> None:
    """Compute the result of a survey from its exported reports, as its server does.

    Without --estimator and --pool the JSON is the server's, to the last byte.
    """
    from masquerade.findings import (
        read_codebook,
        read_reports,
        result_bytes,
        result_table,
        survey_result,
    )

    known = None
    if codebook is not None or reports.suffix == ".parquet":
        known = _changed(read_codebook(codebook or reports), estimator, pool)
    found = read_reports(reports, codebook=known)
    result = survey_result(found)
    text = result_bytes(result)
    if out is not None:
        out.write_bytes(text)
    if table is not None:
        table.write_bytes(result_table(result).encode())
    if json:
        sys.stdout.write(text.decode() + "\n")
    else:
        _show(result)


def _changed(codebook: Codebook, estimator: str | None, pool: str | None) -> Codebook:
    """Return the codebook with what the command line says instead."""
    from dataclasses import replace

    if estimator is not None:
        codebook = replace(codebook, definition={**codebook.definition, "estimator": estimator})
    if pool is not None:
        codebook = replace(codebook, pool=_counts(pool))
    return codebook


def _counts(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(","):
        name, _, count = (piece.strip() for piece in part.partition("="))
        if not name or not count.isdecimal():
            raise typer.BadParameter(f"{part!r} is not level=number.", param_hint="--pool")
        found[name] = int(count)
    return found


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    levels = ", ".join(f"{one['responses']} at {one['name']}" for one in result["levels"])
    console.print(
        f"[bold]{_plain(result['title'])}[/bold]: {result['responses']} people ({levels})"
    )
    console.print(f"estimator {result['estimator']}; intervals of {result['confidence']:.0%}")
    for question in result["questions"]:
        view = Table(title=_plain(question["text"]), title_justify="left")
        for column in ("answer", "estimate", "from", "to", "reported"):
            view.add_column(column, justify="left" if column == "answer" else "right")
        for option in question["options"]:
            numbers = (option["share"], option["low"], option["high"], option["reported_share"])
            view.add_row(_plain(option["label"]), *(f"{number:.1%}" for number in numbers))
        mean = question[_MEAN]
        if mean is not None and mean[_MEAN] is not None:
            ends = (mean[_MEAN], mean["low"], mean["high"])
            view.add_row(_MEAN, *(f"{number:.3f}" for number in ends), "")
        console.print(view)
        test = question["heterogeneity"]
        if test is not None and test["differ"]:
            console.print(
                "[bold red]People at different levels answer differently[/bold red] "
                f"(p = {test['probability']:.3f}): read all three estimators."
            )
    for name, columns in (("labels", ("item", "label")), ("ranking", ("item", "strength"))):
        if result[name]:
            view = Table(title=name, title_justify="left")
            for column in columns:
                view.add_column(column)
            for row in result[name]:
                value = row[columns[1]]
                shown = f"{value:.3f}" if isinstance(value, float) else str(value)
                view.add_row(_plain(row["item"]), _plain(shown))
            console.print(view)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
