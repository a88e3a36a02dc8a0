"""Rare labels: those with mostly wrong votes, found by a crowd of one coin.

Where a label is the truth of few tasks, most votes for it are errors of workers who are otherwise
right: plain votes overstate it. One hit probability for the whole crowd, and one share for each
truth, fitted to the distinct rows of votes, tell how much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import digamma, gammaln

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.diagnostics import Remark
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    VoteBlock,
    row_softmax,
    vote_shares,
)

_RARE = 0.5  # of a label's votes are right, below which it is rare
_GUARD = 10.0  # twice the gain in log-likelihood: chi-square of one degree, .0016
_HIT, _STRENGTH = 0.65, 10.0  # of the crowd's coin beforehand, in pseudo-answers
_ROUNDS, _STILL = 500, 1e-4
_MOST_ROWS = 10_000  # distinct rows of votes that are held together; else each round is a fold
_MOST_CELLS = 10_000_000  # rows times options, above which no label is looked at
#: Below this signal a report says too little: fewer rare truths would be found, not more.
_LEAST_SIGNAL = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class VoteRows:
    """Distinct rows of votes with the number of tasks of each; blocks add up."""

    votes: Floats  # float array, shape (n_rows, n_options)
    tasks: Floats  # float array, shape (n_rows,)

    @classmethod
    def of(cls, block: VoteBlock) -> VoteRows:
        """Return the rows of a block's answered tasks."""
        counts = block.sorted_votes.count()
        return cls._distinct(counts[counts.any(axis=1)], None)

    @classmethod
    def _distinct(cls, votes: Floats, tasks: Floats | None) -> VoteRows:
        rows, place = np.unique(votes, axis=0, return_inverse=True)
        number = np.bincount(place.ravel(), tasks, len(rows)).astype(np.float64)
        return cls(rows, number)

    def __add__(self, other: VoteRows) -> VoteRows:
        return self._distinct(
            np.concatenate([self.votes, other.votes]), np.concatenate([self.tasks, other.tasks])
        )

    def plain(self, channel: OptionChannel) -> Floats:
        """Return the sum of vote shares freed from the mask, then the numbers of tasks, reports."""
        shares = channel.unmasked(vote_shares(self.votes.copy()))
        return np.append(self.tasks @ shares, [self.tasks.sum(), self.tasks @ self.votes.sum(1)])

    def step(self, pi: Floats, hit: float) -> Floats:
        """Return sums of an E-step: tasks of each truth, hits, log-likelihood."""
        s = len(pi)
        miss = np.log((1 - hit) / (s - 1))
        ratio = np.log(hit) - miss
        # ln pi_k + n_k ln h + (n - n_k) ln((1 - h) / (s - 1))
        scores = np.log(pi) + ratio * self.votes
        top = scores.max(axis=1)
        total = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top
        likelihood = self.tasks @ (total + miss * self.votes.sum(axis=1))
        q = row_softmax(scores) * self.tasks[:, None]
        return np.append(q.sum(axis=0), [(q * self.votes).sum(), likelihood])


@dataclass(frozen=True, slots=True, eq=False)
class CrowdCoin:
    """The crowd as one coin: its hit probability on reports, and the truths' shares."""

    hit: float
    shares: Floats  # float array, shape (n_options,)
    log_likelihood: float
    plain: Floats  # float array, shape (n_options,). Shares by plain votes, freed from the mask.
    log_likelihood_at_plain: float  # where the truths' shares are those of plain votes

    @property
    def right(self) -> Floats:
        """Share of each label's votes that are right: the truth's share over that of votes."""
        return self.shares / self.plain

    @property
    def discount(self) -> Floats:
        """Factor of each label's votes: 1 but of rare labels."""
        gain = 2 * (self.log_likelihood - self.log_likelihood_at_plain)
        if gain < _GUARD:
            return np.ones(len(self.shares))
        # min(1, 2 rho): continuous at one half
        return np.asarray(np.minimum(1.0, self.right / _RARE))

    @classmethod
    def of(cls, rows: _Rows, channel: OptionChannel) -> CrowdCoin:
        """Fit the coin by expectation-maximization, with the truths' shares free and held."""
        sums = rows.plain(channel)
        s, tasks, reports = len(sums) - 2, sums[-2], sums[-1]
        plain = (sums[:-2] + 1) / (tasks + s)
        keep = float(channel.signal() @ channel.mean_weight)
        start = _HIT * keep + (1 - keep) / s

        def fitted(held: bool) -> tuple[float, Floats, float]:
            hit, pi, before = float(np.clip(start, 1 / s + 1e-6, 1 - 1e-6)), plain, -np.inf
            for _ in range(_ROUNDS):
                found = rows.step(pi, hit)
                if found[-1] - before < _STILL:
                    break
                before = float(found[-1])
                hit = (found[-2] + _STRENGTH * start) / (reports + _STRENGTH)
                hit = float(np.clip(hit, 1 / s + 1e-6, 1 - 1e-6))
                pi = plain if held else (found[:-2] + 1) / (tasks + s)
            return hit, pi, float(found[-1])

        hit, pi, likelihood = fitted(held=False)
        return cls(hit, pi, likelihood, plain, fitted(held=True)[2])


