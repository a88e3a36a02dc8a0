"""Properties of every interval, for all answers and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtri

from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import (
    Counts,
    Crowd,
    Figures,
    Numbers,
    Sums,
    Table,
    ahead,
    difference,
    holm,
    independence,
    levels_alike,
    quantile,
    ratios,
    shown_shares,
)
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse

EPSILONS = (0.0, 0.5, 1.0, 2.0, 4.0)  # 0 for answers in clear
CONFIDENCES = (0.8, 0.95, 0.999)


@st.composite
def groups(draw: st.DrawFn, options: int) -> Counts:
    """Draw reports of people at one level, skewed as often as not."""
    epsilon = draw(st.sampled_from(EPSILONS))
    size = draw(st.sampled_from([1, 2, 20, 300, 100_000]))
    parts = draw(st.lists(st.integers(0, 3), min_size=options, max_size=options))
    if not any(parts):
        parts[draw(st.integers(0, options - 1))] = 1
    counts = [size * part for part in parts]
    mask = RandomizedResponse(options, epsilon=epsilon) if epsilon else None
    return Counts.of(counts, mask)


@st.composite
def crowds(draw: st.DrawFn, *, options: int | None = None, levels: int = 3) -> Crowd:
    """Draw people at one or several levels."""
    k = options or draw(st.integers(2, 6))
    number = draw(st.integers(1, levels))
    bound = draw(st.sampled_from([0.0, 0.05, 0.15, 1.0]))
    return Crowd.of([draw(groups(k)) for _ in range(number)], bound=bound)


def check(figures: Figures, confidence: float = 0.95) -> None:
    """Assert the properties of all intervals."""
    low, high = figures.curve.low, figures.curve.high
    for place, found in enumerate(figures.estimates(confidence)):
        assert low[place] <= found.low <= found.shown <= found.high <= high[place]
        assert found.standard_error > 0 or low[place] == high[place]
        if low[place] < high[place]:
            assert found.low < found.high


@given(crowds(), st.sampled_from(CONFIDENCES))
def test_prop_no_interval_is_empty_or_leaves_the_range(people: Crowd, confidence: float) -> None:
    """Intervals of shares and means hold the estimate, have a width, and stay in the range."""
    check(people.shares(), confidence)
    check(people.mean(list(range(people.symbols))), confidence)


@given(crowds())
def test_prop_an_interval_holds_what_is_not_rejected(people: Crowd) -> None:
    """W at an end of an interval inside the range is the cut; outside it is more."""
    figures = people.mean(list(range(people.symbols)))
    found, cut = figures.estimates()[0], float(chdtri(1, 0.05))
    width = people.symbols - 1
    for end, sign in ((found.low, -1), (found.high, 1)):
        beyond = end + sign * 1e-5 * width
        if 0 < beyond < width:
            assert figures.statistic(end)[0] <= cut + 1e-3
            assert figures.statistic(beyond)[0] > cut - 1e-3
    assert figures.statistic(found.shown)[0] <= 1e-6
    assert figures.probabilities(found.shown)[0] == pytest.approx(1, abs=1e-2)


@given(crowds(levels=2), st.randoms(use_true_random=False))
def test_prop_the_order_of_options_does_not_matter(people: Crowd, random: Any) -> None:
    """Shuffling options shuffles their shares with their intervals."""
    order = list(range(people.symbols))
    random.shuffle(order)
    shuffled = Crowd.of(
        [Counts(one.count[order], one.other, one.signal) for one in people.groups],  # type: ignore[attr-defined]
        bound=people.bound,
    )
    ours = [(e.value, e.low, e.high) for e in people.shares().estimates()]
    theirs = [(e.value, e.low, e.high) for e in shuffled.shares().estimates()]
    assert theirs == [pytest.approx(ours[place], abs=1e-6) for place in order]


@given(crowds(options=2))
def test_prop_two_shares_mirror_each_other(people: Crowd) -> None:
    """Each of two options has the part that the other lacks."""
    yes, no = people.shares().estimates()
    assert (yes.low, yes.high) == pytest.approx((1 - no.high, 1 - no.low), abs=1e-6)


@given(groups(3), groups(3))
def test_prop_a_difference_agrees_with_its_test(one: Counts, other: Counts) -> None:
    """An interval of a difference excludes 0 exactly where p is below 5 %."""
    first, second = (Crowd.of([group]).mean([1, 2, 3]) for group in (one, other))
    figures = difference(first, second)
    check(figures)
    found, p = figures.estimates()[0], figures.probabilities(0)[0]
    if not found.low - 1e-6 < 0 < found.high + 1e-6:
        assert p < 0.05 + 1e-6
    if found.low + 1e-6 < 0 < found.high - 1e-6:
        assert p > 0.05 - 1e-6


@given(crowds(options=3, levels=2), crowds(options=3, levels=2))
def test_prop_differences_of_levels_hold_their_estimate(one: Crowd, other: Crowd) -> None:
    """A difference of crowds at several levels has an interval, which holds it."""
    check(difference(one.mean([1, 2, 3]), other.mean([1, 2, 3])))


@given(crowds(options=3, levels=2))
def test_prop_shares_among_those_asked_lie_in_their_intervals(people: Crowd) -> None:
    """A ratio is inside its interval, and the interval inside the range, for all people."""
    for found in ratios(people, [[1, 0, 0], [0, 1, 0]], [1, 1, 0]).estimates():
        assert 0 <= found.low <= found.high <= 1
        if np.isfinite(found.value):
            assert found.low <= found.shown <= found.high


@given(st.lists(st.integers(-30, 200), min_size=2, max_size=6), st.sampled_from([1.0, 30.0]))
def test_prop_sums_of_two_parties_have_intervals(sums: list[int], variance: float) -> None:
    """Noisy sums, below 0 or above the number of people, give intervals inside the range."""
    people = Crowd.of([Sums.of(sums, variance=variance, people=100)])
    check(people.shares())
    check(people.mean(list(range(len(sums)))))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.sampled_from([0.5, 3.0, 40.0]))
def test_prop_noisy_numbers_have_intervals(reports: list[int], sigma: float) -> None:
    """A mean of noisy numbers stays in the range, be it one report."""
    mask = DiscreteGaussian(0, 4, sigma=sigma)
    check(Crowd.of([Numbers.of(np.array(reports) * sigma, 0, 4, mask)]).mean())


@given(crowds())
def test_prop_shown_shares_add_to_one_inside_their_intervals(people: Crowd) -> None:
    """Shares that are read sum to 1, and each lies in its interval."""
    shown = shown_shares(people.shares().estimates())
    assert sum(one.shown for one in shown) == pytest.approx(1, abs=1e-9)
    assert all(one.low - 1e-9 <= one.shown <= one.high + 1e-9 for one in shown)


@given(crowds())
def test_prop_the_first_may_be_first(people: Crowd) -> None:
    """The largest share is among the candidates, alone where it is named."""
    found = ahead(people)
    value = people.shares().value
    assert value[found.candidates[0]] == pytest.approx(value.max())
    if found.named is not None:
        assert found.candidates == (found.named,)


@given(crowds(levels=2))
def test_prop_medians_are_possible_answers(people: Crowd) -> None:
    """A quantile lies in its interval of possible answers."""
    ends = [(float(at), float(at)) for at in range(people.symbols)]
    for share in (0.25, 0.5, 0.75):
        found = quantile(people, ends, share)
        assert ends[0][0] <= found.low <= found.value <= found.high <= ends[-1][1]


def test_a_quadratic_curve_is_met_where_people_are_many() -> None:
    """With a million people the interval is the normal one, to a part in a thousand."""
    share = Crowd.of([Counts.of([300_000, 700_000])]).shares().estimates()[0]
    reach = 1.959964 * np.sqrt(0.3 * 0.7 / 1e6)
    assert share.high - 0.3 == pytest.approx(reach, rel=5e-3)
    assert 0.3 - share.low == pytest.approx(reach, rel=5e-3)
    assert share.standard_error == pytest.approx(reach / 1.959964, rel=1e-3)


def test_a_share_is_the_likelihood_ratio_of_a_binomial() -> None:
    """W of a share is twice the log-likelihood ratio, half a person at the far end."""
    figures = Crowd.of([Counts.of([7, 13])]).shares()
    a, b = 7.5, 13.0
    likeliest = a / (a + b)
    for p in (0.4, 0.6, 0.9):
        w = 2 * (a * np.log(likeliest / p) + b * np.log((1 - likeliest) / (1 - p)))
        assert figures.statistic(p)[0] == pytest.approx(w, rel=1e-9)


def test_cells_of_answers_in_clear_are_shares() -> None:
    """Without masks a cell of a table has the interval of a share."""
    cell = Crowd.of([Table.of([[3, 5], [7, 5]])]).shares().estimates()[2]
    share = Crowd.of([Counts.of([7, 13])]).shares().estimates()[0]
    assert (cell.low, cell.high) == pytest.approx((share.low, share.high), abs=1e-9)


def test_one_level_among_several_is_that_level() -> None:
    """A level that nobody chose changes nothing where there is no pool."""
    mask = RandomizedResponse(2, epsilon=1)
    one = Crowd.of([Counts.of([30, 10])]).shares().estimates()
    assert Crowd.of([Counts.of([30, 10]), Counts.of([0, 0], mask)]).shares().estimates() == one


def test_a_level_of_the_pool_where_nobody_answered_is_within_the_bound() -> None:
    """Half the pool is unknown but for the bound: a quarter of the range wider at each end."""
    mask = RandomizedResponse(2, epsilon=1)
    groups_ = [Counts.of([5000, 5000]), Counts.of([0, 0], mask)]
    found = Crowd.of(groups_, pool=[1, 1]).shares().estimates()[0]
    known = Crowd.of(groups_[:1]).shares().estimates()[0]
    # psi = (own + psi_2) / 2 with psi_2 at most .15 from psi: psi at most .15 from own
    assert found.high == pytest.approx(known.high + 0.15, abs=1e-3)
    assert found.low == pytest.approx(known.low - 0.15, abs=1e-3)


def test_everybody_of_a_population_leaves_nothing_to_chance() -> None:
    """Where all people answered in clear, the share is known."""
    found = Crowd.of([Counts(np.array([30.0, 70.0]), unasked=0.0)]).shares().estimates()[0]
    assert found.high - found.low < 1e-4


def test_holm_is_no_less_than_each_p_and_no_more_than_bonferronis() -> None:
    """Corrected p-values keep their order between the raw ones and their multiples."""
    raw = (0.001, 0.2, 0.04, 0.04)
    corrected = holm(raw)
    assert corrected == pytest.approx((0.004, 0.2, 0.12, 0.12))


def test_reports_that_are_independent_are_not_rejected_and_others_are() -> None:
    """Pearson's test of a table is that of its formula; a rare cell is permuted."""
    found = independence([[[20, 20], [20, 20]]])
    assert (found.statistic, found.probability) == (0, 1)
    rare = independence([[[6, 0], [0, 1]]])
    # 7 places for the odd one out, of which one is as odd
    assert rare.probability == pytest.approx(1 / 7, abs=0.05)
    assert independence([[[30, 0], [0, 30]]]).probability < 1e-9


