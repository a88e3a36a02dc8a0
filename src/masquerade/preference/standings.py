"""Lines of a leaderboard: strengths and possible ranks of items, effects, and duels of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from masquerade.exact.arrays import Flags, Floats
from masquerade.preference.rank_intervals import RankIntervals

#: Standard errors in half a 95 % interval.
REACH = 1.96


@dataclass(frozen=True, slots=True)
class Standing:
    """An item's line of a leaderboard.

    Attributes
    ----------
    item : str
    strength, standard_error, low, high : float or None
        In log-odds, mean 0, with the 95 % interval. None where the votes do not tell it.
    rating : float or None
        The strength on the scale of chess ratings, mean 1000.
    rank_low, rank_high : int
        Ends of the interval of the rank; all intervals hold together in 95 % of leaderboards.
    may_be_first : bool
        Whether the item is in the set that holds the best one in 95 % of leaderboards.
    placed : bool
        Whether the interval of the rank says something; ranks count placed items alone.
    wins, ties, losses : float or None
        None where they are protected.
    note : str
        Why there is no strength or no place; empty otherwise.
    """

    item: str
    strength: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    rating: float | None
    rank_low: int
    rank_high: int
    may_be_first: bool
    placed: bool
    wins: float | None
    ties: float | None
    losses: float | None
    note: str

    @property
    def place(self) -> str:
        """The possible ranks in words."""
        if not self.placed:
            return "not placed"
        if self.rank_low == self.rank_high:
            return ordinal(self.rank_low)
        return f"may be {ordinal(self.rank_low)} to {ordinal(self.rank_high)}"


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a covariate, or the tie parameter, with its 95 % interval."""

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Duel:
    """A comparison of two items.

    Attributes
    ----------
    better : float
        Probability that the first item is the stronger one, given the errors.
    wins, ties, losses : float
        Probabilities of the next vote between the two.
    decided : bool
        Whether the order of the two is decided, together with all other pairs.
    """

    better: float
    wins: float
    ties: float
    losses: float
    decided: bool


def standings_of(
    items: Sequence[str],
    kept: Flags,
    estimate: tuple[Floats, Floats, RankIntervals],
    records: Floats | None,
    reasons: Sequence[str],
) -> tuple[Standing, ...]:
    """Return the lines of all items: first the placed ones, last those without a strength.

    Parameters
    ----------
    items : sequence of str
    kept : bool array, shape (n_items,)
        Which of them have a strength.
    estimate : (float array, float array, RankIntervals)
        Strengths, their standard errors and possible ranks, of the items with a strength.
    records : float array, shape (n_items, 3), optional
        Wins, ties and losses; None where they are protected.
    reasons : sequence of str
        Why an item has no strength, or the prior's alone.
    """
    strengths, errors, ranks = estimate
    place = np.where(kept, np.cumsum(kept) - 1, -1)
    lines = []
    for item, name in enumerate(items):
        won, even, lost = (None, None, None) if records is None else map(float, records[item])
        at = int(place[item])
        if at < 0:
            nothing = (None, None, None, None, None, 1, len(items), False, False)
            lines.append(Standing(name, *nothing, won, even, lost, reasons[item]))
            continue
        strength, reach = float(strengths[at]), REACH * float(errors[at])
        placed = bool(ranks.placed[at])
        lines.append(
            Standing(
                name,
                strength,
                float(errors[at]),
                strength - reach,
                strength + reach,
                elo(strength),
                int(ranks.low[at]),
                int(ranks.high[at]) if placed else len(items),
                bool(ranks.may_be_first[at]),
                placed,
                won,
                even,
                lost,
                reasons[item] or ("" if placed else "its rank may be nearly any"),
            )
        )
    lines.sort(key=_order)
    return tuple(lines)


def _order(one: Standing) -> tuple[bool, bool, int, float]:
    """Return the key by which lines stand: placed, with a strength, worst rank, strength."""
    return (not one.placed, one.strength is None, one.rank_high, -(one.strength or 0.0))


def ordinal(number: int) -> str:
    """Return a number as English has it for ranks: 1st, 2nd, 3rd, 4th.

    Examples
    --------
    >>> [ordinal(number) for number in (1, 12, 22, 103)]
    ['1st', '12th', '22nd', '103rd']
    """
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{end or 'th'}"


def elo(strength: float) -> float:
    """Return a strength on the scale of chess ratings: mean 1000, 400 points a factor of ten."""
    return 1000 + 400 / math.log(10) * strength


def effect(name: str, value: float, error: float) -> Effect:
    """Return an effect with its 95 % interval."""
    return Effect(name, value, error, value - REACH * error, value + REACH * error)


def as_json(one: Standing | Effect) -> dict[str, Any]:
    """Return a line as a JSON object."""
    return {each.name: getattr(one, each.name) for each in fields(one)}
