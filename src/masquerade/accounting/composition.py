"""Composition: the loss of all answers of a response, a lifetime, or several accounts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from masquerade.accounting.loss_distribution import composed
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Guarantee, Micro
from masquerade.exact.epsilon_at_delta import epsilon_of_orders
from masquerade.exact.loss import Loss, no_loss, tail
from masquerade.exact.number import exact, whole
from masquerade.exact.pairs import KnownPair, NoisePair, Pair, RhoPair, rho_together
from masquerade.mechanisms import Mechanism, parse_mechanism

#: How the text of what two parties add up begins.
TWO_PARTIES = "two-parties:"


def pairs_of(mechanisms: Iterable[Mechanism]) -> Counter[Pair]:
    """Return the worst pairs of a response with its answers masked by `mechanisms`.

    Parameters
    ----------
    mechanisms : iterable of Mechanism
        One for each answer. Those of the same text form are masked together.

    Raises
    ------
    NoGuarantee
        A mechanism promises nothing, or only an epsilon at a delta, which does not add up.

    Examples
    --------
    >>> from masquerade.mechanisms import DiscreteLaplace
    >>> pairs_of([DiscreteLaplace(1, 5, epsilon=1)] * 2)
    Counter({LaplacePair(steps=4, scale=Fraction(4, 1)): 2})
    """
    pairs: Counter[Pair] = Counter()
    for mechanism, count in Counter(mechanisms).items():
        pairs.update(mechanism.pairs(answers=count))
    return pairs


def pairs_of_text(text: str, *, answers: int = 1) -> Mapping[Pair, int]:
    """Return the worst pairs of answers by one mechanism, in its text form.

    Sums of two parties are ``two-parties:D/m/v;...`` with, for each block, the largest squared
    change, that of one coordinate, and the parameter of one party's noise.

    Examples
    --------
    >>> pairs_of_text("two-parties:2/1/20;16/16/80")
    Counter({NoisePair(squared=2, largest=1, variance=Fraction(20, 1)): 1, \
NoisePair(squared=16, largest=16, variance=Fraction(80, 1)): 1})
    """
    if not text.startswith(TWO_PARTIES):
        return parse_mechanism(text).pairs(answers=answers)
    blocks = text.removeprefix(TWO_PARTIES)
    if blocks.startswith("rho="):  # as earlier versions wrote it
        return {RhoPair(Fraction(exact(blocks.removeprefix("rho="), "rho"))): answers}
    pairs: Counter[Pair] = Counter()
    for block in blocks.split(";"):
        parts = block.split("/", 2)
        if len(parts) < 3:
            raise ParameterError(f"a block of {text!r} is {block!r}, expected D/m/v.")
        squared, largest = (whole(_number(part, text), "change", low=0) for part in parts[:2])
        pairs[NoisePair(squared, largest, Fraction(exact(parts[2], "variance")))] += answers
    return pairs


def _number(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 40:
        raise ParameterError(f"{digits[:20]!r} in {text[:60]!r} is no whole number.")
    return int(digits)


def compose(mechanisms: Sequence[Mechanism]) -> Guarantee:
    """Return the promise to a person for one answer by each of `mechanisms`.

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
    groups = Counter(mechanisms)
    parts = [mechanism.guarantee(answers=count) for mechanism, count in groups.items()]
    assumptions = dict.fromkeys(text for part in parts for text in part.assumptions)
    delta = max(part.delta for part in parts)
    # Different mechanisms draw independently: pure epsilons add (basic composition).
    user, rho = sum((part.epsilon_user for part in parts), NO_LOSS), None
    proven = all(part.status == "proven" for part in parts)
    loss_event = loss_user = None
    if proven:
        loss_user = sum((one.loss(answers=count) for one, count in groups.items()), no_loss())
        alone = [one.loss(answers=count, changed=1) for one, count in groups.items()]
        loss_event = max(alone, key=tail)
    if delta and proven:
        pairs = pairs_of(mechanisms)
        user = spent(pairs.elements(), delta).epsilon
        rho = rho_together(pairs)
    return Guarantee(
        epsilon_single=max(part.epsilon_single for part in parts),
        epsilon_event=max(part.epsilon_event for part in parts),
        epsilon_user=user,
        answers=len(mechanisms),
        assumptions=tuple(assumptions),
        delta=delta,
        status="proven" if proven else "none",
        rho_event=None if rho is None else max(map(_rho_event, parts)),
        rho_user=rho,
        loss_event=loss_event,
        loss_user=loss_user,
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
        Which bound is the smallest: ``"pure"`` (epsilons add), ``"renyi"`` (divergences add, then
        epsilon at delta by the best order) or ``"distribution"`` (exact up to a fine grid, where
        the worst pair of each report is known).
    bounds : mapping of str to Micro
        Every bound that applies, by its method.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.accounting import spent
    >>> from masquerade.exact import Micro
    >>> from masquerade.exact.pairs import KnownPair
    >>> found = spent([KnownPair(Micro(1_000_000))] * 3, Fraction(1, 1_000_000))
    >>> str(found.epsilon), found.method
    ('2.999998', 'distribution')
    """

    epsilon: Micro
    delta: Fraction
    method: str
    bounds: Mapping[str, Micro]


def spent(charges: Iterable[Pair], delta: Fraction) -> Spent:
    """Return the joint cost of sent reports.

    Parameters
    ----------
    charges : iterable of Pair
        One for each report, in any order; may be empty. `pairs_of` returns those of mechanisms.
    delta : Fraction
        Probability with which the bound may fail; with 0 only pure epsilons count.

    Privacy
    -------
    Two worlds differ in all answers behind the charges. Each bound holds for a list of mechanisms
    that was fixed beforehand. What holds for lists chosen on the way is the rule of `Caps`; the
    sharper numbers are for display.

    Cost: up to about 0.1 s; the time depends on how many different charges there are.

    Examples
    --------
    >>> from masquerade.exact.pairs import KnownPair
    >>> both = spent([KnownPair(Micro(100_000))] * 100, Fraction(1, 10**6))
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
def _bounds(counts: tuple[tuple[Pair, int], ...], delta: Fraction) -> tuple[tuple[str, Micro], ...]:
    """Return every bound that applies to so many charges of each pair, by its method."""
    loss = sum((pair.loss * count for pair, count in counts), no_loss())
    bounds = {"pure": loss.epsilon}
    if delta and counts:
        bounds["renyi"] = epsilon_of_orders(loss, delta)
        distribution = composed(dict(counts))
        if distribution is not None:
            bounds["distribution"] = distribution.loss(delta)
        if len(counts) == 1:
            [(pair, count)] = counts
            known = [bounds.get("distribution"), pair.epsilon_at(delta, reports=count)]
            exact_ = [one for one in known if one is not None]
            if exact_:
                bounds["distribution"] = min(exact_)
    return tuple(bounds.items())


def spent_together(accounts: Mapping[str, Iterable[Pair]], delta: Fraction) -> Spent:
    """Return the joint spending of a person on several accounts.

    The accounts speak of the same person's answers with separate masks, so that their charges
    compose like those of one account: the result is never the largest of the accounts, and not
    the sum of their epsilons at a delta each either, which would fail with the sum of the deltas.

    Parameters
    ----------
    accounts : mapping of str to iterable of Pair
    delta : Fraction
        For all accounts together.

    Examples
    --------
    >>> from masquerade.exact.pairs import KnownPair
    >>> accounts = {"home": [KnownPair(Micro(1_000_000))], "work": [KnownPair(Micro(2_000_000))]}
    >>> str(spent_together(accounts, Fraction(1, 1_000_000)).epsilon)
    '3'
    """
    return spent(chain.from_iterable(accounts.values()), delta)


def _rho_event(part: Guarantee) -> Micro:
    if part.rho_event is not None:
        return part.rho_event
    return rho_together({KnownPair(part.epsilon_event): 1})


def compose_linked(
    mechanisms: Sequence[Mechanism], linked: Sequence[Sequence[int]] = ()
) -> Guarantee:
    """Return the promise to a person for one answer by each of `mechanisms`, some of them linked.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        One for each answer, at least one.
    linked : sequence of sequence of int
        Places of questions whose reports can all change with one answer, because it decides
        whether the others are asked; see `masquerade.surveys.linked_questions.linked`.

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
    if not linked or promise.status != "proven":
        return promise
    # one answer may decide which others are asked, and so change all of their reports
    groups = [_together(mechanisms, group) for group in linked]
    event = max([promise.epsilon_event, *(epsilon for epsilon, _ in groups)])
    losses = [loss for loss in (promise.loss_event, *(loss for _, loss in groups)) if loss]
    return replace(promise, epsilon_event=event, loss_event=max(losses, key=tail))


def _together(mechanisms: Sequence[Mechanism], group: Sequence[int]) -> tuple[Micro, Loss]:
    """Return epsilon and loss where the answers of one group may change and no others."""
    answers = Counter(mechanisms)
    changed = Counter(mechanisms[place] for place in group)
    # Reports outside of the group may tell of a flip probability that they share with it.
    losses = [one.loss(answers=answers[one], changed=count) for one, count in changed.items()]
    loss = sum(losses, no_loss())
    if not math.isinf(loss.pure):
        return loss.epsilon, loss
    delta = max(one.guarantee().delta for one in changed)
    if not delta:
        return INFINITE_LOSS, loss
    pairs: Counter[Pair] = Counter()
    for (one, count), part in zip(changed.items(), losses, strict=True):
        whole_ = count == answers[one] or math.isinf(part.pure)
        pairs.update(one.pairs(answers=count) if whole_ else {KnownPair(part.epsilon): 1})
    return spent(pairs.elements(), delta).epsilon, loss
