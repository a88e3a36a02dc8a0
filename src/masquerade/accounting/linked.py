"""What one response promises where one answer decides which other questions are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from masquerade.accounting.composition import compose, spent
from masquerade.accounting.kinds import kinds_of
from masquerade.exact import NO_LOSS, Guarantee, Loss
from masquerade.mechanisms import Mechanism, TwoLayer


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
    """
    promise = compose(mechanisms)
    event = max([promise.epsilon_event, *(_together(mechanisms, group) for group in linked)])
    return replace(promise, epsilon_event=event)


def _together(mechanisms: Sequence[Mechanism], group: Sequence[int]) -> Loss:
    """Return the loss where the answers of one group may change and no others."""
    inside = [mechanisms[place] for place in group]
    answers = Counter(mechanisms)
    joint, alone = NO_LOSS, []
    for mechanism, changed in Counter(inside).items():
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