class _Folded:
    """Rows of blocks that are too many to be held together: each step is a fold."""

    def __init__(self, claims: ClaimBlocks) -> None:
        self.claims = claims

    def plain(self, channel: OptionChannel) -> Floats:
        """See `VoteRows.plain`."""
        total: Floats = self.claims.fold(_plain, channel)
        return total

    def step(self, pi: Floats, hit: float) -> Floats:
        """See `VoteRows.step`."""
        total: Floats = self.claims.fold(_step, pi, hit)
        return total


_Rows = VoteRows | _Folded


def rare_discount(claims: ClaimBlocks) -> tuple[float, ...]:
    """Return the factor of each label's votes: below 1 where most of them are errors.

    All are 1 where nothing is rare, where truths are known, behind masks that leave a report less
    than .6 of a difference between answers, and with so many tasks and options that their votes
    are not tabled.
    """
    crowd = claims.crowd
    s, channel = crowd.n_options, crowd.channel
    signal = float(np.sqrt(channel.signal() ** 2 @ channel.mean_weight))
    tasks = claims.fold(_answered_tasks)
    if s < 2 or not tasks or claims.has_known or signal < _LEAST_SIGNAL or tasks * s > _MOST_CELLS:
        return (1.0,) * s
    few: _Few = claims.fold(_few_rows)
    coin = CrowdCoin.of(few.rows or _Folded(claims), channel)
    return tuple(coin.discount.tolist())


def discount_of(given: tuple[float, ...] | None, n_options: int) -> tuple[float, ...]:
    """Return the discount that is given, checked, else one of no rare label.

    Raises
    ------
    ParameterError
        There is not one factor above 0 and at most 1 for each option.
    """
    n = n_options
    if given is None:
        return (1.0,) * n
    if len(given) != n or not all(0 < factor <= 1 for factor in given):
        raise ParameterError(
            f"discount is {given!r}, expected {n} factors above 0 and at most 1, one an option."
        )
    return given


@dataclass(frozen=True, slots=True, eq=False)
class _Few:
    """Rows of votes; none where they are too many to be held together."""

    rows: VoteRows | None

    def __add__(self, other: _Few) -> _Few:
        if self.rows is None or other.rows is None:
            return _Few(None)
        return _Few._of(self.rows + other.rows)

    @classmethod
    def _of(cls, rows: VoteRows) -> _Few:
        return cls(rows if len(rows.votes) <= _MOST_ROWS else None)


def _few_rows(block: VoteBlock) -> _Few:
    return _Few._of(VoteRows.of(block))


def _plain(block: VoteBlock, channel: OptionChannel) -> Floats:
    return VoteRows.of(block).plain(channel)


def _step(block: VoteBlock, pi: Floats, hit: float) -> Floats:
    return VoteRows.of(block).step(pi, hit)


def _answered_tasks(block: VoteBlock) -> float:
    return float((block.votes.of_task > 0).sum())


def discounted(shares: Floats, discount: tuple[float, ...] | None) -> Floats:
    """Return vote shares times the discount, rows made to sum to 1."""
    if not is_rare(discount):
        return shares
    cut = shares * np.asarray(discount)
    return np.asarray(cut / np.maximum(cut.sum(axis=1, keepdims=True), 1e-300))


