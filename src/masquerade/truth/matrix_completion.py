"""Workers' skills from how often they agree in pairs: robust rank-one matrix completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import check_iteration
from masquerade.truth.expectation_maximization import vote_shares
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.votes import Votes

_MOST_POWER_STEPS = 500


@dataclass(eq=False, kw_only=True)
class MMSR(CategoricalEstimator):
    """Weigh votes by skills that explain how often workers agree in pairs (M-MSR).

    Agreement beyond chance of two workers is the product of their skills. The skills that fit best
    are found with each worker's most deviating co-workers left out, so that some workers who answer
    out of malice do not spoil the skills of the others.

    Parameters
    ----------
    max_iterations : int
        Most iterations, at least 1.
    tolerance : float
        Iteration ends when the matrix of products changes by less (Frobenius norm), above 0.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        Fixes the start, on which the skills depend a little, and the choice among tied options.

    Notes
    -----
    Ma and Olshevsky, "Adversarial crowdsourcing through robust rank-one matrix completion",
    NeurIPS 2020, Algorithms 1 and 2. Where we differ: signs of
    skills are those of the leading eigenvector of the agreements, and pairs without a common task
    say nothing of them (crowd-kit takes such pairs for disagreement); the number of co-workers left
    out is never negative. Known truths are kept as labels, and skills do not use them.

    A mechanism is checked against the claims and otherwise not used: skills and weights are of
    reports, and reports are what is weighed. ``reliability_`` is the estimated accuracy of reports,
    ``weight`` its log odds against one other option; ``posteriors_`` are shares of weighted votes.

    **Cost**: memory quadratic in workers, each iteration a sort of such a matrix.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a", "b", "b", "b"], "worker": ["x", "y", "z"] * 2,
    ...          "label": ["no", "yes", "yes", "yes", "no", "no"]}
    >>> MMSR().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'yes'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "mmsr"

    max_iterations: int = 10_000
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def solve(self, problem: Problem) -> Solution:
        """Return sums of log odds; see `CategoricalEstimator.solve`."""
        votes = problem.votes
        k, tasks = max(votes.n_options, 2), max(votes.n_tasks, 1)
        agreement, observed = agreements(votes)
        size, losses, converged = magnitudes(
            np.abs(agreement),
            observed,
            np.random.RandomState(self.seed % (1 << 32)).random_sample(votes.n_workers),
            tasks,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        # Agreement of two is the product of their skills, so that its size and sign are found
        # apart.
        skill = size * signs(agreement)
        # A skill is 1 for who is always right and -1 / (k - 1) for who never is; kept off the ends.
        skill = np.clip(skill, 1 / np.sqrt(tasks) - 1 / (k - 1), 1 - 1 / np.sqrt(tasks))
        accuracy = np.clip(skill * (k - 1) / k + 1 / k, 1e-9, 1 - 1e-9)
        # log((k - 1) p / (1 - p)): the weight that is best where errors are even
        weight = np.log((k - 1) * accuracy / (1 - accuracy))
        if not weight.any():
            weight = np.ones(votes.n_workers)  # nothing is known of anybody: plain votes
        scores = votes.score(weight)
        return Solution(
            scores=scores,
            posteriors=problem.anchored(vote_shares(scores)),
            reliability=accuracy,
            weight=weight,
            converged=converged,
            iterations=max(len(losses), 1),
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
            losses=losses,
        )


def agreements(votes: Votes) -> tuple[Floats, Flags]:
    """Return ``agreement[worker, worker]`` beyond chance, and which pairs have a common task.

    Ma and Olshevsky (2020), eq. 1: k / (k - 1) times the share of common tasks with the same label,
    less 1 / (k - 1). 0 without a common task.
    """
    k = max(votes.n_options, 2)
    cells: Any = votes.matrix
    row = np.repeat(np.arange(cells.shape[0]) // max(votes.n_options, 1), np.diff(cells.indptr))
    answered = sparse.coo_array(
        (cells.data, (row, cells.indices)), shape=(votes.n_tasks, votes.n_workers)
    ).tocsr()
    # same, common[worker, worker]: tasks on which two agree, and that both answered
    same = (cells.T @ cells).toarray()
    common = (answered.T @ answered).toarray()
    np.fill_diagonal(common, 0)
    observed = common > 0
    share = np.divide(same, common, out=np.zeros_like(same), where=observed)
    return np.where(observed, (k * share - 1) / (k - 1), 0.0), observed


def magnitudes(
    target: Floats,
    observed: Flags,
    start: Floats,
    tasks: int,
    *,
    max_iterations: int,
    tolerance: float,
) -> tuple[Floats, tuple[float, ...], bool]:
    """Return u >= 0 with u u' close to `target` where observed, the changes, and if it converged.

    M-MSR, Ma and Olshevsky (2020), Algorithm 1: the two sides u v' are fitted in turn.
    """
    degree = observed.sum(axis=1)
    met = degree[degree > 0]
    # The graph of pairs is as robust as its least connected worker.
    trimmed = max(int(met.min() if len(met) else 0) // 2 - 1, 0)
    u = v = start
    losses: list[float] = []
    converged = False
    while not converged and len(losses) < max_iterations:
        # Both sides look the same way: `target` is symmetric.
        new_v = trimmed_means(ratios(target, observed, u), v, trimmed, tasks)
        new_u = trimmed_means(ratios(target, observed, new_v), u, trimmed, tasks)
        # Of the product: u and v alone may drift by a factor.
        change = float(np.linalg.norm(np.outer(new_u, new_v) - np.outer(u, v)))
        u, v = new_u, new_v
        losses.append(change)
        converged = change < tolerance
    # u v' is unchanged by factors; both sides get the same norm.
    norm_u, norm_v = np.linalg.norm(u), np.linalg.norm(v)
    balance = np.sqrt(norm_v / norm_u) if norm_u > 0 and norm_v > 0 else 1.0
    return u * balance, tuple(losses), converged


def ratios(target: Floats, observed: Flags, other: Floats) -> Floats:
    """Return what each co-worker says a worker's side is: a row a worker, sorted, NaN at the end.

    A co-worker whose own side is 0 says nothing.
    """
    said = np.full(target.shape, np.nan)
    np.divide(target, other, out=said, where=observed & (other != 0))
    return np.sort(said, axis=1)


def trimmed_means(said: Floats, old: Floats, trimmed: int, tasks: int) -> Floats:
    """Return the mean of each row without the `trimmed` values farthest below and above `old`.

    Ma and Olshevsky (2020), Algorithm 1, step 4: of values below the old one, the smallest are left
    out, all where there are fewer; of those above likewise.
    """
    # At most so many of the ratios on each side of the old value are left out: a few liars move
    # nothing.
    below = (said < old[:, None]).sum(axis=1)
    above = (said > old[:, None]).sum(axis=1)
    first = np.minimum(below, trimmed)
    end = (~np.isnan(said)).sum(axis=1) - np.minimum(above, trimmed)
    place = np.arange(said.shape[1])
    kept = (place >= first[:, None]) & (place < end[:, None])
    count = kept.sum(axis=1)
    total = np.where(kept, said, 0.0).sum(axis=1)
    mean = np.divide(total, count, out=old.copy(), where=count > 0)
    # A single 0 would stay for ever.
    return np.asarray(np.where((count == 1) & (mean == 0), 1 / np.sqrt(tasks), mean))


def signs(agreement: Floats) -> Floats:
    """Return each worker's sign, 1 or -1, most of them 1.

    Skills have the signs of the leading eigenvector of their products; workers who are better than
    chance are the majority (Ma and Olshevsky, 2020, section 4).
    """
    n = len(agreement)
    # Power iteration on a matrix shifted to have no negative eigenvalue, from an even start.
    shift = float(np.abs(agreement).sum(axis=1).max(initial=0))
    vector = np.full(n, 1 / np.sqrt(max(n, 1)))
    for _ in range(_MOST_POWER_STEPS):
        new = agreement @ vector + shift * vector
        norm = np.linalg.norm(new)
        if norm == 0:
            break
        new /= norm
        settled = bool((np.sign(new) == np.sign(vector)).all()) and np.allclose(
            new, vector, rtol=0, atol=1e-9
        )
        vector = new
        if settled:
            break
    sign = np.where(vector < 0, -1.0, 1.0)
    # Both signs explain the agreements; of the two most workers are taken to be right.
    return np.asarray(sign if sign.sum() >= 0 else -sign)
