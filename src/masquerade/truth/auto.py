"""The default method for categories: the model of workers that predicts held-out claims best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from masquerade.errors import NotFitted
from masquerade.exact.arrays import Floats
from masquerade.truth.bayesian_combination import BayesianCombination
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.confusions import Prediction
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import NOT_FITTED, check_positive
from masquerade.truth.expectation_maximization import ClaimBlocks, Crowd, VoteBlock
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.samples import Split, TaskSample
from masquerade.truth.subtypes import Subtypes

Candidate = BayesianCombination | Subtypes


class _Remarked(Protocol):
    @property
    def remarks(self) -> tuple[Remark, ...]: ...


S = TypeVar("S", bound=_Remarked)

_SPLITS = 5  # at most
_ENOUGH = 10_000  # held-out claims, after which no further split is made
_FEW = 30  # held-out claims, below which more are held out
_MOST_CELLS = 10_000_000  # of confusions, above which nothing is compared
_ROUGHLY: dict[str, Any] = {"tolerance": 1e-2, "max_iterations": 25}  # enough to compare models by
_FALLBACKS = ("ONE_COIN", "PRIOR_ONLY", "MANY_OPTIONS")


@dataclass(eq=False, kw_only=True)
class Auto(CategoricalEstimator):
    """Choose a model of workers by how well it predicts claims that were held out: the default.

    `BayesianCombination` is taken unless another model predicts held-out claims better by more
    than `threshold` standard errors: `Subtypes`, which tells kinds of tasks apart, or, with three
    options or more, `BayesianCombination` with ``shrink="one-coin"``. Truths are never looked at.

    Parameters
    ----------
    threshold : float
        Standard errors of the mean difference, above 0.
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    A tenth of the claims on tasks of three or more is held out, a fifth of those on tasks of two or
    more where that gives fewer than 30, in up to five splits that share no held-out claim and
    follow from the names of tasks and workers. Each held-out claim is scored by the log of its
    predictive probability. Behind a mask claims are reports, and models predict these through it.

    From 400,000 claims on, models are compared on a sample of whole tasks that follows from the
    tasks' names: some 200,000 claims, but at least 1000 for the mean worker, and 40 for each pair
    of a truth and a label; behind a mask so many more as a report says less. With fewer claims a
    worker than that, a model with many numbers a worker seems worse than it is with all claims; so
    the sample is taken only where it is less than half of them. Then the model chosen alone is
    fitted to all claims. `selection_` has the size of the sample.

    With more than 10 million confusions, with known truths (`gold`), and where
    `BayesianCombination` itself falls back, nothing is compared.

    **Cost**: three to six times `BayesianCombination`, most where the crowd is soon at rest; little
    more than once where the sample is a small share of the claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> fit = Auto().fit(table)
    >>> fit.truths_.to_pylist(), fit.chosen_.name
    ([{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}], 'bayesian-combination')
    """

    name: ClassVar[str] = "auto"

    threshold: float = 2.0
    _choice: Choice | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(threshold=self.threshold)

    def solve(self, problem: Problem) -> Solution:
        """Return the solution of the model chosen; see `CategoricalEstimator.solve`."""
        self._choice, solution = self.choose(problem, lambda method: method.solve(problem))
        remarks = (*solution.remarks, *self._choice.remarks())
        return replace(solution, remarks=remarks)

    def choose(self, claims: ClaimBlocks, solve: Callable[[Candidate], S]) -> tuple[Choice, S]:
        """Return the choice for claims wherever they are, and the solution of the model chosen.

        `solve` returns the solution of a model for all claims.
        """
        first = BayesianCombination(ties=self.ties, seed=self.seed)
        crowd = claims.crowd
        candidates = (first,) if claims.has_known else self._candidates(first, crowd)
        channel = crowd.channel
        signal = float(np.sqrt(channel.signal() ** 2 @ channel.mean_weight))
        sample = TaskSample.of(crowd.answers, crowd.n_options, signal)
        part = None if sample.is_whole or len(candidates) == 1 else claims.sample(sample)
        if part is not None:
            found = first.conclude(part)
            remarks = (found,) if isinstance(found, Remark) else found.remarks
            choice = Choice.of(candidates, part, remarks, self.threshold)
            tasks, n_claims = part.fold(_size)
            choice = replace(choice, sample=(int(tasks), int(n_claims)))
            return choice, solve(choice.chosen)
        solution = solve(first)
        if len(candidates) > 1:
            claims = claims.sample(TaskSample.whole(crowd.answers)) or claims
        choice = Choice.of(candidates, claims, solution.remarks, self.threshold)
        return choice, solution if choice.chosen is first else solve(choice.chosen)

    def _candidates(self, first: BayesianCombination, crowd: Crowd) -> tuple[Candidate, ...]:
        s = crowd.n_options
        # Two subtypes of each truth: a worker has 2 s rows of s labels.
        if s == 1 or 2 * len(crowd.answers) * s**2 > _MOST_CELLS:
            return (first,)
        subtypes = Subtypes(ties=self.ties, seed=self.seed)
        # With two options the errors of a coin are all the errors there are.
        own = () if s == 2 else (replace(first, shrink="one-coin"),)
        return first, subtypes, *own

    @property
    def chosen_(self) -> Candidate:
        """The model chosen, not fitted itself."""
        return self._chosen().chosen

    @property
    def selection_(self) -> pa.Table:
        """Why the model was chosen: a row a candidate.

        ``candidate``, ``score``, ``t``, ``chosen``, ``sample_tasks``, ``sample_claims``.

        The score is the mean log predictive probability of a held-out claim, in nats; ``t`` is how
        many standard errors it is above the first candidate's. Null where nothing was compared. The
        last two columns count the tasks of the sample that they were compared on, with the answers
        on these; null where that was all claims.
        """
        return self._chosen().table()

    def _chosen(self) -> Choice:
        if self._choice is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._choice


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A choice among models, with its evidence; arrays have an entry a candidate."""

    candidates: tuple[Candidate, ...]
    score: Floats  # mean log predictive probability of a held-out claim; NaN where not compared
    t: Floats  # standard errors above the first candidate's
    chosen: Candidate
    sample: tuple[int, int] | None = None  # tasks and claims compared on, where not on all

    @classmethod
    def of(
        cls,
        candidates: tuple[Candidate, ...],
        claims: ClaimBlocks,
        remarks: Sequence[Remark],
        threshold: float,
    ) -> Choice:
        """Choose by held-out claims; the first candidate unless another is clearly better.

        Nothing is compared where the first candidate's `remarks` say that it fell back.
        """
        if any(remark.code in _FALLBACKS for remark in remarks):
            candidates = candidates[:1]
        nothing = np.full(len(candidates), np.nan)
        gains = _held_out_gains(candidates, claims) if len(candidates) > 1 else None
        if gains is None or gains.claims < 2:
            return cls(candidates, nothing, nothing, candidates[0])
        # Paired: all models predict the same claims, so what counts is the spread of the gains.
        error = np.sqrt(gains.squares / (gains.claims - 1) / gains.claims)
        t = np.divide(gains.gain, error, out=np.zeros(len(error)), where=error > 0)
        better = np.where(t > threshold, gains.score, -np.inf)
        best = int(better.argmax()) if np.isfinite(better).any() else 0
        return cls(candidates, gains.score, t, candidates[best])

    def table(self) -> pa.Table:
        """Return the choice as a table; see `Auto.selection_`."""
        n = len(self.candidates)
        tasks, claims = (None, None) if self.sample is None else self.sample
        return pa.table(
            {
                "candidate": [label(one) for one in self.candidates],
                "score": pa.array(self.score, from_pandas=True),
                "t": pa.array(self.t, from_pandas=True),
                "chosen": [one is self.chosen for one in self.candidates],
                "sample_tasks": pa.array([tasks] * n, pa.int64()),
                "sample_claims": pa.array([claims] * n, pa.int64()),
            }
        )

    def remarks(self) -> tuple[Remark, ...]:
        """Return that another model than the first was chosen, if so, and how much better it is."""
        place = self.candidates.index(self.chosen)
        if place == 0:
            return ()
        text = f"{label(self.chosen)} predicts held-out claims better (t = {self.t[place]:.1f}"
        if self.sample is not None:
            text += ", on a sample of {:,} tasks with {:,} claims".format(*self.sample)
        code = "SUBTYPES" if isinstance(self.chosen, Subtypes) else "OWN_ACCURACY"
        return (Remark(code, f"{text})"),)


