"""The Dawid-Skene family: each worker's confusions by expectation-maximization."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy.special import digamma

from masquerade.exact.arrays import Floats
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.confusions import (
    FIRST_ACCURACY,
    LEAST,
    ConfusionModel,
    LabelWeights,
    even_confusion,
)
from masquerade.truth.estimator import check_iteration, check_not_negative, check_positive
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    Crowd,
    Parameters,
    SufficientStatistics,
)
from masquerade.truth.problem import Problem, Solution

_ROUNDS = 10  # of the inner loop of MACE
_HABIT_PRIOR = 10.0  # pseudo-answers of each label in a worker's habits


@dataclass(eq=False, kw_only=True)
class DawidSkene(CategoricalEstimator):
    """Find truths and each worker's confusion matrix in turn, from plain votes.

    Parameters
    ----------
    max_iterations : int
        Most iterations, at least 1.
    tolerance : float
        Iteration ends when the log-likelihood of a claim grows by less, at least 0.
    smoothing : float
        Pseudo-answers for every entry of a confusion matrix, at least 0. 0 is maximum likelihood,
        which is what crowd-kit computes. Where workers repeat claims its bound falls, though, and
        it stops after two iterations.
    ties, seed
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
    confusions: ClassVar[int] = 1
    streams: ClassVar[bool] = True

    max_iterations: int = 100
    tolerance: float = 1e-5
    smoothing: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations)
        check_not_negative(tolerance=self.tolerance, smoothing=self.smoothing)

    def confusion(self, credit: Floats) -> Floats:
        """Return confusion matrices of credited answers: Dawid and Skene (1979)."""
        smooth = credit + self.smoothing
        # Without any answer of a truth, maximum likelihood says nothing: even.
        total = smooth.sum(axis=2, keepdims=True)
        even = np.full_like(smooth, 1 / credit.shape[2])
        return np.asarray(np.divide(smooth, total, out=even, where=total > 0))

    def first_confusion(self, credit: Floats) -> Floats:
        """Return the confusion matrices of the first M-step."""
        return self.confusion(credit)

    def priors(self, statistics: SufficientStatistics) -> Floats:
        """Return how often each truth holds: Dawid and Skene (1979)."""
        return np.asarray(statistics.totals / max(statistics.totals.sum(), 1e-300))

    def extra(self, credit: Floats) -> dict[str, Floats]:
        """Return the model's own parameters."""
        return {}

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        return BlockSolution.fitted(claims, DawidSkeneModel(self, claims.crowd))

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and confusions; see `CategoricalEstimator.solve`."""
        model = DawidSkeneModel(self, problem.crowd)
        result = problem.fit(model)
        confusion, priors = result.parameters.state
        return replace(
            problem.solution(model, result),
            confusion=confusion,
            priors=priors,
            extra=self.extra(expected_answers(result.statistics.counts, confusion, model.channel)),
        )


class DawidSkeneModel(ConfusionModel):
    """Dawid-Skene and its kin; the state is the confusions and how often each truth holds."""

    # Iteration ends by the likelihood, so earlier posteriors need not be worked out again.
    compares = False

    def __init__(self, method: DawidSkene, crowd: Crowd) -> None:
        # The model is sent to every block: without the claims of an earlier fit.
        self.method = method.unfitted()
        self.channel, self.n_answers = crowd.channel, crowd.n_answers
        self.tolerance, self.max_iterations = method.tolerance, method.max_iterations

    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """Return confusions of answers and truths' shares: Dawid and Skene (1979)."""
        confusion = None if earlier is None else earlier.state[0]
        priors = self.method.priors(statistics)
        answers = expected_answers(statistics.counts, confusion, self.channel)
        estimate = self.method.first_confusion if earlier is None else self.method.confusion
        confusion = estimate(answers)
        table = log_reports(statistics.counts, confusion, self.channel)
        return Parameters(LabelWeights.of(table, priors), (confusion, priors))

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return how often answers are true, and mean log ratios of votes."""
        confusion, priors = parameters.state
        hit = np.einsum("waa->wa", confusion)
        return np.clip(hit @ priors, 0, 1), parameters.message.mean_log_ratio(priors)

    def objective(self, statistics: SufficientStatistics, parameters: Parameters) -> float:
        """Return the log-likelihood of a claim: Dawid and Skene (1979)."""
        return statistics.log_likelihood / self.n_answers

    def converged(self, statistics: SufficientStatistics, objectives: list[float]) -> bool:
        """Return whether the log-likelihood of a claim hardly grew."""
        return len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) < self.tolerance


@dataclass(eq=False, kw_only=True)
class OneCoinDawidSkene(DawidSkene):
    """Dawid-Skene with one accuracy a worker, the same for all truths; errors are even.

    `OneCoin` has the same model with a prior and integrates accuracies out.

    Parameters
    ----------
    max_iterations, tolerance, smoothing, ties, seed
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

    def confusion(self, credit: Floats) -> Floats:
        """Return confusion matrices of one accuracy each."""
        s = credit.shape[2]
        # Pooled over truths: one accuracy is the credited share of right answers.
        agreed = np.einsum("waa->w", credit) + self.smoothing
        total = credit.sum(axis=(1, 2)) + 2 * self.smoothing
        right = np.divide(agreed, total, out=np.full_like(agreed, 1 / s), where=total > 0)
        return even_confusion(right[:, None], s)


