"""Sentences for people follow from the loss itself, and are false at most as often as they say."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import compose, explain, largest_power, power_in_words, risk_in_words
from masquerade.accounting.words import (
    RARELY,
    blur_in_words,
    highest_belief,
    keep_in_words,
    losses_of_guarantee,
    odds_in_words,
)
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Guarantee, Micro
from masquerade.exact.loss import no_loss, noise, pure_loss, tail
from masquerade.mechanisms import (
    LEVELS,
    BitwiseResponse,
    DiscreteGaussian,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)


def percent_of(text: str) -> float:
    """Return the percentage that a sentence states."""
    return float(text.split("at most ")[1].split(" %")[0])


@pytest.mark.parametrize(
    ("level", "expected"),
    [("high", (86.0, 93.1, 98.6, 99.8)), ("medium", (97.8, 99.6, None, None))],
)
def test_golden_beliefs_of_ratings(level: str, expected: tuple[float | None, ...]) -> None:
    """One, two, five and ten ratings with noise: the largest possible belief of an observer."""
    rating = DiscreteGaussian(1, 5, sigma=4 / {one.name: one for one in LEVELS}[level].mu)
    for answers, percent in zip((1, 2, 5, 10), expected, strict=True):
        said = explain(compose([rating] * answers)).all_answers
        if percent is None:
            assert "nearly for certain" in said
        else:
            assert percent_of(said) == percent
            assert said.endswith(RARELY)


@pytest.mark.parametrize(
    ("options", "expected"),
    [(2, (58.3, 66.2, 84.3, 96.7)), (5, (62.1, 72.9, 92.2, 99.3)), (10, (65.6, 78.4, 96.2, 99.8))],
)
def test_golden_beliefs_of_choices(options: int, expected: tuple[float, ...]) -> None:
    """Choices at level high are stated outright: no sentence on a chance follows."""
    mask = LEVELS[0].randomized_response(options)
    for answers, percent in zip((1, 2, 5, 10), expected, strict=True):
        said = explain(compose([mask] * answers)).all_answers
        assert percent_of(said) == pytest.approx(percent, abs=0.11)
        assert answers == 10 or RARELY not in said


def test_exact_a_rating_exceeds_its_limit_as_seldom_as_said() -> None:
    """Enumerated: the chance of a belief above the printed one is below one in a million."""
    for level in LEVELS:
        v = float((4 / level.mu) ** 2)
        x = np.arange(-60 * math.isqrt(int(v)), 60 * math.isqrt(int(v)) + 1, dtype=float)
        law = np.exp(-(x**2) / (2 * v))
        law /= law.sum()
        ratio = (16 - 8 * x) / (2 * v)
        bound = tail(noise(16, 16, (4 / level.mu) ** 2)).epsilon
        assert law[ratio > bound].sum() <= 1.1e-7


def test_answers_that_go_together_are_told_of_all_of_them() -> None:
    """One observer of the other answers can believe less than all answers together show."""
    for answers, least in ((2, 88.0), (5, 99.3)):
        said = explain(compose([RandomizedResponse(2, epsilon=1)] * answers))
        assert percent_of(said.one_answer) == 73.2
        assert "knows all your other answers" in said.one_answer
        assert percent_of(said.all_answers) >= least
    alone = explain(compose([RandomizedResponse(2, epsilon=1)]))
    assert alone.one_answer == alone.all_answers
    assert "other answers" not in alone.one_answer


@given(micro=st.integers(0, 8_000_000), prior=st.floats(0.001, 1))
def test_prop_highest_belief_is_bayes_rule(micro: int, prior: float) -> None:
    """Posterior odds are prior odds times e to the loss."""
    expected = 1 / (1 + (1 - prior) / prior * math.exp(-micro / 1e6))
    assert math.isclose(highest_belief(Micro(micro), prior=prior), expected, rel_tol=1e-12)
    assert highest_belief(INFINITE_LOSS, prior=prior) == 1
    assert highest_belief(NO_LOSS, prior=prior) == pytest.approx(prior)


def test_what_says_nothing_and_what_says_all() -> None:
    """A loss of 0 teaches nothing; an answer in clear is told for certain."""
    free = Guarantee(NO_LOSS, NO_LOSS, NO_LOSS, 1, ())
    assert "learns nothing" in explain(free).one_answer
    assert "for certain" in explain(Guarantee.none("why")).one_answer
    assert "nearly for certain" in power_in_words(pure_loss(Micro(30_000_000)))
    assert "near certainty" in risk_in_words(pure_loss(Micro(30_000_000)))
    with pytest.raises(ParameterError):
        risk_in_words(no_loss(), priors=[Fraction(1)])


def test_an_epsilon_at_a_delta_says_nothing_of_a_belief() -> None:
    """Delta is not a chance of more: without noise or a pure epsilon no sentence is made."""
    stated = Guarantee(Micro(1), Micro(1), Micro(1), 1, (), delta=Fraction(1, 10**6))
    with pytest.raises(NoGuarantee, match="bounds no belief"):
        losses_of_guarantee(stated)


@given(rate=st.floats(0, 1), micro=st.integers(0, 5_000_000))
def test_prop_powers_are_attained_by_a_response_and_never_below(rate: float, micro: int) -> None:
    """No test of two-option response has more power, and the best one has as much."""
    size = micro / 1e6
    keep = 1 / (1 + math.exp(-size))
    flip = 1 - keep
    best = rate * keep / flip if rate <= flip else 1 - (1 - rate) * flip / keep
    assert largest_power(rate, loss=pure_loss(Micro(micro))) == pytest.approx(best, abs=1e-9)


def test_exact_powers_of_noise_are_never_below_those_of_its_best_test() -> None:
    """Thresholds on a rating with noise are the best tests; their power is below the bound."""
    v = 36.0
    x = np.arange(-200, 201, dtype=float)
    one, other = (np.exp(-((x - centre) ** 2) / (2 * v)) for centre in (0.0, 4.0))
    loss = noise(16, 16, Fraction(36))
    for place in range(len(x)):
        rate, power = one[place:].sum() / one.sum(), other[place:].sum() / other.sum()
        assert power <= largest_power(float(min(rate, 1)), loss=loss) + 1e-12


def test_how_often_answers_are_sent_as_they_are() -> None:
    """Shares are rounded, but never to all or none where it is not that."""
    assert "about 73 of 100 people" in keep_in_words([RandomizedResponse(2, epsilon=1)])
    strong = keep_in_words([RandomizedResponse(2, epsilon=6)])
    assert "more than 99 of 100 people" in strong
    assert "fewer than 1 send the other one" in strong
    assert "all of 100" in keep_in_words([RandomizedResponse(2, flip_probability=0)])
    several = odds_in_words([BitwiseResponse(5, epsilon=60)])
    assert "more than 99 of 100" in several
    assert "about 75" in keep_in_words([TwoLayer(2, low=0, high="0.5")])


def test_exact_four_times_in_five_is_at_least_that() -> None:
    """The reach that is printed holds at least 4 of 5 draws, on coarse scales too."""
    for points in (2, 3, 5, 10, 101):
        for level in LEVELS:
            mechanism = DiscreteGaussian(0, points - 1, sigma=(points - 1) / level.mu)
            said = blur_in_words([mechanism])
            reach = (int(said.split("between ")[1].split(" and")[0]) - 5) / -10 * (points - 1)
            v = float(mechanism.noise_variance)
            x = np.arange(-3000, 3001, dtype=float)
            law = np.exp(-(x**2) / (2 * v))
            assert law[np.abs(x) <= reach + 1e-9].sum() / law.sum() >= 0.8


def test_exact_who_stops_when_it_suits_exceeds_the_bound_no_more_often_than_said() -> None:
    """A surveyor that stops once the bound is passed succeeds with at most one in a million.

    All paths of up to 298 yes/no questions at epsilon 0.1 are enumerated: the log ratio is a walk,
    and the bound at each number of questions is that of their sum. The bound for a list that is
    fixed beforehand is passed more often.
    """
    response = RandomizedResponse(2, epsilon="0.1")
    one, keep = response.loss(answers=1), float(response.keep_probability)
    step = math.log(keep / (1 - keep))

    def passed(*, adaptive: bool) -> float:
        walk, stopped = {0: 1.0}, 0.0
        for count in range(1, 299):
            bound = tail(one * count, adaptive=adaptive).epsilon + 1e-9  # rounding of `step`
            after: dict[int, float] = {}
            for place, mass in walk.items():
                for move, chance in ((1, keep), (-1, 1 - keep)):
                    after[place + move] = after.get(place + move, 0.0) + mass * chance
            stopped += sum(mass for place, mass in after.items() if place * step > bound)
            walk = {place: mass for place, mass in after.items() if place * step <= bound}
        return stopped

    assert passed(adaptive=True) <= 1e-6 < passed(adaptive=False)


def test_nothing_is_said_of_amounts_that_are_no_promise() -> None:
    """A design that nobody checks takes all bounds from the answers beside it."""
    together = compose([parse_mechanism("warner:p=0.8"), DiscreteGaussian(1, 5, sigma=3)])
    assert together.status == "none"
    words = explain(together)
    assert words.one_answer.endswith("may tell it for certain after seeing what you send.")
    assert words.all_answers.endswith("may tell it for certain after seeing what you send.")
    assumed = replace(together, status="assumed", rho_event=None, rho_user=None)
    with pytest.raises(NoGuarantee, match="bounds no belief"):
        explain(assumed)
