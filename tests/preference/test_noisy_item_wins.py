"""Rankings of named items: sensitivities, noise, strengths, and which mechanism is chosen."""

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
from scipy.stats import beta, kendalltau

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.answers import Comparisons
from masquerade.errors import InsecureRandomness, InvalidRecord, ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.preference import SocialPreference, made_up_voters
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.mechanisms.automatic import Automatic
from masquerade.preference.mechanisms.choice_response import ChoiceResponse
from masquerade.preference.mechanisms.noisy_item_wins import (
    ItemNetWins,
    ItemVotes,
    ItemWins,
    NetWins,
    VoterNetWins,
    Wins,
    perturbed_strengths,
)
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.strength_fit import fit_strengths
from masquerade.preference.tie_models import HALVES
from masquerade.preference.vector_noise import LaplaceNoise

KINDS: tuple[tuple[type[PrivateMechanism], dict[str, Any]], ...] = (
    (ItemWins, {}),
    (ItemNetWins, {}),
    (ItemNetWins, {"design": "balanced"}),
    (ItemVotes, {}),
    (ItemVotes, {"records": 5}),
)


def table(votes: Sequence[Sequence[tuple[int, int]]], items: int) -> Comparisons:
    """Return comparisons of (chosen, rejected) places in a list of items, a sequence a voter."""
    rows = [(voter, pair) for voter, pairs in enumerate(votes) for pair in pairs]
    return Comparisons.from_frame(
        {
            "voter": [voter for voter, _ in rows],
            "chosen": [f"i{chosen}" for _, (chosen, _) in rows],
            "rejected": [f"i{rejected}" for _, (_, rejected) in rows],
        },
        items=[f"i{place}" for place in range(items)],
        voters=range(len(votes)),
    ).by_items()


