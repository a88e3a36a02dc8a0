"""Raters with privacy levels: the setting of Kandappu et al. (2014), section V."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from masquerade import datasets
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.reproduce.literal_greedy import LiteralErrors
from masquerade.selection import History, Pool, select

LEVELS = ("none", "low", "medium", "high")
SHARES = (0.138, 0.244, 0.389, 0.229)
DEVIATIONS = (0.0, 3.0, 6.0, 12.0)
PRICES = (0.8, 0.4, 0.2, 0.1)
EPSILONS = (0.0, 3.42, 0.85, 0.21)
"""Of the levels, as published; "none" is booked as 0."""

NOBODY = 2.0
"""Error of an estimate from nobody; the paper does not say."""

FEWEST_RATINGS = 50
_PAST, _COMING = range(1990, 1997), range(1997, 2002)
_FEWEST_PAST, _FEWEST_COMING = 30, 100

DENSE = "dense"
"""The name of made-up ratings by everybody of everything."""

LITERAL = "greedy, to the letter"
"""The name of `LiteralErrors.greedy` among the policies."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings of films, those before and those to ask about.

    Attributes
    ----------
    person, question, rating : arrays, shape (n,)
    past : bool array, shape (n_questions,)
    people : int
    width : float
        Of the scale.
    data : str
        What they are.
    """

    person: Integers
    question: Integers
    rating: Floats
    past: Flags
    people: int
    width: float
    data: str

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
        made = (
            datasets.movie_ratings(rng, past=100, density=1.0, coming_density=1.0)
            if name == DENSE
            else datasets.movie_ratings(rng)
        )
        return Ratings(made.person, made.question, made.rating, made.past,
                       int(made.person.max()) + 1, 4.0, "simulated ratings")  # fmt: skip
    found = datasets.dataset_named(name)
    claims, films = found.claims(), found.table("movies.csv")
    years = {
        film: float(year) if year not in (None, "") else np.nan
        for film, year in zip(
            films["task"].cast("string").to_pylist(), films["year"].to_pylist(), strict=True
        )
    }
    year = np.array([years.get(str(task), np.nan) for task in claims.tasks.to_pylist()])
    busy = np.bincount(claims.worker) >= FEWEST_RATINGS
    kept = busy[claims.worker]
    count = np.bincount(claims.task[kept], minlength=claims.n_tasks)
    past = np.isin(year, _PAST) & (count >= _FEWEST_PAST)
    coming = np.isin(year, _COMING) & (count >= _FEWEST_COMING)
    kept &= (past | coming)[claims.task]
    questions, question = np.unique(claims.task[kept], return_inverse=True)
    people = np.flatnonzero(busy)
    low, high = float(claims.value.min()), float(claims.value.max())
    return Ratings(
        np.searchsorted(people, claims.worker[kept]).astype(np.int64),
        question.astype(np.int64),
        claims.value[kept],
        past[questions],
        len(people),
        high - low,
        f"{name}, films of 1990 to 1996 as history and of 1997 to 2001 as surveys",
    )


@dataclass(slots=True, eq=False)
class Crowd:
    """Raters with a level each, and their noisy reports.

    Attributes
    ----------
    ratings : Ratings
    level : int array, shape (n_people,)
    reports : float array, shape (n_ratings,)
    """

    ratings: Ratings
    level: Integers
    reports: Floats
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
        arrays = (r.person[rows], question, self.reports[rows] / r.width,
                  self.noise_variance[r.person[rows]])  # fmt: skip
        self.published = History(*arrays, people=r.people, weighting="plain")
        self.literal = LiteralErrors(self.published, self.noise_variance)
        self.ours = History(*arrays, people=r.people)
        known = self.ours.tendencies()
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
        """Of each person's reports, in squared widths."""
        return np.asarray((np.array(DEVIATIONS)[self.level] / self.ratings.width) ** 2)

    @property
    def epsilon(self) -> Floats:
        """Of each person's report, as published."""
        return np.asarray(np.array(EPSILONS)[self.level])

    @property
    def cost(self) -> Floats:
        """What each person is paid."""
        return np.asarray(np.array(PRICES)[self.level])

    def past_loss(self) -> Floats:
        """Return what each person has spent on the films of the history, as published."""
        made = np.bincount(self.published.person, minlength=self.ratings.people)
        return np.asarray(made * self.epsilon)

    def pool(self, film: int, spent: Floats, cap: float) -> Pool:
        """Return everybody as a pool, of whom those can be asked who rated the film and can pay."""
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
        """Return who is asked, without seats for levels, which the paper has not."""
        if not pool.admissible.any() or budget <= 0:
            return np.array([], dtype=np.int64)
        if policy == LITERAL:
            start = NOBODY / self.ratings.width
            return self.literal.greedy(pool, budget=budget, alpha=alpha, start=start)
        return select(pool, budget=budget, policy=policy, alpha=alpha, history=self.published,
                      rng=rng, quotas=False).chosen  # fmt: skip

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
            return float(np.average(value - self.ratings.width * self.bias[who],
                                    weights=pool.precision[who]))  # fmt: skip
        weight = 1 / (self.within + self.noise_variance[who])
        return float(np.average(value, weights=weight))
