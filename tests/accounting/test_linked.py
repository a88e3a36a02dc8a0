"""The information in one answer that decides which other questions are asked."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from masquerade.accounting import compose_linked
from masquerade.mechanisms import Mechanism, parse_mechanism

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)  # exact for the polynomials here


def pattern(options: int, ends: tuple[float, float], differs: int, answers: int) -> float:
    """Return the chance of reports that differ from the answers in certain places."""
    flip = (NODES + 1) / 2 * (ends[1] - ends[0]) + ends[0]
    chance = (1 - flip) ** (answers - differs) * (flip / (options - 1)) ** differs
    return float(WEIGHTS @ chance / 2)


def worst(options: int, ends: tuple[float, float], changed: int, answers: int) -> float:
    """Return the largest log ratio over all reports, where up to `changed` answers differ."""
    found = 0.0
    for of in range(1, changed + 1):
        for outside, kept, moved in itertools.product(
            range(answers - of + 1), range(of + 1), range(of + 1)
        ):
            if kept + moved > of or (options == 2 and kept + moved < of):
                continue
            one = pattern(options, ends, outside + of - kept, answers)
            other = pattern(options, ends, outside + of - moved, answers)
            found = max(found, abs(math.log(one / other)))
    return found


@pytest.mark.parametrize("options", [2, 3, 5])
@pytest.mark.parametrize("ends", [(0.0, 0.5379), (0.05, 0.66), (0.2, 0.3)])
@pytest.mark.parametrize(("changed", "answers"), [(1, 4), (2, 3), (2, 10), (3, 6), (5, 10), (4, 4)])
def test_exact_answers_outside_a_group_tell_of_its_flip_probability(
    options: int, ends: tuple[float, float], changed: int, answers: int
) -> None:
    """The event loss of a two-layer group is the worst ratio of all reports of the person."""
    mechanism = parse_mechanism(f"two-layer:options={options},low={ends[0]},high={ends[1]}")
    promise = compose_linked([mechanism] * answers, [tuple(range(changed))])
    said, true = promise.epsilon_event.epsilon, worst(options, ends, changed, answers)
    assert true <= said + 1e-9
    assert said == pytest.approx(true, abs=1e-5)


def test_a_group_of_several_mechanisms_adds_what_each_tells() -> None:
    """Choices, noise and a shared flip probability in one group: none is left out."""
    layered = parse_mechanism("two-layer:options=3,low=0.05,high=0.66")
    choice = parse_mechanism("randomized-response:options=3,epsilon=0.5")
    alone = compose_linked([layered] * 6, [(0, 1)]).epsilon_event
    mixed: list[Mechanism] = [*[layered] * 6, choice, choice]
    assert compose_linked(mixed, [(0, 1, 6)]).epsilon_event.epsilon == pytest.approx(
        alone.epsilon + 0.5, abs=2e-6
    )
    noise = parse_mechanism("discrete-gaussian:low=0,high=4,step=1,sigma=8")
    with_noise = compose_linked([*mixed, noise], [(0, 1, 8)])
    assert with_noise.delta
    assert with_noise.epsilon_event > alone
    assert compose_linked([layered] * 6, [(0, 1), (2, 3, 4)]).epsilon_event > alone
