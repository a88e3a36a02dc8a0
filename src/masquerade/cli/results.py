"""``masquerade results``: estimates from the exported reports of a survey."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, choice

if TYPE_CHECKING:
    from masquerade.results import Codebook

_MEAN = "mean"


def results(
    reports: Annotated[
        Path,
        typer.Argument(
            help="File of reports that a survey server exported: .parquet, .csv or .jsonl.",
            metavar="REPORTS",
            show_default=False,
        ),
    ],
    codebook: Annotated[
        Path | None,
        typer.Option(
            help="File with the codebook (JSON) that the server exported beside a .csv or .jsonl "
            "file. A .parquet file contains its codebook."
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        choice(
            *("eb", "respondent", "ivw"),
            help="How the levels are combined. eb: each level is moved towards all levels, the "
            "more the noisier it is. respondent: each level counts by its share of the "
            "people. ivw: each level counts by its precision. Default: the estimator that "
            "the survey fixed before it was opened.",
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            help="How many people were asked at each level, whether they answered or not, such "
            "as high=300,low=200. Default: as the codebook says."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the result (JSON). The name - prints it on standard output."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="File for the numbers of the result (CSV). Default: not written."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compute the result of a survey from its exported reports, as its server does.

    Without --estimator and --pool, the JSON is the same as the server's, byte for byte.

    Example: masquerade results reports.parquet --out result.json
    """
    from masquerade.answers.frames import STANDARD
    from masquerade.results import (
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
    if out is not None and out != STANDARD:
        out.write_bytes(text)
    if table is not None:
        table.write_bytes(result_table(result).encode())
    if json or out == STANDARD:
        sys.stdout.write(text.decode() + "\n")
    else:
        _show(result)


def _changed(codebook: Codebook, estimator: str | None, pool: str | None) -> Codebook:
    """Return the codebook with what the command line says instead."""
    from dataclasses import replace

    if estimator is not None:
        codebook = replace(codebook, survey=replace(codebook.survey, estimator=estimator))
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


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from masquerade.results.headline import outward_interval, whole_percents

    console = Console()
    levels = ", ".join(f"{_counted(one['responses'])} at {one['name']}" for one in result["levels"])
    console.print(
        f"[bold]{_plain(result['title'])}[/bold]: {result['responses']} people ({levels})"
    )
    console.print(f"estimator {result['estimator']}; intervals of {result['confidence']:.0%}")
    for question in result["questions"]:
        view = Table(title=_plain(question["text"]), title_justify="left")
        for column in ("answer", "estimate", "from", "to", "reported", "unbiased"):
            view.add_column(column, justify="left" if column == "answer" else "right")
        options, mean = question["options"], question[_MEAN]
        shares = [option["shown"] for option in options]
        # Shares of options that can be ticked together are no parts of a whole.
        parts = question["kind"] != "several"
        percents = whole_percents(shares, digits=1) if parts else [100 * one for one in shares]
        for option, percent in zip(options, percents, strict=True):
            ends = outward_interval(option["low"], option["high"], digits=3)
            rest = (*ends, option["reported_share"], option["value"])
            texts = (f"{percent:.1f}%", *(f"{number:.1%}" for number in rest))
            view.add_row(_plain(option["label"]), *texts)
        if mean is not None and mean["value"] is not None:
            numbers = (mean["shown"], *outward_interval(mean["low"], mean["high"], digits=3))
            texts = tuple(f"{number:.3f}" for number in numbers)
            view.add_row(_MEAN, *texts, "", f"{mean['value']:.3f}")
        console.print(view)
        console.print(_headline(question))
        if question["plausibility"]["doubtful"]:
            console.print(
                "[bold red]Some reports cannot be trusted[/bold red]: "
                f"{_plain(question['plausibility']['reason'])}."
            )
        test = question["heterogeneity"]
        if test is not None and test["differ"]:
            console.print(
                "[bold red]People at different levels answer differently[/bold red] "
                f"(p = {test['probability']:.3f}): read all three estimators."
            )
    for name, columns in (("labels", ("item", "label")), ("ranking", ("item", "strength"))):
        if result[name]:
            view = Table(*columns, title=name, title_justify="left")
            for row in result[name]:
                value = row[columns[1]]
                shown = f"{value:.3f}" if isinstance(value, float) else str(value)
                view.add_row(_plain(row["item"]), _plain(shown))
            console.print(view)


def _counted(people: int | None) -> str:
    return "some" if people is None else str(people)


def _headline(question: dict[str, Any]) -> str:
    """Return what may be said of a question in one line."""
    from masquerade.results.headline import outward_interval

    said, of = question["headline"], question["headline"]["option"]
    name = _MEAN if of is None else _plain(of)
    if of is not None and any(option.get("of_answered") for option in question["options"]):
        name = f"{name}, of those who answered"
    if said["kind"] in ("few", "nothing"):
        words = {"few": "too few responses for a headline", "nothing": "nothing is known"}
        return words[said["kind"]]
    share = of is not None
    ends = outward_interval(said["low"], said["high"], digits=3)
    low, high = (f"{end:.1%}" if share else f"{end:.3f}" for end in ends)
    if said["kind"] == "estimate":
        shown = f"{said['shown']:.1%}" if share else f"{said['shown']:.3f}"
        return f"{name}: {shown}, between {low} and {high}"
    people = question["precision"]["people"]
    more = "more people alone do not help" if people is None else f"{people:,} people"
    return (
        f"{name}: between {low} and {high}, wider than a quarter of the range; to bring it there: "
        f"{more}"
    )


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
