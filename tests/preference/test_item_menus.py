"""First choices of named items from public menus: reading, noise, strengths, refusals, consent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, kendalltau

from masquerade import Comparisons
from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.errors import InvalidRecord, ParameterError, SchemaError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.exact.arrays import Floats
from masquerade.preference import (
    MenuChoices,
    MenuResponse,
    SocialPreference,
    fit_menus,
    preference_mechanism,
    rank_alternatives,
)
from masquerade.preference.item_menus import menu_strengths
from masquerade.preference.mechanisms.automatic import Automatic
from masquerade.preference.mechanisms.choice_response import ChoiceResponse
from masquerade.preference.mechanisms.noisy_item_wins import ItemWins, Wins, perturbed_strengths
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.registry import MECHANISMS
from masquerade.preference.vector_noise import LaplaceNoise

ABCD = ["a", "b", "c", "d"]
#: A menu, then the item taken from it.
Choice = tuple[Sequence[str], str]


def menus(
    votes: Sequence[Sequence[Choice]], items: Sequence[str] | None = ABCD, **options: Any
) -> MenuChoices:
    """Return choices of named items, a sequence a voter."""
    rows = [
        (voter, number, item, int(item == taken))
        for voter, own in enumerate(votes)
        for number, (menu, taken) in enumerate(own)
        for item in menu
    ]
    columns = zip(*rows, strict=True)
    names = ("voter", "choice", "item", "chosen")
    return MenuChoices.from_frame(
        dict(zip(names, map(list, columns), strict=True)), items=items, **options
    )


def crowd(
    seed: int, *, items: int, voters: int, each: int, size: int
) -> tuple[Floats, MenuChoices]:
    """Return normal strengths and Luce's choices from menus at random."""
    rng = np.random.default_rng(seed)
    names = [f"i{place:02d}" for place in range(items)]
    strengths = rng.normal(size=items)
    n = voters * each
    shown = np.argsort(rng.random((n, items)), axis=1)[:, :size]
    taken = (strengths[shown] + rng.gumbel(size=shown.shape)).argmax(axis=1)
    frame = {
        "voter": np.repeat(np.arange(n) // each, size),
        "choice": np.repeat(np.arange(n), size),
        "item": [names[place] for place in shown.ravel()],
        "chosen": (np.arange(size) == taken[:, None]).astype(int).ravel(),
    }
    return strengths - strengths.mean(), MenuChoices.from_frame(frame, items=names)


VOTES: list[list[Choice]] = [
    [("abc", "a"), ("bcd", "d")],
    [("abcd", "b"), ("ad", "a")],
    [("cda", "c")],
]


def test_menus_of_named_items_become_records() -> None:
    """1 for the item chosen, -1 for the others shown, 0 for the rest, in the list's order."""
    read = menus(VOTES, ["d", "a", "b", "c"])
    assert (read.named_items, read.items_given, len(read)) == (True, True, 5)
    records = read.comparisons()
    assert records.names == ("d", "a", "b", "c")
    assert records.difference.tolist() == [
        *([0, 1, -1, -1], [1, 0, -1, -1]),
        *([-1, -1, 1, -1], [-1, 1, 0, 0]),
        [-1, -1, 0, 1],
    ]
    assert records.records_per_voter().tolist() == [2, 2, 1]
    assert not menus(VOTES, None).comparisons().items_given


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ((15.0, 10.0, 5.0), (0.450410, 0.068553, -0.518963)),
        ((30.0, 10.0, -3.0), (3.391315, 1.945948, -5.337263)),
    ],
)
def test_strengths_of_noisy_wins_have_golden_values(
    wins: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    """30 choices from one menu of three, ridge 1, solved by another method, to 1e-6."""
    shown, shifted = np.ones((30, 3), dtype=np.bool_), np.array(wins) + (30 - sum(wins)) / 3
    found = menu_strengths(shifted, shown, np.ones(30), 0.0)
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)
    assert found.details == {"model": "plackett-luce", "ridge": 1.0}


