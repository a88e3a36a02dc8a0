"""The promises of every private mechanism: labels, refusals, devices, no floating-point leaks."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from masquerade.answers import Comparisons, Feature
from masquerade.errors import InsecureRandomness, InvalidRecord, ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.preference import (
    MECHANISMS,
    VoterReport,
    made_up_voters,
    preference_mechanism,
)
from masquerade.preference.l1_ball import STEPS
from masquerade.preference.mechanisms.central_laplace import fits_on_grid
from masquerade.preference.mechanisms.linear import LinearKNorm
from masquerade.preference.personal_epsilon import (
    effective_voters,
    read_epsilon,
    voter_weights,
)
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade_papers.preferences.epsilon_groups import EpsilonGroups
from masquerade_papers.preferences.functional import LocalFunctional
from masquerade_papers.preferences.local_laplace import LocalLaplace

# Those of named items take no features; the page of their tests has the same promises.
PRIVATE = [
    name
    for name, kind in MECHANISMS.items()
    if issubclass(kind, PrivateMechanism) and not name.startswith("item-")
]
LOCAL = [name for name in PRIVATE if not name.startswith("central-")]
VECTORS = [name for name in LOCAL if name != "choice-response"]


def crowd(seed: int = 0, voters: int = 6, features: int = 3, records: int = 5) -> Comparisons:
    """Return made-up voters."""
    rng = np.random.default_rng(seed)
    return made_up_voters(rng, voters=voters, features=features).choose(rng, records)


def named(name: str, **parameters: Any) -> PrivateMechanism:
    """Return a private mechanism, quick ones for those that draw much."""
    text = f"{name}:candidates=32" if name == "direction-selection" else name
    found = preference_mechanism(text, epsilon=parameters.pop("epsilon", 1), **parameters)
    assert isinstance(found, PrivateMechanism)
    return found


@pytest.mark.parametrize("name", PRIVATE)
def test_every_release_says_whom_it_protects(name: str) -> None:
    """Unit, trust, epsilon, the voter's epsilon and assumptions are in the result, and its text."""
    for unit in MECHANISMS[name].units:
        released = named(name, unit=unit).release(crowd(), public_menus=True)
        promise = released.guarantee
        shown = released.guarantee_json()
        assert (shown["unit"], shown["status"]) == (unit, "proven")
        assert promise.epsilon <= Micro(1_000_000) <= promise.epsilon_user + Micro(10_000)
        assert promise.trust in ("local", "aggregator", "secure-sum")
        assert released.paradigm
        assert promise.assumptions
        assert released.hardened or released.replacement in PRIVATE
        assert "a whole voter: epsilon" in released.statement
        assert released.mechanism.startswith(f"{name}:epsilon=1")
        assert np.isfinite(released.weights).all()
        eigenvalues = np.linalg.eigvalsh(released.noise_covariance)
        assert eigenvalues.min() > -1e-9 * max(eigenvalues.max(), 1)
        assert eigenvalues.max() > 0


