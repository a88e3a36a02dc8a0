"""Mechanisms by name, read from their text form."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from masquerade.errors import MechanismSyntaxError, ParameterError
from masquerade.exact import Guarantee
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.mechanisms.mechanism import Mechanism, require_mechanism
from masquerade.mechanisms.text import read_text_form
from masquerade.plugins import MECHANISM_GROUP, load_plugin, plugin_names

#: Packages whose guarantees are proven by this project's tests.
_OWN_PACKAGES = ("masquerade", "masquerade_papers")


def _registered() -> Iterator[type[Mechanism]]:
    """Yield the mechanisms that the modules of this folder define; to add a module is enough."""
    folder = Path(__file__).parent
    for one in pkgutil.iter_modules([str(folder)]):
        if one.name == Path(__file__).stem:
            continue
        module = import_module(f"{__package__}.{one.name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            here = member.__module__ == module.__name__
            if here and issubclass(member, Mechanism) and not inspect.isabstract(member):
                yield member


#: Every local randomizer, by the name that its text form begins with.
MECHANISMS: dict[str, type[Mechanism]] = {kind.name: kind for kind in _registered()}

#: The parameters of the text form of each.
PARAMETERS = {name: inspect.signature(kind).parameters for name, kind in MECHANISMS.items()}


def mechanism_of(given: object) -> Mechanism:
    """Return a mechanism as it is, or the one that a text describes.

    Raises `ParameterError` for anything else, and what `parse_mechanism` raises.
    """
    return parse_mechanism(given) if isinstance(given, str) else require_mechanism(given)


def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism that `text` describes; the inverse of ``str(mechanism)``.

    A name that no mechanism has here is looked up among those of other packages (entry points
    ``masquerade.mechanisms``).

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
    first = text.strip().partition(":")[0] if isinstance(text, str) else ""
    if first in MECHANISMS:
        return _read(text, MECHANISMS, PARAMETERS)
    names = plugin_names(MECHANISM_GROUP)
    added = {first: load_plugin(MECHANISM_GROUP, first, Mechanism)} if first in names else {}
    parameters = {name: inspect.signature(kind).parameters for name, kind in added.items()}
    return _read(text, added, {**PARAMETERS, **{name: {} for name in names}, **parameters})


def printed_guarantee(mechanism: Mechanism, guarantee: Guarantee) -> Guarantee:
    """Return a mechanism's guarantee as commands print it.

    That of another package's mechanism is assumed, and names the package: nothing here proves it.

    Examples
    --------
    >>> mask = parse_mechanism("randomized-response:options=2,epsilon=1")
    >>> printed_guarantee(mask, mask.guarantee()).status
    'proven'
    """
    package = type(mechanism).__module__.partition(".")[0]
    if package in _OWN_PACKAGES or guarantee.status == "none":
        return guarantee
    stated = f"what {package} states of {mechanism.name} is true; masquerade audit compares it"
    return replace(guarantee, status="assumed", assumptions=(stated, *guarantee.assumptions))


def _read(
    text: str,
    kinds: Mapping[str, Callable[..., Mechanism]],
    known: Mapping[str, Mapping[str, inspect.Parameter]],
) -> Mechanism:
    """Return the mechanism of a text; `known`: the names that a refusal lists, with their keys."""
    name, texts = read_text_form(text, known)
    parameters = known[name]
    missing = [key for key, p in parameters.items() if p.default is p.empty and key not in texts]
    if missing:
        raise MechanismSyntaxError(
            f"{text!r} cannot be read: it has no {' and '.join(map(repr, missing))}; {name} takes "
            f"{', '.join(parameters)}.",
            field=missing[0],
        )
    flags = {key for key, p in parameters.items() if isinstance(p.default, bool)}
    # Numbers stay texts: a constructor reads them exactly, with a message of its own.
    values = {key: _flag(key, text) if key in flags else text for key, text in texts.items()}
    return kinds[name](**values)


@lru_cache(maxsize=4096)
def parse_mask(text: str) -> DeviceMechanism:
    """Return the mask of answers to surveys that a text describes.

    Surveys share few, so each is read once. Browsers draw those of this package alone.

    Raises `ParameterError` where surveys use no such mechanism, and what `parse_mechanism` raises.
    """
    mechanism = _read(text, MECHANISMS, PARAMETERS)
    if not isinstance(mechanism, DeviceMechanism) or not mechanism.in_surveys:
        raise ParameterError(f"{mechanism} masks no answers to surveys.")
    return mechanism


def _flag(key: str, text: str) -> bool:
    flags = {"true": True, "false": False}
    if text not in flags:
        raise MechanismSyntaxError(f"{key} is {text!r}, expected 'true' or 'false'.", field=key)
    return flags[text]
