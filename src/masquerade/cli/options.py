"""Arguments and options that several commands share, and reading the claims they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from masquerade.answers import Claims
    from masquerade.answers.claims import Duplicates, Kind
    from masquerade.mechanisms import Mechanism
    from masquerade.truth import ReportMechanisms

AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, nothing else there.")
]
Config = Annotated[
    Path | None,
    typer.Option(help="File of settings; default: masquerade.toml here, where there is one."),
]
DataDir = Annotated[Path | None, typer.Option(help="Where to keep the data.")]
MechanismText = Annotated[
    str,
    typer.Argument(
        help="For example randomized-response:options=4,epsilon=1, or "
        "two-layer:options=2,low=0,high=1.",
        metavar="SPEC",
        show_default=False,
    ),
]
ClaimsFile = Annotated[
    Path,
    typer.Argument(
        help="Claims: columns task, worker and label (or answer, or value); CSV, CSV.gz, Parquet; "
        "- is standard input.",
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
    tasks: list[Any] | None = None,
    workers: list[Any] | None = None,
) -> Claims:
    """Return the claims of a file, checked."""
    from masquerade.answers import Claims

    return Claims.read(
        path,
        kind=cast("Kind | None", kind),
        options=None if options is None else [name.strip() for name in options.split(",")],
        null=null,
        duplicates=cast("Duplicates", duplicates),
        tasks=tasks,
        workers=workers,
    )


def claims_and_masks(
    frame: Any,
    levels: Path | None,
    mechanism: Mechanism | None,
    *,
    kind: str | None,
    likely: Kind | None,
    options: str | None,
    duplicates: str,
) -> tuple[Claims, Mechanism | ReportMechanisms | None]:
    """Return the claims of a table, checked, with what masked them.

    That is one mechanism for all; else, of each claim, that of its level in the table of levels, or
    that in its column ``mechanism``, where there is one. Claims without a mask are of `kind`, else
    of the `likely` one, else as their column and values say.
    """
    from masquerade.answers import Claims
    from masquerade.errors import ParameterError
    from masquerade.truth import ReportMechanisms

    names = None if options is None else [name.strip() for name in options.split(",")]
    kept = cast("Duplicates", duplicates)
    if mechanism is not None or (levels is None and "mechanism" not in frame.column_names):
        null = mechanism is not None and mechanism.null
        known = likely if mechanism is None else mechanism.kind
        claims = Claims.from_frame(
            frame,
            kind=cast("Kind | None", kind or known),
            options=names,
            null=null,
            duplicates=kept,
        )
        return claims, mechanism
    masked_by = None if levels is None else read_levels(levels)
    claims, masks = ReportMechanisms.with_claims(frame, masked_by, options=names, duplicates=kept)
    if kind is not None and kind != claims.kind:
        raise ParameterError(
            f"{masks.mechanisms[0]} masks {claims.kind} claims, {kind} ones are asked for; choose "
            "a method for them, or drop --kind."
        )
    return claims, masks


def read_levels(path: Path) -> dict[str, Mechanism]:
    """Return the mechanism of each level of a table."""
    from masquerade.mechanisms import parse_mechanism

    texts = zip(read_column(path, "level"), read_column(path, "mechanism"), strict=True)
    return {str(name): parse_mechanism(text) for name, text in texts}


def read_column(path: Path, name: str) -> list[Any]:
    """Return a column of a table in a file."""
    from masquerade.answers.frames import plain_column, read_table
    from masquerade.errors import SchemaError

    table = read_table(path)
    if name not in table.column_names:
        raise SchemaError(f"column {name!r} is missing; {path} has {table.column_names}.")
    values: list[Any] = plain_column(table, name).to_pylist()
    return values
