"""The forecasts work out the learnable figures, recommended where they are as wished."""

from __future__ import annotations

import pytest

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.results.forecasts import forecast, masked_forecast
from masquerade.results.learnable import TYPICAL, Way, _of_sums, tells, ways
from masquerade.surveys import PairVote
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.question import MaskRules
from masquerade.surveys.survey import MOST_QUESTIONS, Survey


@pytest.mark.parametrize("helper", [True, False])
@pytest.mark.parametrize("people", [1, 60, 400, 5000, 100_000])
@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2])
def test_the_most_questions_are_as_exact_as_wished_and_one_more_is_not(
    people: int, margin: float, helper: bool
) -> None:
    """Of each way: within the margin and the caps; one question more breaks one of the two."""
    caps = Caps()
    for way in ways(people, 10, margin, caps=caps, helper=helper):
        assert way.fits == (way.most_questions >= 10)
        for count, holds in ((way.most_questions, True), (way.most_questions + 1, False)):
            if not 1 <= count <= MOST_QUESTIONS:
                continue
            if way.level == TWO_PARTIES:
                found = forecast(_of_sums(count), 0, {TWO_PARTIES: people}).margin
                assert (found <= margin) is holds
                continue
            mask = TYPICAL.mask(way.level, MaskRules())
            exact = masked_forecast(TYPICAL, {"a": mask}, {"a": people}).margin <= margin
            paid = caps.admits(OfferedLevel(way.level, (mask,) * count).cost("").loss)
            assert (exact and paid) is holds


def test_two_parties_come_first_where_there_is_a_helper() -> None:
    """Where both fit, the helper decides; without one masks are first."""

    def first(people: int, helper: bool) -> Way:
        return ways(people, 3, 0.1, caps=Caps(), helper=helper)[0]

    assert first(20_000, True).level == TWO_PARTIES
    assert first(20_000, False).level == "high"
    # and what does not fit is not recommended for being first
    assert not first(20, True).fits


def test_an_interval_over_all_that_is_possible_tells_nothing() -> None:
    """By its part of the range, in every unit."""
    assert [tells(x, 1) for x in (0, 0.25, 0.26, 0.47, 0.48, 0.5)] == [
        *("enough",) * 2,
        *("little",) * 2,
        *("nothing",) * 2,
    ]
    assert tells(10, 40) == "enough"
    assert tells(19.5, 40) == "nothing"


def test_a_list_of_pairs_is_planned_as_a_leaderboard() -> None:
    """More people, votes or less protection narrow it, and more items widen it; at most a half."""

    def margin(level: str, items: int, votes: int, people: int) -> float:
        vote = PairVote("v", "?", tuple(map(str, range(items))), votes=votes)
        survey = Survey.at_level(title="T", questions=(vote,), level=level)
        return forecast(survey, 0, {level: people}).margin

    usual = margin("medium", 10, 5, 400)
    assert margin("medium", 10, 5, 800) < usual
    assert margin("medium", 10, 10, 400) < usual
    assert margin("low", 10, 5, 400) < usual
    assert usual < margin("medium", 20, 5, 400) < 0.5
    assert margin("high", 100, 1, 1) == pytest.approx(0.5)
