"""Private leaderboards with ties: sensitivities, masks, golden values and coverage."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from masquerade.answers import Battles
from masquerade.answers.battles import EVEN, FIRST, SECOND
from masquerade.errors import InsecureRandomness, ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.preference import score_sums
from masquerade.preference.private_leaderboard import PrivateLeaderboard
from masquerade.preference.score_sums import (
    STEPS,
    BattleUnit,
    MaskedVote,
    Sums,
    exact_scores,
    exp_below,
    fit_sums,
    masked_sums,
    pair_counts,
)
from masquerade.preference.tie_models import DAVIDSON

#: The battles of the specification of arenas, 6, as a private mechanism takes them.
TINY = {
    "voter": [1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5],
    "model_a": list("AABBBCABCDDA"),
    "model_b": list("BBDACBCDDCAD"),
    "winner": ["model_a"] * 12,
}


def table_of(votes: list[tuple[int, int, int]], voters: list[int], items: int) -> Battles:
    """Return votes (first, second, outcome) of numbered voters."""
    first, second, outcome = (np.array(column) for column in zip(*votes, strict=True))
    return Battles(
        tuple(f"i{place}" for place in range(items)),
        first.astype(np.int32),
        second.astype(np.int32),
        outcome.astype(np.int8),
        np.array(voters, dtype=np.int32),
        max(voters) + 1,
        np.zeros((len(votes), 0)),
        items_given=True,
    )


def loss(one: Battles, other: Battles, unit: BattleUnit) -> Fraction:
    """Return the largest log-ratio of two tables' noisy sums, over epsilon."""
    step = STEPS if unit == "voter" else 1
    (s, t), (u, v) = exact_scores(one, unit), exact_scores(other, unit)
    narrow = 2 if len(one.items) == 2 else 4
    s, u = (s[:1], u[:1]) if len(one.items) == 2 else (s, u)
    return Fraction(int(np.abs(s - u).sum()), narrow * step) + Fraction(abs(t - v), 2 * step)


@pytest.mark.parametrize("items", [2, 3])
def test_exact_a_vote_that_ends_otherwise_costs_epsilon_and_no_more(items: int) -> None:
    """All tables of three votes and all their neighbours, unit choice: at most 1, attained."""
    pairs = list(itertools.combinations(range(items), 2))
    shown = [pairs[place % len(pairs)] for place in range(3)]
    worst = Fraction(0)
    for outcomes in itertools.product(range(3), repeat=3):
        votes = [(*pair, end) for pair, end in zip(shown, outcomes, strict=True)]
        for changed, end in itertools.product(range(3), range(3)):
            other = list(votes)
            other[changed] = (*shown[changed], end)
            found = loss(
                table_of(votes, [0, 0, 1], items), table_of(other, [0, 0, 1], items), "choice"
            )
            worst = max(worst, found)
    assert worst == 1


def test_exact_any_record_for_any_other_costs_epsilon_and_no_more() -> None:
    """All records of four items against all others, unit record: at most 1, attained by each kind.

    A tie for a win costs as much as turning a win round.
    """
    records = [(a, b, end) for a, b in itertools.combinations(range(4), 2) for end in range(3)]
    found = {
        (one, other): loss(table_of([one], [0], 4), table_of([other], [0], 4), "record")
        for one, other in itertools.product(records, records)
    }
    assert max(found.values()) == 1
    assert found[(0, 1, 0), (0, 1, 2)] == found[(0, 1, 0), (0, 1, 1)] == 1


def test_exact_a_whole_voter_costs_epsilon_and_no_more() -> None:
    """All voters of up to two votes among three items against one another: at most 1, attained."""
    records = [(a, b, end) for a, b in itertools.combinations(range(3), 2) for end in range(3)]
    voters = [list(some) for many in (1, 2) for some in itertools.product(records, repeat=many)]
    base = (0, 1, 0)
    worst = max(
        loss(
            table_of([base, *one], [0] + [1] * len(one), 3),
            table_of([base, *other], [0] + [1] * len(other), 3),
            "voter",
        )
        for one, other in itertools.product(voters, voters)
    )
    assert worst == 1


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "3", "8"])
def test_exact_masked_votes_cost_at_most_epsilon(epsilon: str) -> None:
    """The table's probabilities add to 1, and no ratio is above a fraction below e**epsilon."""
    mask = MaskedVote.of(Fraction(epsilon))
    rows = mask.table
    assert all(sum(row) == 1 for row in rows)
    assert all(p > 0 for row in rows for p in row)
    ratios = [max(column) / min(column) for column in zip(*rows, strict=True)]
    assert max(ratios) == mask.growth
    assert Micro.of_ratio(mask.growth) <= Micro.of_amount(Fraction(epsilon))
    assert float(mask.growth) == pytest.approx(math.exp(float(epsilon)), rel=1e-8)
    assert exp_below(Fraction(epsilon)) < Fraction(math.exp(float(epsilon))) * (
        1 + Fraction(1, 10**12)
    )


