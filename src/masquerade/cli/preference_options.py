"""Options of the commands that learn preferences, and the values that they stand for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import choice, completion, preference_mechanisms, read_column
from masquerade.cli.terminal import show
from masquerade.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from masquerade.answers import Comparisons
    from masquerade.preference import SocialPreference

#: Standard errors in half a 95 % interval.
_REACH = 1.96

MechanismName = Annotated[
    str,
    typer.Option(
        help="How the weights are learned and protected: NAME or NAME:KEY=VALUE,.... The "
        "mechanism auto chooses the most accurate one, from public numbers alone. The "
        "mechanism none protects nobody.",
        autocompletion=completion(preference_mechanisms),
    ),
]
EpsilonText = Annotated[
    str | None,
    typer.Option(
        help="Privacy loss of one unit (see --unit), above 0. A smaller epsilon protects more. "
        "Every mechanism but none needs it, or --epsilons."
    ),
]
EpsilonsFile = Annotated[
    Path | None,
    typer.Option(
        help="Table with the columns voter and epsilon, in place of --epsilon: the personal "
        "epsilon of everybody who was asked, also of people who have no row in the table of "
        "choices."
    ),
]
UnitName = Annotated[
    str | None,
    choice(
        *("voter", "record", "choice"),
        flag="--unit",
        help="What the guarantee protects. voter: everything that a voter said. record: one row "
        "of the table. choice: which of the shown alternatives was chosen. A voter with n records "
        "or choices is protected only at n times their epsilon. Default: the unit of the "
        "mechanism.",
    ),
]
FeatureNames = Annotated[
    str | None,
    typer.Option(
        help="Columns that are features, separated by commas. Default: all columns that have no "
        "other meaning."
    ),
]
RangesText = Annotated[
    str | None,
    typer.Option(
        help="Public range of each feature of an alternative, NAME=LOW:HIGH,..., such as "
        "price=0:60,changes=0:3. Take the ranges from the design of the questions, never from the "
        "answers."
    ),
]
ItemsFile = Annotated[
    Path | None,
    typer.Option(
        help="Table with the column item: all items that could be compared, in the order of the "
        "result. Take it from the design of the questions, never from the answers. A private "
        "result on named items needs it."
    ),
]
UnlistedChoice = Annotated[
    str,
    choice(
        *("error", "ignore"),
        flag="--unlisted",
        help="What to do with a record that names an item outside --items: error stops the "
        "command; ignore counts the record, and changes no score.",
    ),
]
PublicMenus = Annotated[
    bool,
    typer.Option(
        "--public-menus",
        help="State that it is public which alternatives each voter was shown, and that none of "
        "them was picked by looking at raw answers. The unit choice needs this statement.",
    ),
]
AlternativesFile = Annotated[
    Path | None,
    typer.Option(
        help="Table of alternatives to rank, with a column name and one column for each feature. "
        "Named items need no such table: the result ranks them."
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        help="File for an HTML page with the guarantee, the weights and the ranking. Default: not "
        "written."
    ),
]
WeightsFile = Annotated[
    Path | None,
    typer.Option(
        help="File for the weights, one row for each feature or item (CSV, CSV.gz, Parquet or "
        ".xlsx). The name - prints them as CSV on standard output."
    ),
]


@dataclass(frozen=True, slots=True)
class Losses:
    """The privacy loss of a unit: one for all voters, or each one's own.

    Attributes
    ----------
    epsilon : text, sequence of numbers, or None
    voters : list, or None
        Everybody who was asked, where each has an epsilon.
    """

    epsilon: Any
    voters: list[Any] | None

    @classmethod
    def read(cls, epsilon: str | None, epsilons: Path | None) -> Losses:
        """Return the losses of --epsilon or --epsilons."""
        if epsilons is None:
            return cls(epsilon, None)
        if epsilon is not None:
            raise ParameterError("--epsilon and --epsilons were both given; give one of the two.")
        return cls(read_column(epsilons, "epsilon"), read_column(epsilons, "voter"))


@dataclass(frozen=True, slots=True)
class Outputs:
    """The results that a command writes: a ranking of alternatives, a page, a table, JSON."""

    alternatives: Path | None
    report: Path | None
    out: Path | None
    json: bool

    def publish(self, learned: SocialPreference, held_out: Comparisons | None = None) -> None:
        """Print a preference, and write the files that were asked for."""
        from masquerade.answers.frames import write_table
        from masquerade.preference import preference_page, rank_alternatives

        result = learned.to_json()
        if _scales_matter(learned):
            sys.stderr.write(
                "note: no --ranges were given, so each feature counts in its own unit, and a "
                "feature with large numbers outweighs the others. Give each feature its public "
                "range, from the design of the questions.\n"
            )
        to_rank = None if self.alternatives is None else _alternatives(self.alternatives)
        if learned.covariance is not None and (to_rank is not None or learned.named_items):
            result["ranking"] = rank_alternatives(learned, to_rank).to_arrow().to_pylist()
        if self.report is not None:
            page = preference_page(learned, alternatives=to_rank)
            self.report.write_text(page, encoding="utf-8")
            result["report"] = str(self.report)
        if held_out is not None:
            result |= _score(learned, held_out)
        if self.out is not None:
            write_table(learned.to_arrow(), self.out)
            result["out"] = str(self.out)
        shown = result if self.json else _for_people(result, learned)
        show(shown, as_json=self.json, title="Preference")


def read_names(text: str | None) -> list[str] | None:
    """Return names that are separated by commas."""
    return None if text is None else [name.strip() for name in text.split(",")]


def read_ranges(text: str | None) -> dict[str, tuple[float, float]] | None:
    """Return the public range of each feature."""
    if text is None:
        return None
    ranges: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        name, equals, ends = part.strip().rpartition("=")
        low, colon, high = ends.partition(":")
        if name in ranges:
            raise ParameterError(f"--ranges names {name!r} twice; give each feature one range.")
        try:
            if not equals or not colon:
                raise ValueError
            ranges[name] = (float(low), float(high))
        except ValueError as error:
            raise ParameterError(
                f"--ranges has {part!r}, expected NAME=LOW:HIGH, for instance price=0:5000."
            ) from error
    return ranges


def read_items(path: Path | None) -> list[Any] | None:
    """Return the public list of items."""
    return None if path is None else read_column(path, "item")


def _score(learned: SocialPreference, held_out: Comparisons) -> dict[str, object]:
    """Return how often the weights foretell choices that were not used, and a simple rule does."""
    from masquerade.preference import held_out_accuracy, one_feature_baseline

    score = held_out_accuracy(learned, held_out)
    baseline, rule = one_feature_baseline(held_out)
    return {
        "accuracy": score.accuracy,
        "baseline": baseline.accuracy,
        "baseline_method": f"prefer {rule}",
        "scored": len(held_out),
        "reference": score.reference,
        "scored_guarantee": "none: accuracy and baseline are computed from the choices of --test "
        "as they are",
    }


def _alternatives(path: Path) -> dict[str, dict[str, float]]:
    from masquerade.answers.frames import read_table

    rows = read_table(path).to_pylist()
    if not rows or "name" not in rows[0]:
        raise SchemaError(f"{path} has no column name; expected one row for each alternative.")
    found = {str(row.pop("name")): row for row in rows}
    if len(found) < len(rows):
        raise ParameterError(f"{path} names an alternative twice; give each a name of its own.")
    return found


def _scales_matter(learned: SocialPreference) -> bool:
    """Return whether several features without a public range were weighed against one another."""
    undeclared = [feature for feature in learned.features if not feature.declared]
    pooled = learned.release.mechanism == "none:fit=pooled"  # a fit that any scale leaves the same
    return len(learned.features) > 1 and bool(undeclared) and not pooled


def _for_people(result: dict[str, Any], learned: SocialPreference) -> dict[str, object]:
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
    summary: dict[str, object] = {"statement": learned.release.statement, heading: lines}
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
