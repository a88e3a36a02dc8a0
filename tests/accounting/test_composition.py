"""The cost of a whole response is the cost by its joint probability table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import compose, pairs_of, spent
from masquerade.accounting.composition import pairs_of_text, spent_together
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, Guarantee, Micro
from masquerade.exact.loss import no_loss
from masquerade.exact.pairs import (
    KnownPair,
    LaplacePair,
    NoisePair,
    Pair,
    ResponsePair,
    RhoPair,
    rho_together,
)
from masquerade.mechanisms import (
    CategoricalMechanism,
    Mechanism,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)
from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian

MILLIONTH = Fraction(1, 10**6)
any_pair: st.SearchStrategy[Pair] = st.one_of(
    st.integers(0, 3 * MICRO).map(Micro).map(KnownPair),
    st.fractions(min_value=0, max_value=4, max_denominator=100).map(RhoPair),
    st.builds(ResponsePair, st.integers(1, 30), st.integers(1, 30), st.integers(2, 9)),
    st.builds(LaplacePair, st.integers(1, 5), st.fractions(min_value=1, max_value=9)),
    st.integers(0, 5).flatmap(
        lambda change: st.fractions(min_value=1, max_value=99, max_denominator=3).map(
            lambda variance: NoisePair.of_number(change, variance)
        )
    ),
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
    """Return P(reports | answers) of one person with one draw for each different mechanism."""
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
    excess = promise.epsilon_user.micro - Micro.of_ratio(worst).micro
    assert 0 <= excess <= 2 * len(set(mechanisms))
    assert 0 <= promise.epsilon_event.micro - Micro.of_ratio(worst_event).micro <= 2


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
    """The amounts are the same for every order of the questions."""
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


def noisy(sigma: int) -> DiscreteGaussian:
    """Return the mask of a 5-point rating."""
    return DiscreteGaussian(1, 5, sigma=sigma)


def without_guarantee(**fields: object) -> Mechanism:
    """Return a mechanism that promises something else than pure epsilon."""

    class Strange(RandomizedResponse):
        name = "strange"

        def guarantee(self, *, answers: int = 1) -> Guarantee:
            return Guarantee(Micro(1), Micro(1), Micro(1), answers, (), **fields)  # type: ignore[arg-type]

    strange = Strange(2, epsilon=1)
    mechanism = TwoLayer(2, low=0, high=1)
    object.__setattr__(mechanism, "guarantee", strange.guarantee)
    return mechanism


def test_one_mechanism_without_a_guarantee_leaves_all_without() -> None:
    """A response is only proven if each of its mechanisms is."""
    promise = compose([POOL[0], without_guarantee(status="none")])
    assert promise.status == "none"
    with pytest.raises(NoGuarantee, match="promises nothing"):
        pairs_of([POOL[0], without_guarantee(status="none")])


def test_pairs_of_mechanisms() -> None:
    """Each answer has its pair; a mechanism that promises nothing has none."""
    asked = [POOL[0], POOL[0], DiscreteGaussian(1, 5, sigma=3)]
    assert pairs_of(asked) == {
        ResponsePair(3, 1, 2): 2,
        NoisePair.of_number(4, Fraction(9)): 1,
    }
    with pytest.raises(NoGuarantee, match="promises nothing"):
        pairs_of([without_guarantee(status="none")])
    with pytest.raises(NoGuarantee, match="do not add up"):
        pairs_of([without_guarantee(delta=Fraction(1, 2))])


def test_sums_of_two_parties_have_the_pairs_of_their_text() -> None:
    """Each block of sums is one pair; older texts name a rho, and broken ones are refused."""
    found = pairs_of_text("two-parties:2/1/20;16/16/80.5", answers=2)
    assert found == {
        NoisePair(2, 1, Fraction(20)): 2,
        NoisePair(16, 16, Fraction("80.5")): 2,
    }
    assert pairs_of_text("two-parties:rho=0.5") == {RhoPair(Fraction(1, 2)): 1}
    for text in ("two-parties:", "two-parties:1/1", "two-parties:x/1/1", "two-parties:1/2/1"):
        with pytest.raises(ParameterError):
            pairs_of_text(text)


@given(st.lists(any_pair, max_size=5), st.sampled_from((Fraction(0), MILLIONTH)))
def test_prop_spent_is_the_smallest_of_sound_bounds(pairs: list[Pair], delta: Fraction) -> None:
    """No bound is below another that is exact, and the method says which was taken."""
    found = spent(pairs, delta)
    total = sum((pair.loss for pair in pairs), no_loss())
    assert found.bounds["pure"] == total.epsilon
    assert found.epsilon == min(found.bounds.values()) == found.bounds[found.method]
    assert found.delta == (0 if found.method == "pure" else delta)
    assert spent(pairs[::-1], delta).epsilon == found.epsilon
    together = spent_together({"one": pairs[:2], "other": pairs[2:]}, delta)
    assert together == found
    if "distribution" in found.bounds and "renyi" in found.bounds:
        assert found.bounds["distribution"].epsilon <= found.bounds["renyi"].epsilon * 1.01 + 0.01


def test_rho_of_a_response_is_shown_as_its_pairs_have_it() -> None:
    """Noise costs D / 2v, a response at most epsilon tanh(epsilon / 2)."""
    number, choice = DiscreteGaussian(1, 5, sigma=6), RandomizedResponse(4, epsilon=1)
    promise = compose([number, number, choice])
    assert promise.rho_user == rho_together(pairs_of([number, number, choice]))
    assert promise.rho_event == Micro(462_118)
    assert promise.delta == MILLIONTH
    assert promise.loss_user is not None
    assert promise.loss_user.clock == math.inf
