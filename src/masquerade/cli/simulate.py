"""``masquerade simulate``: made-up crowds with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import show

simulate = typer.Typer(
    no_args_is_help=True,
    help="Make up workers or voters, to try methods on data with known truth.",
    pretty_exceptions_enable=False,
)


@simulate.callback()
def _simulate() -> None:
    """Make up workers or voters, to try methods on data with known truth."""


@simulate.command()
def crowd(
    out: Annotated[
        Path,
        typer.Option(
            help="File for the claims (CSV, CSV.gz, Parquet or .xlsx), with the columns task, "
            "worker and label."
        ),
    ],
    truth_out: Annotated[
        Path | None,
        typer.Option(
            help="File for the true labels, with the columns task and truth. Default: not written."
        ),
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks.")] = 200,
    workers: Annotated[int, typer.Option(min=1, help="How many workers.")] = 40,
    options: Annotated[
        int, typer.Option(min=2, help="How many labels there are; they are named 0, 1, ….")
    ] = 2,
    answers_per_task: Annotated[
        int,
        typer.Option(min=1, help="How many different workers answer each task; at most --workers."),
    ] = 10,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of the random numbers. The same seed gives the same crowd."),
    ] = 0,
    json: AsJson = False,
) -> None:
    """Make up workers of different accuracy and their labels of tasks with known true labels.

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


OutOption = Annotated[
    Path,
    typer.Option(
        help="File for the choices (CSV, CSV.gz, Parquet or .xlsx). It has a column voter "
        "and one column for each feature: the chosen alternative's value minus the "
        "rejected one's."
    ),
]
TestOutOption = Annotated[
    Path | None,
    typer.Option(
        help="File for ten further choices of each voter, to test on. Default: not written."
    ),
]
TruthOutOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the mean of the voters' true weights, with the columns feature and "
        "weight. Default: not written."
    ),
]
FeaturesOption = Annotated[
    int, typer.Option(min=1, help="How many features describe an alternative.")
]
KindChoice = Annotated[
    str,
    choice(
        *("normal", "correlated", "scaled", "binary", "count"),
        help="How the features are distributed. normal: independent standard normal. "
        "correlated: normal, with correlation 0.85 between neighbours. scaled: normal, "
        "times scales from 0.1 to 3. binary: 0 or 1, each in half of the cases. count: "
        "Poisson with mean 0.5.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(min=0, help="Seed of the random numbers. The same seed gives the same voters."),
]


@simulate.command()
def comparisons(
    out: OutOption,
    test_out: TestOutOption = None,
    truth_out: TruthOutOption = None,
    voters: Annotated[int, typer.Option(min=1, help="How many voters.")] = 100,
    records: Annotated[int, typer.Option(min=1, help="How many choices each voter makes.")] = 50,
    features: FeaturesOption = 10,
    kind: KindChoice = "normal",
    seed: SeedOption = 0,
    json: AsJson = False,
) -> None:
    """Make up voters with known weights and their choices between two alternatives at a time.

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
