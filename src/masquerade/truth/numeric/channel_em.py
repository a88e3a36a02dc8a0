"""Truth by levels, seen through the mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame
from masquerade.errors import InputError, NotFitted, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Presence
from masquerade.truth.diagnostics import Remark, prior_only
from masquerade.truth.estimator import check_iteration
from masquerade.truth.numeric.channel_model import (
    CrowdModel,
    FittedCrowdModel,
    PooledEstimate,
    TruthGrid,
)
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    ValueIntervals,
    no_round,
)
from masquerade.truth.numeric.reports_table import ReportTable
from masquerade.truth.report_mechanisms import Masks

Estimate = Literal["auto", "median", "mean", "answer"]

_LITTLE = 0.01  # nats a task, on average
_COARSE, _FINE = 41, 21  # truths of the grids, see `_grids`


@dataclass(eq=False, kw_only=True)
class ChannelEM(NumericEstimator):
    """Infer truths by levels; the mechanism is part of the model.

    For randomized response on numeric options, quantised response and discrete noise, with or
    without "no answer"; and, without a mechanism, for answers of at most 41 different values. The
    server learns how often each worker answers at all, how precise the worker is, how truths are
    distributed, and with these each task's posterior.

    Parameters
    ----------
    estimate : {"auto", "median", "mean", "answer"}
        The posterior's median (least absolute error where truths are levels), its mean, or the mean
        answer to the truth, which suits truths between levels. ``"auto"`` is the median where
        levels are all the answers there are, else the mean answer.
    gate : float
        With a log likelihood ratio below this (of tasks that differ against tasks all alike), the
        claims are taken to carry nothing: every task gets the pooled median, the remark
        ``PRIOR_ONLY`` says so. At small epsilon the fit would otherwise follow noise. Where the
        best of three grids is taken, three times this is asked for; without a mask, nothing is.
    presence : {"hidden", "assigned"}, optional
        ``"hidden"`` checks that every worker reports on every task. Inference is the same: it takes
        the cells that were reported on.
    levels : tuple of float, optional
        What each option stands for, in the order of the claims' options, where options are not
        numbers.
    tolerance : float
        Iteration ends when posteriors change by less on average.
    max_iterations, confidence
        As of `CATD`.

    Raises
    ------
    InputError
        From `fit`: with ``presence="hidden"``, a worker reports on more or fewer than all tasks.

    Notes
    -----
    The model is that of the module ``channel_model``. Beyond Sun et al. (2018), whose decoder
    averages reports as if they were answers, it knows the channel and the answering rates; on
    masked sparse claims it makes half the error or less.

    Truths lie on the levels where these are all the answers; else on a grid, of which three,
    from coarse to fine, are tried and the one with most evidence is kept. Answering rates and
    precision are assumed not to depend on the task, and answers to be independent given the truth.

    Noise on more than 41 possible answers hides which of them are stand-ins for "no answer"; they
    are then taken as answers, and values are drawn to them.

    The interval holds the levels whose middle is between the tails of the posterior (mid-p), so
    that coverage is near the confidence asked for on average over tasks, and above it for tasks
    whose posterior is sure; between levels it is interpolated. Mean field makes posteriors a little
    too sure.

    **Cost**: each round linear in reports, times truths; memory linear in reports.

    Examples
    --------
    >>> from masquerade.mechanisms import QuantisedResponse
    >>> mechanism = QuantisedResponse(1, 3, epsilon=9, levels=3)
    >>> table = {"task": list("aaaabbbbcccc"), "worker": list("wxyz") * 3,
    ...          "value": [1, 1, 1, 2, 3, 3, 3, 3, 2, 2, 1, 2]}
    >>> fit = ChannelEM().fit(table, mechanism=mechanism)
    >>> fit.values_.tolist(), fit.constant_
    ([1.0, 3.0, 2.0], 2.0)
    """

    name: ClassVar[str] = "channel-em"
    ordinal: ClassVar[bool] = True

    estimate: Estimate = "auto"
    gate: float = 3.0
    presence: Presence | None = None
    levels: tuple[float, ...] | None = None
    tolerance: float = 1e-4
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        if self.estimate not in get_args(Estimate):
            raise ParameterError(
                f"estimate is {self.estimate!r}, expected one of "
                f"{', '.join(map(repr, get_args(Estimate)))}."
            )
        if np.isnan(self.gate):
            raise ParameterError("gate is NaN, expected a number; -inf never closes.")
        if self.presence not in (None, "hidden", "assigned"):
            raise ParameterError(f"presence is {self.presence!r}, expected 'hidden' or 'assigned'.")

    def _as_claims(self, data: Claims | Frame, mechanism: Masks) -> Claims:
        claims = super()._as_claims(data, mechanism)
        if self.presence == "hidden":
            _require_all_cells(claims)
        return claims

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        table = ReportTable.of(claims, mechanism, self.levels)
        pool = PooledEstimate.of(table)
        spoken = np.bincount(table.worker[table.spoken], minlength=table.n_workers)
        models = [
            CrowdModel(table, pool, grid).fit(self.tolerance, self.max_iterations, after_round)
            for grid in _grids(table, pool)
        ]
        model = max(models, key=lambda one: one.evidence)
        # The best of several grids has more evidence by chance alone.
        gate = -np.inf if mechanism is None else self.gate * len(models)
        decoding = Decoding(table, model, closed=bool(model.evidence < gate))
        workers = {
            "answering_rate": np.where(spoken > 0, model.answering_rate(), 0.0),
            "standard_deviation": np.where(spoken > 0, decoding.deviation(), np.nan),
        }
        learnt = float(model.information().mean()) if table.n_tasks else None
        return NumericSolution(
            self._values(decoding),
            workers,
            model.state.converged,
            model.state.rounds,
            decoding.remarks(gate, learnt),
            constant=decoding.constant,
            basis=decoding,
        )

    def _values(self, decoding: Decoding) -> ValueIntervals:
        kind = self.estimate
        if kind == "auto":
            kind = "median" if decoding.table.every_answer else "answer"
        posterior, grid = decoding.posterior, decoding.truths
        if decoding.closed:
            value = np.full(len(posterior), decoding.constant)
        elif kind == "median":
            # The tolerance keeps a sum that is 0.5 but for rounding on its level.
            value = grid[(np.cumsum(posterior, axis=1) >= 0.5 - 1e-12).argmax(axis=1)]
        else:
            value = posterior @ (grid if kind == "mean" else decoding.mean_answer())
        # the standard deviation of the truth around the value given
        error = np.sqrt(np.maximum((posterior * (grid - value[:, None]) ** 2).sum(axis=1), 0))
        # A mean answer may lie beyond the quantiles of the truth; the interval holds it anyway.
        low, high = decoding.interval(self.confidence)
        intervals = ValueIntervals(value, error, np.minimum(low, value), np.maximum(high, value))
        # Without a report, a task has no value rather than the prior's.
        silent = np.bincount(decoding.table.task, minlength=decoding.table.n_tasks) == 0
        for figure in (intervals.value, intervals.standard_error, intervals.low, intervals.high):
            figure[silent] = np.nan
        return intervals

    @property
    def _decoded(self) -> Decoding:
        if self._solution is None:
            raise NotFitted("ChannelEM has learnt nothing yet; call fit(claims) first.")
        decoding: Decoding = self._solution.basis
        return decoding

    @property
    def information_(self) -> Floats:
        """Nats by which each task's posterior differs from the prior; 0 where the gate closed."""
        decoding = self._decoded
        return np.zeros(decoding.table.n_tasks) if decoding.closed else decoding.model.information()

    @property
    def evidence_(self) -> float:
        """Log likelihood ratio of tasks that differ against tasks all alike, of the gate."""
        return self._decoded.model.evidence

    @property
    def posteriors_(self) -> pa.Table:
        """``task``, then one column for each truth of the grid; rows sum to 1."""
        decoding = self._decoded
        names = ["task", *(f"{truth:g}" for truth in decoding.truths)]
        columns = [self.claims_.tasks, *map(pa.array, decoding.posterior.T)]
        return pa.Table.from_arrays(columns, names=names)


