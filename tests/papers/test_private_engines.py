"""The engines besides `hist`: their loss on a claim or a user, exactly and by sampling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masquerade.errors import ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.release import Domain, GroupedClaims
from masquerade_papers.priscrowd.histogram import Histogram
from masquerade_papers.priscrowd.mixtures import normals, uniforms
from masquerade_papers.priscrowd.pooled import PooledHistogram
from masquerade_papers.priscrowd.simulation import simulate

Grouped = Callable[..., GroupedClaims]

STEPS = 4096


def weighted_counts(claims: GroupedClaims, grid: Any, weight: np.ndarray) -> list[int]:
    """Return each bin's sum of whole weights."""
    found = [0] * int(grid.offset[-1])
    for at, user in zip(grid.bin_of(claims).tolist(), claims.user.tolist(), strict=True):
        found[at] += int(weight[user])
    return found


def distance(here: list[int], there: list[int]) -> int:
    """Return the sum of absolute differences."""
    return sum(abs(a - b) for a, b in zip(here, there, strict=True))


def test_exact_pooling_reads_the_counts_of_hist(grouped: Grouped) -> None:
    """All data sets of 2 claims on 4 values: the counts that pooled reads have the loss of hist.

    Two data sets whose noisy counts come out the same are told apart by nothing: with noise that
    makes up for the difference of the counts, the whole release is the same to the bit.
    """
    plain = Histogram(epsilon=1, domain=(0, 4), bins=4)
    pooled = PooledHistogram(epsilon=1, domain=(0, 4), bins=4)
    assert pooled.guarantee() == plain.guarantee()
    assert pooled.exact_epsilon == plain.exact_epsilon == 1
    worlds = [
        grouped([[a + 0.5, b + 0.5], [0.5, 2.5]]) for a, b in itertools.product(range(4), repeat=2)
    ]
    noisy = np.array([3, -1, 1, 0, 2, 0, 1, -2])
    found = set()
    for claims in worlds:
        grid = pooled.grid(claims, pooled.epsilon_of_object)
        read = pooled._posterior_shares(
            claims.count, grid, noisy, pooled.is_pooled(claims, grid), None
        )
        found.add(repr([np.asarray(part).tolist() for part in read]))
    assert len(found) == 1


def test_audit_pooled_densities_betray_no_claim(grouped: Grouped) -> None:
    """The most telling event of 3,000 densities a world, false alarm 1e-6, is below epsilon 3."""
    runs, engine = 3_000, PooledHistogram(epsilon=3, domain=(0, 8), bins=8)
    hits = []
    for value in (0.5, 7.5):
        claims = grouped([[value, 0.5]] * runs)
        release = engine.draw(claims, 1, SimulatedCoins(np.random.default_rng(2)))
        densities = release.densities
        of = np.repeat(np.arange(runs), np.diff(densities.offset))
        right = np.bincount(of, densities.weight * (densities.location > 4), runs)
        hits.append(int((right < 0.25).sum()))
    margin = math.sqrt(math.log(2 / 1e-6) / (2 * runs))
    lower = math.log((hits[0] / runs - margin) / (hits[1] / runs + margin))
    assert 0.2 < lower <= 3


class _AllOnes:
    """Words of which every bit is 1."""

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return the largest words."""
        return np.full(size, np.iinfo(np.uint64).max)


def test_uniform_numbers_stay_below_1() -> None:
    """The largest word gives a number below 1, so that no point is infinite."""
    assert uniforms(_AllOnes(), 1)[0] < 1
    assert np.isfinite(normals(_AllOnes(), 1)[0])


@pytest.mark.parametrize("weights", [{"u1": math.nan}, {"u1": "much"}, {7: 0.5}])
def test_public_weights_are_numbers_of_users_there_are(weights: dict[Any, Any]) -> None:
    """A weight that is no number, or weights of strangers alone, are refused."""
    rows = {"task": ["a"] * 3, "worker": ["u1", "u2", "u3"], "value": [1.0, 2.0, 3.0]}
    made = Histogram(epsilon=1, domain=(0, 10), reliability=weights)
    with pytest.raises(ParameterError, match=r"the weight(s are| of user)"):
        simulate(rows, np.random.default_rng(0), engine=made)


def test_ends_of_objects_that_are_not_there_are_refused() -> None:
    """Objects named by numbers in one table and by texts in the other are not taken for others."""
    rows = {"task": [1, 1], "worker": ["x", "y"], "value": [1.0, 2.0]}
    domain = Domain(0, 10, of_objects={"1": (0, 2)})
    with pytest.raises(ParameterError, match=r"none of these has a claim; .* about .1."):
        simulate(rows, np.random.default_rng(0), engine=Histogram(epsilon=1, domain=domain))
