"""The headline of a question's result, and how many people would make it sharper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.special import ndtri

from masquerade.mechanisms import (
    BitwiseResponse,
    CategoricalMechanism,
    DiscreteGaussian,
    Mechanism,
)
from masquerade.surveys import Number, Question, Rating
from masquerade.surveys.offered_levels import lattice_of
from masquerade.truth import report_variance

#: Responses below which no estimate stands in large figures.
FEWEST_FOR_HEADLINE = 20

#: Width of an interval, in widths of the range, beyond which the interval is the headline.
WIDEST_HEADLINE = 0.25

FEW, NOTHING, INTERVAL, ESTIMATE = "few", "nothing", "interval", "estimate"

_CONFIDENCE = 0.95
_SPREAD = 0.25  # standard deviation of answers without a mask, in widths of the range


def headline_kind(numbers: Mapping[str, Any] | None, n: int, *, width: float) -> str:
    """Return what may stand in large figures.

    ``"few"``: nothing, there are fewer than 20 responses; ``"nothing"``: nothing is known;
    ``"interval"``: it is wider than a quarter of the `width` of the range, so it stands for the
    estimate; ``"estimate"``.
    """
    if n < FEWEST_FOR_HEADLINE:
        return FEW
    if numbers is None or numbers["shown"] is None:
        return NOTHING
    wide = float(numbers["high"] - numbers["low"]) > WIDEST_HEADLINE * width
    return INTERVAL if wide else ESTIMATE


def headline(found: Mapping[str, Any], question: Question) -> dict[str, Any]:
    """Return the headline of a question's result: of its mean, else of the answer on top."""
    numbers, option = _headline_numbers(found)
    kind = headline_kind(numbers, found["n"], width=range_width(question))
    said = numbers if kind in (INTERVAL, ESTIMATE) and numbers else {}
    return {
        "kind": kind,
        "option": option if said else None,
        "shown": said.get("shown") if kind == ESTIMATE else None,
        "low": said.get("low"),
        "high": said.get("high"),
    }


def precision(
    found: Mapping[str, Any], question: Question, offered: Mapping[str, Mechanism]
) -> dict[str, Any]:
    """Return how many people would bring the headline's interval to a quarter of the range.

    ``people``: at the levels as they were chosen, from the estimate's own errors or, where these
    are small already, as planning has it; None where what is not known of how levels differ is too
    much by itself, or nothing is known. ``by_level``: if all were at that level, as planning has it
    (a share of one half; answers that spread by a quarter of the range).
    """
    numbers, _ = _headline_numbers(found)
    # the squared standard error of an interval that is a quarter of the range wide, in widths
    wanted = (WIDEST_HEADLINE / 2 / float(ndtri(0.5 + _CONFIDENCE / 2))) ** 2
    people = None
    if numbers is not None and numbers["standard_error"] is not None:
        width = range_width(question)
        masks = (numbers["sampling_error"] ** 2 + numbers["mechanism_error"] ** 2) / width**2
        # More people leave the error of levels as it is, so the other errors get what it leaves.
        room = wanted - (numbers["level_error"] / width) ** 2
        # Reports that are all alike have no error of their own; then planning's counts.
        own = masks / room if room > 0 else math.inf
        planned = (found["forecast_standard_error"] / width) ** 2 / wanted
        factor = own if own > 1 else max(own, planned)
        people = math.ceil(found["n"] * factor) if math.isfinite(factor) else None
    return {
        "people": people,
        "by_level": {
            name: math.ceil(_variance(question, mechanism) / wanted)
            for name, mechanism in offered.items()
        },
    }


def range_width(question: Question) -> float:
    """Return the width of the range of a question's headline: 1 for a share."""
    if not isinstance(question, Number | Rating):
        return 1.0
    lattice = lattice_of(question)
    return float(lattice.high - lattice.low)


def whole_percents(shares: Sequence[float], *, digits: int = 0) -> list[float]:
    """Return shares that sum to 1 in percent, rounded so that they add to 100.

    Each is rounded down, and what is missing goes to those that lost most (largest remainder).

    Examples
    --------
    >>> whole_percents([1 / 3, 1 / 3, 1 / 3])
    [34.0, 33.0, 33.0]
    """
    size = 10**digits
    exact = [100 * size * share for share in shares]
    # Rounding of floats must not take a whole number for the one below.
    down = [math.floor(part + 1e-9) for part in exact]
    missing = round(sum(exact)) - sum(down)
    # most lost first; the sort is stable, so equal ones keep the order of the options
    lost = sorted(range(len(exact)), key=lambda place: down[place] - exact[place])
    for place in lost[: max(missing, 0)]:
        down[place] += 1
    return [part / size for part in down]


def outward_interval(low: float, high: float, *, digits: int) -> tuple[float, float]:
    """Return an interval rounded away from its middle, so that it holds all it held.

    Examples
    --------
    >>> outward_interval(0.3349, 0.3351, digits=2)
    (0.33, 0.34)
    """
    size = 10.0**digits
    # Rounding of floats must not take a number for the one beside it.
    return math.floor(low * size + 1e-9) / size, math.ceil(high * size - 1e-9) / size


def _headline_numbers(
    found: Mapping[str, Any],
) -> tuple[Mapping[str, Any] | None, str | None]:
    if found["mean"] is not None:
        return found["mean"], None
    # Where some were not asked or did not answer: of those who answered.
    answered = [one for one in found["options"] if one.get("of_answered")]
    if answered:
        if any(one["of_answered"]["value"] is None for one in answered):
            return None, None
        top = max(answered, key=lambda option: float(option["of_answered"]["value"]))
        return top["of_answered"], top["label"]
    best = max(found["options"], key=lambda option: float(option["value"]), default=None)
    return best, None if best is None else best["label"]


def _variance(question: Question, mechanism: Mechanism) -> float:
    """Return the variance of one person's report, in squared widths of the range."""
    if isinstance(question, Number) and isinstance(mechanism, CategoricalMechanism):
        return _SPREAD**2  # answers as they are; there may be millions of them
    assert isinstance(mechanism, CategoricalMechanism | BitwiseResponse | DiscreteGaussian)
    parts = report_variance(question, mechanism)
    return parts.people + parts.masks


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
        # k unmasked people err by people * n / k, which is to be people + masks
        "unmasked": round(n * people / (people + masks)) if people else None,
    }
