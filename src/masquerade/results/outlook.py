"""What makes a result uncertain, and what more people would do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.special import ndtri

SOURCES = ("sampling", "mechanism", "level")
FACTORS = (2, 4, 10)


def outlook(
    numbers: Mapping[str, Any],
    n: int,
    *,
    confidence: float = 0.95,
    factors: Sequence[int] = FACTORS,
) -> dict[str, Any] | None:
    """Return where the error of an estimate comes from and how it would shrink.

    Variances of people and masks go with one over the number of people. What is not known of how
    levels differ is taken to stay as it is; with many more people it shrinks too, so the margins
    for more people are rather too wide than too narrow.

    Parameters
    ----------
    numbers : mapping
        An estimate of a result: ``standard_error``, ``sampling_error``, ``mechanism_error`` and
        ``level_error``.
    n : int
        People behind it.
    confidence : float
    factors : sequence of int
        How many times as many people to look at.

    Returns
    -------
    dict or None
        ``margin``: half of an interval that is as long on both sides; ``parts``: the share of each
        source in the variance, which sum to 1; ``more``: for each factor the number of people and
        the margin; ``unmasked``: of how many people without masks the answers would say as much,
        None where the masks leave no trace of that. None where the error is not known or is 0.

    Examples
    --------
    >>> errors = {"sampling_error": 3.0, "mechanism_error": 4.0, "level_error": 0.0}
    >>> found = outlook({"standard_error": 5.0, **errors}, 100, factors=(4,))
    >>> found["parts"], found["unmasked"]
    ({'sampling': 0.36, 'mechanism': 0.64, 'level': 0.0}, 36)
    >>> [(people, round(margin / found["margin"], 3)) for people, margin in found["more"]]
    [(400, 0.5)]
    """
    errors = [numbers.get(f"{name}_error") for name in SOURCES]
    if any(error is None for error in errors):
        return None
    people, masks, levels = (float(error) ** 2 for error in errors if error is not None)
    total = people + masks + levels
    if not total > 0:
        return None
    reach = float(ndtri(0.5 + confidence / 2))
    return {
        "margin": reach * math.sqrt(total),
        "parts": dict(zip(SOURCES, (people / total, masks / total, levels / total), strict=True)),
        "more": [
            (factor * n, reach * math.sqrt((people + masks) / factor + levels))
            for factor in factors
        ],
        "unmasked": round(n * people / (people + masks)) if people else None,
    }
