"""Choices among several: canonical menus, the channel, the likelihood, accuracy and intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.errors import InsecureRandomness, InvalidRecord, ParameterError, SchemaError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.mechanisms import RandomizedResponse
from masquerade.preference import MenuChoices, MenuResponse
from masquerade.preference.masked_menus import MaskedMenus

GOLDEN = [
    [(0, 0), (1, 0), (0, 1)],
    [(1, 1), (0, 0), (2, -1)],
    [(0, 2), (1, 0), (-1, 1)],
    [(1, 0), (0, 1), (1, 1)],
    [(2, 0), (0, 0), (0, 1)],
    [(0, 1), (1, 1), (1, -1)],
]


def golden() -> MaskedMenus:
    """Return the specification's six menus with reports at epsilon 2."""
    values = np.array([row for menu in GOLDEN for row in menu], dtype=float)
    keep = math.exp(2) / (math.exp(2) + 2)
    reports = np.array([1, 2, 1, 0, 0, 2])
    return MaskedMenus(
        values, np.arange(0, 19, 3), reports, np.full(6, keep), np.full(6, (1 - keep) / 2)
    )


@pytest.mark.parametrize(
    ("k", "keep", "other"),
    [
        *((2, 0.731059, 0.268941), (3, 0.576117, 0.211942)),
        *((5, 0.404610, 0.148848), (10, 0.231969, 0.085337)),
    ],
)
def test_the_channel_has_the_specified_probabilities(k: int, keep: float, other: float) -> None:
    """Of the true answer and of each other at epsilon 1, to 1e-6; kept never more often."""
    kept = RandomizedResponse(k, epsilon=1).keep_probability
    assert (float(kept), float((1 - kept) / (k - 1))) == pytest.approx((keep, other), abs=1e-6)
    assert float(kept / ((1 - kept) / (k - 1))) <= math.e


@pytest.mark.parametrize(
    ("k", "worth"),
    [
        (2, (0.0600, 0.2136, 0.5800, 0.9293)),
        (3, (0.0316, 0.1326, 0.4631, 0.8968)),
        (5, (0.0132, 0.0654, 0.3147, 0.8366)),
        (10, (0.0037, 0.0215, 0.1520, 0.7102)),
    ],
)
def test_a_masked_choice_is_worth_the_specified_part_of_a_plain_one(
    k: int, worth: tuple[float, ...]
) -> None:
    """Information at indifference, at epsilon .5, 1, 2 and 4, over that without a mask."""
    values = np.random.default_rng(k).normal(size=(20 * k, 3))
    offsets, reports, one = np.arange(0, 20 * k + 1, k), np.zeros(20, dtype=int), np.ones(20)

    def information(keep: float) -> np.ndarray:
        other = one * (1 - keep) / (k - 1)
        masked = MaskedMenus(values, offsets, reports, one * keep, other)
        return np.asarray(masked.at(np.zeros(3)).information)

    for epsilon, part in zip((0.5, 1, 2, 4), worth, strict=True):
        kept = float(RandomizedResponse(k, epsilon=epsilon).keep_probability)
        np.testing.assert_allclose(
            information(kept), part * information(1.0), rtol=0.02, atol=1e-12
        )
        assert (kept - (1 - kept) / (k - 1)) ** 2 == pytest.approx(part, abs=5e-5)


def test_the_likelihood_has_the_specified_values() -> None:
    """Value, score and information at 0 and at (1, -.5), to 1e-6."""
    for weights, value, score, information in (
        ((0.0, 0.0), -6.591674, (3.175569, -3.175569), (1.337705, -0.617402, 1.337705)),
        ((1.0, -0.5), -3.167331, (1.178390, -1.550179), (0.518561, -0.305526, 0.832501)),
    ):
        point = golden().at(np.array(weights))
        assert point.value == pytest.approx(value, abs=1e-6)
        np.testing.assert_allclose(point.score.sum(axis=0), score, atol=1e-6)
        np.testing.assert_allclose(point.information[np.triu_indices(2)], information, atol=1e-6)


@pytest.mark.parametrize(
    ("ridge", "weight", "value"), [(0.5, 1.212034, -2.998176), (1.0, 0.951503, -3.567858)]
)
def test_the_maximum_is_the_specified_one(ridge: float, weight: float, value: float) -> None:
    """From 0, with two ridges, to 1e-5."""
    weights = golden().fit(np.zeros(2), ridge)
    np.testing.assert_allclose(weights, (weight, -weight), atol=1e-5)
    assert golden().value(weights) - ridge / 2 * weights @ weights == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("k", range(2, 11))
