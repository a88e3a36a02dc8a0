"""Leaderboards: golden values, ties, covariates, voters, and unknown strengths."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Battles
from masquerade.errors import EmptyTable, ParameterError
from masquerade.preference import Leaderboard, battle_counts, battle_files
from masquerade.preference.battle_counts import CountedBattles
from masquerade.preference.strength_fit import (
    StrengthFit,
    battle_scatter,
    clustered_covariance,
    fit_strengths,
    larger_covariance,
    voter_scatter,
)
from masquerade.preference.tie_models import TIE_MODELS
from masquerade.truth.scale import DaskCluster

#: Five voters' battles: first, second, outcome (the specification of arenas, 6).
TINY: dict[str, list[Any]] = {
    "voter": [1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5],
    "model_a": list("AABBBCABCDDA"),
    "model_b": list("BBDACBCDDCAD"),
    "winner": [
        *("model_a", "model_a", "model_a", "tie", "model_a", "model_a"),
        *("tie", "model_a", "model_a", "tie", "model_a", "model_a"),
    ],
}
GOLDEN = {
    "davidson": (
        (0.738053, 0.097539, 0.331679, -1.167271, np.log(0.775471)),
        -11.758574,
        (0.820590, 0.705313, 0.847387, 0.881596, 0.694809),
        (0.946456, 0.588905, 0.776705, 0.906597, 0.635136),
        (0.977361, 0.713240, 0.851056, 1.015401),
    ),
    "rao-kupper": (
        (0.635192, 0.115933, 0.220945, -0.972070, np.log(1.858291)),
        -11.676621,
        (0.616129, 0.562084, 0.619948, 0.677045, 0.329116),
        (0.686777, 0.513669, 0.608004, 0.649254, 0.300998),
        (0.697978, 0.587963, 0.641404, 0.745221),
    ),
    "halves": (
        (0.526136, 0.068205, 0.236351, -0.830691),
        -7.419278,
        (0.679550, 0.595207, 0.712743, 0.709996),
        (0.660250, 0.414335, 0.551923, 0.556512),
        (0.708688, 0.599236, 0.713731, 0.729903),
    ),
}


def counted(table: dict[str, list[Any]]) -> CountedBattles:
    """Return a table of battles, counted."""
    return CountedBattles.of(Battles.from_frame(table))


@pytest.mark.parametrize("model", GOLDEN)
def test_tiny_has_the_specified_values(model: str) -> None:
    """Strengths, tie parameter, likelihood and three kinds of errors, to 1e-6."""
    battles = counted(TINY)
    fit = fit_strengths(battles.counts, TIE_MODELS[model])
    parameters, likelihood, own, clustered, larger = GOLDEN[model]
    np.testing.assert_allclose(fit.parameters, parameters, atol=2e-6)
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-6)
    inverse = fit.inverse()
    np.testing.assert_allclose(np.sqrt(np.diag(inverse)), own, atol=1e-6)
    scatter, voters = voter_scatter(fit, battles)
    assert voters == 5
    by_voter = clustered_covariance(fit, scatter)
    np.testing.assert_allclose(np.sqrt(np.diag(by_voter)), clustered, atol=1e-6)
    both = larger_covariance(inverse[:4, :4], by_voter[:4, :4])
    np.testing.assert_allclose(np.sqrt(np.diag(both)), larger, atol=1e-6)


@pytest.mark.parametrize(
    ("ridge", "strengths", "nu"),
    [
        (0.25, (0.598060, 0.064499, 0.275019, -0.937579), 0.738645),
        (1.0, (0.398998, 0.029014, 0.189656, -0.617668), 0.698914),
    ],
)
def test_a_ridge_has_the_specified_values(
    ridge: float, strengths: tuple[float, ...], nu: float
) -> None:
    """Davidson's model with a prior, to 1e-6."""
    fit = fit_strengths(counted(TINY).counts, TIE_MODELS["davidson"], ridge=ridge)
    np.testing.assert_allclose(fit.strengths, strengths, atol=1e-6)
    assert np.exp(fit.tie) == pytest.approx(nu, abs=1e-6)


