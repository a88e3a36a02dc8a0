"""One-coin Bayesian inference that sees through the mechanism."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism, FlipMixture
from masquerade.truth.ballots import largest_change
from masquerade.truth.categorical import CategoricalEstimator, ambiguous
from masquerade.truth.components import Components, components
from masquerade.truth.iteration import check_accuracy_prior, check_iteration
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.rows import row_max

_ACCURACY_NODES = 64
_MOST_NODES = 129
_BLOCK = 1 << 15
_SURELY_LARGER = 1e-6

NO_MASK = FlipMixture(np.zeros(1), np.ones(1))


@dataclass(eq=False, kw_only=True)
class OneCoin(CategoricalEstimator):
    """Infer truths and accuracies together; the mechanism is part of the model.

    A worker's answer is the truth with the worker's own probability alpha ~ Beta(a, b), else one of
    the other options evenly; the mechanism then masks the answer. Accuracies are integrated out on
    a grid, together with the flip probability where the mechanism draws one a person. Posteriors
    are mean-field: expected agreements give each worker's posterior, that gives the weight
    ``E[ln q - ln((1 - q)/(s - 1))]`` of the worker's votes (q: probability that a report is the
    truth), and the softmax of summed weights gives each task's posterior.

    Parameters
    ----------
    accuracy_prior : tuple of two floats
        (a, b) of the Beta distribution, both positive. The default has mean 2/3.
    tolerance : float
        Iteration ends when no posterior probability changes by more, above 0.
    max_iterations : int
        Rounds after which the result is returned with ``converged_`` false.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    The "CA" of our study of Li et al., KDD 2018; Dawid and Skene (1979) with one accuracy a worker.

    With two options the labels of a component may come out swapped as a whole. So inference also
    starts from the complement, and each component keeps the start with the larger evidence bound
    (sum of the workers' log evidence plus the entropy of the tasks' posteriors). Where the prior of
    q is symmetric about 1/2, as under a flip probability from U(0, 1), the two are equal in truth:
    the majority's orientation is kept and ``orientation_ambiguous_`` is true.

    With a mechanism that masks "no answer", the share of null reports is ``p' + (1 - p - p') nu``,
    where nu is the share of people without an answer and p' = p / s the chance of each other
    symbol; nu is estimated from it and enters P(report is the truth | report is not null).

    Mean field ignores that votes on one task depend on one another through the truth, so extreme
    posteriors are somewhat too sure. On twenty real sets without a mask, mean accuracy is 0.807
    (majority vote 0.806, truth discovery 0.815): the method's strength is masked claims.

    **Cost**: each round linear in claims, plus a grid of at most 129 nodes a worker.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "yes", "no", "yes", "no"]}
    >>> OneCoin().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "one-coin"

    accuracy_prior: tuple[float, float] = (4.0, 2.0)
    tolerance: float = 1e-4
    max_iterations: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        check_accuracy_prior(self.accuracy_prior)
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def _solve(self, problem: Problem) -> Solution:
        votes, mechanism = problem.votes, problem.mechanism
        grid = Grid.of(
            self.accuracy_prior,
            mechanism,
            n_options=votes.n_options,
            null_share=problem.null_share,
        )
        groups = components(problem.claims)
        s = votes.n_options
        start = (votes.count() + 1) / (votes.of_task + s)[:, None]
        if s > 1 and grid.mean_hit() < 1 / s:
            start = (1 - start) / (s - 1)
        a, b = self.accuracy_prior
        open_orientation = ambiguous(problem.claims.n_options, mechanism) or (s == 2 and a == b)
        solution, bound = self._iterate(problem, groups, grid, start)
        if s == 2 and not open_orientation:
            other, other_bound = self._iterate(problem, groups, grid, start[:, ::-1])
            swapped = other_bound > bound + _SURELY_LARGER * (1 + np.abs(bound))
            swapped = np.append(swapped, False)  # tasks and workers without any answer
            solution = _merged(solution, other, swapped, groups)
            bound = np.where(swapped[:-1], other_bound, bound)
        even = float((votes.of_task > 0).sum()) * np.log(s)  # before the claims, truths are even
        return replace(
            solution,
            orientation_ambiguous=open_orientation,
            log_evidence=float(bound.sum()) - even,
        )

    def _iterate(
        self, problem: Problem, groups: Components, grid: Grid, posterior: Floats
    ) -> tuple[Solution, Floats]:
        """Return the fixed point reached from `posterior`, and each component's evidence bound."""
        votes = problem.votes
        posterior = problem.anchored(posterior)
        converged = False
        iterations = 0
        while not converged and iterations < self.max_iterations:
            iterations += 1
            workers = grid.workers(votes.agreement(posterior), votes.of_worker)
            scores = votes.score(workers.weight)
            earlier, posterior = posterior, problem.anchored(_softmax(scores))
            converged = largest_change(posterior, earlier) < self.tolerance
            problem.done(iterations, self.max_iterations)
        workers = grid.workers(votes.agreement(posterior), votes.of_worker)
        entropy = -np.sum(posterior * np.log(np.maximum(posterior, 1e-300)), axis=1)
        bound = np.zeros(groups.count + 1)
        bound += np.bincount(groups.of_worker, workers.log_evidence, groups.count + 1)
        bound += np.bincount(groups.of_task, entropy, groups.count + 1)
        solution = Solution(
            scores,
            posterior,
            workers.accuracy,
            workers.weight,
            converged,
            iterations,
            False,
            reliability_error=workers.error,
        )
        return solution, bound[: groups.count]


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """What expected agreements say about workers; arrays of shape (n_workers,).

    ``log_evidence`` is the log probability of the worker's votes, ``weight`` the expected log
    ratio of a vote, ``accuracy`` and ``error`` the posterior mean and standard deviation of alpha.
    """

    log_evidence: Floats
    weight: Floats
    accuracy: Floats
    error: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The prior of a worker on a grid; arrays of shape (n_nodes,).

    Attributes
    ----------
    log_prior : float array
    log_hit, log_miss : float array
        Log probability that a report that is an option is the truth, and that it is one particular
        other option.
    accuracy : float array
        Mean alpha of the node.
    """

    log_prior: Floats
    log_hit: Floats
    log_miss: Floats
    accuracy: Floats

    @classmethod
    def of(
        cls,
        accuracy_prior: tuple[float, float],
        mechanism: CategoricalMechanism | None,
        *,
        n_options: int,
        null_share: float,
    ) -> Grid:
        """Return the grid of alpha times the mechanism's flip probabilities.

        Only q matters to the votes, so a large product is grouped into at most 129 ranges of q.
        """
        mixture = NO_MASK if mechanism is None else mechanism.flip_mixture()
        a, b = accuracy_prior
        alpha = (np.arange(_ACCURACY_NODES) + 0.5) / _ACCURACY_NODES
        log_density = (a - 1) * np.log(alpha) + (b - 1) * np.log1p(-alpha)
        density = np.exp(log_density - log_density.max())
        prior = np.outer(density / density.sum(), mixture.weight).ravel()
        nodes = np.repeat(alpha, len(mixture.weight))
        flip = np.tile(mixture.flip_probability, _ACCURACY_NODES)
        others = max(n_options - 1, 1)
        if mechanism is not None and mechanism.null:
            hit = _hit_given_option(nodes, flip, null_share, n_options)
        else:
            hit = nodes * (1 - flip) + (1 - nodes) * flip / others
        prior, hit, nodes = _grouped(prior, hit, nodes)
        return cls(np.log(prior), np.log(hit), np.log1p(-hit) - np.log(others), nodes)

    def mean_hit(self) -> float:
        """Return the prior probability that a report is the truth."""
        return float(np.exp(self.log_prior) @ np.exp(self.log_hit))

    def workers(self, agreed: Floats, answers: Floats) -> Workers:
        """Return what `agreed` of `answers` votes say, for every worker."""
        out = np.empty((4, len(agreed)))
        ratio = self.log_hit - self.log_miss
        for start in range(0, len(agreed), _BLOCK):  # bounds the memory of workers x nodes
            block = slice(start, start + _BLOCK)
            log_joint = np.outer(agreed[block], ratio)
            log_joint += np.outer(answers[block], self.log_miss) + self.log_prior
            top = log_joint.max(axis=1, keepdims=True)
            joint = np.exp(np.subtract(log_joint, top, out=log_joint), out=log_joint)
            total = joint.sum(axis=1)
            out[0, block] = top[:, 0] + np.log(total)
            # equal evidence gives equal weight, whatever the order it was summed in
            out[1, block] = np.round(joint @ ratio / total, 10)
            out[2, block] = joint @ self.accuracy / total
            out[3, block] = joint @ self.accuracy**2 / total - out[2, block] ** 2
        out[3] = np.sqrt(np.maximum(out[3], 0))
        return Workers(*out)


def _hit_given_option(alpha: Floats, flip: Floats, null_share: float, options: int) -> Floats:
    """Return P(report is the truth | report is not null) under a channel with a null symbol."""
    other = flip / options  # each other symbol; options + 1 symbols in all
    gain = 1 - flip - other
    moved = null_share - other
    answered = 1 - np.clip(np.divide(moved, gain, out=np.zeros_like(gain), where=gain != 0), 0, 1)
    truth = answered * (alpha * (1 - flip) + (1 - alpha) * other) + (1 - answered) * other
    null = answered * other + (1 - answered) * (1 - flip)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = truth / (1 - null)
    # nobody answered and nothing is masked: there is no report to explain
    return np.clip(np.where(null < 1, hit, 1 / options), 1e-12, 1 - 1e-12)


def _grouped(prior: Floats, hit: Floats, accuracy: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the prior and the mean q and alpha of at most 129 equal ranges of q."""
    width = (hit.max() - hit.min()) / _MOST_NODES
    if len(prior) <= _ACCURACY_NODES or width == 0:
        kept = prior > 0  # a sharp prior vanishes far from its mode
        return prior[kept], hit[kept], accuracy[kept]
    place = np.minimum(((hit - hit.min()) / width).astype(np.int64), _MOST_NODES - 1)
    total: Floats = np.bincount(place, prior, _MOST_NODES).astype(np.float64)
    kept = total > 0
    means = (
        np.bincount(place, prior * x, _MOST_NODES)[kept] / total[kept] for x in (hit, accuracy)
    )
    hit, accuracy = means
    return total[kept], hit, accuracy


def _softmax(scores: Floats) -> Floats:
    odds = np.exp(scores - row_max(scores)[:, None])
    odds /= (odds @ np.ones(odds.shape[1]))[:, None]
    shares: Floats = odds
    return shares


def _merged(first: Solution, second: Solution, swapped: np.ndarray, groups: Components) -> Solution:
    """Return the second solution in the components that `swapped` marks, the first elsewhere."""
    if not swapped.any():
        return first
    task, worker = swapped[groups.of_task], swapped[groups.of_worker]
    assert first.reliability_error is not None
    assert second.reliability_error is not None
    return Solution(
        scores=np.where(task[:, None], second.scores, first.scores),
        posteriors=np.where(task[:, None], second.posteriors, first.posteriors),
        reliability=np.where(worker, second.reliability, first.reliability),
        weight=np.where(worker, second.weight, first.weight),
        converged=second.converged and (first.converged or bool(swapped[:-1].all())),
        iterations=max(first.iterations, second.iterations),
        orientation_ambiguous=False,
        reliability_error=np.where(worker, second.reliability_error, first.reliability_error),
    )
