"""Shown intervals hold the truth as often as they say, also with bounded reports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.representative import one_in

from masquerade.estimation import Counts, Crowd, Estimate, Numbers, shown_shares
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import LEVELS, DiscreteGaussian, level_named

MASKS = {level.name: DiscreteGaussian(0, 40, 1, sigma=40 / level.mu) for level in LEVELS}
SURVEYS, PEOPLE = 1500, 60
ANSWERS = ("all 10", "spread", "all at the end")
WORST = 0.06
"""Most that intervals of 95 % may miss; a test errs with probability 1e-6 where they do."""


def mean_of(reports: dict[str, Floats]) -> Estimate:
    """Return the mean of reports at some levels."""
    groups = [Numbers.of(sent, 0, 40, MASKS[name]) for name, sent in reports.items()]
    return Crowd.of(groups).mean().estimates()[0]


def allowed(surveys: int) -> int:
    """Return a number of misses that is exceeded with probability 1e-6 at the worst rate."""
    return int(stats.binom.isf(1e-6, surveys, WORST))


@pytest.mark.parametrize(
    ("level", "answers"),
    # In turn, so that the first of each four has every level and every spread of answers.
    one_in(4, [(level, answers) for level in MASKS for answers in ANSWERS]),
)
def test_audit_means_are_covered(level: str, answers: str) -> None:
    """1,500 surveys of 60: at most 6 % of the intervals miss the mean (false alarms 1e-6 a case).

    All people at a quarter of the range is where cutting reports biases most.
    """
    rng = np.random.default_rng(21)
    noise = rng.normal(0, float(MASKS[level].sigma), (SURVEYS, PEOPLE))
    held = {
        "all 10": np.full((SURVEYS, PEOPLE), 10),
        "spread": rng.integers(0, 41, (SURVEYS, PEOPLE)),
        "all at the end": np.full((SURVEYS, PEOPLE), 40),
    }[answers]
    truth = {"all 10": 10, "spread": 20, "all at the end": 40}[answers]
    misses = 0
    for reports in np.rint(held + noise):
        found = mean_of({level: reports})
        assert found.low <= found.shown <= found.high
        misses += not found.low <= truth <= found.high
    assert misses <= allowed(SURVEYS)


def test_audit_means_over_three_levels_are_covered() -> None:
    """800 surveys of 60 at three levels that do not differ: at most 6 % miss, by the default."""
    rng = np.random.default_rng(22)
    misses = 0
    for _ in range(800):
        groups = {
            name: np.rint(rng.integers(0, 41, 20) + rng.normal(0, float(m.sigma), 20))
            for name, m in MASKS.items()
        }
        found = mean_of(groups)
        misses += not found.low <= 20 <= found.high
    assert misses <= allowed(800)


@pytest.mark.parametrize("level", list(MASKS))
def test_audit_shares_are_covered(level: str) -> None:
    """800 surveys of 60, shares from 0 to 80 %: at most 6 % of each answer's intervals miss."""
    held = np.array([0.8, 0.15, 0.05, 0.0])
    mask = level_named(level).randomized_response(4)
    sent = held @ np.array(mask.channel().table, dtype=float)
    rng = np.random.default_rng(23)
    misses = np.zeros(4)
    for counts in rng.multinomial(PEOPLE, sent / sent.sum(), 800).tolist():
        for code, found in enumerate(
            shown_shares(Crowd.of([Counts.of(counts, mask)]).shares().estimates())
        ):
            misses[code] += not found.low <= held[code] <= found.high
    assert misses.max() <= allowed(800)
