"""Options that all commands which read claims share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from masquerade.answers import Claims
    from masquerade.answers.claims import Duplicates, Kind

ClaimsFile = Annotated[
    Path,
    typer.Argument(
        help="Claims: columns task, worker and label (or answer, or value); CSV, CSV.gz, Parquet.",
        metavar="CLAIMS",
        show_default=False,
    ),
]
OptionNames = Annotated[
    str | None,
    typer.Option(
        "--options", help="All labels that could be given, separated by commas, where known."
    ),
]
DuplicatesChoice = Annotated[
    str,
    typer.Option(
        "--duplicates",
        help="Where a worker answered a task more than once: error, first, last or all.",
    ),
]
KindChoice = Annotated[
    str | None,
    typer.Option("--kind", help="categorical or numeric; default: by the column and its values."),
]


def read_claims(
    path: Path,
    *,
    kind: str | None = None,
    options: str | None = None,
    null: bool = False,
    duplicates: str = "error",
) -> Claims:
    """Return the claims of a file, checked."""
    from masquerade.answers import Claims

    return Claims.read(
        path,
        kind=cast("Kind | None", kind),
        options=None if options is None else [name.strip() for name in options.split(",")],
        null=null,
        duplicates=cast("Duplicates", duplicates),
    )
