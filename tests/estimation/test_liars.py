"""A few liars move no estimate far with any reports; and their reports are seen."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from masquerade.estimation import (
    OWN,
    WITHIN,
    BoundedReport,
    Counts,
    Crowd,
    Estimate,
    Numbers,
    number_plausibility,
    share_plausibility,
    shown_shares,
)
from masquerade.mechanisms import (
    LEVELS,
    DiscreteGaussian,
    RandomizedResponse,
    level_named,
)

LOW, HIGH = 0, 40
HONEST, LIARS = 200, 5
NAMES = [level.name for level in LEVELS]
MASKS = {
    level.name: DiscreteGaussian(LOW, HIGH, 1, sigma=(HIGH - LOW) / level.mu) for level in LEVELS
}
Groups = dict[str, list[int]]


def honest(sizes: dict[str, int], truth: int, seed: int) -> Groups:
    """Return reports of people with one answer: the easiest to move for liars."""
    rng = np.random.default_rng(seed)
    return {
        name: np.rint(truth + rng.normal(0, float(MASKS[name].sigma), n)).astype(int).tolist()
        for name, n in sizes.items()
        if n
    }


def mean_of(groups: Groups, bound: float = WITHIN) -> Estimate:
    """Return the mean of reports."""
    reports = [Numbers.of(sent, LOW, HIGH, MASKS[name]) for name, sent in groups.items()]
    return Crowd.of(reports, bound=bound).mean().estimates()[0]


def with_liars(groups: Groups, level: str, report: int) -> Groups:
    """Return reports with liars' among them, all alike."""
    return {**groups, level: [*groups.get(level, []), *[report] * LIARS]}


def sendable(level: str) -> list[int]:
    """Return reports that a server accepts, the worst for the mean among them."""
    low, high = MASKS[level].possible_reports()
    bounded = BoundedReport.of(MASKS[level], HONEST + LIARS)
    edges = [bounded.middle - bounded.reach, bounded.middle + bounded.reach]
    return [low, *(round(edge) for edge in edges), LOW, HIGH, high]


def within(found: Estimate) -> bool:
    """Return whether an estimate is in its range and in its interval."""
    return LOW <= found.low <= found.shown <= found.high <= HIGH


@pytest.mark.parametrize("level", NAMES)
@pytest.mark.parametrize("truth", [0, 10, 20, 40])
def test_five_liars_of_205_move_a_mean_by_less_than_its_error(level: str, truth: int) -> None:
    """With any accepted reports, at either end: at most 1.5 standard errors, in range and interval.

    Four fixed seeds a case; the bound holds in each.
    """
    for seed in range(4):
        groups = honest({level: HONEST}, truth, seed)
        before = mean_of(groups)
        for report in sendable(level):
            after = mean_of(with_liars(groups, level, report))
            assert within(after)
            assert abs(after.shown - before.shown) <= 1.5 * after.standard_error
            assert abs(after.value - before.value) <= 1.5 * after.standard_error


def test_liars_among_several_levels_move_the_default_as_little() -> None:
    """With people at all levels, liars choosing theirs: it moves by at most 1.5 of its errors."""
    mixes = ((67, 67, 66), (20, 80, 100), (100, 80, 20))
    for mix, truth, seed in itertools.product(mixes, (0, 10, 40), range(1)):
        groups = honest(dict(zip(NAMES, mix, strict=True)), truth, seed)
        before = mean_of(groups)
        for level in NAMES:
            for report in sendable(level):
                sent = with_liars(groups, level, report)
                after = mean_of(sent)
                assert all(within(one) for one in (after, mean_of(sent, OWN)))
                assert abs(after.shown - before.shown) <= 1.5 * after.standard_error


def test_liars_at_a_level_of_their_own_stay_within_two_errors() -> None:
    """Where next to nobody else is at their level, the default moves by at most two errors."""
    for seed, strong in itertools.product(range(4), (0, 4, 10)):
        groups = honest({"high": strong, "low": HONEST - strong}, 0, seed)
        before = mean_of(groups)
        for report in sendable("high"):
            after = mean_of(with_liars(groups, "high", report))
            assert within(after)
            assert abs(after.shown - before.shown) <= 2 * after.standard_error


def test_exact_a_liar_moves_a_share_by_at_most_one_over_n_signal() -> None:
    """One changed report moves a share by 1 / (n D), exactly; shares shown move no farther.

    Under k-ary randomized response, at every level; D is the mask's signal.
    """
    for level, options in itertools.product(NAMES, (2, 5)):
        mask = level_named(level).randomized_response(options)
        counts = [40] * options
        n = sum(counts)
        before = shown_shares(Crowd.of([Counts.of(counts, mask)]).shares().estimates())
        counts[0], counts[-1] = counts[0] + 1, counts[-1] - 1
        after = shown_shares(Crowd.of([Counts.of(counts, mask)]).shares().estimates())
        bound = float(Fraction(1, n) / Fraction(mask.signal))
        moved = [b.value - a.value for a, b in zip(before, after, strict=True)]
        assert moved == pytest.approx([bound, *[0.0] * (options - 2), -bound])
        for a, b in zip(before, after, strict=True):
            assert b.low <= b.shown <= b.high
            assert abs(b.shown - a.shown) <= 2 * bound + 1e-12


