"""``masquerade randomize``: mask a table of claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from masquerade.cli.options import (
    AsJson,
    ClaimsFile,
    DuplicatesChoice,
    OptionNames,
    choice,
    read_column,
)
from masquerade.cli.terminal import ask_back, show

if TYPE_CHECKING:
    from masquerade.answers.claims import Duplicates
    from masquerade.mechanisms import Presence


def randomize(
    claims: ClaimsFile,
    mechanism: Annotated[
        str, typer.Option(help="For example two-layer:options=2,low=0,high=0.5379")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the reports (CSV, CSV.gz or Parquet).")],
    options: OptionNames = None,
    presence: Annotated[
        str | None,
        choice(
            *("assigned", "hidden"),
            help="For mechanisms that mask 'no answer': assigned (the rows of CLAIMS are the tasks "
            "each worker was shown) or hidden (every worker reports on every task).",
        ),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            help="A table (task) of all tasks that were asked; with --presence hidden, so that no "
            "answered task is told by the list."
        ),
    ] = None,
    workers: Annotated[
        Path | None,
        typer.Option(help="A table (worker) of everybody who was asked; with --presence hidden."),
    ] = None,
    duplicates: DuplicatesChoice = "error",
    json: AsJson = False,
) -> None:
    """Mask every claim with operating-system randomness and write the reports.

    Whoever holds CLAIMS still holds the true answers: this is for studies and for data that may
    be read here. All options have to be given (--options): an option that is only seen in the
    answers would tell that somebody gave it. People's devices mask their own answers before
    anything is sent.

    Example: masquerade randomize claims.csv --options 0,1 --mechanism
    randomized-response:options=2,epsilon=1 --out reports.csv
    """
    import pyarrow.compute as pc

    from masquerade.answers import Claims
    from masquerade.answers.frames import write_table
    from masquerade.mechanisms import parse_mechanism

    chosen = parse_mechanism(mechanism)
    ask_back(chosen.guarantee(answers=1))
    table = Claims.read(
        claims,
        kind=chosen.kind,
        options=options,
        null=chosen.null,
        duplicates=cast("Duplicates", duplicates),
        tasks=None if tasks is None else read_column(tasks, "task"),
        workers=None if workers is None else read_column(workers, "worker"),
    )
    reports = chosen.randomize(table, presence=cast("Presence | None", presence))
    # In the order of names: that of CLAIMS may follow the answers, and would show them.
    masked = reports.to_arrow()
    keys = [("task", "ascending"), ("worker", "ascending")]
    write_table(masked.take(pc.sort_indices(masked, sort_keys=keys)), out)
    # Hiding which tasks were answered adds answers; question sampling reports some of them only.
    answers = max(table.most_claims_of_a_worker(), reports.most_claims_of_a_worker())
    result = {
        "reports": len(reports),
        "mechanism": str(chosen),
        "guarantee": chosen.guarantee(answers=answers).to_json(),
        "out": str(out),
    }
    show(result, as_json=json, title="Reports")
