"""Figures of a survey that went the whole way through two servers err as a plan says they do."""

from __future__ import annotations

import math

import pytest
from scipy import stats
from tests.server.parties.pairs import Pair

from masquerade.selection import TwoPartySums, precision_of
from masquerade.surveys import Choice

OPTIONS = ("very", "rather", "so so", "little", "not")
PEOPLE, QUESTIONS = 40, 10


def test_ten_questions_err_as_planned(sqlite_pair: Pair) -> None:
    """Split, sealed, checked, added up and noised by both: 50 counts err by sqrt(40).

    Chi-square of their 50 squares, with the operating system's noise: fails once in 1e6 runs.
    """
    names = [f"q{number}" for number in range(QUESTIONS)]
    survey = sqlite_pair.define(
        tuple(Choice(name, "How content are you?", OPTIONS) for name in names), rho="0.5"
    )
    record = sqlite_pair.open(survey)
    for person in range(PEOPLE):
        # of 40 people 16, 12, 6, 4 and 2; each question begins elsewhere
        sqlite_pair.send(
            record,
            {
                name: OPTIONS[sum((person + at) % PEOPLE >= end for end in (16, 28, 34, 38))]
                for at, name in enumerate(names)
            },
        )
    sqlite_pair.close(record)
    assert sqlite_pair.leader.aggregation.run() == 1
    result = sqlite_pair.result(record)
    options = [option for question in result["questions"] for option in question["options"]]
    exact = [16, 12, 6, 4, 2] * QUESTIONS
    errors = [
        option["value"] * PEOPLE - count for option, count in zip(options, exact, strict=True)
    ]
    square = sum(error**2 for error in errors) / 40
    assert stats.chi2.ppf(5e-7, len(errors)) < square < stats.chi2.isf(5e-7, len(errors))
    plan = precision_of(TwoPartySums(questions=QUESTIONS, options=len(OPTIONS), rho="0.5"))
    for option in options:
        # The sums are known to add to the people, which takes a fifth of the noise off five counts.
        noise = plan.margins(PEOPLE)[1]
        assert 1.959964 * option["mechanism_error"] == pytest.approx(noise, rel=0.05)
        low = max(min(option["value"], 1.0), 0.0)
        assert option["low"] <= low <= option["high"]
        assert math.hypot(option["mechanism_error"], option["sampling_error"]) == pytest.approx(
            option["standard_error"]
        )
