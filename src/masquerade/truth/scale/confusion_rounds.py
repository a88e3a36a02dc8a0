"""Dawid-Skene over blocks: sums are expected counts of labels, by worker and truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.ballots import Ballots, WorkerSums, judge_tasks, judge_workers
from masquerade.truth.bayesian_combination import vote_weight
from masquerade.truth.dawid_skene import DawidSkene, credited, log_reports
from masquerade.truth.mask import Mask
from masquerade.truth.problem import vote_shares
from masquerade.truth.scale.block import Block
from masquerade.truth.scale.census import Census
from masquerade.truth.scale.rounds import Learnt, Rounds, Sums


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """What a round takes for true.

    Attributes
    ----------
    log_confusion : float array, shape (n_workers, n_truths, n_options)
    log_prior : float array, shape (n_truths,)
    """

    log_confusion: Floats
    log_prior: Floats


class ConfusionRounds(Rounds):
    """Dawid-Skene: parameters are the `Mask` of plain votes, then what is `Believed`."""

    compares = False

    def __init__(
        self, method: DawidSkene, census: Census, mechanism: CategoricalMechanism | None
    ) -> None:
        super().__init__(census, mechanism)
        self.method = method
        self.mask = Mask.of(
            mechanism, n_options=census.n_options, null_share=census.nulls / census.n_claims
        )
        self.tolerance, self.max_iterations = method.tol, method.n_iter
        self.starts = (self.mask,)

    @staticmethod
    def posteriors(block: Block, parameters: Any) -> Floats:
        """Return posteriors; vote shares at the start."""
        return _judged(block, Ballots.of(block.votes), parameters)[0]

    scores = shares = posteriors

    @classmethod
    def sums(cls, block: Block, parameters: Any, earlier: Any) -> Sums:
        """Return expected counts of labels, and the log-likelihood of the votes."""
        ballots = Ballots.of(block.votes)
        posterior, likelihood = _judged(block, ballots, parameters)
        found = judge_workers(ballots, posterior, log_likelihood=likelihood)
        return Sums(replace(found, counts=block.spread(found.counts)))

    def learn(self, total: Any, state: Any) -> Learnt:
        """Return confusions and priors."""
        sums: WorkerSums = total
        priors = self.method._priors(sums)
        confusion = self.method._confusion(credited(sums.counts, state, self.mask))
        table = log_reports(sums.counts, confusion, self.mask)
        hit = np.einsum("waa->wa", confusion)
        return Learnt(
            Believed(table, np.log(np.maximum(priors, 1e-10))),
            np.clip(hit @ priors, 0, 1),
            vote_weight(table, priors),
            state=confusion,
        )

    def converged(self, sums: Sums, earlier: Sums, iteration: int) -> bool:
        """Return whether the log-likelihood of a claim hardly grew."""
        claims = max(self.census.n_claims - self.census.nulls, 1)
        grown = (sums.total.log_likelihood - earlier.total.log_likelihood) / claims
        return iteration > 1 and abs(grown) < self.tolerance


def _judged(block: Block, ballots: Ballots, parameters: Any) -> tuple[Floats, float]:
    if isinstance(parameters, Mask):
        return parameters.unmasked(vote_shares(block.votes.count())), 0.0
    unknown = np.full(block.votes.n_tasks, -1, dtype=np.int32)
    return judge_tasks(ballots, block.own(parameters.log_confusion), parameters.log_prior, unknown)