def test_menus_of_unlike_sizes_have_golden_values() -> None:
    """12 menus of abc, 10 of bcd, 8 of ad and wins 11, 8, 6, 5, ridge 1, to 1e-6."""
    shown = np.array([[1, 1, 1, 0]] * 12 + [[0, 1, 1, 1]] * 10 + [[1, 0, 0, 1]] * 8, dtype=np.bool_)
    found = menu_strengths(np.array([11.0, 8, 6, 5]), shown, np.ones(30), 0.0)
    np.testing.assert_allclose(found.weights, [0.399473, 0.087569, -0.162400, -0.324643], atol=1e-6)


def test_strengths_are_those_of_choix() -> None:
    """Menus of four of six items, ridge 1 and no noise, to 1e-4."""
    choix = pytest.importorskip("choix")
    _, read = crowd(3, items=6, voters=40, each=5, size=4)
    difference = read.comparisons().difference
    data = [(int(row.argmax()), np.flatnonzero(row == -1).tolist()) for row in difference]
    expected = choix.opt_top1(6, data, alpha=0.5, tol=1e-10)
    wins = (difference == 1).sum(axis=0).astype(float)
    found = menu_strengths(wins, difference != 0, np.ones(len(data)), 0.0)
    np.testing.assert_allclose(found.weights, expected - expected.mean(), atol=1e-4)


def test_a_menu_of_two_is_a_pair() -> None:
    """Strengths and all errors are those of the Bradley-Terry fit, and so is the release."""
    rng = np.random.default_rng(2)
    met = np.triu(rng.integers(1, 9, (5, 5)), 1).astype(float)
    shown = np.zeros((int(met.sum()), 5), dtype=np.bool_)
    pairs = [(a, b) for a, b in zip(*np.nonzero(met), strict=True) for _ in range(int(met[a, b]))]
    for row, pair in enumerate(pairs):
        shown[row, list(pair)] = True
    wins = rng.normal(size=5)
    wins += (len(pairs) - wins.sum()) / 5
    luce = menu_strengths(wins, shown, np.ones(len(pairs)), 3.0)
    plain = perturbed_strengths(wins, met + met.T, 3.0)
    for one, other in (
        (luce.weights, plain.weights),
        (luce.noise, plain.noise),
        (luce.sampling, plain.sampling),
        (luce.shrinkage, plain.shrinkage),
    ):
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(one, other, atol=1e-6)


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from(ABCD), min_size=2), st.integers(0, 3)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_prop_another_choice_moves_two_wins_and_no_public_part(
    drawn: list[tuple[set[str], int]], other: int, random: Any
) -> None:
    """Any menus, any choice changed, rows in any order: menus are the same, wins move by 2."""
    choices = [(sorted(menu), sorted(menu)[place % len(menu)]) for menu, place in drawn]
    changed = [(choices[0][0], choices[0][0][other % len(choices[0][0])]), *choices[1:]]
    mixed = [(random.sample(menu, len(menu)), taken) for menu, taken in changed]
    one, two = menus([choices]), menus([mixed])
    assert one.values.tobytes() == two.values.tobytes()
    assert one.offsets.tolist() == two.offsets.tolist()
    first, second = one.comparisons(), two.comparisons()
    assert ((first.difference != 0) == (second.difference != 0)).all()
    moved = np.abs(Wins().rows(first) - Wins().rows(second)).sum()
    assert moved == (0 if changed == choices else 2)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_exact_every_change_of_a_choice_costs_epsilon(size: int, epsilon: Fraction) -> None:
    """All choices from all menus of a size, all reports near them: log ratios, in fractions.

    A report x of wins u has probability proportional to exp(-|x - u| / scale); the largest ratio is
    attained at the wins themselves.
    """
    scale = LaplaceNoise.of(epsilon, Wins().sensitivity(4)).scale
    for menu in itertools.combinations(ABCD, size):
        rows = Wins().rows(menus([[(menu, taken)] for taken in menu]).comparisons()).tolist()
        costs = [
            Fraction(sum(abs(x - b) - abs(x - a) for x, a, b in zip(report, u, v, strict=True)))
            / scale
            for report in itertools.product(range(-1, 3), repeat=4)
            for u, v in itertools.permutations(rows, 2)
        ]
        assert max(costs) == epsilon


