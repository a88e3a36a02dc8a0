"""Where iterations start: plain votes, or what gold labels say of the crowd."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.truth.ballots import judge_tasks
from masquerade.truth.problem import Problem, vote_shares

_FIRST_ACCURACY = 0.65
_STRENGTH = 2.0


def first_posterior(problem: Problem) -> Floats:
    """Return ``posterior[task, option]`` to start from.

    Without gold labels: the shares of votes, freed from the mask. With them: what votes say when
    each worker's confusions are counted on the gold tasks, next to two answers of the crowd's own,
    so that a crowd that is mostly wrong is turned around.
    """
    if not (problem.gold >= 0).any():
        return problem.mask.unmasked(vote_shares(problem.votes.count()))
    s = problem.votes.n_options
    known = problem.anchored(np.zeros((problem.votes.n_tasks, s)))
    counts = problem.ballots.counts(known)
    channel = np.tensordot(problem.mask.weight, problem.mask.channels(), 1)
    guess = np.full((s, s), (1 - _FIRST_ACCURACY) / max(s - 1, 1))
    np.fill_diagonal(guess, _FIRST_ACCURACY if s > 1 else 1.0)
    crowd = counts.sum(axis=0) + _STRENGTH * (guess @ channel)
    crowd /= crowd.sum(axis=1, keepdims=True)
    table = counts + _STRENGTH * crowd
    table /= table.sum(axis=2, keepdims=True)
    posterior, _ = judge_tasks(
        problem.ballots, np.log(np.maximum(table, 1e-10)), np.zeros(s), problem.gold
    )
    return posterior
