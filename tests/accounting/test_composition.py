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

from masquerade.accounting import (
    NO_RHO,
    Kind,
    MaskedChoice,
    MaskedNumber,
    Mu,
    Rho,
    compose,
    kinds_of,
    pure_of,
    rho_of,
    spent,
    spent_together,
)
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Guarantee, Micro
from masquerade.mechanisms import (
    CategoricalMechanism,
    Mechanism,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)
from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian

MILLIONTH = Fraction(1, 10**6)
any_kind: st.SearchStrategy[Kind] = st.one_of(
    st.integers(0, 3 * MICRO).map(Micro),
    st.integers(0, MICRO).map(Rho),
    st.fractions(min_value=0, max_value=4, max_denominator=100).map(Mu),
    st.builds(MaskedChoice, st.integers(2, 30), st.integers(0, 3 * MICRO).map(Micro)),
    st.builds(
        MaskedNumber, st.integers(0, 5), st.fractions(min_value=1, max_value=99, max_denominator=3)
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


def test_a_response_with_gaussian_noise_states_its_delta() -> None:
    """With discrete Gaussian noise the promise has the delta once and rho for everything."""
    rating, choice = noisy(6), RandomizedResponse(4, epsilon=1)
    promise = compose([rating, rating, choice])
    assert promise.delta == MILLIONTH
    assert promise.rho_user is not None
    assert promise.rho_event is not None
    both = 2 * Rho.of(Fraction(2, 9)) + rho_of(MaskedChoice(4, Micro(MICRO)))
    assert promise.rho_user.micro == both.micro
    assert promise.rho_event.micro == Rho(462_118).micro  # of the choice: tanh(1 / 2)
    assert promise.epsilon_user == spent(kinds_of([rating, rating, choice]), MILLIONTH).epsilon
    assert promise.epsilon_user < both.epsilon(MILLIONTH)
    assert promise.epsilon_event == rating.guarantee().epsilon_event
    alone = compose([rating])
    assert 0 <= alone.epsilon_user.micro - rating.guarantee().epsilon_user.micro <= 3000
    pure = compose([choice])
    assert pure.delta == 0
    assert pure.rho_event is None
    assert pure.rho_user is None


def test_one_mechanism_without_a_guarantee_leaves_all_without() -> None:
    """A response is only proven if each of its mechanisms is."""
    promise = compose([POOL[0], without_guarantee(status="none")])
    assert promise.status == "none"
    with pytest.raises(NoGuarantee, match="promises nothing"):
        kinds_of([POOL[0], without_guarantee(status="none")])


def test_kinds_of_mechanisms() -> None:
    """Each mechanism is counted as the finest kind that is known to hold for it."""
    layered = TwoLayer(2, low=0, high=Fraction(1, 2))
    kinds = kinds_of([POOL[3], noisy(3), POOL[3], layered, layered])
    assert kinds == [
        *[MaskedChoice(5, POOL[3].guarantee().epsilon_single)] * 2,
        MaskedNumber(4, Fraction(9)),
        layered.guarantee(answers=2).epsilon_user,
    ]
    assert kinds_of([without_guarantee(rho_user=Micro(7))]) == [Rho(7)]
    with pytest.raises(NoGuarantee, match="do not add up"):
        kinds_of([without_guarantee(delta=MILLIONTH)])


@given(kinds=st.lists(any_kind, max_size=8), power=st.integers(1, 10))
def test_prop_spent_is_the_smallest_of_sound_bounds(kinds: list[Kind], power: int) -> None:
    """Sums are exact, the result is the least bound, and exact methods are below those of rho."""
    delta = Fraction(1, 10**power)
    found = spent(kinds, delta)
    assert found.epsilon == min(found.bounds.values()) == found.bounds[found.method]
    assert found.bounds["pure"] == sum(map(pure_of, kinds), NO_LOSS)
    if kinds:
        assert found.bounds["concentrated"] == sum(map(rho_of, kinds), NO_RHO).epsilon(delta)
    assert ("gaussian" in found.bounds) == bool(kinds and all(isinstance(k, Mu) for k in kinds))
    if "gaussian" in found.bounds:
        assert found.bounds["gaussian"] <= found.bounds["concentrated"]
    assert found.delta == (0 if found.method == "pure" else delta)


@given(kinds=st.lists(any_kind, min_size=1, max_size=8), seed=st.randoms(use_true_random=False))
def test_prop_the_order_of_charges_does_not_matter(kinds: list[Kind], seed: object) -> None:
    """What is spent depends on what was sent and not on when, but for the last millionth."""
    shuffled = list(kinds)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = spent(kinds, MILLIONTH), spent(shuffled, MILLIONTH)
    assert one.bounds.keys() == other.bounds.keys()
    for name, loss in one.bounds.items():
        assert loss.micro == pytest.approx(other.bounds[name].micro, abs=1)


@given(accounts=st.dictionaries(st.text(max_size=3), st.lists(any_kind, max_size=4), max_size=4))
def test_prop_several_accounts_of_a_person_add_up(accounts: dict[str, list[Kind]]) -> None:
    """A person with several accounts has spent what one account with all charges would have."""
    together = spent_together(accounts, MILLIONTH)
    everything = [kind for kinds in accounts.values() for kind in kinds]
    assert together.bounds == spent(everything, MILLIONTH).bounds
    for kinds in accounts.values():
        alone = spent(kinds, MILLIONTH)
        assert together.bounds["pure"] >= alone.bounds["pure"]


@pytest.mark.parametrize("count", [1, 3, 20, 200])
def test_rho_is_the_accountants(count: int) -> None:
    """For Gaussian noise dp-accounting says the same by rho, and more than we do exactly."""
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    events = pytest.importorskip("dp_accounting.dp_event")
    accountant = rdp.RdpAccountant()
    accountant.compose(events.GaussianDpEvent(6.0), count)
    theirs = accountant.get_epsilon(1e-6)
    ours = spent([Mu.of(Fraction(1, 6))] * count, MILLIONTH)
    assert ours.method == "gaussian"
    assert ours.bounds["concentrated"].epsilon == pytest.approx(theirs, rel=0.01)
    # Ours rounds each rho up to a millionth, theirs looks at a few orders only.
    assert ours.bounds["concentrated"].epsilon <= theirs * (1 + 1e-4)
    assert ours.epsilon.epsilon < theirs


def test_what_was_never_sent_costs_nothing() -> None:
    """An empty list is free, and an answer in clear is never hidden by another method."""
    assert spent([], MILLIONTH).epsilon == NO_LOSS
    found = spent([INFINITE_LOSS, Mu.of(Fraction(1))], MILLIONTH)
    assert found.epsilon == INFINITE_LOSS
    assert set(found.bounds) == {"pure", "concentrated"}
    assert spent([Rho(0), Mu(Fraction(0))], Fraction(0)).epsilon == NO_LOSS
    assert spent([Rho(1)], Fraction(0)).epsilon == INFINITE_LOSS
    with pytest.raises(ParameterError, match="delta"):
        spent([], Fraction(1))


def test_a_mechanism_is_no_loss() -> None:
    """A mechanism in the list of losses is refused, with the way to its losses."""
    with pytest.raises(ParameterError, match=r"is no loss; kinds_of"):
        spent([RandomizedResponse(2, epsilon=1)], Fraction(0))  # type: ignore[list-item]