@pytest.mark.parametrize("model", TIE_MODELS)
def test_scores_and_curvature_are_derivatives(model: str) -> None:
    """Central differences of the log-probabilities and of their derivatives, to 1e-6."""
    one = TIE_MODELS[model]
    d, g, step = np.linspace(-3, 3, 9), 0.6, 1e-5
    by_d, by_g = one.scores(d, g)

    def slope(after: np.ndarray, before: np.ndarray) -> np.ndarray:
        return np.asarray((after - before) / (2 * step))

    logs = one.log_probabilities
    np.testing.assert_allclose(by_d, slope(logs(d + step, g), logs(d - step, g)), atol=1e-8)
    counts = np.arange(27, dtype=float).reshape(3, 9)
    up, down = one.scores(d + step, g)[0], one.scores(d - step, g)[0]
    dd = -(counts * slope(up, down)).sum(axis=0)
    np.testing.assert_allclose(one.curvature(d, g, counts).dd, dd, atol=1e-6)
    if one.has_tie_parameter:
        np.testing.assert_allclose(by_g, slope(logs(d, g + step), logs(d, g - step)), atol=1e-8)
        up, down = one.scores(d, g + step), one.scores(d, g - step)
        dg = -(counts * slope(up[0], down[0])).sum(axis=0)
        gg = -(counts * slope(up[1], down[1])).sum(axis=0)
        np.testing.assert_allclose(one.curvature(d, g, counts).dg, dg, atol=1e-6)
        np.testing.assert_allclose(one.curvature(d, g, counts).gg, gg, atol=1e-6)


@given(st.permutations(range(12)), st.lists(st.booleans(), min_size=12, max_size=12))
def test_prop_order_and_sides_change_nothing(order: list[int], swap: list[bool]) -> None:
    """Rows in another order and with sides swapped, a covariate's sign too: equal numbers."""
    home = [1.0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0]
    swapped = {"model_a": "model_b", "model_b": "model_a", "tie": "tie"}
    table: dict[str, list[Any]] = {"voter": [], "model_a": [], "model_b": [], "winner": []}
    table["home"] = []
    for row in order:
        sides = ("model_b", "model_a") if swap[row] else ("model_a", "model_b")
        table["voter"].append(TINY["voter"][row])
        table["model_a"].append(TINY[sides[0]][row])
        table["model_b"].append(TINY[sides[1]][row])
        outcome = TINY["winner"][row]
        table["winner"].append(swapped[outcome] if swap[row] else outcome)
        table["home"].append(-home[row] if swap[row] else home[row])
    plain = Leaderboard.fit(Battles.from_frame(TINY | {"home": home}, covariates=["home"]))
    other = Leaderboard.fit(Battles.from_frame(table, covariates=["home"]))
    np.testing.assert_allclose(other.strengths, plain.strengths, atol=1e-9)
    np.testing.assert_allclose(other.covariance, plain.covariance, atol=1e-9)
    assert other.effects[0].estimate == pytest.approx(plain.effects[0].estimate, abs=1e-9)
    assert [one.rank_high for one in other.standings] == [one.rank_high for one in plain.standings]


def arena(
    rng: np.random.Generator, *, battles: int, items: int = 8, voters: int = 60, nu: float = 0.9
) -> dict[str, list[Any]]:
    """Return made-up battles of items with strengths from 1 down to -1."""
    strengths = np.linspace(1, -1, items)
    first = rng.integers(0, items, battles)
    second = (first + rng.integers(1, items, battles)) % items
    logs = TIE_MODELS["davidson"].log_probabilities(
        strengths[first] - strengths[second], np.log(nu) if nu else -np.inf
    )
    outcome = (rng.random(battles) > np.cumsum(np.exp(logs), axis=0)).sum(axis=0)
    words = np.array(["model_a", "tie", "model_b"])
    names = np.array([f"i{place}" for place in range(items)])
    return {
        "model_a": names[first].tolist(),
        "model_b": names[second].tolist(),
        "winner": words[outcome].tolist(),
        "voter": rng.integers(0, voters, battles).tolist(),
    }


