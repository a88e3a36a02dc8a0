"""Mechanisms by name: ``name`` or ``name:key=value,...``."""

from __future__ import annotations

import dataclasses
import pkgutil
from importlib import import_module
from typing import Any

from masquerade.errors import MechanismSyntaxError, ParameterError
from masquerade.mechanisms.text import read_field, read_text_form
from masquerade.preference import mechanisms
from masquerade.preference.mechanism import MECHANISMS, PreferenceMechanism

__all__ = ["MECHANISMS", "preference_mechanism"]

# A mechanism is a module of the folder, and its class registers itself when that is loaded.
for _module in pkgutil.iter_modules(mechanisms.__path__, f"{mechanisms.__name__}."):
    import_module(_module.name)


def preference_mechanism(
    text: str, *, epsilon: Any = None, unit: str | None = None
) -> PreferenceMechanism:
    """Return the mechanism that `text` names, with its parameters.

    Parameters
    ----------
    text : str
        ``name``, or ``name:key=value,...`` for parameters besides epsilon and unit.
    epsilon : number, or sequence of numbers, optional
        As the mechanism takes it.
    unit : {"voter", "record", "choice"}, optional
        Default: the mechanism's own.

    Raises
    ------
    MechanismSyntaxError
        The name or a key is unknown, or a key stands twice.
    ParameterError
        Epsilon is missing, the mechanism cannot protect the unit, or a value is out of range.

    Examples
    --------
    >>> preference_mechanism("none:fit=average,bound=3").bound
    3.0
    """
    # Keys, their order and their types are the fields of the dataclasses.
    types = {
        name: {field.name: str(field.type) for field in dataclasses.fields(kind)}
        for name, kind in MECHANISMS.items()
    }
    name, texts = read_text_form(text, types, what="preference mechanism")
    kind = MECHANISMS[name]
    values: dict[str, Any] = {
        key: read_field(value, types[name][key], key) for key, value in texts.items()
    }
    for key, value in (("epsilon", epsilon), ("unit", unit)):
        if value is not None:
            if key in values:
                raise MechanismSyntaxError(f"{key} is given twice, once in {text!r}; drop one.")
            values[key] = value
    if values.get("unit", kind.units[0]) not in kind.units:
        raise ParameterError(
            f"{name} cannot protect the unit {values['unit']!r}; it protects "
            f"{' or '.join(kind.units)}."
        )
    needed = [field.name for field in dataclasses.fields(kind) if _has_no_default(field)]
    if "epsilon" in needed and "epsilon" not in values:
        raise ParameterError(
            f"{name} needs an epsilon above 0, for instance 1 (--epsilon 1 on the command line). "
            "To learn without privacy, name the mechanism none (--mechanism none)."
        )
    mechanism: PreferenceMechanism = kind(**values)
    return mechanism


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
