"""The truth methods by the names that the command line uses."""

from __future__ import annotations

from masquerade.errors import ParameterError
from masquerade.lazy import suggestion
from masquerade.truth.auto import Auto
from masquerade.truth.bayesian_combination import BayesianCombination
from masquerade.truth.dawid_skene import MACE, DawidSkene, OneCoinDawidSkene
from masquerade.truth.estimator import Estimator, Kind
from masquerade.truth.glad import GLAD
from masquerade.truth.numeric import (
    CATD,
    ChannelEM,
    ConfidenceAware,
    GaussianTruth,
    HeavyTail,
    Mean,
    Median,
    Moments,
    NumericAuto,
    QualityWeighted,
    Reliability,
)
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.subtypes import Subtypes
from masquerade.truth.truth_discovery import TruthDiscovery
from masquerade.truth.two_coin import TwoCoin
from masquerade.truth.vote_weights import GoldMajorityVote
from masquerade.truth.voting import MajorityVote, WeightedVote

#: All methods, simplest first, those for categories before those for numbers.
METHODS: tuple[type[Estimator], ...] = (
    MajorityVote,
    WeightedVote,
    GoldMajorityVote,
    TruthDiscovery,
    OneCoin,
    OneCoinDawidSkene,
    TwoCoin,
    DawidSkene,
    GLAD,
    MACE,
    BayesianCombination,
    Subtypes,
    Auto,
    Median,
    Mean,
    QualityWeighted,
    ConfidenceAware,
    CATD,
    GaussianTruth,
    Reliability,
    HeavyTail,
    Moments,
    ChannelEM,
    NumericAuto,
)

_ALIASES: dict[str, type[Estimator]] = {
    "mv": MajorityVote,
    "td": TruthDiscovery,
    "ca": OneCoin,
    "channelaware": OneCoin,
    "ds": DawidSkene,
    "wawa": WeightedVote,
}

#: The method that the name ``"auto"`` stands for, by the kind of claims.
AUTO: dict[Kind, type[Estimator]] = {"categorical": Auto, "numeric": NumericAuto}


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
        return AUTO[kind]
    known = {_bare(method.name): method for method in METHODS} | _ALIASES
    if wanted not in known:
        names = dict.fromkeys(["auto", *(method.name for method in METHODS)])
        raise ParameterError(
            f"method {text!r} is unknown; expected one of {', '.join(names)}."
            f"{suggestion(text, list(names))}"
        )
    return known[wanted]


def _bare(text: str) -> str:
    return text.lower().translate({ord(letter): None for letter in "-_ "})