def test_each_voter_alone_is_each_battle_alone() -> None:
    """A voter a battle: scores of voters are those of battles, dense and sparse, to 1e-9."""
    table = arena(np.random.default_rng(1), battles=400) | {"voter": list(range(400))}
    for model in TIE_MODELS:
        battles = counted(table)
        fit = fit_strengths(battles.counts, TIE_MODELS[model])
        scatter, voters = voter_scatter(fit, battles)
        assert voters == 400
        np.testing.assert_allclose(scatter * 399 / 400, battle_scatter(fit), atol=1e-9)


def test_sparse_and_dense_scores_of_voters_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many items and few votes a voter: the sparse path gives the sums of a plain loop."""
    table = arena(np.random.default_rng(2), battles=900, items=40, voters=400)
    battles = counted(table)
    fit = fit_strengths(battles.counts, TIE_MODELS["davidson"])
    scatter, voters = voter_scatter(fit, battles)
    scores = fit.model.scores(fit.advantages(), fit.tie)
    rows = np.zeros((400, 41))
    for cell, outcome, voter in zip(
        battles.cell, battles.outcome, np.asarray(battles.voter), strict=True
    ):
        rows[voter, fit.counts.first[cell]] += scores[0, outcome, cell]
        rows[voter, fit.counts.second[cell]] -= scores[0, outcome, cell]
        rows[voter, 40] += scores[1, outcome, cell]
    np.testing.assert_allclose(scatter, rows.T @ rows * voters / (voters - 1), atol=1e-9)


def test_weights_are_repeated_votes() -> None:
    """A vote of weight 3 counts like three votes of its voter, in strengths and errors."""
    table = arena(np.random.default_rng(3), battles=300)
    weight = np.random.default_rng(4).integers(0, 4, 300)
    weighted = Leaderboard.fit(table | {"weight": weight.tolist()})
    rows = np.repeat(np.arange(300), weight)
    repeated = Leaderboard.fit({name: [column[i] for i in rows] for name, column in table.items()})
    np.testing.assert_allclose(weighted.strengths, repeated.strengths, atol=1e-9)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, atol=1e-7)


def test_errors_are_at_least_those_of_the_model_and_of_the_voters() -> None:
    """Of every difference of two items, on a crowd with different voters; 8 items."""
    rng = np.random.default_rng(5)
    battles = counted(arena(rng, battles=200, voters=25))
    fit = fit_strengths(battles.counts, TIE_MODELS["davidson"])
    own, scatter = fit.inverse()[:8, :8], voter_scatter(fit, battles)[0]
    clustered = clustered_covariance(fit, scatter)[:8, :8]
    both = larger_covariance(own, clustered)
    for a in range(8):
        for b in range(a):
            apart = np.zeros(8)
            apart[a], apart[b] = 1, -1
            most = max(apart @ own @ apart, apart @ clustered @ apart)
            assert apart @ both @ apart >= most - 1e-12


def test_an_item_that_won_everything_has_no_strength() -> None:
    """Never lost, never won, in no vote, never met: named, without a number, ranked anywhere."""
    table = {
        "model_a": ["top", "a", "b", "a", "z1", "z2", "b"],
        "model_b": ["a", "b", "a", "low", "z2", "z1", "low"],
        "winner": ["left"] * 7,
    }
    items = ["a", "b", "low", "top", "unseen", "z1", "z2"]
    board = Leaderboard.fit(Battles.from_frame(table, items=items))
    notes = {one.item: one.note for one in board.standings}
    assert notes["top"] == "never lost"
    assert notes["low"] == "never won"
    assert notes["unseen"] == "was in no vote"
    assert notes["z1"] == notes["z2"] == "never met the main group"
    for item in ("top", "low", "unseen", "z1"):
        one = board.standing(item)
        assert (one.strength, one.low, one.rank_low, one.rank_high) == (None, None, 1, 7)
        assert not one.may_be_first
    assert board.items == ("a", "b")
    with pytest.raises(ParameterError, match="'top' has no strength"):
        board.decide("top", "a")


def test_only_one_way_results_rank_nobody() -> None:
    """6:0 between two items: no strength, no error of 0, and a note; a tie joins the two."""
    table = {"model_a": ["x"] * 6, "model_b": ["y"] * 6, "winner": ["left"] * 6}
    board = Leaderboard.fit(table)
    assert [one.strength for one in board.standings] == [None, None]
    assert board.first == ()
    assert "nothing can be ranked yet" in board.notes[0]
    joined = Leaderboard.fit(
        {key: [*value, value[0]] for key, value in table.items()}
        | {"winner": ["left"] * 6 + ["tie"]}
    )
    assert all(one.standard_error and one.standard_error > 0.5 for one in joined.standings)
    # No loss: the tie parameter and the strengths could grow for ever.
    assert (joined.model, joined.tie) == ("halves", None)
    assert "half a win of each" in " ".join(joined.notes)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)).filter(
            lambda vote: vote[0] != vote[1]
        ),
        min_size=1,
        max_size=14,
    ),
    st.sampled_from(["auto", "rao-kupper"]),
)
def test_prop_any_votes_make_a_leaderboard(
    votes: list[tuple[int, int, int]], ties: Literal["auto", "rao-kupper"]
) -> None:
    """Few votes of any kind: finite strengths with errors above 0, or none, with a reason."""
    words = ["model_a", "tie", "model_b"]
    board = Leaderboard.fit(
        {
            "model_a": [f"i{a}" for a, _, _ in votes],
            "model_b": [f"i{b}" for _, b, _ in votes],
            "winner": [words[outcome] for _, _, outcome in votes],
        },
        ties=ties,
    )
    for one in board.standings:
        if one.strength is None:
            assert one.note
        else:
            assert one.standard_error is not None
            assert np.isfinite(one.strength)
            assert 1e-3 < one.standard_error < 1e3
        assert 1 <= one.rank_low <= one.rank_high <= len(board.standings)


def test_a_prior_gives_its_own_width_to_what_was_never_seen() -> None:
    """With prior 2, an unseen item has strength 0 and an error of nearly 2; nothing has error 0."""
    table = {"model_a": ["x"] * 6, "model_b": ["y"] * 6, "winner": ["left"] * 6}
    board = Leaderboard.fit(Battles.from_frame(table, items=["x", "y", "z"]), prior=2)
    unseen = board.standing("z")
    assert unseen.strength == pytest.approx(0, abs=1e-9)
    assert unseen.standard_error == pytest.approx(2 * np.sqrt(2 / 3), rel=1e-6)
    assert "pulled by the prior" in unseen.note
    won = board.standing("x")
    assert won.standard_error is not None
    assert won.standard_error > 0.5
    assert (won.rank_low, won.rank_high) == (1, 3)


def test_a_link_of_one_battle_keeps_the_critical_value_finite() -> None:
    """Two clusters joined by a win each way: every difference has an error above 0."""
    rng = np.random.default_rng(6)
    one, two = (arena(rng, battles=200, items=4) for _ in range(2))
    table = {key: [*one[key], *two[key]] for key in ("model_a", "model_b", "winner")}
    for side in ("model_a", "model_b"):
        table[side] = [*one[side], *(f"z{name}" for name in two[side])]
        table[side] += ["i0", "zi0"] if side == "model_a" else ["zi0", "i0"]
    table["winner"] += ["model_a", "model_a"]
    board = Leaderboard.fit(table)
    variance = np.diag(board.covariance)
    apart = variance[:, None] + variance - 2 * board.covariance
    assert apart[np.triu_indices(8, 1)].min() > 1e-3
    assert not board.decide("i0", "zi3").decided


def test_voters_who_repeat_themselves_widen_errors() -> None:
    """Ten copies of each vote by its voter: the errors stay those of one copy, within a fifth."""
    rng = np.random.default_rng(7)
    table = arena(rng, battles=600, voters=600) | {"voter": list(range(600))}
    once = Leaderboard.fit(table)
    copied = Leaderboard.fit({key: value * 10 for key, value in table.items()})
    ratio = np.sqrt(np.diag(copied.covariance) / np.diag(once.covariance))
    assert np.abs(ratio - 1).max() < 0.2
    unknown = {key: value for key, value in table.items() if key != "voter"}
    alone = Leaderboard.fit({key: value * 10 for key, value in unknown.items()})
    assert (np.diag(alone.covariance) < 0.2 * np.diag(copied.covariance)).all()
    assert "assume that votes are independent" in alone.notes[0]


def test_covariates_that_say_nothing_are_refused() -> None:
    """A column of zeros, or a column twice, has no effect that votes tell."""
    table = arena(np.random.default_rng(8), battles=300)
    home = np.random.default_rng(9).integers(0, 2, 300).tolist()
    same = table | {"one": home, "two": home, "nothing": [0] * 300}
    for columns in (["nothing"], ["one", "two"]):
        with pytest.raises(ParameterError, match="no maximum"):
            Leaderboard.fit(Battles.from_frame(same, covariates=columns))
    found = Leaderboard.fit(Battles.from_frame(same, covariates=["one"])).effects[0]
    assert found.low < 0 < found.high


def test_items_of_two_groups_cannot_be_told_apart_within_each() -> None:
    """Three strong and three weak items: two groups, the first may be first, the rest not."""
    rng = np.random.default_rng(10)
    names = np.array(["a1", "a2", "a3", "b1", "b2", "b3"])
    strengths = np.array([1.5, 1.5, 1.5, -1.5, -1.5, -1.5])
    first = rng.integers(0, 6, 3000)
    second = (first + rng.integers(1, 6, 3000)) % 6
    wins = rng.random(3000) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    board = Leaderboard.fit(
        {
            "model_a": names[first],
            "model_b": names[second],
            "winner": np.where(wins, "model_a", "model_b"),
        }
    )
    assert board.model == "bradley-terry"
    assert [sorted(group) for group in board.groups()] == [["a1", "a2", "a3"], ["b1", "b2", "b3"]]
    assert sorted(board.first) == ["a1", "a2", "a3"]
    assert board.standing("a1").place == "may be 1st to 3rd"
    assert board.decide("a1", "b1").decided
    assert board.decide("a1", "b1").better > 0.999


def coverage_of(ties: float, differ: float, seeds: range) -> tuple[float, float, float]:
    """Return how often all ranks, the best item, and a difference of strengths are covered."""
    ranks, best, apart, many = 0, 0, 0.0, 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        truth = rng.standard_normal(10)
        voters, battles = 75, 1500
        who = rng.integers(0, voters, battles)
        own = truth + differ * rng.standard_normal((voters, 10))
        weight = rng.gamma(2, size=10)
        pairs = np.array(
            [rng.choice(10, 2, replace=False, p=weight / weight.sum()) for _ in range(battles)]
        )
        d = own[who, pairs[:, 0]] - own[who, pairs[:, 1]]
        logs = TIE_MODELS["davidson"].log_probabilities(d, np.log(ties) if ties else -np.inf)
        outcome = (rng.random(battles) > np.cumsum(np.exp(logs), axis=0)).sum(axis=0)
        board = Leaderboard.fit(
            {
                "model_a": [f"i{a}" for a in pairs[:, 0]],
                "model_b": [f"i{b}" for b in pairs[:, 1]],
                "winner": np.array(["model_a", "tie", "model_b"])[outcome],
                "voter": who,
            }
        )
        place = [int(item[1:]) for item in board.items]
        true = truth[place] - truth[place].mean()
        # A mixture of voters is flatter than its mean: the scale of the pooled model is fitted.
        true = true * (board.strengths @ true) / (true @ true) if differ else true
        rank = {item: 1 + int((true > true[i]).sum()) for i, item in enumerate(board.items)}
        placed = [one for one in board.standings if one.placed]
        among = sorted(rank[one.item] for one in placed)
        inside = [
            one.rank_low <= 1 + among.index(rank[one.item]) <= one.rank_high for one in placed
        ]
        ranks += all(inside)
        best += (
            not placed or board.standing(min(placed, key=lambda o: rank[o.item]).item).may_be_first
        )
        a, b = np.triu_indices(len(true), 1)
        variance = np.diag(board.covariance)
        error = np.sqrt(variance[a] + variance[b] - 2 * board.covariance[a, b])
        off = board.strengths[a] - board.strengths[b] - (true[a] - true[b])
        apart += float(np.mean(np.abs(off) <= 1.96 * error))
        many += 1
    return ranks / many, best / many, apart / many


@pytest.mark.parametrize(("ties", "differ"), [(0.0, 0.0), (0.9, 0.7)])
def test_ranks_and_differences_are_covered(ties: float, differ: float) -> None:
    """Ten items, 1,500 votes of 75 voters, 24 crowds: ranks and the best in at least 20 of 24.

    At a true coverage of .99 that fails with probability below 1e-6; differences .90 at least.
    """
    ranks, best, apart = coverage_of(ties, differ, range(24))
    assert ranks >= 20 / 24
    assert best >= 20 / 24
    assert apart >= 0.90


def football() -> pa.Table:
    """Return the matches of men's national teams since 2018."""
    folder = os.environ.get("MASQUERADE_DATA")
    path = Path(folder or ".") / "football_matches" / "battles.csv.gz"
    if not path.is_file():
        pytest.skip("MASQUERADE_DATA names no folder with football_matches")
    with gzip.open(path) as content:
        table = pa_csv.read_csv(content)
    table = table.filter(pc.greater_equal(table["year"], 2018))
    return table.append_column("home", pc.subtract(1, table["neutral"]))


