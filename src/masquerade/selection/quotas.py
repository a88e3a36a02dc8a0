"""Quotas: how many people of each privacy level to ask, where nothing else is known of anybody."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from masquerade.errors import ParameterError
from masquerade.selection.pool import Pool
from masquerade.selection.selection import Selection, next_wave, select

MOST_PEOPLE = 1_000_000


@dataclass(frozen=True, slots=True)
class LevelOffer:
    """Expected participants at a level, all alike.

    Attributes
    ----------
    people : int
        How many there are.
    price : float
        What each is paid, at least 0.
    noise_variance : float
        What their masks add to one report, in squared widths of a question's range; the mean over
        the questions.
    privacy_share : float
        Share of what is left on their ledgers that the survey takes; above 1 nobody can be asked.

    Examples
    --------
    >>> LevelOffer("high", people=40, price=1.0, noise_variance=2.25).people
    40
    """

    name: str
    people: int
    price: float
    noise_variance: float
    privacy_share: float = 0.0


def quotas_by_level(
    offers: Sequence[LevelOffer],
    *,
    budget: float | None,
    policy: str = "precision",
    alpha: float = 0.0,
    precision_target: float | None = None,
    quotas: bool = True,
    seed: int = 0,
) -> dict[str, int]:
    """Return how many people of each level a policy asks.

    Parameters
    ----------
    offers : sequence of LevelOffer
        One for each level.
    budget : float or None
        None: everybody can be paid.
    policy, alpha, precision_target, quotas
        As in `select`; without history, so ``"precision"``, ``"random"`` or
        ``"stratified-random"``.
    seed : int
        Of the policies by chance: the same plan gives the same numbers.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> offers = [LevelOffer("high", 60, 2, 4.0), LevelOffer("low", 40, 1, 0.4)]
    >>> quotas_by_level(offers, budget=50)
    {'high': 8, 'low': 34}
    """
    pool = _pool(offers)
    total = float(pool.cost.sum())
    if budget == 0 and pool.cost.min() > 0:
        return {offer.name: 0 for offer in offers}
    chosen = select(
        pool,
        # Where nobody costs anything it may be 0, and scores are divided by it.
        budget=max(total if budget is None else budget, 1e-9),
        policy=policy,
        alpha=alpha,
        rng=np.random.default_rng(seed),
        quotas=quotas,
        precision_target=precision_target,
    )
    return _counted(offers, chosen)


def quotas_of_wave(
    offers: Sequence[LevelOffer],
    *,
    budget: float,
    wave: int,
    response_rate: float,
    responded: Mapping[str, int],
    alpha: float = 0.0,
) -> dict[str, int]:
    """Return how many more people of each level to invite in a wave; see `next_wave`.

    Parameters
    ----------
    responded : mapping of str to int
        How many took part at each level so far.

    Examples
    --------
    >>> from masquerade.selection import LevelOffer
    >>> offers = [LevelOffer("high", 40, 1.0, 2.25), LevelOffer("low", 40, 1.0, 0.14)]
    >>> quotas_of_wave(offers, budget=20, wave=1, response_rate=0.5, responded={})
    {'high': 8, 'low': 16}
    """
    pool = _pool(offers)
    came = []
    for offer in offers:
        if responded.get(offer.name, 0) > offer.people:
            raise ParameterError(
                f"{responded[offer.name]} people took part at level {offer.name!r}, of which the "
                f"plan has {offer.people}; plan with more people."
            )
        came += [f"{offer.name}-{i}" for i in range(responded.get(offer.name, 0))]
    chosen = next_wave(
        pool, budget=budget, wave=wave, response_rate=response_rate, responded=came, alpha=alpha
    )
    return _counted(offers, chosen)


def worth_by_level(
    offers: Sequence[LevelOffer], *, budget: float | None, alpha: float = 0.0
) -> dict[str, tuple[float, float]]:
    """Return the precision of one person of each level, per money and privacy.

    The policy ``"precision"`` asks first where the first is largest for the second.

    Parameters
    ----------
    offers, budget, alpha
        As in `quotas_by_level`.

    Examples
    --------
    >>> worth = worth_by_level([LevelOffer("high", 60, 2, 4.0)], budget=50)
    >>> [round(one, 3) for one in worth["high"]]
    [0.246, 0.04]
    """
    pool = _pool([replace(offer, people=1) for offer in offers])
    total = math.fsum(offer.price * offer.people for offer in offers)
    score = pool.score(budget=max(total if budget is None else budget, 1e-9), alpha=alpha)
    pairs = zip(pool.precision.tolist(), score.tolist(), strict=True)
    return {offer.name: pair for offer, pair in zip(offers, pairs, strict=True)}


def _pool(offers: Sequence[LevelOffer]) -> Pool:
    total = sum(offer.people for offer in offers)
    if not 1 <= total <= MOST_PEOPLE or any(offer.people < 0 for offer in offers):
        raise ParameterError(f"the plan has {total} people, expected 1 to {MOST_PEOPLE}.")
    count = [offer.people for offer in offers]
    names = [offer.name for offer in offers]
    columns = {
        name: np.repeat([float(getattr(offer, name)) for offer in offers], count)
        for name in ("price", "noise_variance", "privacy_share")
    }
    return Pool(
        [f"{offer.name}-{i}" for offer in offers for i in range(offer.people)],
        columns["price"],
        columns["noise_variance"],
        level=[name for name, n in zip(names, count, strict=True) for _ in range(n)],
        privacy_share=columns["privacy_share"],
    )


def _counted(offers: Sequence[LevelOffer], chosen: Selection) -> dict[str, int]:
    count = {offer.name: 0 for offer in offers}
    for person in chosen.people:
        count[person.rpartition("-")[0]] += 1  # a level's own name may hold a hyphen
    return count