def test_exact_any_two_choices_are_within_epsilon(k: int) -> None:
    """The channel's whole table in fractions: no report is likelier by more than e**epsilon."""
    response = RandomizedResponse(k, epsilon=Fraction(1))
    keep = response.keep_probability
    other = (1 - keep) / (k - 1)
    table = [[keep if r == a else other for r in range(k)] for a in range(k)]
    assert all(sum(row) == 1 for row in table)
    worst = max(a[r] / b[r] for a, b in itertools.permutations(table, 2) for r in range(k))
    assert math.log(worst) <= 1
    assert float(keep) == pytest.approx(math.e / (math.e + k - 1), abs=1e-6)


def menus_of(
    rng: np.random.Generator, *, voters: int, each: int, k: int, weights: Sequence[float]
) -> MenuChoices:
    """Return logit choices from menus of k alternatives with normal features."""
    d, n = len(weights), voters * each
    values = rng.normal(size=(n, k, d))
    chosen = (values @ np.array(weights) + rng.gumbel(size=(n, k))).argmax(axis=1)
    columns: dict[str, Any] = {f"f{i}": values[:, :, i].ravel() for i in range(d)}
    return MenuChoices.from_frame(
        {
            "voter": np.repeat(np.arange(n) // each, k),
            "choice": np.repeat(np.arange(n), k),
            "chosen": (np.arange(k) == chosen[:, None]).astype(int).ravel(),
            **columns,
        }
    )


WEIGHTS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.5, 0.92), (1, 0.965), (2, 0.98)])
def test_choices_among_five_are_learned_as_well_as_promised(epsilon: float, wanted: float) -> None:
    """2,000 choices, five features, 8 crowds: share of agreeing decisions."""
    found = []
    for seed in range(8):
        menus = menus_of(np.random.default_rng(seed), voters=400, each=5, k=5, weights=WEIGHTS)
        learned = MenuResponse(epsilon).simulate(menus, np.random.default_rng([seed, 2]))
        cosine = (
            learned.weights @ WEIGHTS / np.linalg.norm(learned.weights) / np.linalg.norm(WEIGHTS)
        )
        found.append(1 - math.acos(cosine) / math.pi)
    assert np.mean(found) >= wanted


def test_intervals_hold_the_weights() -> None:
    """400 voters, 5 choices among 3, epsilon 1, 24 crowds: 95 % intervals hold 90 to 99 of 100."""
    inside = []
    for seed in range(24):
        menus = menus_of(np.random.default_rng(seed), voters=400, each=5, k=3, weights=WEIGHTS)
        learned = MenuResponse(1).simulate(menus, np.random.default_rng([seed, 2]))
        assert learned.standard_errors is not None
        inside.append(np.mean(np.abs(learned.weights - WEIGHTS) < 1.96 * learned.standard_errors))
    assert 0.9 <= np.mean(inside) <= 0.99


def frame(chosen: int, order: Sequence[int] = (0, 1, 2)) -> dict[str, list[float]]:
    """Return one menu of three, in some order of its rows."""
    rows = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    return {
        "voter": [1.0] * 3,
        "choice": [1.0] * 3,
        "chosen": [float(place == chosen) for place in order],
        "x": [rows[place][0] for place in order],
        "y": [rows[place][1] for place in order],
    }


@given(st.permutations(range(3)), st.integers(0, 2), st.integers(0, 2))
def test_prop_the_public_part_is_the_same_whatever_was_chosen(
    order: list[int], first: int, second: int
) -> None:
    """Menus, offsets and voters, in any order of the rows: only the place of the choice differs."""
    one, other = MenuChoices.from_frame(frame(first)), MenuChoices.from_frame(frame(second, order))
    assert one.values.tobytes() == other.values.tobytes()
    assert one.offsets.tolist() == other.offsets.tolist() == [0, 3]
    assert (one.chosen[0] == other.chosen[0]) == (first == second)


def test_audit_reports_of_two_choices_are_as_hard_to_tell_as_stated() -> None:
    """40,000 reports of two choices among four: the lower bound on epsilon is below the claim."""
    n = 40_000
    hits = []
    for chosen in (0, 1):
        menus = MenuChoices(
            np.tile(np.arange(4.0), n)[:, None],
            np.arange(0, 4 * n + 1, 4),
            np.full(n, chosen),
            np.zeros(n, dtype=np.int64),
            *_one_voter(),
        )
        single = MenuResponse(1, groups="single")
        reported = single._mask(menus, SimulatedCoins(np.random.default_rng(chosen)))
        hits.append(int((reported.chosen == 0).sum()))
    low = beta.ppf(1e-7, hits[0], n - hits[0] + 1)
    high = beta.isf(1e-7, hits[1] + 1, n - hits[1])
    assert math.log(low / high) <= 1
    assert math.log(hits[0] / hits[1]) > 0.9