def test_audit_another_choice_is_as_hard_to_tell_as_stated() -> None:
    """40,000 noisy wins of each of two choices from a menu of four: the bound is below epsilon 1.

    Clopper-Pearson bounds that fail once in 1e7 runs each; the event tells nearly all there is.
    """
    n = 40_000
    coins = SimulatedCoins(np.random.default_rng(4))
    noise = LaplaceNoise.of(Fraction(1), Wins().sensitivity(4))
    rows = Wins().rows(menus([[("abcd", "a")], [("abcd", "c")]]).comparisons())
    first, second = (row + noise.draw(coins, vectors=n, dimension=4) for row in rows)
    hits, misses = (int(((x[:, 0] >= 1) & (x[:, 2] <= 0)).sum()) for x in (first, second))
    low = beta.ppf(1e-7, hits, n - hits + 1)
    high = beta.isf(1e-7, misses + 1, n - misses)
    assert math.log(low / high) <= 1
    assert math.log(hits / misses) > 0.9


def test_choices_are_read_by_way_of_noisy_wins_alone() -> None:
    """Other choices from the same menus with the same wins give the same release, to the bit."""
    one: list[Choice] = [("abc", "a"), ("abd", "b"), ("bcd", "c")]
    two: list[Choice] = [("abc", "b"), ("abd", "a"), ("bcd", "c")]
    made = [
        ItemWins(1).simulate(menus([each, [("ad", "d")]]).comparisons(), np.random.default_rng(5))
        for each in (one, two)
    ]
    assert made[0].weights.tobytes() == made[1].weights.tobytes()
    assert made[0].noise_covariance.tobytes() == made[1].noise_covariance.tobytes()


def test_a_release_says_whom_it_protects() -> None:
    """Unit, neighbours, the consent, epsilon of a voter; each voter pays for each choice."""
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(5_000_000)))
    learned = SocialPreference.learn(
        menus(VOTES), epsilon=1, unit="choice", ledger=book, public_menus=True
    )
    promise = learned.guarantee
    assert learned.release.mechanism == "item-wins:epsilon=1"
    assert (promise.unit, promise.trust, promise.status) == ("choice", "aggregator", "proven")
    assert promise.neighbours.endswith("another alternative of the same public menu")
    assert any("public_menus" in each and "menu" in each for each in promise.assumptions)
    assert (promise.epsilon, promise.epsilon_user) == (Micro(1_000_000), Micro(2_000_000))
    assert book.balance("0").residual_epsilon == Micro(3_000_000)
    ranking = rank_alternatives(learned)
    assert sorted(ranking.names) == ABCD
    assert ranking.chosen is not None


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.3, 0.78), (1, 0.85), (3, 0.86)])
def test_sixty_items_are_ranked_from_menus_of_five(epsilon: float, wanted: float) -> None:
    """200 voters, 20 choices, 3 crowds: Kendall's tau with the truth."""
    found = []
    for seed in range(3):
        strengths, read = crowd(seed, items=60, voters=200, each=20, size=5)
        rng = np.random.default_rng([seed, 2])
        learned = SocialPreference.simulate(
            read, rng, mechanism="item-wins", epsilon=epsilon, unit="choice"
        )
        found.append(kendalltau(learned.weights, strengths).statistic)
    assert np.mean(found) >= wanted


@pytest.mark.parametrize(("trust", "epsilon"), [("aggregator", 0.3), ("local", 3)])
def test_intervals_hold_the_truth(trust: str, epsilon: float) -> None:
    """60 crowds of 100 voters, 10 choices among 4 of 10: 95 % intervals hold 90 to 98 of 100."""
    inside = []
    for seed in range(60):
        strengths, read = crowd(seed, items=10, voters=100, each=10, size=4)
        learned = SocialPreference.simulate(
            read,
            np.random.default_rng([seed, 2]),
            mechanism=f"item-wins:trust={trust}",
            epsilon=epsilon,
        )
        assert learned.standard_errors is not None
        off = np.abs(learned.weights - strengths)
        inside.append(np.mean(off < 1.96 * learned.standard_errors))
    assert 0.9 <= np.mean(inside) <= 0.98


