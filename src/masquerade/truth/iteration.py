"""When an iteration ends, and what a worker is taken to be at its start: shared parameters."""

from __future__ import annotations

import math

from masquerade.errors import ParameterError


def check_iteration(max_iterations: int, *, tolerance: float | None = None) -> None:
    """Raise `ParameterError` unless the limits of an iteration are in range."""
    if tolerance is not None and not tolerance > 0:
        raise ParameterError(f"tolerance is {tolerance}, expected above 0.")
    if not max_iterations >= 1:
        raise ParameterError(f"max_iterations is {max_iterations}, expected at least 1.")


def check_accuracy_prior(prior: tuple[float, float]) -> None:
    """Raise `ParameterError` unless `prior` holds the two numbers of a Beta distribution."""
    if len(prior) != 2 or not all(0 < value < math.inf for value in prior):
        raise ParameterError(f"accuracy_prior is {prior!r}, expected two positive numbers (a, b).")
