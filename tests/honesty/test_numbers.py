"""Small inputs with once false printed numbers, and the right values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.honesty import simulated
from tests.honesty.one_by_one import selected_people

from masquerade.estimation import (
    Counts,
    Crowd,
    Numbers,
    Table,
    ahead,
    difference,
    estimate_shares,
    ratio_difference,
    ratios,
)
from masquerade.mechanisms import RandomizedResponse
from masquerade.selection import Pool, predicted_error


def clear(*counts: int) -> Crowd:
    """Return people with answers in clear."""
    return Crowd.of([Counts.of(counts)])


def test_a_winner_among_ten_equal_options_is_seldom_named() -> None:
    """Ten equal options, n 20 and 200: a name in at most 5 of 100 surveys (1,000; 12 sd apart)."""
    rng = np.random.default_rng(1)
    for n in (20, 200):
        drawn = simulated.surveys(rng, np.full(10, 0.1), n, runs=1000)
        found = simulated.first_options(Crowd((drawn,), np.ones(1)), np.full(10, 0.1))
        assert found.named < 0.1
        assert found.held > 0.92


def test_equal_shares_give_no_name_however_sure_a_bootstrap_is() -> None:
    """105 of 200 and 95 of 200: nobody is ahead, and both may be."""
    found = ahead(clear(105, 95))
    assert (found.named, found.candidates) == (None, (0, 1))


def test_a_share_of_those_asked_is_not_one_of_everybody() -> None:
    """20 % asked, 75 % of them yes, nobody declined: about 75 %, not "prefer not to say 81 %"."""
    mask = RandomizedResponse(3, epsilon=1)
    held = np.array([0.15, 0.05, 0.8])
    counts = 2000 * (float(mask.other_probability) + float(mask.signal) * held)
    found = ratios(Crowd.of([Counts.of(counts, mask)]), [[1, 0, 0]], [1, 1, 0]).estimates()[0]
    assert found.value == pytest.approx(0.75)
    assert found.low < 0.75 < found.high


def test_nobody_of_20_is_no_evidence_against_20_of_1000() -> None:
    """0 of 20 against 20 of 1,000: p is 1 (Fisher's too), and the interval -.03 to .13."""
    found = difference(clear(0, 20).shares(), clear(20, 980).shares())
    one = found.estimates()[0]
    assert found.probabilities(0)[0] == 1
    assert (round(one.low, 3), round(one.high, 3)) == (-0.031, 0.134)


def test_equal_rare_shares_are_seldom_called_different() -> None:
    """20 against 200 at 2 % each: equality rejected in at most 5 of 100 (1,000 surveys), not 38."""
    rng = np.random.default_rng(2)
    held = np.array([0.02, 0.98])
    one, other = (
        Crowd((simulated.surveys(rng, held, n, runs=1000),), np.ones(1)) for n in (20, 200)
    )
    # a rate of .05 gives .09 with a probability below 1e-6
    assert simulated.difference_coverage(one, other, [1, 0], 0.0).coverage > 0.91


def test_unanimity_has_a_width() -> None:
    """21 people with answer 5, numbers that are all 0, a pair chosen by 199 of 199: no width 0."""
    five = clear(0, 0, 0, 0, 21).mean([1, 2, 3, 4, 5]).estimates()[0]
    assert (five.value, five.high) == (5, 5)
    assert 4.3 < five.low < 4.5
    zero = Crowd.of([Numbers.of(np.zeros(20), 0, 40)]).mean().estimates()[0]
    assert zero.low == 0 < 2 < zero.high
    pair, nearly = (clear(*counts).shares().estimates()[0] for counts in ((199, 0), (198, 1)))
    assert pair.high - pair.low == pytest.approx(0.0168, abs=1e-4)
    assert nearly.high - nearly.low == pytest.approx(0.0261, abs=1e-4)
    assert pair.standard_error > 0.001


def test_a_rating_of_98_percent_five_holds() -> None:
    """98 % five, 2 % four, n 20 and 60: held in 34 and 70 of 100; .95 or more of 1,000 now."""
    for n in (20, 60):
        cell = simulated.one_group("mean 1-5, 98 % five, 2 % four", "clear", n, runs=1000, seed=1)
        assert cell.coverage > 0.95


def test_a_difference_of_groups_at_mixed_levels_uses_the_clear_level() -> None:
    """Groups behind masks of several levels: no wider than twice the clearest level alone."""
    joint = np.array([[0.15, 0.15], [0.2, 0.5]])
    masks = [RandomizedResponse(2, epsilon=e) for e in (0.5, 1.5, 4)]
    rows = (([1, 0, 0, 0], [1, 1, 0, 0]), ([0, 0, 1, 0], [0, 0, 1, 1]))

    def width(places: list[int]) -> float:
        groups = []
        for place in places:
            mask = masks[place]
            table = np.array([[float(x) for x in row] for row in mask.channel().table])
            groups.append(Table.of(np.round(3000 * table @ joint @ table.T), mask, mask))
        people = Crowd.of(groups)
        one, other = (ratios(people, [part], whole) for part, whole in rows)
        found = ratio_difference(one, other).estimates()[0]
        return found.high - found.low

    assert width([0, 1, 2]) < 8 * width([2])
    assert width([0, 1, 2]) < 0.6


def test_a_known_pool_that_differs_by_level_is_covered() -> None:
    """Shares .6, .5, .3 by level and a known pool: .93 of 300 surveys (6 sd), not .82."""
    own = [0.6, 0.5, 0.3]
    rng = np.random.default_rng(3)
    crowd = simulated.level_crowd(rng, [np.array([p, 1 - p]) for p in own], 1000, runs=300)
    truth = float(crowd.weights @ own)
    assert simulated.coverage(crowd, [1, 0], truth).coverage > 0.88


def test_a_selection_predicts_its_error() -> None:
    """Ten clear and ninety noisy people, all chosen: about .07, not .0185."""
    noise = np.r_[np.zeros(10), np.full(90, 10.0)]
    pool = Pool([str(at) for at in range(100)], cost=np.ones(100), noise_variance=noise)
    assert predicted_error(pool, np.arange(100)) == pytest.approx(0.073, abs=0.002)
    assert selected_people(100, 2)["100 of 100"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(("epsilon", "n"), [(None, 60), (5.0, 20)])
def test_shares_hold_at_every_share(epsilon: float | None, n: int) -> None:
    """Clear n 60 and epsilon 5 n 20: at least 93.5 of 100 at each share (85.5 and 84.2 before)."""
    from scipy.stats import binom

    mask = (
        RandomizedResponse(2, epsilon=epsilon)
        if epsilon
        else RandomizedResponse(2, flip_probability=0)
    )
    found = [estimate_shares([k, n - k], mask).estimates[0] for k in range(n + 1)]
    low, high = np.array([(one.low, one.high) for one in found]).T
    held = np.linspace(0.0005, 0.9995, 300)[:, None]
    reported = float(mask.other_probability) + float(mask.signal) * held
    weight = binom.pmf(np.arange(n + 1), n, reported)
    assert (weight * ((low <= held) & (held <= high))).sum(axis=1).min() > 0.935


@pytest.mark.parametrize(("size", "n"), [(20, 16), (50, 40), (100, 60), (100, 80), (100, 95)])
def test_exact_shares_of_small_populations_hold(size: int, n: int) -> None:
    """At each number of yes answers: at least 93.7 of 100, not 80."""
    from scipy.stats import hypergeom

    left = (size - n) / (size - 1)
    found = [
        Crowd.of([Counts(np.array([k, n - k], dtype=float), unasked=left)]).shares().estimates()[0]
        for k in range(n + 1)
    ]
    low, high = np.array([(one.low, one.high) for one in found]).T
    yes = np.arange(size + 1)[:, None]
    share = yes / size
    weight = hypergeom.pmf(np.arange(n + 1), size, yes, n)
    held = (weight * ((low <= share) & (share <= high))).sum(axis=1)
    assert held.min() > 0.937


def test_what_is_shown_of_levels_is_inside_its_interval() -> None:
    """A level far below the range counts as its near end, in the point as in the interval."""
    mask = RandomizedResponse(2, epsilon=0.5)
    for bound in (0.15, 1.0):
        people = Crowd.of([Counts.of([1, 0]), Counts.of([0, 1], mask)], bound=bound)
        for one in people.shares().estimates():
            assert one.low <= one.shown <= one.high
