"""Discrete Gaussian reports: the exact loss of one, the proven loss of several."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import NO_LOSS, Micro, SimulatedCoins, epsilon_of_rho
from masquerade.exact.epsilon_at_delta import delta_at_most, epsilon_of_one_report
from masquerade.mechanisms import DiscreteGaussian, parse_mechanism

MICRO = Fraction(1, 10**6)


def exact_delta(distance: int, variance: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return the sum over the lattice of max(0, P - e**epsilon Q), to 60 digits."""
    with mpmath.workdps(60):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        reach = math.ceil(30 * math.sqrt(float(variance))) + distance + 30

        def weight(y: int) -> mpmath.mpf:
            return mpmath.exp(-mpmath.mpf(y * y) / (2 * v))

        total = mpmath.fsum(weight(y) for y in range(-reach, reach + 1))
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        gaps = (weight(y) - growth * weight(y - distance) for y in range(-reach, reach + 1))
        return mpmath.fsum(gap for gap in gaps if gap > 0) / total


@pytest.mark.parametrize(
    ("delta", "sigma", "epsilon"),
    [
        ("0.01", 3, "3.435"),
        ("0.01", 6, "1.347"),
        ("0.01", 12, ".5335"),
        ("1e-6", 3, "6.801"),
        ("1e-6", 6, "3.096"),
        ("1e-6", 12, "1.448"),
    ],
)
def test_one_report_costs_what_was_measured(delta: str, sigma: int, epsilon: str) -> None:
    """The known epsilons of a five-point rating come back, with every digit that is known."""
    one = DiscreteGaussian(1, 5, sigma=sigma).guarantee(delta=delta).epsilon_single.epsilon
    digits = len(epsilon.partition(".")[2])
    assert f"{one:.{digits}f}" == f"{float(epsilon):.{digits}f}"


@pytest.mark.parametrize(
    ("low", "high", "step", "sigma"),
    [("0", "1", "0.25", "0.75"), ("0", "1000", "250", "750"), ("-3", "1", "1", "3")],
)
def test_the_loss_does_not_depend_on_the_unit(low: str, high: str, step: str, sigma: str) -> None:
    """The same ratings in another unit cost the same, unlike the published formula's loss."""
    ours = DiscreteGaussian(low, high, step, sigma=sigma).guarantee(answers=3)
    assert ours == DiscreteGaussian(1, 5, sigma=3).guarantee(answers=3)


@pytest.mark.parametrize(
    ("sigma", "micro"), [(3, 888_889), (6, 222_223), (12, 55_556), (4, 500_000)]
)
def test_rho_is_exact_and_rounded_up(sigma: int, micro: int) -> None:
    """One answer costs R**2 / (2 sigma**2); several add and are rounded up once."""
    mechanism = DiscreteGaussian(1, 5, sigma=sigma)
    assert mechanism.rho == Fraction(16, 2 * sigma**2)
    promise = mechanism.guarantee(answers=9)
    assert promise.rho_event == Micro(micro)
    assert promise.rho_user == Micro(math.ceil(mechanism.rho * 9 * 10**6))
    assert promise.epsilon_user < epsilon_of_rho(promise.rho_user)
    assert promise.epsilon_event == promise.epsilon_single


def test_the_promise_names_its_delta_and_unit() -> None:
    """Delta is one in a million unless asked otherwise; the JSON holds it and both rhos."""
    promise = DiscreteGaussian(1, 5, sigma=3).guarantee(answers=2)
    assert promise.delta == Fraction(1, 10**6)
    assert (promise.unit, promise.trust, promise.status) == ("worker", "local", "proven")
    shown = promise.to_json()
    assert (shown["delta"], shown["rho_event"], shown["rho_user"]) == (1e-6, 0.888889, 1.777778)
    nothing = DiscreteGaussian(1, 5, sigma=3).guarantee(answers=0)
    assert nothing.epsilon_event == nothing.epsilon_user == NO_LOSS
    assert nothing.rho_event == nothing.rho_user == NO_LOSS


@pytest.mark.parametrize(
    ("points", "sigma"), [(5, "3"), (5, "0.7"), (2, "1"), (11, "2.5"), (9, "20")]
)
@pytest.mark.parametrize("delta", ["0.01", "1e-6"])
def test_exact_the_whole_sum_over_the_lattice_keeps_the_claim(
    points: int, sigma: str, delta: str
) -> None:
    """Summed over the lattice to 60 digits, no pair of answers exceeds delta, and 2e-6 less would.

    Every pair of answers is looked at: the two ends of the range are the worst.
    """
    mechanism = DiscreteGaussian(1, points, sigma=sigma)
    claim = mechanism.guarantee(delta=delta).epsilon_single
    epsilon = Fraction(int(claim.micro), 10**6)
    variance = mechanism.noise_variance
    by_distance = [exact_delta(d, variance, epsilon) for d in range(1, points)]
    assert by_distance == sorted(by_distance)
    assert by_distance[-1] <= mpmath.mpf(delta)
    assert exact_delta(points - 1, variance, epsilon - 2 * MICRO) > mpmath.mpf(delta)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(9), Fraction(400)])