@dataclass(frozen=True, slots=True, eq=False)
class Decoding:
    """Results of a fitted model; those of the pooled answers where the gate is `closed`."""

    table: ReportTable
    model: FittedCrowdModel
    closed: bool

    @property
    def truths(self) -> Floats:
        """Return the grid of truths."""
        return self.table.levels if self.closed else self.model.grid.truths

    @property
    def posterior(self) -> Floats:
        """Return each task's posterior; the pooled answers where the gate closed."""
        if self.closed:
            return np.tile(self.model.pool.answers, (self.table.n_tasks, 1))
        return self.model.state.posterior

    @property
    def constant(self) -> float:
        """Return the pooled median; between levels by interpolation."""
        levels, cumulative = self.table.levels, np.cumsum(self.model.pool.answers)
        if self.table.every_answer:
            return float(levels[(cumulative >= 0.5 - 1e-12).argmax()])
        return float(_quantile(levels, self.model.pool.answers[None, :], 0.5)[0])

    def mean_answer(self) -> Floats:
        """Return the mean answer to each truth of the grid, careless workers included."""
        # kinds[rate * n_classes + class], summed over rates
        classes = self.model.state.kinds.reshape(len(self.model.pool.rates), -1).sum(axis=0)
        mean = np.einsum("c,cgx,x->g", classes, self.model.state.answering, self.table.levels)
        return np.asarray(mean)

    def deviation(self) -> Floats:
        """Return each worker's expected standard deviation of answers around the truth."""
        # apart[truth, level]
        apart = (self.table.levels - self.model.grid.truths[:, None]) ** 2
        by_class = np.einsum(
            "g,cgx,gx->c", self.model.state.prior, self.model.state.answering, apart
        )
        return np.asarray(self.model.class_share() @ np.sqrt(by_class))

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Return the ends of each task's central interval."""
        tail, posterior = (1 - confidence) / 2, self.posterior
        if not self.table.every_answer:
            low, high = (_quantile(self.truths, posterior, end) for end in (tail, 1 - tail))
            return low, high
        # mid-p: P(below) + P(here) / 2
        middle = np.cumsum(posterior, axis=1) - posterior / 2
        low = self.truths[(middle >= tail - 1e-12).argmax(axis=1)]
        # The count of true entries reaches its maximum at the last of them, and argmax takes it.
        last = (middle <= 1 - tail + 1e-12).cumsum(axis=1).argmax(axis=1)
        return low, self.truths[last]

    def remarks(self, gate: float, learnt: float | None) -> tuple[Remark, ...]:
        """Return ``PRIOR_ONLY`` where the claims tell next to nothing.

        `learnt` is the mean of what was learnt of tasks, in nats, where there are any.
        """
        evidence = f"log likelihood ratio {self.model.evidence:.2f}"
        if self.closed:
            reason = f"no better than chance ({evidence}, expected {gate:g} or more)"
            one = "all tasks have one estimate, that of all answers together"
            return (prior_only(one, f"the claims tell tasks apart {reason}"),)
        if learnt is not None and learnt < _LITTLE:
            mean = f"{learnt:.4f} nats a task"
            near = "all tasks have nearly the estimate of all answers together"
            return (prior_only(near, f"{mean} were learnt, less than {_LITTLE}"),)
        return ()


