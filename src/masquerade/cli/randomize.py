"""``masquerade randomize``: mask a table of claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from masquerade.cli.options import (
    AsJson,
    ClaimsFile,
    DuplicatesChoice,
    Names,
    Overwrite,
    choice,
    read_column,
    refuse_existing,
)
from masquerade.cli.terminal import ask_back, show

if TYPE_CHECKING:
    from masquerade.answers.claims import Claims, Duplicates
    from masquerade.mechanisms import Presence

_AGAIN = (
    "Each run masks the same answers again and costs as much privacy again: the losses of all "
    "reports that somebody sees add up."
)

MechanismOption = Annotated[
    str,
    typer.Option(
        help="Mechanism that masks the claims, in its text form, for example "
        "two-layer:options=2,low=0,high=0.5379."
    ),
]
OutOption = Annotated[
    Path,
    typer.Option(
        help="File for the reports (CSV, CSV.gz, Parquet or .xlsx). The name - prints them "
        "as CSV on standard output."
    ),
]
OptionsOption = Annotated[
    Names | None,
    typer.Option(
        "--options",
        parser=Names.parse,
        metavar="TEXT",
        help="All labels that workers can give, separated by commas, such as yes,no. Needed if "
        "the mechanism masks labels.",
    ),
]
PresenceChoice = Annotated[
    str | None,
    choice(
        *("assigned", "hidden"),
        help="For mechanisms that mask “no answer” (null=true), and needed for these. "
        "assigned: the rows of CLAIMS are the tasks that each worker was shown. hidden: "
        "every worker reports on every task, so that nobody sees which tasks a worker "
        "answered.",
    ),
]
TasksOption = Annotated[
    Path | None,
    typer.Option(
        help="Table with the column task: all tasks that were asked, not only those that "
        "were answered. --presence hidden needs it, because a list taken from the "
        "answers would show which tasks were answered."
    ),
]
WorkersOption = Annotated[
    Path | None,
    typer.Option(
        help="Table with the column worker: everybody who was asked, also those who answered "
        "nothing. --presence hidden needs it."
    ),
]


def randomize(
    claims: ClaimsFile,
    mechanism: MechanismOption,
    out: OutOption,
    options: OptionsOption = None,
    presence: PresenceChoice = None,
    tasks: TasksOption = None,
    workers: WorkersOption = None,
    duplicates: DuplicatesChoice = "error",
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Mask every claim and write the reports.

    The randomness comes from the operating system. Whoever holds CLAIMS still holds the true
    answers. Use this command for studies, and for data that you may read. In a survey, people's
    devices mask their own answers before anything is sent.

    Labels need --options, the list of all labels that workers can give. If the list were taken from
    the answers, a label in it would show that somebody gave it. The guarantee that is printed is
    for the worker with the most answers. Each run masks the same answers again, and costs as much
    again, so a file of reports that exists is kept unless you give --overwrite.

    Example: masquerade randomize claims.csv --options 0,1 --mechanism
    randomized-response:options=2,epsilon=1 --out reports.csv
    """
    from masquerade.answers import Claims
    from masquerade.mechanisms.registry import parse_mechanism, printed_guarantee

    refuse_existing([out], _AGAIN, overwrite=overwrite)
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
    shown = cast("Presence | None", presence)
    reports = chosen.randomize(table, presence=shown)
    _write_sorted(reports, out)
    # Hiding which tasks were answered adds answers; question sampling reports some of them only.
    answers = max(table.most_claims_of_a_worker(), reports.most_claims_of_a_worker())
    promise = printed_guarantee(chosen, chosen.guarantee_with(shown, answers=answers))
    result = {
        "reports": len(reports),
        "mechanism": str(chosen),
        "guarantee": promise.to_json(),
        "out": str(out),
    }
    show(result, as_json=json, title="Reports")


def _write_sorted(reports: Claims, out: Path) -> None:
    """Write reports by task, worker and report: the order of CLAIMS may follow the answers."""
    import pyarrow.compute as pc

    from masquerade.answers.frames import write_table

    masked = reports.to_arrow()
    columns = ("task", "worker", *masked.column_names)
    keys = [(name, "ascending") for name in dict.fromkeys(columns)]
    write_table(masked.take(pc.sort_indices(masked, sort_keys=keys)), out)
