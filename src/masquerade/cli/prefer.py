"""``masquerade prefer``: preferences learned from pairwise choices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, choice, completion, preference_mechanisms, read_column
from masquerade.cli.terminal import show
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.preference import SocialPreference


#: Standard errors in half a 95 % interval.
_REACH = 1.96


def prefer(
    comparisons: Annotated[
        Path,
        typer.Argument(
            help="Table of choices (CSV, CSV.gz, Parquet or .xlsx). It has a column voter and "
            "one column for each feature: the chosen alternative's value minus the rejected "
            "one's. Or it has the columns voter, chosen and rejected, with names of items.",
            metavar="COMPARISONS",
            show_default=False,
        ),
    ],
    mechanism: Annotated[
        str,
        typer.Option(
            help="How the weights are learned and protected: NAME or NAME:KEY=VALUE,.... The "
            "mechanism auto chooses the most accurate one, from public numbers alone. The "
            "mechanism none protects nobody.",
            autocompletion=completion(preference_mechanisms),
        ),
    ] = "auto",
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Privacy loss of one unit (see --unit), above 0. A smaller epsilon protects "
            "more. Every mechanism but none needs it, or --epsilons."
        ),
    ] = None,
    epsilons: Annotated[
        Path | None,
        typer.Option(
            help="Table with the columns voter and epsilon, in place of --epsilon: the personal "
            "epsilon of everybody who was asked, also of people who have no row in "
            "COMPARISONS."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        choice(
            *("voter", "record", "choice"),
            help="What the guarantee protects. voter: everything that a voter said. record: one "
            "row of COMPARISONS. choice: which of the shown alternatives was chosen. A voter "
            "with n records or choices is protected only at n times their epsilon. Default: "
            "the unit of the mechanism.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns that are features, separated by commas. Default: all columns that have "
            "no other meaning."
        ),
    ] = None,
    ranges: Annotated[
        str | None,
        typer.Option(
            help="Public range of each feature of an alternative, NAME=LOW:HIGH,..., such as "
            "price=0:60,changes=0:3. Take the ranges from the design of the questions, "
            "never from the answers."
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            help="Table with the column item: all items that could be compared, in the order of "
            "the result. Take it from the design of the questions, never from the answers. "
            "A private result on named items needs it."
        ),
    ] = None,
    unlisted: Annotated[
        str,
        choice(
            *("error", "ignore"),
            help="What to do with a record that names an item outside --items: error stops the "
            "command; ignore counts the record, and changes no score.",
        ),
    ] = "error",
    one_each: Annotated[
        bool,
        typer.Option(
            "--one-each",
            help="COMPARISONS has no column voter: every row comes from another voter.",
        ),
    ] = False,
    most_records: Annotated[
        int | None,
        typer.Option(
            min=1, help="Use only this many records of each voter, the first ones. Default: all."
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Table of choices that were not used for learning, to score the weights on. The "
            "scores are computed from these choices as they are, and no guarantee covers "
            "them."
        ),
    ] = None,
    menus: Annotated[
        bool,
        typer.Option(
            "--menus",
            help="COMPARISONS has choices among several alternatives: one row for each "
            "alternative that was shown, with the columns voter, choice, chosen (1 or 0) "
            "and the features. Named items have a column item in place of the features, and "
            "need --items. The mechanism auto is then menu-response, or item-wins for named "
            "items.",
        ),
    ] = False,
    public_menus: Annotated[
        bool,
        typer.Option(
            "--public-menus",
            help="State that it is public which alternatives each voter was shown, and that none "
            "of them was picked by looking at raw answers. The unit choice needs this "
            "statement.",
        ),
    ] = False,
    rankings: Annotated[
        bool,
        typer.Option(
            "--rankings",
            help="COMPARISONS has rankings of named items, with the columns voter, item and rank "
            "(1 is the best), and choice if a voter gave several rankings. The mechanism is "
            "auto or item-rankings, which hides a whole voter, or none.",
        ),
    ] = False,
    alternatives: Annotated[
        Path | None,
        typer.Option(
            help="Table of alternatives to rank, with a column name and one column for each "
            "feature. Named items need no such table: the result ranks them."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="File for an HTML page with the guarantee, the weights and the ranking. "
            "Default: not written."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the weights, one row for each feature or item (CSV, CSV.gz, Parquet "
            "or .xlsx). The name - prints them as CSV on standard output."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Learn what the voters prefer from their choices, with a privacy guarantee.

    The first line of the output states the guarantee: what is protected, from whom, and at which
    epsilon. It is about the published result and, for local mechanisms, about what a server would
    have received. The file COMPARISONS itself is not protected. The weights follow.

    Example: masquerade prefer choices.csv --mechanism none --report page.html
    """
    from masquerade.answers import Comparisons
    from masquerade.answers.frames import write_table
    from masquerade.preference import (
        SocialPreference,
        held_out_accuracy,
        one_feature_baseline,
        preference_mechanism,
        preference_page,
        rank_alternatives,
    )

    voters: list[Any] | None = None
    losses: Any = epsilon
    if epsilons is not None:
        if epsilon is not None:
            raise ParameterError("--epsilon and --epsilons were both given; give one of the two.")
        voters, losses = _personal(epsilons)
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
    held_out = None
    if menus or rankings:
        if (menus and rankings) or test is not None or most_records is not None or one_each:
            raise ParameterError(
                "--menus and --rankings cannot be used together, and neither works with --test, "
                "--most-records or --one-each; leave these out."
            )
        if menus:
            if unlisted != "error":
                raise ParameterError(
                    "--unlisted does not work with --menus. Leave it out, and list every item in "
                    "--items."
                )
            fields = {"features": names, "ranges": public_ranges, "voters": voters}
            fields["items"] = item_names
            learned = _from_menus(comparisons, mechanism, losses, unit, fields, public_menus)
        else:
            asked = {"voters": voters, "unlisted": unlisted}
            learned = _from_rankings(comparisons, mechanism, losses, unit, item_names, asked)
    else:
        method = preference_mechanism(mechanism, epsilon=losses, unit=unit)  # before reading
        table = Comparisons.read(comparisons, voters=voters, **columns)
        if most_records is not None:
            table = table.at_most(most_records)
        if test is not None:
            held_out = Comparisons.read(test, **columns)
        learned = SocialPreference.learn(table, mechanism=method, public_menus=public_menus)
    result = learned.to_json()
    if _scales_matter(learned):
        sys.stderr.write(
            "note: no --ranges were given, so each feature counts in its own unit, and a feature "
            "with large numbers outweighs the others. Give each feature its public range, from the "
            "design of the questions.\n"
        )
    to_rank = None if alternatives is None else _alternatives(alternatives)
    if learned.covariance is not None and (to_rank is not None or learned.named_items):
        result["ranking"] = rank_alternatives(learned, to_rank).to_arrow().to_pylist()
    if report is not None:
        report.write_text(preference_page(learned, alternatives=to_rank), encoding="utf-8")
        result["report"] = str(report)
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


