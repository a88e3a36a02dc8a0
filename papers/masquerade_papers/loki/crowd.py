"""Raters with privacy levels, and the greedy selection to the letter: Kandappu et al. (2014), V."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from masquerade import datasets
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.selection import Pool, select
from masquerade_papers import simulated_crowds
from masquerade_papers.loki.greedy import greedy
from masquerade_papers.loki.history import History
from masquerade_papers.loki.predictors import best_predictors, published_squared_error
from masquerade_papers.verdict import printed_in

PRINTED = printed_in("loki")
_LEVELS: dict[str, dict[str, float]] = PRINTED["levels"]
LEVELS = tuple(_LEVELS)
#: Of the levels, as published; "none" is booked as epsilon 0.
SHARES, DEVIATIONS, PRICES, EPSILONS = (
    tuple(level[key] for level in _LEVELS.values())
    for key in ("share", "deviation", "price", "epsilon")
)

#: Error of an estimate from nobody; the paper does not say.
NOBODY = 2.0

FEWEST_RATINGS = 50
_PAST, _COMING = range(1990, 1997), range(1997, 2002)
_FEWEST_PAST, _FEWEST_COMING = 30, 100

#: The name of made-up ratings by everybody of everything.
DENSE = "dense"

#: The name of `LiteralErrors.greedy` among the policies.
LITERAL = "greedy, to the letter"
#: Algorithm 1 with the covariance that equation (5) leaves out.
CORRECTED = "loki-greedy"
BEST_PREDICTORS = "best-predictors"


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings of films, those before and those to ask about."""

    # person, question, rating: arrays, shape (n,)
    person: Integers
    question: Integers
    rating: Floats
    past: Flags  # bool array, shape (n_questions,)
    people: int
    width: float  # of the scale
    data: str  # what they are

    @property
    def coming(self) -> Integers:
        """The questions to ask about, those with most raters first."""
        count = np.bincount(self.question, minlength=len(self.past))
        questions = np.flatnonzero(~self.past)
        return questions[np.argsort(-count[questions], kind="stable")]


def read_ratings(name: str, *, seed: int = 0) -> Ratings:
    """Return ratings of ``movielens_small`` or ``movielens_100k``, ``simulated`` or ``dense``."""
    if name in ("simulated", DENSE):
        rng = np.random.default_rng([seed, 2014])
        simulated = (
            simulated_crowds.movie_ratings(rng, past=100, density=1.0, coming_density=1.0)
            if name == DENSE
            else simulated_crowds.movie_ratings(rng)
        )
        return Ratings(
            simulated.person,
            simulated.question,
            simulated.rating,
            simulated.past,
            int(simulated.person.max()) + 1,
            4.0,
            "simulated ratings",
        )
    data = datasets.dataset_named(name)
    claims, films = data.claims(), data.table("movies.csv")
    years = {
        film: float(year) if year not in (None, "") else np.nan
        for film, year in zip(
            films["task"].cast("string").to_pylist(), films["year"].to_pylist(), strict=True
        )
    }
    year = np.array([years.get(str(task), np.nan) for task in claims.tasks.to_pylist()])
    # busy[person]; count[film] of the ratings by busy people alone
    busy = np.bincount(claims.worker) >= FEWEST_RATINGS
    used = busy[claims.worker]
    count = np.bincount(claims.task[used], minlength=claims.n_tasks)
    past = np.isin(year, _PAST) & (count >= _FEWEST_PAST)
    coming = np.isin(year, _COMING) & (count >= _FEWEST_COMING)
    used &= (past | coming)[claims.task]
    questions, question = np.unique(claims.task[used], return_inverse=True)
    people = np.flatnonzero(busy)
    low, high = float(claims.value.min()), float(claims.value.max())
    return Ratings(
        np.searchsorted(people, claims.worker[used]).astype(np.int64),
        question.astype(np.int64),
        claims.value[used],
        past[questions],
        len(people),
        high - low,
        f"{name}, films of 1990 to 1996 as history and of 1997 to 2001 as surveys",
    )


