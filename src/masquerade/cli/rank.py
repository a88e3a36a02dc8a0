"""``masquerade rank``: a leaderboard from votes between two items each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, Names, choice, read_column
from masquerade.cli.terminal import show

if TYPE_CHECKING:
    from masquerade.preference import Leaderboard

_MOST_LINES = 50


def rank(
    battles: Annotated[
        Path,
        typer.Argument(
            help="Table of votes (CSV, CSV.gz, Parquet, .xlsx, .json or .jsonl). It has columns "
            "model_a, model_b and winner (model_a, model_b, tie or both_bad), or left, right and "
            "winner, or chosen and rejected, with tie (1 or 0) where there are ties.",
            metavar="BATTLES",
            show_default=False,
        ),
    ],
    items: Annotated[
        Path | None,
        typer.Option(
            help="Table with the column item: all items that could be compared. Default: the "
            "items in BATTLES."
        ),
    ] = None,
    voter: Annotated[
        str | None,
        typer.Option(
            help="Column that says who voted. Default: voter, judge, user, session or worker, if "
            "BATTLES has one. Votes of one person depend on one another, and errors account for "
            "that."
        ),
    ] = None,
    covariates: Annotated[
        Names | None,
        typer.Option(
            parser=Names.parse,
            metavar="TEXT",
            help="Columns of numbers, separated by commas, whose effect is taken out of the "
            "strengths, seen from the first item: 1 where it played at home, a difference of "
            "lengths.",
        ),
    ] = None,
    both_bad: Annotated[
        str,
        choice(
            *("tie", "drop"),
            flag="--both-bad",
            help="What a vote that both are bad counts as: a tie, or nothing.",
        ),
    ] = "tie",
    ties: Annotated[
        str,
        choice(
            *("auto", "davidson", "rao-kupper", "halves"),
            help="The model of ties. auto is davidson where there are ties. halves counts a tie "
            "as half a win of each; its strengths are too small, so use it only to compare with "
            "others who do so.",
        ),
    ] = "auto",
    prior: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of a prior of the strengths, such as 2. Then items that no "
            "results link to the others are ranked too, pulled towards the mean. Default: no "
            "prior, and such items are listed without a strength."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="File for an HTML page with the leaderboard. Default: not written."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the leaderboard, one row for each item (CSV, CSV.gz, Parquet or .xlsx). "
            "The name - prints it as CSV on standard output."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Rank items by votes between two of them, and say which ranks each item may have.

    Ranks hold for all items together in 95 of 100 leaderboards. Items whose rank may be nearly any
    are listed as not placed. Votes that link an item to the others one way only give it no
    strength.

    Example: masquerade rank battles.csv --report leaderboard.html
    """
    from masquerade.answers import Battles
    from masquerade.answers.frames import write_table
    from masquerade.preference import Leaderboard
    from masquerade.preference.leaderboard_page import leaderboard_page

    names = None if items is None else read_column(items, "item")
    table = Battles.read(
        battles,
        items=names,
        voter=voter,
        covariates=covariates or (),
        both_bad="drop" if both_bad == "drop" else "tie",
    )
    board = Leaderboard.fit(table, ties=ties, prior=prior)  # type: ignore[arg-type]
    result = board.to_json()
    if report is not None:
        report.write_text(leaderboard_page(board), encoding="utf-8")
        result["report"] = str(report)
    if out is not None:
        write_table(board.to_arrow(), out)
        result["out"] = str(out)
    show(result if json else _for_people(board, result), as_json=json, title="Leaderboard")


def _for_people(board: Leaderboard, result: dict[str, Any]) -> dict[str, Any]:
    """Return the leaderboard with one line an item."""
    from masquerade.preference.strength_fit import elo

    lines = {}
    for one in board.standings[:_MOST_LINES]:
        said = one.place
        if one.rating is not None and one.high is not None:
            said += f"; rating {one.rating:.0f} ± {elo(one.high) - one.rating:.0f}"
        said += f"; {one.wins:g} won, {one.ties:g} tied, {one.losses:g} lost"
        lines[one.item] = said + (f" ({one.note})" if one.note else "")
    summary: dict[str, Any] = {"statement": board.statement, "leaderboard": lines}
    more = len(board.standings) - _MOST_LINES
    if more > 0:
        summary["more"] = f"{more} items more: --out and --json have all"
    summary["may be first"] = ", ".join(board.first) or "nobody knows"
    summary["votes"] = f"{board.votes:,.6g}, {board.ties:,.6g} of them ties"
    if board.voters:
        summary["voters"] = f"{board.voters:,}"
    fits = {name: f"log-likelihood {value:.2f}" for name, value in board.log_likelihoods.items()}
    summary["model"] = board.model
    if fits:
        summary["models"] = fits
    for effect in (*board.effects, *([board.tie] if board.tie else [])):
        said = f"{effect.estimate:.4g}, {effect.low:.4g} to {effect.high:.4g}"
        summary[effect.name] = said
    if board.notes:
        summary["notes"] = list(board.notes)
    return summary | {key: result[key] for key in ("report", "out") if key in result}
