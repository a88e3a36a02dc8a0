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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, ndtr

from masquerade.exact.arrays import Floats, Integers
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.numeric.reports_table import ReportTable

_RATES = 16  # of the grid of answering rates
_BLOCK = 1 << 22  # numbers in one block of pairs times grid
_POOLING_ROUNDS = 200  # at most
_TINY = 1e-300  # keeps the logarithm of an impossible report finite
_FLAT = 0.0005  # of each class's answers fall anywhere
_FINE = 401  # answers of a continuous domain, before they are rounded to levels


@dataclass(frozen=True, slots=True, eq=False)
class PooledEstimate:
    """Task-independent estimates: how people answer, whatever the task."""

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
            most = max(float(np.bincount(table.worker).max(initial=1)), 2.0)
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


class CrowdModel:
    """Expectation-maximization over the reports; arrays are its state.

    ``posterior[task, truth]``, ``kind[worker, rate * n_classes + class]``, ``prior[truth]``,
    ``answering[class, truth, level]``; `evidence` is the log likelihood ratio of the tasks being
    told apart against all being alike.
    """

    def __init__(self, table: ReportTable, pool: PooledEstimate, grid: TruthGrid) -> None:
        self.table, self.pool, self.grid = table, pool, grid
        n_classes, n_truths, _ = grid.answering.shape
        self.answering = grid.answering
        # The small share keeps every truth of the grid possible.
        prior = np.interp(grid.truths, table.levels, pool.answers) + 0.02 / n_truths
        self.prior = prior / prior.sum()
        self.kinds = np.repeat(pool.rate_prior, n_classes) / n_classes
        # kind[worker, rate * n_classes + class], classes alike at first
        self.kind = np.repeat(pool.rate_of_worker, n_classes, axis=1) / n_classes
        self.posterior = np.tile(self.prior, (table.n_tasks, 1))
        # A silent report says the same of all truths, so only their number counts.
        self.silences = np.bincount(table.worker[~table.spoken], minlength=table.n_workers)
        self.blocks = tuple(_blocks(table, n_truths))
        self.evidence = 0.0

    def fit(self, tolerance: float, most: int) -> tuple[bool, int]:
        """Iterate; return whether it converged, and after how many rounds."""
        converged, rounds = False, 0
        while not converged and rounds < most:
            rounds += 1
            change = self._iterate()
            converged = change < tolerance
        self._finish()
        return converged, rounds

    def _chances(self) -> Floats:
        """Return T, of shape (n_rates * n_classes, n_symbols, n_truths)."""
        rates = self.pool.rates
        # spoken[class, symbol, truth] = sum_x H[c, mu, x] P(y | x)
        spoken = np.einsum("cgx,xy->cyg", self.answering, self.table.given)
        # T of the module's text, as chance[rate, class, symbol, truth]
        chance = rates[:, None, None, None] * spoken
        if self.table.skipped is not None:
            chance = chance + ((1 - rates)[:, None] * self.table.skipped)[:, None, :, None]
        return np.asarray(chance.reshape(-1, *chance.shape[2:]) + _TINY)

    def _iterate(self) -> float:
        """Update truths, workers and parameters; return the mean change of the posteriors."""
        chance = self._chances()
        log_chance = np.log(chance)
        # E-step of truths: q(mu) ~ pi(mu) exp E[ln T[s, c, y, mu]]
        scores = self._scores(log_chance)
        earlier, self.posterior = self.posterior, row_softmax(scores)
        # E-step of workers: q(s, c) ~ P(s, c) exp E[ln T]
        joint = np.tile(np.log(self.kinds), (self.table.n_workers, 1))
        if self.table.silent is not None:
            # the same for all truths, so the first one stands for them
            joint += np.outer(self.silences, log_chance[:, self.table.silent, 0])
        # expected[block][pair, truth]: reports weighted by the tasks' posteriors
        expected = [np.asarray(block.on_task.T @ self.posterior) for block in self.blocks]
        for block, reports in zip(self.blocks, expected, strict=True):
            for symbol, start, end in block.runs:
                joint[block.worker[start:end]] += reports[start:end] @ log_chance[:, symbol].T
        self.kind = row_softmax(joint)
        # expected reports, [rate * n_classes + class, symbol, truth]
        reports_by_kind = np.zeros_like(chance)
        for block, reports in zip(self.blocks, expected, strict=True):
            for symbol, start, end in block.runs:
                reports_by_kind[:, symbol] += (
                    self.kind[block.worker[start:end]].T @ reports[start:end]
                )
        self._maximization_step(reports_by_kind / chance)
        return float(np.abs(self.posterior - earlier).mean()) if len(earlier) else 0.0

    def _maximization_step(self, ratio: Floats) -> None:
        """Update the shares of kinds, H and pi; `ratio` is expected reports over their chance."""
        # Half a worker of each kind, `pull` answers of H and a task of each truth come before data.
        kinds = self.kind.sum(axis=0) + 0.5 / len(self.kinds)
        self.kinds = kinds / kinds.sum()
        n_classes = len(self.answering)
        # by_rate[rate, class, symbol, truth]
        by_rate = ratio.reshape(-1, n_classes, *ratio.shape[1:])
        answered = np.einsum("r,rcyg->cyg", self.pool.rates, by_rate)
        # M-step of H: each answer's share of the reports it may have led to
        learnt = self.answering * np.einsum("cyg,xy->cgx", answered, self.table.given)
        learnt += self.grid.pull * self.grid.answering
        self.answering = learnt / learnt.sum(axis=2, keepdims=True)
        prior = self.posterior.sum(axis=0) + 1
        self.prior = prior / prior.sum()

    def _scores(self, log_chance: Floats) -> Floats:
        """Return each task's log posterior of truths, up to a constant."""
        scores = np.tile(np.log(self.prior), (self.table.n_tasks, 1))
        for block in self.blocks:
            scores += block.on_task @ self._weights(block, log_chance)
        return scores

    def _weights(self, block: PairBlock, log_chance: Floats) -> Floats:
        """Return the expected log chance of each pair's report, ``[pair, truth]``."""
        parts = [
            self.kind[block.worker[start:end]] @ log_chance[:, symbol]
            for symbol, start, end in block.runs
        ]
        return np.concatenate(parts)

    def _finish(self) -> None:
        """Set the final posteriors, and the evidence that tasks differ."""
        log_chance, log_prior = np.log(self._chances()), np.log(self.prior)
        scores, apart = np.tile(log_prior, (self.table.n_tasks, 1)), 0.0
        for block in self.blocks:
            weights = self._weights(block, log_chance)
            scores += block.on_task @ weights
            reports = np.asarray(block.on_task.sum(axis=0)).ravel()
            # All tasks alike: each report has a truth of its own, drawn from the prior.
            apart += float(reports @ logsumexp(weights + log_prior, axis=1))
        self.posterior = row_softmax(scores)
        self.evidence = float(logsumexp(scores, axis=1).sum()) - apart

    def information(self) -> Floats:
        """Return how many nats each task's posterior is away from the prior, shape (n_tasks,)."""
        log_ratio = np.log(self.posterior + _TINY) - np.log(self.prior)
        return np.asarray((self.posterior * log_ratio).sum(axis=1))

    def answering_rate(self) -> Floats:
        """Return each worker's expected answering rate, shape (n_workers,)."""
        by_rate = self.kind.reshape(len(self.kind), len(self.pool.rates), -1).sum(axis=2)
        return np.asarray(by_rate @ self.pool.rates)

    def class_share(self) -> Floats:
        """Return each worker's posterior of classes, shape (n_workers, n_classes)."""
        by_class = self.kind.reshape(len(self.kind), len(self.pool.rates), -1)
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
