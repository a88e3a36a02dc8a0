"""The default: workers' confusions, drawn towards the crowd's, with bounded trust in agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.agreement import agreement_surplus
from masquerade.truth.ballots import WorkerSums, judge_tasks, judge_workers
from masquerade.truth.categorical import CategoricalEstimator, ambiguous
from masquerade.truth.intervals import mixture_errors
from masquerade.truth.iteration import check_iteration
from masquerade.truth.numeric.remarks import Remark, prior_only
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.start import first_posterior
from masquerade.truth.votes import Votes
from masquerade.truth.worker_prior import WorkerPrior, log_evidence_without_truth

_MOST_CELLS = 40_000_000
_CLEAR = 2.0


@dataclass(eq=False, kw_only=True)
class BayesianCombination(CategoricalEstimator):
    """Combine votes by each worker's confusions, as far as the data bear them out: the default.

    Every worker has a confusion matrix (which label is given for which truth) with a prior that is
    itself learnt from all workers, so that a worker with few claims counts as the crowd does, and
    one with many as the claims say. Truths, confusions and the prior are found together by
    variational Bayes. `mechanism` is part of the model.

    Agreement alone cannot tell knowledge from a shared mistake: the more workers are judged by
    what the method itself concluded, the more a shared mistake feeds itself. So workers are judged
    by a mix of those conclusions and of plain votes, once for each level of `trust`, and the
    posteriors are averaged. Workers' reliability and how often each truth holds are those of the
    first (highest) level: the others are cautious, which would bias them.

    Parameters
    ----------
    trust : tuple of floats
        Levels, 0 to 1: the share of the method's own conclusions in what workers are judged by.
        ``(1.0,)`` is hierarchical Bayesian classifier combination without that precaution.
    accuracy : float
        The crowd's accuracy before any claim was seen, above 0 and below 1.
    strength : float
        How many answers that counts as, above 0.
    tolerance : float
        Iteration ends when no posterior probability changes by more, above 0.
    max_iterations : int
        Iterations at each level after which the result is returned with ``converged_`` false.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    After Kim and Ghahramani, "Bayesian classifier combination", AISTATS 2012, with variational
    inference as in Simpson et al. (2013). Ours: the prior's mean matrix and concentrations are
    learnt (empirical Bayes), the levels of trust, and the mask. A mask moves the prior of answers
    to one of reports with the same mean and variance; where each person draws a flip probability,
    it is integrated out on 8 nodes a person.

    Where the claims are explained better by workers who answer without regard to the task,
    `OneCoin` is used, which asks less of the data (remark ``ONE_COIN``). Where that explains
    reports no better than chance, and workers do not agree more than chance (2 standard
    deviations), the remark ``PRIOR_ONLY`` says so, and posteriors are those of the prior: the
    majority's labels.

    With more than 40 million confusions (workers times options squared), `OneCoin` is used, and
    the remark ``MANY_OPTIONS`` says so.

    **Cost**: each iteration linear in claims times options, and in workers times options squared
    (times 8 where flips are drawn).

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> BayesianCombination().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "bayesian-combination"

    trust: tuple[float, ...] = (1.0, 0.5, 0.0)
    accuracy: float = 0.65
    strength: float = 10.0
    tolerance: float = 1e-3
    max_iterations: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.trust or not all(0 <= level <= 1 for level in self.trust):
            raise ParameterError(f"trust is {self.trust!r}, expected numbers from 0 to 1.")
        if not 0 < self.accuracy < 1:
            raise ParameterError(f"accuracy is {self.accuracy}, expected above 0 and below 1.")
        if not 0 < self.strength < np.inf:
            raise ParameterError(f"strength is {self.strength}, expected above 0.")
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def _solve(self, problem: Problem) -> Solution:
        votes = problem.votes
        if votes.n_workers * votes.n_options**2 > _MOST_CELLS:
            found = OneCoin(ties=self.ties, seed=self.seed)._solve(problem)
            note = "one-coin inference was used: confusions of this many options do not fit"
            return replace(found, remarks=(*found.remarks, Remark("MANY_OPTIONS", note)))
        anchor = first_posterior(problem)
        start = WorkerPrior.start(problem.mask, accuracy=self.accuracy, strength=self.strength)
        levels = sorted(set(self.trust), reverse=True)
        tracks = [_Track.follow(self, problem, start, anchor, level) for level in levels]
        posterior = np.mean([track.posterior for track in tracks], axis=0)
        prior, sums, own = tracks[0].prior, tracks[0].sums, tracks[0].posterior
        remarks: tuple[Remark, ...] = ()
        without = log_evidence_without_truth(tracks[0].sums.counts.sum(axis=1))
        gated = votes.n_options > 1 and levels[0] == 1 and not (problem.gold >= 0).any()
        if gated and tracks[0].log_evidence() <= without:
            simple = OneCoin(ties=self.ties, seed=self.seed)._solve(problem)
            surplus = agreement_surplus(votes)
            if surplus > _CLEAR or _beats_chance(simple, votes):
                note = "one-coin inference was used: the claims do not bear out more"
                return replace(simple, remarks=(*simple.remarks, Remark("ONE_COIN", note)))
            reason = (
                "workers agree no more than if they answered without regard to the task "
                f"(by {surplus:.1f} standard deviations)"
            )
            remarks = (prior_only(reason),)
            posterior, prior = _by_the_prior(problem, start), start
            sums, own = judge_workers(problem.ballots, posterior), posterior
        totals = (sums.totals + 1) / (sums.totals.sum() + votes.n_options)
        reliability, variance = prior.accuracies(sums.counts, totals)
        # Mean field takes expected agreements for known: what is missing of them (Louis, 1982).
        doubt = own * (1 - own)
        hit = np.clip(votes.agreement(own) / np.maximum(votes.of_worker, 1), 0.01, 0.99)
        missing = votes.agreement(doubt) / np.maximum(votes.of_worker * hit * (1 - hit), 1e-9)
        variance = np.minimum(variance / (1 - np.minimum(missing, 0.8)), 0.08)
        table = prior.log_confusion(sums.counts)
        return Solution(
            scores=posterior,
            posteriors=posterior,
            reliability=reliability,
            weight=vote_weight(table, totals),
            converged=all(track.converged for track in tracks),
            iterations=max(track.iterations for track in tracks),
            orientation_ambiguous=ambiguous(problem.claims.n_options, problem.mechanism),
            reliability_error=np.sqrt(variance),
            confusion=np.exp(table) / np.exp(table).sum(axis=2, keepdims=True),
            priors=totals,
            truth_shares=own.mean(axis=0),
            truth_share_errors=_share_errors(problem, own, prior, sums.counts),
            losses=tracks[0].bounds,
            remarks=remarks,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Track:
    """What one level of trust leads to."""

    posterior: Floats
    prior: WorkerPrior
    sums: WorkerSums
    converged: bool
    iterations: int
    bounds: tuple[float, ...]

    @classmethod
    def follow(
        cls,
        method: BayesianCombination,
        problem: Problem,
        prior: WorkerPrior,
        anchor: Floats,
        trust: float,
    ) -> _Track:
        """Return the fixed point that is reached from plain votes."""
        posterior, most = anchor, method.max_iterations
        sums = judge_workers(problem.ballots, posterior)
        converged, iterations, bounds = False, 0, []
        claims = max(float(problem.votes.of_task.sum()), 1.0)
        while not converged and iterations < most:
            iterations += 1
            prior = prior.learn(sums.counts)
            totals = sums.totals + 1
            earlier = posterior
            posterior, _ = judge_tasks(
                problem.ballots,
                prior.log_confusion(sums.counts),
                digamma(totals) - digamma(totals.sum()),
                problem.gold,
            )
            if trust == 0:  # workers are judged by the votes alone, so nothing will change
                converged = True
                break
            sums = judge_workers(
                problem.ballots, posterior, anchor=anchor, trust=trust, earlier=earlier
            )
            bounds.append(_bound(prior, sums) / claims)
            converged = sums.change < method.tolerance
            problem.done(iterations, most)
        return cls(posterior, prior, sums, converged, iterations, tuple(bounds))

    def log_evidence(self) -> float:
        """Return the lower bound of the log probability of all reports."""
        return _bound(self.prior, self.sums)


def _beats_chance(found: Solution, votes: Votes) -> bool:
    """Return whether a one-coin fit explains reports better than even chance does."""
    assert found.log_evidence is not None
    chance = -float(votes.of_worker.sum()) * np.log(votes.n_options)
    return bool(found.log_evidence > chance + 1e-6 * abs(chance))


def vote_weight(table: Floats, truth_share: Floats) -> Floats:
    """Return the mean log ratio of a true vote to a vote for another option, by worker."""
    s = table.shape[1]
    hit = np.einsum("waa->wa", table)
    miss = (table.sum(axis=2) - hit) / max(s - 1, 1)
    return np.asarray((hit - miss) @ truth_share)


def _bound(prior: WorkerPrior, sums: WorkerSums) -> float:
    """Return the lower bound of the log evidence (up to the mix with plain votes)."""
    totals = sums.totals + 1
    shares = float(gammaln(totals).sum() - gammaln(totals.sum()) + gammaln(len(totals)))
    return prior.nodes(sums.counts)[1] + shares + sums.entropy


def _share_errors(
    problem: Problem, posterior: Floats, prior: WorkerPrior, counts: Floats
) -> Floats:
    """Return the standard deviation of how often each truth holds, confusions not known either.

    The second part is the delta method: a change of a worker's log confusions moves the posteriors
    of the worker's tasks by their doubt, and so the shares.
    """
    n, s = posterior.shape
    error, told = mixture_errors(posterior)
    move = problem.ballots.counts(posterior * (1 - posterior)) / n
    of_truth = prior.log_variances(counts, move)  # [worker, truth moved, truth]
    others = (of_truth.sum(axis=2) - np.einsum("waa->wa", of_truth)) / max(s - 1, 1)
    moved = (np.einsum("waa->wa", of_truth) + others).sum(axis=0) / np.maximum(told, 0.1) ** 2
    return np.asarray(np.sqrt(error**2 + moved))


def _by_the_prior(problem: Problem, prior: WorkerPrior) -> Floats:
    """Return posteriors if all workers were as the prior says: more votes, more probable."""
    table = np.log(np.tensordot(prior.mask.weight, prior.reports(), 1))
    score = problem.votes.count() @ table.T
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