def crowd(seed: int, *, items: int, voters: int, records: int) -> tuple[Any, Comparisons]:
    """Return normal strengths and Bradley-Terry choices between pairs at random."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=items)
    one = rng.integers(items, size=(voters, records))
    other = (one + rng.integers(1, items, size=one.shape)) % items
    won = rng.random(one.shape) < 1 / (1 + np.exp(strengths[other] - strengths[one]))
    pairs = np.stack([np.where(won, one, other), np.where(won, other, one)], axis=2)
    return strengths, table([list(map(tuple, each)) for each in pairs], items)


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ((15.0, 10.0, 5.0), (0.638196, 0.0, -0.638196)),
        ((17.0, 9.0, 6.0), (0.831815, -0.220340, -0.611474)),
        ((30.0, 10.0, -3.0), (7.667282, -2.056089, -5.611194)),
    ],
)
def test_strengths_of_noisy_wins_are_the_specified_ones(
    wins: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    """Three items that met ten times each, ridge 1: strengths to 1e-6, for all wins."""
    met = 10.0 * (1 - np.eye(3))
    shifted = np.array(wins) + (30 - sum(wins)) / 3
    np.testing.assert_allclose(perturbed_strengths(shifted, met, 0.0).weights, expected, atol=1e-6)


def test_strengths_without_a_ridge_have_the_specified_information() -> None:
    """Three items that met ten times each, no ridge: strengths and information, to 1e-6."""
    met = 10.0 * (1 - np.eye(3))
    first, second = np.triu_indices(3, 1)
    counts = np.array([[5.0] * 3, [0.0] * 3, [5.0] * 3])
    cells = BattleCounts(3, first, second, counts, counts, np.zeros((3, 0)))
    found = fit_strengths(cells, HALVES, tilt=np.array([15.0, 10.0, 5.0]) - met.sum(axis=1) / 2)
    np.testing.assert_allclose(found.strengths, [0.756308, 0, -0.756308], atol=1e-6)
    np.testing.assert_allclose(
        np.diag(found.information), [3.653538, 4.348023, 3.653538], atol=1e-6
    )


def records_of(items: int) -> list[tuple[int, int]]:
    """Return every record about `items` items."""
    return list(itertools.permutations(range(items), 2))


@pytest.mark.parametrize("items", [2, 3, 4, 5])
def test_exact_no_neighbours_move_counts_further_than_stated(items: int) -> None:
    """Over all pairs of records: turned round for wins, replaced for net wins; attained."""
    for statistic, neighbours in (
        (Wins(), [((a, b), (b, a)) for a, b in records_of(items)]),
        (NetWins(), list(itertools.permutations(records_of(items), 2))),
    ):
        claimed = statistic.sensitivity(items)
        moves = []
        for first, second in neighbours:
            rows = statistic.rows(table([[first], [second]], items))
            move = rows[0] - rows[1]
            assert int(move @ move) <= claimed.euclidean**2
            moves.append(int(np.abs(move).sum()))
        assert max(moves) == claimed.absolute


@pytest.mark.parametrize("statistic", [VoterNetWins(), VoterNetWins(1), VoterNetWins(3)], ids=str)
@pytest.mark.parametrize("items", [2, 3, 4])
def test_exact_no_two_voters_lie_further_apart_than_stated(
    statistic: VoterNetWins, items: int
) -> None:
    """Voters with 0 to 3 records of any kind and with 1,000 of one kind, all pairs."""
    votes = [
        list(each)
        for many in range(4 if items < 4 else 3)
        for each in itertools.combinations_with_replacement(records_of(items), many)
    ]
    rows = statistic.rows(table([*votes, [(0, 1)] * 1000, [(1, 0)] * 1000], items))
    claimed = statistic.sensitivity(items)
    apart = rows[:, None, :] - rows[None, :, :]
    assert int(np.abs(apart).sum(axis=2).max()) <= claimed.absolute
    assert int((apart**2).sum(axis=2).max()) <= claimed.euclidean**2
    if statistic.records is None:
        assert int(np.abs(apart).sum(axis=2).max()) == claimed.absolute
    else:
        assert int((rows**2).sum(axis=1).max()) > (0.99 * statistic.longest) ** 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_exact_the_worst_neighbours_cost_epsilon_and_none_costs_more(epsilon: Fraction) -> None:
    """Log ratios of reports, in fractions: turned round, disjoint, sharing an item, no record.

    A report x of a row u has probability proportional to exp(-|x - u| / scale).
    """
    items = 4
    for statistic, worst in ((Wins(), [(0, 1), (1, 0)]), (NetWins(), [(0, 1), (2, 3), (0, 2)])):
        rows = statistic.rows(table([*[[each] for each in worst], []], items)).tolist()
        if isinstance(statistic, Wins):
            rows = rows[:2]  # a choice is turned round, never left out
        scale = LaplaceNoise.of(epsilon, statistic.sensitivity(items)).scale
        ratios = [
            (sum(map(abs, np.subtract(x, u))) - sum(map(abs, np.subtract(x, v)))) / scale
            for x in itertools.product(range(-2, 3), repeat=items)
            for u, v in itertools.permutations(rows, 2)
        ]
        assert max(Fraction(int(r * scale)) / scale for r in ratios) == epsilon


def test_audit_a_choice_turned_round_is_as_hard_to_tell_as_stated() -> None:
    """40,000 reports of each of two neighbours: the lower bound on epsilon is below the claim.

    Clopper-Pearson bounds that fail once in 1e7 runs; the best point is within a tenth of 1.
    """
    n, epsilon = 40_000, Fraction(1)
    coins = SimulatedCoins(np.random.default_rng(3))
    noise = LaplaceNoise.of(epsilon, Wins().sensitivity(3))
    rows = Wins().rows(table([[(0, 1)], [(1, 0)]], 3))
    first, second = (row + noise.draw(coins, vectors=n, dimension=3) for row in rows)
    hits, misses = (int(((x[:, 0] >= 1) & (x[:, 1] <= 0)).sum()) for x in (first, second))
    low = beta.ppf(1e-7, hits, n - hits + 1)
    high = beta.isf(1e-7, misses + 1, n - misses)
    assert math.log(low / high) <= epsilon
    assert math.log(hits / misses) > 0.9


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_prop_the_order_of_rows_is_irrelevant(
    kind: type[PrivateMechanism], options: dict[str, Any]
) -> None:
    """Any order of a voter's records, and any of two, gives the same weights for the same coins."""

    @given(st.permutations(range(6)))
    def same(order: list[int]) -> None:
        votes = [(0, 1), (2, 1), (1, 0), (0, 2), (0, 1), (2, 0)]
        mechanism = kind(epsilon=1, **options)
        released = [
            mechanism.simulate(table([each, [(0, 1)]], 3), np.random.default_rng(1)).weights
            for each in (votes, [votes[i] for i in order])
        ]
        np.testing.assert_allclose(released[0], released[1], rtol=0, atol=1e-12)

    same()


