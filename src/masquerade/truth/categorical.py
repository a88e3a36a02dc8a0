"""What every method for categories can do, on top of `Estimator`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import CategoricalMechanism, FlipMixture, Mechanism
from masquerade.truth.components import components
from masquerade.truth.estimator import Estimator, Kind
from masquerade.truth.ties import Ties, best, chances, check_ties, pick
from masquerade.truth.votes import Floats, Votes


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a method for categories found.

    Attributes
    ----------
    scores, posteriors : float array, shape (n_tasks, n_options)
        The highest score wins; rows of `posteriors` sum to 1.
    reliability, weight : float array, shape (n_workers,)
        Estimated accuracy of a worker, 0 to 1, and what the worker's votes count.
    converged : bool
    iterations : int
    orientation_ambiguous : bool
    """

    scores: Floats
    posteriors: Floats
    reliability: Floats
    weight: Floats
    converged: bool
    iterations: int
    orientation_ambiguous: bool


@dataclass(eq=False, kw_only=True)
class CategoricalEstimator(Estimator):
    """Base of the methods for categories.

    Parameters
    ----------
    ties : {"random", "first", "abstain"}
        Which label a task gets whose best score is shared by several options: one at random, the
        first in the order of the options, or none.
    seed : int
        Fixes the random choice among tied options; nothing else is random.
    """

    kind: ClassVar[Kind] = "categorical"

    ties: Ties = "random"
    seed: int = 0
    _found: Fitted | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_ties(self.ties, self.seed)

    @abstractmethod
    def _solve(
        self, votes: Votes, claims: Claims, mechanism: CategoricalMechanism | None
    ) -> Solution:
        """Return what the method makes of the votes."""

    def _learn(self, claims: Claims, mechanism: Mechanism | None) -> None:
        if not isinstance(mechanism, CategoricalMechanism | None):
            raise ParameterError(f"{mechanism} does not mask categories; choose a numeric method.")
        votes = Votes.of(claims)
        solution = self._solve(votes, claims, mechanism)
        self._found = Fitted(claims, votes, solution, self.ties, self.seed)

    @property
    def _fitted(self) -> Fitted:
        claims = self.claims_  # raises where nothing is fitted
        assert self._found is not None
        assert claims is self._found.claims
        return self._found

    @property
    def truths_(self) -> pa.Table:
        """The labels found: ``task``, ``label``; null for a task without any answer."""
        return self._fitted.truths

    @property
    def posteriors_(self) -> pa.Table:
        """``task``, then one column per option; each row sums to 1.

        Probabilities from `OneCoin`. From `MajorityVote` and `TruthDiscovery` they are shares of
        the (weighted) votes, which order options and measure agreement but are not calibrated.
        """
        return self._fitted.posteriors

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims`` (answers counted), ``reliability`` (0 to 1), ``weight``.

        The reliability is the estimated probability that the worker's report is the truth; from
        `OneCoin`, that the worker's answer is. A worker with 0 claims has the prior's.
        """
        return self._fitted.reliability

    @property
    def scores_(self) -> Floats:
        """What decides, ``scores_[task, option]``, in the order of ``claims_``."""
        return self._fitted.solution.scores

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Code of each task's label in ``claims_.options``, shape (n_tasks,); -1 for none."""
        return self._fitted.labels

    @property
    def chances_(self) -> Floats:
        """Probability that the tie rule gives each label, ``chances_[task, option]``.

        1 for the winner; 1/r where r options tie and ``ties="random"``; a row of zeros where no
        label is given.
        """
        return self._fitted.chances

    @property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered (all reports are "no answer")."""
        fitted = self._fitted
        return fitted.claims.tasks.take(pa.array(np.flatnonzero(fitted.votes.undecided())))

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return self._fitted.components

    @property
    def orientation_ambiguous_(self) -> bool:
        """Whether labels are known only up to swapping all of them (of a component).

        So with two options where a report is as likely to be flipped as not, for instance when
        the flip probability is drawn from U(0, 1).
        """
        return self._fitted.solution.orientation_ambiguous

    @property
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""
        return self._fitted.solution.converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done."""
        return self._fitted.solution.iterations


@dataclass(frozen=True, eq=False)
class Fitted:
    """A solution with the claims it is of; tables are built when asked for."""

    claims: Claims
    votes: Votes
    solution: Solution
    ties: Ties
    seed: int

    @cached_property
    def components(self) -> int:
        """Return the number of connected components."""
        return components(self.claims).count

    @cached_property
    def winners(self) -> NDArray[np.bool_]:
        """Return which options share the best score."""
        return winners(self.votes, self.solution.scores)

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """Return the code of each task's label, -1 for none."""
        return pick(self.winners, self.claims, ties=self.ties, seed=self.seed)

    @cached_property
    def chances(self) -> Floats:
        """Return the probability that the tie rule gives each label."""
        return chances(self.winners, ties=self.ties)

    @cached_property
    def truths(self) -> pa.Table:
        """Return ``task`` and ``label``."""
        assert self.claims.options is not None
        codes = pa.array(self.labels, mask=self.labels < 0)
        return pa.table({"task": self.claims.tasks, "label": self.claims.options.take(codes)})

    @cached_property
    def posteriors(self) -> pa.Table:
        """Return ``task`` and one column per option."""
        assert self.claims.options is not None
        columns = [self.claims.tasks, *map(pa.array, self.solution.posteriors.T)]
        names = ["task", *map(str, self.claims.options.to_pylist())]
        return pa.Table.from_arrays(columns, names=names)

    @cached_property
    def reliability(self) -> pa.Table:
        """Return ``worker``, ``claims``, ``reliability`` and ``weight``."""
        return pa.table(
            {
                "worker": self.claims.workers,
                "claims": self.votes.of_worker.astype(np.int64),
                "reliability": self.solution.reliability,
                "weight": self.solution.weight,
            }
        )


def winners(votes: Votes, scores: Floats) -> NDArray[np.bool_]:
    """Return which options share the best score of a task; none where nobody voted."""
    return best(scores) & ~votes.undecided()[:, None]


def vote_shares(scores: Floats) -> Floats:
    """Return each option's share of a task's weighted votes; rows sum to 1.

    Where weights below 0 make a score negative, the row is lifted so that its lowest score is 0: a
    vote against one option of two is a vote for the other.
    """
    lifted = scores - np.minimum(scores.min(axis=1, keepdims=True), 0)
    total = lifted.sum(axis=1, keepdims=True)
    even = np.full_like(lifted, 1 / lifted.shape[1])
    shares: Floats = np.divide(lifted, total, out=even, where=total > 0)
    return shares


def is_symmetric(mixture: FlipMixture | None) -> bool:
    """Return whether a flip probability p is as likely as 1 - p (never without a mechanism)."""
    if mixture is None:
        return False
    off = mixture.flip_probability - 0.5
    return all(abs(float(mixture.weight @ off**k)) < 1e-9 for k in (1, 3, 5))


def ambiguous(votes: Votes, mechanism: CategoricalMechanism | None) -> bool:
    """Return whether the mechanism leaves two options exchangeable."""
    mixture = None if mechanism is None else mechanism.flip_mixture()
    return votes.n_options == 2 and is_symmetric(mixture)
