"""Simulated crowds with known truth, and studies of the accuracy that masking costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from masquerade.answers import Claims, Truths
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import require_generator
from masquerade.exact.number import NumberLike, whole
from masquerade.mechanisms import CategoricalMechanism, RandomizedResponse, TwoLayer
from masquerade.truth import CategoricalEstimator, accuracy, error_rate, method_named

#: Returns the mechanism of a single-report epsilon and a number of options.
Family = Callable[[NumberLike, int], CategoricalMechanism]

#: The families of Li et al., KDD 2018, with the flip probability ranges of its section 6.
FAMILIES: dict[str, Family] = {
    "one-layer": lambda epsilon, options: RandomizedResponse(options, epsilon=epsilon),
    "two-layer": lambda epsilon, options: TwoLayer.from_epsilon_single(epsilon, options),
}

PUBLISHED_EPSILONS = ("1", *(f"0.{tenths}" for tenths in range(9, 0, -1)), "0.01", "0.001", "0")


def crowd(
    rng: np.random.Generator,
    *,
    tasks: int,
    workers: int,
    options: int = 2,
    answers_per_task: int = 10,
    accuracy: tuple[float, float] | ArrayLike = (4.0, 2.0),
    truth_shares: ArrayLike | None = None,
    null_share: float = 0.0,
) -> tuple[Claims, Truths]:
    """Simulate a crowd with known truths.

    Every task is answered by different workers, drawn evenly. A worker answers with the truth with
    the worker's own probability, else with one of the other options evenly.

    Parameters
    ----------
    rng : numpy.random.Generator
        Makes the crowd reproducible.
    tasks, workers : int
        At least 1. Workers who happen to answer nothing do not appear in the claims.
    options : int
        At least 2. Labels are the texts ``"0"``, ``"1"``, ...
    answers_per_task : int
        1 to `workers`.
    accuracy : tuple (a, b) or array of shape (workers,)
        Parameters of the Beta distribution of accuracies, or each worker's accuracy, 0 to 1.
    truth_shares : array of shape (options,), optional
        Probability of each truth; even by default.
    null_share : float
        Probability that a worker has no answer to a task, 0 to 1. Above 0, the claims have the
        value "no answer".

    Returns
    -------
    Claims
        Tasks ``"t0"``, ``"t1"``, ...; workers ``"w0"``, ``"w1"``, ...
    Truths
        Of all tasks.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> claims, truths = crowd(np.random.default_rng(1), tasks=100, workers=20)
    >>> claims, len(truths)
    (Claims(1,000 claims of 20 workers on 100 tasks, 2 options), 100)
    """
    require_generator(rng)
    tasks, workers = whole(tasks, "tasks", low=1), whole(workers, "workers", low=1)
    options = whole(options, "options", low=2)
    answers_per_task = whole(answers_per_task, "answers_per_task", low=0)
    if not 1 <= answers_per_task <= workers:
        raise ParameterError(
            f"answers_per_task is {answers_per_task}, expected 1 to {workers} (workers)."
        )
    if not 0 <= null_share <= 1:
        raise ParameterError(f"null_share is {null_share}, expected 0 to 1.")
    ability = _abilities(rng, accuracy, workers)
    truth = rng.choice(options, size=tasks, p=_probabilities(truth_shares, options))
    task = np.repeat(np.arange(tasks, dtype=np.int32), answers_per_task)
    worker = _assign(rng, tasks, workers, answers_per_task).ravel()
    # A wrong answer: the truth shifted by 1 to options - 1, each as likely.
    wrong = rng.random(len(task)) >= ability[worker]
    shift = rng.integers(1, options, size=len(task)) * wrong
    value = ((truth[task] + shift) % options).astype(np.int32)
    if null_share > 0:
        value[rng.random(len(task)) < null_share] = options
    # Workers are coded by their first appearance, as in every Claims.
    present, first = np.unique(worker, return_index=True)
    by_appearance = present[np.argsort(first)]
    code = np.empty(workers, dtype=np.int32)
    code[by_appearance] = np.arange(len(by_appearance), dtype=np.int32)
    names, labels = _names("t", np.arange(tasks)), _names("", np.arange(options))
    people = _names("w", by_appearance)
    claims = Claims(task, code[worker], value, names, people, labels, null_share > 0)
    truths = pa.table({"task": names, "truth": labels.take(pa.array(truth))})
    return claims, Truths.from_frame(truths)


def study(
    claims: Claims,
    truths: Truths,
    *,
    mechanism: str | Family,
    epsilons: Sequence[NumberLike] = PUBLISHED_EPSILONS,
    methods: Sequence[str | CategoricalEstimator] = (
        "majority-vote",
        "truth-discovery",
        "one-coin",
    ),
    trials: int = 100,
    seed: int = 0,
) -> pa.Table:
    """Mask claims again and again, and return how accurate each method still is.

    In every trial all methods see the same reports.

    Parameters
    ----------
    claims : Claims
        True answers, categorical.
    truths : Truths
        Of some tasks at least.
    mechanism : {"one-layer", "two-layer"} or callable
        The family; a callable takes a single-report epsilon and the number of options.
    epsilons : sequence of number
        Single-report losses, at least 0. Default: those of Li et al., KDD 2018.
    methods : sequence of names or estimators
        Estimators are not changed.
    trials : int
        At least 1.
    seed : int
        Makes the study reproducible.

    Returns
    -------
    pyarrow.Table
        One row for every epsilon and method: ``mechanism`` (text form), ``method``,
        ``epsilon_single``, ``epsilon_event`` and ``epsilon_user`` (medians over workers of the
        exact loss of as many answers as each gave; the upper of two middle ones), ``trials``,
        ``accuracy`` (mean), ``standard_error`` (of that mean; NaN for one trial),
        ``clean_accuracy`` (the same method on the true answers) and ``error_rate_change``
        (``clean_accuracy - accuracy``).

    Raises
    ------
    ParameterError
        A name is unknown, a method is not for categories, or a number is out of range.
    """
    if trials < 1:
        raise ParameterError(f"trials is {trials}, expected at least 1.")
    make = _family(mechanism)
    estimators = [_categorical(method) for method in methods]
    # `replace` copies an estimator, so that the caller's is not fitted
    clean = [1 - error_rate(replace(one).fit(claims), truths) for one in estimators]
    rows: list[dict[str, Any]] = []
    for number, epsilon in enumerate(epsilons):
        channel = make(epsilon, claims.n_options)
        scores = np.empty((trials, len(estimators)))  # score[trial, method]
        for trial in range(trials):
            # A trial's seed depends on its place alone, so that a study can be continued or split.
            rng = np.random.default_rng([seed, number, trial])
            reports = channel.simulate(claims, rng, presence="assigned" if channel.null else None)
            tie_seed = int(rng.integers(1 << 31))  # another tie-break in every trial
            for column, one in enumerate(estimators):
                fit = replace(one, seed=tie_seed).fit(reports, mechanism=channel)
                scores[trial, column] = accuracy(fit, truths)
        losses = _median_losses(claims, channel)
        spread = scores.std(axis=0, ddof=1) if trials > 1 else np.full(len(estimators), np.nan)
        for column, one in enumerate(estimators):
            mean = float(scores[:, column].mean())
            rows.append(
                {
                    "mechanism": str(channel),
                    "method": one.name,
                    **losses,
                    "trials": trials,
                    "accuracy": mean,
                    "standard_error": float(spread[column] / np.sqrt(trials)),
                    "clean_accuracy": clean[column],
                    "error_rate_change": clean[column] - mean,
                }
            )
    return pa.Table.from_pylist(rows)


def _abilities(
    rng: np.random.Generator, accuracy: tuple[float, float] | ArrayLike, workers: int
) -> Floats:
    if isinstance(accuracy, tuple):
        if len(accuracy) != 2 or min(accuracy) <= 0:
            raise ParameterError(
                f"accuracy is {accuracy}, expected two positive numbers (a, b) of a Beta "
                "distribution; give every worker's own accuracy as an array."
            )
        return rng.beta(*accuracy, size=workers)
    ability = np.asarray(accuracy, dtype=np.float64)
    if ability.shape != (workers,) or not bool(((ability >= 0) & (ability <= 1)).all()):
        raise ParameterError(
            f"accuracy has shape {ability.shape}, expected ({workers},), with numbers from 0 to 1."
        )
    return ability


def _probabilities(shares: ArrayLike | None, options: int) -> Floats | None:
    if shares is None:
        return None
    chance = np.asarray(shares, dtype=np.float64)
    if chance.shape != (options,) or not (chance >= 0).all() or abs(chance.sum() - 1) > 1e-9:
        raise ParameterError(
            f"truth_shares is {chance.tolist()}, expected {options} numbers of at least 0 with "
            "sum 1."
        )
    return chance


def _assign(rng: np.random.Generator, tasks: int, workers: int, answers: int) -> Integers:
    """Return `answers` different workers for every task (Floyd's sampling, all tasks at once)."""
    workers_of = np.empty((tasks, answers), dtype=np.int64)
    for column, last in enumerate(range(workers - answers, workers)):
        worker = rng.integers(0, last + 1, size=tasks)
        # A worker that the task has already gives way to the newest one, which it cannot have.
        twice = (workers_of[:, :column] == worker[:, None]).any(axis=1)
        workers_of[:, column] = np.where(twice, last, worker)
    return workers_of


def _names(letter: str, numbers: NDArray[Any]) -> pa.Array:
    return pc.binary_join_element_wise(letter, pa.array(numbers).cast(pa.string()), "")


def _family(mechanism: str | Family) -> Family:
    if not isinstance(mechanism, str):
        return mechanism
    if mechanism not in FAMILIES:
        raise ParameterError(
            f"mechanism {mechanism!r} is unknown; expected one of {', '.join(FAMILIES)}, or a "
            "function of epsilon and the number of options."
        )
    return FAMILIES[mechanism]


def _categorical(method: str | CategoricalEstimator) -> CategoricalEstimator:
    estimator = method_named(method)() if isinstance(method, str) else method
    if not isinstance(estimator, CategoricalEstimator):
        raise ParameterError(
            f"{type(estimator).__name__} is for numbers; a study masks categories. Choose "
            "majority-vote, truth-discovery or one-coin."
        )
    return estimator


def _median_losses(claims: Claims, mechanism: CategoricalMechanism) -> dict[str, float]:
    """Return the median worker's exact losses, pricing each number of answers once."""
    answers = np.bincount(claims.worker, minlength=claims.n_workers)
    distinct, back = np.unique(answers, return_inverse=True)
    promises = [mechanism.guarantee(answers=int(n)) for n in distinct]
    losses = {
        "epsilon_single": [promise.epsilon_single for promise in promises],
        "epsilon_event": [promise.epsilon_event for promise in promises],
        "epsilon_user": [promise.epsilon_user for promise in promises],
    }
    # The upper of two middle ones: an amount that a worker bears, and no inf - inf.
    middle = len(back) // 2
    return {
        name: float(np.sort(np.array([loss.epsilon for loss in amounts])[back])[middle])
        for name, amounts in losses.items()
    }
