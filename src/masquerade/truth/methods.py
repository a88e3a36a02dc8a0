"""The truth methods by the names that the command line uses."""

from __future__ import annotations

from masquerade.errors import ParameterError
from masquerade.truth.estimator import Estimator
from masquerade.truth.majority_vote import MajorityVote
from masquerade.truth.numeric import Mean, Median
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.truth_discovery import TruthDiscovery

METHODS: tuple[type[Estimator], ...] = (MajorityVote, TruthDiscovery, OneCoin, Median, Mean)
"""All methods, simplest first, those for categories before those for numbers."""

_ALIASES: dict[str, type[Estimator]] = {
    "mv": MajorityVote,
    "td": TruthDiscovery,
    "ca": OneCoin,
    "channelaware": OneCoin,
}


def method_named(text: str) -> type[Estimator]:
    """Return the method of this name; case, "-", "_" and spaces do not matter.

    Raises
    ------
    ParameterError
        The name is unknown; the message lists the names.

    Examples
    --------
    >>> method_named("MajorityVote").name, method_named("truth_discovery").name
    ('majority-vote', 'truth-discovery')
    """
    wanted = _bare(text)
    known = {_bare(method.name): method for method in METHODS} | _ALIASES
    if wanted not in known:
        raise ParameterError(
            f"method {text!r} is unknown; expected one of "
            f"{', '.join(method.name for method in METHODS)}."
        )
    return known[wanted]


def _bare(text: str) -> str:
    return text.lower().translate({ord(letter): None for letter in "-_ "})
