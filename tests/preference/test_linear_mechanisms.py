"""The sum of chosen directions: sensitivity, direction, weights of voters."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.preference import made_up_voters
from masquerade.preference.directions import UNIT, direction_sensitivity, whole_directions
from masquerade.preference.mechanisms.linear import (
    LinearGaussian,
    LinearKNorm,
    LinearLaplace,
    LinearSum,
    fit_linear,
)
from masquerade.preference.metrics import expected_agreement
from masquerade.preference.vector_noise import NormNoise
from masquerade_papers.preferences.epsilon_groups import EpsilonGroups

KINDS = (LinearKNorm, LinearLaplace, LinearGaussian)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_sensitivity_holds_by_search_and_is_nearly_attained(d: int) -> None:
    """No two of 400 directions, corners among them, are further apart than claimed."""
    rng = np.random.default_rng(d)
    corners = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=d)))
    rows = whole_directions(np.concatenate([corners, rng.normal(size=(400 - len(corners), d))]))
    apart = rows[:, None, :] - rows[None, :, :]
    claimed = direction_sensitivity(d)
    absolute = int(np.abs(apart).sum(axis=2).max())
    squares = int((apart**2).sum(axis=2).max())
    assert absolute <= claimed.absolute
    assert squares <= claimed.euclidean**2
    assert absolute > claimed.absolute - 4 * d
    assert math.isqrt(squares) > claimed.euclidean - 4


def test_exact_the_log_ratio_of_reports_is_at_most_epsilon() -> None:
    """Reports x of records u and u': epsilon (floor |x - u| - floor |x - u'|) / 2 lengths, exactly.

    Over a grid of reports and directions in two dimensions; the largest ratio is epsilon itself.
    """
    noise = NormNoise.of(Fraction(3, 2), direction_sensitivity(2))
    ring = [(math.cos(t), math.sin(t)) for t in np.linspace(0, 2 * math.pi, 40)]
    rows = whole_directions(np.array([*ring, (1.0, 0.0), (-1.0, 0.0)])).tolist()
    worst = Fraction(0)
    for report in itertools.product(range(-12_000, 12_001, 4_000), repeat=2):
        lengths = [
            math.isqrt(sum((r - u) ** 2 for r, u in zip(report, row, strict=True))) for row in rows
        ]
        worst = max(worst, noise.rate * (max(lengths) - min(lengths)))
    assert worst == Fraction(3, 2)


def test_audit_reports_of_opposite_choices_are_hard_to_tell() -> None:
    """The best half-line is at most e times likelier under one of two opposite records.

    By 20,000 reports of each at epsilon 1 and a lower bound that fails once in 1e6 runs.
    """
    n = 20_000
    coins = SimulatedCoins(np.random.default_rng(9))
    noise = NormNoise.of(Fraction(1), direction_sensitivity(1))
    at = {s: s * UNIT + noise.draw(coins, vectors=n, dimension=1)[:, 0] for s in (1, -1)}
    for threshold in (0, UNIT, 2 * UNIT):
        share = {s: float(np.mean(at[s] >= threshold)) for s in at}
        slack = {s: 5.0 * math.sqrt(share[s] * (1 - share[s]) / n) for s in at}
        assert math.log((share[1] - slack[1]) / (share[-1] + slack[-1])) <= 1
    assert math.log(np.mean(at[1] >= UNIT) / np.mean(at[-1] >= UNIT)) > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trust", ["local", "aggregator"])
def test_without_much_noise_it_is_the_linear_fit(kind: type[LinearKNorm], trust: str) -> None:
    """At epsilon 20 a record, the direction is within 0.05 of the raw one, and of length 1."""
    rng = np.random.default_rng(3)
    data = made_up_voters(rng, voters=60, features=4).choose(rng, 40)
    released = kind(epsilon=20, trust=trust).simulate(data, rng)  # type: ignore[arg-type]
    plain = fit_linear(data, moment=np.eye(4) / 4).weights
    assert expected_agreement(released.weights, plain, reference="r3").accuracy > 0.95
    assert np.linalg.norm(released.weights) == pytest.approx(1)
    assert released.direction_only


def test_the_guarantee_tells_record_from_voter() -> None:
    """A voter with 7 records is protected at 7 times epsilon only, and the label says so."""
    rng = np.random.default_rng(0)
    data = made_up_voters(rng, voters=5, features=3).choose(rng, 7)
    for trust, paradigm in (("local", "RLDP"), ("aggregator", "RLCP")):
        released = LinearKNorm(epsilon="0.3", trust=trust).release(data)  # type: ignore[arg-type]
        promise = released.guarantee
        assert promise.epsilon == Micro(300_000)
        assert promise.epsilon_user == Micro(2_100_000)
        assert released.paradigm == paradigm
        assert released.hardened
        assert "a whole voter: epsilon 2.1" in released.statement


def test_the_public_second_moment_does_not_depend_on_choices() -> None:
    """Turning every choice round changes nothing in it, to the last bit."""
    from dataclasses import replace

    rng = np.random.default_rng(1)
    data = made_up_voters(rng, voters=8, features=3, kind="correlated").choose(rng, 9)
    turned = replace(data, difference=-data.difference)
    first, second = (LinearSum().second_moment(3, pairs) for pairs in (data, turned))
    assert np.array_equal(first, second)


def test_a_known_second_moment_straightens_skewed_features() -> None:
    """On correlated features, 400 voters and little noise, the corrected direction is better."""
    rng = np.random.default_rng(2)
    voters = made_up_voters(rng, voters=400, features=6, kind="correlated")
    data = voters.choose(rng, 50)
    score = {}
    for unit in ("record", "choice"):
        learned = LinearKNorm(epsilon=2, unit=unit).simulate(data, rng)
        score[unit] = expected_agreement(
            learned.weights, voters.mean_weights, reference="r1"
        ).accuracy
    assert score["choice"] > score["record"]


def test_weights_of_voters_favour_those_who_give_more() -> None:
    """Inverse variance beats equal weights by far on the default groups; capped lies between.

    Means over 6 crowds of 100 voters with 50 records; the seeds are fixed.
    """
    found: dict[str, list[float]] = {}
    effective: dict[str, float] = {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        voters = made_up_voters(rng, voters=100, features=10)
        data, epsilons = voters.choose(rng, 50), EpsilonGroups().draw(100, rng)
        for weights in ("equal", "capped", "inverse-variance"):
            learned = LinearKNorm(epsilon=epsilons, weights=weights).simulate(data, rng)
            agreed = expected_agreement(learned.weights, voters.mean_weights, reference="r1")
            found.setdefault(weights, []).append(agreed.accuracy)
            effective[weights] = learned.details["effective_voters"]
            assert sum(learned.details["share_by_epsilon"].values()) == pytest.approx(1)
    assert np.mean(found["inverse-variance"]) > 0.75
    assert np.mean(found["inverse-variance"]) > np.mean(found["equal"]) + 0.1
    assert effective["equal"] == pytest.approx(100)
    assert effective["inverse-variance"] < effective["capped"] < 100


def test_no_records_at_all_give_noise_alone() -> None:
    """Voters without records are allowed; the direction is then random."""
    rng = np.random.default_rng(0)
    data = made_up_voters(rng, voters=4, features=3).choose(rng, 2)
    from dataclasses import replace

    nothing = replace(data, difference=np.zeros((0, 3)), offsets=np.zeros(5, dtype=np.int64))
    for unit in ("record", "choice"):
        released = LinearKNorm(epsilon=1, unit=unit).release(nothing, public_menus=True)
        assert np.linalg.norm(released.weights) == pytest.approx(1)
        assert released.guarantee.epsilon_user == Micro(0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"unit": "voter"},
        {"trust": "secure-sum"},
        {"weights": "fair"},
        {"most": 0.5},
        {"moment": [[1, 2], [0, 1]]},
        {"moment": "given"},
        {"moment": [[math.nan]]},
        {"trust": "aggregator", "epsilon": [1, 2]},
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, object]) -> None:
    """With the class's own error."""
    with pytest.raises(ParameterError):
        LinearKNorm(**{"epsilon": 1, **parameters})  # type: ignore[arg-type]


def test_a_moment_of_another_size_is_refused() -> None:
    """It must be one row and column a feature."""
    rng = np.random.default_rng(0)
    data = made_up_voters(rng, voters=4, features=3).choose(rng, 2)
    with pytest.raises(ParameterError, match="shape"):
        LinearKNorm(epsilon=1, moment=np.eye(2)).release(data)
