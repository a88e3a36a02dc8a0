"""Intervals of what is shown hold the truth as often as they say, also with bounded reports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.representative import one_in

from masquerade.mechanisms import LEVELS, DiscreteGaussian, Lattice, level_named
from masquerade.truth import level_mean, level_shares

MASKS = {level.name: DiscreteGaussian(0, 40, 1, sigma=40 / level.mu) for level in LEVELS}
SURVEYS, PEOPLE = 1500, 60
ANSWERS = ("all 10", "spread", "all at the end")
WORST = 0.06
"""Most that intervals of 95 % may miss; a test errs with probability 1e-6 where they do."""


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
        found = level_mean({level: (reports, MASKS[level])}, Lattice(0, 40)).estimate()
        assert found.low <= found.shown <= found.high
        misses += not found.low <= truth <= found.high
    assert misses <= allowed(SURVEYS)


def test_audit_means_over_three_levels_are_covered() -> None:
    """800 surveys of 60 at three levels that do not differ: at most 6 % miss, by the default."""
    rng = np.random.default_rng(22)
    misses = 0
    for _ in range(800):
        groups = {
            name: (np.rint(rng.integers(0, 41, 20) + rng.normal(0, float(m.sigma), 20)), m)
            for name, m in MASKS.items()
        }
        found = level_mean(groups, Lattice(0, 40)).estimate()
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
        for code, found in enumerate(level_shares({level: (counts, mask)}).estimates()):
            misses[code] += not found.low <= held[code] <= found.high
    assert misses.max() <= allowed(800)
