"""``masquerade prefer``: preferences learned from pairwise choices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, read_column
from masquerade.cli.terminal import show
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.preference import SocialPreference


def prefer(
    comparisons: Annotated[
        Path,
        typer.Argument(
            help="Choices: a column voter and one column a feature with chosen minus rejected, or "
            "columns voter, chosen, rejected; CSV, CSV.gz, Parquet.",
            metavar="COMPARISONS",
            show_default=False,
        ),
    ],
    mechanism: Annotated[
        str,
        typer.Option(
            help="How weights are learned and protected, NAME or NAME:KEY=VALUE,...; auto takes "
            "the most accurate by public numbers, none protects nobody."
        ),
    ] = "auto",
    epsilon: Annotated[
        str | None, typer.Option(help="Privacy loss per unit: smaller protects more.")
    ] = None,
    epsilons: Annotated[
        Path | None,
        typer.Option(
            help="Personal losses instead of one (voter,epsilon), of everybody who was asked."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="What is protected: voter, record or choice. Default: the mechanism's."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="The columns that are features, separated by commas. Default: all."),
    ] = None,
    ranges: Annotated[
        str | None,
        typer.Option(
            help="Public range of each feature of an alternative, NAME=LOW:HIGH,...; from the "
            "design of the questions, never from the answers."
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            help="A table (item) of all items that could be compared, in the order to print; from "
            "the design of the questions. A private result on named items needs it."
        ),
    ] = None,
    unlisted: Annotated[
        str,
        typer.Option(
            help="A record that names an item outside --items: error, or ignore (it says nothing)."
        ),
    ] = "error",
    one_each: Annotated[
        bool, typer.Option("--one-each", help="No column voter: every row is of its own voter.")
    ] = False,
    most_records: Annotated[
        int | None, typer.Option(min=1, help="Keep the first so many records of each voter.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Choices that were held out, to score the weights on.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the weights (CSV or Parquet).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Learn what the voters prefer from their pairwise choices, with a privacy guarantee.

    Example: masquerade prefer choices.csv --mechanism none
    """
    from masquerade.answers import Comparisons
    from masquerade.answers.frames import write_table
    from masquerade.preference import (
        SocialPreference,
        held_out_accuracy,
        one_feature_baseline,
        preference_mechanism,
    )

    voters: list[Any] | None = None
    losses: Any = epsilon
    if epsilons is not None:
        if epsilon is not None:
            raise ParameterError("give --epsilon or --epsilons, one of the two.")
        voters, losses = _personal(epsilons)
    method = preference_mechanism(mechanism, epsilon=losses, unit=unit)  # refuses before reading
    names = None if features is None else [name.strip() for name in features.split(",")]
    public_ranges = None if ranges is None else _ranges(ranges)
    item_names = None if items is None else read_column(items, "item")
    columns: dict[str, Any] = {
        "features": names,
        "ranges": public_ranges,
        "one_each": one_each,
        "items": item_names,
        "unlisted": unlisted,
    }
    table = Comparisons.read(comparisons, voters=voters, **columns)
    if most_records is not None:
        table = table.at_most(most_records)
    held_out = None
    if test is not None:
        held_out = Comparisons.read(test, **columns)
    learned = SocialPreference.learn(table, mechanism=method)
    result = learned.to_json()
    if _scales_matter(learned):
        sys.stderr.write(
            "note: no --ranges were given, so the features count in their own units and the "
            "largest rule; give each its public range, from the design of the questions.\n"
        )
    if held_out is not None:
        score = held_out_accuracy(learned, held_out)
        baseline, rule = one_feature_baseline(held_out)
        result |= {
            "accuracy": score.accuracy,
            "baseline": baseline.accuracy,
            "baseline_method": f"prefer {rule}",
            "scored": len(held_out),
            "reference": score.reference,
            "scored_guarantee": "none: accuracy and baseline are computed from the choices of "
            "--test as they are",
        }
    if out is not None:
        write_table(learned.to_arrow(), out)
        result["out"] = str(out)
    show(result if json else _for_people(result, learned), as_json=json, title="Preference")


def _personal(path: Path) -> tuple[list[Any], Any]:
    """Return everybody who was asked, and each one's epsilon."""
    return read_column(path, "voter"), read_column(path, "epsilon")


def _scales_matter(learned: SocialPreference) -> bool:
    """Return whether several features without a public range were weighed against one another."""
    undeclared = [feature for feature in learned.features if not feature.declared]
    pooled = learned.release.mechanism == "none:fit=pooled"  # a fit that any scale leaves the same
    return len(learned.features) > 1 and bool(undeclared) and not pooled


def _ranges(text: str) -> dict[str, tuple[float, float]]:
    ranges = {}
    for part in text.split(","):
        name, equals, ends = part.strip().rpartition("=")
        low, colon, high = ends.partition(":")
        try:
            if not equals or not colon:
                raise ValueError
            if name in ranges:
                raise ParameterError(f"--ranges names {name!r} twice; give each feature one range.")
            ranges[name] = (float(low), float(high))
        except ParameterError:
            raise
        except ValueError as error:
            raise ParameterError(
                f"--ranges has {part!r}, expected NAME=LOW:HIGH, for instance price=0:5000."
            ) from error
    return ranges


def _for_people(result: dict[str, Any], learned: SocialPreference) -> dict[str, Any]:
    """Return the result with one line a feature and the guarantee as a sentence first."""
    errors = learned.standard_errors
    lines = {}
    for i, feature in enumerate(learned.features):
        text = f"{learned.weights[i]:.4g}"
        if errors is not None:
            text += f" ± {errors[i]:.2g}"
        elif learned.noise_sd[i] > 0:
            text += f" (noise {learned.noise_sd[i]:.2g})"
        lines[feature.name] = text
    summary = {"statement": learned.release.statement, "weights": lines}
    covariances = (f"{part}_covariance" for part in ("noise", "sampling", "shrinkage"))
    raw = {"weights", "features", "noise_sd", "standard_errors", *covariances}
    return summary | {key: value for key, value in result.items() if key not in raw}
