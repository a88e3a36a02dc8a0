"""The time of a selection of people.

Run with ``python benchmarks/selection.py``. The greedy policy is compared with itself computed from
scratch at every step, on a size where that can be waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from card import Cards, sized
from masquerade.selection import Pool, select
from masquerade_papers.loki.greedy import greedy, group_error
from masquerade_papers.loki.history import History

CARDS = Cards(__file__)
SEED = 1
PEOPLE = sized(20_000, 100_000)


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(SEED)
    level = rng.choice(np.array([0.5625, 2.25, 9.0]), PEOPLE)
    cost = rng.choice(np.array([0.1, 0.2, 0.4]), level.size)
    pool = Pool([str(i) for i in range(level.size)], cost, level)
    budget = 0.3 * float(pool.cost.sum())
    taken = seconds(lambda: select(pool, budget=budget))
    CARDS.add(f"precision, {PEOPLE:,} people", taken, "s")
    for people, questions, dense, chosen in (
        (PEOPLE // 10, 300, 1.0, 400),
        (PEOPLE // 10, 300, 0.05, 400),
        (PEOPLE, 300, 0.01, sized(200, 1_000)),
    ):
        history = made_up(rng, people, questions, dense)
        taken = seconds(lambda h=history, c=chosen: run(h, c))  # type: ignore[misc]
        CARDS.add(
            f"greedy, {people:,} people, {len(history.person):,} reports, {chosen} chosen",
            taken,
            "s",
        )
    small = made_up(rng, 200, 50, 0.5)
    ours = seconds(lambda: run(small, 10))
    theirs = seconds(lambda: from_scratch(small, 10))
    CARDS.add(
        "greedy, 200 people, 10 chosen", ours, "s", peer="computed from scratch", peer_value=theirs
    )


def made_up(rng: np.random.Generator, people: int, questions: int, dense: float) -> History:
    """Return a history of noise."""
    if dense == 1:
        person, question = (grid.ravel() for grid in np.indices((people, questions)))
    else:
        cells = np.unique(rng.integers(0, people * questions, int(people * questions * dense)))
        person, question = np.divmod(cells, questions)
    noise = np.full(person.size, 0.3)
    report = rng.normal(0, 0.3, person.size)
    return History(person, question, report, noise, people=people, questions=questions)


def run(history: History, chosen: int) -> None:
    """Choose so many people of equal cost."""
    ones = np.ones(history.people)
    greedy(history, 0.3 * ones, ones, ones, budget=float(chosen), paper=True)


def from_scratch(history: History, chosen: int) -> None:
    """Choose the same, every candidate's group computed anew."""
    noise = np.full(history.people, 0.3)
    group: list[int] = []
    for _ in range(chosen):
        errors = {
            i: group_error(history, [*group, i], noise, paper=True).mean_squared
            for i in range(history.people)
            if i not in group
        }
        group.append(min(errors, key=errors.__getitem__))


def seconds(work: Callable[[], object]) -> float:
    """Return the best of three runs."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


if __name__ == "__main__":
    main()
