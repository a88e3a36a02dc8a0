"""Dawid-Skene: each worker's confusions by expectation-maximization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from masquerade.answers import Claims, Frame
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Mechanism
from masquerade.truth.ballots import WorkerSums, judge_tasks, judge_workers
from masquerade.truth.bayesian_combination import vote_weight
from masquerade.truth.categorical import CategoricalEstimator, ambiguous
from masquerade.truth.gold import Gold
from masquerade.truth.mask import Mask
from masquerade.truth.problem import Problem, Progress, Solution
from masquerade.truth.start import first_posterior

_LEAST = 1e-10


@dataclass(eq=False, kw_only=True)
class DawidSkene(CategoricalEstimator):
    """Find truths and each worker's confusion matrix in turn, from plain votes.

    Parameters
    ----------
    n_iter : int
        Most iterations, at least 1.
    tol : float
        Iteration ends when the log-likelihood of a claim grows by less, at least 0.
    smoothing : float
        Pseudo-answers for every entry of a confusion matrix, at least 0. 0 is maximum likelihood,
        which is what crowd-kit computes.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    Dawid and Skene, "Maximum likelihood estimation of observer error-rates using the EM
    algorithm", 1979. Confusions are of answers; with a mechanism, reports are answers through its
    channel, a worker's drawn flip probability is integrated out, and the M-step credits each
    report to the answers it may come from.

    **Cost**: each iteration linear in claims times options.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> DawidSkene().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "dawid-skene"

    n_iter: int = 100
    tol: float = 1e-5
    smoothing: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_iter < 1:
            raise ParameterError(f"n_iter is {self.n_iter}, expected at least 1.")
        if not 0 <= self.tol < np.inf:
            raise ParameterError(f"tol is {self.tol}, expected at least 0.")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing is {self.smoothing}, expected at least 0.")

    def fit(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        *,
        mechanism: Mechanism | None = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from claims; `true_labels` is crowd-kit's name of `gold`.

        See `CategoricalEstimator.fit`.
        """
        gold = true_labels if gold is None else gold
        return super().fit(data, mechanism=mechanism, gold=gold, progress=progress)

    def fit_predict(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        *,
        mechanism: Mechanism | None = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Frame:
        """Return each task's label; see `CategoricalEstimator.fit_predict`."""
        gold = true_labels if gold is None else gold
        return super().fit_predict(data, mechanism=mechanism, gold=gold, progress=progress)

    def _confusion(self, credit: Floats) -> Floats:
        """Return the confusion matrices of answers that were credited to workers."""
        smooth = credit + self.smoothing
        total = smooth.sum(axis=2, keepdims=True)
        even = np.full_like(smooth, 1 / credit.shape[2])
        return np.asarray(np.divide(smooth, total, out=even, where=total > 0))

    def _priors(self, sums: WorkerSums) -> Floats:
        """Return how often each truth holds."""
        return np.asarray(sums.totals / max(sums.totals.sum(), 1e-300))

    def _extra(self, credit: Floats) -> dict[str, Floats]:
        """Return the model's own parameters."""
        return {}

    def _solve(self, problem: Problem) -> Solution:
        ballots, mask = problem.ballots, problem.mask
        posterior = first_posterior(problem)
        sums = judge_workers(ballots, posterior)
        confusion: Floats | None = None
        claims = max(float(problem.votes.of_task.sum()), 1.0)
        losses: list[float] = []
        converged, iterations = False, 0
        while not converged and iterations < self.n_iter:
            iterations += 1
            priors = self._priors(sums)
            confusion = self._confusion(credited(sums.counts, confusion, mask))
            table = log_reports(sums.counts, confusion, mask)
            posterior, likelihood = judge_tasks(
                ballots, table, np.log(np.maximum(priors, _LEAST)), problem.gold
            )
            sums = judge_workers(ballots, posterior, log_likelihood=likelihood)
            losses.append(likelihood / claims)
            converged = len(losses) > 1 and abs(losses[-1] - losses[-2]) < self.tol
            problem.done(iterations, self.n_iter)
        assert confusion is not None
        hit = np.einsum("waa->wa", confusion)
        return Solution(
            scores=posterior,
            posteriors=posterior,
            reliability=np.clip(hit @ priors, 0, 1),
            weight=vote_weight(table, priors),
            converged=converged,
            iterations=iterations,
            orientation_ambiguous=ambiguous(problem.claims.n_options, problem.mechanism),
            confusion=confusion,
            priors=priors,
            losses=tuple(losses),
            extra=self._extra(credited(sums.counts, confusion, mask)),
        )


@dataclass(eq=False, kw_only=True)
class OneCoinDawidSkene(DawidSkene):
    """Dawid-Skene with one accuracy a worker, the same for all truths; errors are even.

    `OneCoin` has the same model with a prior and integrates accuracies out.

    Parameters
    ----------
    n_iter, tol, smoothing, ties, seed
        See `DawidSkene`; `smoothing` is for right and for wrong answers, by worker.

    Notes
    -----
    Zhang et al., "Spectral methods meet EM", 2014, its one-coin model.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> OneCoinDawidSkene().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "one-coin-dawid-skene"

    def _confusion(self, credit: Floats) -> Floats:
        s = credit.shape[2]
        agreed = np.einsum("waa->w", credit) + self.smoothing
        total = credit.sum(axis=(1, 2)) + 2 * self.smoothing
        right = np.divide(agreed, total, out=np.full_like(agreed, 1 / s), where=total > 0)
        confusion = np.broadcast_to((1 - right)[:, None, None] / max(s - 1, 1), credit.shape).copy()
        confusion[:, np.arange(s), np.arange(s)] = right[:, None] if s > 1 else 1.0
        return confusion


def node_shares(counts: Floats, confusion: Floats, mask: Mask) -> Floats:
    """Return ``share[worker, node]``: how probable each flip probability is."""
    if len(mask.flip) == 1:
        return np.ones((len(counts), 1))
    fit = np.stack(
        [
            (counts * np.log(np.maximum(confusion @ channel, _LEAST))).sum(axis=(1, 2))
            for channel in mask.channels()
        ],
        axis=1,
    )
    with np.errstate(divide="ignore"):
        fit += np.log(mask.weight)
    share = np.exp(fit - fit.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def credited(counts: Floats, confusion: Floats | None, mask: Mask) -> Floats:
    """Return expected answers ``answer[worker, truth, answer]`` from counts of reports."""
    if mask.is_clear:
        return counts
    s = mask.n_options
    if confusion is None:  # mostly right at first, else nothing could be learnt of who is
        confusion = np.broadcast_to(np.full((s, s), 0.35 / max(s - 1, 1)), counts.shape).copy()
        confusion[:, np.arange(s), np.arange(s)] = 0.65
    share = node_shares(counts, confusion, mask)
    credit = np.zeros_like(counts)
    for node, channel in enumerate(mask.channels()):
        seen = np.maximum(confusion @ channel, 1e-300)
        credit += share[:, node, None, None] * confusion * ((counts / seen) @ channel.T)
    return credit


def log_reports(counts: Floats, confusion: Floats, mask: Mask) -> Floats:
    """Return ``log P(label | truth)`` of each worker's reports, the flip's mean."""
    if mask.is_clear:
        return np.asarray(np.log(np.maximum(confusion, _LEAST)))
    share = node_shares(counts, confusion, mask)
    table: Any = 0.0
    for node, channel in enumerate(mask.channels()):
        seen = np.log(np.maximum(confusion @ channel, _LEAST))
        table = table + share[:, node, None, None] * seen
    return np.asarray(table)
