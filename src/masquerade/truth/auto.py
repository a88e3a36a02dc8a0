"""The default method for categories: the model of workers that predicts held-out claims best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims
from masquerade.errors import NotFitted
from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.bayesian_combination import BayesianCombination
from masquerade.truth.categorical import CategoricalEstimator, Problem, Solution
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import NOT_FITTED, check_positive
from masquerade.truth.subtypes import Subtypes
from masquerade.truth.ties import uniform_by_claim

Candidate = BayesianCombination | Subtypes

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

    With more than 10 million confusions, with known truths (`gold`), and where
    `BayesianCombination` itself falls back, nothing is compared.

    **Cost**: three to six times `BayesianCombination`, most where the crowd is soon at rest.

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
        first = BayesianCombination(ties=self.ties, seed=self.seed)
        solution = first.solve(problem)
        fallen_back = any(remark.code in _FALLBACKS for remark in solution.remarks)
        candidates: tuple[Candidate, ...] = (first,)
        s = problem.votes.n_options
        compared = not fallen_back and not (problem.gold >= 0).any() and s > 1
        # Two subtypes of each truth: a worker has 2 s rows of s labels.
        if compared and 2 * problem.votes.n_workers * s**2 <= _MOST_CELLS:
            candidates = (first, Subtypes(ties=self.ties, seed=self.seed))
            # With two options the errors of a coin are all the errors there are.
            if s > 2:
                candidates = (*candidates, replace(first, shrink="one-coin"))
        self._choice = Choice.of(candidates, problem, self.threshold)
        if self._choice.chosen is first:
            return solution
        solution = self._choice.chosen.solve(problem)
        return replace(solution, remarks=(*solution.remarks, self._choice.remark()))

    @property
    def chosen_(self) -> Candidate:
        """The model chosen, not fitted itself."""
        return self._chosen().chosen

    @property
    def selection_(self) -> pa.Table:
        """``candidate``, ``score``, ``t``, ``chosen``: why the model was chosen.

        The score is the mean log predictive probability of a held-out claim, in nats; ``t`` is how
        many standard errors it is above the first candidate's. Null where nothing was compared.
        """
        choice = self._chosen()
        return pa.table(
            {
                "candidate": [label(one) for one in choice.candidates],
                "score": pa.array(choice.score, from_pandas=True),
                "t": pa.array(choice.t, from_pandas=True),
                "chosen": [one is choice.chosen for one in choice.candidates],
            }
        )

    def _chosen(self) -> Choice:
        if self._choice is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._choice


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A choice among models, with what it rests on; arrays have an entry a candidate."""

    candidates: tuple[Candidate, ...]
    score: Floats  # mean log predictive probability of a held-out claim; NaN where not compared
    t: Floats  # standard errors above the first candidate's
    chosen: Candidate

    @classmethod
    def of(cls, candidates: tuple[Candidate, ...], problem: Problem, threshold: float) -> Choice:
        """Choose by held-out claims; the first candidate unless another is clearly better."""
        nothing = np.full(len(candidates), np.nan)
        scores = _held_out_scores(candidates, problem) if len(candidates) > 1 else nothing[:, None]
        if scores.shape[1] < 2:
            return cls(candidates, nothing, nothing, candidates[0])
        gain = scores - scores[0]
        # Paired: all models predict the same claims, so what counts is the spread of the gains.
        error = gain.std(axis=1, ddof=1) / np.sqrt(gain.shape[1])
        t = np.divide(gain.mean(axis=1), error, out=np.zeros(len(gain)), where=error > 0)
        mean = scores.mean(axis=1)
        better = np.where(t > threshold, mean, -np.inf)
        best = int(better.argmax()) if np.isfinite(better).any() else 0
        return cls(candidates, mean, t, candidates[best])

    def remark(self) -> Remark:
        """Return that another model than the first was chosen, and by how much it is better."""
        t = self.t[self.candidates.index(self.chosen)]
        text = f"{label(self.chosen)} predicts held-out claims better (t = {t:.1f})"
        code = "SUBTYPES" if isinstance(self.chosen, Subtypes) else "OWN_ACCURACY"
        return Remark(code, text)


def label(candidate: Candidate) -> str:
    """Return what a candidate is called in tables."""
    own = isinstance(candidate, BayesianCombination) and candidate.shrink == "one-coin"
    return f"{candidate.name}, one-coin" if own else candidate.name


def _held_out_scores(candidates: Sequence[Candidate], problem: Problem) -> Floats:
    """Return ``score[candidate, held-out claim]`` over all splits."""
    claims = problem.answered
    folds, least = 10, 3
    if fold(claims, 0, folds=folds, least=least).sum() < _FEW:
        folds, least = 5, 2
    # Few rounds do: models need not be at rest to be compared.
    rough = [replace(one, **_ROUGHLY) for one in candidates]
    scores = [np.zeros((len(candidates), 0))]
    for split in range(_SPLITS):
        rows = fold(claims, split, folds=folds, least=least)
        kept = replace(problem, claims=claims.among(~rows), progress=None)
        unseen = claims.among(rows)
        if len(unseen) and len(kept.claims):
            scores.append(
                np.stack([one.predict_claims(kept).log_probability(unseen) for one in rough])
            )
        if sum(part.shape[1] for part in scores) >= _ENOUGH:
            break
    return np.concatenate(scores, axis=1)


def fold(claims: Claims, number: int, *, folds: int, least: int) -> Flags:
    """Return one of several disjoint folds of the claims on tasks of `least` claims or more."""
    of_task = np.bincount(claims.task, minlength=claims.n_tasks)
    # By the names in a claim, so that neither the order of rows nor other claims move it to another
    # fold.
    place = (uniform_by_claim(claims, 0) * folds).astype(np.int64)
    return np.asarray((of_task[claims.task] >= least) & (place == number))
