"""``masquerade rank``: a leaderboard from votes between two items each, or from rankings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, Names, choice
from masquerade.cli.preference_options import (
    EpsilonText,
    ItemsFile,
    Outputs,
    PublicMenus,
    ReportFile,
    UnitName,
    WeightsFile,
    read_items,
)
from masquerade.cli.terminal import show
from masquerade.errors import ParameterError
from masquerade.exact.number import quantity

if TYPE_CHECKING:
    import pyarrow as pa

    from masquerade.answers import Battles
    from masquerade.preference import Leaderboard

_MOST_LINES = 50

BattlesFile = Annotated[
    Path,
    typer.Argument(
        help="Table of votes (CSV, CSV.gz, Parquet, .xlsx, .json or .jsonl). It has columns "
        "model_a, model_b and winner (model_a, model_b, tie or both_bad), or left, right and "
        "winner, or chosen and rejected, with tie (1 or 0) where there are ties. Or rankings, with "
        "the columns voter, item and rank (1 is the best), and choice if a voter gave several.",
        metavar="BATTLES",
        show_default=False,
    ),
]
MechanismOfRanks = Annotated[
    str,
    typer.Option(
        help="How votes are protected: none; battle-scores, at --epsilon, for votes (with "
        ":trust=local each vote is masked on its voter's device; for the unit voter it needs "
        ":votes_each=N, about how many votes a voter casts); item-rankings for rankings, which "
        "hides a whole voter. auto is none without --epsilon, else the one that fits.",
    ),
]
VoterColumn = Annotated[
    str | None,
    typer.Option(
        help="Column that says who voted. Default: voter, judge, user, session or worker, if "
        "BATTLES has one. Votes of one person depend on one another, and errors account for that."
    ),
]
Covariates = Annotated[
    Names | None,
    typer.Option(
        parser=Names.parse,
        metavar="TEXT",
        help="Columns of numbers, separated by commas, whose effect is taken out of the "
        "strengths, seen from the first item: 1 where it played at home, a difference of lengths.",
    ),
]
BothBadChoice = Annotated[
    str,
    choice(
        *("tie", "drop"),
        flag="--both-bad",
        help="What a vote that both are bad counts as: a tie, or nothing.",
    ),
]
TiesChoice = Annotated[
    str,
    choice(
        *("auto", "davidson", "rao-kupper", "halves"),
        flag="--ties",
        help="The model of ties. auto is davidson where there are ties. halves counts a tie as "
        "half a win of each; its strengths are too small, so use it only to compare with others "
        "who do so.",
    ),
]
PriorDeviation = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of a prior of the strengths, such as 2. Then items that no "
        "results link to the others are ranked too, pulled towards the mean. Default: no prior, "
        "and such items are listed without a strength."
    ),
]


def rank(
    battles: BattlesFile,
    mechanism: MechanismOfRanks = "auto",
    epsilon: EpsilonText = None,
    unit: UnitName = None,
    items: ItemsFile = None,
    public_menus: PublicMenus = False,
    voter: VoterColumn = None,
    covariates: Covariates = None,
    both_bad: BothBadChoice = "tie",
    ties: TiesChoice = "auto",
    prior: PriorDeviation = None,
    report: ReportFile = None,
    out: WeightsFile = None,
    json: AsJson = False,
) -> None:
    """Rank items by votes between two of them, and say which ranks each item may have.

    Ranks hold for all items together in 95 of 100 leaderboards. Items whose rank may be nearly any
    are listed as not placed. Votes that link an item to the others one way only give it no
    strength. With --epsilon, votes are protected, ties too.

    Example: masquerade rank battles.csv --report leaderboard.html
    """
    from masquerade.answers import Battles
    from masquerade.answers.battles import read_votes
    from masquerade.answers.frames import write_table
    from masquerade.preference.leaderboard_page import leaderboard_page

    frame = read_votes(battles, voter=voter, covariates=covariates or ())
    if {"item", "rank"} <= set(frame.column_names):
        return _rankings(frame, mechanism, epsilon, items, Outputs(None, report, out, json))
    table = Battles.from_frame(
        frame,
        items=read_items(items),
        voter=voter,
        covariates=covariates or (),
        both_bad="drop" if both_bad == "drop" else "tie",
    )
    if mechanism == "none" or (mechanism == "auto" and epsilon is None):
        board = _plain(table, ties, prior, epsilon)
    else:
        if ties not in ("auto", "davidson") or prior is not None or both_bad == "drop":
            raise ParameterError(
                "a private leaderboard is Davidson's model with a ridge of its own, and counts "
                "votes that both are bad as ties: leave out --ties, --prior and --both-bad."
            )
        board = _private(table, mechanism, epsilon, unit, public_menus)
    result = board.to_json()
    if report is not None:
        report.write_text(leaderboard_page(board), encoding="utf-8")
        result["report"] = str(report)
    if out is not None:
        write_table(board.to_arrow(), out)
        result["out"] = str(out)
    show(result if json else _for_people(board, result), as_json=json, title="Leaderboard")
    return None


def _plain(table: Battles, ties: str, prior: float | None, epsilon: str | None) -> Leaderboard:
    """Return the leaderboard of votes as they are."""
    from masquerade.preference import Leaderboard

    if epsilon is not None:
        raise ParameterError(
            "the mechanism none protects nobody, so it has no epsilon; leave out --epsilon, or "
            "choose another mechanism."
        )
    return Leaderboard.fit(table, ties=ties, prior=prior)  # type: ignore[arg-type]


def _private(
    table: Battles, mechanism: str, epsilon: str | None, unit: str | None, public_menus: bool
) -> Leaderboard:
    """Return the leaderboard of protected votes."""
    from masquerade.mechanisms.text import read_text_form
    from masquerade.preference.private_leaderboard import PrivateLeaderboard

    text = "battle-scores" if mechanism == "auto" else mechanism
    keys = {"battle-scores": {"trust": "str", "votes_each": "int"}}
    _, values = read_text_form(text, keys, what="mechanism of votes")
    if epsilon is None:
        raise ParameterError("--epsilon is missing. Give the privacy loss of one unit.")
    given: dict[str, Any] = {"unit": "choice" if unit is None else unit, **values}
    return PrivateLeaderboard(epsilon, **given).release(table, public_menus=public_menus)


def _rankings(
    frame: pa.Table, mechanism: str, epsilon: str | None, items: Path | None, outputs: Outputs
) -> None:
    """Print the strengths of ranked items."""
    from masquerade.preference import (
        Rankings,
        SocialPreference,
        fit_rankings,
        preference_mechanism,
    )

    name = mechanism.partition(":")[0]
    if name not in ("auto", "none", "item-rankings"):
        raise ParameterError(
            f"rankings work with --mechanism auto, item-rankings or none, not with {mechanism!r}. "
            "Another mechanism would hide one pair of a ranking, and the other pairs would tell it."
        )
    table, listed = Rankings.from_frame(frame), read_items(items)
    names = None if listed is None else [str(item) for item in listed]
    if name == "none" or (name == "auto" and epsilon is None):
        if epsilon is not None:
            raise ParameterError(
                "the mechanism none protects nobody, so it has no epsilon; leave out --epsilon, "
                "or choose another mechanism."
            )
        # A prior keeps items finite that always won or lost, as uncertain as it is itself.
        strengths = fit_rankings(table.orders, items=names, prior=0.25, voters=table.of)
        records = len(table.orders)
        learned = SocialPreference.of_strengths(strengths, voters=table.voters, records=records)
    else:
        text = "item-rankings" if name == "auto" else mechanism
        method = preference_mechanism(text, epsilon=epsilon)
        learned = SocialPreference.learn(table.comparisons(names), mechanism=method)
    outputs.publish(learned)


def _votes(board: Leaderboard) -> str:
    """Return the numbers of votes and ties in words."""
    if board.mechanism == "none":
        return f"{board.votes:,.6g}, {board.ties:,.6g} of them ties"
    ties = f"about {max(board.ties, 0):,.0f}"
    if not board.votes:
        return f"their number is private; {ties} ties"
    return f"{board.votes:,.6g}, {ties} of them ties"


def _for_people(board: Leaderboard, result: Mapping[str, object]) -> dict[str, object]:
    """Return the leaderboard with one line an item."""
    from masquerade.preference.standings import elo

    lines = {}
    for one in board.standings[:_MOST_LINES]:
        said = one.place
        if one.rating is not None and one.high is not None:
            said += f"; rating {one.rating:.0f} ± {elo(one.high) - one.rating:.0f}"
        if one.wins is not None:
            said += f"; {one.wins:g} won, {one.ties:g} tied, {one.losses:g} lost"
        lines[one.item] = said + (f" ({one.note})" if one.note else "")
    summary: dict[str, object] = {"statement": board.statement, "leaderboard": lines}
    more = len(board.standings) - _MOST_LINES
    if more > 0:
        summary["more"] = f"{quantity(more, 'item')} more: --out and --json have all"
    summary["may be first"] = ", ".join(board.first) or "nobody knows"
    summary["votes"] = _votes(board)
    if board.voters:
        summary["voters"] = f"{board.voters:,}"
    fits = {name: f"log-likelihood {value:.2f}" for name, value in board.log_likelihoods.items()}
    summary["model"] = board.model
    if fits:
        summary["models"] = fits
    for effect in (*board.effects, *([board.tie] if board.tie else [])):
        said = f"{effect.estimate:.4g}, {effect.low:.4g} to {effect.high:.4g}"
        summary[effect.name] = said
    if board.notes:
        summary["notes"] = list(board.notes)
    return summary | {key: result[key] for key in ("report", "out") if key in result}
