"""What a whole response costs is what its joint probability table says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import compose
from masquerade.errors import ParameterError
from masquerade.mechanisms import (
    INFINITE_LOSS,
    CategoricalMechanism,
    Loss,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)

POOL: tuple[CategoricalMechanism, ...] = tuple(
    cast(CategoricalMechanism, parse_mechanism(text))
    for text in (
        "randomized-response:options=2,flip_probability=0.25",
        "randomized-response:options=2,flip_probability=0.3",
        "randomized-response:options=3,flip_probability=0.4,null=true",
        "randomized-response:options=5,epsilon=1",
        "two-layer:options=2,low=0,high=0.5",
        "two-layer:options=3,low=0.1,high=0.9",
        "two-layer:options=4,low=0.2,high=0.2",
    )
)
mechanisms_of_a_response = st.lists(st.sampled_from(POOL), min_size=1, max_size=12)


def moment(low: Fraction, high: Fraction, flips: int, keeps: int) -> Fraction:
    """Return E[p**flips (1 - p)**keeps] for p ~ U(low, high), exactly."""
    if low == high:
        return low**flips * (1 - low) ** keeps

    def primitive(p: Fraction) -> Fraction:
        return sum(
            (
                Fraction((-1) ** j * math.comb(keeps, j), flips + j + 1) * p ** (flips + j + 1)
                for j in range(keeps + 1)
            ),
            Fraction(0),
        )

    return (primitive(high) - primitive(low)) / (high - low)


def joint_probability(
    mechanisms: Sequence[CategoricalMechanism], answers: Sequence[int], reports: Sequence[int]
) -> Fraction:
    """Return P(reports | answers) of one person, who draws once for each different mechanism."""
    product = Fraction(1)
    for mechanism in set(mechanisms):
        places = [i for i, other in enumerate(mechanisms) if other == mechanism]
        flips = sum(answers[i] != reports[i] for i in places)
        if isinstance(mechanism, TwoLayer):
            range_ends = Fraction(mechanism.low), Fraction(mechanism.high)
            product *= moment(*range_ends, flips, len(places) - flips)
            product /= (mechanism.symbols - 1) ** flips
        else:
            table = mechanism.channel().table
            for i in places:
                product *= table[answers[i]][reports[i]]
    return product


@pytest.mark.parametrize(
    "texts",
    [
        (
            "randomized-response:options=2,flip_probability=0.25",
            "randomized-response:options=3,flip_probability=0.4",
            "two-layer:options=2,low=0,high=0.5",
        ),
        ("two-layer:options=2,low=0,high=0.5379",) * 3,
        (
            "two-layer:options=3,low=0.1,high=0.9",
            "two-layer:options=2,low=0.1,high=0.6",
            "two-layer:options=3,low=0.1,high=0.9",
        ),
        (
            "two-layer:options=2,low=0,high=1",
            "randomized-response:options=2,flip_probability=0.3,null=true",
            "two-layer:options=2,low=0,high=1",
        ),
        ("randomized-response:options=4,flip_probability=0.9",) * 2,
    ],
)
def test_exact_user_loss_is_the_worst_ratio_of_the_joint_table(texts: tuple[str, ...]) -> None:
    """The user-level loss is the largest log ratio over all answers and reports together."""
    mechanisms = [cast(CategoricalMechanism, parse_mechanism(text)) for text in texts]
    space = list(itertools.product(*(range(m.symbols) for m in mechanisms)))
    worst, worst_event = Fraction(1), Fraction(1)
    for reports in space:
        likelihood = {a: joint_probability(mechanisms, a, reports) for a in space}
        worst = max(worst, max(likelihood.values()) / min(likelihood.values()))
        for one, other in itertools.product(space, repeat=2):
            if sum(x != y for x, y in zip(one, other, strict=True)) == 1:
                worst_event = max(worst_event, likelihood[one] / likelihood[other])
    promise = compose(mechanisms)
    # Never below the truth. Above it by at most a micro-epsilon for each group, which is rounded
    # up by itself, and another for a bound on numerical error.
    excess = promise.epsilon_user.micro - Loss.of_ratio(worst).micro
    assert 0 <= excess <= 2 * len(set(mechanisms))
    assert 0 <= promise.epsilon_event.micro - Loss.of_ratio(worst_event).micro <= 2


def test_exact_probabilities_of_the_joint_table_add_to_one() -> None:
    """The brute-force table of this module is a channel: every row adds to 1."""
    mechanisms = [POOL[0], POOL[4], POOL[4]]
    space = list(itertools.product(*(range(m.symbols) for m in mechanisms)))
    for answers in space:
        assert sum(joint_probability(mechanisms, answers, r) for r in space) == 1


@given(answers=st.integers(1, 60), mechanism=st.sampled_from(POOL))
def test_prop_one_mechanism_costs_its_own_guarantee(
    answers: int, mechanism: CategoricalMechanism
) -> None:
    """Answers that are all masked by one mechanism cost that mechanism's joint guarantee."""
    alone = mechanism.guarantee(answers=answers)
    together = compose([mechanism] * answers)
    assert together == alone


