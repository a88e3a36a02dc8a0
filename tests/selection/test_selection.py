"""Policies spend at most the budget, and keep their promised precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.selection import POLICIES, Pool, next_wave, predicted_error, select

LEVEL_NOISE = {"none": 0.0, "low": 0.5625, "medium": 2.25, "high": 9.0}
PRICE = {"none": 0.8, "low": 0.4, "medium": 0.2, "high": 0.1}


def pool(size: int, seed: int = 0, *, names: Any = ("low", "medium", "high"), **more: Any) -> Pool:
    """Return people at random levels with the published prices."""
    level = np.random.default_rng(seed).choice(list(names), size).tolist()
    return Pool(
        [f"p{i}" for i in range(size)],
        [PRICE[name] for name in level],
        [LEVEL_NOISE[name] for name in level],
        level=level,
        **more,
    )


@given(
    size=st.integers(1, 60),
    seed=st.integers(0, 10**6),
    budget=st.floats(0.05, 30),
    alpha=st.sampled_from([0.0, 0.4, 1.0]),
    policy=st.sampled_from(POLICIES),
)
def test_prop_nobody_twice_nobody_exhausted_never_over_budget(
    size: int, seed: int, budget: float, alpha: float, policy: str
) -> None:
    """For every policy, pool, budget and alpha."""
    share = np.random.default_rng(seed).choice([0.1, 0.5, 1.0, 1.0000001, np.inf], size)
    people = pool(size, seed, privacy_share=share)
    found = select(
        people,
        budget=budget,
        policy=policy,
        alpha=alpha,
        rng=np.random.default_rng(seed),
    )
    assert len(set(found.people)) == len(found.people)
    assert found.cost <= budget * (1 + 1e-9)
    assert (share[found.chosen] <= 1).all()
    assert found.to_json()["inputs"] == people.digest()


@pytest.mark.parametrize("policy", POLICIES)
def test_with_all_the_money_all_are_asked(policy: str) -> None:
    """At full budget the policies agree."""
    people = pool(40)
    found = select(people, budget=float(people.cost.sum()), policy=policy, quotas=False)
    assert len(found.people) == 40


def test_the_default_predicts_less_error_than_chance() -> None:
    """At 30 % of the money, precision promises at least a tenth less error than chance."""
    people = pool(2_000, names=("none", "low", "medium", "high"))
    budget = 0.3 * float(people.cost.sum())
    best = select(people, budget=budget, quotas=False)
    chance = select(people, budget=budget, policy="random", rng=np.random.default_rng(0))
    assert best.predicted_error < 0.9 * chance.predicted_error


def test_the_predicted_error_is_what_simulation_finds() -> None:
    """Weighted means of 4,000 simulated surveys; within 5 %."""
    people = pool(60, bias_variance=np.full(60, 0.01))
    found = select(people, budget=6.0)
    rng = np.random.default_rng(5)
    answers = rng.normal(0, np.sqrt(0.0625 + 0.01), (4_000, 60))
    weight = people.precision[found.chosen]
    reports = answers[:, found.chosen]
    reports = reports + rng.normal(0, np.sqrt(people.noise_variance[found.chosen]), reports.shape)
    errors = reports @ (weight / weight.sum()) - answers.mean(axis=1)
    assert found.predicted_error == pytest.approx(np.sqrt((errors**2).mean()), rel=0.05)


def test_every_level_gets_seats() -> None:
    """Eight at least, or a twentieth, where there are so many; without quotas, the noisy fewer."""
    people = pool(600, names=("none", "low", "medium", "high"))
    budget = 0.15 * float(people.cost.sum())
    level = np.asarray(people.level)
    found = select(people, budget=budget)
    counts = {name: int((level[found.chosen] == name).sum()) for name in LEVEL_NOISE}
    assert min(counts.values()) >= 8
    without = select(people, budget=budget, quotas=False)
    assert int((level[without.chosen] == "high").sum()) < 8


def test_alpha_spreads_the_loss_of_privacy() -> None:
    """With alpha 1 the fresh are asked before those with little left."""
    share = np.linspace(0.01, 0.9, 100)
    people = Pool([f"p{i}" for i in range(100)], np.ones(100), np.ones(100), privacy_share=share)
    fair = select(people, budget=30.0, alpha=1.0)
    assert set(fair.chosen.tolist()) == set(range(30))


def test_a_precision_target_ends_the_selection() -> None:
    """The first prefix that reaches it; one person fewer would not."""
    people = pool(500)
    found = select(people, budget=float("inf"), precision_target=0.06, quotas=False)
    assert found.predicted_error <= 0.06 < predicted_error(people, found.chosen[:-1])
    assert len(found.people) < 500


def test_one_much_better_person_beats_many_cheap_ones() -> None:
    """The knapsack's bound: the best single person is weighed against the list by ratio."""
    people = Pool(["a", "b", "c"], [1.0, 1.0, 10.0], [50.0, 50.0, 0.0], within=0.01)
    assert select(people, budget=10.0).people[0] == "c"


