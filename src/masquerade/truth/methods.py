"""The registry of truth methods: one module each in this room or in its folder of numbers.

A module that holds a method says its name in a line ``name: ClassVar[str] = "..."``, and nothing
else has to be told of it: commands, documentation and the common tests read what the class says.
"""

from __future__ import annotations

from importlib import import_module

from masquerade.errors import ParameterError
from masquerade.lazy import suggestion
from masquerade.truth.estimator import Estimator, Kind
from masquerade.truth.method_names import FOLDERS, method_names

_ALIASES = {
    "mv": "majority-vote",
    "td": "truth-discovery",
    "ca": "one-coin",
    "channelaware": "one-coin",
    "ds": "dawid-skene",
    "wawa": "weighted-vote",
}
#: The method that the name ``"auto"`` stands for, by the kind of claims.
AUTO: dict[Kind, str] = {"categorical": "auto", "numeric": "numeric-auto"}


def registered() -> dict[str, type[Estimator]]:
    """Return all methods by their names, those for labels before those for numbers."""
    methods: dict[str, type[Estimator]] = {}
    for kind in FOLDERS:
        for name, module in method_names(kind).items():
            for one in vars(import_module(module)).values():
                if isinstance(one, type) and vars(one).get("name") == name:
                    methods[name] = one
    return methods


#: All methods, by kind and name.
METHODS: tuple[type[Estimator], ...] = tuple(registered().values())


def method_named(text: str, *, kind: Kind = "categorical") -> type[Estimator]:
    """Return the method of this name; case, "-", "_" and spaces do not matter.

    Parameters
    ----------
    text : str
        ``"auto"`` stands for the best single choice for claims of `kind`.
    kind : {"categorical", "numeric"}

    Raises
    ------
    ParameterError
        The name is unknown; the message lists the names.

    Examples
    --------
    >>> method_named("MajorityVote").name, method_named("truth_discovery").name
    ('majority-vote', 'truth-discovery')
    """
    if not isinstance(text, str):
        raise ParameterError(f"method is {text!r}, expected a name such as 'majority-vote'.")
    wanted = _bare(text)
    if wanted == "auto":
        if kind not in AUTO:
            raise ParameterError(f"kind is {kind!r}, expected 'categorical' or 'numeric'.")
        wanted = _bare(AUTO[kind])
    methods = registered()
    known = {_bare(name): method for name, method in methods.items()}
    known |= {alias: methods[name] for alias, name in _ALIASES.items()}
    if wanted not in known:
        names = dict.fromkeys(["auto", *methods])
        raise ParameterError(
            f"method {text!r} is unknown; expected one of {', '.join(names)}."
            f"{suggestion(text, list(names))}"
        )
    return known[wanted]


def _bare(text: str) -> str:
    return text.lower().translate({ord(letter): None for letter in "-_ "})
