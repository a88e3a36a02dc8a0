"""The default method for numbers: the methods that predict held-out claims best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims
from masquerade.errors import NotFitted
from masquerade.exact.arrays import Flags, Floats
from masquerade.mechanisms import LatticeMechanism
from masquerade.truth.diagnostics import PRIOR_ONLY, Remark
from masquerade.truth.estimator import NOT_FITTED
from masquerade.truth.numeric.catd import CATD
from masquerade.truth.numeric.channel_em import ChannelEM
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    ValueIntervals,
    median_of,
    no_round,
)
from masquerade.truth.numeric.location import Median, SortedValues
from masquerade.truth.numeric.reliability import GaussianTruth, HeavyTail, Reliability
from masquerade.truth.report_mechanisms import Masks, ReportMechanisms
from masquerade.truth.ties import digest, scattered, uniform_by_claim

_HELD_OUT = 0.2  # share of the claims of a split
_SPLITS, _MASKED_SPLITS, _HALVINGS = 5, 3, 3
_ENOUGH, _FEW = 4, 40  # claims on a task to be halved; claims in all, below which two will do
_TOP = 3  # best methods, of which the median is taken
_FARTHEST = 3.0  # task scales; an error farther out counts as this
_CLEARLY = 2.0  # standard errors by which a method has to beat `ChannelEM`
_STRENGTH = 4.0  # claims of a typical task that are added to a task's scale
_DEVIATION = 1.4826  # standard deviation of a normal distribution, in median absolute deviations
#: `CATD` for small crowds.
_FLOORED: dict[str, Any] = {"floor": 1e-6, "max_iterations": 10}
_LEAST = 1e-9  # of a mean error, before its logarithm is taken


@dataclass(eq=False, kw_only=True)
class NumericAuto(NumericEstimator):
    """Choose by held-out claims, never by truths, and take the median of the three best.

    Of `Median`, `GaussianTruth`, `HeavyTail`, `CATD`, `CATD` with a floor and ten rounds, and
    `Reliability` the three are taken that predict held-out claims best and differ least between
    halves of the workers; a task's value is the median of their values. So no method that fails on
    a crowd decides alone.

    Masked numbers go to `ChannelEM`, unless `HeavyTail`, on the reports as they are, predicts
    held-out reports clearly better; categories that stand for numbers to `ChannelEM`; what a
    mechanism without a channel for single answers rebuilds to `Median`.

    Parameters
    ----------
    levels : tuple of float, optional
        See `ChannelEM`.
    confidence : float
        See `NumericEstimator`.

    Notes
    -----
    A method's score is ``4 ln H + ln S``, the smallest is best. H is the mean distance of held-out
    claims from its values, in scales of their tasks and at most 3, over five splits that hold out a
    fifth; S that of its values from two random halves of the workers, over three halvings. A task's
    scale is its median absolute deviation, drawn to the typical one as by four claims. Splits
    follow from the names of tasks and workers. The exponent and the number of methods were chosen
    on ten real sets: expect an error 3 to 5 % above the best single method's on a set.

    Workers, errors and intervals are those of the best method, and of the next one where it has
    none; an interval is widened to hold the value.

    **Cost**: nine fits of each method.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> fit = NumericAuto().fit(table)
    >>> fit.values_.round(1).tolist(), sorted(fit.selection_.column_names)
    ([1.1, 2.2], ['candidate', 'chosen', 'score', 't'])
    """

    name: ClassVar[str] = "numeric-auto"
    ordinal: ClassVar[bool] = True

    levels: tuple[float, ...] | None = None

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        by_levels = ChannelEM(confidence=self.confidence, levels=self.levels)
        one = None if mechanism is None else mechanism.single
        if claims.kind == "categorical" or (mechanism is not None and one is None):
            choice = NumericChoice.only(by_levels)
        elif one is not None and (numbers := one.as_numbers) is not None:
            others = (by_levels, HeavyTail(confidence=self.confidence))
            choice = NumericChoice.of_masked(others, claims, numbers)
        elif one is not None:
            choice = NumericChoice.only(Median(confidence=self.confidence))
        else:
            methods = (
                Median(confidence=self.confidence),
                GaussianTruth(confidence=self.confidence),
                HeavyTail(confidence=self.confidence),
                CATD(confidence=self.confidence, **_FLOORED),
                CATD(confidence=self.confidence),
                Reliability(confidence=self.confidence),
            )
            choice = NumericChoice.of_clear(methods, claims.answered())
        best = [choice.methods[place] for place in choice.best]
        return choice.joined([method.solve(claims, mechanism, after_round) for method in best])

    @property
    def chosen_(self) -> NumericEstimator:
        """The best method, fitted."""
        choice, solution = self._made()
        return choice.chosen.with_solution(self.claims_, solution)

    @property
    def selection_(self) -> pa.Table:
        """``candidate``, ``score``, ``t``, ``chosen``: why the methods were chosen.

        Without a mask the score is ``4 ln H + ln S`` (see Notes). Behind one it is the root mean
        square distance of held-out reports from the reports expected of the values, and ``t`` by
        how many standard errors of the mean square it is below that of `ChannelEM`. Null where
        nothing was compared.
        """
        self._made()
        return self.solution_.selection

    def _made(self) -> tuple[NumericChoice, NumericSolution]:
        if self._solution is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        made: tuple[NumericChoice, NumericSolution] = self._solution.basis
        return made


@dataclass(frozen=True, slots=True, eq=False)
class NumericChoice:
    """A choice among methods, with its evidence; arrays have an entry a method."""

    methods: tuple[NumericEstimator, ...]
    score: Floats  # smaller is better; NaN where not compared
    t: Floats  # NaN where not tested
    best: tuple[int, ...]  # places of the methods whose median is taken, best first

    @property
    def chosen(self) -> NumericEstimator:
        """The best method."""
        return self.methods[self.best[0]]

    @classmethod
    def only(cls, method: NumericEstimator) -> NumericChoice:
        """Return the choice of a method without any other."""
        nothing = np.full(1, np.nan)
        return cls((method,), nothing, nothing, (0,))

    @classmethod
    def of_clear(cls, methods: tuple[NumericEstimator, ...], claims: Claims) -> NumericChoice:
        """Choose by claims that are answers; the last method where nothing can be held out."""
        scale = task_scales(claims)
        far = [_errors_held_out(method, claims, scale) for method in methods]
        apart = [_differences_of_halves(method, claims, scale) for method in methods]
        nothing = np.full(len(methods), np.nan)
        if any(np.isnan(figure) for figure in (*far, *apart)):
            return cls(methods, nothing, nothing, (len(methods) - 1,))
        # score[method]: claims that were held out count four times as much as agreement of halves.
        score = 4 * np.log(np.array(far) + _LEAST) + np.log(np.array(apart) + _LEAST)
        # Rounded, so that the order of summation cannot decide.
        order = np.argsort(np.round(score, 9), kind="stable")
        return cls(methods, score, nothing, tuple(order[:_TOP].tolist()))

    @classmethod
    def of_masked(
        cls, methods: tuple[NumericEstimator, ...], claims: Claims, mechanism: LatticeMechanism
    ) -> NumericChoice:
        """Choose by held-out reports: the first method, unless the second is clearly better."""
        whole = methods[0].solve(claims, ReportMechanisms((mechanism,)))
        if any(remark.code == PRIOR_ONLY for remark in whole.remarks):
            return cls.only(methods[0])  # there is nothing to predict reports from
        splits = range(_MASKED_SPLITS)
        square = np.concatenate(
            [_squares(methods, claims, mechanism, split) for split in splits], axis=1
        )
        gain, size = square[0] - square[1], square.shape[1]
        nothing = np.full(len(methods), np.nan)
        if size < 2:
            return cls(methods, nothing, nothing, (0,))
        error = np.sqrt(gain.var(ddof=1) / size)
        t = float(gain.mean() / error) if error > 0 else 0.0
        return cls(
            methods, np.sqrt(square.mean(axis=1)), np.array([np.nan, t]), (int(t > _CLEARLY),)
        )

    def table(self) -> pa.Table:
        """Return the choice as a table; see `NumericAuto.selection_`."""
        return pa.table(
            {
                "candidate": [label(method) for method in self.methods],
                "score": pa.array(self.score, from_pandas=True),
                "t": pa.array(self.t, from_pandas=True),
                "chosen": [place in self.best for place in range(len(self.methods))],
            }
        )

    def joined(self, fits: Sequence[NumericSolution]) -> NumericSolution:
        """Return the solution of the best fit, with the median of all as values."""
        solution = replace(fits[0], selection=self.table(), basis=(self, fits[0]))
        if len(self.methods) == 1:
            return solution
        value = np.median([fit.intervals.value for fit in fits], axis=0)
        error, low, high = (
            # Where the best method has no interval, the next best one's is taken.
            reduce(lambda one, other: np.where(np.isnan(one), other, one), figures)
            for figures in zip(*map(_figures, fits), strict=True)
        )
        return replace(
            solution,
            intervals=ValueIntervals(value, error, np.minimum(low, value), np.maximum(high, value)),
            converged=all(fit.converged for fit in fits),
            iterations=max(fit.iterations for fit in fits),
            remarks=(*solution.remarks, *self._remark()),
        )

    def _remark(self) -> tuple[Remark, ...]:
        if np.isnan(self.score).all():
            return ()
        names = ", ".join(f"{label(self.methods[i])} ({self.score[i]:.3g})" for i in self.best)
        return (Remark("CHOSEN", f"by error on held-out claims: {names}"),)


def label(method: NumericEstimator) -> str:
    """Return the name of a candidate in tables."""
    floored = isinstance(method, CATD) and method.floor == _FLOORED["floor"]
    return f"{method.name}, floored" if floored else method.name


def _figures(solution: NumericSolution) -> tuple[Floats, Floats, Floats]:
    own = solution.intervals
    return own.standard_error, own.low, own.high


def task_scales(claims: Claims) -> Floats:
    """Return how far the claims on each task typically spread, shape (n_tasks,); above 0."""
    count = np.bincount(claims.task, minlength=claims.n_tasks)
    values = SortedValues.of(claims)
    middle = values.spread_out(values.median())
    away = SortedValues.of(claims.with_values(np.abs(claims.value - middle[claims.task])))
    deviation = _DEVIATION * away.spread_out(away.median())
    known = (count > 1) & (deviation > 0)
    log = np.log(deviation[known])
    typical = median_of(log)
    if np.isnan(typical):
        return np.ones(claims.n_tasks)
    scale = np.full(claims.n_tasks, np.exp(typical))
    # A weighted mean of logarithms: a task of few claims is taken for a typical one.
    weight = count[known] / (count[known] + _STRENGTH)
    scale[known] = np.exp(typical + weight * (log - typical))
    return scale


def _errors_held_out(method: NumericEstimator, claims: Claims, scale: Floats) -> float:
    """Return the mean distance of all held-out claims from a method's values, in scales, cut off.

    NaN where nothing can be held out.
    """
    far = []
    for split in range(_SPLITS):
        rows = held_out_sparing(claims, split, share=_HELD_OUT)
        if rows.any():
            unseen, solution = claims.among(rows), method.solve(claims.among(~rows), None)
            off = np.abs(unseen.value - solution.intervals.value[unseen.task])
            far.append(np.minimum(off / scale[unseen.task], _FARTHEST))
    return float(np.concatenate(far).mean()) if far else np.nan


def _differences_of_halves(method: NumericEstimator, claims: Claims, scale: Floats) -> float:
    """Return the mean distance of a task's values from two halves of the workers, in scales."""
    count = np.bincount(claims.task, minlength=claims.n_tasks)
    least = _ENOUGH if count[count >= _ENOUGH].sum() >= _FEW else 2
    apart = [np.zeros(0)]
    for halving in range(_HALVINGS):
        halves = halves_by_worker(claims, halving, least=least)
        if all(half.any() for half in halves):
            one, other = (method.solve(claims.among(half), None) for half in halves)
            off = np.abs(one.intervals.value - other.intervals.value) / scale
            # Tasks that only one half answered have no difference.
            apart.append(np.minimum(off[~np.isnan(off)], _FARTHEST))
    total = np.concatenate(apart)
    return float(total.mean()) if len(total) else np.nan