def signed_root(squared: Floats) -> Floats:
    """Return the root of a predicted squared error, with its sign."""
    return np.sign(squared) * np.sqrt(np.abs(squared))


class LiteralErrors:
    """Past errors as a table of people and questions, and equation (5) on groups of them.

    `greedy` subtracts what masks add question by question. Equation (5) as printed
    subtracts one number for everybody: the noise of the mean of all people, as if all had answered
    every question. With a history full of gaps the two choose differently, so both are measured.

    Shapes: `noise_variance` (n_people,). `history`: with plain means, as published.
    """

    def __init__(self, history: History, noise_variance: Floats) -> None:
        shape = (history.people, history.questions)
        # _error[person, question], 0 where _known is 0: not rated
        self._error, self._known = np.zeros(shape), np.zeros(shape)
        self._error[history.person, history.question] = history.error[:, 0]
        self._known[history.person, history.question] = 1.0
        # variance that noise adds to the mean of everybody: the one number of equation (5)
        self._everyone = float(noise_variance.sum()) / history.people**2

    def squared(self, members: Integers) -> float:
        """Return the predicted squared error of a group's mean; it may be negative."""
        count = self._known[members].sum(axis=0)
        known = count > 0
        if not known.any():
            return float("nan")
        mean = self._error[members].sum(axis=0)[known] / count[known]
        # equation (5): mean over questions of the squared mean error, minus the noise of everybody
        return float((mean**2).mean()) - self._everyone

    def greedy(self, pool: Pool, *, budget: float, alpha: float, start: float) -> Integers:
        """Return the people of algorithm 1; `start` (unpublished): error of nobody, in widths."""
        score = pool.score(budget=budget, alpha=alpha)
        open_ = np.flatnonzero(pool.admissible)
        error, known = self._error[open_], self._known[open_]
        total, count = np.zeros(error.shape[1]), np.zeros(error.shape[1])
        root, left = start, budget
        chosen: list[int] = []
        free = np.ones(open_.size, dtype=np.bool_)
        while True:
            # the slack lets a cost through that equals what is left but for rounding
            free &= pool.cost[open_] <= left + 1e-12 * budget
            if not free.any():
                return np.array(chosen, dtype=np.int64)
            # mean squared error of each group with one more member, over questions that it knows
            members = count + known
            square = ((total + error) / np.maximum(members, 1)) ** 2
            questions = (members > 0).sum(axis=1)
            mean = square.sum(axis=1) / np.maximum(questions, 1)
            squared = np.where(questions > 0, mean, start**2)
            # Equation (5) can be negative; a root with its sign keeps the order, where 0 would make
            # everybody equal and let the order of the names decide.
            roots = signed_root(squared - self._everyone)
            best = int(np.argmax(np.where(free, (root - roots) / score[open_], -np.inf)))
            total, count = total + error[best], count + known[best]
            root, left = float(roots[best]), left - float(pool.cost[open_[best]])
            free[best] = False
            chosen.append(int(open_[best]))