@pytest.mark.parametrize(("kind", "options"), [each for each in KINDS if each[0] is not ItemWins])
def test_how_often_an_item_was_shown_is_not_read_where_pairs_are_private(
    kind: type[PrivateMechanism], options: dict[str, Any]
) -> None:
    """Other pairs with the same net wins give the same release to the last bit."""
    shown = [(0, 1), (1, 2)], [(0, 3), (3, 2)]
    mechanism = kind(epsilon=1, **options)
    first, second = (
        mechanism.simulate(table([each, [(1, 3)]], 4), np.random.default_rng(5)) for each in shown
    )
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.noise_covariance.tobytes() == second.noise_covariance.tobytes()


def test_strengths_read_the_choices_by_way_of_noisy_wins_alone() -> None:
    """Other choices from the same pairs with the same wins give the same release."""
    cycles = [(0, 1), (1, 2), (2, 0)], [(1, 0), (2, 1), (0, 2)]
    first, second = (
        ItemWins(1).simulate(table([each, [(0, 1)]], 3), np.random.default_rng(5))
        for each in cycles
    )
    assert first.weights.tobytes() == second.weights.tobytes()


@pytest.mark.parametrize("trust", ["aggregator", "local"])
@pytest.mark.parametrize("items", [2, 3, 7])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_with_hardly_any_noise_the_order_is_that_of_the_choices(
    kind: type[PrivateMechanism], options: dict[str, Any], items: int, trust: str
) -> None:
    """At epsilon 20 item 0 always beats 1, which always beats 2; noise is stated and small."""
    votes = [[pair for pair in records_of(items) if pair[0] < pair[1]] * 3] * 600
    mechanism = kind(epsilon=20, **{"trust": trust, **options})
    released = mechanism.simulate(table(votes, items), np.random.default_rng(2))
    assert (np.diff(released.weights) < 0).all()
    assert released.weights.sum() == pytest.approx(0, abs=1e-9)
    spread = np.diag(released.noise_covariance)
    assert (spread > 0).all()
    assert np.sqrt(spread.max()) < np.abs(np.diff(released.weights)).min()


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_the_stated_noise_is_that_of_releases(
    kind: type[PrivateMechanism], options: dict[str, Any]
) -> None:
    """300 releases of the same records: standard deviations within a fifth of the stated ones."""
    _, data = crowd(1, items=4, voters=30, records=5)
    mechanism = kind(epsilon=2, **options)
    drawn = [mechanism.simulate(data, np.random.default_rng([7, i])) for i in range(300)]
    measured = np.std([each.weights for each in drawn], axis=0)
    stated = np.sqrt(np.mean([np.diag(each.noise_covariance) for each in drawn], axis=0))
    np.testing.assert_allclose(measured / stated, 1, atol=0.2)


