"""The policy that asks the people with the least past errors: Kandappu et al. (2014)."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.selection import Pool
from masquerade.selection.selection import while_it_lasts
from masquerade_papers.loki.history import History


def best_predictors(pool: Pool, errors: Floats, *, budget: float) -> Integers:
    """Return the people of least past mean squared `errors` (n,), while the money lasts."""
    allowed = np.flatnonzero(pool.admissible)
    order = allowed[np.argsort(errors[allowed], kind="stable")]
    return while_it_lasts(order, pool.cost, budget)


def published_squared_error(history: History) -> Floats:
    """Return each person's squared mean error plus variance, as published."""
    mean, variance = history.published_errors()
    return np.asarray((mean**2).sum(axis=1) + variance)