@dataclass(eq=False, kw_only=True)
class MACE(DawidSkene):
    """Tell spammers apart: with every answer a worker either gives the truth, or a habitual label.

    A worker knows the truth with the worker's own probability, and otherwise draws a label from
    the worker's own habits, whatever the task. ``knowing_`` and ``habits_`` are those
    probabilities: a worker of low `knowing_` spams.

    Parameters
    ----------
    max_iterations : int
        Most iterations, at least 1.
    tolerance : float
        Iteration ends when the log-likelihood of a claim changes by less, at least 0.
    alpha, beta : float
        Prior of knowing and of not knowing, as pseudo-answers, above 0.
    smoothing : float
        Not used.
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    Hovy et al., "Learning whom to trust with MACE", NAACL 2013, its variational version. Where we
    differ: the only start is the votes instead of random ones, so results are the same every time.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> MACE().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "mace"

    max_iterations: int = 50
    alpha: float = 0.5
    beta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(alpha=self.alpha, beta=self.beta)

    def priors(self, statistics: SufficientStatistics) -> Floats:
        """Return the even distribution: MACE has no prior of truths."""
        return np.full(len(statistics.totals), 1 / len(statistics.totals))

    def confusion(self, credit: Floats) -> Floats:
        """Return P(label | truth) of knowing or answering out of habit."""
        knowing, habit = self._habits(credit)
        s = credit.shape[2]
        # P(label | truth) = knowing [label = truth] + (1 - knowing) habit[label]
        table = np.broadcast_to(((1 - knowing)[:, None] * habit)[:, None, :], credit.shape).copy()
        table[:, np.arange(s), np.arange(s)] += knowing[:, None]
        return np.asarray(table / table.sum(axis=2, keepdims=True))

    def extra(self, credit: Floats) -> dict[str, Floats]:
        """Return how often workers know, and their habits."""
        knowing, habit = self._habits(credit)
        return {"knowing": knowing, "habits": habit}

    @property
    def knowing_(self) -> pa.Table:
        """``worker``, ``knowing``: how often a worker knows the truth."""
        return pa.table({"worker": self.claims_.workers, "knowing": self._parameter("knowing")})

    @property
    def habits_(self) -> pa.Table:
        """``worker``, then a column a label: a worker's rate of each label without knowing."""
        columns = [self.claims_.workers, *(pa.array(c) for c in self._parameter("habits").T)]
        assert self.claims_.options is not None
        names = ["worker", *map(str, self.claims_.options.to_pylist())]
        return pa.Table.from_arrays(columns, names)

    def _parameter(self, name: str) -> Floats:
        extra = self.solution_.extra
        assert extra is not None
        return extra[name]

    def _habits(self, credit: Floats) -> tuple[Floats, Floats]:
        """Return P(knows), shape (n_workers,), and P(label | does not), (n_workers, n_options)."""
        right, labels = np.einsum("waa->wa", credit), credit.sum(axis=1)
        total = labels.sum(axis=1)
        # Start: a right answer is as likely known as habitual.
        known = right / 2
        for _ in range(_ROUNDS):
            knowing, habit = self._expected(known, labels, total)
            # P(the worker knew | a right label): a wrong one was surely out of habit
            odds = knowing[:, None] / (knowing[:, None] + (1 - knowing)[:, None] * habit)
            known = right * odds
        return self._expected(known, labels, total)

    def _expected(self, known: Floats, labels: Floats, total: Floats) -> tuple[Floats, Floats]:
        """Return geometric means of the two kinds of parameters, each made to sum to 1."""
        # Variational M-step (Johnson, 2007): exp(digamma(n + prior)) in place of n.
        yes = np.exp(digamma(known.sum(axis=1) + self.alpha))
        no = np.exp(digamma(total - known.sum(axis=1) + self.beta))
        habit = np.exp(digamma(labels - known + _HABIT_PRIOR))
        return yes / (yes + no), habit / habit.sum(axis=1, keepdims=True)


def flip_posteriors(counts: Floats, confusion: Floats, mask: OptionChannel) -> Floats:
    """Return ``share[worker, node]``: how probable each flip probability is."""
    if len(mask.flip) == 1:
        return np.ones((len(counts), 1))
    # fit[worker, node] = sum over truths and labels of count * ln P(label | truth, flip)
    fit = np.stack(
        [
            (counts * np.log(np.maximum(confusion @ channel, LEAST))).sum(axis=(1, 2))
            for channel in mask.channels()
        ],
        axis=1,
    )
    with np.errstate(divide="ignore"):
        fit += np.log(mask.weight)
    share = np.exp(fit - fit.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def expected_answers(counts: Floats, confusion: Floats | None, mask: OptionChannel) -> Floats:
    """Return expected answers ``answer[worker, truth, answer]`` from counts of reports."""
    if mask.is_clear:
        return counts
    if confusion is None:  # mostly right at first, else nothing could be learnt of who is
        confusion = np.broadcast_to(even_confusion(FIRST_ACCURACY, mask.n_options), counts.shape)
    share = flip_posteriors(counts, confusion, mask)
    credit = np.zeros_like(counts)
    for node, channel in enumerate(mask.channels()):
        reported = np.maximum(confusion @ channel, 1e-300)  # [worker, truth, label]
        # Bayes: at truth t, a report y counts H[t, x] P(y | x) / P(y | t) for answer x.
        credit += share[:, node, None, None] * confusion * ((counts / reported) @ channel.T)
    return credit


def log_reports(counts: Floats, confusion: Floats, mask: OptionChannel) -> Floats:
    """Return ``log P(label | truth)`` of each worker's reports, the flip's mean."""
    if mask.is_clear:
        return np.asarray(np.log(np.maximum(confusion, LEAST)))
    share = flip_posteriors(counts, confusion, mask)
    table: Any = 0.0
    for node, channel in enumerate(mask.channels()):
        # Mean field: the logarithm is averaged over flips, not the probability.
        reported = np.log(np.maximum(confusion @ channel, LEAST))
        table = table + share[:, node, None, None] * reported
    return np.asarray(table)
