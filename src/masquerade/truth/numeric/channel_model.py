"""The model of `ChannelEM`: truths, answers, answering rates and masks, learnt together.

A task's truth mu has the distribution pi over a grid. A worker answers a task with the worker's own
rate s, else gives "no answer"; the answer x to truth mu has probability ``H[c, mu, x]``, c the
worker's class (precise to careless, and one that ignores the truth); the mask then turns x, or "no
answer", into the report y with known probability. So

    T[s, c, y, mu] = s sum_x H[c, mu, x] P(y | x) + (1 - s) P(y | no answer)

and everything else follows: posteriors of truths and of the workers' (s, c) by mean field, pi, H
and the shares of classes and rates by expectation-maximisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, ndtr

from masquerade.exact.arrays import Floats, Integers
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.numeric.estimator import AfterRound
from masquerade.truth.numeric.reports_table import ReportTable

_RATES = 16  # of the grid of answering rates
_BLOCK = 1 << 22  # numbers in one block of pairs times grid
_POOLING_ROUNDS = 200  # at most
_TINY = 1e-300  # keeps the logarithm of an impossible report finite
_FLAT = 0.0005  # of each class's answers fall anywhere
_FINE = 401  # answers of a continuous domain, before they are rounded to levels


@dataclass(frozen=True, slots=True, eq=False)
class PooledEstimate:
    """Task-independent estimates: habits of answering on all tasks."""

    answers: Floats  # float array, shape (n_levels,). Distribution of answers behind all reports.
    rates: Floats  # float array, shape (n_rates,). Grid of answering rates.
    rate_prior: Floats  # float array, shape (n_rates,)
    # float array, shape (n_workers, n_rates). Posterior of each worker's rate from how often which
    # symbol was reported.
    rate_of_worker: Floats

    @classmethod
    def of(cls, table: ReportTable) -> PooledEstimate:
        """Estimate by expectation-maximisation; linear in reports."""
        n_levels, n_symbols = table.given.shape
        counts = sparse.coo_array(
            (np.ones(len(table.symbol)), (table.worker, table.symbol)),
            shape=(table.n_workers, n_symbols),
        ).tocsr()
        rates = np.ones(1)
        if table.skipped is not None:
            most = max(float(counts.sum(axis=1).max(initial=1)), 2.0)
            # Even in log odds, from 1 / (2 m + 1) to its complement: m reports cannot tell less.
            end = np.log(2 * most)
            rates = 1 / (1 + np.exp(-np.linspace(-end, end, _RATES)))
        answers = np.full(n_levels, 1 / n_levels)
        prior = np.full(len(rates), 1 / len(rates))
        for _ in range(_POOLING_ROUNDS):
            chance = rates[:, None] * (answers @ table.given) + _TINY
            if table.skipped is not None:
                chance += (1 - rates)[:, None] * table.skipped
            # E-step: posterior of each worker's rate
            of_worker = row_softmax(counts @ np.log(chance).T + np.log(prior))
            # M-step: answers, one pseudo-answer each, and rates
            reported = (counts.T @ of_worker).T  # [rate, symbol]
            update = answers * (table.given @ (rates @ (reported / chance))) + 1
            update /= update.sum()
            # a tenth of a worker at each rate comes before data
            prior = of_worker.sum(axis=0) + 0.1
            prior /= prior.sum()
            change, answers = np.abs(update - answers).max(), update
            if change < 1e-6:
                break
        return cls(answers, rates, prior, of_worker)


@dataclass(frozen=True, slots=True, eq=False)
class TruthGrid:
    """The truths that are considered, and how workers of each class answer them."""

    truths: Floats  # float array, shape (n_truths,)
    # float array, shape (n_classes, n_truths, n_levels). Where learning of H starts, and what it is
    # drawn to.
    answering: Floats
    pull: float  # how many answers that counts

    @classmethod
    def of(cls, table: ReportTable, pool: PooledEstimate, *, truths: int, pull: float) -> TruthGrid:
        """Return a grid of `truths` truths between the outermost levels, or the levels themselves.

        Classes answer normally around the truth, cut at the ends of the domain, with standard
        deviations of 5, 10, 20 and 35 % of its width; the last answers anything.
        """
        levels = table.levels
        exact = truths == len(levels)
        grid = levels if exact else np.linspace(levels[0], levels[-1], truths)
        width = levels[-1] - levels[0] or 1.0
        fine = levels if exact and table.every_answer else np.linspace(levels[0], levels[-1], _FINE)
        rounding = _rounding(fine, levels)
        # The outermost cells take the tails: answers are cut at the ends of the domain.
        edges = np.concatenate([[-np.inf], (fine[1:] + fine[:-1]) / 2, [np.inf]])
        classes = []
        for share in (0.05, 0.1, 0.2, 0.35):
            normal = np.diff(ndtr((edges - grid[:, None]) / (share * width)), axis=1)
            mixed = (normal + _FLAT / len(fine)) @ rounding
            classes.append(mixed / mixed.sum(axis=1, keepdims=True))
        # the class that ignores the truth: answers as the whole crowd's
        classes.append(np.tile(pool.answers, (len(grid), 1)))
        return cls(grid, np.array(classes), pull)


def _rounding(answers: Floats, levels: Floats) -> Floats:
    """Return the share of each answer that goes to each level, the two nearest ones."""
    if len(levels) == 1:
        return np.ones((len(answers), 1))
    place = np.interp(answers, levels, np.arange(len(levels)))
    # linear: 1 at the level itself, 0 from the next one on
    return np.asarray(np.maximum(1 - np.abs(place[:, None] - np.arange(len(levels))), 0))


@dataclass(frozen=True, slots=True, eq=False)
class PairBlock:
    """Some pairs of a worker and a symbol the worker reported, ordered by symbol.

    ``on_task[task, pair]`` counts reports. ``runs`` are (symbol, from, to).
    """

    on_task: sparse.csc_array
    worker: Integers
    runs: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class CrowdState:
    """The state of `CrowdModel` after a round."""

    kinds: Floats  # float array, shape (n_kinds,). Shares of kinds, ``rate * n_classes + class``.
    kind: Floats  # float array, shape (n_workers, n_kinds). Posterior of each worker's kind.
    answering: Floats  # H, of shape (n_classes, n_truths, n_levels)
    prior: Floats  # pi, of shape (n_truths,)
    posterior: Floats  # float array, shape (n_tasks, n_truths)
    rounds: int = 0
    converged: bool = False


class CrowdModel:
    """Expectation-maximization over reports."""

    def __init__(self, table: ReportTable, pool: PooledEstimate, grid: TruthGrid) -> None:
        self.table, self.pool, self.grid = table, pool, grid
        self.blocks = tuple(_blocks(table, len(grid.truths)))

    def fit(self, tolerance: float, most: int, after_round: AfterRound) -> FittedCrowdModel:
        """Iterate to the result."""
        n_classes, n_truths, _ = self.grid.answering.shape
        # A silent report says the same of all truths, so only their number counts.
        silences = np.bincount(
            self.table.worker[~self.table.spoken], minlength=self.table.n_workers
        )
        # The small share keeps every truth of the grid possible.
        prior = np.interp(self.grid.truths, self.table.levels, self.pool.answers) + 0.02 / n_truths
        prior = prior / prior.sum()
        state = CrowdState(
            np.repeat(self.pool.rate_prior, n_classes) / n_classes,
            # classes alike at first
            np.repeat(self.pool.rate_of_worker, n_classes, axis=1) / n_classes,
            self.grid.answering,
            prior,
            np.tile(prior, (self.table.n_tasks, 1)),
        )
        while not state.converged and state.rounds < most:
            state = self._next(silences, tolerance, state)
            after_round()
        return self._finish(state)

    def _chances(self, state: CrowdState) -> Floats:
        """Return T, of shape (n_rates * n_classes, n_symbols, n_truths)."""
        rates = self.pool.rates
        # spoken[class, symbol, truth] = sum_x H[c, mu, x] P(y | x)
        spoken = np.einsum("cgx,xy->cyg", state.answering, self.table.given)
        # T of the module's text, as chance[rate, class, symbol, truth]
        chance = rates[:, None, None, None] * spoken
        if self.table.skipped is not None:
            chance = chance + ((1 - rates)[:, None] * self.table.skipped)[:, None, :, None]
        return np.asarray(chance.reshape(-1, *chance.shape[2:]) + _TINY)

    def _next(self, silences: Integers, tolerance: float, state: CrowdState) -> CrowdState:
        """Update truths, workers and parameters."""
        chance = self._chances(state)
        log_chance = np.log(chance)
        # E-step of truths: q(mu) ~ pi(mu) exp E[ln T[s, c, y, mu]]
        posterior = row_softmax(self._scores(state, log_chance))
        # E-step of workers: q(s, c) ~ P(s, c) exp E[ln T]
        # expected[block][pair, truth]: reports weighted by the tasks' posteriors
        expected = [np.asarray(block.on_task.T @ posterior) for block in self.blocks]
        said = np.zeros_like(state.kind)
        for block, reports in zip(self.blocks, expected, strict=True):
            for symbol, start, end in block.runs:
                said[block.worker[start:end]] += reports[start:end] @ log_chance[:, symbol].T
        joint = np.log(state.kinds) + said
        if self.table.silent is not None:
            # the same for all truths, so the first one stands for them
            joint += np.outer(silences, log_chance[:, self.table.silent, 0])
        kind = row_softmax(joint)
        # expected reports, [rate * n_classes + class, symbol, truth]
        by_kind = np.zeros_like(chance)
        for block, reports in zip(self.blocks, expected, strict=True):
            for symbol, start, end in block.runs:
                by_kind[:, symbol] += kind[block.worker[start:end]].T @ reports[start:end]
        moved = float(np.abs(posterior - state.posterior).sum())
        return CrowdState(
            *self._maximization_step(state, kind, posterior.sum(axis=0), by_kind / chance),
            posterior,
            state.rounds + 1,
            moved / max(posterior.size, 1) < tolerance,
        )

    def _maximization_step(
        self, state: CrowdState, kind: Floats, of_truth: Floats, ratio: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the shares of kinds, the workers', H and pi.

        `ratio` is expected reports over their chance.
        """
        # Half a worker of each kind, `pull` answers of H and a task of each truth come before data.
        kinds = kind.sum(axis=0) + 0.5 / len(state.kinds)
        n_classes = len(state.answering)
        # by_rate[rate, class, symbol, truth]
        by_rate = ratio.reshape(-1, n_classes, *ratio.shape[1:])
        answered = np.einsum("r,rcyg->cyg", self.pool.rates, by_rate)
        # M-step of H: each answer's share of the reports it may have led to
        learnt = state.answering * np.einsum("cyg,xy->cgx", answered, self.table.given)
        learnt += self.grid.pull * self.grid.answering
        prior = of_truth + 1
        return (
            kinds / kinds.sum(),
            kind,
            learnt / learnt.sum(axis=2, keepdims=True),
            prior / prior.sum(),
        )

    def _scores(self, state: CrowdState, log_chance: Floats) -> Floats:
        """Return each task's log posterior of truths, up to a constant."""
        scores = np.tile(np.log(state.prior), (self.table.n_tasks, 1))
        for block in self.blocks:
            scores += block.on_task @ self._weights(state, block, log_chance)
        return scores

    def _weights(self, state: CrowdState, block: PairBlock, log_chance: Floats) -> Floats:
        """Return the expected log chance of each pair's report, ``[pair, truth]``."""
        parts = [
            state.kind[block.worker[start:end]] @ log_chance[:, symbol]
            for symbol, start, end in block.runs
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(state.prior)))

    def _finish(self, state: CrowdState) -> FittedCrowdModel:
        """Return the final posteriors, and the evidence that tasks differ."""
        log_chance, log_prior = np.log(self._chances(state)), np.log(state.prior)
        scores, apart = np.tile(log_prior, (self.table.n_tasks, 1)), 0.0
        for block in self.blocks:
            weights = self._weights(state, block, log_chance)
            scores += block.on_task @ weights
            reports = np.asarray(block.on_task.sum(axis=0)).ravel()
            # All tasks alike: each report has a truth of its own, drawn from the prior.
            apart += float(reports @ logsumexp(weights + log_prior, axis=1))
        evidence = float(logsumexp(scores, axis=1).sum()) - apart
        found = replace(state, posterior=row_softmax(scores))
        return FittedCrowdModel(self.pool, self.grid, found, evidence)