def test_exact_the_same_reports_give_the_same_bits_whoever_was_chosen() -> None:
    """60 votes as chosen and rejected, each turned round in turn: reports alone make the sums.

    Fractions that are added up in another order differ in their last digits.
    """
    rng = np.random.default_rng(0)
    pairs = [sorted(rng.choice(4, 2, replace=False).tolist()) for _ in range(60)]
    credited = rng.integers(0, 3, 60).astype(np.int8)  # what is reported, seen from the first item
    device = MaskedVote.of(Fraction(1))
    found = set()
    for turned in range(-1, 60):
        votes = [
            (b, a, FIRST) if place == turned else (a, b, FIRST)
            for place, (a, b) in enumerate(pairs)
        ]
        table = table_of(votes, list(range(60)), 4).in_order_of_items()
        assert table.outcome.tolist() == [
            SECOND if place == turned else FIRST for place in range(60)
        ]
        found.add(device.sums(credited, table).scores.tobytes())
    assert len(found) == 1


def test_a_local_leaderboard_reads_pairs_in_the_order_of_the_list() -> None:
    """The same seed on the same votes, written either way round, draws the same leaderboard."""
    votes = [(0, 1, FIRST), (2, 1, FIRST), (2, 0, SECOND), (1, 2, EVEN)] * 15
    written = [(b, a, 2 - end) for a, b, end in votes]
    tables = [table_of(each, list(range(60)), 3) for each in (votes, written)]
    one, other = (
        PrivateLeaderboard(1, trust="local").simulate(table, np.random.default_rng(1))
        for table in tables
    )
    assert one.strengths.tobytes() == other.strengths.tobytes()


def test_masked_votes_have_the_specified_probabilities() -> None:
    """Epsilon 1: rho 1/4 is .692323, .052985, .254691, a tie kept .144029; rho 1 is 3-ary."""
    quarter = MaskedVote.of(Fraction(1)).table
    np.testing.assert_allclose(
        [float(p) for p in quarter[0]], [0.692323, 0.052985, 0.254691], atol=2e-6
    )
    assert float(quarter[1][1]) == pytest.approx(0.144029, abs=1e-6)
    plain = MaskedVote(MaskedVote.of(Fraction(1)).growth, Fraction(1)).table
    np.testing.assert_allclose(
        [float(p) for p in plain[0]], [0.576117, 0.211942, 0.211942], atol=1e-6
    )


def test_audit_masked_votes_come_as_often_as_the_table_says() -> None:
    """30,000 reports of each outcome, epsilon 1: each share within 5.2 standard errors.

    Nine shares, each fails once in 5e6 runs; the seed is fixed.
    """
    mask, source = MaskedVote.of(Fraction(1)), SimulatedCoins(np.random.default_rng(1))
    for outcome, row in enumerate(mask.table):
        reports = mask.mask(np.full(30_000, outcome, dtype=np.int8), source)
        for report, wanted in enumerate(map(float, row)):
            share = np.mean(reports == report)
            assert abs(share - wanted) < 5.2 * math.sqrt(wanted * (1 - wanted) / 30_000)


def test_exact_shares_of_three_votes_are_rounded_towards_0() -> None:
    """All voters of three votes on one item against the others cost at most 1, turned round too."""
    voters = [[(0, other, end) for other in (1, 2, 3)] for end in range(3)]
    voters += [[(0, 1, a), (0, 2, b), (0, 3, c)] for a, b, c in itertools.permutations(range(3))]
    tables = [table_of([(0, 1, 0), *one], [0, 1, 1, 1], 4) for one in voters]
    found = [loss(one, other, "voter") for one, other in itertools.product(tables, tables)]
    assert Fraction(999, 1000) < max(found) <= 1