def _grids(table: ReportTable, pool: PooledEstimate) -> list[TruthGrid]:
    """Return the grids of truths to try."""
    size = len(table.levels)
    # Few levels, and all the answers there are: truths are among them.
    if table.every_answer and size <= _FINE:
        return [TruthGrid.of(table, pool, truths=size, pull=20.0)]
    if size >= _FINE:
        return [TruthGrid.of(table, pool, truths=_COARSE, pull=200.0)]
    return [
        TruthGrid.of(table, pool, truths=size, pull=20.0),
        TruthGrid.of(table, pool, truths=2 * size - 1, pull=50.0),  # halfway points, too
        TruthGrid.of(table, pool, truths=max(4 * size + 1, _FINE), pull=200.0),
    ]


def _quantile(truths: Floats, posterior: Floats, share: float) -> Floats:
    """Return a quantile of each row, each truth's mass spread evenly over its cell."""
    # A truth's cell reaches halfway to its neighbours.
    edges = np.concatenate([truths[:1], (truths[1:] + truths[:-1]) / 2, truths[-1:]])
    cumulative = np.cumsum(posterior, axis=1)
    cell = (cumulative >= share - 1e-12).argmax(axis=1)
    rows = np.arange(len(posterior))
    inside = posterior[rows, cell]
    part = (share - (cumulative[rows, cell] - inside)) / np.maximum(inside, 1e-300)
    quantile: Floats = edges[cell] + np.clip(part, 0, 1) * (edges[cell + 1] - edges[cell])
    return quantile


def _require_all_cells(claims: Claims) -> None:
    reports = np.bincount(claims.worker, minlength=claims.n_workers)
    wrong = np.flatnonzero(reports != claims.n_tasks)
    if wrong.size:
        worker = int(wrong[0])
        raise InputError(
            f"worker {claims.workers[worker].as_py()!r} reports on {reports[worker]} of "
            f"{claims.n_tasks} tasks; with presence='hidden' every worker reports on every task. "
            "Use presence='assigned', or collect the missing reports."
        )