def _squares(
    methods: tuple[NumericEstimator, ...], claims: Claims, mechanism: LatticeMechanism, split: int
) -> Floats:
    """Return the squared distances of held-out reports from those expected, by method."""
    reports = claims.answered()
    rows = held_out_sparing(reports, split, share=_HELD_OUT)
    unseen, names = reports.among(rows), np.zeros(len(claims), dtype=bool)
    if not len(unseen):
        return np.zeros((len(methods), 0))
    # "No answer" stays among the reports that are learnt from.
    names[np.flatnonzero(~claims.unanswered())[rows]] = True
    kept = claims.among(~names)
    fits = [method.solve(kept, ReportMechanisms((mechanism,))) for method in methods]
    values = [solution.intervals.value[unseen.task] for solution in fits]
    expected = [_expected_report(value, mechanism) for value in values]
    off = unseen.value - np.stack(expected)
    return np.asarray(off[:, ~np.isnan(off).any(axis=0)] ** 2)


def _expected_report(value: Floats, mechanism: LatticeMechanism) -> Floats:
    """Return E[report | answer] of each value; reports with added noise are right on average."""
    levels = mechanism.level_values
    if levels is None:
        return value
    chance = mechanism.probability(levels[:, None], levels[None, :])
    mean = chance @ levels / chance.sum(axis=1)  # given that a level is reported
    return np.asarray(np.interp(value, levels, mean))


def held_out_sparing(claims: Claims, seed: int, *, share: float) -> Flags:
    """Return which claims to hold out, where two of each task stay (one where it has two)."""
    chance = uniform_by_claim(claims, seed)
    of_task = np.bincount(claims.task, minlength=claims.n_tasks)
    most = np.where(of_task == 2, 1, np.maximum(of_task - 2, 0))
    order = np.lexsort((claims.value, chance, claims.task))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(of_task) - of_task, of_task)
    return np.asarray((chance < share) & (rank < most[claims.task]))


def halves_by_worker(claims: Claims, seed: int, *, least: int) -> tuple[Flags, Flags]:
    """Return which claims are of a random half of the workers, and which of the other.

    Claims on tasks of fewer than `least` claims are in neither.
    """
    enough = np.bincount(claims.task, minlength=claims.n_tasks)[claims.task] >= least
    words = scattered(digest(claims.workers) + np.uint64(seed))
    first = (words >= np.uint64(1 << 63))[claims.worker]
    return enough & first, enough & ~first
