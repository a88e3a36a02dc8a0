"""Simulated data with the sizes of the papers' data sets that are not public.

How many people, questions and answers there are is the papers' own count. How good people are is
not published; it is chosen here so that the plain result without any mask is about as accurate as
published, and nothing else was fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from scipy.special import expit

from masquerade.answers import Claims, Truths
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.number import one_of
from masquerade.release import GroupedClaims
from masquerade.truth import MajorityVote, accuracy
from masquerade_papers.priscrowd.mixtures import Mixtures

Mistakes = Literal["scattered", "copied"]
TruthShape = Literal["uniform", "concentrated", "equal"]

_TRIES = 500


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedClaims:
    """Numeric claims, and the densities that reliable users draw theirs from.

    Attributes
    ----------
    densities : Mixtures
        One bump an object.

    Examples
    --------
    >>> from masquerade_papers.simulated_crowds import population
    >>> made = population(np.random.default_rng(1), objects=20, users=30)
    >>> made.claims.n_objects
    20
    """

    claims: GroupedClaims
    densities: Mixtures


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRatings(Result):
    """Ratings of questions, those asked before the survey and those of the survey.

    Attributes
    ----------
    person, question : int array, shape (n,)
    rating : float array, shape (n,)
        1 to 5.
    past : bool array, shape (n_questions,)
        Which questions were asked before the survey.

    Examples
    --------
    >>> from masquerade_papers.simulated_crowds import lecturer_ratings
    >>> ratings = lecturer_ratings(np.random.default_rng(1))
    >>> int(ratings.rating.min()), int(ratings.rating.max())
    (1, 5)
    """

    person: Integers
    question: Integers
    rating: Floats
    past: Flags


def peer_grading(rng: np.random.Generator) -> tuple[Claims, Truths]:
    """Return 26 yes-or-no questions answered by 72 students, five answers each.

    On 73 % of the questions an answer is right with probability 0.7, on the others with 0.35;
    students differ by a standard deviation of 0.6 in the logit. Drawn again until the majority
    vote is right in 73 % of the questions, give or take 2.5 points, as published.

    References
    ----------
    Li et al. (KDD 2018), table 1, "Peer Grading"; the data were never published.

    Examples
    --------
    >>> claims, truths = peer_grading(np.random.default_rng(1))
    >>> claims
    Claims(360 claims of 72 workers on 26 tasks, 2 options)
    """

    def draw() -> tuple[Claims, Truths]:
        skill = np.where(rng.random(26) < 0.73, 0.7, 0.35)
        worker = np.repeat(np.arange(72), 5)
        task = np.concatenate([rng.choice(26, 5, replace=False) for _ in range(72)])
        logit = np.log(skill / (1 - skill))
        return _votes(rng, task, worker, logit[task] + rng.normal(0, 0.6, 72)[worker], known=26)

    return _as_accurate(draw, 0.7308)


def duchenne_smile(rng: np.random.Generator) -> tuple[Claims, Truths]:
    """Return 2,134 yes-or-no questions, 17,729 answers of 64 workers, 159 known truths.

    The logit of a right answer is normal over questions (0.65, standard deviation 0.65) plus a
    worker's own (0, 0.4). Drawn again until the majority vote is right in 76 % of the known
    questions, give or take 2.5 points, as published.

    References
    ----------
    Li et al. (KDD 2018), table 1, "Duchenne Smile"; the data were not found.

    Examples
    --------
    >>> claims, truths = duchenne_smile(np.random.default_rng(1))
    >>> len(claims), claims.n_workers, len(truths)
    (17729, 64, 159)
    """

    def draw() -> tuple[Claims, Truths]:
        per_task = np.full(2134, 8)
        per_task[rng.permutation(2134)[: 17_729 - 8 * 2134]] += 1
        order = np.argsort(rng.random((2134, 64)), axis=1)
        task = np.repeat(np.arange(2134), per_task)
        # the first per_task of each task's own order of all workers
        rank = np.arange(len(task)) - np.repeat(np.cumsum(per_task) - per_task, per_task)
        worker = order[task, rank]
        logit = rng.normal(0.65, 0.65, 2134)[task] + rng.normal(0, 0.4, 64)[worker]
        return _votes(rng, task, worker, logit, known=159)

    return _as_accurate(draw, 0.76)


def web_ratings(
    rng: np.random.Generator, *, truths: TruthShape = "uniform"
) -> tuple[Claims, Floats]:
    """Return ratings from 1 to 5 by 34 workers of 177 tasks, ten a task, and the truths.

    Few workers are busy, and they differ in precision.

    Parameters
    ----------
    truths : {"uniform", "concentrated", "equal"}
        1 to 5 evenly; normal around 2 with standard deviation 0.5; all 3.

    Returns
    -------
    Claims
        Numeric.
    float array, shape (n_tasks,)
        In the order of ``claims.tasks``.

    References
    ----------
    Sun et al. (IEEE Big Data 2018), "Web": 34 workers, 177 tasks, sparsity 0.705882.

    Examples
    --------
    >>> claims, truths = web_ratings(np.random.default_rng(1))
    >>> claims.n_tasks, truths.shape
    (177, (177,))
    """
    activity, spread = 1 + rng.pareto(1.5, 34), rng.uniform(0.4, 1.2, 34)
    shapes: dict[str, Callable[[], Floats]] = {
        "uniform": lambda: rng.integers(1, 6, 177).astype(np.float64),
        "concentrated": lambda: np.clip(np.rint(rng.normal(2, 0.5, 177)), 1, 5),
        "equal": lambda: np.full(177, 3.0),
    }
    one_of(truths, "truths", shapes)
    truth = shapes[truths]()
    # ten workers a task, drawn without replacement in proportion to their activity: the least of
    # exponential numbers over weights (Efraimidis and Spirakis 2006)
    keys = rng.exponential(size=(177, 34)) / activity
    worker = np.argsort(keys, axis=1)[:, :10].ravel()
    task = np.repeat(np.arange(177), 10)
    value = np.clip(np.rint(truth[task] + rng.normal(0, spread[worker])), 1, 5)
    claims = Claims.from_frame({"task": task, "worker": worker, "value": value}, kind="numeric")
    return claims, truth


def population(
    rng: np.random.Generator, *, objects: int = 1124, users: int = 2344
) -> SimulatedClaims:
    """Return claims on the population of cities: three a city in the median, and vandals.

    References
    ----------
    Huai et al. (IJCAI 2019), table 1: 2,344 users, 1,124 objects.

    Examples
    --------
    >>> population(np.random.default_rng(1), objects=20, users=30).claims.n_objects
    20
    """
    truth = np.exp(rng.normal(10.5, 1.5, objects))
    count = 2 + rng.geometric(0.45, objects)
    return _numbers(rng, truth, 0.02 * truth, count, users, bad=0.15, wrong=0.5, scatter=40.0)


def stock(
    rng: np.random.Generator, *, objects: int = 5521, users: int = 55, mistakes: Mistakes = "copied"
) -> SimulatedClaims:
    """Return claims of 55 sources on stocks, some 25 an object; sources copy wrong values.

    Parameters
    ----------
    mistakes : {"copied", "scattered"}
        Whether three tenths of the sources share one wrong value in seven tenths of their claims,
        or a fifth of them err widely and alone.

    References
    ----------
    Huai et al. (IJCAI 2019), table 1: 55 users, 5,521 objects; the data were not found.

    Examples
    --------
    >>> stock(np.random.default_rng(1), objects=20).claims.n_objects
    20
    """
    truth = rng.uniform(-12, 12, objects)
    spread = np.exp(rng.uniform(np.log(0.8), np.log(2.0), objects))
    count = np.clip(rng.poisson(25, objects), 6, users)
    bad, wrong = (0.3, 0.7) if mistakes == "copied" else (0.2, 1.0)
    return _numbers(
        rng, truth, spread, count, users, bad=bad, wrong=wrong, copied=mistakes == "copied"
    )


def indoor_floorplan(
    rng: np.random.Generator, *, objects: int = 129, users: int = 247
) -> SimulatedClaims:
    """Return claims of 247 walkers on the lengths of 129 passages, some 20 each.

    References
    ----------
    Huai et al. (IJCAI 2019), table 1: 247 users, 129 objects; the data were not found.

    Examples
    --------
    >>> indoor_floorplan(np.random.default_rng(1), objects=10, users=20).claims.n_objects
    10
    """
    truth = rng.uniform(-12, 12, objects)
    spread = np.exp(rng.uniform(np.log(0.8), np.log(2.0), objects))
    count = np.clip(rng.poisson(20, objects), 6, users)
    return _numbers(rng, truth, spread, count, users, bad=0.2, wrong=1.0)


def movie_ratings(
    rng: np.random.Generator,
    *,
    people: int = 400,
    past: int = 150,
    coming: int = 30,
    density: float = 0.12,
    coming_density: float = 0.35,
) -> SimulatedRatings:
    """Return ratings from 1 to 5: a person's bias, a film's mean and chance, rounded.

    Standard deviations are 0.4, 0.5 and 0.94, about those of MovieLens.

    Parameters
    ----------
    people, past, coming : int
        People, films rated before, and films to ask about.
    density, coming_density : float
        Share of the people who rated each film.

    References
    ----------
    Kandappu et al. (2014) take Netflix: 480,000 people, films of 2004 as past and of 2005 as
    surveys; it is no longer public.

    Examples
    --------
    >>> ratings = movie_ratings(np.random.default_rng(1), people=20, past=15, coming=5)
    >>> bool(((ratings.rating >= 1) & (ratings.rating <= 5)).all())
    True
    """
    questions = past + coming
    before = np.arange(questions) < past
    share = np.where(before, density, coming_density)
    person, question = np.nonzero(rng.random((people, questions)) < share)
    bias, mean = rng.normal(0, 0.4, people), rng.normal(3.4, 0.5, questions)
    rating = mean[question] + bias[person] + rng.normal(0, 0.94, person.size)
    return SimulatedRatings(person, question, np.clip(np.rint(rating), 1, 5), before)


def lecturer_ratings(rng: np.random.Generator) -> SimulatedRatings:
    """Return ratings from 1 to 5 of 13 lecturers by 131 students, from 120 down to 50 each.

    References
    ----------
    Kandappu et al. (2014), section 6; the data were never published.

    Examples
    --------
    >>> len(set(lecturer_ratings(np.random.default_rng(1)).person.tolist()))
    131
    """
    sizes = np.linspace(120, 50, 13).astype(int)
    person = np.concatenate([rng.choice(131, size, replace=False) for size in sizes])
    question = np.repeat(np.arange(13), sizes)
    mean, bias = rng.normal(3.7, 0.5, 13), rng.normal(0, 0.3, 131)
    rating = mean[question] + bias[person] + rng.normal(0, 0.8, person.size)
    return SimulatedRatings(
        person, question, np.clip(np.rint(rating), 1, 5), np.zeros(13, dtype=np.bool_)
    )


def _votes(
    rng: np.random.Generator, task: Integers, worker: Integers, logit: Floats, *, known: int
) -> tuple[Claims, Truths]:
    """Return yes-or-no answers, right with the probability of this logit, and some truths."""
    tasks = int(task.max()) + 1
    truth = rng.integers(0, 2, tasks)
    right = rng.random(len(task)) < expit(logit)
    label = np.where(right, truth[task], 1 - truth[task])
    claims = Claims.from_frame(
        {"task": _named("t", task), "worker": _named("w", worker), "label": _named("", label)},
        options=["0", "1"],
    )
    some = np.sort(rng.permutation(tasks)[:known])
    truths = pa.table({"task": _named("t", some), "truth": _named("", truth[some])})
    return claims, Truths.from_frame(truths)


def _as_accurate(draw: Callable[[], tuple[Claims, Truths]], target: float) -> tuple[Claims, Truths]:
    for _ in range(_TRIES):
        claims, truths = draw()
        vote = accuracy(MajorityVote().fit(claims), truths)
        if abs(vote - target) <= 0.025 and claims.n_tasks >= len(truths):
            return claims, truths
    raise ParameterError(f"no crowd with a majority vote near {target} in {_TRIES} draws.")


def _numbers(
    rng: np.random.Generator,
    truth: Floats,
    spread: Floats,
    count: Integers,
    users: int,
    *,
    bad: float,
    wrong: float,
    copied: bool = False,
    scatter: float = 3.0,
) -> SimulatedClaims:
    """Return claims around truths; bad users are wrong in a share `wrong` of theirs."""
    count = np.minimum(count, users)
    user = np.concatenate([np.sort(rng.choice(users, n, replace=False)) for n in count])
    of = np.repeat(np.arange(len(truth)), count)
    error = rng.standard_normal(len(of))
    unreliable = rng.permutation(users) < round(bad * users)
    astray = unreliable[user] & (rng.random(len(of)) < wrong)
    value = truth[of] + spread[of] * error
    if copied:
        # other[object]: one wrong value an object, which all who are astray share
        other = rng.uniform(truth.min(), truth.max(), len(truth))
        mistaken = other[of] + 0.5 * spread[of] * error
    else:
        mistaken = truth[of] + scatter * spread[of] * rng.standard_t(2, len(of))
    claims = GroupedClaims(
        _named("o", np.arange(len(truth)), width=6),
        _named("u", np.arange(users), width=6),
        np.where(astray, mistaken, value),
        user.astype(np.int32),
        np.concatenate(([0], np.cumsum(count))),
    )
    offset = np.arange(len(truth) + 1)
    return SimulatedClaims(claims, Mixtures(offset, truth, np.ones(len(truth)), spread))


def _named(letter: str, codes: Integers, *, width: int = 0) -> pa.Array:
    return pa.array([f"{letter}{code:0{width}}" if width else f"{letter}{code}" for code in codes])
