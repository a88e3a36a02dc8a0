"""Inviting in waves: ask some, see who comes, ask more with the money that is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from masquerade.errors import ParameterError
from masquerade.selection.choose import Selection, select
from masquerade.selection.pool import Pool

FIRST_SHARE = 0.6
MOST_WAVES = 5


def next_wave(
    pool: Pool,
    *,
    budget: float,
    wave: int,
    response_rate: float,
    responded: Collection[str] = (),
    silent: Collection[str] = (),
    levels: Mapping[str, float] | None = None,
    alpha: float = 0.0,
    quotas: bool = True,
) -> Selection:
    """Return whom to invite next, by the policy ``"precision"``.

    Which people came, and at which level, may steer the next wave; what they reported may not, for
    stopping where reports please would bias the result. Money is held when a person begins, so
    inviting more than can be paid never overspends: who comes too late is told before any question.

    Parameters
    ----------
    pool : Pool
        Everybody, as before the first wave.
    budget : float
        For all waves together.
    wave : int
        1 to 5. The first may spend 0.6 of the budget, the others all that is left.
    response_rate : float
        Share of the invited who are expected to come, above 0; so many more are invited.
    responded, silent : collection of str
        Who came and is paid, and who was invited and did not come.
    levels : mapping, optional
        Noise variance of those who came at another level than expected.

    Raises
    ------
    ParameterError
        A parameter is out of range, or a name is not in the pool.
    """
    if not 1 <= wave <= MOST_WAVES:
        raise ParameterError(f"wave is {wave}, expected 1 to {MOST_WAVES}.")
    if not 0 < response_rate <= 1:
        raise ParameterError(f"response_rate is {response_rate}, expected above 0 and at most 1.")
    place = {person: i for i, person in enumerate(pool.people)}
    unknown = next((p for p in (*responded, *silent, *(levels or {})) if p not in place), None)
    if unknown is not None:
        raise ParameterError(f"{unknown!r} is not in the pool.")
    came = np.array(sorted(place[person] for person in responded), dtype=np.int64)
    left = budget - float(pool.cost[came].sum())
    if wave == 1:
        left = min(left, FIRST_SHARE * budget)
    if left <= 0:
        raise ParameterError(f"nothing is left of the budget of {budget:g} for another wave.")
    gone = {place[person] for person in (*responded, *silent)}
    rest = np.array([i for i in range(len(pool)) if i not in gone], dtype=np.int64)
    remaining = Pool(
        [pool.people[i] for i in rest.tolist()],
        pool.cost[rest],
        pool.noise_variance[rest],
        level=[pool.level[i] for i in rest.tolist()],
        privacy_share=pool.privacy_share[rest],
        bias_variance=pool.bias_variance[rest],
        within=pool.within,
    )
    return select(remaining, budget=left / response_rate, alpha=alpha, quotas=quotas)
