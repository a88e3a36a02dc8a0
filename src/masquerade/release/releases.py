"""Releases of claims that a collector holds: summaries, and synthetic claims that agree."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Claims, Frame, to_arrow
from masquerade.answers.frames import plain_column
from masquerade.errors import EmptyTable, ParameterError, SchemaError
from masquerade.exact import Coins, Guarantee
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import SimulatedCoins, WordSource, require_coins
from masquerade.exact.number import NumberLike, finite
from masquerade.release.grouped_claims import Duplicates, GroupedClaims, Missing
from masquerade.release.guarantee import no_guarantee
from masquerade.release.knots import Domain, Ends
from masquerade.release.measurement import UNITS, coded, measured
from masquerade.release.parameters import Aim, ReleaseParameters
from masquerade.release.published import Release, released

#: Why a release drawn with a seeded generator promises nothing.
SIMULATED = "simulated: the noise can be foreseen by whoever knows the seed"

_LOGGER = logging.getLogger(__name__)


def summaries(
    data: Claims | Frame | GroupedClaims,
    *,
    epsilon: NumberLike,
    domain: Domain | Ends,
    step: NumberLike | None = None,
    aim: Aim = "claims",
    per_user: int | None = None,
    listed: Sequence[Any] | None = None,
    expected: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """Return counts, means and quantiles of each object, with intervals, and rows that agree.

    See `ReleaseParameters` for the parameters, and `release` for those that are left out here.

    Examples
    --------
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> made = summaries(claims, epsilon=40, domain=(0, 10), step=1)
    >>> round(made.summary["mean"][0].as_py(), 2), made.summary["claims"].to_pylist()
    (5.0, [30])
    """
    parameters = ReleaseParameters(
        epsilon=epsilon,
        domain=_with_step(domain, step),
        aim=aim,
        per_user=per_user,
        listed=listed,
        expected=expected,
    )
    return release(data, parameters, ledger=ledger)


def synthesize(
    data: Claims | Frame | GroupedClaims,
    *,
    epsilon: NumberLike,
    domain: Domain | Ends,
    step: NumberLike | None = None,
    per_user: int | None = None,
    listed: Sequence[Any] | None = None,
    expected: int | None = None,
    attributes: Mapping[str, Sequence[Any]] | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """Return synthetic claims, as `Release.rows`, with the summaries that they agree with.

    See `ReleaseParameters` for the parameters, and `release` for those that are left out here.

    Examples
    --------
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> made = synthesize(claims, epsilon=40, domain=(0, 10), step=1)
    >>> made.rows["value"].to_pylist() == [5.0] * 30
    True
    """
    parameters = ReleaseParameters(
        epsilon=epsilon,
        domain=_with_step(domain, step),
        per_user=per_user,
        listed=listed,
        expected=expected,
        attributes=attributes or {},
    )
    return release(data, parameters, ledger=ledger)


def _with_step(domain: Domain | Ends, step: NumberLike | None) -> Domain:
    if step is None:
        return Domain.of(domain)
    if isinstance(domain, Domain):
        raise ParameterError("step is a part of the domain that was given; give it there alone.")
    return Domain(*domain, step=step)


def release(
    data: Claims | Frame | GroupedClaims,
    parameters: ReleaseParameters,
    *,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    ledger: Ledger | None = None,
    name: str = "release",
    coins: Coins | None = None,
) -> Release:
    """Measure claims once with the operating system's randomness, and return the release.

    Parameters
    ----------
    data : Claims, table or GroupedClaims
        What the collector holds.
    missing, duplicates
        See `GroupedClaims.of`. What one user said of one object is one value before anything else.
    ledger : Ledger, optional
        Every user whose claims are used is charged before anything is drawn, all or nobody.
    name : str
        What the ledger calls the release.

    Raises
    ------
    InputError
        A claim cannot be used.
    InsufficientBudget
        A user has too little left; nobody was charged and nothing was drawn.
    """
    source = require_coins(coins)
    claims, cell = _claims_of(data, parameters, missing, duplicates)
    used, cell = _within_cap(claims, cell, parameters, source)
    if ledger is not None:
        _charge(ledger, parameters, used, name)
    # exactly `Coins`: a subclass could be seeded
    proven = type(source) is Coins
    guarantee = parameters.guarantee() if proven else no_guarantee(SIMULATED)
    _LOGGER.debug("release for %s", parameters.aim)
    return _drawn(used, cell, parameters, source, guarantee)


def simulate_release(
    data: Claims | Frame | GroupedClaims,
    rng: np.random.Generator,
    *,
    epsilon: NumberLike,
    domain: Domain | Ends,
    step: NumberLike | None = None,
    **parameters: Any,
) -> Release:
    """Return a release that is drawn with a seeded generator: for studies and tests.

    Privacy
    -------
    None: whoever knows or guesses the seed can take the noise off. The guarantee says so.
    """
    made = ReleaseParameters(epsilon=epsilon, domain=_with_step(domain, step), **parameters)
    source = SimulatedCoins(rng)
    claims, cell = _claims_of(data, made, "error", "error")
    used, cell = _within_cap(claims, cell, made, source)
    return _drawn(used, cell, made, source, no_guarantee(SIMULATED))


def _drawn(
    claims: GroupedClaims,
    cell: Integers,
    parameters: ReleaseParameters,
    source: WordSource,
    guarantee: Guarantee,
) -> Release:
    groups = coded(claims, cell, _weights(claims, parameters), parameters)
    found = [measured(group, parameters, source) for group in groups]
    low, high = parameters.public_domain.ends(claims.objects)
    of = claims.object
    beyond = int(((claims.value < low[of]) | (claims.value > high[of])).sum())
    collector = {"outside_domain": beyond, "dropped": claims.dropped, "used": len(claims)}
    return released(claims.objects, found, parameters, guarantee, collector)


def _claims_of(
    data: Claims | Frame | GroupedClaims,
    parameters: ReleaseParameters,
    missing: Missing,
    duplicates: Duplicates,
) -> tuple[GroupedClaims, Integers]:
    """Return the claims that may be used, and the combination of categories of each."""
    try:
        if parameters.attributes:
            claims, cells = _with_attributes(data, parameters, missing, duplicates)
        else:
            claims = GroupedClaims.of(data, missing=missing, duplicates=duplicates)
            cells = replace(claims, value=np.zeros(len(claims)))
    except EmptyTable:
        # that nobody took part is released like anything else where participation is hidden
        if parameters.listed is None:
            raise
        claims = cells = GroupedClaims.none(parameters.listed)
    if parameters.listed is not None:
        claims, cells = claims.about(parameters.listed), cells.about(parameters.listed)
    return claims, cells.value.astype(np.int64)


def _with_attributes(
    data: Claims | Frame | GroupedClaims,
    parameters: ReleaseParameters,
    missing: Missing,
    duplicates: Duplicates,
) -> tuple[GroupedClaims, GroupedClaims]:
    """Return claims, and the same with their categories as values.

    Rows of other categories are left out or refused.
    """
    if isinstance(data, Claims | GroupedClaims):
        raise ParameterError("attributes are columns; give the table that has them.")
    if duplicates == "mean":
        raise ParameterError(
            "duplicates='mean' has no category of its own; use 'first' or 'last'.",
            field="duplicates",
        )
    table = to_arrow(data)
    place = np.zeros(table.num_rows, dtype=np.int64)
    known = np.ones(table.num_rows, dtype=np.bool_)
    for name, categories in parameters.attributes.items():
        if name not in table.column_names:
            raise SchemaError(
                f"the claims have no column {name!r}, which is an attribute; they have "
                f"{table.column_names}. Name one of these, or leave the attribute out."
            )
        column = plain_column(table, name)
        named = pa.array(list(categories))
        if pa.types.is_null(column.type):  # of no row, or nothing but missing
            column = column.cast(named.type)
        index = pc.index_in(column, value_set=named.cast(column.type))
        codes = pc.fill_null(index, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not parameters.hidden and (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            raise ParameterError(
                f"row {row + 1}: {name} is {column[row].as_py()!r}, expected one of "
                f"{', '.join(map(str, categories))}; name it among the categories, or leave such "
                "rows out."
            )
        known &= codes >= 0
        place = place * len(categories) + np.maximum(codes, 0)
    kept = table.filter(pa.array(known))
    claims = Claims.from_frame(kept, kind="numeric", null=True, duplicates="all")
    # the twin takes the same rows: what is missing in one is missing in the other
    twin = replace(claims, value=np.where(claims.unanswered(), np.nan, place[known]))
    grouped = GroupedClaims.of(claims, missing=missing, duplicates=duplicates)
    return grouped, GroupedClaims.of(twin, missing=missing, duplicates=duplicates)


def _within_cap(
    claims: GroupedClaims, cell: Integers, parameters: ReleaseParameters, source: WordSource
) -> tuple[GroupedClaims, Integers]:
    """Return at most `per_user` claims of each user, chosen by chance without looking at values."""
    if parameters.per_user is None:
        return claims, cell
    marked = replace(claims, value=np.arange(len(claims), dtype=np.float64))
    rows = marked.capped(parameters.per_user, source).value.astype(np.int64)
    return claims.subset(rows), cell[rows]


def _weights(claims: GroupedClaims, parameters: ReleaseParameters) -> Integers:
    """Return the public weight of each claim, in units; 1 without any."""
    if not parameters.weights:
        return np.ones(len(claims), dtype=np.int64)
    users = claims.users.to_pylist()
    known = _checked_weights(parameters.weights, users)
    of_user = np.array([max(1, round(UNITS * known.get(user, 1.0))) for user in users])
    return of_user[claims.user].astype(np.int64)


def _checked_weights(weights: Mapping[Any, float], users: Sequence[Any]) -> dict[Any, float]:
    known = {}
    for user, given in weights.items():
        weight = float(finite(given, f"the weight of user {user!r}"))
        if not 0 < weight <= 1:
            raise ParameterError(
                f"the weight of user {user!r} is {weight:g}, expected above 0 and at most 1.",
                field="weights",
            )
        known[user] = weight
    if not any(user in known for user in users):
        raise ParameterError(
            f"the weights are of {list(weights)[:5]}, and none of these made a claim; the claims "
            f"are of {list(users)[:5]}. A name as a text is not the same name as a number.",
            field="weights",
        )
    return known


def _charge(
    ledger: Ledger, parameters: ReleaseParameters, claims: GroupedClaims, name: str
) -> None:
    """Charge every user of the claims, all or nobody."""
    objects = claims.objects_per_user()
    costs = {
        count: Cost(name, (), parameters.loss(1).epsilon, parameters.loss(count))
        for count in np.unique(objects[objects > 0]).tolist()
    }
    people = [
        (str(person), costs[count])
        for person, count in zip(claims.users.to_pylist(), objects.tolist(), strict=True)
        if count
    ]
    with charge_all(ledger, people, result="release", name=name):
        pass  # final before anything is drawn