@pytest.mark.parametrize(
    ("model", "value", "likelihood", "spain", "own", "argentina"),
    [
        ("davidson", 0.892821, -6855.212665, (6.160598, 0.851378), 0.443076, 5.987442),
        ("rao-kupper", 2.005429, -6851.227529, (4.497745, 0.565322), 0.328471, 4.450620),
        ("halves", None, -4281.767339, (4.129853, 0.666714), 0.279517, 4.008785),
    ],
)
def test_football_has_the_specified_values(
    model: str,
    value: float | None,
    likelihood: float,
    spain: tuple[float, float],
    own: float,
    argentina: float,
) -> None:
    """8,173 matches of 266 sides: strengths, errors, tie parameter and likelihood, to 1e-5."""
    table = Battles.from_frame(football())
    battles = CountedBattles.of(table)
    main = battles.counts.groups().main
    assert (len(table.items), len(table), int(main.sum())) == (285, 8220, 266)
    inside = battles.among(main)
    assert inside.counts.total == 8173
    fit = fit_strengths(inside.counts, TIE_MODELS[model])
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-5)
    if value is not None:
        assert np.exp(fit.tie) == pytest.approx(value, abs=1e-5)
    place = {name: i for i, name in enumerate(np.array(table.items)[main])}
    assert (fit.strengths[place["Spain"]], error_of(fit, place["Spain"])) == pytest.approx(
        spain, abs=1e-5
    )
    by_match = clustered_covariance(fit, battle_scatter(fit))[place["Spain"], place["Spain"]]
    assert np.sqrt(by_match) == pytest.approx(own, abs=1e-5)
    assert fit.strengths[place["Argentina"]] == pytest.approx(argentina, abs=1e-5)