@pytest.mark.parametrize("level", NAMES)
def test_five_liars_of_205_move_shares_and_ratings_by_less_than_their_error(level: str) -> None:
    """Each share by at most 5 / (n D); it and a rating's mean by at most 1.5 errors."""
    mask = level_named(level).randomized_response(5)
    rng = np.random.default_rng(3)
    table = np.array(mask.channel().table, dtype=float)
    scores = [1, 2, 3, 4, 5]
    for answer in (0, 2, 4):
        counts = rng.multinomial(HONEST, table[answer] / table[answer].sum()).tolist()
        before = Crowd.of([Counts.of(counts, mask)])
        for report in range(5):
            lied = [count + LIARS * (code == report) for code, count in enumerate(counts)]
            after = Crowd.of([Counts.of(lied, mask)])
            bound = LIARS / (HONEST + LIARS) / float(mask.signal)
            found = (shown_shares(crowd.shares().estimates()) for crowd in (before, after))
            for a, b in zip(*found, strict=True):
                assert abs(b.value - a.value) <= bound + LIARS / (HONEST + LIARS) * abs(a.value)
                assert abs(b.shown - a.shown) <= 1.5 * b.standard_error + 1e-12
            mean, moved = (crowd.mean(scores).estimates()[0] for crowd in (before, after))
            assert 1 <= moved.low <= moved.shown <= moved.high <= 5
            assert abs(moved.shown - mean.shown) <= 1.5 * moved.standard_error


def test_five_liars_that_move_most_are_seen() -> None:
    """For all seeds and levels, the largest reports that are accepted make a warning.

    60 surveys of 200 honest people; none of them has a warning without the liars (an upper bound of
    the false-alarm rate is 1e-3 a survey).
    """
    for level, seed in itertools.product(NAMES, range(20)):
        groups = honest({level: HONEST}, 10, seed)
        assert not number_plausibility({level: (groups[level], MASKS[level])}).doubtful
        for report in MASKS[level].possible_reports():
            sent = [*groups[level], *[report] * LIARS]
            found = number_plausibility({level: (sent, MASKS[level])})
            assert found.doubtful
        few = [*groups[level], *[round(40 + 5 * float(MASKS[level].sigma))] * 2]
        found = number_plausibility({level: (few, MASKS[level])})
        assert "2 of 202 reports lie 5 sigma or more outside the range" in found.reason


def test_audit_honest_reports_are_seldom_doubted() -> None:
    """Of 4,000 honest questions at most 16 are doubtful; the bound is 4 on average.

    False-alarm rate of this test at most P(Poisson(4) > 16) = 4e-7, were the bound reached.
    """
    rng = np.random.default_rng(7)
    alarms = 0
    mask = level_named("medium").randomized_response(4)
    table = np.array(mask.channel().table, dtype=float)
    for number in range(2000):
        level = NAMES[number % 3]
        sigma = float(MASKS[level].sigma)
        answers = rng.choice([0, 40], size=60)  # the widest that answers can spread
        reports = np.rint(answers + rng.normal(0, sigma, 60)).astype(int)
        alarms += number_plausibility({level: (reports, MASKS[level])}).doubtful
        held = table[rng.integers(4)]  # all of one mind: the most extreme counts
        counts = rng.multinomial(60, held / held.sum()).tolist()
        alarms += share_plausibility({"medium": (counts, mask)}).doubtful
    assert alarms <= 16


def test_devices_that_do_not_mask_are_seen() -> None:
    """Two hundred equal reports are no masked ones, of a number or a choice; nobody is no doubt."""
    sent = [10] * 200
    found = number_plausibility({"high": (sent, MASKS["high"])})
    assert found.doubtful
    assert "spread less" in found.reason
    wide = [-350, 390] * 100
    assert number_plausibility({"high": (wide, MASKS["high"])}).doubtful
    mask = level_named("high").randomized_response(3)
    found = share_plausibility({"high": ([200, 0, 0], mask)})
    assert found.doubtful
    assert "at the least" in found.reason or "at the most" in found.reason
    clear = RandomizedResponse(3, flip_probability=0)
    assert share_plausibility({"none": ([200, 0, 0], clear)}).probability == 1
    assert number_plausibility({"none": ([3] * 9, clear)}).probability == 1
    assert number_plausibility({}).probability == 1