def test_devices_mask_their_own_wins() -> None:
    """Reports of devices and the public menus give the server the strengths."""
    _, read = crowd(1, items=4, voters=40, each=5, size=3)
    records, mechanism = read.comparisons(), ItemWins(20, trust="local")
    device = mechanism.device(records.features)
    reports = [device.report(records.of_voter(voter)) for voter in range(40)]
    collected = mechanism.collect(reports, pairs=records, public_menus=True)
    assert (collected.guarantee.trust, collected.details["model"]) == ("local", "plackett-luce")
    plain = ItemWins(20).release(records, public_menus=True)
    np.testing.assert_allclose(collected.weights, plain.weights, atol=0.3)


def test_choices_of_named_items_are_masked_one_by_one_too() -> None:
    """`MenuResponse` needs no aggregator; without a mask `fit_menus` has Luce's strengths."""
    strengths, read = crowd(1, items=5, voters=100, each=10, size=3)
    masked = MenuResponse(6, groups="single").simulate(read, np.random.default_rng(0))
    assert masked.named_items
    for learned in (masked, fit_menus(read)):
        assert kendalltau(learned.weights, strengths).statistic > 0.7
        assert sorted(learned.rank()) == list(read.comparisons().names)
    with pytest.raises(ParameterError, match="read off the menus"):
        MenuResponse(1).report(menus(VOTES, None))


NOT_OF_MENUS = [
    (name, unit)
    for name, kind in MECHANISMS.items()
    if issubclass(kind, PrivateMechanism) and name != "item-wins"
    for unit in kind.units
]


@pytest.mark.parametrize(("name", "unit"), NOT_OF_MENUS)
def test_mechanisms_for_pairs_refuse_menus_and_name_what_takes_them(name: str, unit: str) -> None:
    """Before anything is drawn or charged: item-wins with an aggregator, MenuResponse without."""
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(5_000_000)))
    mechanism = preference_mechanism(name, epsilon=1, unit=unit)
    with pytest.raises(
        ParameterError, match=r"item-wins .* MenuResponse .*masquerade menus .*--public-menus"
    ):
        SocialPreference.learn(menus(VOTES), mechanism=mechanism, ledger=book, public_menus=True)
    assert book.balance("0").residual_epsilon == Micro(5_000_000)


def test_other_refusals_say_what_to_do() -> None:
    """Nobody trusted, no privacy, features, masked choices, pairs of a choice among three."""
    records = menus(VOTES).comparisons()
    with pytest.raises(ParameterError, match="MenuResponse"):
        Automatic(1, unit="choice", trust="local").choose(records)
    with pytest.raises(ParameterError, match="fit_menus"):
        SocialPreference.learn(records, mechanism="none")
    described = MenuChoices.from_frame(
        {"voter": [1] * 3, "choice": [1] * 3, "chosen": [1, 0, 0], "x": [1.0, 2.0, 3.0]}
    )
    for each in (described, MenuResponse(1, groups="single").report(menus(VOTES))):
        grouped = replace(each, groups=np.arange(len(each.values)))
        with pytest.raises(ParameterError, match="MenuResponse"):
            grouped.comparisons()
    broken = Comparisons.from_frame(
        {"voter": [1, 1], "choice": [1, 1], "chosen": ["a", "a"], "rejected": ["b", "c"]},
        items=ABCD,
    )
    with pytest.raises(ParameterError, match=r"MenuChoices.*MenuResponse.*item-wins"):
        SocialPreference.learn(broken, epsilon=1, unit="choice", public_menus=True)
    with pytest.raises(ParameterError, match="public list"):
        SocialPreference.learn(menus(VOTES, None), epsilon=1, unit="choice", public_menus=True)


@pytest.mark.parametrize(
    ("votes", "items", "message"),
    [
        ([[("aab", "b")]], ABCD, "shows an item twice"),
        ([[("abc", "a")]], ["a", "b"], "'c' is not among the 2 listed"),
        ([[("ab", "c")]], ABCD, "are marked 1"),
        ([[("a", "a")]], ABCD, "expected two or more"),
        ([[(("a", None), "a")]], ABCD, "the item is missing"),
    ],
)
def test_menus_that_make_no_sense_are_refused(
    votes: list[list[Choice]], items: list[str], message: str
) -> None:
    """An item twice, unlisted, none chosen, one alone, none named: said with the expected form."""
    with pytest.raises(InvalidRecord, match=message):
        menus(votes, items)