def _from_menus(
    path: Path,
    mechanism: str,
    epsilon: Any,
    unit: str | None,
    fields: dict[str, Any],
    public_menus: bool,
) -> SocialPreference:
    """Return what choices among several say; auto is item-wins for names, else menu-response."""
    from masquerade.answers.frames import read_table
    from masquerade.preference import (
        MenuChoices,
        MenuResponse,
        SocialPreference,
        fit_menus,
        preference_mechanism,
    )
    from masquerade.preference.mechanisms.noisy_item_wins import ItemWins

    name, _, rest = mechanism.partition(":")
    known = ("auto", "none", MenuResponse.name, ItemWins.name)
    if name not in known or (rest and name in known[1:3]) or unit not in (None, "choice"):
        raise ParameterError(
            f"--menus does not work with --mechanism {mechanism!r} and the unit "
            f"{unit or 'choice'!r}. Give --mechanism auto, none, menu-response (each choice is "
            "masked on its voter's device) or, for named items, item-wins (an aggregator sees the "
            "choices), and --unit choice."
        )
    if name != "none" and epsilon is None:
        raise ParameterError(
            "--epsilon is missing. Give --epsilon, the privacy loss of one choice; or give "
            "--mechanism none, which protects nobody."
        )
    table = MenuChoices.from_frame(read_table(path), **fields)
    if name == "none":
        return fit_menus(table)
    local = name == MenuResponse.name or (rest == "trust=local" and name == "auto")
    if local or (name == "auto" and not rest and not table.named_items):
        return MenuResponse(epsilon).learn(table, public_menus=public_menus)
    method = preference_mechanism(mechanism, epsilon=epsilon, unit="choice")
    return SocialPreference.learn(table, mechanism=method, public_menus=public_menus)


