"""Leaderboards from votes that devices masked, and from noisy sums of wins and losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from masquerade.answers.battles import EVEN, FIRST, SECOND
from masquerade.errors import ParameterError
from masquerade.exact import Guarantee
from masquerade.exact.arrays import Codes, Floats
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.leaderboard import FEW_VOTERS, Leaderboard
from masquerade.preference.score_sums import ALIKE, Sums, balanced, fit_sums
from masquerade.preference.strength_fit import FEWEST_VOTERS, StrengthFit
from masquerade.preference.tie_models import DAVIDSON

#: Outcomes by the code of a label: the first item, the second, then the tie.
OUTCOMES = (FIRST, SECOND, EVEN)


@dataclass(frozen=True, slots=True, eq=False)
class MaskedVotes:
    """Masked votes on pairs of a list, with the mask of each.

    Attributes
    ----------
    items : tuple of str
    first, second : int32 array, shape (n_votes,)
        Codes of the two items that were shown.
    report : int array, shape (n_votes,)
        0 where the first is reported, 1 where the second, 2 for a tie.
    voter : int32 array, shape (n_votes,)
    mask : int array, shape (n_votes,)
        Place of each vote's mask in `channels`.
    channels : tuple of float arrays, shape (k, k)
        P(report | vote); k is 3 where ties can be voted, else 2. Each can be inverted.

    Examples
    --------
    >>> import numpy as np
    >>> whole = np.arange(40) % 2
    >>> votes = MaskedVotes(("x", "y"), whole * 0, whole * 0 + 1, whole, np.arange(40) // 2,
    ...                     whole * 0, (np.array([[0.75, 0.25], [0.25, 0.75]]),))
    >>> board = leaderboard_of_masked(votes)
    >>> [round(one.strength, 3) + 0.0 for one in board.standings]
    [0.0, 0.0]
    """

    items: tuple[str, ...]
    first: Codes
    second: Codes
    report: Codes
    voter: Codes
    mask: Codes
    channels: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.report)


def leaderboard_of_masked(
    votes: MaskedVotes, *, guarantee: Guarantee | None = None, mechanism: str = ""
) -> Leaderboard:
    """Return the leaderboard of masked votes.

    `guarantee`, `mechanism`: of the votes, as they stand in the result.

    Notes
    -----
    Each report's score and share of a tie are unbiased (the channel is inverted). Every difference
    of strengths has at least the error that the model with the masks' noise gives, and at least
    the error clustered by voter, in which the masks' noise is too. **Privacy**: what was masked
    stays masked; the pairs are public. **Cost**: linear in votes; quadratic in items for counts,
    cubic for the fit.
    """
    score, tie, own, tie_noise = _unbiased(votes)
    m, n = len(votes.items), len(votes)
    scores: Floats = np.bincount(votes.first, score, m).astype(np.float64)
    scores += np.bincount(votes.second, 1 - score, m)
    noise = np.zeros((m + 1, m + 1))
    laplacian = np.zeros((m, m))
    np.add.at(laplacian, (votes.first, votes.second), -own)
    laplacian += laplacian.T
    noise[:m, :m] = laplacian - np.diag(laplacian.sum(axis=0))
    noise[m, m] = float(tie_noise.sum())
    sums = Sums(scores, float(tie.sum()), float(n), float(own.sum()) * 2 / m, noise)
    known = len(np.unique(votes.voter)) >= FEWEST_VOTERS
    scatter = _Scatter(votes, score, tie) if known else None
    board = fit_sums(sums, _met(votes), votes.items, scatter=scatter)
    notes = [note for note in board.notes if note != ALIKE]
    return replace(
        board,
        votes=float(n),
        ties=min(max(sums.ties, 0.0), float(n)),
        voters=len(np.unique(votes.voter)),
        mechanism=mechanism,
        notes=(*notes, *(() if known else (FEW_VOTERS,))),
        guarantee=board.guarantee if guarantee is None else guarantee,
    )


def _unbiased(votes: MaskedVotes) -> tuple[Floats, Floats, Floats, Floats]:
    """Return each vote's unbiased score and tie, and the variance that the mask adds to them."""
    n = len(votes)
    found: list[Floats] = [np.zeros(n) for _ in range(4)]
    for place, channel in enumerate(votes.channels):
        rows = np.flatnonzero(votes.mask == place)
        if not rows.size:
            continue
        report, k = votes.report[rows], len(channel)
        aims = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]])[:, :k]  # score and tie of each vote
        worth = np.linalg.solve(channel, aims.T).T  # of each report
        counts = np.bincount(report, minlength=k) / len(report)
        # Shares of the votes, as near to the reports as shares can be.
        share = np.maximum(np.linalg.solve(channel.T, counts), 0.0)
        share /= share.sum()
        for which in (0, 1):
            found[which][rows] = worth[which][report]
            inside = channel @ worth[which] ** 2 - (channel @ worth[which]) ** 2
            found[which + 2][rows] = float(share @ inside)
    return found[0], found[1], found[2], found[3]


def _met(votes: MaskedVotes) -> BattleCounts:
    """Return how often each pair was shown, as wins of either in equal parts."""
    m = len(votes.items)
    low, high = np.minimum(votes.first, votes.second), np.maximum(votes.first, votes.second)
    pairs, met = np.unique(low.astype(np.int64) * m + high, return_counts=True)
    counts = np.stack([met / 2, np.zeros(len(pairs)), met / 2])
    return BattleCounts(m, pairs // m, pairs % m, counts, counts, np.zeros((len(pairs), 0)))


@dataclass(frozen=True, slots=True, eq=False)
class _Scatter:
    """The scatter of scores and ties between voters, at a fit: ``G / (G - 1) sum u u'``."""

    votes: MaskedVotes
    score: Floats
    tie: Floats

    def __call__(self, fit: StrengthFit) -> Floats:
        votes, m = self.votes, len(self.votes.items)
        d = fit.strengths[votes.first] - fit.strengths[votes.second]
        first, even, _ = np.exp(DAVIDSON.log_probabilities(d, fit.tie))
        left = self.score - (first + even / 2)
        codes = np.unique(votes.voter, return_inverse=True)[1]
        voters = int(codes.max()) + 1
        total = np.zeros((m + 1, m + 1))
        # A few thousand voters at a time, so that memory is that of one block.
        order = np.argsort(codes, kind="stable")
        block = max(1, 2_000_000 // (m + 1))
        ends = np.searchsorted(codes[order], np.arange(0, voters + block, block))
        for start, stop, low in zip(ends[:-1], ends[1:], range(0, voters, block), strict=False):
            rows = order[start:stop]
            part = np.zeros((min(block, voters - low), m + 1))
            at = codes[rows] - low
            np.add.at(part, (at, votes.first[rows]), left[rows])
            np.add.at(part, (at, votes.second[rows]), -left[rows])
            np.add.at(part, (at, np.full(len(rows), m)), self.tie[rows] - even[rows])
            total += part.T @ part
        scaled: Floats = total * voters / max(voters - 1, 1)
        return scaled


def masked_votes_of(
    items: Sequence[str], rows: Sequence[tuple[Any, Any, Any, Any, int]], channels: Sequence[Floats]
) -> MaskedVotes:
    """Return votes from parts: arrays of first, second, report and voter, and a mask's place."""
    first, second, report, voter = (
        np.concatenate([np.asarray(row[at]) for row in rows]).astype(np.int32) for at in range(4)
    )
    mask = np.concatenate([np.full(len(row[2]), row[4], np.int32) for row in rows])
    return MaskedVotes(tuple(items), first, second, report, voter, mask, tuple(channels))


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
