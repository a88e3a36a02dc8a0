"""Synthetic claims by any engine of the shelf: with coins, or for studies with a seed."""

from __future__ import annotations

import numpy as np

from masquerade.accounting import Cost, Ledger, charge_all, pure_loss
from masquerade.answers import Claims, Frame, Progress
from masquerade.exact import Coins, SimulatedCoins
from masquerade.exact.coins import WordSource, require_coins
from masquerade.exact.number import whole
from masquerade.release import GroupedClaims
from masquerade_papers.priscrowd.density import DensityModel
from masquerade_papers.priscrowd.engines import Data, Engine, claims_of
from masquerade_papers.priscrowd.release import Release


def synthesize(
    data: Claims | Frame | Data,
    *,
    engine: Engine,
    samples: int = 30,
    ledger: Ledger | None = None,
    name: str = "release",
    coins: Coins | None = None,
    progress: Progress | None = None,
) -> Release:
    """Draw synthetic claims about each object with the operating system's randomness.

    `data`: a model is used as it is by the engines of the published test. `samples`: points of each
    object, at least 1. `ledger`: every user whose claims are used is charged before anything is
    drawn, all or nobody.
    """
    source = require_coins(coins)
    whole(samples, "samples", low=1)
    used = _within_cap(engine, _grouped(data), source)
    if ledger is not None:
        _charge(ledger, engine, claims_of(used), name)
    return engine.draw(used, samples, source, progress)


def simulate(
    data: Claims | Frame | Data,
    rng: np.random.Generator,
    *,
    engine: Engine,
    samples: int = 30,
    progress: Progress | None = None,
) -> Release:
    """Draw a release of an engine with a seeded generator; it promises nothing."""
    whole(samples, "samples", low=1)
    source = SimulatedCoins(rng)
    return engine.draw(_within_cap(engine, _grouped(data), source), samples, source, progress)


def _charge(ledger: Ledger, engine: Engine, claims: GroupedClaims, name: str) -> None:
    objects = claims.objects_per_user()
    # one price a number of objects, shared by all users with that number
    costs = {
        count: Cost(name, (), engine.loss(1), pure_loss(engine.loss(count)))
        for count in np.unique(objects[objects > 0]).tolist()
    }
    people = [
        (str(person), costs[count])
        for person, count in zip(claims.users.to_pylist(), objects.tolist(), strict=True)
        if count
    ]
    with charge_all(ledger, people, result="release", name=name):
        pass  # final before anything is drawn


def _grouped(data: Claims | Frame | Data) -> Data:
    return data if isinstance(data, GroupedClaims | DensityModel) else GroupedClaims.of(data)


def _within_cap(engine: Engine, data: Data, source: WordSource) -> Data:
    """Return the claims that the engine uses; a model stays as it is where its claims do."""
    if isinstance(data, DensityModel):
        # weights learnt from claims that the cap leaves out must not be used
        capped = engine.within_cap(data.claims, source)
        return data if capped is data.claims else capped
    return engine.within_cap(data, source)