@pytest.mark.parametrize(("items", "size"), [(2, 2), (3, 4), (4, 4)])
@pytest.mark.parametrize("unit", ["choice", "record", "voter"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_noise_is_asked_for_at_the_scale_of_the_largest_change(
    items: int, size: int, unit: BattleUnit, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores get noise of scale 4 / epsilon, of two items 2 / epsilon, ties 2 / epsilon."""
    scales: list[Fraction] = []

    def none(_source: Any, scale: Fraction, count: int) -> Any:
        scales.append(scale)
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(score_sums, "discrete_laplace", none)
    votes = [(a, b, 0) for a, b in itertools.combinations(range(items), 2)]
    table = table_of(votes, [0] * len(votes), items)
    source = SimulatedCoins(np.random.default_rng(0))
    found = masked_sums(table, unit, Fraction(epsilon), source, 1)
    step = STEPS if unit == "voter" else 1
    exact = [size * step / Fraction(epsilon), 2 * step / Fraction(epsilon)]
    for scale, least in zip(scales, exact, strict=True):
        assert least <= scale <= least * (1 + Fraction(1, 2**40))
    # a score is half of what was masked; of two items the same noise stands in both
    wanted = 2 * (float(exact[0]) / step) ** 2 / 4 * (2 if items == 2 else 1)
    if unit == "voter":  # so fine that rounding to whole steps counts for nothing
        assert found.variance == pytest.approx(wanted, rel=1e-5)


def test_released_sums_have_the_specified_values() -> None:
    """Scores (5.5, 2, 3.5, 1) and 5 ties of 12 battles, V 8: strengths, nu and errors to 1e-5."""
    noise = 8 * (np.eye(5) - np.pad(np.full((4, 4), 1 / 4), (0, 1)))
    sums = Sums(np.array([5.5, 2, 3.5, 1]), 5.0, 12.0, 8.0, noise)
    table = Battles.from_frame(TINY)
    board = fit_sums(sums, pair_counts(table), table.items)
    np.testing.assert_allclose(
        board.strengths, [0.218480, -0.128288, 0.086787, -0.176979], atol=1e-5
    )
    assert board.tie is not None
    assert board.tie.estimate == pytest.approx(1.442365, abs=1e-5)
    errors = np.sqrt(np.diag(board.covariance))
    np.testing.assert_allclose(errors, [0.812673, 0.798824, 0.824855, 0.811685], atol=1e-5)
    assert board.tie.standard_error / board.tie.estimate == pytest.approx(1.134933, abs=1e-5)


def arena(
    rng: np.random.Generator, *, items: int, voters: int, each: int, nu: float = 1.0
) -> tuple[Battles, np.ndarray]:
    """Return votes on pairs at random, and the true strengths, N(0, 1)."""
    truth = rng.standard_normal(items)
    truth -= truth.mean()
    first = rng.integers(0, items, voters * each)
    second = (first + rng.integers(1, items, voters * each)) % items
    logs = DAVIDSON.log_probabilities(truth[first] - truth[second], math.log(nu))
    outcome = (rng.random(len(first)) > np.cumsum(np.exp(logs), axis=0)).sum(axis=0)
    votes = list(zip(first.tolist(), second.tolist(), outcome.tolist(), strict=True))
    return table_of(votes, np.repeat(np.arange(voters), each).tolist(), items), truth


@pytest.mark.parametrize(
    ("text", "epsilon", "least"),
    [
        ({}, 1, 0.80),
        ({"trust": "local"}, 3, 0.72),
        ({"unit": "record"}, 1, 0.78),
        ({"unit": "voter", "votes_each": 20}, 3, 0.25),
    ],
    ids=["choice", "device", "record", "voter"],
)
def test_ranks_and_intervals_of_masked_votes(
    text: dict[str, Any], epsilon: float, least: float
) -> None:
    """60 items, 200 voters x 20, 30 % ties, 8 crowds: Kendall's tau, and .90 of intervals hold."""
    taus, held = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        table, truth = arena(rng, items=60, voters=200, each=20)
        board = PrivateLeaderboard(epsilon, **text).simulate(table, rng)
        taus.append(kendalltau(board.strengths, truth).statistic)
        error = np.sqrt(np.diag(board.covariance))
        held.append(np.mean(np.abs(board.strengths - truth) <= 1.96 * error))
    assert np.mean(taus) >= least
    assert np.mean(held) >= 0.90


def test_ties_cost_no_accuracy_at_equal_decided_votes() -> None:
    """Unit choice, epsilon 1: 5,700 votes with 30 % ties rank as well as 4,000 without, to .02."""
    with_ties, without = [], []
    for seed in range(16):
        rng = np.random.default_rng(100 + seed)
        table, truth = arena(rng, items=60, voters=285, each=20)
        board = PrivateLeaderboard(1).simulate(table, rng)
        with_ties.append(kendalltau(board.strengths, truth).statistic)
        rng = np.random.default_rng(100 + seed)
        table, truth = arena(rng, items=60, voters=200, each=20, nu=1e-6)
        board = PrivateLeaderboard(1).simulate(table, rng)
        without.append(kendalltau(board.strengths, truth).statistic)
    assert np.mean(with_ties) >= np.mean(without) - 0.02


@pytest.mark.parametrize("unit", ["record", "voter"])
def test_the_schedule_is_not_read_where_it_is_protected(unit: str) -> None:
    """Two tables with equal sums and other schedules have the same leaderboard, to the last bit."""
    cycle = [(0, 1, 0), (1, 2, 0), (2, 0, 0), (0, 1, 1)]
    other = [(0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 2, 1)]
    more = {"votes_each": 2} if unit == "voter" else {}
    boards = []
    for votes in (cycle, [(0, 1, 0), (1, 0, 0), (2, 0, 1), (1, 2, 0)], other):
        table = table_of(votes, [0, 0, 1, 1], 3)
        scores, ties = exact_scores(table, "record")
        boards.append((scores.tolist(), ties))
    first, second = table_of(cycle, [0, 0, 0, 0], 3), table_of(cycle[::-1], [0, 0, 0, 0], 3)
    one, two = (
        PrivateLeaderboard(1, unit=unit, **more).simulate(table, np.random.default_rng(3))  # type: ignore[arg-type]
        for table in (first, second)
    )
    assert np.array_equal(one.strengths, two.strengths)


def test_the_guarantee_names_unit_trust_and_the_whole_voter() -> None:
    """Unit choice: a voter with n votes at n epsilon; unit voter: at epsilon, its votes hidden."""
    table = Battles.from_frame(TINY, items=list("ABCD"))
    by_choice = PrivateLeaderboard("0.5").release(table, public_menus=True)
    promise = by_choice.guarantee
    assert (promise.unit, promise.trust, promise.status) == ("choice", "aggregator", "proven")
    assert (promise.epsilon, promise.epsilon_user) == (Micro(500_000), Micro(1_500_000))
    assert "Protects each choice" in by_choice.statement
    assert all(one.wins is None for one in by_choice.standings)
    by_voter = PrivateLeaderboard(1, unit="voter", votes_each=3).release(table)
    assert by_voter.guarantee.epsilon_user == Micro(1_000_000)
    assert by_voter.votes == 0
    assert (
        PrivateLeaderboard(1).simulate(table, np.random.default_rng(1)).guarantee.status == "none"
    )


def test_what_cannot_be_protected_is_refused() -> None:
    """Items off the votes, unknown voters, weights, an unsaid schedule, a seed, odd parameters."""
    listed = list("ABCD")
    table = Battles.from_frame(TINY, items=listed)
    with pytest.raises(ParameterError, match="public_menus=True"):
        PrivateLeaderboard(1).release(table)
    with pytest.raises(ParameterError, match="--items FILE"):
        PrivateLeaderboard(1).release(TINY, public_menus=True)
    nobody = {key: value for key, value in TINY.items() if key != "voter"}
    with pytest.raises(ParameterError, match="who voted"):
        PrivateLeaderboard(1).release(Battles.from_frame(nobody, items=listed), public_menus=True)
    weighed = Battles.from_frame(TINY | {"weight": [1] * 12}, items=listed)
    with pytest.raises(ParameterError, match="weights"):
        PrivateLeaderboard(1).release(weighed, public_menus=True)
    with pytest.raises(InsecureRandomness):
        PrivateLeaderboard(1).release(
            table,
            coins=SimulatedCoins(np.random.default_rng(1)),  # type: ignore[arg-type]
            public_menus=True,
        )
    for wrong in ({"unit": "voter"}, {"trust": "local", "unit": "record"}, {"unit": "item"}):
        with pytest.raises(ParameterError):
            PrivateLeaderboard(1, **wrong)  # type: ignore[arg-type]
    for epsilon in (0, -1, [1, 2]):
        with pytest.raises(ParameterError):
            PrivateLeaderboard(epsilon)  # type: ignore[arg-type]


def test_votes_left_out_for_how_they_ended_are_refused() -> None:
    """How many votes are left would tell how one ended, whether or not there is such a vote."""
    for last in ("tie (bothbad)", "model_a"):
        votes = {
            "model_a": ["x", "y", "x", "x"],
            "model_b": ["y", "z", "z", "y"],
            "winner": ["model_a", "tie", "model_b", last],
            "voter": ["ann", "ann", "bob", "cy"],
        }
        table = Battles.from_frame(votes, items=["x", "y", "z"], both_bad="drop")
        for unit in ("choice", "record"):
            with pytest.raises(ParameterError, match="how single votes ended"):
                PrivateLeaderboard(1, unit=unit).checked(table)