@dataclass(slots=True, eq=False)
class Crowd:
    """Raters with a level each, and their noisy reports."""

    ratings: Ratings
    level: Integers  # int array, shape (n_people,)
    reports: Floats  # float array, shape (n_ratings,)
    published: History = field(init=False)
    literal: LiteralErrors = field(init=False)
    ours: History = field(init=False)
    within: float = field(init=False)
    bias: Floats = field(init=False)
    unknown_bias: Floats = field(init=False)

    def __post_init__(self) -> None:
        r = self.ratings
        rows = r.past[r.question]
        _, question = np.unique(r.question[rows], return_inverse=True)
        person = r.person[rows]
        arrays = (person, question, self.reports[rows] / r.width, self.noise_variance[person])
        self.published = History(*arrays, people=r.people, weighting="plain")
        self.literal = LiteralErrors(self.published, self.noise_variance)
        self.ours = History(*arrays, people=r.people)
        known = self.ours.biases()
        self.within = known.components.within
        self.bias, self.unknown_bias = known.bias[:, 0], known.variance

    @classmethod
    def draw(cls, ratings: Ratings, rng: np.random.Generator) -> Crowd:
        """Draw levels and noise."""
        shares = np.array(SHARES) / sum(SHARES)
        level = rng.choice(len(LEVELS), size=ratings.people, p=shares)
        noise = np.array(DEVIATIONS)[level][ratings.person]
        return cls(
            ratings, level, ratings.rating + noise * rng.standard_normal(len(ratings.rating))
        )

    @property
    def noise_variance(self) -> Floats:
        """Variance of the noise on each person's reports, in squared widths."""
        return np.asarray((np.array(DEVIATIONS)[self.level] / self.ratings.width) ** 2)

    @property
    def epsilon(self) -> Floats:
        """Epsilon of each person's report, as published."""
        return np.asarray(np.array(EPSILONS)[self.level])

    @property
    def cost(self) -> Floats:
        """Payment of each person."""
        return np.asarray(np.array(PRICES)[self.level])

    def past_loss(self) -> Floats:
        """Return the spending of each person on the films of the history, as published."""
        count = np.bincount(self.published.person, minlength=self.ratings.people)
        return np.asarray(count * self.epsilon)

    def pool(self, film: int, spent: Floats, cap: float) -> Pool:
        """Return everybody as a pool; raters of the film may be asked if they can pay."""
        # share of what is left under the cap that this survey takes; infinite: cannot be asked
        left = np.maximum(cap - spent, 0)
        share = np.full(self.ratings.people, np.inf)
        raters = self.ratings.person[self.ratings.question == film]
        share[raters] = np.where(
            self.epsilon[raters] <= left[raters] + 1e-9,
            np.minimum(self.epsilon[raters] / np.maximum(left[raters], 1e-9), 1.0),
            np.inf,
        )
        return Pool(
            [f"p{i}" for i in range(self.ratings.people)],
            self.cost,
            self.noise_variance,
            level=[LEVELS[i] for i in self.level],
            privacy_share=share,
            bias_variance=self.unknown_bias,
            within=self.within,
        )

    def choose(
        self, pool: Pool, policy: str, alpha: float, budget: float, rng: np.random.Generator
    ) -> Integers:
        """Return the people to ask, without quotas for levels, which the paper has not."""
        if not pool.admissible.any() or budget <= 0:
            return np.array([], dtype=np.int64)
        if policy == LITERAL:
            start = NOBODY / self.ratings.width
            return self.literal.greedy(pool, budget=budget, alpha=alpha, start=start)
        if policy == BEST_PREDICTORS:
            return best_predictors(pool, published_squared_error(self.published), budget=budget)
        if policy == CORRECTED:
            score = pool.score(budget=budget, alpha=alpha)
            return greedy(
                self.published,
                pool.noise_variance,
                pool.cost,
                score,
                budget=budget,
                admissible=pool.admissible,
            )
        return select(pool, budget=budget, policy=policy, alpha=alpha, rng=rng, quotas=False).chosen

    def estimate(self, film: int, chosen: Integers, pool: Pool, estimator: str) -> float:
        """Return the estimated mean rating: ``mean``, ``weighted`` or ``debiased``; NaN: nobody."""
        rows = np.flatnonzero(self.ratings.question == film)
        rows = rows[np.isin(self.ratings.person[rows], chosen)]
        if not rows.size:
            return float("nan")
        who = self.ratings.person[rows]
        value = self.reports[rows]
        if estimator == "mean":
            return float(value.mean())
        if estimator == "debiased":
            unbiased = value - self.ratings.width * self.bias[who]
            return float(np.average(unbiased, weights=pool.precision[who]))
        # inverse variances: people differ by `within` and report with their level's noise
        weight = 1 / (self.within + self.noise_variance[who])
        return float(np.average(value, weights=weight))