@pytest.mark.parametrize("distance", [1, 4, 30])
@pytest.mark.parametrize("epsilon", ["0", "0.1", "1", "5", "40"])
def test_exact_the_computed_delta_is_an_upper_bound(
    variance: Fraction, distance: int, epsilon: str
) -> None:
    """The float is above the 60-digit sum, by less than 1e-9 of the terms subtracted."""
    ours = delta_at_most(distance, variance, Fraction(epsilon))
    exact = exact_delta(distance, variance, Fraction(epsilon))
    assert exact <= ours
    assert ours <= float(exact) * (1 + 1e-6) + 1e-11


@pytest.mark.parametrize("sigma", [2047, 2048, 5000, 40_000])
def test_blocks_bound_the_sum_point_by_point(sigma: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On fine lattices, the bound by blocks is above the sum of single points and close to it."""
    from masquerade.exact import epsilon_at_delta

    variance = Fraction(sigma**2)
    blocks = [epsilon_at_delta._log_tail(first, variance) for first in (1, sigma // 3, 5 * sigma)]
    monkeypatch.setattr(epsilon_at_delta, "_BLOCKS_PER_SIGMA", 10**9)
    for first, (low, high) in zip((1, sigma // 3, 5 * sigma), blocks, strict=True):
        each, _ = epsilon_at_delta._log_tail(first, variance)
        assert low - 1e-11 <= each <= high + 1e-11
        assert high - low < 1e-5


def test_a_fine_lattice_costs_what_the_continuous_noise_costs() -> None:
    """With a million steps to a sigma, the epsilon is that of the Gaussian: 6.8027 and 1.4480."""
    for steps in (4 * 10**5, 4 * 10**6):
        low_level = epsilon_of_one_report(steps, Fraction(3 * steps, 4) ** 2, Fraction(1, 10**6))
        assert low_level.epsilon == pytest.approx(6.80266, abs=1e-4)
        high_level = epsilon_of_one_report(steps, Fraction(3 * steps) ** 2, Fraction(1, 10**6))
        assert high_level.epsilon == pytest.approx(1.44801, abs=1e-4)


@given(
    points=st.integers(2, 200),
    sigma=st.fractions("1/10", 1000, max_denominator=100),
    answers=st.integers(0, 50),
    delta=st.sampled_from(["1e-9", "1e-6", "1e-2"]),
)
def test_prop_a_promise_is_never_above_that_of_rho_and_grows(
    points: int, sigma: Fraction, answers: int, delta: str
) -> None:
    """The bounds are the best of those proven, and one more answer never costs less."""
    mechanism = DiscreteGaussian(1, points, sigma=sigma)
    promise = mechanism.guarantee(answers=answers, delta=delta)
    more = mechanism.guarantee(answers=answers + 1, delta=delta)
    assert promise.rho_user is not None
    assert promise.epsilon_user <= epsilon_of_rho(promise.rho_user, delta=delta)
    assert promise.epsilon_user.micro <= more.epsilon_user.micro + 1
    assert more.epsilon_event <= more.epsilon_user
    assert more.epsilon_single == more.epsilon_event


@given(
    low=st.fractions(-100, 100, max_denominator=100),
    step=st.fractions("1/100", 10, max_denominator=100),
    points=st.integers(2, 1000),
    steps=st.fractions("1/100", 10**6, max_denominator=10**6),
)
def test_prop_text_and_mechanism_are_inverse(
    low: Fraction, step: Fraction, points: int, steps: Fraction
) -> None:
    """Reading a mechanism's text gives the same mechanism, with the same draws."""
    mechanism = DiscreteGaussian(low, low + step * (points - 1), step, sigma=steps * step)
    again = parse_mechanism(str(mechanism))
    assert isinstance(again, DiscreteGaussian)
    assert again == mechanism
    assert again.device_form() == mechanism.device_form()


def test_the_device_draws_from_the_same_fraction() -> None:
    """The device's form is points and variance in squared steps, as texts."""
    assert DiscreteGaussian(0, 10, "0.5", sigma="1.25").device_form() == {
        "name": "discrete-gaussian",
        "points": 21,
        "variance": ["25", "4"],
    }


@pytest.mark.parametrize("sigma", ["0.3", "0.5", "1", "1.99", "2", "3", "30"])
def test_probabilities_add_up_and_give_the_variance(sigma: str) -> None:
    """The table sums to 1, and its second moment is the variance, at most sigma squared."""
    mechanism = DiscreteGaussian(0, 10, "0.5", sigma=sigma)
    reach = 13 * float(sigma) + 5
    reports = np.arange(-2 * math.ceil(reach), 2 * math.ceil(reach) + 1) / 2 + 3
    table = mechanism.probability(3.0, reports)
    assert table.sum() == pytest.approx(1, abs=1e-12)
    spread = (table * (reports - 3) ** 2).sum()
    assert mechanism.variance() == pytest.approx(spread, rel=1e-9)
    assert mechanism.variance() <= float(sigma) ** 2


def test_reports_leave_the_range_and_are_never_clipped() -> None:
    """Of n = 10,000 reports of the middle at sigma 6, hundreds lie on each side of the range."""
    claims = Claims.from_frame(
        {"task": np.arange(10_000), "worker": ["w"] * 10_000, "value": [3.0] * 10_000}
    )
    reports = DiscreteGaussian(1, 5, sigma=6).randomize(claims).value
    assert (reports < 1).sum() > 2000
    assert (reports > 5).sum() > 2000
    assert np.array_equal(reports, np.rint(reports))


@pytest.mark.parametrize("sigma", ["2", "3", "12"])
def test_audit_samples_follow_the_table_and_do_not_refute_the_claim(sigma: str) -> None:
    """Seeded reports, n = 1,000,000 for each end of the range, fit the table and bound delta.

    For every half-line, P - e**epsilon Q is bounded from below by Clopper-Pearson, at the epsilon
    promised for delta 0.01; false alarm 1e-6 for each test. The audit would notice an epsilon a
    third too small.
    """
    n = 1_000_000
    mechanism = DiscreteGaussian(1, 5, sigma=sigma)
    source = SimulatedCoins(np.random.default_rng(2_014))
    worlds = [
        mechanism.mask(np.full(n, answer), np.zeros(n, np.int32), source) for answer in (0, 4)
    ]
    reach = math.ceil(8 * float(sigma)) + 4
    points = np.arange(-reach, reach + 5)
    for answer, world in zip((1.0, 5.0), worlds, strict=True):
        wanted = n * mechanism.probability(answer, points + 1.0)
        counts = np.array([(world == point).sum() for point in points])
        common = wanted >= 20
        statistic = ((counts - wanted)[common] ** 2 / wanted[common]).sum()
        assert statistic < stats.chi2.isf(1e-6, common.sum() - 1)
    at = 0.01
    claim = mechanism.guarantee(delta=at).epsilon_single.epsilon
    tail = 1e-6 / (4 * len(points))
    near, far = (np.array([(world <= point).sum() for point in points]) for world in worlds)
    low = np.nan_to_num(stats.beta.ppf(tail, near, n - near + 1))
    high = np.nan_to_num(stats.beta.isf(tail, far + 1, n - far), nan=1.0)
    assert (low - math.exp(claim) * high).max() <= at
    assert (low - math.exp(0.67 * claim) * high).max() > at


def test_audit_other_libraries_account_the_same() -> None:
    """OpenDP gives the same rho, dp-accounting the same epsilon, for discrete Gaussian noise."""
    dp: Any = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")
    for sigma in (1.0, 3.0, 12.5):
        rho = DiscreteGaussian(1, 5, sigma=sigma).rho
        assert dp.m.make_gaussian(*space, scale=sigma).map(4) == pytest.approx(
            float(rho), rel=1e-12
        )
    pld: Any = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for sigma, delta in itertools.product((0.75, 3, 6, 12), (1e-2, 1e-6)):
        theirs = pld.from_discrete_gaussian_mechanism(
            sigma, sensitivity=4, value_discretization_interval=1e-4
        ).get_epsilon_for_delta(delta)
        ours = DiscreteGaussian(1, 5, sigma=sigma).guarantee(delta=delta).epsilon_single.epsilon
        assert ours == pytest.approx(theirs, abs=5e-4)


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (0, "sigma is 0, expected from step / 1024"),
        (-1, "sigma is -1"),
        ("1/1025", "sigma is 1/1025"),
        (1 << 41, "sigma is"),
        (math.nan, "sigma is nan"),
        (math.inf, "sigma is inf"),
        ("x", "sigma is 'x'"),
        (None, "sigma is None"),
    ],
)
def test_a_bad_sigma_is_named(sigma: float, message: str) -> None:
    """Each sigma outside its range is an error that shows it."""
    with pytest.raises(ParameterError, match=message):
        DiscreteGaussian(1, 5, sigma=sigma)


@pytest.mark.parametrize("delta", [0, 1, -1, "x", math.nan])
def test_a_bad_delta_is_named(delta: float) -> None:
    """A delta outside 0 to 1 is an error, also for no answers."""
    with pytest.raises(ParameterError, match="delta is"):
        DiscreteGaussian(1, 5, sigma=3).guarantee(answers=0, delta=delta)


def test_a_negative_number_of_answers_is_refused() -> None:
    """A guarantee for minus one answer is an error."""
    with pytest.raises(ParameterError, match="answers is -1"):
        DiscreteGaussian(1, 5, sigma=3).guarantee(answers=-1)
