"""Leaderboards from noisy sums of two parties: how often each item won, and how often it lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.score_fit import ALIKE, fit_sums
from masquerade.preference.score_sums import Sums, balanced

APART = (
    "each person was shown pairs drawn at random without an item in common; votes of a person on "
    "different items are taken for independent"
)


@dataclass(frozen=True, slots=True, eq=False)
class SummedVotes:
    """Noisy sums of votes on pairs of a list.

    Attributes
    ----------
    items : tuple of str
    won, lost : float array, shape (n_items,)
        How often each item won and lost.
    variance : float
        Of the noise in each sum.
    people : int
        Of whom each voted on `each` pairs without an item in common, drawn at random.
    each : int
    ties : bool
        Whether a vote could be for neither.

    Examples
    --------
    >>> import numpy as np
    >>> won, lost = np.array([60.0, 40.0]), np.array([40.0, 60.0])
    >>> votes = SummedVotes(("x", "y"), won, lost, 4.0, people=100, each=1)
    >>> [(one.item, round(one.strength, 2)) for one in leaderboard_of_sums(votes).standings]
    [('x', 0.2), ('y', -0.2)]
    """

    items: tuple[str, ...]
    won: Floats
    lost: Floats
    variance: float
    people: int
    each: int
    ties: bool = False

    def __post_init__(self) -> None:
        if not len(self.items) == len(self.won) == len(self.lost) >= 2 * self.each:
            raise ParameterError(
                f"{len(self.won)} sums of wins and {len(self.lost)} of losses are of "
                f"{len(self.items)} items, of which a person votes on {self.each} pairs; expected "
                "one of each for every item, and at least twice as many items as pairs."
            )

    @property
    def votes(self) -> float:
        """Number of votes."""
        return float(self.people * self.each)

    @property
    def drawn_ties(self) -> float:
        """Number of votes that nobody won, at least 0."""
        decided = float(np.sum(self.won) + np.sum(self.lost)) / 2
        return min(max(self.votes - decided, 0.0), self.votes) if self.ties else 0.0


def leaderboard_of_sums(sums: SummedVotes) -> Leaderboard:
    """Return the leaderboard of noisy sums of votes.

    Notes
    -----
    Half of the wins less the losses are scores of a balanced plan, and the votes that nobody won
    the ties. Every pair is equally likely to be shown, so that the expected schedule is known; how
    the drawn one differs from it is in the errors, exactly for pairs without an item in common. An
    item stands in one pair of a person at most: that a person's votes agree with one another
    changes no variance of a score. **Cost**: cubic in items.
    """
    m, votes = len(sums.items), sums.votes
    half = (np.asarray(sums.won) - np.asarray(sums.lost)) / 2
    noise = np.zeros((m + 1, m + 1))
    noise[:m, :m] = sums.variance / 2 * (np.eye(m) - 1 / m)
    if sums.ties:
        # Noise of 2 m sums, halved; scores are differences, which it does not touch.
        noise[m, m] = m * sums.variance / 2
    # As many wins as losses: what the noise adds to all scores alike is taken off.
    scores = half - half.mean() + votes / m
    masked = Sums(scores, sums.drawn_ties, votes, sums.variance / 2, noise)
    board = fit_sums(masked, balanced(m, votes), sums.items, drawn=sums.each)
    notes = [note for note in board.notes if note != ALIKE]
    return replace(board, votes=votes, ties=sums.drawn_ties, notes=(*notes, APART))
