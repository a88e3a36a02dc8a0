"""Shares of the answers of people at different privacy levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.estimate import Estimate, share_table, shown_shares
from masquerade.estimation.shares import estimate_shares
from masquerade.exact.arrays import Floats, on_simplex
from masquerade.mechanisms import CategoricalMechanism
from masquerade.surveys.survey import EB, ESTIMATORS
from masquerade.truth.channel_view import SymbolChannel
from masquerade.truth.estimator import check_proper_share
from masquerade.truth.level_means import LevelMean, people_variance
from masquerade.truth.level_weights import (
    LEVEL_SPREAD,
    Combination,
    Heterogeneity,
    LevelValues,
    combine,
    pool_counts,
)
from masquerade.truth.shares import likeliest_shares

Groups = Mapping[str, tuple[Sequence[int], CategoricalMechanism]]

BOOTSTRAP_DRAWS = 4000
#: Fixed, so that the same reports give the same result everywhere.
BOOTSTRAP_SEED = 20141


@dataclass(frozen=True, eq=False)
class LevelShares(Result):
    """Estimated shares of the answers to one question, over all levels.

    Attributes
    ----------
    names : tuple of str
        Of the levels.
    counts : float array, shape (n_levels, n_symbols)
        How many people sent each report.
    heterogeneity : Heterogeneity
        Whether levels differ, in all shares together.
    combinations : dict of str to Combination
        By estimator.
    wider : Combination
        ``eb``, allowing for twice the differences between levels.
    """

    drawing: ClassVar[str] = "shares"

    names: tuple[str, ...]
    counts: Floats
    confidence: float
    heterogeneity: Heterogeneity
    combinations: dict[str, Combination]
    wider: Combination
    _groups: tuple[tuple[Sequence[int], CategoricalMechanism], ...]
    _levels: LevelValues
    _held: Floats

    def to_arrow(self) -> pa.Table:
        """Return a row for each option: its code, its share over all levels, its reported share."""
        return share_table(self.estimates(), self.reported)

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    @property
    def reported(self) -> Floats:
        """Raw share of each report, to publish only in ignorance of the masks."""
        share: Floats = self.counts.sum(axis=0) / self.counts.sum()
        return share

    def estimates(self, estimator: str = EB, *, simultaneous: bool = False) -> tuple[Estimate, ...]:
        """Return the share of people behind each answer, "no answer" last where there is one.

        Parameters
        ----------
        estimator : str
            One of `ESTIMATORS`.
        simultaneous : bool
            Whether all intervals together hold with the confidence (Bonferroni), not each alone.
        """
        return self._intervals(self.combinations[_known(estimator)], simultaneous=simultaneous)

    def sensitivity(self) -> tuple[Estimate, ...]:
        """Return the ``eb`` shares where levels may differ twice as much as was allowed for."""
        return self._intervals(self.wider, simultaneous=False)

    def likeliest(self) -> Floats:
        """Return the maximum-likelihood shares; see `likeliest_shares`."""
        return likeliest_shares(self._groups)

    def top_probability(
        self,
        estimator: str = EB,
        *,
        draws: int = BOOTSTRAP_DRAWS,
        seed: int = BOOTSTRAP_SEED,
    ) -> Floats:
        """Return how often each answer would have the largest share, were the survey repeated.

        A parametric bootstrap: reports are drawn again `draws` times from what was estimated at
        each level, and combined with the same weights; ties count for both.

        Parameters
        ----------
        estimator : str
        draws, seed : int
            The seed is fixed, so that the same reports give the same numbers. A probability is
            within 0.016 of what more draws would give, 19 times of 20.
        """
        used = self.combinations[_known(estimator)]
        rng = np.random.default_rng(seed)
        # total[draw, symbol]
        total = np.zeros((draws, self.counts.shape[1]))
        for place, (_, mechanism) in enumerate(self._groups):
            n = int(self.counts[place].sum())
            if n == 0:
                continue
            channel = SymbolChannel.of(mechanism)
            expected = channel.reported(on_simplex(used.level_values[place]))
            # The inverse channel of sampled reports, as the estimate itself is made.
            sample = rng.multinomial(n, expected / expected.sum(), draws)
            total += used.weights[place] * (sample / n - channel.other) / channel.signal
        # What is not known of levels; centred, for shares sum to 1.
        shift = rng.standard_normal(total.shape) * np.sqrt(used.level)
        total += shift - shift.mean(axis=1, keepdims=True)
        # Shares of a draw that are equal but for rounding win together.
        best = total >= total.max(axis=1, keepdims=True) - 1e-12
        chance: Floats = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        return chance

    def mean(self, scores: Sequence[float]) -> LevelMean:
        """Return the mean of `scores` over the people, one score for each option.

        Who chose "no answer" is left out, by a ratio whose error is by the delta method.

        Raises
        ------
        ParameterError
            The scores do not fit the options.
        """
        score = self._scores(scores)
        low, high = float(min(scores)), float(max(scores))
        values = self.score_values(scores)
        if values is None:
            return LevelMean.unknown(self.names, low, high, self.confidence)
        n, levels = self._levels.n, self._levels
        value, spread, masks = np.zeros(len(n)), np.zeros(len(n)), np.zeros(len(n))
        base, deviation = self._deviation(score)
        for place, (_, mechanism) in enumerate(self._groups):
            channel = SymbolChannel.of(mechanism)
            masks[place] = channel.mask_variance(deviation, self._held)
            if n[place] > 0:
                count = self.counts[place]
                value[place] = float(count @ values[place]) / n[place]
                away = values[place] - value[place]
                spread[place] = float(count @ away**2) / max(n[place] - 1, 1)
        # In the mean of those who answered, a person is at most this far from another.
        differ = people_variance(n, spread, masks, width=(high - low) / base)
        return LevelMean.of(
            self.names,
            LevelValues(
                n,
                value[:, None],
                _remaining(differ, n, levels.pool)[:, None],
                (masks / np.maximum(n, 1))[:, None],
                levels.pool,
            ),
            spread,
            low=low,
            high=high,
            confidence=self.confidence,
        )

    def score_values(self, scores: Sequence[float]) -> Floats | None:
        """Return each report's addend to the mean of `scores`, ``value[level, report]``.

        The mean of these values over the people of a level is the level's mean: exactly where
        everybody answered, else linearised around the mean of all who did. None where nobody seems
        to have answered.
        """
        score = self._scores(scores)
        base, deviation = self._deviation(score)
        if base <= 0:
            return None
        centre = self._centre(score)
        channels = (SymbolChannel.of(mechanism) for _, mechanism in self._groups)
        return np.stack([centre + channel.values(deviation) for channel in channels])

    def _scores(self, scores: Sequence[float]) -> Floats:
        """Return the scores in a first row, and which reports are answers in a second."""
        options = self._groups[0][1].options
        if len(scores) != options:
            raise ParameterError(f"{len(scores)} scores for {options} options; give one an option.")
        both = np.zeros((2, self.counts.shape[1]))
        both[0, :options], both[1, :options] = scores, 1.0
        return both

    def _centre(self, score: Floats) -> float:
        total, base = score @ (self._levels.weights @ self._levels.value)
        return float(total / base)

    def _deviation(self, score: Floats) -> tuple[float, Floats]:
        base = float(score[1] @ (self._levels.weights @ self._levels.value))
        if base <= 0:
            return 0.0, score[0]
        # delta method: d(total / base) = (d total - centre d base) / base
        return base, (score[0] - self._centre(score) * score[1]) / base

    def _intervals(self, used: Combination, *, simultaneous: bool) -> tuple[Estimate, ...]:
        symbols = self.counts.shape[1]
        miss = (1 - self.confidence) / (symbols if simultaneous else 1)
        # One level: Wilson's interval, which keeps its coverage near shares of 0 and 1.
        if len(self.names) == 1 and self._levels.pool is None:
            return estimate_shares(*self._groups[0], confidence=1 - miss).estimates
        # Two-sided; for all options at once each may miss its share of the whole.
        quantile = float(ndtri(1 - miss / 2))
        return shown_shares(
            [used.estimate(place, quantile=quantile, low=0.0, high=1.0) for place in range(symbols)]
        )


def level_shares(
    groups: Groups, *, pool: Mapping[str, int] | None = None, confidence: float = 0.95
) -> LevelShares:
    """Estimate the share of all people behind each answer, from counts at several levels.

    Parameters
    ----------
    groups : mapping of str to (counts, CategoricalMechanism)
        For each level how many people sent each report ("no answer" last), and the mask; all of
        one question.
    pool : mapping of str to int, optional
        How many people are at each level of the pool that was asked, where that is known. Levels
        then count as in the pool, and who answered is a part of a finite whole.
    confidence : float
        Of each interval, between 0 and 1.

    Raises
    ------
    EmptyTable
        No reports.
    ParameterError
        Counts do not fit their mechanism, mechanisms are of different questions, or one says
        nothing about the answers.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> strong = RandomizedResponse(2, flip_probability=0.4)
    >>> weak = RandomizedResponse(2, flip_probability=0.1)
    >>> shares = level_shares({"high": ([56, 44], strong), "low": ([74, 26], weak)})
    >>> [round(shares.estimates(e)[0].value, 3) for e in ("respondent", "ivw", "eb")]
    [0.8, 0.8, 0.8]
    """
    check_proper_share(confidence=confidence)
    names = tuple(groups)
    pooled = pool_counts(names, pool)
    used = tuple(groups.values())
    if not any(sum(counts) for counts, _ in used):
        raise EmptyTable("there are no reports; shares need at least one.")
    if len({(mechanism.options, mechanism.symbols) for _, mechanism in used}) > 1:
        raise ParameterError("the mechanisms mask different questions; combine those of one.")
    for counts, mechanism in used:
        if len(counts) != mechanism.symbols or any(count < 0 for count in counts):
            raise ParameterError(
                f"counts are {list(counts)}, expected {mechanism.symbols} whole numbers of at "
                "least 0."
            )
    if pooled is None:  # a level that nobody chose is none of the respondents'
        keep = [place for place, (counts, _) in enumerate(used) if sum(counts)]
        names, used = tuple(names[i] for i in keep), tuple(used[i] for i in keep)
    count = np.array([counts for counts, _ in used], dtype=np.float64)
    # count[level, symbol], value[level, symbol]: shares behind the masks, unbiased
    channels = [SymbolChannel.of(mechanism) for _, mechanism in used]
    n = count.sum(axis=1)
    value = np.zeros_like(count)
    for place, channel in enumerate(channels):
        if n[place]:
            value[place] = channel.shares(count[place])
    # Variances to begin with: the respondents' shares, from which the real ones follow, need none.
    levels = LevelValues(n, value, np.ones_like(value), np.zeros_like(value), pooled)
    # Drawn towards a half, so that a share of nobody has an interval too (Agresti and Coull).
    quantile = float(ndtri(0.5 + confidence / 2))
    everybody = float(n.sum())
    share = combine(levels)["respondent"].value
    held = (everybody * np.clip(share, 0, 1) + quantile**2 / 2) / (everybody + quantile**2)
    # one variance for all levels: noisy levels would otherwise weigh by their luck
    people = _remaining(np.tile(held * (1 - held), (len(n), 1)), n[:, None], pooled)
    masks = np.stack([channel.share_variance(held) for channel in channels])
    levels = replace(levels, people=people, masks=masks / np.maximum(n, 1)[:, None])
    return LevelShares(
        names,
        count,
        confidence,
        _differences(count, channels, value, held),
        combine(levels),
        combine(levels, spread=2 * LEVEL_SPREAD)[EB],
        used,
        levels,
        on_simplex(share),
    )


def _remaining(variance: Floats, n: Floats, pool: Floats | None) -> Floats:
    """Return the variance of a mean of n people from a finite pool."""
    mean: Floats = variance / np.maximum(n, 1)
    if pool is None:
        return mean
    size = pool if mean.ndim == 1 else pool[:, None]
    part = np.divide(n, size, out=np.ones_like(size), where=size > 0)
    # finite-population correction: with everybody asked, only the masks are left
    mean *= np.maximum(1 - part, 0.0)
    return mean


def _differences(
    count: Floats, channels: list[SymbolChannel], value: Floats, held: Floats
) -> Heterogeneity:
    """Test whether all levels have the same shares: Cochran's Q for several shares at once.

    The reports of a level are a multinomial sample, so the quadratic form is a sum over symbols.
    The common shares are those that make it least, which sum to 1 and may lie below 0.
    """
    n = count.sum(axis=1)
    there = np.flatnonzero(n > 0)
    if len(there) < 2:
        return Heterogeneity.of(0.0, 0)
    certain = held / held.sum()
    # n signal**2 / P(report): the inverse variance of a multinomial share, unmasked
    weight = np.stack(
        [n[i] * channels[i].signal ** 2 / channels[i].reported(certain) for i in there]
    )
    value = value[there]
    total = weight.sum(axis=0)
    common = (weight * value).sum(axis=0) / total
    # the Lagrange multiplier of shares that sum to 1
    common -= (common.sum() - 1) / total / (1 / total).sum()
    statistic = float((weight * (value - common) ** 2).sum())
    # Shares of a level sum to 1: one degree of freedom fewer than symbols.
    return Heterogeneity.of(statistic, (len(there) - 1) * (count.shape[1] - 1))


def _known(estimator: str) -> str:
    if estimator not in ESTIMATORS:
        raise ParameterError(
            f"estimator is {estimator!r}, expected one of {', '.join(ESTIMATORS)}."
        )
    return estimator
