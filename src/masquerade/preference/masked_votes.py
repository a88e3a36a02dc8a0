"""Leaderboards from votes that devices masked by randomized response, at one level or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from masquerade.answers.battles import EVEN, FIRST, SECOND
from masquerade.exact import Guarantee
from masquerade.exact.arrays import Codes, Floats
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.leaderboard import FEW_VOTERS, Leaderboard
from masquerade.preference.score_fit import ALIKE, fit_sums
from masquerade.preference.score_sums import Sums
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
