"""The default method for categories: the model of workers that predicts held-out claims best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from masquerade.errors import NotFitted
from masquerade.exact.arrays import Floats
from masquerade.truth.bayesian_combination import BayesianCombination, too_many_options
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.confusions import Prediction
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import NOT_FITTED, check_positive
from masquerade.truth.expectation_maximization import ClaimBlocks, Crowd, VoteBlock
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.rare_labels import is_rare, rare_discount, rare_remarks
from masquerade.truth.samples import Split, TaskSample
from masquerade.truth.subtypes import Subtypes

Candidate = BayesianCombination | Subtypes | OneCoin


class _Remarked(Protocol):
    @property
    def remarks(self) -> tuple[Remark, ...]: ...


S = TypeVar("S", bound=_Remarked)

_SPLITS = 5  # at most
_ENOUGH = 10_000  # held-out claims, after which no further split is made
_FEW = 30  # held-out claims, below which more are held out
_MOST_CELLS = 10_000_000  # of confusions, above which nothing is compared
_ROUGHLY: dict[str, Any] = {"tolerance": 1e-2, "max_iterations": 25}  # enough to compare models by
#: Models of which one is the reference, by held-out claims alone, where a label is rare.
_REFERENCES = ("bayesian-combination", "one-coin")
_FALLBACKS = ("ONE_COIN", "PRIOR_ONLY", "MANY_OPTIONS")


@dataclass(eq=False, kw_only=True)
class Auto(CategoricalEstimator):
    """Choose a model of workers by how well it predicts claims that were held out: the default.

    `BayesianCombination` is taken unless another model predicts held-out claims better by more
    than `threshold` standard errors: `Subtypes`, which tells kinds of tasks apart, or, with three
    options or more, `BayesianCombination` with ``shrink="one-coin"``. Truths are never looked at.

    Where a label is rare, so that more than half of its votes are errors, each model is also fitted
    with that label's votes discounted, and `OneCoin` with learnt rates competes too. The reference
    is then the `BayesianCombination`, plain or discounted, that predicts held-out claims better.

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

    A label is rare by a fit of the crowd as one coin, with one hit probability and free shares of
    truths, to the distinct rows of votes: where its truths are less than half its votes and the fit
    is clearly better than with the votes' shares. Behind masks that leave less than .6 of a
    difference between answers (randomized response of two options below epsilon 1.4) no label is.

    **Cost**: three to six times `BayesianCombination`, twice that where a label is rare; most
    where the crowd is soon at rest; little more than once where the sample is a small share of the
    claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> fit = Auto().fit(table)
    >>> fit.truths_.to_pylist(), fit.chosen_.name
    ([{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}], 'bayesian-combination')
    """

    name: ClassVar[str] = "auto"
    streams: ClassVar[bool] = True

    threshold: float = 2.0
    _choice: Choice | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(threshold=self.threshold)

    def compares_options(self, n_workers: int, n_options: int) -> bool:
        """See `BayesianCombination.compares_options`."""
        return BayesianCombination().compares_options(n_workers, n_options)

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        choice, solution = self.choose(claims, lambda one: one.solve_blocks(claims))
        remarks = (*solution.remarks, *choice.remarks(claims.options))
        return replace(solution, remarks=remarks, selection=choice.table())

    def solve(self, problem: Problem) -> Solution:
        """Return the solution of the model chosen; see `CategoricalEstimator.solve`."""
        self._choice, solution = self.choose(problem, lambda method: method.solve(problem))
        remarks = (*solution.remarks, *self._choice.remarks(problem.options))
        return replace(solution, remarks=remarks)

    def choose(self, claims: ClaimBlocks, solve: Callable[[Candidate], S]) -> tuple[Choice, S]:
        """Return the choice for claims wherever they are, and the solution of the model chosen.

        `solve` returns the solution of a model for all claims.
        """
        crowd, n_options = claims.crowd, claims.crowd.n_options
        candidates = self._candidates(crowd, (1.0,) * n_options)
        discount = rare_discount(claims)
        if is_rare(discount):
            rare = self._candidates(crowd, discount)
            candidates = rare if len(rare) == 1 else (*candidates, *rare)
        if claims.has_known:
            candidates = candidates[:1]
        comparison = _Comparison.of(claims, len(candidates))
        gains, first = None, candidates[0]
        if is_rare(discount) and len(candidates) > 1:
            gains = comparison.gains(candidates)
            # The best reference; the discounted combination where nothing can be held out.
            references = [one for one in candidates if label(one) in _REFERENCES]
            first = references[1]
            if gains is not None:
                score = gains.score
                first = max(references, key=lambda one: score[candidates.index(one)])
        solution = None if comparison.sample else solve(first)
        remarks = comparison.remarks(first) if solution is None else solution.remarks
        if any(remark.code in _FALLBACKS for remark in remarks):
            candidates, gains = (first,), None
        elif gains is None and len(candidates) > 1:
            gains = comparison.gains(candidates)
        choice = Choice.of(candidates, candidates.index(first), gains, self.threshold)
        choice = replace(choice, sample=comparison.sample)
        if solution is None or choice.chosen is not first:
            solution = solve(choice.chosen)
        return choice, solution

    def _candidates(self, crowd: Crowd, discount: tuple[float, ...]) -> tuple[Candidate, ...]:
        first = BayesianCombination(discount=discount, ties=self.ties, seed=self.seed)
        s = crowd.n_options
        # Two subtypes of each truth: a worker has 2 s rows of s labels.
        many = 2 * len(crowd.answers) * s**2 > _MOST_CELLS or too_many_options(crowd)
        if s == 1 or many:
            return (first,)
        subtypes = Subtypes(discount=discount, ties=self.ties, seed=self.seed)
        # With two options the errors of a coin are all the errors there are.
        own = () if s == 2 else (replace(first, shrink="one-coin"),)
        coin = (OneCoin(discount=discount, ties=self.ties, seed=self.seed),)
        return first, subtypes, *own, *(coin if is_rare(discount) else ())

    @property
    def chosen_(self) -> Candidate:
        """The model chosen, not fitted itself."""
        return self._chosen().chosen

    @property
    def selection_(self) -> pa.Table:
        """Why the model was chosen: a row a candidate.

        ``candidate``, ``discounted``, ``score``, ``t``, ``chosen``, ``sample_tasks``,
        ``sample_claims``.

        The score is the mean log predictive probability of a held-out claim, in nats; ``t`` is how
        many standard errors it is above the reference's, whose own is 0. Null where nothing was
        compared. The last two columns count the tasks of the sample that they were compared on,
        with the answers on these; null where that was all claims.
        """
        return self._chosen().table()

    def _chosen(self) -> Choice:
        if self._choice is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._choice


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """The claims on which candidates are compared."""

    claims: ClaimBlocks
    sample: tuple[int, int] | None  # tasks and claims, where these are not all

    @classmethod
    def of(cls, claims: ClaimBlocks, candidates: int) -> _Comparison:
        if candidates == 1:
            return cls(claims, None)
        crowd, channel = claims.crowd, claims.crowd.channel
        signal = float(np.sqrt(channel.signal() ** 2 @ channel.mean_weight))
        sample = TaskSample.of(crowd.answers, crowd.n_options, signal)
        part = None if sample.is_whole else claims.sample(sample)
        if part is None:
            return cls(claims.sample(TaskSample.whole(crowd.answers)) or claims, None)
        tasks, n_claims = part.fold(_size)
        return cls(part, (int(tasks), int(n_claims)))

    def gains(self, candidates: Sequence[Candidate]) -> Gains | None:
        return _held_out_gains(candidates, self.claims)

    def remarks(self, first: Candidate) -> tuple[Remark, ...]:
        """Return the remarks of a model's fit of the sample."""
        if not isinstance(first, BayesianCombination):
            return ()
        found = first.conclude(self.claims)
        return (found,) if isinstance(found, Remark) else found.remarks


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A choice among models, with its evidence; arrays have an entry a candidate."""

    candidates: tuple[Candidate, ...]
    score: Floats  # mean log predictive probability of a held-out claim; NaN where not compared
    t: Floats  # standard errors above the reference's
    chosen: Candidate
    reference: Candidate
    sample: tuple[int, int] | None = None  # tasks and claims compared on, where not on all
    rare_t: float = np.nan  # standard errors of the chosen above the first model, undiscounted

    @classmethod
    def of(
        cls,
        candidates: tuple[Candidate, ...],
        reference: int,
        gains: Gains | None,
        threshold: float,
    ) -> Choice:
        """Choose by held-out claims; the reference unless another candidate is clearly better."""
        first = candidates[reference]
        nothing = np.full(len(candidates), np.nan)
        if gains is None or gains.claims < 2:
            return cls(candidates, nothing, nothing, first, first)
        t = gains.t(reference)
        better = np.where(t > threshold, gains.score, -np.inf)
        best = int(better.argmax()) if np.isfinite(better).any() else reference
        return cls(
            candidates, gains.score, t, candidates[best], first, rare_t=float(gains.t(0)[best])
        )

    def table(self) -> pa.Table:
        """Return the choice as a table; see `Auto.selection_`."""
        n = len(self.candidates)
        tasks, claims = (None, None) if self.sample is None else self.sample
        return pa.table(
            {
                "candidate": [label(one) for one in self.candidates],
                "discounted": [is_rare(one.discount) for one in self.candidates],
                "score": pa.array(self.score, from_pandas=True),
                "t": pa.array(self.t, from_pandas=True),
                "chosen": [one is self.chosen for one in self.candidates],
                "sample_tasks": pa.array([tasks] * n, pa.int64()),
                "sample_claims": pa.array([claims] * n, pa.int64()),
            }
        )

    def remarks(self, options: pa.Array) -> tuple[Remark, ...]:
        """Return the remarks on rare labels, and on another model than the reference."""
        rare: tuple[Remark, ...] = ()
        discount = self.chosen.discount
        if discount is not None and is_rare(discount):
            rare = rare_remarks(options, discount, self.rare_t)
        return (*rare, *self._other())

    def _other(self) -> tuple[Remark, ...]:
        """Return that another model than the reference was chosen, and how much better it is."""
        if self.chosen is self.reference:
            return ()
        place = next(i for i, one in enumerate(self.candidates) if one is self.chosen)
        text = f"{label(self.chosen)} predicts held-out claims better (t = {self.t[place]:.1f}"
        if self.sample is not None:
            text += ", on a sample of {:,} tasks with {:,} claims".format(*self.sample)
        return (Remark(_CODES[label(self.chosen)], f"{text})"),)


#: Remark of each model that may be chosen in place of the reference.
_CODES = {
    "subtypes": "SUBTYPES",
    "bayesian-combination, one-coin": "OWN_ACCURACY",
    "bayesian-combination": "BAYESIAN_COMBINATION",
    "one-coin": "ONE_COIN_CHOSEN",
}


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
    products: Floats  # sums of products of deviations of the gains, [candidate, candidate]

    @classmethod
    def of(cls, scores: Floats) -> Gains:
        """Return the moments of ``scores[candidate, claim]``."""
        gain = scores - scores[0]
        n = scores.shape[1]
        mean = gain.sum(axis=1) / max(n, 1)
        off = gain - mean[:, None]
        return cls(n, scores.sum(axis=1) / max(n, 1), mean, np.einsum("cn,dn->cd", off, off))

    def __add__(self, other: Gains) -> Gains:
        # Chan, Golub and LeVeque (1979): moments of two parts together
        n = self.claims + other.claims
        part, off = other.claims / max(n, 1), other.gain - self.gain
        return Gains(
            n,
            self.score + part * (other.score - self.score),
            self.gain + part * off,
            self.products + other.products + np.outer(off, off) * self.claims * part,
        )

    def t(self, reference: int) -> Floats:
        """Return how many standard errors each candidate's score is above the reference's."""
        own = np.diag(self.products)
        # Paired: all models predict the same claims, so what counts is the spread of differences.
        squares = own + own[reference] - 2 * self.products[reference]
        error = np.sqrt(np.maximum(squares, 0) / (self.claims - 1) / self.claims)
        gain = self.gain - self.gain[reference]
        t: Floats = np.divide(gain, error, out=np.zeros(len(error)), where=error > 1e-12)
        return t


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
