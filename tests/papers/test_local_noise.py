"""Noise on every claim (`basic`): its law, its scale and the leak of the paper's scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.exact.noise import scale_rounded_up
from masquerade.release import GroupedClaims, guarantee_sentence
from masquerade_papers.priscrowd.local_noise import LocalNoise
from masquerade_papers.priscrowd.simulation import simulate

Grouped = Callable[..., GroupedClaims]
STEPS = 4096


@pytest.mark.parametrize(("epsilon", "unit", "cap"), [("1", "claim", 10), ("7/3", "user", 3)])
def test_exact_noise_on_a_claim_costs_epsilon(
    grouped: Grouped, epsilon: str, unit: Any, cap: int
) -> None:
    """Basic: the two ends of the domain, 4096 steps apart, differ by epsilon in fractions.

    Noise of scale s has P(x) proportional to e**(-abs(x) / s): the worst log-ratio of two places
    is their distance over s.
    """
    engine = LocalNoise(epsilon=epsilon, domain=(-3, 5), unit=unit, cap=cap)
    scale = scale_rounded_up(STEPS / engine.epsilon_of_object)
    assert Fraction(STEPS) / scale == engine.epsilon_of_object
    assert (
        engine.epsilon_of_object * (1 if unit == "claim" else cap)
        == engine.exact_epsilon
        == Fraction(epsilon)
    )
    # No place is further than the ends: claims beyond them are moved there before the noise.
    ends = [
        engine.draw(grouped([[x]]), 1, SimulatedCoins(np.random.default_rng(0))).points[0]
        for x in (-3.0, 5.0, -1e9, 1e9)
    ]
    assert ends[1] - ends[0] == 8
    assert ends[2:] == ends[:2]


def test_audit_noise_on_claims_has_the_stated_law() -> None:
    """Basic: 200,000 noisy claims against the geometric law, chi-square, false alarm 1e-6."""
    n, engine = 200_000, LocalNoise(epsilon=4, domain=(0, 4096))
    claims = GroupedClaims.of(
        {"task": np.zeros(n, int), "worker": np.arange(n), "value": np.full(n, 1000.0)}
    )
    points = engine.draw(claims, 1, SimulatedCoins(np.random.default_rng(8))).points
    noise = np.rint(points - 1000).astype(np.int64)
    assert np.abs(points - 1000 - noise).max() < 1e-9
    edges = np.array([-(1 << 40), -3000, -1500, -700, -200, 0, 1, 200, 700, 1500, 3000, 1 << 40])
    ratio = math.exp(-4 / STEPS)

    def below(x: int) -> float:
        """Return P(noise < x)."""
        if x <= 0:
            return ratio ** (1 - x) / (1 + ratio)
        return 1 - ratio**x / (1 + ratio)

    law = np.diff([below(int(x)) for x in edges])
    counts = np.histogram(noise, edges - 0.5)[0]
    assert law.sum() == pytest.approx(1)
    assert ((counts - law * n) ** 2 / (law * n)).sum() < chi2.isf(1e-6, len(law) - 1)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20))
def test_prop_a_claim_anywhere_is_as_one_at_the_nearer_end(values: list[float]) -> None:
    """Basic: claims beyond the domain are moved to its ends before noise, never after."""
    table = {"task": ["a"] * len(values), "worker": list(range(len(values)))}
    engine = LocalNoise(epsilon=1, domain=(0, 10))
    found = [
        engine.draw(
            GroupedClaims.of({**table, "value": given}), 1, SimulatedCoins(np.random.default_rng(1))
        ).points.tolist()
        for given in (values, np.clip(values, 0, 10).tolist())
    ]
    assert found[0] == found[1]


def test_local_noise_has_the_domain_s_scale(grouped: Grouped) -> None:
    """Mean size of the noise on 20,000 claims is the domain over epsilon, within 5 errors."""
    claims = grouped([[5.0] * 20_000])
    engine = LocalNoise(epsilon=2, domain=(0, 10))
    points = simulate(claims, np.random.default_rng(0), engine=engine).points
    assert abs(np.abs(points - 5).mean() - 5) < 5 * 5 / 20_000**0.5
    assert engine.guarantee().trust == "local"
    assert "Nobody needs to be trusted" in guarantee_sentence(engine.guarantee())


def test_the_paper_s_scale_leaks_the_range_and_says_so(grouped: Grouped) -> None:
    """Noise as wide as the claims has no guarantee, and equal claims get next to none."""
    engine = LocalNoise(epsilon=1, domain=(0, 10), span="claims")
    release = simulate(grouped([[5.0] * 4, [1, 9]]), np.random.default_rng(0), engine=engine)
    assert release.guarantee.status == "none"
    assert len(release.points) == 6
    with pytest.raises(NoGuarantee):
        engine.loss(1)
    with pytest.raises(ParameterError):
        LocalNoise(epsilon=1, domain=(0, 10), span="x")  # type: ignore[arg-type]