def test_items_go_with_names_alone() -> None:
    """A list of items beside features, or a nested column, is refused."""
    rows = {"voter": [1, 1], "choice": [1, 1], "chosen": [1, 0]}
    with pytest.raises(ParameterError, match="column item"):
        MenuChoices.from_frame({**rows, "x": [1.0, 2.0]}, items=ABCD)
    with pytest.raises(SchemaError, match="names of items"):
        MenuChoices.from_frame({**rows, "item": [["a"], ["b"]]}, items=ABCD)


CONSENT = [
    (name, unit)
    for name, kind in MECHANISMS.items()
    if issubclass(kind, PrivateMechanism) and not name.startswith("item-")
    for unit in kind.units
]


@pytest.mark.parametrize(("name", "unit"), CONSENT)
def test_public_menus_are_said_where_a_guarantee_rests_on_them(name: str, unit: str) -> None:
    """The unit choice needs it, is refused before anybody is charged, and names it; others not."""
    table = Comparisons.from_frame(
        {"voter": ["a", "a", "b"], "x": [1.0, -1.0, 0.5]}, ranges={"x": (0, 1)}
    )
    mechanism = preference_mechanism(name, epsilon=1, unit=unit)
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(5_000_000)))
    if unit != "choice":
        promise = SocialPreference.learn(table, mechanism=mechanism).guarantee
        assert not any("public_menus" in each for each in promise.assumptions)
        return
    for said in (False, 1, "yes"):
        with pytest.raises(ParameterError, match=r"public_menus=True \(--public-menus"):
            SocialPreference.learn(table, mechanism=mechanism, ledger=book, public_menus=said)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="none was picked by looking"):
        mechanism.release(table)
    assert book.balance("a").residual_epsilon == Micro(5_000_000)
    promise = SocialPreference.learn(table, mechanism=mechanism, public_menus=True).guarantee
    assert any("public_menus" in each for each in promise.assumptions)


def test_masked_menus_and_collected_reports_need_the_same_word() -> None:
    """`MenuResponse`, `auto` and the server's half of a device say no without it."""
    with pytest.raises(ParameterError, match="public_menus=True"):
        MenuResponse(1).learn(menus(VOTES))
    with pytest.raises(ParameterError, match="public_menus=True"):
        MenuResponse(1).collect(MenuResponse(1).report(menus(VOTES)))
    records = menus(VOTES).comparisons()
    with pytest.raises(ParameterError, match="public_menus=True"):
        Automatic(1, unit="choice").release(records)
    assert Automatic(1, unit="choice").release(records, public_menus=True).guarantee.answers == 2
    mechanism = ItemWins(1, trust="local")
    device = mechanism.device(records.features)
    reports = [device.report(records.of_voter(voter)) for voter in range(3)]
    with pytest.raises(ParameterError, match="public_menus=True"):
        mechanism.collect(reports, pairs=records)


@pytest.mark.parametrize("name", ["choice-response", "menu-response"])
def test_the_error_of_a_strength_is_that_of_its_place_in_the_ranking(name: str) -> None:
    """Only differences of strengths count: none has the width of the prior of their mean."""
    _, read = crowd(3, items=4, voters=200, each=5, size=2)
    rng = np.random.default_rng(4)
    learned = (
        MenuResponse(1).simulate(read, rng)
        if name == "menu-response"
        else SocialPreference.simulate(read.comparisons(), rng, mechanism=ChoiceResponse(1))
    )
    if name == "choice-response":
        assert learned.release.details["shrinkage_share"] < 0.1
        assert "remark" not in learned.release.details
    ranking = rank_alternatives(learned, dict(zip("abcd", np.eye(4), strict=True)))
    assert learned.standard_errors is not None
    half = 1.96 * learned.standard_errors[np.argsort(-learned.weights)]
    np.testing.assert_allclose(half, (ranking.high - ranking.low) / 2, rtol=0.01)
