"""Randomized response: the sampler is the table, and the table keeps the promise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mechanisms.randomized_response_claims import yes_no_claims

from masquerade.answers import Claims
from masquerade.errors import ParameterError, SchemaError, UnknownLabel
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.mechanisms import RandomizedResponse, parse_mechanism
from masquerade.mechanisms.randomized_response import grid_total


def exp_from_below(exponent: Fraction) -> Fraction:
    """Return a fraction just below e**exponent: a partial sum of positive terms."""
    total = term = Fraction(1)
    for k in range(1, 60):
        term = term * exponent / k
        total += term
    return total


@pytest.mark.parametrize(
    ("options", "epsilon", "flip"),
    [
        (2, 1, 0.2689414213699951),
        (2, 0, 0.5),
        (3, 0, 2 / 3),
        (4, 1, 3 / (3 + math.e)),
        (5, 2, 4 / (4 + math.exp(2))),
        (7, 0.1, 6 / (6 + math.exp(0.1))),
        (2, math.inf, 0.0),
    ],
)
def test_epsilon_gives_the_known_flip_probability(
    options: int, epsilon: float, flip: float
) -> None:
    """The flip probability is (s - 1) / (s - 1 + e**epsilon)."""
    mechanism = RandomizedResponse(options, epsilon=epsilon)
    assert float(mechanism.flip_probability) == pytest.approx(flip, abs=1e-15)
    assert mechanism.keep_probability == 1 - mechanism.flip_probability


@pytest.mark.parametrize(
    ("options", "flip", "epsilon"),
    [
        (2, "0.25", 1.0986123),
        (5, "0.1", 3.5835189),
        (5, "0.3", 2.2335922),
        (5, "0.4", 1.7917595),
        (2, "0.75", 1.0986123),
        (3, "0.9", 1.5040774),
    ],
)
def test_flip_probability_gives_the_known_epsilon(options: int, flip: str, epsilon: float) -> None:
    """Epsilon is |ln((1 - p)(s - 1) / p)|, the absolute value above (s - 1) / s included."""
    single = RandomizedResponse(options, flip_probability=flip).guarantee().epsilon_single
    assert epsilon <= single.epsilon + 1e-7
    assert single.epsilon == pytest.approx(epsilon, abs=1.1e-6)


@pytest.mark.parametrize("options", [2, 3, 4, 7])
@pytest.mark.parametrize("null", [False, True])
def test_a_flip_probability_that_hides_everything_costs_nothing(options: int, null: bool) -> None:
    """At (symbols - 1) / symbols, and at epsilon 0, all reports are equally likely."""
    symbols = options + null
    for mechanism in (
        RandomizedResponse(options, flip_probability=Fraction(symbols - 1, symbols), null=null),
        RandomizedResponse(options, epsilon=0, null=null),
    ):
        assert {p for row in mechanism.channel().table for p in row} == {Fraction(1, symbols)}
        assert mechanism.guarantee(answers=100).epsilon_user == NO_LOSS


@pytest.mark.parametrize("options", [2, 3, 5])
def test_never_flipping_and_always_flipping_cost_infinitely_much(options: int) -> None:
    """Certain reports give the answer away, or rule it out; no answers cost nothing even so."""
    for flip in (0, 1):
        mechanism = RandomizedResponse(options, flip_probability=flip)
        assert mechanism.guarantee().epsilon_single == INFINITE_LOSS
        assert mechanism.guarantee(answers=3).epsilon_user == INFINITE_LOSS
        assert mechanism.guarantee(answers=0).epsilon_user == NO_LOSS
        assert mechanism.channel().epsilon() == INFINITE_LOSS
    assert RandomizedResponse(options, epsilon=math.inf).flip_probability == 0


def test_certain_mechanisms_report_the_answer_or_never_the_answer() -> None:
    """Flip probability 0 changes nothing; 1 changes everything."""
    claims = yes_no_claims(300)
    rng = np.random.default_rng(1)
    kept = RandomizedResponse(2, flip_probability=0).simulate(claims, rng)
    moved = RandomizedResponse(2, flip_probability=1).simulate(claims, rng)
    assert np.array_equal(kept.value, claims.value)
    assert np.array_equal(moved.value, 1 - claims.value)


def test_a_person_pays_for_every_answer_and_for_one_at_event_level() -> None:
    """A person pays n times for n answers; one changed answer among them costs one."""
    promise = RandomizedResponse(2, flip_probability="0.25").guarantee(answers=10)
    assert promise.answers == 10
    assert promise.epsilon_single == promise.epsilon_event == Micro(1_098_613)
    assert promise.epsilon_user == Micro(10_986_123)
    assert (promise.unit, promise.trust, promise.status) == ("worker", "local", "proven")
    assert promise.delta == 0
    nothing = RandomizedResponse(2, flip_probability="0.25").guarantee(answers=0)
    assert nothing.epsilon_event == nothing.epsilon_user == NO_LOSS


@pytest.mark.parametrize("options", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "2.5", "7", "15"])
def test_exact_the_whole_table_keeps_the_epsilon_asked_for(
    options: int, null: bool, epsilon: str
) -> None:
    """No ratio in the enumerated table is above e**epsilon: proved in fractions, by a sum below it.

    The loss given away by rounding is less than 1e-12, and the promise is the epsilon asked for.
    """
    mechanism = RandomizedResponse(options, epsilon=epsilon, null=null)
    channel = mechanism.channel()
    assert all(sum(row) == 1 for row in channel.table)
    worst = channel.worst_ratio()
    assert isinstance(worst, Fraction)
    assert worst <= exp_from_below(Fraction(epsilon))
    with mpmath.workdps(100):
        realised = mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator)
        asked = mpmath.mpf(epsilon)
        assert 0 <= asked - realised < mpmath.mpf(10) ** -12
    assert mechanism.guarantee().epsilon_single.micro == Fraction(epsilon) * MICRO
    assert channel.epsilon() == mechanism.guarantee().epsilon_single


@given(
    options=st.integers(2, 50),
    epsilon=st.fractions(min_value=0, max_value=60, max_denominator=10**9),
    null=st.booleans(),
)
def test_prop_the_epsilon_drawn_is_never_above_the_epsilon_asked_for(
    options: int, epsilon: Fraction, null: bool
) -> None:
    """Rounding goes towards more privacy, by at most one step of the grid."""
    mechanism = RandomizedResponse(options, epsilon=epsilon, null=null)
    other, total = mechanism.grid
    symbols = options + null
    keep = total - (symbols - 1) * other
    with mpmath.workdps(100):
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        assert mpmath.mpf(keep) / other <= growth
        assert other == total // symbols or other - 1 < total / (symbols - 1 + growth)
    assert mechanism.guarantee().epsilon_single.micro <= math.ceil(epsilon * MICRO)


@pytest.mark.parametrize("epsilon", [43, 100, 1000, 1e20, 1e300])
def test_an_epsilon_beyond_the_grid_is_drawn_at_the_strongest_finite_loss(epsilon: float) -> None:
    """A huge epsilon is no error: the rarest report keeps probability one step of the grid."""
    mechanism = RandomizedResponse(2, epsilon=epsilon)
    assert mechanism.grid == (1, grid_total(2))
    assert 42 < mechanism.guarantee().epsilon_single.epsilon < 43


@given(
    options=st.integers(2, 20),
    flip=st.fractions(min_value=0, max_value=1, max_denominator=10**25),
)
@example(options=2, flip=Fraction(3 * 10**24 + 1, 10**25))
@example(options=2, flip=Fraction(7 * 10**24 + 1, 10**25))
@example(options=7, flip=Fraction(6, 7) - Fraction(1, 10**25))
@example(options=7, flip=Fraction(6, 7) + Fraction(1, 10**25))
def test_prop_a_flip_probability_is_drawn_exactly_or_rounded_towards_privacy(
    options: int, flip: Fraction
) -> None:
    """A small fraction is drawn exactly, another moves by one grid step towards uniform."""
    mechanism = RandomizedResponse(options, flip_probability=flip)
    drawn, uniform = mechanism.flip_probability, Fraction(options - 1, options)
    if (flip / (options - 1)).denominator <= 1 << 62:
        assert drawn == flip
    else:
        assert min(flip, uniform) <= drawn <= max(flip, uniform)
        assert abs(drawn - flip) < Fraction(options - 1, grid_total(options))


def test_no_answer_is_masked_like_any_other_symbol() -> None:
    """With null, a missing answer can become an option and an option can become missing."""
    mechanism = RandomizedResponse(2, flip_probability=Fraction(2, 3), null=True)
    assert mechanism.symbols == 3
    rng = np.random.default_rng(2)
    reports = mechanism.simulate(yes_no_claims(3000, null=True), rng, presence="assigned")
    assert reports.null
    moves = set(itertools.product(range(3), repeat=2))
    assert set(zip(yes_no_claims(3000, null=True).value, reports.value, strict=True)) == moves
    without = RandomizedResponse(2, epsilon=1, null=True).simulate(
        yes_no_claims(300), np.random.default_rng(2), presence="assigned"
    )
    assert without.null


def test_a_mechanism_that_masks_no_answer_asks_for_the_presence_regime() -> None:
    """Whether the tasks shown are known or hidden is said by the caller, never assumed."""
    mechanism = RandomizedResponse(2, epsilon=1, null=True)
    claims = yes_no_claims(3)
    with pytest.raises(ParameterError, match=r"presence='assigned'.*presence='hidden'"):
        mechanism.randomize(claims)
    with pytest.raises(ParameterError, match="'some'"):
        mechanism.randomize(claims, presence="some")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cannot hide"):
        RandomizedResponse(2, epsilon=1).randomize(claims, presence="hidden")


def test_hidden_presence_reports_on_every_task() -> None:
    """With presence hidden, each worker sends one report for each task, answered or not."""
    claims = Claims.from_frame(
        {"task": ["a", "b", "c"], "worker": ["x", "x", "y"], "label": ["no", "yes", "no"]},
        options=["no", "yes"],
        tasks=["a", "b", "c"],
        workers=["x", "y"],
    )
    reports = RandomizedResponse(2, epsilon=1, null=True).randomize(claims, presence="hidden")
    cells = set(zip(reports.worker.tolist(), reports.task.tolist(), strict=True))
    assert cells == set(itertools.product(range(2), range(3)))
    assert len(reports) == 6


def test_claims_that_do_not_fit_are_refused_with_what_to_do() -> None:
    """Numbers, another number of options, or a missing answer that cannot be masked are errors."""
    numbers = Claims.from_frame({"task": ["a"], "worker": ["x"], "value": [1.5]})
    with pytest.raises(ParameterError, match="the claims are numbers"):
        RandomizedResponse(2, epsilon=1).randomize(numbers)
    with pytest.raises(ParameterError, match=r"for 3 options, the claims have 2.*options="):
        RandomizedResponse(3, epsilon=1).randomize(yes_no_claims(3))
    with pytest.raises(UnknownLabel, match=r"row 3: no answer.*null=true"):
        RandomizedResponse(2, epsilon=1).randomize(yes_no_claims(3, null=True))
    answered = yes_no_claims(3, null=True).answered()
    assert len(RandomizedResponse(2, epsilon=1).randomize(answered)) == 2


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"options": 1, "epsilon": 1}, "options is 1"),
        ({"options": 0, "epsilon": 1}, "options is 0"),
        ({"options": 1 << 21, "epsilon": 1}, "options is"),
        ({"options": 2.0, "epsilon": 1}, "options is 2.0"),
        ({"options": True, "epsilon": 1}, "options is True"),
        ({"options": "two", "epsilon": 1}, "options is 'two'"),
        ({"options": None, "epsilon": 1}, "options is None"),
        ({"options": 2, "epsilon": -1}, "epsilon is -1"),
        ({"options": 2, "epsilon": math.nan}, "epsilon is nan"),
        ({"options": 2, "epsilon": -math.inf}, "epsilon is -inf"),
        ({"options": 2, "epsilon": "much"}, "epsilon is 'much'"),
        ({"options": 2, "epsilon": "1e999999999"}, "epsilon is 1e999999999"),
        ({"options": 2, "epsilon": True}, "epsilon is True"),
        ({"options": 2, "flip_probability": -0.1}, "flip_probability is -0.1"),
        ({"options": 2, "flip_probability": 1.1}, "flip_probability is 1.1"),
        ({"options": 2, "flip_probability": math.nan}, "flip_probability is nan"),
        ({"options": 2, "flip_probability": math.inf}, "flip_probability is inf"),
        ({"options": 2, "flip_probability": "1/0"}, "flip_probability is '1/0'"),
        ({"options": 2}, "give epsilon or flip_probability"),
        ({"options": 2, "epsilon": 1, "flip_probability": 0.1}, "one of the two"),
        ({"options": 2, "epsilon": 1, "null": "false"}, "null is 'false'"),
    ],
)
def test_a_bad_parameter_is_named(parameters: dict[str, object], field: str) -> None:
    """Each parameter outside its range is an error that names it and its value."""
    with pytest.raises(ParameterError) as caught:
        RandomizedResponse(**parameters)  # type: ignore[arg-type]
    assert field in str(caught.value)


@pytest.mark.parametrize("answers", [-1, 1.5, "many", None, True])
def test_a_number_of_answers_is_a_whole_number(answers: object) -> None:
    """A guarantee for a negative or broken number of answers is an error."""
    with pytest.raises(ParameterError, match="answers is"):
        RandomizedResponse(2, epsilon=1).guarantee(answers=answers)  # type: ignore[arg-type]


@given(
    options=st.integers(2, 1000),
    null=st.booleans(),
    name=st.sampled_from(["epsilon", "flip_probability"]),
    value=st.fractions(min_value=0, max_value=1) | st.floats(0, 1) | st.decimals(0, 1, places=6),
)
def test_prop_text_and_mechanism_are_inverse(
    options: int, null: bool, name: str, value: object
) -> None:
    """Reading a mechanism's text gives the same mechanism, with the same draws."""
    mechanism = RandomizedResponse(options, **{name: value}, null=null)  # type: ignore[arg-type]
    again = parse_mechanism(str(mechanism))
    assert isinstance(again, RandomizedResponse)
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert str(again) == str(mechanism)
    assert again.grid == mechanism.grid
    assert eval(repr(mechanism), {"parse_mechanism": parse_mechanism}) == mechanism