def error_of(fit: StrengthFit, item: int) -> float:
    """Return the error of a strength by the information."""
    return float(np.sqrt(fit.inverse()[item, item]))


def test_football_sides_of_few_matches_are_not_first() -> None:
    """The first and second by estimate, with nearly all matches among friends: no place."""
    board = Leaderboard.fit(Battles.from_frame(football()))
    strongest = sorted(board.items, key=lambda item: -board.strengths[board.items.index(item)])
    assert strongest[:2] == ["Kárpátalja", "Northern Cyprus"]
    for side in strongest[:2]:
        assert board.standing(side).place == "not placed"
        assert board.standing(side).rank_low == 1
    placed = [one for one in board.standings if one.placed]
    assert abs(len(placed) - 220) <= 3
    expected = {"Spain": 20, "Argentina": 24, "France": 25, "Brazil": 33, "Germany": 50}
    for side, last in expected.items():
        assert board.standing(side).rank_low == 1
        assert abs(board.standing(side).rank_high - last) <= 3
    assert [one.item for one in placed[:3]] == ["Spain", "Argentina", "France"]
    assert 9 <= len(board.first) <= 15
    likelihoods = board.log_likelihoods
    assert likelihoods["davidson"] == pytest.approx(-6855.212665, abs=1e-5)
    assert likelihoods["rao-kupper"] == pytest.approx(-6851.227529, abs=1e-5)