@given(mechanisms=mechanisms_of_a_response)
def test_prop_groups_add_exactly(mechanisms: list[CategoricalMechanism]) -> None:
    """User losses of different mechanisms add exactly; the largest event loss counts."""
    counts = {m: mechanisms.count(m) for m in mechanisms}
    parts = [mechanism.guarantee(answers=count) for mechanism, count in counts.items()]
    promise = compose(mechanisms)
    assert promise.epsilon_user.micro == sum(part.epsilon_user.micro for part in parts)
    assert promise.epsilon_event == max(part.epsilon_event for part in parts)
    assert promise.epsilon_single == max(part.epsilon_single for part in parts)
    assert promise.answers == len(mechanisms)
    assert (promise.unit, promise.trust, promise.status) == ("worker", "local", "proven")
    assert {text for part in parts for text in part.assumptions} == set(promise.assumptions)


@given(mechanisms=mechanisms_of_a_response, seed=st.randoms(use_true_random=False))
def test_prop_order_does_not_matter(mechanisms: list[CategoricalMechanism], seed: object) -> None:
    """The amounts are the same in whatever order the questions are asked."""
    shuffled = list(mechanisms)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = compose(mechanisms), compose(shuffled)
    assert (one.epsilon_single, one.epsilon_event, one.epsilon_user, one.answers) == (
        other.epsilon_single,
        other.epsilon_event,
        other.epsilon_user,
        other.answers,
    )


@given(mechanisms=mechanisms_of_a_response, more=st.sampled_from(POOL))
def test_prop_another_answer_never_costs_less(
    mechanisms: list[CategoricalMechanism], more: CategoricalMechanism
) -> None:
    """One more answer never lowers any amount."""
    before, after = compose(mechanisms), compose([*mechanisms, more])
    assert after.epsilon_user >= before.epsilon_user
    assert after.epsilon_event >= before.epsilon_event


def test_two_layer_answers_are_joint_and_not_a_sum() -> None:
    """Answers that share a flip probability cost less than as many separate draws, never free."""
    mechanism = TwoLayer(2, low=0, high="0.5379")
    one, three = compose([mechanism]), compose([mechanism] * 3)
    assert one.epsilon_user < three.epsilon_user
    assert three.epsilon_user != one.epsilon_user * 3


def test_losses_at_the_ends() -> None:
    """An unmasked answer costs infinitely much, a pure coin nothing, and together infinitely."""
    clear, coin = RandomizedResponse(2, flip_probability=0), RandomizedResponse(2, epsilon=0)
    assert compose([clear]).epsilon_user == INFINITE_LOSS
    assert compose([coin] * 9).epsilon_user.micro == 0
    assert compose([coin, clear]).epsilon_user == INFINITE_LOSS
    assert compose([coin, clear]).epsilon_event == INFINITE_LOSS


def test_no_mechanism_is_refused() -> None:
    """A response without answers has no guarantee to state."""
    with pytest.raises(ParameterError, match="no mechanisms"):
        compose([])
