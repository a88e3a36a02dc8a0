"""``python -m masquerade_papers``: tables and figures of the papers, beside ours."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from masquerade.cli import run
from masquerade.cli.options import AsJson
from masquerade.cli.terminal import progress_bar, show
from masquerade_papers import PAPERS, VERDICTS, Reproduction, Scale, row_json
from masquerade_papers import reproduce as measure

PAPER_NAMES = "two-layer, priscrowd, preferences, sparse-ldp, loki or all"


def reproduce(
    paper: Annotated[
        str, typer.Argument(help=f"Paper: {PAPER_NAMES}.", metavar="PAPER", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the tables, the figures and the finished parts of a run."),
    ],
    trials: Annotated[
        int | None,
        typer.Option(
            min=2, help="How often each measurement is repeated. Default: each study's own number."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Measure less, with fewer repetitions. It takes minutes; the full measurement "
            "takes an hour or more.",
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many processes measure at the same time. Default: one for each processor.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure the results of a paper, and list those that are reproduced.

    It computes the tables and figures of the paper again, prints both values of each result with a
    verdict, and writes tables and figures to --out. Real data are read from the folder that the
    environment variable MASQUERADE_DATA names. Data that are not there are simulated, and the
    result says so. If a run was interrupted, run the same command again: finished parts are not
    measured again.

    Example: python -m masquerade_papers two-layer --quick --out tables
    """
    started = time.monotonic()
    names = list(PAPERS) if paper == "all" else [paper]
    scale = Scale(quick=quick, trials=trials, clock=time.process_time)
    with progress_bar("measuring") as tell:
        reproduction = measure(
            names,
            out,
            scale=scale,
            processes=jobs or len(os.sched_getaffinity(0)),
            progress=tell,
        )
    result: dict[str, Any] = {
        "artifacts": [str(path) for path in reproduction.artifacts],
        "rows": [
            {"paper_name": name, **row_json(row)}
            for name, rows in reproduction.rows.items()
            for row in rows
        ],
        "ours": [
            {"paper_name": name, **row_json(each)}
            for name, some in reproduction.ours.items()
            for each in some
        ],
        "verdicts": _verdicts(reproduction),
        "parts_done": reproduction.done,
        "parts_taken_up": reproduction.taken_up,
        "remarks": list(reproduction.remarks),
        "seconds": round(time.monotonic() - started, 1),
    }
    if json:
        show(result, as_json=True, title="")
        return
    _print_rows(reproduction)
    summary = {key: result[key] for key in ("parts_done", "parts_taken_up", "seconds")}
    summary |= {"files": f"{len(reproduction.artifacts)} in {out}"}
    if reproduction.remarks:
        summary["remarks"] = list(reproduction.remarks)
    show(summary, as_json=False, title="Reproduction")


def _verdicts(reproduction: Reproduction) -> dict[str, dict[str, int]]:
    verdicts: dict[str, dict[str, int]] = {}
    for name, rows in reproduction.rows.items():
        counts = Counter(row.verdict for row in rows)
        verdicts[name] = {verdict: counts[verdict] for verdict in VERDICTS}
    return verdicts


def _print_rows(reproduction: Reproduction) -> None:
    def number(each: float | None) -> str:
        return "–" if each is None or not math.isfinite(each) else f"{each:.4g}"

    console = Console()
    for name, rows in reproduction.rows.items():
        table = Table(title=name, title_justify="left", show_lines=True)
        for column in ("where", "what, and why the verdict", "paper", "ours"):
            table.add_column(column, overflow="fold")
        table.add_column("verdict", no_wrap=True)
        for row in rows:
            printed = number(row.paper) if row.paper is not None else row.statement
            ours = f"{number(row.ours)} ± {number(row.standard_error)}"
            what = f"{escape(row.quantity)}\n[dim]{escape(f'{row.reason}; data: {row.data}')}[/dim]"
            table.add_row(row.artifact, what, escape(printed), ours, row.verdict)
        console.print(table)
        if reproduction.ours[name]:
            comparisons = Table(title=f"{name}: our methods at the same loss", title_justify="left")
            for column in ("where", "what (above 0: ours is better)", "gain", "outcome"):
                comparisons.add_column(column, overflow="fold")
            for each in reproduction.ours[name]:
                gain = f"{number(each.difference)} ± {number(each.standard_error)}"
                comparisons.add_row(each.artifact, escape(each.quantity), gain, each.outcome)
            console.print(comparisons)


def main() -> None:
    """Run the command with the words of the command line."""
    line = typer.Typer(
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    line.command(name="masquerade_papers")(reproduce)
    run(lambda: line(prog_name="python -m masquerade_papers"))


if __name__ == "__main__":
    main()