@pytest.mark.parametrize("name", PRIVATE)
def test_a_simulation_protects_nobody_and_can_be_repeated(name: str) -> None:
    """The same seed gives the same weights, and the label says that there is no privacy."""
    data, mechanism = crowd(), named(name)
    first, second = (mechanism.simulate(data, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert first.guarantee.status == "none"
    assert any("simulated" in each for each in first.guarantee.assumptions)
    one, other = (mechanism.release(data, public_menus=True).weights for _ in range(2))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_seed_cannot_reach_a_real_release(name: str) -> None:
    """Only randomness of the operating system is accepted."""
    with pytest.raises(InsecureRandomness):
        named(name).release(crowd(), coins=SimulatedCoins(np.random.default_rng(0)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", LOCAL)
def test_a_seed_makes_no_report(name: str) -> None:
    """Words for a device's report are drawn from the operating system, by every way to ask."""
    mechanism, data = named(name), crowd()
    seeded: Any = SimulatedCoins(np.random.default_rng(0))
    mechanism.report_rows(data, Fraction(1))
    with pytest.raises(InsecureRandomness):
        mechanism.report_rows(data, Fraction(1), coins=seeded)


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", "1e-9", "much"])
def test_an_epsilon_that_protects_nobody_or_is_none_is_refused(name: str, epsilon: object) -> None:
    """Zero, negative, infinite, no number, below a millionth."""
    with pytest.raises(ParameterError, match="epsilon"):
        named(name, epsilon=epsilon)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_large_epsilon_is_warned_of(name: str) -> None:
    """Above 20; it is still allowed."""
    with pytest.warns(UserWarning, match="hardly anything"):
        named(name, epsilon=21)


@pytest.mark.parametrize("name", PRIVATE)
def test_items_without_features_are_refused(name: str) -> None:
    """With the way out in the message."""
    items = Comparisons.from_frame({"voter": [1, 2], "chosen": ["a", "b"], "rejected": ["b", "c"]})
    with pytest.raises(ParameterError, match="by_items"):
        named(name).release(items)


@pytest.mark.parametrize("name", PRIVATE)
def test_zero_differences_and_voters_without_records_are_allowed(name: str) -> None:
    """They count as voters, and get noise like the others."""
    data = crowd(voters=4, records=2)
    silent = replace(
        data,
        difference=np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]),
        offsets=np.array([0, 0, 1, 2, 2]),
    )
    assert np.isfinite(named(name).release(silent, public_menus=True).weights).all()


@pytest.mark.parametrize("name", VECTORS)
def test_devices_need_public_parameters_only_and_do_what_release_does(name: str) -> None:
    """Reports go through JSON; collected, they give a release with the same guarantee."""
    data, mechanism = crowd(), named(name)
    device = mechanism.device(data.features)
    reports = [device.report(data.of_voter(i)) for i in range(data.n_voters)]
    reports = [VoterReport.from_json(report.to_json()) for report in reports]
    if mechanism.hides_records:
        assert {report.records for report in reports} == {0}
    collected = mechanism.collect(reports, features=data.n_features)
    released = mechanism.release(data)
    assert collected.guarantee == released.guarantee
    assert collected.details.keys() == released.details.keys()
    with pytest.raises(InvalidRecord, match="report 2"):
        mechanism.collect([reports[0], replace(reports[1], values=(1,))], features=3)
    with pytest.raises(ParameterError, match="no reports"):
        mechanism.collect([], features=3)


def test_an_aggregators_mechanism_has_no_device() -> None:
    """Neither by name nor by trust."""
    for mechanism in (named("central-laplace"), LinearKNorm(epsilon=1, trust="aggregator")):
        with pytest.raises(ParameterError, match="device"):
            mechanism.device([Feature("a")])


@pytest.mark.parametrize("name", VECTORS)
def test_a_device_reports_as_the_mechanism_does_from_the_same_words(name: str) -> None:
    """One voter's report, alone or in a crowd of one, from one seed."""
    data, mechanism = crowd(voters=1), named(name)
    rows = [
        mechanism._report_rows(some, Fraction(1), SimulatedCoins(np.random.default_rng(3)))
        for some in (data, data.of_voters([0]))
    ]
    assert np.array_equal(rows[0], rows[1])


def test_records_that_do_not_fit_the_features_are_refused_on_the_device() -> None:
    """A wrong shape, and numbers that are not finite; values beyond a range are clipped."""
    device = LocalLaplace(epsilon=1).device([Feature("a", 0, 2), Feature("b", 0, 1)])
    for wrong in ([[1, 2, 3]], [1, 2], [[math.nan, 1]]):
        with pytest.raises(InvalidRecord):
            device.report(wrong)
    with pytest.raises(ParameterError, match="own"):
        LocalLaplace(epsilon=[1, 2]).device([Feature("a")])
    assert len(device.report([[50, 0]]).values) == 2


@pytest.mark.parametrize("name", VECTORS)
def test_hardened_reports_are_whole_numbers_whoever_sends_them(name: str) -> None:
    """Neighbours' reports lie on the same grid, so no last bit tells one from the other.

    Every whole number has a probability above 0 from either neighbour: it is reached by noise,
    which is unbounded, or by a list of candidates that does not depend on the records.
    """
    data = crowd()
    turned = replace(data, difference=-data.difference)
    mechanism = named(name)
    for neighbour in (data, turned):
        rows = mechanism.report_rows(neighbour, Fraction(1))
        assert rows.dtype == np.int64


@pytest.mark.parametrize("name", ["central-laplace"])
def test_a_hardened_aggregator_publishes_grid_points_only(name: str) -> None:
    """Each weight is the float nearest to a whole number of steps, for all records.

    The attack that rules out a neighbour by the last bits of a weight finds none in 30 releases.
    """
    data = crowd()
    step = 2 / STEPS / data.n_voters
    for seed in range(10):
        for neighbour in (data, replace(data, difference=-data.difference)):
            weights = named(name).simulate(neighbour, np.random.default_rng(seed)).weights
            steps = np.rint(weights / step)
            assert np.array_equal(steps * step, weights)


def numpy_reaches(report: float, centre: float, scale: float) -> bool:
    """Return whether numpy's Laplace noise can bring `centre` to `report`."""
    tail = math.exp(-abs(report - centre) / scale) / 2
    near = round((1 - tail if report >= centre else tail) * (1 << 53))
    for k in range(max(near - 8, 1), min(near + 9, 1 << 53)):
        uniform = k / (1 << 53)
        if uniform >= 0.5:
            drawn = centre - scale * math.log(2.0 - uniform - uniform)
        else:
            drawn = centre + scale * math.log(uniform + uniform)
        if drawn == report:
            return True
    return False


def test_the_attack_works_on_floating_point_noise_and_fails_on_ours() -> None:
    """Algorithm 2 with numpy's noise: most single numbers rule out a neighbouring fit for certain.

    Ours: of as many reports none does, as the neighbour's noise would only have to be another
    integer.
    """
    rng = np.random.default_rng(19)
    own, other, scale = 0.3141592653589793, 0.2718281828459045, 4.0
    reports = rng.laplace(own, scale, 500).tolist()
    assert all(numpy_reaches(report, own, scale) for report in reports)
    assert sum(not numpy_reaches(report, other, scale) for report in reports) > 250
    fits = fits_on_grid(crowd(), Fraction(2))
    rows = LocalLaplace(epsilon=1).report_rows(crowd(), Fraction(1))
    ruled_out = sum(
        not float(report - fit).is_integer()
        for report, fit in itertools.product(rows.ravel().tolist(), fits.ravel().tolist())
    )
    assert ruled_out == 0


def test_epsilon_groups_are_the_published_ones() -> None:
    """54 % up to 0.2, 36 % up to 1, 10 % exactly 1, in hundredths; within 6 deviations at 5,000."""
    drawn = EpsilonGroups().draw(5_000, np.random.default_rng(1))
    numbers = np.array([float(each) for each in drawn])
    assert all((each * 100).denominator == 1 for each in drawn)
    assert numbers.min() >= 0.01
    assert abs(np.mean(numbers < 0.195) - 0.54 * 0.185 / 0.19) < 0.05
    assert abs(np.mean(numbers == 1) - 0.1) < 0.03
    for wrong in ({"conservative": 0.9}, {"low": 0}, {"middle": 2}):
        with pytest.raises(ParameterError):
            EpsilonGroups(**wrong)


def test_epsilons_of_voters_are_one_a_voter() -> None:
    """Too few are an error, and a bad one is named."""
    with pytest.raises(ParameterError, match="2 epsilons for 6 voters"):
        LinearKNorm(epsilon=[1, 2]).release(crowd())
    with pytest.raises(ParameterError, match="voter 2"):
        read_epsilon([1, 0])
    assert read_epsilon([0.1, 2.0]) == (Fraction(1, 10), Fraction(2))
    assert read_epsilon("0.1234567") == Fraction(123456, 10**6)


@pytest.mark.parametrize("kind", [LinearKNorm, LocalLaplace, LocalFunctional])
@pytest.mark.parametrize("weights", ["equal", "inverse-variance", "capped"])
def test_weights_use_epsilons_and_are_reported(kind: Any, weights: str) -> None:
    """Shares by epsilon add to 1, and the effective number of voters is at most their number."""
    data = crowd()
    mechanism = kind(epsilon=[0.1, 0.1, 1, 1, 2, 2], weights=weights)
    details = mechanism.release(data).details
    assert sum(details["share_by_epsilon"].values()) == pytest.approx(1)
    assert 1 <= details["effective_voters"] <= 6 + 1e-9
    limit = {"equal": 1.0, "capped": 2.0}.get(weights, 6.0)
    assert details["largest_share_times_voters"] <= limit + 1e-9


def test_prop_shares_add_to_one_and_keep_their_cap() -> None:
    """For random variances; capped shares are at most `most` times an equal one, in order."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        noise = 10.0 ** rng.uniform(-3, 5, size=int(rng.integers(1, 40)))
        between = np.full(len(noise), 0.1)
        for most in (1.0, 1.5, 3.0):
            shares = voter_weights("capped", between=between, noise=noise, most=most)
            assert shares.sum() == pytest.approx(1)
            assert shares.max() <= most / len(noise) * (1 + 1e-9)
            assert (np.diff(shares[np.argsort(noise)]) <= 1e-12).all()
        best = voter_weights("inverse-variance", between=between, noise=noise)
        equal = voter_weights("equal", between=between, noise=noise)
        assert effective_voters(best) <= effective_voters(equal) + 1e-9
    with pytest.raises(ParameterError, match="most"):
        voter_weights("capped", between=between, noise=noise, most=0.9)
    with pytest.raises(ParameterError, match="weights"):
        voter_weights("best", between=between, noise=noise)  # type: ignore[arg-type]
