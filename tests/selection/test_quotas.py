"""How many of each level to ask, where people are known by their level alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.selection import LevelOffer, quotas_by_level, quotas_of_wave, worth_by_level

OFFERS = (
    LevelOffer("high", 100, 1, 4.0, 0.1),
    LevelOffer("medium", 100, 2, 1.0, 0.4),
    LevelOffer("low", 100, 4, 0.2, 1.5),
)


def cost(seats: dict[str, int], offers: tuple[LevelOffer, ...] = OFFERS) -> float:
    """Return the cost of seats."""
    return sum(seats[offer.name] * offer.price for offer in offers)


def test_whoever_cannot_afford_it_is_not_asked() -> None:
    """A level that takes more privacy than is left gets no seats, however cheap."""
    assert quotas_by_level(OFFERS, budget=None) == {"high": 100, "medium": 100, "low": 0}


@given(
    budget=st.integers(0, 500),
    policy=st.sampled_from(["precision", "random", "stratified-random"]),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_prop_no_plan_overspends(budget: int, policy: str, alpha: float) -> None:
    """Seats fit the budget and the people there are, and the same plan gives the same seats."""
    found = quotas_by_level(OFFERS, budget=budget, policy=policy, alpha=alpha)
    assert cost(found) <= budget
    assert all(0 <= found[offer.name] <= offer.people for offer in OFFERS)
    assert found == quotas_by_level(OFFERS, budget=budget, policy=policy, alpha=alpha)


def test_fairness_moves_seats_to_those_who_lose_least() -> None:
    """With all weight on privacy, the level that costs least of it is filled first."""
    cheap = quotas_by_level(OFFERS, budget=120, alpha=0.0, quotas=False)
    fair = quotas_by_level(OFFERS, budget=120, alpha=1.0, quotas=False)
    assert fair["high"] >= cheap["high"]
    assert fair["high"] == 100


def test_a_precision_target_stops_early() -> None:
    """A coarser target asks fewer people, and none asks nobody."""
    counts = [
        sum(quotas_by_level(OFFERS, budget=None, precision_target=target).values())
        for target in (0.3, 0.2, 0.13)
    ]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] < 200


def test_waves_spend_what_is_left() -> None:
    """The first wave spends 0.6 of the budget over the response rate, later ones all the rest."""
    flat = tuple(LevelOffer(o.name, o.people, 1, o.noise_variance) for o in OFFERS)
    first = quotas_of_wave(flat, budget=60, wave=1, response_rate=0.5, responded={})
    assert sum(first.values()) == math.floor(0.6 * 60 / 0.5)
    second = quotas_of_wave(flat, budget=60, wave=2, response_rate=0.5, responded={"low": 30})
    assert sum(second.values()) == 60
    assert second["low"] <= 70


@pytest.mark.parametrize(
    "offers", [(), (LevelOffer("a", 0, 1, 1.0),), (LevelOffer("a", -1, 1, 1.0),)]
)
def test_nobody_cannot_be_asked(offers: tuple[LevelOffer, ...]) -> None:
    """A plan without people is refused."""
    with pytest.raises(ParameterError, match="people"):
        quotas_by_level(offers, budget=1)


def test_more_came_than_were_planned() -> None:
    """The message names the level."""
    with pytest.raises(ParameterError, match="'high'"):
        quotas_of_wave(OFFERS, budget=9, wave=2, response_rate=1, responded={"high": 101})


def test_what_a_level_is_worth_says_what_it_adds_and_takes() -> None:
    """Asking one takes money at alpha 0 and privacy at 1; less noise adds more."""
    offers = [
        LevelOffer("high", 60, 2.0, 4.0, 0.1),
        LevelOffer("low", 40, 1.0, 0.4, 0.5),
    ]
    for alpha, burdens in ((0.0, (0.04, 0.02)), (1.0, (0.1, 0.5)), (0.5, (0.07, 0.26))):
        worth = worth_by_level(offers, budget=50, alpha=alpha)
        assert [worth[name][1] for name in ("high", "low")] == pytest.approx(burdens)
    assert worth["low"][0] > worth["high"][0]
    # Without a budget it is what everybody together costs: 160.
    assert worth_by_level(offers, budget=None)["high"][1] == pytest.approx(2 / 160)