def _one_voter() -> tuple[Any, Any]:
    made = MenuChoices.from_frame(frame(0), features=["x"])
    return made.voters, made.features


def test_a_release_says_whom_it_protects_and_each_voter_pays_for_each_choice() -> None:
    """Unit choice, nobody trusted, 5 choices at epsilon 1 cost a voter 5; seeds are refused."""
    menus = menus_of(np.random.default_rng(0), voters=30, each=5, k=3, weights=WEIGHTS)
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(7_000_000)))
    learned = MenuResponse(1).learn(menus, ledger=book, public_menus=True)
    promise = learned.guarantee
    assert (promise.unit, promise.trust, promise.status) == ("choice", "local", "proven")
    assert (promise.epsilon, promise.epsilon_user) == (Micro(1_000_000), Micro(5_000_000))
    assert any("shown is public" in each for each in promise.assumptions)
    assert book.balance("0").residual_epsilon == Micro(2_000_000)
    assert learned.to_json()["details"]["model"] == "logit"
    with pytest.raises(InsecureRandomness):
        MenuResponse(1).report(menus, coins=SimulatedCoins(np.random.default_rng(0)))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="3 epsilons for 30"):
        MenuResponse([1, 2, 3]).report(menus)


def test_menus_may_differ_in_size_and_voters_in_epsilon() -> None:
    """Each choice goes through the channel of its own menu and voter; a voter may have none."""
    table = {
        "voter": [*"aaaaa", *"bbb"],
        "choice": [1, 1, 2, 2, 2, 3, 3, 3],
        "chosen": [1, 0, 0, 0, 1, 0, 1, 0],
        "x": [1, 2, 1, 2, 3, 5, 4, 6],
    }
    menus = MenuChoices.from_frame(table, ranges={"x": (0, 10)}, voters=["a", "b", "c"])
    assert menus.sizes.tolist() == [2, 3, 3]
    assert menus.chosen.tolist() == [0, 2, 0]
    released = MenuResponse([1, 2, 3]).collect(
        MenuResponse([1, 2, 3]).report(menus), public_menus=True
    )
    assert released.guarantee.epsilon_user == Micro(2_000_000)
    assert released.guarantee.epsilon_single <= Micro(2_000_000)


def test_alternatives_with_equal_features_are_one_answer() -> None:
    """Whichever of two alike rows is marked, reports name either of them equally often."""
    table = {"voter": [1, 1, 1], "choice": [1, 1, 1], "x": [1.0, 1.0, 2.0]}
    for marked in ([1, 0, 0], [0, 1, 0]):
        menus = MenuChoices.from_frame({**table, "chosen": marked})
        coins = SimulatedCoins(np.random.default_rng(1))
        single = MenuResponse(9, groups="single")
        places = [int(single._mask(menus, coins).chosen[0]) for _ in range(400)]
        assert 140 < places.count(0) < 260  # six standard deviations
        assert places.count(2) < 10
        groups = MenuResponse(9)._mask(menus, coins).groups
        assert groups is not None
        assert groups.tolist() == [0, 0, 1]  # planned: reported as one


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chosen": [1, 1, 0]}, "2 are marked"),
        ({"chosen": [0, 0, 0]}, "0 are marked"),
        ({"chosen": [2, 1, 0]}, "expected two or more"),
        ({"choice": [1, 2, 2]}, "1 alternatives|are marked"),
        ({"x": [1.0, math.nan, 0.0]}, "x"),
    ],
    ids=str,
)
def test_menus_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    """None or several chosen, one alternative, no number: with the voter and the right form."""
    with pytest.raises(InvalidRecord, match=message):
        MenuChoices.from_frame({**frame(0), **change})


def test_a_table_without_the_columns_of_menus_is_refused() -> None:
    """The message names the column; a report outside its menu is refused too."""
    with pytest.raises(SchemaError, match="'chosen' is missing"):
        MenuChoices.from_frame({"voter": [1], "choice": [1], "x": [1.0]})
    menus = MenuChoices.from_frame(frame(0))
    from dataclasses import replace

    with pytest.raises(InvalidRecord, match="outside its menu"):
        MenuResponse(1).collect(replace(menus, chosen=np.array([3])), public_menus=True)
