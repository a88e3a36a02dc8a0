"""Simulated surveys of every kind with people that are weighted: ticks, numbers, scores, orders."""

from __future__ import annotations

import numpy as np
from tests.honesty.simulated import CUT

from masquerade.errors import MasqueradeError
from masquerade.estimation import Figures
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import SimulatedCoins
from masquerade.results import Codebook, SurveyReports, Weighting
from masquerade.results.weighting import WeightedPeople
from masquerade.surveys import Choice, Number, PromoterScore, Ranking, SeveralOf
from masquerade.surveys.survey import Survey

#: Of the population: women and men, and three ages; they answer by themselves.
SEX, AGE = (0.51, 0.49), (0.3, 0.4, 0.3)
QUESTIONS = (
    Choice("sex", "?", ("Woman", "Man")),
    Choice("age", "?", ("Young", "Middle", "Old")),
    SeveralOf("ticks", "?", ("A", "B", "C")),
    Number("hours", "?", 0, 40, "h"),
    Number("maybe", "?", 0, 40, "h", allow_skip=True),
    PromoterScore("nps", "?"),
    Ranking("rank", "?", ("a", "b", "c")),
    Choice("some", "?", ("x", "y"), allow_skip=True),
)
_PLACES = {question.id: place for place, question in enumerate(QUESTIONS)}
RAKED = Weighting(
    {
        "sex": dict(zip(("Woman", "Man"), SEX, strict=True)),
        "age": dict(zip(("Young", "Middle", "Old"), AGE, strict=True)),
    }
)
DESIGN = Weighting(weights={"age": {"Young": 1.0, "Middle": 2.0, "Old": 4.0}})
#: Who answers: with margins, men and old people too rarely; by design, the old a quarter as often.
ASKED = {
    "raked": (RAKED, (0.65, 0.35), (0.5, 0.3, 0.2)),
    "design": (DESIGN, SEX, tuple(np.divide(AGE, (1, 2, 4)) / np.divide(AGE, (1, 2, 4)).sum())),
}
#: Of the population, as `answers` draws them: age is 1 on average, and 49 of 100 are men.
TRUTH = {
    "ticked by 40 %": 0.4,
    "ticked by 5 %": 0.05,
    "hours": 19.5,
    "hours, some skip": 9.5 + 8 * SEX[1],
    "promoters": -50 + 100 * SEX[1],
    "mean rank": 1.8 + 0.4 * SEX[1],
    "share of those who answer": 0.3 + 0.2 * SEX[1],
}


def answers(rng: np.random.Generator, n: int, sexes: Floats, ages: Floats) -> Floats:
    """Return codes of people whose answers go with sex and age."""
    sex, age = rng.choice(2, n, p=sexes), rng.choice(3, n, p=ages)
    ticks = (rng.random(n) < 0.2 + 0.2 * age) + 2 * (rng.random(n) < 0.05)
    hours = rng.integers(0, 30, n) + 5 * age
    maybe = np.where(rng.random(n) < 0.2, 41, rng.integers(0, 20, n) + 8 * sex)
    promoter = rng.integers(0, 2, n) + sex
    order = rng.integers(0, 5, n) + sex
    said = np.where(rng.random(n) < 0.3 + 0.2 * sex, 0, 1)
    some = np.where(rng.random(n) < 0.1 + 0.1 * age, 2, said)
    return np.stack([sex, age, ticks, hours, maybe, promoter, order, some], axis=1)


def figures(people: WeightedPeople) -> dict[str, Figures | None]:
    """Return the weighted figure of each truth."""
    told = {name: people.answers(_PLACES[name]) for name in ("ticks", "rank", "some")}
    means = {name: people.answers(_PLACES[name]) for name in ("hours", "maybe", "nps")}
    found = [
        *(told["ticks"].share_figures(place) for place in range(2)),
        *(one.mean_figures() for one in means.values()),
        *(told[name].share_figures(0) for name in ("rank", "some")),
    ]
    return dict(zip(TRUTH, found, strict=True))


def held(
    level: str, n: int, name: str, *, runs: int, rng: np.random.Generator
) -> dict[str, list[bool]]:
    """Return whether the 95 % interval of each figure held, survey by survey."""
    weighting, sexes, ages = ASKED[name]
    survey = Survey.at_levels(title="Work", questions=QUESTIONS, levels=(level,))
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    zero, one = np.zeros(n, np.int64), np.ones(n, np.int64)
    found: dict[str, list[bool]] = {what: [] for what in TRUTH}
    for _ in range(runs):
        codes = answers(rng, n, np.asarray(sexes), np.asarray(ages)).astype(np.int64)
        sent = [
            mask.mask(codes[:, place], np.arange(n), SimulatedCoins(rng))
            for place, mask in enumerate(survey.levels[0].mechanisms)
        ]
        reports = SurveyReports.from_counts(
            book, zero, np.stack(sent, axis=1), one, crowd=rng.bytes(32)
        )
        try:
            told = figures(WeightedPeople.of(reports, weighting))
        except MasqueradeError:
            continue  # nobody seems to be one of a group, or masks leave too little: it says so
        for what, figure in told.items():
            if figure is not None:  # a ratio that may have any value holds the true one
                known = bool(np.isfinite(figure.value[0]))
                found[what].append(not known or bool(figure.statistic(TRUTH[what])[0] <= CUT))
    return found


def coverage(runs: int, seed: int) -> dict[str, float]:
    """Return how often intervals of each kind hold, raked and by design."""
    rates = {}
    for level in ("none", "low"):
        for n in (60, 300, 1000):
            for name in ASKED:
                rng = np.random.default_rng([seed, n, len(level), len(name)])
                for what, one in held(level, n, name, runs=runs, rng=rng).items():
                    rates[f"{what}, {name}, {level}, {n}"] = float(np.mean(one))
    return rates
