"""Number of participants that a margin takes, before anybody is asked."""

from __future__ import annotations

import math

from scipy.special import ndtri

from masquerade.errors import ParameterError
from masquerade.mechanisms import CategoricalMechanism, LatticeMechanism, Mechanism
from masquerade.mechanisms.mechanism import require_mechanism

#: From where on a planned number of participants needs a remark.
PEOPLE_ON_EARTH, MANY, FEW = 8_000_000_000, 1_000_000, 30


def participants_needed(
    mechanism: Mechanism,
    *,
    margin: float,
    confidence: float = 0.95,
    share: float = 0.5,
    spread: float | None = None,
) -> int:
    """Return how many participants give an interval of plus or minus `margin`.

    Of a share, for a mechanism of categories: ``z**2 r (1 - r) / (margin D)**2``, r the probability
    that the option is reported when a share `share` of people think it, D how much of a change in
    that share is seen in the reports. Of a mean, for a mechanism of numbers: ``z**2 (spread**2 +
    noise variance) / margin**2``. Both for a large population and participants who are alike.

    Parameters
    ----------
    mechanism : Mechanism
    margin : float
        Half the width of the interval: a share (0.05 is five points), or on the question's scale.
        Below half of all that is possible, for a wider interval says nothing.
    confidence : float
        0 to 1, both excluded.
    share : float
        What the share may be; 0.5 is the worst case without a mask.
    spread : float, optional
        Standard deviation of answers; default a quarter of the range.

    Raises
    ------
    ParameterError
        A parameter is out of range, or no number is enough.

    Examples
    --------
    >>> from masquerade.mechanisms import parse_mechanism
    >>> participants_needed(parse_mechanism("randomized-response:options=2,epsilon=1"), margin=0.05)
    1799
    """
    for name, value in (("margin", margin), ("confidence", confidence), ("share", share)):
        above = math.inf if name == "margin" else 1.0
        if not 0 < value < above:
            limit = f" and below {above:g}" if math.isfinite(above) else ""
            raise ParameterError(f"{name} is {value:g}, expected above 0{limit}.")
    require_mechanism(mechanism)
    z = float(ndtri((1 + confidence) / 2))
    if isinstance(mechanism, CategoricalMechanism):
        if margin >= 0.5:
            raise ParameterError(
                f"margin is {margin:g}, expected below 0.5: shares lie between 0 and 1, and five "
                "points are 0.05."
            )
        signal = float(mechanism.signal)
        if signal == 0:
            raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
        # r = P(reported) = other + D share; its variance r (1 - r) counts D**-2
        reported = float(mechanism.other_probability) + signal * share
        return _rounded_up(z**2 * reported * (1 - reported), margin * signal)
    if not isinstance(mechanism, LatticeMechanism):
        raise ParameterError(
            f"{mechanism} reports neither a category nor a number for each answer; planning needs "
            "randomized-response, two-layer, discrete-gaussian, discrete-laplace or "
            "quantised-response."
        )
    width = float(mechanism.lattice.high - mechanism.lattice.low)
    if margin >= width / 2:
        raise ParameterError(
            f"margin is {margin:g}, expected below {width / 2:g}, half of the scale from "
            f"{float(mechanism.lattice.low):g} to {float(mechanism.lattice.high):g}: a wider "
            "interval says nothing."
        )
    answers = width / 4 if spread is None else spread
    if not 0 <= answers < math.inf:
        raise ParameterError(f"spread is {answers}, expected at least 0.")
    noise = mechanism.variance()
    if not math.isfinite(noise):
        raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
    return _rounded_up(z**2 * (answers**2 + noise), margin)


def plan_remarks(participants: int) -> list[str]:
    """Return what should be said beside a planned number of participants."""
    if participants > PEOPLE_ON_EARTH:
        return ["more people than live on earth: widen the margin, or mask less"]
    if participants > MANY:
        return ["more people than surveys reach as a rule: widen the margin, or mask less"]
    if participants < FEW:
        return ["with so few people the interval is rough: it is made for some thirty or more"]
    return []


def _rounded_up(variance: float, reach: float) -> int:
    try:
        return math.ceil(variance / reach**2)
    except (OverflowError, ZeroDivisionError) as error:
        raise ParameterError(
            "the margin is so small that the participants cannot be counted; widen it."
        ) from error
