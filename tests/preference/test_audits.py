"""Audits by neighbours: whole releases of two neighbouring crowds, told apart by sampling."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta

from masquerade import Comparisons
from masquerade.exact.arrays import Floats
from masquerade.preference import MenuChoices, MenuResponse, SocialPreference, preference_mechanism
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.registry import MECHANISMS

SMALL, FULL = 100, 4000
FALSE_ALARM = 1e-6  # of one comparison; a test makes fewer than 200

Records = Sequence[Sequence[tuple[float, float]]]  # of each voter

# Worst neighbours by unit, where known: a choice turned round, a record replaced by its opposite
# or by one at right angles, a whole voter replaced, with more records or none.
BASE: Records = [[(1.0, 0.0), (0.3, 0.4)], [(0.2, -0.9)], [(-0.5, 0.1)]]
TURNED: Records = [[(-1.0, 0.0), (0.3, 0.4)], *BASE[1:]]
ACROSS: Records = [[(0.0, 1.0), (0.3, 0.4)], *BASE[1:]]
OTHER: Records = [[(-1.0, 0.0), (-0.3, -0.4)], *BASE[1:]]
NONE: Records = [[], *BASE[1:]]

ITEMS = ["a", "b", "c", "d"]
Pairs = Sequence[Sequence[tuple[str, str]]]
PAIRS: Pairs = [[("a", "b"), ("c", "d")], [("b", "c")], [("d", "a")]]
PAIR_TURNED: Pairs = [[("b", "a"), ("c", "d")], *PAIRS[1:]]
PAIR_APART: Pairs = [[("c", "d"), ("c", "d")], *PAIRS[1:]]
PAIR_OTHER: Pairs = [[("b", "a"), ("d", "c")], *PAIRS[1:]]


def of_features(records: Records) -> Comparisons:
    """Return choices of three voters in two public features."""
    rows = [(voter, *each) for voter, own in enumerate(records) for each in own]
    voter, x, y = zip(*rows, strict=True)
    return Comparisons.from_frame(
        {"voter": voter, "x": x, "y": y}, ranges={"x": (0, 1), "y": (0, 1)}, voters=range(3)
    )


def of_items(pairs: Pairs) -> Comparisons:
    """Return choices of three voters between public items."""
    rows = [(voter, *each) for voter, own in enumerate(pairs) for each in own]
    voter, chosen, rejected = zip(*rows, strict=True)
    return Comparisons.from_frame(
        {"voter": voter, "chosen": chosen, "rejected": rejected}, items=ITEMS, voters=range(3)
    )


def of_item_menus(taken: str) -> Comparisons:
    """Return four choices of three voters from menus of items; the first took this one."""
    shown = [(0, "abc", taken), (0, "bcd", "d"), (1, "abcd", "b"), (2, "ad", "a")]
    rows = [(v, n, item, item == own) for n, (v, menu, own) in enumerate(shown) for item in menu]
    voter, choice, item, chosen = zip(*rows, strict=True)
    frame = {"voter": voter, "choice": choice, "item": item, "chosen": np.array(chosen) * 1}
    return MenuChoices.from_frame(frame, items=ITEMS, voters=range(3)).comparisons()


@dataclass(frozen=True)
class Path:
    """A private path, and two crowds that it must not tell apart by more than epsilon."""

    mechanism: str
    unit: str
    one: Comparisons
    other: Comparisons
    epsilon: float = 1.0

    def __str__(self) -> str:
        return f"{self.mechanism} {self.unit}"


def paths() -> list[Path]:
    """Return every private mechanism at every unit that it protects."""
    found = []
    base, items = of_features(BASE), of_items(PAIRS)
    by_record = [of_features(TURNED), of_features(ACROSS)]
    by_voter = [of_features(OTHER), of_features(NONE)]
    for name in ("linear-knorm", "linear-laplace", "linear-gaussian"):
        for trust in ("local", "aggregator"):
            found += [Path(f"{name}:trust={trust}", "record", base, each) for each in by_record]
            found.append(Path(f"{name}:trust={trust}", "choice", base, by_record[0]))
    for trust in ("local", "aggregator"):
        found += [Path(f"linear-moment:trust={trust}", "record", base, each) for each in by_record]
    for name in ("local-functional", "aggregate-functional", "central-functional"):
        found += [Path(name, "record", base, each) for each in by_record]
    for name in (*("central-laplace", "local-laplace", "direction-selection:candidates=16"),):
        found += [Path(name, "voter", base, each) for each in by_voter]
        found += [Path(name, "record", base, each) for each in by_record]
    for estimator in ("likelihood", "linear"):
        name = f"choice-response:estimator={estimator}"
        found.append(Path(name, "choice", base, by_record[0]))
    turned, apart = of_items(PAIR_TURNED), of_items(PAIR_APART)
    found.append(Path("choice-response:estimator=bradley-terry", "choice", items, turned))
    first, second = (of_item_menus(taken) for taken in "ac")
    for trust in ("local", "aggregator"):
        found.append(Path(f"item-wins:trust={trust}", "choice", items, turned))
        found.append(Path(f"item-wins:trust={trust}", "choice", first, second))
        found += [
            Path(f"item-net-wins:trust={trust}", "record", items, each) for each in (turned, apart)
        ]
        for more in ("", ",records=2"):
            other = of_items(PAIR_OTHER)
            found.append(Path(f"item-votes:trust={trust}{more}", "voter", items, other))
        found.append(Path(f"item-rankings:trust={trust}", "voter", items, of_items(PAIR_OTHER)))
    return found


def test_every_private_mechanism_is_audited_at_every_unit() -> None:
    """A mechanism of the registry without an audit fails here; `auto` takes one of the others."""
    promised = {
        (name, unit)
        for name, kind in MECHANISMS.items()
        if issubclass(kind, PrivateMechanism)
        for unit in kind.units
    }
    others = {name for name, kind in MECHANISMS.items() if not issubclass(kind, PrivateMechanism)}
    assert others == {"auto", "none"}
    assert {(path.mechanism.partition(":")[0], path.unit) for path in paths()} == promised


def drawn(path: Path, crowd: Comparisons, runs: int, seed: int) -> Floats:
    """Return the published numbers, shape (runs, size)."""
    return _drawn(path.mechanism, path.unit, path.epsilon, crowd, runs, seed)


@lru_cache(maxsize=8)  # neighbours in the list differ in the other crowd alone
def _drawn(
    name: str, unit: str, epsilon: float, crowd: Comparisons, runs: int, seed: int
) -> Floats:
    rng = np.random.default_rng(seed)
    mechanism = preference_mechanism(name, epsilon=epsilon, unit=unit)
    rows = []
    for _ in range(runs):
        learned = SocialPreference.simulate(crowd, rng, mechanism=mechanism)
        release = learned.release
        parts = [release.weights, release.noise_covariance.ravel()]
        for matrix in (release.sampling_covariance, release.shrinkage_covariance):
            parts.append(np.zeros(0) if matrix is None else matrix.ravel())
        rows.append(np.concatenate(parts))
    found = np.array(rows)
    found.setflags(write=False)  # shared by tests
    return found


def sampled_epsilon(one: Floats, other: Floats, *, delta: float = 0.0) -> float:
    """Return a lower bound on epsilon: how much likelier an event is on one crowd, for sure.

    Events are halves of the draws along each number and along the difference of means, at the
    median and the outer quarters, set by a first half of the draws and counted on the second.
    Clopper-Pearson bounds at `FALSE_ALARM` an event.
    """
    half = len(one) // 2
    both = np.concatenate([one[:half], other[:half]])
    scale = np.maximum(both.std(axis=0), 1e-300)
    apart = (one[:half].mean(axis=0) - other[:half].mean(axis=0)) / scale
    axes = [*(np.eye(one.shape[1]) / scale)[:8], apart / scale]
    best = -math.inf
    for axis in axes:
        for cut in np.quantile(both @ axis, (0.1, 0.25, 0.5, 0.75, 0.9)):
            hits = [int((crowd[half:] @ axis > cut).sum()) for crowd in (one, other)]
            n = len(one) - half
            for yes, no in (
                hits,
                hits[::-1],
                (n - hits[0], n - hits[1]),
                (n - hits[1], n - hits[0]),
            ):
                low = float(beta.ppf(FALSE_ALARM, yes, n - yes + 1)) if yes else 0.0
                high = float(beta.isf(FALSE_ALARM, no + 1, n - no)) if no < n else 1.0
                if low > delta:
                    best = max(best, math.log((low - delta) / high))
    return best


def claimed(path: Path) -> tuple[float, float]:
    """Return epsilon and delta of one unit, as a release states them."""
    mechanism = preference_mechanism(path.mechanism, epsilon=path.epsilon, unit=path.unit)
    guarantee = SocialPreference.simulate(
        path.one, np.random.default_rng(0), mechanism=mechanism
    ).guarantee
    return float(guarantee.epsilon.micro) / 1e6, float(guarantee.delta)


def audit(path: Path, runs: int) -> float:
    """Return the sampled bound less the claim; above 0 the claim is false."""
    epsilon, delta = claimed(path)
    one, other = (
        drawn(path, crowd, runs, seed) for seed, crowd in enumerate((path.one, path.other))
    )
    return sampled_epsilon(one, other, delta=delta) - epsilon


@pytest.mark.parametrize("path", paths(), ids=str)
def test_audit_no_event_betrays_more_than_is_claimed(path: Path) -> None:
    """100 releases of each of two neighbours, every number published: the bound is below."""
    assert audit(path, SMALL) <= 0


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("path", paths(), ids=str)
def test_audit_no_event_of_many_releases_betrays_more_than_is_claimed(path: Path) -> None:
    """4,000 releases of each of two neighbours."""
    assert audit(path, FULL) <= 0


@pytest.mark.parametrize(
    ("mechanism", "unit"), [("item-wins", "choice"), ("linear-knorm:trust=aggregator", "record")]
)
def test_audit_the_audit_has_teeth(mechanism: str, unit: str) -> None:
    """Releases at epsilon 4 that claim 1 are found out in 1,000 draws."""
    crowds = (of_items(PAIRS), of_items(PAIR_TURNED))
    if unit == "record":
        crowds = (of_features(BASE), of_features(TURNED))
    path = Path(mechanism, unit, *crowds, epsilon=4)
    one, other = (drawn(path, crowd, 1000, seed) for seed, crowd in enumerate(crowds))
    assert 1 < sampled_epsilon(one, other) <= 4


@pytest.mark.parametrize("path", paths(), ids=str)
def test_public_parts_are_the_same_on_neighbours(path: Path) -> None:
    """Features, items, domains, counts, guarantee: all but the noisy part."""
    mechanism = preference_mechanism(path.mechanism, epsilon=path.epsilon, unit=path.unit)
    shown = []
    for crowd in (path.one, path.other):
        learned = SocialPreference.learn(crowd, mechanism=mechanism, public_menus=True)
        public: dict[str, Any] = learned.to_json()
        kept = ("mechanism", "features", "direction_only", "voters", "records", "guarantee")
        ranges = [(each.name, each.low, each.high) for each in learned.features]
        # A remark stands there where the noisy release says so, as its numbers do.
        details = sorted({*public["details"]} - {"remark"})
        shown.append(
            json.dumps({key: public[key] for key in kept})
            + json.dumps([ranges, sorted(public), details])
        )
    assert shown[0] == shown[1]


def menus(chosen: int) -> MenuChoices:
    """Return 70 choices of 14 voters from the same menus; the first took this alternative."""
    rng = np.random.default_rng(5)
    n, k = 70, 4
    made = MenuChoices.from_frame(
        {
            "voter": np.repeat(np.arange(n) // 5, k),
            "choice": np.repeat(np.arange(n), k),
            "chosen": [1, 0, 0, 0] * n,
            "x": rng.uniform(size=n * k),
            "y": rng.uniform(size=n * k),
        },
        ranges={"x": (0, 1), "y": (0, 1)},
    )
    places = np.r_[chosen, made.chosen[1:]]
    return MenuChoices(
        made.values, made.offsets, places, made.voter, pa.array(made.voters), made.features
    )


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("other", [1, 2, 3])
def test_audit_menus_in_waves_betray_no_choice(other: int) -> None:
    """800 whole releases, groups of later voters planned from earlier reports."""
    crowds = []
    for seed, chosen in enumerate((0, other)):
        rng, crowd = np.random.default_rng(seed), menus(chosen)
        crowds.append(np.array([MenuResponse(1).simulate(crowd, rng).weights for _ in range(800)]))
    assert sampled_epsilon(*crowds) <= 1
