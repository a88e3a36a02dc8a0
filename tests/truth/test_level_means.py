"""Means over several privacy levels: exact about noise, honest about people."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from masquerade.errors import EmptyTable, ParameterError
from masquerade.mechanisms import DiscreteGaussian, Lattice, RandomizedResponse
from masquerade.truth import ESTIMATORS, BoundedReport, level_mean
from masquerade.truth.level_means import people_variance

LATTICE = Lattice(1, 5)
MASKS = {name: DiscreteGaussian(1, 5, sigma=s) for name, s in (("high", 12), ("low", 3))}
Groups = dict[str, tuple[np.ndarray, DiscreteGaussian]]


def drawn(rng: np.random.Generator, sizes: dict[str, int], means: dict[str, float]) -> Groups:
    """Return reports of ratings near the given means, in steps from the low end."""
    groups: Groups = {}
    for name, n in sizes.items():
        answers = np.clip(np.rint(rng.normal(means[name], 1, n)), 1, 5) - 1
        noise = np.rint(rng.normal(0, float(MASKS[name].sigma), n))
        groups[name] = ((answers + noise).astype(np.int64), MASKS[name])
    return groups


def test_one_level_is_students_interval() -> None:
    """At one level with 5 people or more the interval is scipy's for what each report counts."""
    reports = np.array([3, -2, 8, 0, 5, 1, -1])
    mean = level_mean({"low": (reports, MASKS["low"])}, LATTICE)
    worth = BoundedReport.of(MASKS["low"], 7).values(reports + 1)
    low, high = stats.t.interval(0.95, 6, loc=worth.mean(), scale=stats.sem(worth))
    found = mean.at_level("low")
    assert [found.low, found.high] == pytest.approx([max(low, 1), min(high, 5)])
    assert found.standard_error == pytest.approx(stats.sem(worth))


def test_respondents_count_once() -> None:
    """``respondent`` is the mean of what all reports count, whatever level they come from."""
    groups = drawn(np.random.default_rng(1), {"high": 40, "low": 60}, {"high": 2, "low": 4})
    bounded = {name: BoundedReport.of(mask, len(r)) for name, (r, mask) in groups.items()}
    everything = np.concatenate([bounded[name].values(r + 1) for name, (r, _) in groups.items()])
    found = level_mean(groups, LATTICE).estimate("respondent")
    assert found.value == pytest.approx(everything.mean())
    noise = sum(len(r) * bounded[name].variance for name, (r, _) in groups.items()) / 100**2
    assert found.mechanism_error**2 == pytest.approx(noise)


def test_what_people_differ_by_is_found() -> None:
    """The variance of answers is found from masked reports, those with less noise counting more."""
    rng = np.random.default_rng(2)
    groups = drawn(rng, {"high": 4000, "low": 4000}, {"high": 3, "low": 3})
    n = np.array([4000.0, 4000.0])
    seen = np.array([reports.var(ddof=1) for reports, _ in groups.values()])
    masks = np.array([mask.variance() for _, mask in groups.values()])
    found = people_variance(n, seen, masks, width=4)
    # One clipped standard deviation; the error of the estimate is about 0.2.
    assert found[0] == pytest.approx(1.0, abs=0.8)
    weight = 1 / (1 + masks) ** 2
    expected = (weight * (seen - masks)).sum() / weight.sum()
    assert found.tolist() == pytest.approx([expected, expected])


def test_nothing_is_known_of_people_from_one_each() -> None:
    """Where no level has two people, they may differ as much as the range allows."""
    mean = level_mean(
        {"high": (np.array([3]), MASKS["high"]), "low": (np.array([4]), MASKS["low"])}, LATTICE
    )
    assert mean.estimate("respondent").sampling_error == pytest.approx(2 / np.sqrt(2))
    assert (mean.estimate().low, mean.estimate().high) == (1, 5)