def is_rare(discount: tuple[float, ...] | None) -> bool:
    """Return whether any label is rare."""
    return discount is not None and min(discount, default=1.0) < 1


def shares_log_evidence(totals: Floats) -> float:
    """Return the log probability of truths with shares under a uniform Dirichlet prior."""
    alpha = totals + 1
    return float(gammaln(alpha).sum() - gammaln(alpha.sum()) + gammaln(len(totals)))


def log_rates(totals: Floats) -> Floats:
    """Return E[ln P(truth)] under a uniform Dirichlet prior, given tasks of each truth."""
    alpha = totals + 1
    return np.asarray(digamma(alpha) - digamma(alpha.sum()))


#: Estimated share of tasks below which a label has a row of its own.
LOW_RATE = 0.05
#: Share of the frequent label from which a constant answer is a baseline to beat.
_MOSTLY = 0.8
#: Options up to which figures of rare labels are worked out.
MOST_OPTIONS = 1000


def given_and_expected(posterior: Floats, own: Floats, answered: Flags) -> Floats | None:
    """Return ``expected[given, truth]``: tasks that are given a label, by their expected truth.

    Labels are given by `posterior`; truths are expected by `own`, the posterior of the model whose
    shares of truths are estimates. None with more than 1000 options; blocks add up.
    """
    s = posterior.shape[1]
    if s > MOST_OPTIONS:
        return None
    given, expected = posterior[answered].argmax(axis=1), np.zeros((s, s))
    np.add.at(expected, given, own[answered])
    return expected


def rare_table(options: pa.Array, expected: Floats | None) -> pa.Table:
    """Return a row for each label that holds for less than 5 % of tasks, but for some.

    ``label``, ``share``, ``given`` (tasks), ``precision`` and ``recall``: all of them expected by
    the model of workers, and without intervals, which doubt about workers would have to widen.
    """
    names = ("share", "given", "precision", "recall")
    if expected is None:
        expected = np.zeros((0, 0))
    total = max(float(expected.sum()), 1e-300)
    truths, given, right = expected.sum(axis=0), expected.sum(axis=1), np.diag(expected)
    rows = np.flatnonzero((truths / total < LOW_RATE) & (given > 0))
    columns = (
        truths / total,
        np.round(given).astype(np.int64),
        right / np.maximum(given, 1e-300),
        right / np.maximum(truths, 1e-300),
    )
    figures = {name: column[rows] for name, column in zip(names, columns, strict=True)}
    return pa.table({"label": options.take(pa.array(rows)), **figures})


def low_rates(options: pa.Array, expected: Floats | None) -> tuple[Remark, ...]:
    """Return the remark ``LOW_RATE`` on labels that hold for less than 5 % of tasks.

    It is made where one label holds for 80 % or more: there accuracy says little.
    """
    if expected is None or not expected.sum():
        return ()
    truths = expected.sum(axis=0) / expected.sum()
    if truths.max() < _MOSTLY:
        return ()
    common = options[int(truths.argmax())].as_py()
    remarks = []
    for row in rare_table(options, expected).to_pylist():
        text = (
            f"{row['label']!r} holds for about {row['share']:.1%} of tasks; of {row['given']} that "
            f"are given it about {row['precision']:.0%} are right, and about "
            f"{row['recall']:.0%} of its tasks are among them, if the model of workers holds "
            f"(known truths, gold, tell more). Accuracy says little here: {common!r} everywhere "
            f"would be right for {truths.max():.1%}"
        )
        remarks.append(Remark("LOW_RATE", text))
    return tuple(remarks)


def rare_remarks(options: pa.Array, discount: tuple[float, ...], t: float) -> tuple[Remark, ...]:
    """Return the remark ``RARE_LABEL`` on each label with mostly wrong votes."""
    held_out = "" if np.isnan(t) else f" (held-out claims: t = {t:.1f})"
    return tuple(
        Remark(
            "RARE_LABEL",
            f"{options[place].as_py()!r} is rare: of its votes about {factor * _RARE:.0%} are "
            f"right, so plain votes mislead; rates were learnt{held_out}",
        )
        for place, factor in enumerate(discount)
        if factor < 1
    )
