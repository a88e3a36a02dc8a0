"""Rankings of items that pairs of a survey compare."""

from __future__ import annotations

import itertools

import numpy as np
from tests.results.made_up_reports import define, masks, reports_of, rows_of

from masquerade.results.leaderboard import ranking_result
from masquerade.surveys import Comparison
from masquerade.surveys.survey import Survey

PAIRS = list(itertools.combinations("ABCD", 2))
STRENGTH = {"A": 0.6, "B": 0.2, "C": -0.2, "D": -0.6}


def asked(level: str) -> Survey:
    """Return a survey of all pairs of four items at a level."""
    questions = [Comparison(f"{a}{b}", "Which?", a, b) for a, b in PAIRS]
    return define(*questions, levels=(level,))


def test_pairs_that_may_be_anything_make_no_ranking() -> None:
    """20 people through strong masks: no ranking; 60 people, and 20 in clear: one of four."""
    rng = np.random.default_rng(1)
    for level, people, items in (("medium", 20, 0), ("medium", 60, 4), ("none", 20, 4)):
        reports = rng.integers(2, size=(people, len(PAIRS))).tolist()
        rows = rows_of(reports, level=level)
        assert len(ranking_result(reports_of(asked(level), rows))) == items


def test_strengths_hold_through_masks() -> None:
    """N = 30 surveys of 40 people at level low: each item's interval in 18 or more.

    At .93 fewer have a chance of 4e-8 each.
    """
    rng, survey = np.random.default_rng(2), asked("low")
    held = dict.fromkeys(STRENGTH, 0)
    channels = [one.channel().matrix() for one in masks(survey)]
    said = [np.array([float(row[0]) for row in one]) for one in channels]
    for _ in range(30):
        columns = []
        for (a, b), first in zip(PAIRS, said, strict=True):
            prefers = 1 / (1 + np.exp(STRENGTH[b] - STRENGTH[a]))
            answer = (rng.random(40) > prefers).astype(int)
            columns.append((rng.random(40) > first[answer]).astype(int))
        rows = rows_of(np.column_stack(columns).tolist(), level="low")
        for one in ranking_result(reports_of(survey, rows)):
            held[one.item] += one.low <= STRENGTH[one.item] <= one.high
    assert min(held.values()) >= 18, held