def test_football_home_side() -> None:
    """The home side's advantage under Davidson's model, to 1e-5."""
    board = Leaderboard.fit(Battles.from_frame(football(), covariates=["home"]))
    home = board.effects[0]
    assert home.estimate == pytest.approx(0.714516, abs=1e-5)
    assert home.standard_error == pytest.approx(0.043878, abs=1e-5)
    argentina = board.strengths[board.items.index("Argentina")]
    assert argentina == pytest.approx(6.147537, abs=1e-5)
    assert board.tie is not None
    assert board.tie.estimate == pytest.approx(0.927100, abs=1e-5)


@pytest.mark.parametrize("files", [1, 7])
def test_files_of_votes_are_one_table(tmp_path: Path, files: int) -> None:
    """Votes in 1 and 7 files, voters in several of them: the numbers of one table, to 1e-9."""
    table = arena(np.random.default_rng(11), battles=1400, items=12, voters=80)
    table["voter"] = [f"v{who}" for who in table["voter"]]
    whole = Leaderboard.fit(table)
    for part in range(files):
        rows = slice(part * 1400 // files, (part + 1) * 1400 // files)
        pq.write_table(
            pa.table({key: column[rows] for key, column in table.items()}),
            tmp_path / f"part-{part}.parquet",
        )
    found = Leaderboard.scan(tmp_path)
    assert (found.voters, found.votes, found.ties) == (80, 1400, whole.ties)
    np.testing.assert_allclose(found.strengths, whole.strengths, atol=1e-9)
    np.testing.assert_allclose(found.covariance, whole.covariance, atol=1e-9)
    assert [one.rank_high for one in found.standings] == [one.rank_high for one in whole.standings]


def test_a_file_of_which_no_vote_is_left_is_not_one_that_says_who_voted(tmp_path: Path) -> None:
    """Where voters have no names, a file with votes for neither alone changes nothing."""
    head = "model_a,model_b,winner\n"
    (tmp_path / "a.csv").write_text(f"{head}x,y,model_a\ny,x,model_a\nx,y,model_b\n")
    alone = Leaderboard.scan(tmp_path, both_bad="drop")
    (tmp_path / "b.csv").write_text(f"{head}x,y,tie (bothbad)\n")
    found = Leaderboard.scan(tmp_path, both_bad="drop")
    assert (found.votes, found.voters) == (alone.votes, alone.voters)
    np.testing.assert_allclose(found.covariance, alone.covariance, atol=1e-12)


@pytest.mark.parametrize("buckets", [1, 9])
def test_files_that_name_other_items_are_one_table(
    tmp_path: Path, buckets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files each with items of its own, voters in one bucket or nine, and none: one table's."""
    monkeypatch.setattr(battle_files, "VOTES_A_BUCKET", -(-900 // buckets))
    table = arena(np.random.default_rng(14), battles=900, items=9, voters=70)
    pairs = np.array([table["model_a"], table["model_b"]])
    kind = np.where((pairs >= "i4").all(axis=0), 0, np.where((pairs < "i4").all(axis=0), 1, 2))
    table["voter"] = [f"v{who}" for who in table["voter"]]
    for part in range(3):
        rows = np.flatnonzero(kind == part)
        assert rows.size
        columns = {key: np.asarray(column)[rows].tolist() for key, column in table.items()}
        pq.write_table(pa.table(columns), tmp_path / f"part-{part}.parquet")
    whole, found = Leaderboard.fit(table), Leaderboard.scan(tmp_path)
    assert (found.voters, found.items) == (70, whole.items)
    np.testing.assert_allclose(found.strengths, whole.strengths, atol=1e-9)
    np.testing.assert_allclose(found.covariance, whole.covariance, atol=1e-9)
    del table["voter"]
    for part in range(3):
        file = tmp_path / f"part-{part}.parquet"
        pq.write_table(pq.read_table(file).drop_columns(["voter"]), file)
    whole, found = Leaderboard.fit(table), Leaderboard.scan(tmp_path)
    np.testing.assert_allclose(found.covariance, whole.covariance, atol=1e-9)


def test_votes_on_a_cluster_are_those_of_one_process(tmp_path: Path) -> None:
    """Two workers of Dask, files in any order, the votes of a voter on both: the same numbers."""
    distributed = pytest.importorskip("distributed")
    table = arena(np.random.default_rng(15), battles=800, items=8, voters=60)
    table["voter"] = [f"v{who}" for who in table["voter"]]
    for part in range(4):
        columns = {key: column[part::4] for key, column in table.items()}
        pq.write_table(pa.table(columns), tmp_path / f"part-{part}.parquet")
    whole = Leaderboard.scan(tmp_path)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as many,
        distributed.Client(many, set_as_default=False) as client,
        DaskCluster(client) as engine,
    ):
        found = Leaderboard.scan(tmp_path, engine=engine)
        # Again with the same engine, which has other files of these paths by then.
        again = Leaderboard.scan(tmp_path, both_bad="drop", engine=engine)
    np.testing.assert_allclose(found.strengths, whole.strengths, atol=1e-12)
    np.testing.assert_allclose(found.covariance, whole.covariance, atol=1e-12)
    assert (found.voters, found.votes, again.votes) == (60, 800, whole.votes)


def test_files_without_both_bad_votes(tmp_path: Path) -> None:
    """Dropped votes are dropped in files too, with their voters' numbers; no file is an error."""
    table = arena(np.random.default_rng(12), battles=600, items=6, voters=40)
    table["winner"] = ["both_bad" if word == "tie" else word for word in table["winner"]]
    whole = Leaderboard.fit(Battles.from_frame(table, both_bad="drop"))
    pq.write_table(pa.table(table), tmp_path / "all.parquet")
    found = Leaderboard.scan(tmp_path, both_bad="drop")
    np.testing.assert_allclose(found.strengths, whole.strengths, atol=1e-9)
    np.testing.assert_allclose(found.covariance, whole.covariance, atol=1e-9)
    with pytest.raises(EmptyTable):
        Leaderboard.scan(tmp_path / "nowhere")


def test_voters_in_buckets_give_the_same_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 50 votes a bucket, and voters told apart by hashes: the scores' sums, to 1e-9."""
    battles = counted(arena(np.random.default_rng(13), battles=1000, voters=90))
    fit = fit_strengths(battles.counts, TIE_MODELS["davidson"])
    whole, voters = voter_scatter(fit, battles)
    monkeypatch.setattr(battle_counts, "_VOTES_A_BUCKET", 50)
    hashes = np.array([hash(f"v{code}") for code in np.asarray(battles.voter)])
    for voter in (battles.voter, hashes):
        found, many = voter_scatter(fit, replace(battles, voter=voter))
        assert many == voters
        np.testing.assert_allclose(found, whole, atol=1e-9)
