"""Kandappu et al. (2014), Loki: selection of people, for the money and fairly.

Netflix is no longer public; ``movielens_small`` stands in for it where `MASQUERADE_DATA` has it,
else simulated ratings. The trial with 131 students was never published; ``bfi`` stands in for it.
"""

from __future__ import annotations

import math

import numpy as np

from masquerade import datasets
from masquerade_papers import simulated_crowds
from masquerade_papers.loki.crowd import (
    BEST_PREDICTORS,
    CORRECTED,
    DENSE,
    DEVIATIONS,
    LEVELS,
    LITERAL,
    NOBODY,
    SHARES,
    Crowd,
    read_ratings,
)
from masquerade_papers.loki.greedy import group_error
from masquerade_papers.study import Cells, Job, Scale, real

CITATION = (
    'T. Kandappu, V. Sivaraman, A. Friedman, R. Boreli, "Loki: A privacy-conscious platform for '
    'crowdsourced surveys", COMSNETS 2014'
)

BUDGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.74, 1.0)
QUICK_BUDGETS = (0.1, 0.3, 0.5, 0.74, 1.0)
ALPHAS, QUICK_ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.0, 1.0)
GREEDY, OURS_GREEDY = LITERAL, CORRECTED
SEQUENCE_BUDGET, SEQUENCE_CAP = 0.5, 40.0
DENSE_ALPHAS = (0.0, 1.0)
#: Parts of a sequence of surveys, over which errors are averaged.
PARTS = 8

DELTA = 0.01

Policies = list[tuple[str, float, tuple[str, ...]]]


def _policies(alphas: tuple[float, ...]) -> Policies:
    return [
        ("random", 0.0, ("mean", "weighted")),
        (BEST_PREDICTORS, 0.0, ("mean",)),
        *((GREEDY, alpha, ("mean", "weighted")) for alpha in alphas),
        (OURS_GREEDY, 0.0, ("mean", "weighted")),
        ("precision", 0.0, ("mean", "weighted", "debiased")),
    ]


def _in_sequence(alphas: tuple[float, ...]) -> list[tuple[str, float]]:
    greedy = [(GREEDY, alpha) for alpha in alphas]
    return [*greedy, ("random", 0.0), (BEST_PREDICTORS, 0.0), ("precision", 0.0)]