def label(candidate: Candidate) -> str:
    """Return the name of a candidate in tables."""
    own = isinstance(candidate, BayesianCombination) and candidate.shrink == "one-coin"
    return f"{candidate.name}, one-coin" if own else candidate.name


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Moments of the scores of held-out claims; arrays have an entry a candidate."""

    claims: int
    score: Floats  # mean log predictive probability
    gain: Floats  # mean of how much that is above the first candidate's
    squares: Floats  # sum of squared deviations of the gains from their mean

    @classmethod
    def of(cls, scores: Floats) -> Gains:
        """Return the moments of ``scores[candidate, claim]``."""
        gain = scores - scores[0]
        n = scores.shape[1]
        mean = gain.sum(axis=1) / max(n, 1)
        squares = ((gain - mean[:, None]) ** 2).sum(axis=1)
        return cls(n, scores.sum(axis=1) / max(n, 1), mean, squares)

    def __add__(self, other: Gains) -> Gains:
        # Chan, Golub and LeVeque (1979): moments of two parts together
        n = self.claims + other.claims
        part, off = other.claims / max(n, 1), other.gain - self.gain
        return Gains(
            n,
            self.score + part * (other.score - self.score),
            self.gain + part * off,
            self.squares + other.squares + off**2 * self.claims * part,
        )


def _held_out_gains(candidates: Sequence[Candidate], claims: ClaimBlocks) -> Gains | None:
    """Return the moments over all splits; None where nothing can be held out."""
    folds, least = 10, 3
    kept = claims.without(Split(0, folds, least))
    if kept.fold(_unseen) < _FEW:
        folds, least = 5, 2
        kept = claims.without(Split(0, folds, least))
    # Few rounds do: models need not be at rest to be compared.
    rough = [replace(one, **_ROUGHLY) for one in candidates]
    gains: Gains | None = None
    for number in range(_SPLITS):
        kept = claims.without(Split(number, folds, least)) if number else kept
        if kept.fold(_unseen) and kept.crowd.answers.any():
            more = kept.fold(_scored, [one.predict_claims(kept) for one in rough])
            gains = more if gains is None else gains + more
        if gains is not None and gains.claims >= _ENOUGH:
            break
    return gains


def _size(block: VoteBlock) -> Floats:
    """Return the number of tasks and of claims."""
    votes = block.sorted_votes
    return np.array([votes.n_tasks, votes.of_task.sum()])


def _unseen(block: VoteBlock) -> int:
    return 0 if block.unseen is None else len(block.unseen)


def _scored(block: VoteBlock, predictions: Sequence[Prediction]) -> Gains:
    return Gains.of(np.stack([one.log_probability(block) for one in predictions]))