@dataclass(frozen=True, slots=True, eq=False)
class FittedCrowdModel:
    """The result of `CrowdModel`; posteriors are those of the tasks."""

    pool: PooledEstimate
    grid: TruthGrid
    state: CrowdState
    evidence: float  # log likelihood ratio of tasks that differ against tasks all alike

    def information(self) -> Floats:
        """Return how many nats each task's posterior is away from the prior, shape (n_tasks,)."""
        state = self.state
        log_ratio = np.log(state.posterior + _TINY) - np.log(state.prior)
        return np.asarray((state.posterior * log_ratio).sum(axis=1))

    def answering_rate(self) -> Floats:
        """Return each worker's expected answering rate, shape (n_workers,)."""
        kind, rates = self.state.kind, self.pool.rates
        by_rate = kind.reshape(len(kind), len(rates), -1).sum(axis=2)
        return np.asarray(by_rate @ rates)

    def class_share(self) -> Floats:
        """Return each worker's posterior of classes, shape (n_workers, n_classes)."""
        kind = self.state.kind
        by_class = kind.reshape(len(kind), len(self.pool.rates), -1)
        return np.asarray(by_class.sum(axis=1))


def _blocks(table: ReportTable, n_truths: int) -> Iterator[PairBlock]:
    """Yield the pairs of a worker and a symbol, in blocks of bounded size times grid."""
    spoken = table.spoken
    n_symbols = table.given.shape[1]
    # By symbol first: the workers of one symbol are a run, and share one row of T.
    key = table.symbol[spoken].astype(np.int64) * table.n_workers + table.worker[spoken]
    pairs, pair = np.unique(key, return_inverse=True)
    on_task = sparse.coo_array(
        (np.ones(len(pair)), (table.task[spoken], pair)), shape=(table.n_tasks, len(pairs))
    ).tocsc()
    symbol, worker = np.divmod(pairs, table.n_workers)
    size = max(_BLOCK // n_truths, 1)
    for start in range(0, len(pairs), size):
        end = min(start + size, len(pairs))
        bounds = np.searchsorted(symbol[start:end], np.arange(n_symbols + 1))
        runs = tuple((y, int(a), int(b)) for y, (a, b) in enumerate(pairwise(bounds)) if a < b)
        pointers = on_task.indptr[start : end + 1]
        first, last = int(pointers[0]), int(pointers[-1])
        part = sparse.csc_array(
            (on_task.data[first:last], on_task.indices[first:last], pointers - first),
            shape=(table.n_tasks, end - start),
        )
        yield PairBlock(part, worker[start:end], runs)