def test_levels_that_differ_are_noticed() -> None:
    """The test of levels alike has a degree of freedom fewer than levels."""
    same = levels_alike(Crowd.of([Counts.of([10, 10]), Counts.of([20, 20])]))
    assert (same.degrees, same.probability) == (1, 1)
    assert levels_alike(Crowd.of([Counts.of([19, 1]), Counts.of([2, 18])])).probability < 1e-4
    assert levels_alike(Crowd.of([Counts.of([19, 1])])).degrees == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Crowd.of([Counts.of([0, 0])]), "there are no reports"),
        (lambda: Crowd.of([Counts.of([1, 0]), Counts.of([1, 0, 0])]), "different questions"),
        (lambda: Crowd.of([Counts.of([1, 0])], bound=2), "bound is 2"),
        (lambda: Crowd.of([Counts.of([1, 0])], pool=[1, 2]), "the pool is"),
        (lambda: Crowd.of([Counts.of([1, 0])]).mean([1, 2, 3]), "2 finite numbers"),
        (lambda: Crowd.of([Counts.of([1, 0])]).shares().estimates(1.0), "confidence is 1.0"),
        (lambda: Counts.of([1, 2, 3], RandomizedResponse(2, epsilon=1)), "expected 2 numbers"),
        (lambda: Numbers.of([1, np.nan], 0, 4), "report 2 is no finite number"),
        (lambda: independence([[[0.5, 1], [1, 1]]]), "whole counts"),
    ],
)
def test_bad_input_is_refused_in_words(call: Any, words: str) -> None:
    """A wrong value is named."""
    with pytest.raises((EmptyTable, ParameterError), match=words):
        call()
