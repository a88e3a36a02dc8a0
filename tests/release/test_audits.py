"""Audits by neighbours: every private engine at every unit and mode, told apart by sampling.

An engine's releases are audited in three parts. What is computed from values and noise (noisy
counts, noisy claims, points that passed a test) is drawn thousands of times on two neighbours and
must not tell them apart by more than epsilon. With those counts given, the rest of the release must
be the same on both to the last bit. And whole releases are drawn, one by one, where there is time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from tests.release.neighbours import ATTRIBUTES, CELLS, MODES, PATHS, Path, U, World
from tests.representative import first_of_each

from masquerade.errors import ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.noise import scale_rounded_up
from masquerade.release import (
    ENGINES,
    Cells,
    Engine,
    GroupedClaims,
    PrivateEngine,
    Release,
    TwoPassHistogram,
    histogram,
    pooled,
    posterior,
)
from masquerade.release.guarantee import UNITS

WHOLE = 800  # whole releases of each neighbour, drawn one by one
FALSE_ALARM = 1e-6  # of all comparisons of one audit together


def test_several_attributes_are_listed_objects_and_take_no_other_mode() -> None:
    """The engine of cells is the one that is audited; weights of users are refused."""
    for path in CELLS:
        assert type(path.engine()) is path.kind
    with pytest.raises(ParameterError, match="reliab"):
        Cells(["a"], ATTRIBUTES).engine(
            expected=4, epsilon=1, domain=(0, 3), reliability={"ann": 0.5}
        )


def test_every_private_engine_is_audited_at_every_unit_and_mode() -> None:
    """A new engine, a unit that one no longer takes, or a lost mode shows here."""
    posteriors = ("claims", "source", "wiener")
    listed = {(name, unit, mode) for name in posteriors for unit in UNITS for mode in MODES}
    weighed = {
        (name, unit, mode) for name in ("hist",) for unit in UNITS for mode in ("plain", "weighted")
    }
    plain = {("pooled", unit, "plain") for unit in UNITS}
    expected = listed | weighed | plain | {("hist2", "user", "plain")}
    assert {(path.kind.name, path.unit, path.mode) for path in PATHS} == expected
    assert all(issubclass(kind, PrivateEngine) for kind in ENGINES)


class Counts:
    """`noisy_counts`, of which every result is kept; or given counts in its place."""

    def __init__(self, given: Integers | None = None) -> None:
        self.real: Callable[..., Integers] = histogram.noisy_counts
        self.given = given
        self.kept: list[Integers] = []

    def __call__(self, *values: Any, **words: Any) -> Integers:
        """Return noisy counts, or those that were given."""
        found = self.real(*values, **words)
        self.kept.append(found)
        return found if self.given is None else np.resize(self.given, found.shape)


def counting(patch: pytest.MonkeyPatch, counts: Counts) -> Counts:
    """Put these counts wherever an engine counts claims."""
    for module in (histogram, pooled, posterior):
        patch.setattr(module, "noisy_counts", counts)
    return counts


def drawn(engine: Engine, claims: GroupedClaims, seed: int) -> tuple[Release, GroupedClaims]:
    """Return a release drawn from a seed, and the claims used; the cap's coins are its own."""
    cap, coins = (SimulatedCoins(np.random.default_rng([seed, own])) for own in (0, 1))
    used = engine.within_cap(claims, cap)
    return engine.draw(used, 1, coins), used


