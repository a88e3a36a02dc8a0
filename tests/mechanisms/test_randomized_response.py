"""Randomized response: the sampler is the table, and the table keeps the promise."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from masquerade.answers import Claims
from masquerade.errors import ParameterError, UnknownLabel
from masquerade.mechanisms import (
    INFINITE_LOSS,
    MICRO,
    NO_LOSS,
    Loss,
    RandomizedResponse,
    SimulatedCoins,
    parse_mechanism,
)
from masquerade.mechanisms.randomized_response import grid_total, move

THIRD = Fraction(1, 3)


class GivenWords:
    """A source of words that a test chooses; it remembers how many were asked for."""

    def __init__(self, words: list[int]) -> None:
        self.left = list(words)
        self.asked: list[int] = []

    def words(self, size: int) -> NDArray[np.uint64]:
        self.asked.append(size)
        taken, self.left = self.left[:size], self.left[size:]
        assert len(taken) == size
        return np.array(taken, dtype=np.uint64)


def codes(*values: int) -> NDArray[np.int32]:
    """Return an array of codes."""
    return np.array(values, dtype=np.int32)


def exp_from_below(exponent: Fraction) -> Fraction:
    """Return a fraction just below e**exponent: a partial sum of positive terms."""
    total = term = Fraction(1)
    for k in range(1, 60):
        term = term * exponent / k
        total += term
    return total


def yes_no_claims(n: int, *, null: bool = False) -> Claims:
    """Return n claims of one worker; with null, every third has no label."""
    labels = [("no", "yes", None if null else "no")[i % 3] for i in range(n)]
    return Claims.from_frame(
        {"task": [f"t{i}" for i in range(n)], "worker": ["w"] * n, "label": labels},
        options=["no", "yes"],
        null=null,
    )


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
    assert promise.epsilon_single == promise.epsilon_event == Loss(1_098_613)
    assert promise.epsilon_user == Loss(10_986_123)
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


@settings(deadline=None)
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


@settings(deadline=None)
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


@pytest.mark.parametrize(
    ("options", "flip", "null"),
    [
        (2, Fraction(1, 4), False),
        (2, Fraction(5, 12), False),
        (2, Fraction(3, 4), False),
        (2, Fraction(1), False),
        (2, Fraction(0), False),
        (2, THIRD, True),
        (3, Fraction(1, 6), False),
        (3, Fraction(5, 6), False),
        (4, Fraction(1, 4), False),
        (5, Fraction(4, 5), False),
        (6, Fraction(1), True),
    ],
)
def test_exact_counting_all_words_gives_the_channel(
    options: int, flip: Fraction, null: bool
) -> None:
    """Over all words below the total, each report comes up exactly as often as the table says.

    So the sampler is the channel, and not only close to it.
    """
    mechanism = RandomizedResponse(options, flip_probability=flip, null=null)
    total = mechanism.grid[1]
    assert total <= 60
    for answer in range(mechanism.symbols):
        reports = mechanism.mask(
            np.full(total, answer, dtype=np.int32),
            np.zeros(total, dtype=np.int32),
            GivenWords(list(range(total))),
        )
        table = tuple(Fraction(int((reports == r).sum()), total) for r in range(mechanism.symbols))
        assert table == mechanism.channel().table[answer]


@settings(deadline=None)
@given(symbols=st.integers(2, 9), other=st.integers(0, 20), extra=st.integers(0, 20))
def test_exact_the_kernel_moves_to_each_other_symbol_equally_often(
    symbols: int, other: int, extra: int
) -> None:
    """For any small grid, `other` words move the answer by each step and the rest keep it."""
    total = other * (symbols - 1) + extra
    words = np.arange(total, dtype=np.uint64)
    for answer in range(symbols):
        reports = move(np.full(total, answer, dtype=np.int32), other, total, words, symbols)
        counts = Counter(reports.tolist())
        expected = dict.fromkeys(range(symbols), other) | {answer: extra}
        assert counts == Counter({r: c for r, c in expected.items() if c})


def test_boundary_words_of_the_large_grid_fall_on_the_right_side() -> None:
    """With epsilon 1 the first and last word of each step move, and the next word keeps."""
    mechanism = RandomizedResponse(4, epsilon=1)
    other, total = mechanism.grid
    words = [0, other - 1, other, 2 * other - 1, 2 * other, 3 * other - 1, 3 * other, total - 1]
    reports = mechanism.mask(
        np.zeros(8, dtype=np.int32), np.zeros(8, dtype=np.int32), GivenWords(words)
    )
    assert reports.tolist() == [1, 1, 2, 2, 3, 3, 0, 0]


@settings(deadline=None)
@given(
    first=st.lists(st.integers(0, 2), min_size=1, max_size=40),
    seed=st.integers(0, 2**32),
    flip=st.fractions(min_value=0, max_value=1, max_denominator=100),
    data=st.data(),
)
def test_prop_draws_do_not_depend_on_the_answers(
    first: list[int], seed: int, flip: Fraction, data: st.DataObject
) -> None:
    """The same words shift any answers by the same steps, and as many words are drawn."""
    second = data.draw(st.lists(st.integers(0, 2), min_size=len(first), max_size=len(first)))
    mechanism = RandomizedResponse(3, flip_probability=flip)
    words = np.random.default_rng(seed).integers(0, 1 << 62, size=2 * len(first)).tolist()
    persons = np.zeros(len(first), dtype=np.int32)
    shifts, asked = [], []
    for answers in (first, second):
        source = GivenWords(words)
        reports = mechanism.mask(codes(*answers), persons, source)
        shifts.append((reports - codes(*answers)) % 3)
        asked.append(source.asked)
    assert np.array_equal(shifts[0], shifts[1])
    assert asked[0] == asked[1]
    assert asked[0][0] == len(first)


def test_simulation_repeats_with_the_seed_and_leaves_the_input_alone() -> None:
    """Equal seeds give equal reports; the claims, and who said what about which task, stay."""
    claims = yes_no_claims(1000)
    before = claims.value.copy()
    mechanism = RandomizedResponse(2, epsilon=1)
    one, two, three = (
        mechanism.simulate(claims, np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    assert np.array_equal(one.value, two.value)
    assert not np.array_equal(one.value, three.value)
    assert np.array_equal(claims.value, before)
    assert not np.shares_memory(one.value, claims.value)
    assert np.array_equal(one.task, claims.task)
    assert np.array_equal(one.worker, claims.worker)
    assert one.options is claims.options
    assert one.value.dtype == np.int32


def test_real_reports_differ_between_runs() -> None:
    """Two maskings of 1,000 answers with system entropy agree with probability below 1e-200."""
    mechanism = RandomizedResponse(2, epsilon=1)
    claims = yes_no_claims(1000)
    assert not np.array_equal(mechanism.randomize(claims).value, mechanism.randomize(claims).value)


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
        {"task": ["a", "b", "c"], "worker": ["x", "x", "y"], "label": ["no", "yes", "no"]}
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


@settings(deadline=None)
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


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(4, epsilon=1),
        RandomizedResponse(5, flip_probability=0.3, null=True),
        RandomizedResponse(2, flip_probability=1),
    ],
    ids=str,
)
def test_the_device_draws_from_the_same_whole_numbers(mechanism: RandomizedResponse) -> None:
    """The device's form holds the grid of the channel, in texts that survive JSON."""
    form = mechanism.device_form()
    assert form["symbols"] == mechanism.symbols
    assert form["first"] == form["last"]
    probability = Fraction(int(form["first"]), int(form["total"]))
    assert probability == mechanism.channel().table[0][1]


