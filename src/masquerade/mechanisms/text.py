"""The text form of mechanisms: ``name:key=value,...``, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
        There is no text, the name or a key is unknown, or a key is missing or stands twice.
    ParameterError
        A value is out of range.

    Examples
    --------
    >>> str(parse_mechanism("two-layer:options=2,low=0,high=0.5379"))
    'two-layer:options=2,low=0,high=0.5379'
    """
    name, given = read_text_form(text, {name: keys for name, (_, keys) in MECHANISMS.items()})
    kind, keys = MECHANISMS[name]
    try:
        return kind(**{key: keys[key](value) for key, value in given.items()})
    except TypeError as error:
        raise MechanismSyntaxError(
            f"{text!r} cannot be read: {str(error).partition(') ')[2] or error}; "
            f"{name} takes {', '.join(keys)}."
        ) from error


def read_text_form(
    text: object, known: Mapping[str, Collection[str]], *, what: str = "mechanism"
) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters, as texts, of ``name:key=value,...``.

    Parameters
    ----------
    text : str
    known : mapping of str to collection of str
        The names that there are, each with its keys.
    what : str
        What is named, for errors.

    Raises
    ------
    MechanismSyntaxError
        There is no text, the name or a key is unknown, or a key stands twice.
    """
    if not isinstance(text, str):
        raise MechanismSyntaxError(
            f"a {what} is described by a text, name:key=value,..., not by {type(text).__name__}."
        )
    name, _, rest = text.strip().partition(":")
    if name not in known:
        raise MechanismSyntaxError(
            f"{what} {name!r} is unknown; expected one of {', '.join(sorted(known))}."
        )
    found: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise MechanismSyntaxError(f"{part!r} in {text!r} is not key=value.")
        if key not in known[name]:
            raise MechanismSyntaxError(
                f"{name} has no parameter {key!r}; it has {', '.join(known[name])}."
            )
        if key in found:
            raise MechanismSyntaxError(f"{key!r} stands twice in {text!r}; give it once.")
        found[key] = value
    return name, found
