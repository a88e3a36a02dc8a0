"""Every engine on real claims; needs the data sets named by ``MASQUERADE_DATA``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.release import (
    Engine,
    GroupedClaims,
    Histogram,
    Mixtures,
    PooledHistogram,
    fit_density,
    ise,
    parse_engine,
    report_page,
    simulate,
)

pytestmark = pytest.mark.real_data

DOMAINS = {
    "population": ((0, 10**8), 10**6),
    "emotion": ((-100, 100), 10),
    "weather": ((-40, 120), 2),
    "flights": ((0, 1440), 15),
}


def load(folder: Path, name: str) -> GroupedClaims:
    """Return a data set, the last of repeated claims."""
    return GroupedClaims.of(
        Claims.read(folder / name / "claims.csv.gz", kind="numeric", duplicates="last")
    )


def engines(name: str) -> list[Engine]:
    """Return every engine with the public settings of a data set."""
    domain, bandwidth = DOMAINS[name]
    common = {"epsilon": 1, "domain": domain}
    return [
        parse_engine("hist", **common, bandwidth=bandwidth),  # type: ignore[arg-type]
        parse_engine("hist2", **common, bandwidth=bandwidth),  # type: ignore[arg-type]
        parse_engine("pooled", **common, bandwidth=bandwidth),  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("name", ["population", "emotion"])
def test_every_engine_completes_and_is_drawn(real_data: Path, name: str) -> None:
    """Statuses add up to the objects, and the page draws what was released."""
    claims = load(real_data, name)
    for engine in engines(name):
        release = simulate(claims, np.random.default_rng(0), engine=engine)
        assert sum(release.statuses.values()) == claims.n_objects
        assert "<figure>" in report_page(release)


def inliers(claims: GroupedClaims) -> Mixtures:
    """Return the density, bandwidth 10, of claims within three robust deviations."""
    weight = np.zeros(len(claims))
    for i in range(claims.n_objects):
        x = claims.value[claims.rows_of(i)]
        apart = np.abs(x - np.median(x))
        inside = apart <= 3 * (1.4826 * np.median(apart) or x.std(ddof=1)) + 1e-9
        weight[claims.rows_of(i)] = inside / inside.sum()
    return Mixtures(claims.offset, claims.value, weight, np.full(len(claims), 10.0))


def test_emotion_at_epsilon_four(real_data: Path) -> None:
    """Claim level, 11 public bins: `hist` at most 0.10; `pooled` is better at epsilon 1 and 2."""
    claims = load(real_data, "emotion")
    reference = inliers(claims)
    error = {}
    for epsilon in (1, 2, 4):
        for kind in (Histogram, PooledHistogram):
            engine = kind(epsilon=epsilon, domain=(-100, 100), bins=11, bandwidth=10.0)
            release = simulate(claims, np.random.default_rng(0), engine=engine)
            error[kind.name, epsilon] = ise(reference, release).rel_ise
    assert error["hist", 4] <= 0.10
    for epsilon in (1, 2):
        assert error["pooled", epsilon] < 0.9 * error["hist", epsilon]


def test_the_default_keeps_emotion_at_epsilon_four(real_data: Path) -> None:
    """Bandwidth 10, centred bins: an error of at most 0.04 to the density of the claims."""
    claims = load(real_data, "emotion")
    made = simulate(
        claims,
        np.random.default_rng(0),
        engine=parse_engine("claims", epsilon=4, domain=(-100, 100), bandwidth=10),
    )
    assert ise(fit_density(claims, weights="uniform", bandwidth=10.0), made).rel_ise <= 0.04


def test_the_published_weights_are_mostly_zero_somewhere(real_data: Path) -> None:
    """Most emotion objects have a claim of weight 0, so that the published epsilon is infinite."""
    model = fit_density(load(real_data, "emotion"), global_form="sum")
    least = np.minimum.reduceat(model.weight, model.claims.offset[:-1])
    assert (least == 0).mean() > 0.6
