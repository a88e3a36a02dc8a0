"""Time of figures, differences, levels, a page and a cross table of a survey, against a target.

Run with ``python benchmarks/estimation.py``. A ratio of 1 or more meets the target.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from card import Cards, sized
from masquerade.estimation import Counts, Crowd, Table, difference, ratios
from masquerade.mechanisms import RandomizedResponse
from masquerade.results import Codebook, SurveyReports, survey_result
from masquerade.surveys import Rating
from masquerade.surveys.survey import Survey

CARDS = Cards(__file__)
ROUNDS = sized(5, 20)
PEOPLE = 10_000


def best(work: Callable[[], object]) -> float:
    """Return the least time of processor that a work takes, in milliseconds."""
    work()
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return 1000 * min(times)


def levels(away: float) -> Crowd:
    """Return three levels with shares so far from those of all."""
    groups = []
    for epsilon, share in ((0.33, 0.5 + away), (0.68, 0.5), (1.44, 0.5 - away)):
        mask = RandomizedResponse(2, epsilon=epsilon)
        said = float(mask.other_probability) + float(mask.signal) * share
        groups.append(Counts.of(np.rint([1000 * said, 1000 * (1 - said)]), mask))
    return Crowd.of(groups)


def page(names: tuple[str, ...]) -> Callable[[], object]:
    """Return the work of the result of ten ratings by 10,000 people at some levels."""
    questions = tuple(Rating(f"q{number}", "?") for number in range(10))
    survey = Survey.at_levels(title="T", questions=questions, levels=names, template="rate")
    book = Codebook("aa", survey, survey.content_hash())
    rng = np.random.default_rng(1)
    sent = rng.integers(0, 5, (PEOPLE, 10)).tolist()
    people = [f"p{number}" for number in range(PEOPLE)]
    chosen = [names[number % len(names)] for number in range(PEOPLE)]
    reports = SurveyReports.from_rows(book, people, chosen, sent)
    return lambda: survey_result(reports)


def main() -> None:
    """Measure and print the ratio of each time to its target."""
    scores = [1, 2, 3, 4, 5]
    mask = RandomizedResponse(5, epsilon=1)
    one, other = (Crowd.of([Counts.of(c, mask)]) for c in ([9, 9, 12, 15, 15], [20, 15, 9, 9, 7]))
    asked = Crowd.of([Counts.of([140, 90, 170], RandomizedResponse(3, epsilon=1))])
    table = Table.of(
        np.random.default_rng(2).poisson(10, (10, 10)), *[RandomizedResponse(10, epsilon=2)] * 2
    )
    works: tuple[tuple[str, float, Callable[[], object]], ...] = (
        ("mean of a rating", 1, lambda: one.mean(scores).estimates()),
        ("share of those asked", 5, lambda: ratios(asked, [[1, 0, 0]], [1, 1, 0]).estimates()),
        (
            "difference of two means",
            5,
            lambda: difference(one.mean(scores), other.mean(scores)).estimates(),
        ),
        ("three levels alike", 50, lambda: levels(0).shares().estimates()),
        ("three levels 15 points apart", 50, lambda: levels(0.15).shares().estimates()),
        ("three levels 40 points apart", 50, lambda: levels(0.4).shares().estimates()),
        ("cross table of 10 x 10", 100, lambda: Crowd.of([table]).shares().estimates()),
        ("page of 10 questions, 10,000 responses, one level", 500, page(("medium",))),
        (
            "page of 10 questions, 10,000 responses, three levels",
            500,
            page(("high", "medium", "low")),
        ),
    )
    for name, target, work in works:
        taken = best(work)
        CARDS.add(name, taken, "ms", peer="target", peer_value=target)


if __name__ == "__main__":
    main()
