"""Forecast of how well truths will be inferred from masked answers, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Progress, Truths
from masquerade.answers.result import Result
from masquerade.exact.arrays import Floats
from masquerade.exact.number import whole
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.mechanism import Presence
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import Estimator
from masquerade.truth.methods import method_named
from masquerade.truth.scores import accuracy, mean_absolute_error
from masquerade.truth.voting import MajorityVote

#: Makes up a crowd's true answers and the truths of its tasks, such as
#: ``functools.partial(masquerade.simulate.crowd, tasks=100, workers=30)``.
CrowdMaker = Callable[[np.random.Generator], tuple[Claims, Truths]]


@dataclass(frozen=True, slots=True)
class Expected(Result):
    """A score over the runs of a forecast.

    Attributes
    ----------
    standard_error : float
        Of the mean; NaN for one run.
    low, high : float
        Nine of ten runs lie between these.

    Examples
    --------
    >>> from masquerade.truth import forecast
    >>> from masquerade.simulate import crowd
    >>> forecast(lambda rng: crowd(rng, tasks=20, workers=8, answers_per_task=5), runs=3).found.mean
    0.75
    """

    mean: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def of(cls, scores: Floats) -> Expected:
        """Return the summary of one score a run."""
        error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
        low, high = np.quantile(scores, (0.05, 0.95))
        return cls(float(scores.mean()), float(error), float(low), float(high))


@dataclass(frozen=True, slots=True)
class Forecast(Result):
    """Expected score of a method, beside those of no survey and of no method.

    Attributes
    ----------
    metric : {"accuracy", "mae"}
        Share of tasks whose label is the truth, or mean absolute error in the values' unit.
    mechanism : str or None
        Its text form.
    found : Expected
        The method on masked reports.
    unmasked : Expected
        The method on the true answers: what the masks cost.
    constant : Expected
        The same answer for every task, the best one in hindsight (the most frequent truth; the
        median truth): a predictor that needs no reports, and a little more than anybody knows.
    majority : Expected or None
        Majority vote on the masked reports; None for numbers.
    gain : Expected
        By how much `found` is better than `constant` or `majority`, whichever is better on
        average, run by run; below 0 it is worse.

    Examples
    --------
    >>> from masquerade.simulate import crowd
    >>> from masquerade.truth import forecast
    >>> found = forecast(lambda rng: crowd(rng, tasks=20, workers=8, answers_per_task=5), runs=3)
    >>> found.metric, found.method, found.runs
    ('accuracy', 'majority-vote', 3)
    """

    metric: Literal["accuracy", "mae"]
    method: str
    mechanism: str | None
    runs: int
    found: Expected
    unmasked: Expected
    constant: Expected
    majority: Expected | None
    gain: Expected

    @property
    def worth_it(self) -> bool:
        """Whether the method is better than the baselines by more than two standard errors."""
        return bool(self.gain.mean > 2 * self.gain.standard_error)

    def to_arrow(self) -> pa.Table:
        """Return ``predictor``, ``mean``, ``standard_error``, ``low``, ``high``.

        Rows: constant, majority vote (of categories), the method, the method without masks.
        """
        rows = [("constant", self.constant)]
        if self.majority is not None:
            rows.append((MajorityVote.name, self.majority))
        rows += [(self.method, self.found), (f"{self.method}, unmasked", self.unmasked)]
        return pa.Table.from_pylist([{"predictor": row, **asdict(one)} for row, one in rows])


def forecast(
    make: CrowdMaker,
    *,
    mechanism: Mechanism | str | None = None,
    method: str | Estimator = "majority-vote",
    presence: Presence | None = None,
    runs: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> Forecast:
    """Simulate the whole way from answers to truths, and return how well they are found.

    Every run makes up a crowd, masks its answers with the mechanism itself and fits the method
    itself: no formula stands in for either.

    Parameters
    ----------
    make : callable
        Takes a generator and returns claims and truths; a different crowd each time. See
        `CrowdMaker`.
    mechanism : Mechanism, or its text form, optional
        What masks the answers. None: nothing does.
    method : name or estimator
        Name as `method_named` takes it. An estimator is not changed.
    presence : {"hidden", "assigned"}, optional
        For mechanisms that mask "no answer"; see `Mechanism.with_presence`.
    runs : int
        At least 1.
    seed : int
        Makes the forecast reproducible; run r does not depend on the number of runs.
    progress : callable, optional
        Called with the runs done and `runs` after each.

    Raises
    ------
    ParameterError
        A parameter is out of range, or method, mechanism and claims are of different kinds.

    Notes
    -----
    **Cost**: two fits a run, and for categories a majority vote. Runs are as good as `make` is:
    real crowds share mistakes, which a made-up one usually does not.

    Examples
    --------
    >>> from functools import partial
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> def make(rng):
    ...     truth = rng.integers(0, 2, size=50)
    ...     task, worker = np.repeat(np.arange(50), 9), np.tile(np.arange(9), 50)
    ...     label = np.where(rng.random(450) < 0.8, truth[task], 1 - truth[task])
    ...     claims = {"task": task, "worker": worker, "label": label}
    ...     return (Claims.from_frame(claims),
    ...             Truths.from_frame({"task": np.arange(50), "truth": truth}))
    >>> expected = forecast(make, mechanism=RandomizedResponse(2, epsilon=1), runs=20)
    >>> 0.6 < expected.found.mean < expected.unmasked.mean < 1, expected.constant.mean < 0.65
    (True, True)
    """
    runs = whole(runs, "runs", low=1)
    mask = None if mechanism is None else mechanism_of(mechanism)
    estimator = method_named(method)() if isinstance(method, str) else method
    categorical = estimator.kind == "categorical"
    score = accuracy if categorical else mean_absolute_error
    found, unmasked, constant, majority = np.full((4, runs), np.nan)
    for run in range(runs):
        # A stream of its own for each run: run r is the same however many there are.
        rng = np.random.default_rng([seed, run])
        claims, truths = make(rng)
        reports = claims
        if mask is not None:
            reports = mask.simulate(claims, rng, presence=presence)
        one, plain, voter = copy(estimator), copy(estimator), MajorityVote()
        for each in (one, plain, voter):
            if isinstance(each, CategoricalEstimator):
                each.seed = int(rng.integers(1 << 31))  # another tie-break in every run
        found[run] = score(one.fit(reports, mechanism=mask), truths)
        unmasked[run] = score(plain.fit(claims.answered()), truths)
        constant[run] = _best_label(truths) if categorical else _best_number(truths, claims)
        if categorical:
            majority[run] = score(voter.fit(reports), truths)
        if progress is not None:
            progress(run + 1, runs)
    if categorical:
        # Run by run: both saw the same crowd, so the difference varies less than either.
        gain = found - max(constant, majority, key=lambda scores: float(scores.mean()))
    else:
        gain = constant - found
    return Forecast(
        metric="accuracy" if categorical else "mae",
        method=estimator.name,
        mechanism=None if mechanism is None else str(mechanism),
        runs=runs,
        found=Expected.of(found),
        unmasked=Expected.of(unmasked),
        constant=Expected.of(constant),
        majority=Expected.of(majority) if categorical else None,
        gain=Expected.of(gain),
    )


def _best_label(truths: Truths) -> float:
    """Return the accuracy of the most frequent truth as the answer to every task."""
    counts = truths.table["truth"].combine_chunks().value_counts().field("counts")
    return float(np.max(counts.to_numpy()) / len(truths))


def _best_number(truths: Truths, claims: Claims) -> float:
    """Return the mean absolute error of the median truth as the answer to every task."""
    known = truths.numbers(claims)
    known = known[~np.isnan(known)]
    return float(np.abs(known - np.median(known)).mean())
