"""The greedy policy with running sums chooses as a computation from scratch would."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.exact.arrays import Floats
from masquerade_papers.loki.greedy import UNKNOWN, greedy, group_error
from masquerade_papers.loki.history import History


def instance(seed: int, *, missing: float, coordinates: int = 1) -> tuple[History, Floats, Floats]:
    """Return a random history of 12 to 20 people, their noise variances and costs."""
    rng = np.random.default_rng(seed)
    people, questions = int(rng.integers(12, 21)), int(rng.integers(3, 12))
    person, question = np.nonzero(rng.random((people, questions)) >= missing)
    if not person.size:
        person, question = np.array([0]), np.array([0])
    noise = rng.choice(np.array([0.0, 0.05, 0.2, 0.8]), people)
    report = rng.normal(0, 0.3, (person.size, coordinates))
    report += rng.normal(0, np.sqrt(noise[person])[:, None], report.shape)
    history = History(person, question, report, noise[person], people=people, questions=questions)
    return history, noise, rng.choice(np.array([0.1, 0.2, 0.4, 0.8]), people)


def from_scratch(
    history: History, noise: Floats, cost: Floats, score: Floats, budget: float, *, paper: bool
) -> list[int]:
    """Return the right choice of greedy: the error of every candidate group computed anew."""
    chosen: list[int] = []
    roots: list[float] = []
    root, left = UNKNOWN**0.5, budget
    while True:
        gains = {}
        for i in range(len(cost)):
            if i in chosen or cost[i] > left + 1e-9:
                continue
            error = group_error(history, [*chosen, i], noise, paper=paper).mean_squared
            gains[i] = ((root - max(error, 0.0) ** 0.5) / score[i], max(error, 0.0) ** 0.5)
        if not gains:
            break
        best = max(gains, key=lambda i: (round(gains[i][0], 9), -i))
        if not paper and gains[best][0] <= 0:
            break
        chosen.append(best)
        root = gains[best][1]
        roots.append(root)
        left -= cost[best]
    if not paper and roots:
        chosen = chosen[: int(np.argmin(roots)) + 1]
    return chosen


@pytest.mark.parametrize("paper", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.6])
@pytest.mark.parametrize("coordinates", [1, 3])
def test_running_sums_choose_as_a_computation_from_scratch(
    paper: bool, missing: float, coordinates: int
) -> None:
    """On 25 random instances each, complete and with 60 % missing, the same people in order."""
    for seed in range(25):
        history, noise, cost = instance(seed, missing=missing, coordinates=coordinates)
        score = np.maximum(0.5 * cost / 3 + np.linspace(0, 0.2, len(cost)), 1e-9)
        found = greedy(history, noise, cost, score, budget=3.0, paper=paper)
        expected = from_scratch(history, noise, cost, score, 3.0, paper=paper)
        assert found.tolist() == expected, seed


def test_the_repaired_policy_stops_where_more_people_hurt() -> None:
    """With money for all, the published policy takes everybody and the repaired one does not."""
    rng = np.random.default_rng(4)
    person, question = (grid.ravel() for grid in np.indices((30, 20)))
    noise = np.where(np.arange(30) < 10, 0.01, 9.0)
    report = rng.normal(0, 0.2, 600) + rng.normal(0, np.sqrt(noise)[person])
    history = History(person, question, report, noise[person])
    ones = np.ones(30)
    assert greedy(history, noise, ones, ones, budget=30.0, paper=True).size == 30
    kept = greedy(history, noise, ones, ones, budget=30.0)
    assert 0 < kept.size < 15
    assert (kept < 10).all()


def test_nobody_over_budget_or_exhausted_is_asked() -> None:
    """Cost and admission are respected to the end."""
    history, noise, cost = instance(3, missing=0.3)
    admissible = np.arange(len(cost)) % 2 == 0
    found = greedy(history, noise, cost, cost, budget=0.5, admissible=admissible, paper=True)
    assert cost[found].sum() <= 0.5
    assert admissible[found].all()
