"""``masquerade simulate``: made-up crowds with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import show

simulate = typer.Typer(
    no_args_is_help=True,
    help="Make up a crowd whose truth is known.",
    pretty_exceptions_enable=False,
)


@simulate.callback()
def _simulate() -> None:
    """Make up a crowd whose truth is known."""


@simulate.command()
def crowd(
    out: Annotated[Path, typer.Option(help="Where to write the claims (CSV, CSV.gz or Parquet).")],
    truth_out: Annotated[
        Path | None, typer.Option(help="Where to write the truths (task,truth).")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1)] = 200,
    workers: Annotated[int, typer.Option(min=1)] = 40,
    options: Annotated[int, typer.Option(min=2)] = 2,
    answers_per_task: Annotated[int, typer.Option(min=1)] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same crowd.")] = 0,
    json: AsJson = False,
) -> None:
    """Make up workers of different accuracy who label tasks of known truth.

    Example: masquerade simulate crowd --out claims.csv --truth-out truth.csv
    """
    import numpy as np

    from masquerade.answers.frames import write_table
    from masquerade.simulate import crowd as made_up

    claims, truths = made_up(
        np.random.default_rng(seed),
        tasks=tasks,
        workers=workers,
        options=options,
        answers_per_task=answers_per_task,
    )
    claims.write(out)
    result = {
        "claims": len(claims),
        "tasks": claims.n_tasks,
        "workers": claims.n_workers,
        "options": claims.n_options,
        "seed": seed,
        "out": str(out),
    }
    if truth_out is not None:
        write_table(truths.table, truth_out)
        result["truth_out"] = str(truth_out)
    show(result, as_json=json, title="Made-up crowd")


@simulate.command()
def comparisons(
    out: Annotated[Path, typer.Option(help="Where to write the choices (CSV, CSV.gz or Parquet).")],
    test_out: Annotated[
        Path | None, typer.Option(help="Where to write ten more choices of each voter.")
    ] = None,
    truth_out: Annotated[
        Path | None, typer.Option(help="Where to write the voters' mean weights (feature,weight).")
    ] = None,
    voters: Annotated[int, typer.Option(min=1)] = 100,
    records: Annotated[int, typer.Option(min=1, help="Choices of each voter.")] = 50,
    features: Annotated[int, typer.Option(min=1)] = 10,
    kind: Annotated[
        str,
        choice(
            *("normal", "correlated", "scaled", "binary", "count"),
            help="Features: normal, correlated, scaled, binary or count.",
        ),
    ] = "normal",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same voters.")] = 0,
    json: AsJson = False,
) -> None:
    """Make up voters of known weights who choose between pairs of alternatives.

    Example: masquerade simulate comparisons --out choices.csv --voters 50
    """
    import numpy as np
    import pyarrow as pa

    from masquerade.answers.frames import write_table
    from masquerade.preference import made_up_voters
    from masquerade.preference.synthetic import FeatureKind

    rng = np.random.default_rng(seed)
    crowd = made_up_voters(rng, voters=voters, features=features, kind=cast("FeatureKind", kind))
    choices = crowd.choose(rng, records)
    choices.write(out)
    result = {
        "records": len(choices),
        "voters": choices.n_voters,
        "features": choices.n_features,
        "kind": kind,
        "seed": seed,
        "out": str(out),
    }
    if test_out is not None:
        crowd.choose(rng, 10).write(test_out)
        result["test_out"] = str(test_out)
    if truth_out is not None:
        truth = pa.table({"feature": list(choices.names), "weight": crowd.mean_weights})
        write_table(truth, truth_out)
        result["truth_out"] = str(truth_out)
    show(result, as_json=json, title="Made-up voters")
