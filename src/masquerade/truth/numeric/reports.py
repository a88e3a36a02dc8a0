"""Reports: whether numbers could have come from a mechanism."""

from __future__ import annotations

import numpy as np

from masquerade.answers import Claims
from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.exact.number import text_of
from masquerade.mechanisms import LatticeMechanism, Mechanism, QuantisedResponse


def check_reports(claims: Claims, mechanism: Mechanism) -> None:
    """Raise where a claim is not a report of the mechanism.

    Unlike answers, reports with added noise may leave the range of answers, but not the lattice.

    Raises
    ------
    ParameterError
        The mechanism masks claims of the other kind.
    MissingValue
        "No answer" from a mechanism that never reports it.
    UnknownLabel
        A number that the mechanism never reports. Both name the row.
    """
    if mechanism.kind != claims.kind:
        mechanism.check(claims)  # says so
        raise ParameterError(f"{mechanism} does not mask {claims.kind} claims.")
    if claims.kind == "categorical":
        mechanism.check(claims)
        return
    quantised = isinstance(mechanism, QuantisedResponse)
    missing = np.isnan(claims.value)
    if not (quantised and mechanism.null) and missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise MissingValue(
            f"row {row + 1}: there is no report, and {mechanism} always gives a number; remove "
            "such rows, or name the mechanism that masked the claims."
        )
    if not isinstance(mechanism, LatticeMechanism):
        return  # profiles stand for real numbers
    seen = claims.value[~missing]
    if isinstance(mechanism, QuantisedResponse):
        levels = mechanism.level_values
        spacing = levels[1] - levels[0]
        place = np.clip(np.rint((seen - levels[0]) / spacing), 0, len(levels) - 1)
        off = np.abs(seen - levels[place.astype(np.int64)]) > 1e-6 * spacing
        expected = f"one of its {len(levels)} levels from {levels[0]:g} to {levels[-1]:g}"
    else:
        steps = mechanism.lattice.offsets(seen)
        off = np.abs(steps - np.rint(steps)) > 1e-6 * np.maximum(1, np.abs(steps) * 1e-6)
        step = text_of(mechanism.lattice.step)
        expected = f"a whole number of steps of {step} from {float(mechanism.lattice.low):g}"
    if off.any():
        row = int(np.flatnonzero(~missing)[np.flatnonzero(off)[0]])
        raise UnknownLabel(
            f"row {row + 1}: {claims.value[row]} is not a report of {mechanism}, expected "
            f"{expected}; name the mechanism that masked the claims."
        )