@pytest.mark.parametrize(
    ("unit", "targets"),
    [
        ("choice", {0.1: 0.46, 0.3: 0.73, 1: 0.84, 3: 0.86}),
        ("record", {0.1: 0.47, 0.3: 0.71, 1: 0.83, 3: 0.85}),
    ],
)
def test_sixty_items_are_ranked_as_well_as_promised(unit: str, targets: dict[float, float]) -> None:
    """200 voters with 20 records, trusted aggregator, 4 crowds: Kendall's tau with the truth."""
    crowds = [crowd(seed, items=60, voters=200, records=20) for seed in range(4)]
    for epsilon, wanted in targets.items():
        found = []
        for seed, (strengths, data) in enumerate(crowds):
            released = Automatic(epsilon, unit=unit).simulate(  # type: ignore[arg-type]
                data, np.random.default_rng([seed, 2])
            )
            found.append(kendalltau(released.weights, strengths).statistic)
        assert np.mean(found) >= wanted - 0.02


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_intervals_of_strengths_hold_the_truth(epsilon: float) -> None:
    """20 crowds of 100 voters, 20 choices, 10 items: 95 % intervals hold 90 to 99 of 100."""
    inside = []
    for seed in range(20):
        strengths, data = crowd(seed, items=10, voters=100, records=20)
        released = ItemWins(epsilon).simulate(data, np.random.default_rng([seed, 2]))
        assert released.sampling_covariance is not None
        assert released.shrinkage_covariance is not None
        variance = sum(
            np.diag(each)
            for each in (
                released.noise_covariance,
                released.sampling_covariance,
                released.shrinkage_covariance,
            )
        )
        off = np.abs(released.weights - (strengths - strengths.mean()))
        inside.append(np.mean(off < 1.96 * np.sqrt(variance)))
    assert 0.9 <= np.mean(inside) <= 0.99


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_every_release_says_whom_it_protects(
    kind: type[PrivateMechanism], options: dict[str, Any]
) -> None:
    """Unit, trust, the voter's epsilon, exact noise and assumptions; seeds are refused."""
    _, data = crowd(1, items=5, voters=6, records=4)
    mechanism = kind(epsilon=1, **options)
    released = mechanism.release(data, public_menus=True)
    promise = released.guarantee
    assert (promise.unit, promise.trust, promise.status) == (kind.units[0], "aggregator", "proven")
    assert promise.epsilon == Micro(1_000_000)
    assert promise.epsilon_user == Micro(1_000_000 if kind is ItemVotes else 4_000_000)
    assert released.hardened
    assert any("items" in each for each in promise.assumptions)
    assert any("planned" in each for each in promise.assumptions) == ("design" in options)
    with pytest.raises(InsecureRandomness):
        mechanism.release(data, coins=SimulatedCoins(np.random.default_rng(0)))  # type: ignore[arg-type]
    seeded = mechanism.simulate(data, np.random.default_rng(0))
    assert seeded.guarantee.status == "none"


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_records_that_are_not_about_items_are_refused(
    kind: type[PrivateMechanism], options: dict[str, Any]
) -> None:
    """Features, several items at once, an item without a rival: counts would move too far."""
    rng = np.random.default_rng(0)
    mechanism = kind(epsilon=1, **options)
    with pytest.raises(InvalidRecord, match="item chosen"):
        mechanism.release(made_up_voters(rng, voters=3, features=3).choose(rng, 2))
    for row in ([1, 1, -1], [1, 0, 0], [2, -2, 0], [1, -0.5, -0.5]):
        columns = {name: [value] for name, value in zip("xyz", row, strict=True)}
        bad = Comparisons.from_frame({"voter": ["a"], **columns})
        with pytest.raises(InvalidRecord, match="record 1"):
            mechanism.release(bad)


def test_strengths_of_masked_choices_are_of_items_alone() -> None:
    """Features are refused before any voter is charged."""
    rng = np.random.default_rng(0)
    data = made_up_voters(rng, voters=3, features=3).choose(rng, 2)
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(5_000_000)))
    mechanism = ChoiceResponse(1, estimator="bradley-terry")
    with pytest.raises(InvalidRecord, match="item chosen"):
        SocialPreference.learn(data, mechanism=mechanism, ledger=book)
    assert book.balance("0").residual_epsilon == Micro(5_000_000)


