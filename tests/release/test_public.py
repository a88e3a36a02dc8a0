"""What a release shows beside its noise is the same on neighbours; a seed makes no promise."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.exact import Coins, SimulatedCoins
from masquerade.exact.coins import WordSource
from masquerade.release import (
    Engine,
    GroupedClaims,
    Release,
    guarantee_sentence,
    histogram,
    parse_engine,
    report_page,
    simulate,
    synthesize,
)
from masquerade.release.grid import Grid
from masquerade.release.histogram import UNITS_OF_WEIGHT, noisy_counts

Grouped = Callable[[Sequence[Sequence[float]]], GroupedClaims]

PRIVATE = ["hist", "hist2", "pooled"]
ROWS = [[1.0, 2.0, 2.5, 9.0, 4.0, 4.5], [5.0, 5.0, 5.5], [7.0]]


def engine(name: str, unit: str | None = None, cap: int = 2) -> Engine:
    """Return a private engine on the domain 0 to 10."""
    return parse_engine(
        name,
        epsilon=2,
        domain=(0, 10),
        cap=cap,
        unit=unit,  # type: ignore[arg-type]
    )


def public_part(release: Release) -> dict[str, Any]:
    """Return all that a release shows but what noise moves."""
    codebook = release.codebook()
    codebook["points of each"] = release.offset.tolist()
    codebook["workers"] = release.to_arrow()["worker"].to_pylist()
    return codebook | {"objects": release.objects.to_pylist(), "status": release.status}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_release_from_a_seed_promises_nothing_wherever_it_is_shown(
    name: str, grouped: Grouped
) -> None:
    """The release, its codebook and its page say so, drawn by `simulate` or by the engine."""
    claims, made = grouped(ROWS), engine(name)
    seeded = [
        simulate(claims, np.random.default_rng(0), engine=made),
        made.draw(claims, 5, SimulatedCoins(np.random.default_rng(0))),
    ]
    for release in seeded:
        assert (release.guarantee.status, release.codebook()["guarantee"]["status"]) == (
            "none",
            "none",
        )
        assert "simulated" in guarantee_sentence(release.guarantee)
        assert "carries no privacy guarantee" in report_page(release)
    real = [synthesize(claims, engine=made), made.draw(claims, 5, Coins())]
    assert [release.guarantee.status for release in real] == ["proven", "proven"]


class Overridden(Coins):
    """A generator in the clothes of real coins."""

    def words(self, size: int) -> Any:
        """Return words that anybody can foresee."""
        return np.zeros(size, dtype=np.uint64)


def test_a_subclass_of_coins_promises_nothing(grouped: Grouped) -> None:
    """Only the type itself counts."""
    source = Overridden()
    with pytest.raises(Exception, match="Overridden"):
        synthesize(grouped(ROWS), engine=engine("hist"), coins=source)
    drawn = engine("hist").draw(grouped(ROWS), 5, SimulatedCoins(np.random.default_rng(1)))
    assert drawn.guarantee.status == "none"


@pytest.mark.parametrize("name", PRIVATE)
def test_one_value_replaced_changes_nothing_that_noise_does_not_cover(
    name: str, grouped: Grouped
) -> None:
    """Objects, their order, statuses, numbers of points, settings and guarantee are the same.

    The worst values too: an end of the domain, far outside it, the only claim about its object.
    """
    unit = "user" if name == "hist2" else "claim"
    shown = []
    for row, place, value in [(0, 0, 1.0), (0, 0, 10.0), (0, 3, -1e9), (2, 0, 0.0), (2, 0, 1e12)]:
        rows = [list(each) for each in ROWS]
        rows[row][place] = value
        shown.append(public_part(synthesize(grouped(rows), engine=engine(name, unit, 3))))
    assert all(each == shown[0] for each in shown)


@pytest.mark.parametrize("name", PRIVATE)
def test_all_values_of_a_user_replaced_change_nothing_that_noise_does_not_cover(
    name: str, grouped: Grouped
) -> None:
    """The first user claims about all three objects, of which the cap of two uses two."""
    shown = []
    for value in (1.0, 10.0, 1e9):
        rows = [[value, *row[1:]] for row in ROWS]
        public = public_part(synthesize(grouped(rows), engine=engine(name, "user")))
        # which of the three the cap leaves out is drawn, and with it where numbers of claims are
        shown.append({key: public[key] for key in ("engine", "objects", "guarantee")})
    assert all(each == shown[0] for each in shown)


def test_what_is_counted_from_the_claims_is_in_no_file(grouped: Grouped, tmp_path: Path) -> None:
    """How many claims were outside the domain is for the collector; no file tells it."""
    rows = [[*ROWS[0], 1e9], *ROWS[1:]]
    release = synthesize(grouped(rows), engine=engine("hist"))
    assert release.collector["outside_domain"] == 1
    release.write(tmp_path / "points.csv")
    text = (tmp_path / "points.csv").read_text() + json.dumps(release.codebook())
    text += report_page(release)
    assert "outside" not in text
    assert "dropped" not in text
    assert "1000000000" not in text


def test_the_guarantee_says_that_objects_and_their_claims_are_public(grouped: Grouped) -> None:
    """A claim that moves to another object is seen; the neighbours do not move it."""
    for name, unit in [(name, unit) for name in PRIVATE for unit in ("claim", "user")]:
        if (name, unit) == ("hist2", "claim"):
            continue
        promise = engine(name, unit).guarantee()
        assert any("the list of objects" in each for each in promise.assumptions)
        assert any("the range of values" in each for each in promise.assumptions)
        assert "same object" in promise.neighbours
        assert promise.neighbours in guarantee_sentence(promise)


def no_noise(source: WordSource, scale: Fraction, size: int) -> Any:
    """Return zeros in the place of noise."""
    return np.zeros(size, dtype=np.int64)


def test_exact_no_value_moves_the_counts_further_than_the_noise_allows(
    grouped: Grouped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All data sets of three values on five answers, all replacements, plain and weighted counts.

    The noise has scale 2 times the largest weight over epsilon, so an L1 move of 2 such weights
    costs epsilon; it is attained.
    """
    monkeypatch.setattr(histogram, "discrete_laplace", no_noise)
    coins = Coins()
    answers = range(5)
    for weight in (None, np.array([13, 64, 256])):
        counts = {}
        for values in itertools.product(answers, repeat=3):
            claims = grouped([values])
            made = parse_engine("hist", epsilon=1, domain=(0, 4), bins=5)
            grid = Grid.of(claims, made.public_domain, np.array([5]))  # type: ignore[attr-defined]
            counts[values] = noisy_counts(claims, grid, weight, Fraction(1), coins)
        worst = max(
            int(np.abs(counts[values] - counts[(*values[:i], other, *values[i + 1 :])]).sum())
            for values in counts
            for i in range(3)
            for other in answers
        )
        assert worst == (2 if weight is None else 2 * UNITS_OF_WEIGHT)
