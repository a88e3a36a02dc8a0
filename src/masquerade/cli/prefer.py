"""``masquerade prefer``: preferences learned from choices between two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from masquerade.cli.options import AsJson
from masquerade.cli.preference_options import (
    AlternativesFile,
    EpsilonsFile,
    EpsilonText,
    FeatureNames,
    ItemsFile,
    Losses,
    MechanismName,
    Outputs,
    PublicMenus,
    RangesText,
    ReportFile,
    UnitName,
    UnlistedChoice,
    WeightsFile,
    read_items,
    read_names,
    read_ranges,
)

ComparisonsFile = Annotated[
    Path,
    typer.Argument(
        help="Table of choices (CSV, CSV.gz, Parquet or .xlsx). It has a column voter and one "
        "column for each feature: the chosen alternative's value minus the rejected one's. Or it "
        "has the columns voter, chosen and rejected, with names of items.",
        metavar="COMPARISONS",
        show_default=False,
    ),
]
OneEach = Annotated[
    bool,
    typer.Option(
        "--one-each",
        help="COMPARISONS has no column voter: every row comes from another voter.",
    ),
]
MostRecords = Annotated[
    int | None,
    typer.Option(
        min=1, help="Use only this many records of each voter, the first ones. Default: all."
    ),
]
TestFile = Annotated[
    Path | None,
    typer.Option(
        help="Table of choices that were not used for learning, to score the weights on. The "
        "scores are computed from these choices as they are, and no guarantee covers them."
    ),
]


def prefer(
    comparisons: ComparisonsFile,
    mechanism: MechanismName = "auto",
    epsilon: EpsilonText = None,
    epsilons: EpsilonsFile = None,
    unit: UnitName = None,
    features: FeatureNames = None,
    ranges: RangesText = None,
    items: ItemsFile = None,
    unlisted: UnlistedChoice = "error",
    one_each: OneEach = False,
    most_records: MostRecords = None,
    test: TestFile = None,
    public_menus: PublicMenus = False,
    alternatives: AlternativesFile = None,
    report: ReportFile = None,
    out: WeightsFile = None,
    json: AsJson = False,
) -> None:
    """Learn a preference from choices between two, with a privacy guarantee.

    The first line of the output states the guarantee: what is protected, from whom, and at which
    epsilon. It is about the published result and, for local mechanisms, about what a server would
    have received. The file COMPARISONS itself is not protected. The weights follow. Choices among
    three and more are for masquerade menus; ties, and rankings, for masquerade rank.

    Example: masquerade prefer choices.csv --mechanism none --report page.html
    """
    from masquerade.answers import Comparisons
    from masquerade.preference import SocialPreference, preference_mechanism

    losses = Losses.read(epsilon, epsilons)
    columns: dict[str, Any] = {
        "features": read_names(features),
        "ranges": read_ranges(ranges),
        "one_each": one_each,
        "items": read_items(items),
        "unlisted": unlisted,
    }
    method = preference_mechanism(mechanism, epsilon=losses.epsilon, unit=unit)  # before reading
    table = Comparisons.read(comparisons, voters=losses.voters, **columns)
    if most_records is not None:
        table = table.at_most(most_records)
    held_out = None if test is None else Comparisons.read(test, **columns)
    learned = SocialPreference.learn(table, mechanism=method, public_menus=public_menus)
    Outputs(alternatives, report, out, json).publish(learned, held_out)
