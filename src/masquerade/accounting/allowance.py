"""The number of answers that a cap allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from masquerade.accounting.caps import Caps
from masquerade.accounting.composition import spent
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.number import largest_whole
from masquerade.exact.pairs import Pair
from masquerade.mechanisms import LEVELS, DiscreteGaussian

#: Where counting stops; nobody answers a million questions.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Allowed(Result):
    """The number of equal answers that a cap allows.

    Attributes
    ----------
    ledger : int
        How many the ledger admits; safe whatever is chosen on the way.
    by_method : mapping of str to int
        How many each condition of `Caps` admits (``"pure"``, ``"renyi"``, ``"clock"``), and how
        many would fit a list that is fixed beforehand, added up exactly (``"fixed"``).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.exact.pairs import NoisePair
    >>> answers_allowed(NoisePair.of_number(4, Fraction(144)), Caps()).ledger
    29
    """

    ledger: int
    by_method: Mapping[str, int]


def answers_allowed(pair: Pair, caps: Caps) -> Allowed:
    """Return how many answers of one kind fit under `caps`.

    Parameters
    ----------
    pair : Pair
        Of one answer, with a loss above 0.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> [pair] = RandomizedResponse(2, epsilon=1).pairs()
    >>> answers_allowed(pair, Caps()).ledger
    10
    """
    loss = pair.loss
    if loss.in_clear:
        return Allowed(caps.clear, {"clear": caps.clear})
    if not loss.pure:
        raise ParameterError("this kind of answer costs nothing, so that any number is allowed.")
    conditions = {
        "pure": (loss.pure, caps.epsilon.micro),
        "renyi": (loss.of_order(caps.room.order), caps.room.divergence),
        "clock": (loss.clock, caps.room.clock),
    }
    by_method = {name: min(_MOST, int(most // each)) for name, (each, most) in conditions.items()}
    ledger = max(by_method.values())

    def fits(count: int) -> bool:
        return spent([pair] * count, caps.delta).epsilon <= caps.epsilon

    # the exact sum admits at least what the ledger does, for a list that is fixed
    by_method["fixed"] = largest_whole(fits, low=ledger, most=_MOST)
    return Allowed(ledger, by_method)


def what_a_cap_buys(caps: Caps, *, options: tuple[int, ...] = (2, 5, 10)) -> dict[str, Allowed]:
    """Return the answers that `caps` allow at each level: ratings from 1 to 5, choices by size.

    Parameters
    ----------
    options : tuple of int
        Numbers of options of the choices.

    Returns
    -------
    dict of str to Allowed
        Keys are the level's name and the kind of answer, such as ``"high, 5 options"``.

    Examples
    --------
    >>> what_a_cap_buys(Caps(), options=(2,))["high, 2 options"].ledger
    31
    """
    found = {}
    for level in LEVELS:
        number = DiscreteGaussian(1, 5, sigma=4 / level.mu)
        masks = {f"{count} options": level.randomized_response(count) for count in options}
        for name, mechanism in {"number": number, **masks}.items():
            [pair] = mechanism.pairs()
            found[f"{level.name}, {name}"] = answers_allowed(pair, caps)
    return found
