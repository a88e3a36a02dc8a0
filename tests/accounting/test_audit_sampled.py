"""The audit's sampled look: what reports alone prove."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from masquerade.accounting.sampled_loss import Pair, fit_p_value, lower_bound

Reports = NDArray[np.int64]


def of_law(law: list[float], size: int, rng: np.random.Generator) -> Reports:
    """Return reports of a law over 0, 1, ..."""
    return rng.choice(len(law), size=size, p=law)


def pair_of(laws: tuple[list[float], list[float]], size: int, seed: int) -> Pair:
    """Return reports of two answers, a and b."""
    rng = np.random.default_rng(seed)
    return Pair(("a", "b"), of_law(laws[0], size, rng), of_law(laws[1], size, rng))


LAWS = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
TRUE_EPSILON = math.log(2.5)


def test_audit_the_bound_stays_below_the_truth_over_many_seeds() -> None:
    """Over 300 seeds of 4,000 reports each, no bound exceeds the true epsilon.

    False alarm at most 1e-6 for each seed, 3e-4 for all.
    """
    bounds = [
        lower_bound([pair_of(LAWS, 4_000, seed)], delta=0, false_alarm=1e-6).epsilon
        for seed in range(300)
    ]
    assert max(bounds) <= TRUE_EPSILON
    assert min(bounds) > 0.5 * TRUE_EPSILON


@pytest.mark.parametrize("size", [100, 1_000])
def test_audit_the_false_alarm_rate_is_honest(size: int) -> None:
    """At a false alarm of 10 %, at most that share of 1,000 bounds is too high.

    With equally likely laws (true epsilon 0), where the choice of a set of reports would overfit
    most if it were tested on the reports that it was chosen by. The number of alarms may exceed 100
    by what a binomial does with probability 1e-6.
    """
    laws = ([0.1] * 10, [0.1] * 10)
    alarms = sum(
        lower_bound([pair_of(laws, size, seed)], delta=0, false_alarm=0.1).epsilon > 0
        for seed in range(1_000)
    )
    assert alarms <= stats.binom.ppf(1 - 1e-6, 1_000, 0.1)


def test_audit_the_bound_comes_near_the_truth() -> None:
    """From 200,000 reports of each answer, the bound is within 5 % of the true epsilon."""
    found = lower_bound([pair_of(LAWS, 200_000, 1)], delta=0, false_alarm=1e-6)
    assert 0.95 * TRUE_EPSILON < found.epsilon <= TRUE_EPSILON
    assert found.worst is not None
    assert found.worst.report.startswith(("0 (", "2 ("))


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    """For one telling set of reports, the bound is the ratio of two binomial interval ends."""
    one, other = np.array([1] * 900 + [0] * 100), np.array([0] * 900 + [1] * 100)
    rng = np.random.default_rng(3)
    rng.shuffle(one)
    rng.shuffle(other)
    found = lower_bound([Pair(("a", "b"), one, other)], delta=0, false_alarm=0.04)
    candidates = []
    for kind, (a, b) in ((1, (one, other)), (0, (other, one))):
        k, k_other = int((a[500:] == kind).sum()), int((b[500:] == kind).sum())
        low = stats.beta.ppf(0.01, k, 500 - k + 1)
        high = stats.beta.ppf(0.99, k_other + 1, 500 - k_other)
        candidates.append(math.log(low / high))
    assert found.epsilon == pytest.approx(max(candidates), rel=1e-9)


def test_a_claimed_delta_is_taken_off() -> None:
    """Reports that show nothing beyond delta prove nothing."""
    laws = ([0.99, 0.0, 0.01], [0.99, 0.01, 0.0])
    pair = pair_of(laws, 100_000, 2)
    assert lower_bound([pair], delta=0, false_alarm=1e-6).epsilon > 3
    assert lower_bound([pair], delta=0.01, false_alarm=1e-6).epsilon == 0


def test_equal_reports_prove_nothing() -> None:
    """Where every report is the same, epsilon 0 is all that is shown, and nothing is named."""
    same = np.zeros(1_000, dtype=np.int64)
    found = lower_bound([Pair(("a", "b"), same, same)], delta=0, false_alarm=1e-6)
    assert (found.epsilon, found.worst) == (0.0, None)


def test_numbers_of_many_kinds_are_put_into_ranges() -> None:
    """Reports that hardly repeat still tell answers apart, "no answer" among them."""
    rng = np.random.default_rng(4)
    one, other = rng.normal(0, 1, 20_000), rng.normal(3, 1, 20_000)
    one[:100] = math.nan
    found = lower_bound([Pair(("a", "b"), one, other)], delta=0, false_alarm=1e-6)
    assert found.epsilon > 4


def test_a_few_numbers_that_never_repeat_still_tell() -> None:
    """From 200 numbers of each answer, all different, two distant laws are told apart."""
    rng = np.random.default_rng(8)
    pair = Pair(("a", "b"), rng.normal(0, 1, 200), rng.normal(9, 1, 200))
    assert lower_bound([pair], delta=0, false_alarm=1e-6).epsilon > 1


def test_texts_are_reports_too() -> None:
    """Reports may be texts; those that only the second half has count as one kind."""
    rng = np.random.default_rng(5)
    one = np.where(rng.random(10_000) < 0.75, "yes", "no")
    other = np.where(rng.random(10_000) < 0.25, "yes", "no")
    other[-1] = "what"
    found = lower_bound([Pair(("a", "b"), one, other)], delta=0, false_alarm=1e-6)
    assert 0.8 < found.epsilon <= math.log(3)


def test_audit_reports_of_the_law_are_seldom_called_strange() -> None:
    """Over 300 seeds, counts of the stated law never get a p-value below 1e-6, others do.

    False alarm 3e-4 for all seeds together.
    """
    law = [0.5, 0.3, 0.199, 0.001]
    rng = np.random.default_rng(6)
    fits = [fit_p_value(rng.multinomial(5_000, law), law) for _ in range(300)]
    assert min(fits) > 1e-6
    assert sum(p < 0.5 for p in fits) > 20
    off = [0.45, 0.35, 0.199, 0.001]
    assert max(fit_p_value(rng.multinomial(5_000, off), law) for _ in range(20)) < 1e-6


def test_a_report_of_probability_zero_is_strange() -> None:
    """What cannot be drawn and was drawn has p-value 0; what must be drawn and was not, too."""
    assert fit_p_value([10, 1], [1.0, 0.0]) == 0
    assert fit_p_value([10, 0], [1.0, 0.0]) == 1
    assert fit_p_value([0, 100], [0.5, 0.5]) < 1e-20
