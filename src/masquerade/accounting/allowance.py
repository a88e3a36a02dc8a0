"""The number of answers that a cap allows, by each way of adding up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from masquerade.accounting.caps import Caps, is_gaussian
from masquerade.accounting.gaussian import Mu
from masquerade.accounting.kinds import Kind, MaskedChoice, is_clear, pure_of, rho_of
from masquerade.accounting.loss_distribution import composed
from masquerade.accounting.rho import rho_of_cap
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.number import largest_whole
from masquerade.mechanisms import LEVELS

#: Where counting stops; nobody answers a million questions.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Allowed(Result):
    """The number of equal answers that a cap allows.

    Attributes
    ----------
    ledger : int
        How many the ledger admits, by pure epsilons or by rho. Safe whatever is chosen on the way.
    by_method : mapping of str to int
        How many each way of adding up would allow for a list that is fixed beforehand:
        ``"pure"`` (epsilons add), ``"basic"`` (each answer at its exact epsilon for an equal share
        of delta), ``"simple"`` (zero-concentrated, ``rho + 2 sqrt(rho ln(1/delta))``),
        ``"concentrated"`` (the same, converted tightly), ``"gaussian"`` and ``"distribution"``
        (exact). A method that does not apply is not there.

    Examples
    --------
    >>> from masquerade.accounting import Caps, Mu, answers_allowed
    >>> answers_allowed(Mu.of(Fraction(2, 3)), Caps()).ledger
    7
    """

    ledger: int
    by_method: Mapping[str, int]


def answers_allowed(kind: Kind, caps: Caps) -> Allowed:
    """Return how many answers of one kind fit under `caps`, by each method.

    Parameters
    ----------
    kind : Micro, Rho, Mu, MaskedChoice or MaskedNumber
        Of one answer, with a loss above 0.

    Examples
    --------
    >>> answers_allowed(Mu.of(Fraction(2, 3)), Caps()).by_method["gaussian"]
    7
    """
    if is_clear(kind):
        return Allowed(caps.clear, {"clear": caps.clear})
    if rho_of(kind).micro == 0:
        raise ParameterError("this kind of answer costs nothing, so that any number is allowed.")
    delta = caps.delta
    pure, rho, named = pure_of(kind), rho_of(kind), (caps.epsilon, delta)

    def most(epsilon_of: Callable[[int], Micro]) -> int:
        return largest_whole(lambda count: epsilon_of(count) <= caps.epsilon, most=_MOST)

    by_method = {"pure": most(lambda count: pure * count)}
    if delta:
        by_method["basic"] = most(lambda count: _exact(kind, delta / count) * count)
        by_method["simple"] = most(lambda count: _simple(rho.rho * count, float(delta)))
        by_method["concentrated"] = largest_whole(
            lambda count: rho * count <= rho_of_cap(*named), most=_MOST
        )
        if isinstance(kind, Mu):
            by_method["gaussian"] = most(lambda count: (kind * count).epsilon(delta))
        one = composed({kind: 1})
        if one is not None:
            by_method["distribution"] = most(lambda count: _distribution(kind, count, delta))
    # by the filter, and not by the sharper bounds above: it alone holds for surveys chosen later
    most_rho = caps.gaussian if is_gaussian(kind) else caps.rho
    by_rho = largest_whole(lambda count: rho * count <= most_rho, most=_MOST)
    return Allowed(max(by_method["pure"], by_rho), by_method)


def what_a_cap_buys(caps: Caps, *, options: tuple[int, ...] = (2, 5, 10)) -> dict[str, Allowed]:
    """Return what `caps` allow at each level: number answers, and choices of each size.

    Parameters
    ----------
    options : tuple of int
        Numbers of options of the choices.

    Returns
    -------
    dict of str to Allowed
        Keys are the level's name and the kind of answer, such as ``"high, 5 options"``. Numbers are
        those of Gaussian noise.

    Examples
    --------
    >>> from masquerade.accounting import Caps
    >>> what_a_cap_buys(Caps(), options=(2,))["high, 2 options"].ledger
    29
    """
    found = {}
    for level in LEVELS:
        found[f"{level.name}, number"] = answers_allowed(Mu.of(level.mu), caps)
        for count in options:
            mechanism = level.randomized_response(count)
            kind = MaskedChoice(mechanism.symbols, mechanism.guarantee().epsilon_single)
            found[f"{level.name}, {count} options"] = answers_allowed(kind, caps)
    return found


def _exact(kind: Kind, delta: Fraction) -> Micro:
    """Return the least epsilon known for one answer at `delta`."""
    if isinstance(kind, Mu):
        return kind.epsilon(delta)
    known = [pure_of(kind), rho_of(kind).epsilon(delta)]
    distribution = composed({kind: 1})
    if distribution is not None:
        known.append(distribution.loss(delta))
    return min(known)


def _simple(rho: float, delta: float) -> Micro:
    # Bun and Steinke (2016), Proposition 1.3.
    epsilon = rho + 2 * math.sqrt(rho * -math.log(delta))
    return Micro.of_bound(epsilon, error=epsilon * 1e-14)


def _distribution(kind: Kind, count: int, delta: Fraction) -> Micro:
    distribution = composed({kind: count})
    assert distribution is not None
    return distribution.loss(delta)