def jobs(scale: Scale) -> list[Job]:
    """Return one job a draw of levels and noise."""
    name = "movielens_small" if real("movielens_small") else "simulated"
    budgets = QUICK_BUDGETS if scale.quick else BUDGETS
    alphas = QUICK_ALPHAS if scale.quick else ALPHAS
    draws = scale.pick(8, 6)
    films, past = (12, 62) if scale.quick else (40, 124)
    dense = 100 if scale.quick else 200
    lecturers = "bfi" if real("bfi") else "simulated"
    survey = {"name": name, "budgets": list(budgets), "alphas": list(alphas), "films": films}
    return [
        *(Job(f"survey-{seed}", one_survey, {**survey, "seed": seed}) for seed in range(draws)),
        *_sequences("sequence", name, alphas, past, SEQUENCE_CAP, max(2, draws // 2)),
        *_sequences(
            "dense", DENSE, DENSE_ALPHAS, dense, dense * SEQUENCE_CAP / 100, scale.pick(4, 3)
        ),
        Job("selected", selection, {"name": name, "seed": 0, "alphas": list(ALPHAS)}),
        *(Job(f"trial-{s}", trial, {"name": lecturers, "seed": s}) for s in range(draws)),
    ]


def _sequences(
    label: str, name: str, alphas: tuple[float, ...], surveys: int, cap: float, seeds: int
) -> list[Job]:
    shared = {"name": name, "surveys": surveys, "cap": cap}
    return [
        Job(
            f"{label}-{policy.split(',')[0]}-{alpha:g}-{seed}",
            sequence,
            {**shared, "seed": seed, "policy": policy, "alpha": alpha},
        )
        for policy, alpha in _in_sequence(alphas)
        for seed in range(seeds)
    ]


def one_survey(
    *, name: str, seed: int, budgets: list[float], alphas: list[float], films: int
) -> Cells:
    """Measure every policy and estimator at every budget, over films (figure 2a)."""
    ratings = read_ratings(name, seed=seed)
    rng = np.random.default_rng([seed, 14])
    crowd = Crowd.draw(ratings, rng)
    loss = crowd.past_loss()
    cap = float(np.quantile(loss, 0.95))
    squared: dict[tuple[str, float, str, float], list[float]] = {}
    predicted: dict[tuple[str, float], list[float]] = {}
    for film in ratings.coming[:films].tolist():
        pool = crowd.pool(film, loss, cap)
        truth = float(ratings.rating[ratings.question == film].mean())
        whole = float(pool.cost[pool.admissible].sum())
        for policy, alpha, estimators in _policies(tuple(alphas)):
            for budget in budgets:
                chosen = crowd.choose(pool, policy, alpha, budget * whole, rng)
                for estimator in estimators:
                    estimate = crowd.estimate(film, chosen, pool, estimator)
                    # an estimate from nobody has a fixed error: left out, small budgets would look
                    # good
                    off = NOBODY if math.isnan(estimate) else estimate - truth
                    squared.setdefault((policy, alpha, estimator, budget), []).append(off**2)
                if alpha == 0 and chosen.size and policy in (GREEDY, OURS_GREEDY):
                    expected = (
                        crowd.literal.squared(chosen)
                        if policy == GREEDY
                        else group_error(crowd.published, chosen, crowd.noise_variance).mean_squared
                    )
                    predicted.setdefault((policy, budget), []).append(expected * ratings.width**2)
    cells: Cells = [
        {
            "policy": policy,
            "alpha": alpha,
            "estimator": estimator,
            "budget": budget,
            "mse": float(np.mean(each)),
            "films": len(each),
            "data": ratings.data,
            "people": ratings.people,
        }
        for (policy, alpha, estimator, budget), each in squared.items()
    ]
    return cells + [
        {
            "policy": policy,
            "predicted_at": budget,
            "predicted_mse": float(np.mean(each)),
            "negative": float(np.mean(np.array(each) < 0)),
        }
        for (policy, budget), each in predicted.items()
    ]


def selection(*, name: str, seed: int, alphas: list[float]) -> Cells:
    """Return the people selected for the film with most raters at 74 % of the cost (figure 2b)."""
    ratings = read_ratings(name, seed=seed)
    rng = np.random.default_rng([seed, 22])
    crowd = Crowd.draw(ratings, rng)
    loss = crowd.past_loss()
    film = int(ratings.coming[0])
    raters = ratings.person[ratings.question == film]
    raters = raters[np.argsort(loss[raters], kind="stable")]
    pool = crowd.pool(film, loss, float(np.quantile(loss[raters], 0.95)))
    budget = 0.74 * float(pool.cost[raters].sum())
    cells: Cells = []
    for alpha in alphas:
        chosen = crowd.choose(pool, GREEDY, alpha, budget, rng)
        cells += [
            {
                "alpha": alpha,
                "rank": rank,
                "loss": float(loss[person]),
                "level": LEVELS[crowd.level[person]],
                "selected": bool(person in chosen),
                "data": ratings.data,
            }
            for rank, person in enumerate(raters.tolist())
        ]
    return cells


def sequence(*, name: str, seed: int, policy: str, alpha: float, surveys: int, cap: float) -> Cells:
    """Run surveys one after another under a cap of privacy (figure 3)."""
    ratings = read_ratings(name, seed=seed)
    rng = np.random.default_rng([seed, 33])
    crowd = Crowd.draw(ratings, rng)
    films = ratings.coming
    order = np.concatenate([rng.permutation(films) for _ in range(-(-surveys // len(films)))])
    spent = np.zeros(ratings.people)
    cells: Cells = []
    for number, film in enumerate(order[:surveys].tolist()):
        pool = crowd.pool(film, spent, cap)
        raters = ratings.person[ratings.question == film]
        budget = SEQUENCE_BUDGET * float(pool.cost[raters].sum())
        chosen = crowd.choose(pool, policy, alpha, budget, rng)
        estimator = "weighted" if policy == "precision" else "mean"
        estimate = crowd.estimate(film, chosen, pool, estimator)
        truth = float(ratings.rating[ratings.question == film].mean())
        # after the estimate, so that who is exhausted now is missing from the next survey only
        spent[chosen] += crowd.epsilon[chosen]
        exhausted = (crowd.epsilon > 0) & (spent + crowd.epsilon > cap)
        cells.append(
            {
                "policy": policy,
                "alpha": alpha,
                "survey": number,
                "part": number * PARTS // surveys,
                "squared": (NOBODY if math.isnan(estimate) else estimate - truth) ** 2,
                "exhausted": float(exhausted.mean()),
            }
        )
    return cells


def trial(*, name: str, seed: int) -> Cells:
    """Compare each level's mean with the overall mean, item by item (figure 4)."""
    rng = np.random.default_rng([seed, 44])
    if name == "bfi":
        claims = datasets.dataset_named(name).claims()
        person, question = claims.worker.astype(np.int64), claims.task.astype(np.int64)
        rating = claims.value
        some = rng.choice(claims.n_workers, 131, replace=False)
        person, question, rating = (
            each[np.isin(person, some) & (question < 13)] for each in (person, question, rating)
        )
        # later items were answered by fewer students
        answered = rng.random(len(person)) < np.linspace(0.92, 0.38, 13)[question]
        person, question, rating = person[answered], question[answered], rating[answered]
        person = np.unique(person, return_inverse=True)[1].astype(np.int64)
    else:
        ratings = simulated_crowds.lecturer_ratings(rng)
        person, question, rating = ratings.person, ratings.question, ratings.rating
    level = rng.choice(4, size=int(person.max()) + 1, p=np.array(SHARES) / sum(SHARES))
    report = rating + np.array(DEVIATIONS)[level][person] * rng.standard_normal(len(rating))
    cells: Cells = []
    for item in range(13):
        here = question == item
        whole = float(report[here].mean())
        for code, label in enumerate(LEVELS):
            of_level = report[here & (level[person] == code)]
            n = len(of_level)
            if n:
                error = float(of_level.std(ddof=1)) / math.sqrt(n) if n > 1 else None
                cell = {"item": item, "level": label, "n": n, "raters": int(here.sum())}
                difference = float(of_level.mean()) - whole
                cells.append({**cell, "difference": difference, "error": error})
    return cells