def of_points(path: Path, release: Release) -> Floats:
    """Return what points of its own an engine shows, of each copy: sums and numbers by object."""
    objects = len(release.objects)
    of = np.repeat(np.arange(objects), np.diff(release.offset))
    moved = release.points - path.high / 2
    far = np.bincount(of, moved > path.high / 4, objects)
    parts = [np.bincount(of, moved, objects), np.diff(release.offset).astype(float), far]
    return np.stack(parts, axis=1).reshape(objects // path.objects, -1)


def told(path: Path, world: World, copies: int, seed: int) -> Floats:
    """Return what is computed from values and noise, shape (copies, numbers).

    Where participation is public, objects of a copy for which the cap used user `U` stand first:
    whoever knows the cap's coins may not learn more than epsilon either.
    """
    with pytest.MonkeyPatch.context() as patch:
        counts = counting(patch, Counts())
        release, used = drawn(path.engine(copies), path.claims(world, copies), seed)
    shown: list[Any] = counts.kept or [of_points(path, release)]
    order = np.tile(np.arange(path.objects), (copies, 1))
    if path.mode != "listed":
        names = np.array(used.users.to_pylist())[used.user] % 1000
        ours = np.bincount(used.object, names == U, used.n_objects).reshape(copies, -1)
        order = np.argsort(-ours, axis=1, kind="stable")
    rows = [part.reshape(copies, path.objects, -1) for part in shown]
    rows = [np.take_along_axis(part, order[:, :, None], axis=1) for part in rows]
    return np.concatenate([part.reshape(copies, -1) for part in rows], axis=1).astype(float)


def sampled_epsilon(one: Floats, other: Floats, delta: float) -> float:
    """Return a lower bound on epsilon: how much likelier an event is on one neighbour, for sure.

    Events: a number, the difference of means, or the difference of distances from both medians is
    above or below a threshold. The first half of the draws says which, the second half is counted;
    Clopper-Pearson bounds, with all comparisons together false for `FALSE_ALARM` at most.
    """
    half = len(one) // 2
    both = np.concatenate([one[:half], other[:half]])
    scale = np.maximum(np.abs(both - np.median(both, axis=0)).mean(axis=0), 1e-9)
    middles = [np.median(each[:half], axis=0) for each in (one, other)]
    apart = (one[:half].mean(axis=0) - other[:half].mean(axis=0)) / scale**2

    def scores(x: Floats) -> Floats:
        """Return a score by draw and event."""
        far = [(np.abs(x - middle) / scale).sum(axis=1) for middle in middles]
        return np.column_stack([x[:, :8], x @ apart, far[1] - far[0]])

    fit, counted = scores(both), [scores(each[half:]) for each in (one, other)]
    cuts = np.quantile(fit, (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98), axis=0)
    n = len(one) - half
    # hits[world, side, cut, score]: a threshold that is often met is within and without
    hits = np.array(
        [
            [
                (x[:, None] > cuts + 1e-9).sum(axis=0),
                (x[:, None] >= cuts - 1e-9).sum(axis=0),
                (x[:, None] < cuts - 1e-9).sum(axis=0),
                (x[:, None] <= cuts + 1e-9).sum(axis=0),
            ]
            for x in counted
        ]
    )
    each = FALSE_ALARM / (2 * hits.size)
    low = np.nan_to_num(beta.ppf(each, hits, n - hits + 1), nan=0.0) - delta
    high = np.nan_to_num(beta.isf(each, hits + 1, n - hits), nan=1.0)
    ratio = np.maximum(low / high[::-1], 1e-9)
    return float(math.log(ratio.max()))


def bound(path: Path) -> tuple[float, float]:
    """Return the sampled lower bound on epsilon, and the epsilon that is claimed."""
    one, other = (told(path, world, path.copies, seed) for seed, world in enumerate(path.worlds()))
    promise = path.engine().guarantee()
    lower = sampled_epsilon(one, other, float(promise.delta))
    return lower, path.times * promise.epsilon.epsilon


@pytest.mark.parametrize("path", [*PATHS, *CELLS], ids=str)
def test_audit_no_event_betrays_more_than_is_claimed(path: Path) -> None:
    """4,000 to 16,000 draws of each of two worst neighbours, false alarm 1e-6: it is below.

    And above 0: neighbours are told apart, within the claim.
    """
    lower, claimed = bound(path)
    assert 0 < lower <= claimed


def halve(patch: pytest.MonkeyPatch) -> None:
    """Plant half of the noise."""
    patch.setattr(histogram, "scale_rounded_up", lambda s: scale_rounded_up(Fraction(s) / 2))


@pytest.mark.parametrize(
    "path", first_of_each([*PATHS, *CELLS], kind=lambda path: path.kind, name=str)
)
def test_audit_a_planted_fault_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws with half of the noise: every path is refuted."""
    halve(monkeypatch)
    lower, claimed = bound(path)
    assert lower > claimed


GIVEN = np.array([2, -1, 5, 0, 3])


@pytest.mark.parametrize(
    "path",
    [path for path in [*PATHS, *CELLS] if issubclass(path.kind, histogram.Histogram)],
    ids=str,
)
def test_all_but_the_noisy_counts_is_the_same_on_neighbours(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With equal noisy counts releases are equal to the bit: densities, points, codebook."""
    shown = []
    for world in path.worlds():
        counts = counting(monkeypatch, Counts(GIVEN))
        counts.real = lambda claims, grid, *more, **words: np.empty(int(grid.offset[-1]), np.int64)
        release, _ = drawn(path.engine(4), path.claims(world, 4), 7)
        assert len(counts.kept) == (2 if path.kind is TwoPassHistogram else 1)
        release, densities = path.shown(release), release.densities
        shown.append(
            (
                repr(release.codebook()),
                release.objects.to_pylist(),
                release.status,
                *(each.tolist() for each in (release.offset, release.points)),
                *(each.tolist() for each in (densities.offset, densities.location)),
                *(each.tolist() for each in (densities.weight, densities.width)),
            )
        )
    assert shown[0] == shown[1]


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("path", [*PATHS, *CELLS[::3]], ids=str)
def test_audit_no_event_of_whole_releases_betrays_more_than_is_claimed(path: Path) -> None:
    """800 whole releases of each of two worst neighbours, densities and points, one by one."""
    rows: list[Floats] = []
    engine = path.engine()
    at = np.linspace(0, path.high, 4)
    for own, world in enumerate(path.worlds()):
        claims = path.claims(world, 1)
        found = []
        for run in range(WHOLE):
            release, _ = drawn(engine, claims, 2 * run + own)
            density = [release.densities.density(i, at) for i in range(path.objects)]
            found.append(np.concatenate([*density, of_points(path, release).ravel()]))
        rows.append(np.array(found))
    promise = engine.guarantee()
    lower = sampled_epsilon(rows[0], rows[1], float(promise.delta))
    assert lower <= path.times * promise.epsilon.epsilon
