"""Leaderboards on pages: of a file of votes that a surveyor sends, and as lines of a chart."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from masquerade.errors import ParameterError, UnreadableFile
from masquerade.server.results.figures import Axis, Row

if TYPE_CHECKING:
    from masquerade.preference import Leaderboard
    from masquerade.preference.standings import Standing
    from masquerade.results.typed_result import RankedItem, VotedLeaderboard

#: Endings of files of votes; archives are left out, as a short one can unpack to any size, and
#: Parquet is one: its pages are packed.
ENDINGS = (".csv", ".json", ".jsonl")
LARGEST_FILE = 8 * 1024 * 1024
MOST_VOTES, MOST_ITEMS = 1_000_000, 500

Ties = Literal["auto", "davidson", "rao-kupper", "halves"]


@dataclass(frozen=True, slots=True)
class LeaderboardView:
    """A leaderboard as a page shows it.

    `first`: the items that may be first. `axis`, `rows`: possible ranks of placed items.
    `rest`: items without a place, each with the reason and its record. `about`: a sentence.
    `records`: heading of the column of records. `pictures`: of items, by their names.
    """

    about: str
    records: str
    first: str
    axis: Axis
    rows: list[Row]
    rest: list[tuple[str, str, str]]
    notes: tuple[str, ...]
    pictures: Mapping[str, str] = field(default_factory=dict)


def leaderboard_view(
    standings: Sequence[Standing | RankedItem],
    notes: Sequence[str] = (),
    *,
    about: str = "",
) -> LeaderboardView:
    """Return the content of a page about the lines of a leaderboard."""
    from masquerade.preference.leaderboard import NOBODY_PLACED

    placed = [one for one in standings if one.placed]
    worst = max([2, *(one.rank_high for one in placed)])
    # The dot is at an item's place by estimate.
    order = sorted(placed, key=lambda one: -(one.strength or 0.0))
    place = {one.item: number for number, one in enumerate(order, start=1)}
    raw = any(hasattr(one, "wins") for one in standings)
    return LeaderboardView(
        about,
        "Won, tied, lost" if raw else "Votes",
        ", ".join(one.item for one in standings if one.may_be_first),
        Axis(1, worst, whole=True),
        [_row(one, place[one.item]) for one in placed],
        [(one.item, one.note, _record(one)) for one in standings if not one.placed],
        tuple(note for note in notes if placed or note != NOBODY_PLACED),
    )


def voted_view(
    board: VotedLeaderboard, *, summed: bool = False, pictures: Mapping[str, str] | None = None
) -> LeaderboardView:
    """Return the content of a page about a list that people voted on.

    `summed`: whether two parties added up the votes. `pictures`: of items that have one.
    """
    even = "" if board.ties is None else f", about {board.ties:,.0f} of them for neither"
    about = f"{board.votes:,} masked votes on pairs{even}."
    if summed:
        about = f"{board.votes:,} votes on pairs{even}; two parties added them up with noise."
    found = leaderboard_view(board.items, board.notes, about=about)
    records = "Votes, expected" if summed else found.records
    return replace(found, records=records, pictures=pictures or {})


def _row(one: Standing | RankedItem, place: int) -> Row:
    from masquerade.preference.standings import elo

    low, high = one.rank_low, one.rank_high
    ranks = f"{low}" if low == high else f"{low} to {high}"
    between = f"{elo(one.low or 0.0):.0f} to {elo(one.high or 0.0):.0f}"
    cells = (f"{one.rating:.0f}", between, _record(one))
    return Row(one.item, float(place), ranks, float(low), float(high), f"rating {cells[0]}", cells)


def _record(one: Standing | RankedItem) -> str:
    """Return how often an item won, tied and lost; where that is masked, how often it was shown."""
    if hasattr(one, "shown"):
        return f"{one.shown:,}"
    if one.wins is None:
        return "protected"
    return f"{one.wins:g}, {one.ties:g}, {one.losses:g}"


def leaderboard_of_file(
    content: bytes, name: str, *, voter: str | None = None, ties: Ties = "auto"
) -> Leaderboard:
    """Return the leaderboard of a file of votes, which is deleted before this returns.

    `name`: of the file, of which the ending alone is used. `voter`, `ties`: as
    `Battles.from_frame` and `Leaderboard.fit` have them.

    Raises `ParameterError` (its ending, or too many votes or items) and what `Battles.read` raises.
    """
    from masquerade.answers import Battles
    from masquerade.preference import Leaderboard

    ending = next((one for one in ENDINGS if name.lower().endswith(one)), None)
    if ending is None:
        raise ParameterError(
            f"the file {name!r} ends in none of {', '.join(ENDINGS)}; save the table as one of "
            "these."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"votes{ending}"
        path.write_bytes(content)
        try:
            table = Battles.read(path, voter=voter or None)
        except UnreadableFile as error:
            # The surveyor knows the file by the name that it had.
            raise UnreadableFile(str(error).replace(str(path), name)) from error
    _require_few(len(table), MOST_VOTES, "votes")
    _require_few(len(table.items), MOST_ITEMS, "items")
    return Leaderboard.fit(table, ties=ties)


def _require_few(count: int, most: int, what: str) -> None:
    if count > most:
        raise ParameterError(
            f"the file has {count:,} {what}, and this page takes at most {most:,}; run "
            "masquerade rank on a computer of yours."
        )
