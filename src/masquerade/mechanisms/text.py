"""The text form of mechanisms: ``name:key=value,...``, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masquerade.errors import MechanismSyntaxError
from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian
from masquerade.mechanisms.discrete_laplace import DiscreteLaplace
from masquerade.mechanisms.matrix_factorization import MatrixFactorization
from masquerade.mechanisms.matrix_factorization_ridge import MatrixFactorizationRidge
from masquerade.mechanisms.mechanism import Mechanism
from masquerade.mechanisms.quantised_response import QuantisedResponse
from masquerade.mechanisms.question_sampling import QuestionSampling
from masquerade.mechanisms.randomized_response import RandomizedResponse
from masquerade.mechanisms.two_layer import TwoLayer


def _truth_value(text: str) -> bool:
    values = {"true": True, "false": False}
    if text not in values:
        raise MechanismSyntaxError(f"null is {text!r}, expected 'true' or 'false'.")
    return values[text]


_KEEP: Callable[[str], Any] = str
_LATTICE = {"low": _KEEP, "high": _KEEP, "step": _KEEP}
_FACTORS = {
    **_LATTICE,
    **dict.fromkeys(("tasks", "dimension", "epsilon", "seed", "distribution"), _KEEP),
}

MECHANISMS: dict[str, tuple[type[Mechanism], dict[str, Callable[[str], Any]]]] = {
    RandomizedResponse.name: (
        RandomizedResponse,
        {
            "options": _KEEP,
            "epsilon": _KEEP,
            "flip_probability": _KEEP,
            "null": _truth_value,
        },
    ),
    TwoLayer.name: (TwoLayer, {"options": _KEEP, "low": _KEEP, "high": _KEEP}),
    QuestionSampling.name: (
        QuestionSampling,
        {"options": _KEEP, "epsilon": _KEEP, "keep": _KEEP},
    ),
    DiscreteGaussian.name: (DiscreteGaussian, {**_LATTICE, "sigma": _KEEP}),
    DiscreteLaplace.name: (
        DiscreteLaplace,
        {
            **_LATTICE,
            "epsilon": _KEEP,
            "null": _truth_value,
            "fill": _KEEP,
            "scale_rule": _KEEP,
        },
    ),
    QuantisedResponse.name: (
        QuantisedResponse,
        {**_LATTICE, "epsilon": _KEEP, "levels": _KEEP, "null": _truth_value},
    ),
    MatrixFactorization.name: (
        MatrixFactorization,
        {**_FACTORS, "on_underdetermined": _KEEP, "acknowledge_no_guarantee": _KEEP},
    ),
    MatrixFactorizationRidge.name: (MatrixFactorizationRidge, {**_FACTORS, "split": _KEEP}),
}


def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism that `text` describes; the inverse of ``str(mechanism)``.

    Raises
    ------
    MechanismSyntaxError
        The name or a key is unknown, or a key is missing or stands twice.
    ParameterError
        A value is out of range.

    Examples
    --------
    >>> str(parse_mechanism("two-layer:options=2,low=0,high=0.5379"))
    'two-layer:options=2,low=0,high=0.5379'
    """
    name, _, rest = text.strip().partition(":")
    if name not in MECHANISMS:
        raise MechanismSyntaxError(
            f"mechanism {name!r} is unknown; expected one of {', '.join(sorted(MECHANISMS))}."
        )
    kind, keys = MECHANISMS[name]
    values: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise MechanismSyntaxError(f"{part!r} in {text!r} is not key=value.")
        if key not in keys:
            raise MechanismSyntaxError(
                f"{name} has no parameter {key!r}; it has {', '.join(keys)}."
            )
        if key in values:
            raise MechanismSyntaxError(f"{key!r} stands twice in {text!r}; give it once.")
        values[key] = keys[key](value)
    try:
        return kind(**values)
    except TypeError as error:
        raise MechanismSyntaxError(
            f"{text!r} cannot be read: {str(error).partition(') ')[2] or error}; "
            f"{name} takes {', '.join(keys)}."
        ) from error
