"""Synthetic claims by any engine: for publication, or for studies with a seed.

The points of a claim's density are drawn in `mixtures`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Claims, Frame, Progress
from masquerade.errors import EmptyTable, MechanismSyntaxError, ParameterError
from masquerade.exact import Coins, SimulatedCoins
from masquerade.exact.coins import WordSource, require_coins
from masquerade.exact.number import NumberLike, whole
from masquerade.mechanisms.text import read_field, read_text_form
from masquerade.release.density import DensityModel
from masquerade.release.domain import Domain, Ends
from masquerade.release.engine import Data, Engine, claims_of
from masquerade.release.grouped_claims import Duplicates, GroupedClaims, Missing
from masquerade.release.guarantee import Unit
from masquerade.release.histogram import Histogram, TwoPassHistogram
from masquerade.release.pooled import PooledHistogram
from masquerade.release.posterior import PosteriorHistogram, SourceHistogram, WienerHistogram
from masquerade.release.release import Release

_LOGGER = logging.getLogger(__name__)

#: All engines, those to use first.
ENGINES: tuple[type[Engine], ...] = (
    PosteriorHistogram,
    SourceHistogram,
    WienerHistogram,
    Histogram,
    TwoPassHistogram,
    PooledHistogram,
)


def parse_engine(
    text: str,
    *,
    epsilon: NumberLike | None = None,
    domain: Domain | Ends | None = None,
    unit: Unit | None = None,
    cap: int | None = None,
    bandwidth: NumberLike | None = None,
    bins: int | None = None,
    objects: Sequence[Any] | None = None,
) -> Engine:
    """Return the engine that a text describes; ``str(engine)`` is such a text.

    Parameters
    ----------
    text : str
        ``name`` or ``name:key=value,...``: ``claims``, ``source``, ``wiener``, ``hist``, ``hist2``
        or ``pooled``, with any parameter but `domain`, `reliability` and `objects`.
    domain : Domain or (low, high), optional
        See `PrivateEngine`.
    epsilon, unit, cap, bandwidth, bins : optional
        The same as in the text, where the engine has such a parameter.
    objects : sequence of names, optional
        The public list of objects; see `PosteriorHistogram`.

    Raises
    ------
    MechanismSyntaxError
        The name or a key is unknown, or a parameter is given twice.
    ParameterError
        A parameter is missing, not the engine's, or out of range.

    Examples
    --------
    >>> str(parse_engine("hist:bins=20,unit=user", epsilon="1/3", domain=(0, 10)))
    'hist:epsilon=1/3,unit=user,bins=20'
    """
    return _engine(text, _beside_text(epsilon, domain, unit, cap, bandwidth, bins, objects))


def _engine(text: str, beside: Mapping[str, Any]) -> Engine:
    kinds = {kind.name: kind for kind in ENGINES}
    types = {name: kind.parameters() for name, kind in kinds.items()}
    name, written = read_text_form(text, types, what="engine")
    kind = kinds[name]
    values = {key: read_field(value, types[name][key], key) for key, value in written.items()}
    for key in beside:
        if key in values:
            raise MechanismSyntaxError(f"{key} is given twice, once in {text!r}; drop one.")
        if key not in types[name] and key not in kind.beside:
            promise = "" if kind.private else "promises nothing and "
            raise ParameterError(f"{name} {promise}has no {key}; it has {', '.join(types[name])}.")
    values |= beside
    if kind.private:
        if "epsilon" not in values:
            raise ParameterError(
                f"{name} needs epsilon, the privacy loss that the release may cost."
            )
        values.setdefault("domain", None)  # the engine says why there has to be one
        if kind.only_unit is not None:
            values.setdefault("unit", kind.only_unit)
    return kind(**values)


def synthesize(
    data: Claims | Frame | Data,
    *,
    engine: Engine | str = "claims",
    epsilon: NumberLike | None = None,
    domain: Domain | Ends | None = None,
    unit: Unit | None = None,
    cap: int | None = None,
    bandwidth: NumberLike | None = None,
    bins: int | None = None,
    objects: Sequence[Any] | None = None,
    samples: int = 30,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    ledger: Ledger | None = None,
    name: str = "release",
    coins: Coins | None = None,
    progress: Progress | None = None,
) -> Release:
    """Draw synthetic claims about each object with the operating system's randomness.

    Parameters
    ----------
    data : Claims, table, GroupedClaims or DensityModel
        What the collector holds. A model is used as it is by the engines of the published test.
    engine : Engine or str
        An engine, or its text form, such as ``"hist:bins=20"``.
    epsilon, domain, unit, cap, bandwidth, bins, objects : optional
        Parameters beside the text form; see `parse_engine`.
    samples : int
        Points of each object, at least 1. Engines that make histograms charge nothing for more.
    missing, duplicates
        See `GroupedClaims.of`.
    ledger : Ledger, optional
        Every user whose claims are used is charged before anything is drawn, all or nobody.
    name : str
        What the ledger calls the release. Each call is charged, also under a name used before.
    coins : Coins, optional
        Default: fresh ones.
    progress : callable, optional
        Is told how many objects are done, of how many.

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
    >>> release = synthesize(claims, epsilon=1, domain=(0, 10), samples=30)
    >>> len(release.points_of("a")), release.guarantee.epsilon
    (30, Micro(micro=1000000))
    """
    beside = _beside_text(epsilon, domain, unit, cap, bandwidth, bins, objects)
    if isinstance(engine, str):
        engine = _engine(engine, beside)
    elif beside:
        raise ParameterError(
            f"{', '.join(beside)} stand beside an engine that has its own; give them to the engine."
        )
    # everything that can be wrong is refused before the ledger is charged
    source = require_coins(coins)
    claims = _grouped(data, missing, duplicates, engine)
    whole(samples, "samples", low=1)
    used = _within_cap(engine, claims, source)
    if ledger is not None:
        # after the cap, so that nobody pays for claims that are left out, and before any draw
        charge(ledger, engine, claims_of(used), name)
    release = engine.draw(used, samples, source, progress)
    # Nothing read off the claims, not even how many there are.
    _LOGGER.debug("%s: %d points of each object drawn", engine.name, samples)
    return release


def simulate(
    data: Claims | Frame | Data,
    rng: np.random.Generator,
    *,
    engine: Engine,
    samples: int = 30,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    progress: Progress | None = None,
) -> Release:
    """Draw what an engine would release with a seeded generator: for studies and tests.

    See `synthesize` for the parameters. The same generator state gives the same release.

    Privacy
    -------
    None: whoever knows or guesses the seed can take the noise off. The release's guarantee and its
    codebook say so.

    Examples
    --------
    >>> from masquerade.release import parse_engine
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> engine = parse_engine("hist", epsilon=1, domain=(0, 10))
    >>> made = simulate(claims, np.random.default_rng(1), engine=engine, samples=5)
    >>> made.to_arrow().num_rows, made.guarantee.status
    (5, 'none')
    """
    claims = _grouped(data, missing, duplicates, engine)
    whole(samples, "samples", low=1)
    source = SimulatedCoins(rng)
    return engine.draw(_within_cap(engine, claims, source), samples, source, progress)


def charge(ledger: Ledger, engine: Engine, claims: GroupedClaims, name: str) -> None:
    """Charge every user whose claims are used, all or nobody.

    Parameters
    ----------
    claims : GroupedClaims
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
    # one price a number of objects, shared by all users with that number
    costs = {
        count: Cost(name, (), event=engine.loss(1), user=engine.loss(count))
        for count in np.unique(objects[objects > 0]).tolist()
    }
    people = [
        (str(person), costs[count])
        for person, count in zip(claims.users.to_pylist(), objects.tolist(), strict=True)
        if count
    ]
    with charge_all(ledger, people, result="release", name=name):
        pass  # final before anything is drawn


def _beside_text(*values: Any) -> dict[str, Any]:
    """Return the parameters that are given beside a text form, by name."""
    names = ("epsilon", "domain", "unit", "cap", "bandwidth", "bins", "objects")
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _grouped(
    data: Claims | Frame | Data, missing: Missing, duplicates: Duplicates, engine: Engine
) -> Data:
    if isinstance(data, GroupedClaims | DensityModel):
        return data
    try:
        return GroupedClaims.of(data, missing=missing, duplicates=duplicates)
    except EmptyTable:
        # where participation is hidden, that nobody took part is released like anything else
        if engine.public_objects is None:
            raise
        return GroupedClaims.none(engine.public_objects)


def _within_cap(engine: Engine, data: Data, source: WordSource) -> Data:
    """Return the claims that the engine uses; a model whose claims stay is used as it is."""
    if isinstance(data, DensityModel):
        # weights learnt from claims that the cap leaves out must not be used
        capped = engine.within_cap(data.claims, source)
        return data if capped is data.claims else capped
    return engine.within_cap(data, source)