def test_coverage_and_warning() -> None:
    """Intervals of eb hold in 92 to 99 of 100 surveys, and the warning fires where levels differ.

    300 surveys of 600 people, at a fixed seed; then 50 whose levels lie far apart.
    """
    rng = np.random.default_rng(12)
    sizes, hits, warned = {"high": 300, "low": 300}, 0, 0
    for _ in range(300):
        mean = level_mean(drawn(rng, sizes, {"high": 3, "low": 3}), LATTICE)
        hits += mean.estimate().low <= 3 <= mean.estimate().high
        warned += mean.heterogeneity.differ
    assert 0.92 <= hits / 300 <= 0.99
    assert 0.03 <= warned / 300 <= 0.2
    for _ in range(50):
        mean = level_mean(_without_noise(rng, sizes, {"high": 2.2, "low": 3.8}), LATTICE)
        assert mean.heterogeneity.differ
        assert mean.estimate().low <= 3 <= mean.estimate().high


def _without_noise(
    rng: np.random.Generator, sizes: dict[str, int], means: dict[str, float]
) -> Groups:
    """Return reports with hardly any noise."""
    clear = DiscreteGaussian(1, 5, sigma=0.2)
    return {
        name: ((np.clip(np.rint(rng.normal(means[name], 0.7, n)), 1, 5) - 1).astype(int), clear)
        for name, n in sizes.items()
    }


def test_a_pool_that_answered_whole_leaves_only_noise() -> None:
    """Where everybody in the pool answered, the error is that of the masks."""
    groups = drawn(np.random.default_rng(3), {"high": 50, "low": 50}, {"high": 3, "low": 3})
    mean = level_mean(groups, LATTICE, pool={"high": 50, "low": 50})
    assert mean.estimate("respondent").sampling_error == 0
    assert mean.estimate("respondent").level_error == 0
    part = level_mean(groups, LATTICE, pool={"high": 100, "low": 50})
    assert part.estimate("respondent").sampling_error > 0


def test_answers_in_clear_and_biases() -> None:
    """Answers in clear have no noise, and a known bias is taken from each person's report."""
    clear = RandomizedResponse(5, flip_probability=0)
    groups = {"none": (np.array([0, 4, 0, 4]), clear)}
    plain = level_mean(groups, LATTICE)
    assert plain.estimate().mechanism_error == 0
    assert plain.estimate().value == 3
    debiased = level_mean(groups, LATTICE, bias={"none": [-2, 2, -2, 2]})
    assert debiased.estimate().value == 3
    assert debiased.estimate().sampling_error < plain.estimate().sampling_error


def test_what_cannot_be_combined_is_refused() -> None:
    """No reports, masks of categories and biases that do not fit are errors."""
    with pytest.raises(EmptyTable):
        level_mean({"low": (np.array([], dtype=int), MASKS["low"])}, LATTICE)
    with pytest.raises(ParameterError, match="masks categories"):
        level_mean({"x": ([1, 2], RandomizedResponse(5, epsilon=1))}, LATTICE)
    with pytest.raises(ParameterError, match="bias at level"):
        level_mean({"low": ([1, 2], MASKS["low"])}, LATTICE, bias={"low": [1]})
    with pytest.raises(ParameterError, match="confidence"):
        level_mean({"low": ([1, 2], MASKS["low"])}, LATTICE, confidence=0)


def test_every_estimator_is_there() -> None:
    """All three are computed, and the sensitivity line widens eb."""
    groups = drawn(np.random.default_rng(6), {"high": 200, "low": 200}, {"high": 2, "low": 4})
    mean = level_mean(groups, LATTICE)
    assert set(mean.combinations) == set(ESTIMATORS)
    assert mean.sensitivity().standard_error >= mean.estimate("eb").standard_error


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_report_that_is_no_number_is_named(odd: float) -> None:
    """One missing report does not make the whole result missing in silence."""
    with pytest.raises(ParameterError, match="report 2 at level 'high' is no finite number"):
        level_mean({"high": ([1, odd], DiscreteGaussian(1, 5, sigma=3))}, Lattice(1, 5))
