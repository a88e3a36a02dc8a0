"""Composition: the cost of all answers of a response, a lifetime, or several accounts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from masquerade.accounting.gaussian import Mu
from masquerade.accounting.kinds import Kind, MaskedNumber, kinds_of, pure_of, rho_of
from masquerade.accounting.loss_distribution import composed
from masquerade.accounting.rho import NO_RHO, Rho, rho_of_pure
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import NO_LOSS, Guarantee, Micro
from masquerade.exact.epsilon_at_delta import epsilon_of_reports
from masquerade.mechanisms import Mechanism, TwoLayer


def compose(mechanisms: Sequence[Mechanism]) -> Guarantee:
    """Return the promise to a person who answers one question by each of `mechanisms`.

    Answers whose mechanisms have the same text form are masked together: a two-layer mechanism
    draws one flip probability for all of them, and their joint loss is counted exactly. Different
    mechanisms draw independently, so their user-level losses add.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        One for each answer, at least one.

    Privacy
    -------
    ``epsilon_event`` is the largest over the answers, ``epsilon_user`` the sum over groups of the
    exact loss of each group; sums are exact. Where Gaussian noise is among them, ``epsilon_user``
    is what `spent` says at the mechanisms' delta. One mechanism without a guarantee leaves all
    without.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> promise = compose([RandomizedResponse(2, epsilon=1), RandomizedResponse(5, epsilon=2)])
    >>> str(promise.epsilon_event), str(promise.epsilon_user)
    ('2', '3')
    """
    if not mechanisms:
        raise ParameterError("there are no mechanisms to compose; give one for each answer.")
    parts = [mechanism.guarantee(answers=count) for mechanism, count in Counter(mechanisms).items()]
    assumptions = dict.fromkeys(text for part in parts for text in part.assumptions)
    delta = max(part.delta for part in parts)
    # Different mechanisms draw independently: pure epsilons add (basic composition).
    user, rho = sum((part.epsilon_user for part in parts), NO_LOSS), None
    proven = all(part.status == "proven" for part in parts)
    if delta and proven:
        kinds = kinds_of(mechanisms)
        user, rho = spent(kinds, delta).epsilon, sum(map(rho_of, kinds), NO_RHO)
    return Guarantee(
        epsilon_single=max(part.epsilon_single for part in parts),
        epsilon_event=max(part.epsilon_event for part in parts),
        epsilon_user=user,
        answers=len(mechanisms),
        assumptions=tuple(assumptions),
        delta=delta,
        status="proven" if proven else "none",
        rho_event=None if rho is None else Micro(max(map(_rho_event, parts)).micro),
        rho_user=None if rho is None else Micro(rho.micro),
    )


@dataclass(frozen=True, slots=True)
class Spent(Result):
    """The total of a list of losses, by the smallest of all sound bounds.

    Attributes
    ----------
    epsilon : Micro
        Rounded up; infinite where nothing bounds one of the losses.
    delta : Fraction
        Probability with which the bound may fail; 0 where pure epsilon is the smallest bound.
    method : str
        Which bound is the smallest: ``"pure"`` (epsilons add), ``"concentrated"`` (rhos add, then
        epsilon at delta), ``"gaussian"`` (exact, all Gaussian) or ``"distribution"`` (exact up to
        a fine grid, all randomized response, discrete Gaussian or Laplace noise, or pure).
    bounds : mapping of str to Micro
        Every bound that applies, by its method.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.accounting import spent
    >>> from masquerade.exact import Micro
    >>> found = spent([Micro(1_000_000)] * 3, Fraction(1, 1_000_000))
    >>> str(found.epsilon), found.method
    ('2.999998', 'distribution')
    """

    epsilon: Micro
    delta: Fraction
    method: str
    bounds: Mapping[str, Micro]


def spent(charges: Iterable[Kind], delta: Fraction) -> Spent:
    """Return what the reports that were sent cost together.

    Parameters
    ----------
    charges : iterable of Micro, Rho, Mu, MaskedChoice or MaskedNumber
        One for each report, in any order; may be empty.
    delta : Fraction
        Probability with which the bound may fail; with 0 only pure epsilons count.

    Privacy
    -------
    Two worlds differ in all answers behind the charges. Each bound holds for a list of mechanisms
    that was fixed beforehand. Sums of pure epsilon and of rho also hold for lists chosen on the
    way as long as a cap stops them, see `Caps`; the exact methods are for display.

    Cost: up to about 0.1 s; the time depends on how many different charges there are.

    Examples
    --------
    >>> both = spent([Micro(100_000)] * 100, Fraction(1, 10**6))
    >>> str(both.bounds["pure"]), both.method, both.epsilon < Micro(5_300_000)
    ('10', 'distribution', True)
    """
    if not isinstance(delta, Fraction) or not 0 <= delta < 1:
        raise ParameterError(f"delta is {delta!r}, expected a fraction, 0 to below 1.")
    # equal charges compose as one power: the time depends on how many differ
    bounds = dict(_bounds(tuple(Counter(charges).items()), delta))
    method = min(bounds, key=lambda name: bounds[name])  # pure, with delta 0, where they are equal
    used = delta if method != "pure" else Fraction(0)
    return Spent(bounds[method], used, method, bounds)


# What a response promises and what it costs are both asked for, of the same charges.
@lru_cache(maxsize=1024)
def _bounds(counts: tuple[tuple[Kind, int], ...], delta: Fraction) -> tuple[tuple[str, Micro], ...]:
    """Return every bound that applies to so many charges of each kind, by its method."""
    bounds = {"pure": sum((pure_of(kind) * count for kind, count in counts), NO_LOSS)}
    if delta and counts:
        rho = sum((rho_of(kind) * count for kind, count in counts), NO_RHO)
        bounds["concentrated"] = rho.epsilon(delta)
        gaussians = [(kind, count) for kind, count in counts if isinstance(kind, Mu)]
        if len(gaussians) == len(counts):
            # Gaussian differential privacy composes by squares: mu**2 add (Dong, Roth and Su,
            # 2022).
            together = Mu(sum((mu.squared * n for mu, n in gaussians), Fraction(0)))
            bounds["gaussian"] = together.epsilon(delta)
        by_kind = dict(counts)
        distribution = composed(by_kind)
        if distribution is not None:
            bounds["distribution"] = distribution.loss(delta)
        on_a_lattice = _on_a_lattice(by_kind, delta)
        if on_a_lattice is not None:
            found = bounds.get("distribution", on_a_lattice)
            bounds["distribution"] = min(found, on_a_lattice)
    return tuple(bounds.items())


def spent_together(accounts: Mapping[str, Iterable[Kind]], delta: Fraction) -> Spent:
    """Return what a person with several accounts has spent on all of them.

    The accounts speak of the same person's answers with separate masks, so that their charges
    compose like those of one account: the result is never the largest of the accounts, and not
    the sum of their epsilons at a delta each either, which would fail with the sum of the deltas.

    Parameters
    ----------
    accounts : mapping of str to iterable of charges
    delta : Fraction
        For all accounts together.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.exact import Micro
    >>> accounts = {"home": [Micro(1_000_000)], "work": [Micro(2_000_000)]}
    >>> str(spent_together(accounts, Fraction(1, 1_000_000)).epsilon)
    '3'
    """
    return spent(chain.from_iterable(accounts.values()), delta)


def _on_a_lattice(counts: Mapping[Kind, int], delta: Fraction) -> Micro | None:
    """Return the exact epsilon of equal numbers with discrete Gaussian noise."""
    if len(counts) > 1:
        return None
    [(kind, count)] = counts.items()
    if not isinstance(kind, MaskedNumber) or not kind.change:
        return None
    return epsilon_of_reports(kind.change, kind.variance, delta, reports=count)


def _rho_event(part: Guarantee) -> Rho:
    if part.rho_event is not None:
        return Rho(part.rho_event.micro)
    return rho_of_pure(part.epsilon_event)


def compose_linked(
    mechanisms: Sequence[Mechanism], linked: Sequence[Sequence[int]] = ()
) -> Guarantee:
    """Return the promise to a person who answers one question by each of `mechanisms`.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        One for each answer, at least one.
    linked : sequence of sequence of int
        Places of questions whose reports can all change with one answer, because it decides
        whether the others are asked; see `masquerade.surveys.conditions.linked`.

    Privacy
    -------
    As `compose`, but one changed answer is seen through all reports of its group, so
    ``epsilon_event`` is at least what a group costs together. Where answers outside a group share a
    two-layer flip probability with it, their reports tell of that too and are counted.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> questions = [RandomizedResponse(2, epsilon=1), RandomizedResponse(5, epsilon=2)]
    >>> promise = compose_linked(questions, linked=[(0, 1)])
    >>> str(promise.epsilon_event), str(promise.epsilon_user)
    ('3', '3')
    """
    promise = compose(mechanisms)
    # one answer may decide which others are asked, and so change all of their reports
    event = max([promise.epsilon_event, *(_together(mechanisms, group) for group in linked)])
    return replace(promise, epsilon_event=event)


def _together(mechanisms: Sequence[Mechanism], group: Sequence[int]) -> Micro:
    """Return the loss where the answers of one group may change and no others."""
    inside = [mechanisms[place] for place in group]
    answers = Counter(mechanisms)
    joint, alone = NO_LOSS, []
    for mechanism, changed in Counter(inside).items():
        # Reports outside of the group tell of the flip probability that they share with it.
        if isinstance(mechanism, TwoLayer) and changed < answers[mechanism]:
            joint += mechanism.loss_of_some(changed, answers=answers[mechanism])
        else:
            alone += [mechanism] * changed
    if not alone:
        return joint
    promise = compose(alone)
    if promise.delta and promise.status == "proven":
        return spent([*kinds_of(alone), joint], promise.delta).epsilon
    return promise.epsilon_user + joint