def test_the_text_form_is_the_documented_one() -> None:
    """Parameters stand in order, decimals short, null only where it is true."""
    assert str(RandomizedResponse(4, epsilon=1.0)) == "randomized-response:options=4,epsilon=1"
    assert (
        str(RandomizedResponse(5, flip_probability=0.3, null=True))
        == "randomized-response:options=5,flip_probability=0.3,null=true"
    )
    assert str(RandomizedResponse(2, epsilon=math.inf)).endswith("epsilon=inf")
    assert RandomizedResponse(4, epsilon=1) != RandomizedResponse(4, epsilon=2)
    assert RandomizedResponse(4, epsilon=1) != "randomized-response:options=4,epsilon=1"


def test_inference_sees_the_one_flip_probability() -> None:
    """The mixture over flip probabilities is a single point of weight 1."""
    mixture = RandomizedResponse(3, flip_probability="0.3").flip_mixture()
    assert mixture.flip_probability.tolist() == [0.3]
    assert mixture.weight.tolist() == [1.0]


def test_labels_of_a_table_are_declared_before_they_are_masked() -> None:
    """A table of labels that nobody declared is refused, and so is a value that is no table."""
    table = {"task": ["a"], "worker": ["x"], "label": ["u"]}
    mask = RandomizedResponse(2, epsilon=1)
    with pytest.raises(ParameterError, match="read off the answers"):
        mask.randomize(table)
    with pytest.raises(SchemaError, match="is not a table"):
        mask.randomize([0, 1])
