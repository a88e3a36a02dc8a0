"""How many people a survey needs, before anybody is asked."""

from __future__ import annotations

import math

from scipy.special import ndtri

from masquerade.errors import ParameterError
from masquerade.mechanisms import CategoricalMechanism, LatticeMechanism, Mechanism


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
    confidence : float
        0 to 1, both excluded.
    share : float
        What the share may be; 0.5 is the worst case without a mask.
    spread : float, optional
        Standard deviation of answers; default a quarter of the range.

    Examples
    --------
    >>> from masquerade.mechanisms import parse_mechanism
    >>> participants_needed(parse_mechanism("randomized-response:options=2,epsilon=1"), margin=0.05)
    1799
    """
    for name, value in (("margin", margin), ("confidence", confidence), ("share", share)):
        above = math.inf if name == "margin" else 1.0
        if not 0 < value < above:
            raise ParameterError(f"{name} is {value}, expected above 0 and below {above:g}.")
    z = float(ndtri((1 + confidence) / 2))
    if isinstance(mechanism, CategoricalMechanism):
        table = mechanism.channel().table
        keep, other = float(table[0][0]), float(table[0][1])
        seen = keep - other
        if seen == 0:
            raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
        reported = other + seen * share
        return math.ceil(z**2 * reported * (1 - reported) / (margin * seen) ** 2)
    if not isinstance(mechanism, LatticeMechanism):
        raise ParameterError(
            f"{mechanism} reports neither a category nor a number for each answer; planning needs "
            "randomized-response, two-layer, discrete-gaussian, discrete-laplace or "
            "quantised-response."
        )
    width = float(mechanism.lattice.high - mechanism.lattice.low)
    answers = width / 4 if spread is None else spread
    if not 0 <= answers < math.inf:
        raise ParameterError(f"spread is {answers}, expected at least 0.")
    noise = mechanism.variance()
    if not math.isfinite(noise):
        raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
    return math.ceil(z**2 * (answers**2 + noise) / margin**2)
