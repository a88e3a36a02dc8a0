"""What all answers of one response cost together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from masquerade.errors import ParameterError
from masquerade.mechanisms import NO_LOSS, Guarantee, Mechanism


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
    exact loss of each group; sums are exact.
    """
    if not mechanisms:
        raise ParameterError("there are no mechanisms to compose; give one for each answer.")
    parts = [mechanism.guarantee(answers=count) for mechanism, count in Counter(mechanisms).items()]
    assumptions = dict.fromkeys(text for part in parts for text in part.assumptions)
    return Guarantee(
        epsilon_single=max(part.epsilon_single for part in parts),
        epsilon_event=max(part.epsilon_event for part in parts),
        epsilon_user=sum((part.epsilon_user for part in parts), NO_LOSS),
        answers=len(mechanisms),
        assumptions=tuple(assumptions),
    )
