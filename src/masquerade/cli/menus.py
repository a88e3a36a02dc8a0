"""``masquerade menus``: preferences learned from choices among several alternatives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    WeightsFile,
    read_items,
    read_names,
    read_ranges,
)
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.preference import MenuChoices, SocialPreference

MenusFile = Annotated[
    Path,
    typer.Argument(
        help="Table of choices (CSV, CSV.gz, Parquet or .xlsx): one row for each alternative that "
        "was shown, with the columns voter, choice, chosen (1 or 0) and the features. Named items "
        "have a column item in place of the features, and need --items.",
        metavar="MENUS",
        show_default=False,
    ),
]


def menus(
    choices: MenusFile,
    mechanism: MechanismName = "auto",
    epsilon: EpsilonText = None,
    epsilons: EpsilonsFile = None,
    features: FeatureNames = None,
    ranges: RangesText = None,
    items: ItemsFile = None,
    public_menus: PublicMenus = False,
    alternatives: AlternativesFile = None,
    report: ReportFile = None,
    out: WeightsFile = None,
    json: AsJson = False,
) -> None:
    """Learn a preference from choices among several alternatives.

    A choice is protected (the unit choice): which of the shown alternatives was chosen. The
    mechanism auto is menu-response, which masks each choice on its voter's device, or item-wins
    for named items, where an aggregator sees the choices.

    Example: masquerade menus choices.csv --epsilon 2 --public-menus
    """
    from masquerade.answers.frames import read_table
    from masquerade.preference import MenuChoices

    losses = Losses.read(epsilon, epsilons)
    table = MenuChoices.from_frame(
        read_table(choices),
        features=read_names(features),
        ranges=read_ranges(ranges),
        voters=losses.voters,
        items=read_items(items),
    )
    learned = _learned(table, mechanism, losses, public_menus)
    Outputs(alternatives, report, out, json).publish(learned)


def _learned(
    table: MenuChoices, mechanism: str, losses: Losses, public_menus: bool
) -> SocialPreference:
    """Return the preference that a mechanism of menus learns."""
    from masquerade.preference import (
        MenuResponse,
        SocialPreference,
        fit_menus,
        preference_mechanism,
    )

    name, _, rest = mechanism.partition(":")
    known = ("auto", "none", MenuResponse.name, "item-wins")
    if name not in known or (rest and name in known[1:3]):
        raise ParameterError(
            f"choices among several do not work with --mechanism {mechanism!r}. Give --mechanism "
            "auto, none, menu-response (each choice is masked on its voter's device) or, for "
            "named items, item-wins (an aggregator sees the choices)."
        )
    if name == "none":
        return fit_menus(table)
    if losses.epsilon is None:
        raise ParameterError(
            "--epsilon is missing. Give --epsilon, the privacy loss of one choice; or give "
            "--mechanism none, which protects nobody."
        )
    local = name == MenuResponse.name or (rest == "trust=local" and name == "auto")
    if local or (name == "auto" and not rest and not table.named_items):
        return MenuResponse(losses.epsilon).learn(table, public_menus=public_menus)
    method = preference_mechanism(mechanism, epsilon=losses.epsilon, unit="choice")
    return SocialPreference.learn(table, mechanism=method, public_menus=public_menus)
