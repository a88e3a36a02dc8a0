"""Synthetic claims by any engine: with the operating system's randomness, or for studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from masquerade.accounting import Cost, Ledger, charged_together
from masquerade.answers import Claims, Frame
from masquerade.errors import ParameterError
from masquerade.exact import Coins, SimulatedCoins
from masquerade.exact.coins import WordSource, require_coins
from masquerade.exact.number import Number, finite, whole
from masquerade.release.density import DensityModel
from masquerade.release.domain import Domain, Ends
from masquerade.release.engine import Engine, Progress
from masquerade.release.guarantee import Unit
from masquerade.release.histogram import Histogram, TwoPassHistogram
from masquerade.release.honest import HonestTest
from masquerade.release.local_noise import LocalNoise
from masquerade.release.objects import Duplicates, Missing, ObjectClaims
from masquerade.release.pooled import PooledHistogram
from masquerade.release.published import PublishedTest, UniformTest
from masquerade.release.release import Release

ENGINES: tuple[type[Engine], ...] = (
    Histogram, TwoPassHistogram, PooledHistogram, LocalNoise, HonestTest,
    PublishedTest, UniformTest,
)  # fmt: skip
"""All engines, those to use first."""

_PRIVATE: dict[str, Callable[..., Engine]] = {
    engine.name: engine for engine in (Histogram, TwoPassHistogram, PooledHistogram, LocalNoise)
}
_STUDY: dict[str, Callable[[], Engine]] = {e.name: e for e in (PublishedTest, UniformTest)}


def engine_named(
    name: str,
    *,
    epsilon: Number | None = None,
    domain: Domain | Ends | None = None,
    unit: Unit | None = None,
    cap: int = 10,
    delta: Number | None = None,
    bandwidth: Number | None = None,
    bins: int | None = None,
) -> Engine:
    """Return an engine by its name on the command line.

    Parameters
    ----------
    name : str
        ``hist``, ``hist2``, ``pooled``, ``basic``, ``test-honest``, ``test-paper`` or ``uniform``.
    epsilon, domain, cap
        See `PrivateEngine`; required by all but the last two.
    unit : {"claim", "user"}, optional
        Default: ``"user"`` for ``hist2``, which has no other, else ``"claim"``.
    delta : number, optional
        For ``test-honest`` alone.
    bandwidth : number, optional
        Public: `smoothing` of the histogram engines, required by ``test-honest``.
    bins : int, optional
        Public, for the histogram engines.

    Raises
    ------
    ParameterError
        The name is unknown, or a parameter is missing, not the engine's, or out of range.
    """
    if name in _STUDY:
        if any(x is not None for x in (epsilon, delta, unit, bins)):
            raise ParameterError(
                f"{name} promises nothing, so it takes no epsilon, delta, unit or bins; leave them "
                "out, or use hist."
            )
        return _STUDY[name]()
    if name not in _PRIVATE and name != HonestTest.name:
        raise ParameterError(
            f"engine {name!r} is unknown; expected one of "
            f"{', '.join(engine.name for engine in ENGINES)}."
        )
    if epsilon is None:
        raise ParameterError(f"{name} needs epsilon, the privacy loss that the release may cost.")
    chosen = unit or ("user" if name == TwoPassHistogram.name else "claim")
    common: dict[str, Any] = {"epsilon": epsilon, "domain": domain, "unit": chosen, "cap": cap}
    if name == HonestTest.name:
        if bins is not None:
            raise ParameterError("test-honest has no bins; leave them out.")
        extra: dict[str, Any] = {} if delta is None else {"delta": delta}
        return HonestTest(**common, bandwidth=bandwidth, **extra)
    if delta is not None:
        raise ParameterError(f"{name} has delta 0; leave delta out.")
    if name == LocalNoise.name:
        if bandwidth is not None or bins is not None:
            raise ParameterError("basic has neither bandwidth nor bins; leave them out.")
        return LocalNoise(**common)
    smoothing = None if bandwidth is None else float(finite(bandwidth, "bandwidth"))
    return _PRIVATE[name](**common, smoothing=smoothing, bins=bins)


def synthesize(
    data: Claims | Frame | ObjectClaims | DensityModel,
    *,
    engine: Engine | str = "hist",
    epsilon: Number | None = None,
    domain: Domain | Ends | None = None,
    unit: Unit | None = None,
    cap: int = 10,
    delta: Number | None = None,
    bandwidth: Number | None = None,
    bins: int | None = None,
    samples: int = 30,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    ledger: Ledger | None = None,
    name: str = "release",
    coins: Coins | None = None,
    progress: Progress | None = None,
) -> Release:
    """Return synthetic claims about each object, drawn with the operating system's randomness.

    Parameters
    ----------
    data : Claims, table, ObjectClaims or DensityModel
        What the collector holds. A model is used as it is by the engines of the published test.
    engine : Engine or str
        An engine, or the name of one with the parameters that follow; see `engine_named`.
    samples : int
        Points of each object, at least 1. Engines that make histograms charge nothing for more.
    missing, duplicates
        See `ObjectClaims.of`.
    ledger : Ledger, optional
        Every user whose claims are used is charged before anything is drawn, all or nobody.
    name : str
        What the ledger calls the release. Each call is charged, also under a name used before.
    coins : Coins, optional
        Default: fresh ones.
    progress : callable, optional
        Is told how many objects are done.

    Raises
    ------
    InputError
        A claim cannot be used.
    ParameterError
        A parameter is missing or out of range. A private engine without a public domain is refused.
    InsufficientBudget
        A user has too little left; nobody was charged and nothing was drawn.
    NoGuarantee
        There is a ledger, and the engine promises nothing that could be counted.

    Privacy
    -------
    That of the engine, in ``release.guarantee``. The points and densities, statuses, parameters and
    the codebook are covered; ``release.collector`` is not.

    Examples
    --------
    >>> claims = {"task": ["a"] * 6, "worker": list("uvwxyz"), "value": [4, 5, 5, 5, 6, 5]}
    >>> release = synthesize(claims, engine="hist", epsilon=1, domain=(0, 10), samples=30)
    >>> len(release.points_of("a")), release.guarantee.epsilon
    (30, Loss(micro=1000000))
    """
    chosen = _chosen(engine, epsilon, domain, unit, cap, delta, bandwidth, bins)
    source = require_coins(coins)
    claims = _grouped(data, missing, duplicates)
    whole(samples, "samples", low=1)
    used = _used(chosen, claims, source)
    if ledger is not None:
        charge(ledger, chosen, used, name)
    return chosen.draw(used, samples, source, progress)


def simulate(
    data: Claims | Frame | ObjectClaims | DensityModel,
    rng: np.random.Generator,
    *,
    engine: Engine,
    samples: int = 30,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    progress: Progress | None = None,
) -> Release:
    """Return what an engine would release, drawn with a seeded generator: for studies and tests.

    See `synthesize` for the parameters. The same generator state gives the same release.

    Privacy
    -------
    None: whoever knows or guesses the seed can take the noise off. The release's guarantee and its
    codebook say so.
    """
    claims = _grouped(data, missing, duplicates)
    whole(samples, "samples", low=1)
    source = SimulatedCoins(rng)
    return engine.draw(_used(engine, claims, source), samples, source, progress)


def charge(ledger: Ledger, engine: Engine, claims: ObjectClaims, name: str) -> None:
    """Charge every user whose claims are used, all or nobody.

    Parameters
    ----------
    ledger : Ledger
    engine : Engine
    claims : ObjectClaims
        Those that are used, after the cap.
    name : str
        Of the release, as it stands in each user's account.

    Raises
    ------
    NoGuarantee
        The engine promises nothing that adds up; nobody was charged.
    InsufficientBudget
        A user has too little left, or no rho; what had been reserved was given back.
    """
    objects = claims.objects_per_user()
    costs = {
        made: Cost(name, (), event=engine.loss(1), user=engine.loss(made))
        for made in np.unique(objects[objects > 0]).tolist()
    }
    people = [
        (str(person), costs[made])
        for person, made in zip(claims.users.to_pylist(), objects.tolist(), strict=True)
        if made
    ]
    with charged_together(ledger, people, result="release", name=name):
        pass  # final before anything is drawn


def _chosen(engine: Engine | str, *given: Any) -> Engine:
    names = ("epsilon", "domain", "unit", "cap", "delta", "bandwidth", "bins")
    if isinstance(engine, str):
        return engine_named(engine, **dict(zip(names, given, strict=True)))
    extra = [
        n
        for n, x in zip(names, given, strict=True)
        if x is not None and not (n == "cap" and x == 10)
    ]
    if extra:
        raise ParameterError(
            f"{', '.join(extra)} were given beside an engine that has its own; give them to the "
            "engine."
        )
    return engine


def _grouped(
    data: Claims | Frame | ObjectClaims | DensityModel, missing: Missing, duplicates: Duplicates
) -> ObjectClaims | DensityModel:
    if isinstance(data, ObjectClaims | DensityModel):
        return data
    return ObjectClaims.of(data, missing=missing, duplicates=duplicates)


def _used(engine: Engine, data: ObjectClaims | DensityModel, source: WordSource) -> Any:
    if isinstance(data, DensityModel):
        capped = engine.within_cap(data.claims, source)
        return data if capped is data.claims else capped
    return engine.within_cap(data, source)
