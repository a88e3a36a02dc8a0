"""GLAD: abilities of workers and difficulties of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import check_iteration, check_not_negative, check_positive
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.problem import Problem, Solution


@dataclass(eq=False, kw_only=True)
class GLAD(CategoricalEstimator):
    """Infer truths, abilities and difficulties: a hard task is answered worse by everybody.

    A worker of ability alpha answers a task of inverse difficulty exp(beta) right with probability
    ``1 / (1 + exp(-alpha exp(beta)))``, else with one of the other options evenly. The
    estimates are ``solution_.extra["alphas"]`` and ``["betas"]``.

    Parameters
    ----------
    max_iterations : int
        Most iterations, at least 1.
    tolerance : float
        Iteration ends when the log posterior of a claim grows by less, at least 0.
    max_steps : int
        Most steps of the inner optimization, at least 1.
    gradient_tolerance : float
        Gradient below which it ends, above 0.
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    Whitehill et al., "Whose vote should count more", NIPS 2009, with its priors N(1, 1) of alpha
    and beta; truths are even before the claims. The M-step uses L-BFGS. With a mechanism the
    probability above is of the answer, reports go through the channel, and a worker's drawn flip
    probability is integrated out.

    Slow by nature: every iteration optimizes one number a task and a worker.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> GLAD().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "glad"

    max_iterations: int = 100
    tolerance: float = 1e-5
    max_steps: int = 25
    gradient_tolerance: float = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations)
        if self.max_steps < 1:
            raise ParameterError(f"max_steps is {self.max_steps}, expected at least 1.")
        check_not_negative(tolerance=self.tolerance)
        check_positive(gradient_tolerance=self.gradient_tolerance)

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and abilities; see `CategoricalEstimator.solve`."""
        from scipy.optimize import minimize

        votes = problem.votes
        model = _Model(problem)
        # Alphas of workers, then betas of tasks; both start at the means of their priors.
        point = np.ones(votes.n_workers + votes.n_tasks)
        model.weigh_flips(point)
        scores = model.scores(point)
        posterior = problem.block.anchored(row_softmax(scores))
        losses: list[float] = []
        converged, iterations = votes.n_options < 2, 0
        while not converged and iterations < self.max_iterations:
            iterations += 1
            # M-step: the paper's function Q has no maximum in closed form, so it is climbed.
            point = minimize(
                model.loss,
                point,
                args=(posterior,),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": self.max_steps, "gtol": self.gradient_tolerance},
            ).x
            model.weigh_flips(point)
            scores = model.scores(point)
            posterior = problem.block.anchored(row_softmax(scores))
            losses.append(-model.loss(point, posterior)[0] / max(len(model.task), 1))
            converged = len(losses) > 1 and abs(losses[-1] - losses[-2]) < self.tolerance
            if problem.progress is not None:
                problem.progress(iterations, self.max_iterations)
        alpha, beta = point[: votes.n_workers], point[votes.n_workers :]
        # a worker's accuracy on a task of mean log inverse difficulty
        right = expit(alpha * np.exp(float(beta.mean())))
        return Solution(
            scores=scores,
            posteriors=posterior,
            reliability=right,
            weight=alpha,
            converged=converged,
            iterations=max(iterations, 1),
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
            losses=tuple(losses),
            extra={"alphas": alpha, "betas": beta},
        )


class _Model:
    """The likelihood of claims, as a function of abilities and log inverse difficulties."""

    def __init__(self, problem: Problem) -> None:
        claims = problem.answered
        self.task, self.worker, self.value = claims.task, claims.worker, claims.value
        self.n_tasks, self.n_workers = problem.votes.n_tasks, problem.votes.n_workers
        self.channel, self.s = problem.crowd.channel, max(problem.votes.n_options, 2)
        self.n_options = problem.votes.n_options
        nodes = (self.n_workers, len(self.channel.flip))
        self.node = np.broadcast_to(self.channel.weight, nodes)
        self.posterior: Floats | None = None

    def weigh_flips(self, point: Floats) -> None:
        """Weigh each person's flip probabilities by how well they explain the person's reports."""
        # Before the first M-step nothing tells flips apart.
        if len(self.channel.flip) == 1 or self.posterior is None:
            return
        share = self.posterior[self.task, self.value]
        right, _, _ = self._right(point)
        # fit[worker, node]: expected log-likelihood of a flip. The 1 / (s - 1) of wrong reports is
        # common to all flips and cancels.
        fit = np.stack(
            [
                np.bincount(
                    self.worker, share * np.log(hit) + (1 - share) * np.log1p(-hit), self.n_workers
                )
                for hit in self._hits(right)
            ],
            axis=1,
        )
        # A flip probability of weight 0 has log -inf, and so no share.
        with np.errstate(divide="ignore"):
            fit += np.log(self.channel.weight)
        odds = np.exp(fit - fit.max(axis=1, keepdims=True))
        self.node = odds / odds.sum(axis=1, keepdims=True)

    def scores(self, point: Floats) -> Floats:
        """Return the log-likelihood of each truth, ``score[task, option]``, up to a constant."""
        right, _, _ = self._right(point)
        # ratio[claim] = E[ln P(report | it is the truth) - ln P(report | it is not)]
        ratio = np.zeros(len(self.task))
        for node, hit in enumerate(self._hits(right)):
            weight = self.node[self.worker, node]
            ratio += weight * (np.log(hit) - np.log1p(-hit) + np.log(self.s - 1))
        key = self.task.astype(np.int64) * self.n_options + self.value
        total = np.bincount(key, ratio, self.n_tasks * self.n_options)
        return np.asarray(total.reshape(self.n_tasks, self.n_options), dtype=np.float64)

    def loss(self, point: Floats, posterior: Floats) -> tuple[float, Floats]:
        """Return minus the expected log posterior density, and its gradient."""
        self.posterior = posterior
        share = posterior[self.task, self.value]
        # The paper's Q and its gradient, with hits of reports in place of answers.
        right, alpha, steep = self._right(point)
        value, slope = 0.0, np.zeros(len(self.task))
        signal = self.channel.signal()
        for node, hit in enumerate(self._hits(right)):
            weight = self.node[self.worker, node]
            value += float(weight @ (share * np.log(hit) + (1 - share) * np.log1p(-hit)))
            # dQ / d right, since d hit / d right is the channel's signal
            slope += weight * (share / hit - (1 - share) / (1 - hit)) * signal[node]
        # derivative of the logistic function; alpha exp(beta) is its argument
        slope *= right * (1 - right)
        gradient = np.concatenate(
            [
                np.bincount(self.worker, slope * steep, self.n_workers),
                np.bincount(self.task, slope * steep * alpha, self.n_tasks),
            ]
        )
        # Priors N(1, 1): off**2 / 2 is minus their log density, up to a constant.
        off = point - 1
        return float(off @ off) / 2 - value, off - gradient

    def _right(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return P(answer is right), alpha and exp(beta) of every claim."""
        alpha = point[self.worker]
        # exp(beta) stays finite wherever the line search steps.
        steep = np.exp(np.clip(point[self.n_workers + self.task], -30, 30))
        return np.clip(expit(alpha * steep), 1e-12, 1 - 1e-12), alpha, steep

    def _hits(self, right: Floats) -> list[Floats]:
        """Return P(report is the truth) of every claim, for each node."""
        return [
            # the uniform part of the mask hits the truth with probability 1 / s
            np.clip(right * keep + (1 - keep) / self.s, 1e-12, 1 - 1e-12)
            for keep in self.channel.signal()
        ]