def _from_rankings(
    path: Path,
    mechanism: str,
    epsilon: Any,
    unit: str | None,
    items: list[Any] | None,
    fields: dict[str, Any],
) -> SocialPreference:
    """Return what rankings say; auto is item-rankings."""
    from masquerade.answers.frames import read_table
    from masquerade.preference import Rankings, SocialPreference, fit_rankings, preference_mechanism
    from masquerade.preference.mechanisms.private_rankings import ItemRankings

    name, _, rest = mechanism.partition(":")
    if name not in ("auto", "none", ItemRankings.name) or (rest and name != ItemRankings.name):
        raise ParameterError(
            f"--rankings works with --mechanism auto, {ItemRankings.name} or none, not with "
            f"{mechanism!r}. Another mechanism would hide one pair of a ranking, and the other "
            "pairs would tell it."
        )
    table = Rankings.from_frame(read_table(path))
    listed = None if items is None else [str(item) for item in items]
    if name != "none":
        text = ItemRankings.name if name == "auto" else mechanism
        method = preference_mechanism(text, epsilon=epsilon, unit=unit)
        return SocialPreference.learn(table.comparisons(listed, **fields), mechanism=method)
    if epsilon is not None:
        raise ParameterError(
            "the mechanism none protects nobody, so it has no epsilon; leave out --epsilon, "
            "or choose another mechanism."
        )
    # A prior of one choice keeps items finite that always won or lost.
    strengths = fit_rankings(table.orders, items=listed, prior=1.0)
    return SocialPreference.of_strengths(strengths, voters=table.voters, records=len(table.orders))


def _alternatives(path: Path) -> dict[str, dict[str, float]]:
    from masquerade.answers.frames import read_table
    from masquerade.errors import SchemaError

    rows = read_table(path).to_pylist()
    if not rows or "name" not in rows[0]:
        raise SchemaError(f"{path} has no column name; expected one row for each alternative.")
    found = {str(row.pop("name")): row for row in rows}
    if len(found) < len(rows):
        raise ParameterError(f"{path} names an alternative twice; give each a name of its own.")
    return found


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
            text += f" ± {_REACH * errors[i]:.2g}"
        elif learned.noise_sd[i] > 0:
            text += f" (noise {learned.noise_sd[i]:.2g})"
        lines[feature.name] = text
    heading = "weights" if errors is None else "weights ± half a 95 % interval"
    summary: dict[str, Any] = {"statement": learned.release.statement, heading: lines}
    details = dict(result["details"])
    groups = details.pop("groups", None)
    if groups:
        names = [feature.name for feature in learned.features]
        summary["groups of voters"] = {
            f"{share:.0%}": ", ".join(f"{n} {w:.3g}" for n, w in zip(names, own, strict=True))
            for share, own in zip(groups["shares"], groups["weights"], strict=True)
        }
    if "ranking" in result:
        summary["ranking"] = {
            f"{row['rank']}. {row['alternative']}": f"{row['utility']:.3g}, {row['low']:.3g} to "
            f"{row['high']:.3g}; ranks {row['best_rank']} to {row['worst_rank']}"
            for row in result["ranking"]
        }
    summary["details"] = details
    covariances = (f"{part}_covariance" for part in ("noise", "sampling", "shrinkage"))
    raw = {"details", "ranking", "weights", "features", "noise_sd", "standard_errors", *covariances}
    return summary | {key: value for key, value in result.items() if key not in raw}