def test_reasons_are_given_in_words() -> None:
    """Chosen or not, a person can read why."""
    people = pool(30)
    found = select(people, budget=1.0)
    assert f"number 1 of {len(found.people)}" in found.explain(found.people[0])
    left_out = next(p for p in people.people if p not in found.people)
    assert "not invited" in found.explain(left_out)


def test_waves_spend_what_is_left_on_others() -> None:
    """The first at most 60 %, with spare invitations; then without the silent ones."""
    people = pool(200)
    first = next_wave(people, budget=10.0, wave=1, response_rate=0.5)
    assert 6 < first.cost <= 12
    came, silent = first.people[::2], first.people[1::2]
    second = next_wave(
        people, budget=10.0, wave=2, response_rate=0.5, responded=came, silent=silent
    )
    assert not set(second.people) & set(first.people)
    paid = sum(float(people.cost[people.people.index(p)]) for p in came)
    assert second.cost <= (10 - paid) / 0.5 + 1e-9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budget": 0.0}, "budget is 0"),
        ({"policy": "best"}, "policy is 'best'"),
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"policy": "random", "precision_target": 0.1}, "precision_target"),
        ({"precision_target": 0.0}, "precision_target"),
    ],
    ids=str,
)
def test_bad_requests_say_what_was_expected(change: dict[str, Any], said: str) -> None:
    """Each message names the parameter and its range."""
    with pytest.raises(ParameterError, match=said):
        select(pool(5), **{"budget": 1.0, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cost": [1.0, float("nan")]}, r"row 2 \(b\): cost"),
        ({"cost": [1.0]}, "cost has shape"),
        ({"noise_variance": [-1.0, 1.0]}, r"row 1 \(a\): noise_variance"),
        ({"people": ["a", "a"]}, "'a' stands 2 times"),
        ({"level": ["low"]}, "levels"),
        ({"within": 0.0}, "within"),
    ],
    ids=str,
)
def test_bad_pools_say_which_row(change: dict[str, Any], said: str) -> None:
    """Row, name and value."""
    columns: dict[str, Any] = {"people": ["a", "b"], "cost": [1.0, 1.0], "noise_variance": [1, 1]}
    with pytest.raises(ParameterError, match=said):
        Pool(**{**columns, **change})


def test_people_are_named_by_texts() -> None:
    """Whole numbers as names are refused, with the row."""
    with pytest.raises(ParameterError, match="row 2: 7 is no text"):
        Pool(["a", 7], [1, 1], [0, 0])  # type: ignore[list-item]


def test_a_seed_is_no_generator() -> None:
    """A number in place of a generator is refused before anybody is chosen."""
    with pytest.raises(ParameterError, match=r"rng is int, expected numpy.random.Generator"):
        select(pool(5), budget=1, policy="random", rng=3)  # type: ignore[arg-type]