def test_inference_sees_the_one_flip_probability() -> None:
    """The mixture over flip probabilities is a single point of weight 1."""
    mixture = RandomizedResponse(3, flip_probability="0.3").flip_mixture()
    assert mixture.flip_probability.tolist() == [0.3]
    assert mixture.weight.tolist() == [1.0]


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(2, epsilon=1),
        RandomizedResponse(3, epsilon="0.3"),
        RandomizedResponse(4, epsilon=2, null=True),
        RandomizedResponse(5, flip_probability="0.9"),
        RandomizedResponse(7, flip_probability="0.3"),
    ],
    ids=str,
)
def test_audit_samples_follow_the_table_and_do_not_refute_the_claim(
    mechanism: RandomizedResponse,
) -> None:
    """Seeded reports, n = 100,000 an answer, fit the table and bound epsilon from below.

    Chi-square over all rows, and Clopper-Pearson bounds for every pair of answers and report, which
    may not exceed the claim. False alarm at most 1e-6 for each of the two.
    """
    n, symbols = 100_000, mechanism.symbols
    answers = np.repeat(np.arange(symbols, dtype=np.int32), n)
    source = SimulatedCoins(np.random.default_rng(20_180_819))
    reports = mechanism.mask(answers, np.zeros_like(answers), source)
    counts = np.array(
        [np.bincount(reports[answers == a], minlength=symbols) for a in range(symbols)]
    )
    expected = n * mechanism.channel().matrix()
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2.isf(1e-6, symbols * (symbols - 1))
    tail = 1e-6 / (2 * symbols**2)
    low = stats.beta.ppf(tail, counts, n - counts + 1)
    high = stats.beta.isf(tail, counts + 1, n - counts)
    bound = max(
        math.log(low[a, r] / high[b, r])
        for a, b, r in itertools.product(range(symbols), repeat=3)
        if a != b
    )
    claim = mechanism.guarantee().epsilon_single.epsilon
    assert bound <= claim
    assert bound > 0.8 * claim  # the audit would notice a claim a fifth too small


def test_audit_reports_of_different_answers_are_independent() -> None:
    """Neighbouring flips of n = 200,000 seeded draws are uncorrelated (false alarm 1e-6)."""
    n = 200_000
    mechanism = RandomizedResponse(2, flip_probability="0.25")
    zeros = np.zeros(n, dtype=np.int32)
    flips = mechanism.mask(zeros, zeros, SimulatedCoins(np.random.default_rng(9)))
    table = np.bincount(2 * flips[0::2] + flips[1::2], minlength=4)
    expected = n / 2 * np.array([9, 3, 3, 1]) / 16
    assert ((table - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-6, 3)


@pytest.mark.parametrize("options", [2, 4, 10])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_audit_opendp_accounts_the_same(options: int, epsilon: str) -> None:
    """OpenDP's map of the same flip probability is ours, to 1e-6 and never above it."""
    dp: Any = pytest.importorskip("opendp.prelude", reason="pip install opendp")
    dp.enable_features("contrib")
    mechanism = RandomizedResponse(options, epsilon=epsilon)
    peer = dp.m.make_randomized_response(list(range(options)), float(mechanism.keep_probability))
    ours = mechanism.guarantee().epsilon_single.epsilon
    assert peer.map(1) == pytest.approx(ours, abs=2e-6)
    assert peer.map(1) <= ours + 1e-12


@pytest.mark.parametrize("table", [{"task": ["a"], "worker": ["x"], "label": ["u"]}, [0, 1]])
def test_only_claims_are_masked(table: Any) -> None:
    """A table is read first, so that its rows are checked."""
    with pytest.raises(ParameterError, match=r"expected Claims; read a table with Claims.from_fr"):
        RandomizedResponse(2, epsilon=1).randomize(table)