def test_each_device_masks_its_own_counts() -> None:
    """Reports of devices give all that the server needs, and records are checked on the device."""
    mechanism = ItemWins(20, trust="local")
    _, data = crowd(1, items=3, voters=40, records=5)
    device = mechanism.device(data.features)
    reports = [device.report(data.of_voter(voter)) for voter in range(40)]
    collected = mechanism.collect(reports, pairs=data, public_menus=True)
    assert collected.guarantee.trust == "local"
    plain = ItemWins(20).release(data, public_menus=True)
    np.testing.assert_allclose(collected.weights, plain.weights, atol=0.3)
    with pytest.raises(InvalidRecord):
        device.report([[1, 1, -1]])


def test_each_voter_pays_for_all_records_or_once_where_whole_voters_are_protected() -> None:
    """A voter with three records pays 3 epsilon, or epsilon for the unit voter."""
    data = table([[(0, 1), (1, 2), (0, 2)], [(2, 0)]], 3)
    for kind, cost in ((ItemWins, 3), (ItemNetWins, 3), (ItemVotes, 1)):
        book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(5_000_000)))
        SocialPreference.learn(data, mechanism=kind(1), ledger=book, public_menus=True)
        assert book.balance("0").residual_epsilon == Micro((5 - cost) * 10**6)


@pytest.mark.parametrize(
    ("options", "items", "chosen"),
    [
        ({}, 40, "item-net-wins:epsilon=1"),
        ({"unit": "choice"}, 3, "item-wins:epsilon=1"),
        ({"unit": "choice", "trust": "local"}, 40, "choice-response:epsilon=1,estimator=bradley-"),
        ({"unit": "choice", "trust": "local"}, 2, "item-wins:epsilon=1,trust=local"),
        ({"unit": "voter"}, 3, "item-votes:epsilon=1"),
        ({"unit": "voter", "records": 20}, 10, "item-votes:epsilon=1,records=20"),
        ({"unit": "voter", "records": 20}, 40, "item-votes:epsilon=1"),
        ({"unit": "voter", "trust": "local"}, 10, "direction-selection:epsilon=1"),
        ({"unit": "record"}, 0, "linear-knorm:epsilon=1,trust=aggregator"),
        ({"unit": "choice", "trust": "local"}, 0, "choice-response:epsilon=1"),
        ({"unit": "voter"}, 0, "central-laplace:epsilon=1"),
    ],
    ids=str,
)
def test_the_mechanism_is_chosen_by_public_numbers(
    options: dict[str, Any], items: int, chosen: str
) -> None:
    """By items or features, unit, trust, records a voter; other answers choose the same."""
    rng = np.random.default_rng(0)
    if items:
        pairs = [[(i % items, (i + 1) % items) for i in range(12)] for _ in range(4)]
        tables = [table(pairs, items), table([[(b, a) for a, b in each] for each in pairs], items)]
    else:
        tables = [made_up_voters(rng, voters=4, features=3).choose(rng, 12) for _ in range(2)]
    for each in tables:
        mechanism = Automatic(1, **options).choose(each)
        assert str(mechanism).startswith(chosen)
        assert len(str(mechanism)) < len(chosen) + 20
        assert mechanism.unit == options.get("unit", "record")


def test_numbers_of_records_choose_nothing_where_they_are_protected() -> None:
    """Under the unit voter one record or a hundred choose the same mechanism."""
    few, many = (table([[(0, 1)] * count, [(1, 2)]], 3) for count in (1, 100))
    assert str(Automatic(1, unit="voter").choose(few)) == str(
        Automatic(1, unit="voter").choose(many)
    )
    with pytest.raises(ParameterError):
        Automatic(1, records=0)
    with pytest.raises(ParameterError):
        Automatic(1, trust="everyone")  # type: ignore[arg-type]
