"""The two-layer mechanism: its promise is the exact loss, for one report and for many."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.two_layer_patterns import UNIFORM, pattern
from tests.representative import one_in

from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Guarantee, Micro, SimulatedCoins
from masquerade.mechanisms import Channel, RandomizedResponse, TwoLayer, parse_mechanism

SETTINGS = [
    (2, Fraction(0), Fraction(1)),
    (2, Fraction(0), Fraction(5379, 10000)),
    (2, Fraction(1, 5), Fraction(4, 5)),
    (2, Fraction(2, 5), Fraction(1)),
    (2, Fraction(1, 10), Fraction(3, 10)),
    (3, Fraction(0), Fraction(1)),
    (3, Fraction(1, 3), Fraction(1)),
    (3, Fraction(1, 10), Fraction(9, 10)),
    (3, Fraction(1, 100), Fraction(1, 20)),
]


def exact_losses(n: int, symbols: int, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return the event-level and user-level ratios over all numbers of changed answers."""
    q = [pattern(n, m, symbols, low, high) for m in range(n + 1)]
    event = max(max(a / b, b / a) for a, b in itertools.pairwise(q))
    return event, max(q) / min(q)


def assert_just_above(promised: Micro, exact: Micro) -> None:
    """Check that a promise is at least the exact loss and at most a micro-epsilon above it."""
    assert exact.micro <= promised.micro <= exact.micro + 1


@pytest.mark.parametrize(
    ("options", "low", "high", "n", "event", "user"),
    [
        (2, 0, 1, 1, 0, 0),
        (2, 0, 1, 2, 0.693, 0.693),
        (2, 0, 1, 5, 1.609, 2.303),
        (2, 0, 1, 20, 2.996, 12.127),
        (2, 0, 1, 100, 4.605, 66.784),
        (2, 0, 1, 500, 6.215, 343.24),
        (2, 0, "0.5379", 1, 1.0, 1.0),
        (2, 0, "0.5379", 5, 1.681, 3.711),
        (2, 0, "0.5379", 20, 2.996, 13.147),
        (2, 0, "0.5379", 100, 4.605, 67.186),
        (3, "1/3", 1, 3, 0.6931, 0.9808),
    ],
)
def test_reference_values_of_event_and_user_level(
    options: int, low: int | str, high: int | str, n: int, event: float, user: float
) -> None:
    """The published reference amounts come out to a thousandth."""
    promise = TwoLayer(options, low=low, high=high).guarantee(answers=n)
    assert promise.epsilon_event.epsilon == pytest.approx(event, abs=1e-3)
    assert promise.epsilon_user.epsilon == pytest.approx(user, abs=5e-3 if n == 500 else 1e-3)


@pytest.mark.parametrize(
    ("epsilon", "users", "events"),
    [
        ("0.1", {1: 0.1, 5: 2.305, 20: 12.127, 100: 66.784}, {20: 2.996, 100: 4.605}),
        ("0.5", {1: 0.5, 5: 2.478, 20: 12.132, 100: 66.784}, {20: 2.996, 100: 4.605}),
        ("1", {1: 1.0, 5: 3.711, 20: 13.147, 100: 67.186}, {20: 2.996, 100: 4.605}),
        ("2", {1: 2.0, 5: 8.386, 20: 30.106, 100: 144.8}, {20: 3.018, 100: 4.605}),
    ],
)
def test_more_answers_cost_what_the_published_equality_denies(
    epsilon: str, users: dict[int, float], events: dict[int, float]
) -> None:
    """At a single-report epsilon the user and event level are those measured."""
    mechanism = TwoLayer.from_epsilon_single(epsilon, 2)
    for n, user in users.items():
        promised = mechanism.guarantee(answers=n).epsilon_user.epsilon
        assert promised == pytest.approx(user, abs=5e-2 if user == 144.8 else 1e-3)
    for n, event in events.items():
        assert mechanism.guarantee(answers=n).epsilon_event.epsilon == pytest.approx(
            event, abs=1e-3
        )


@pytest.mark.parametrize(
    ("low", "high", "n", "most"),
    [("0.2", "0.8", 1000, math.log(4)), ("0.4", "0.6", 100, 0.3815)],
)
def test_a_range_away_from_the_ends_bounds_the_event_level(
    low: str, high: str, n: int, most: float
) -> None:
    """With low > 0 and high < 1 one changed answer never costs more than the ends themselves."""
    assert TwoLayer(2, low=low, high=high).guarantee(answers=n).epsilon_event.epsilon <= most


@pytest.mark.parametrize("n", [2, 3, 10, 101, 1000, 10_000, 1_000_000])
def test_closed_forms_for_two_options_and_the_full_range(n: int) -> None:
    """With s = 2 and U(0, 1) the user level is ln C(n, n // 2), the event level ln n."""
    promise = UNIFORM.guarantee(answers=n)
    central = mpmath.loggamma(n + 1) - mpmath.loggamma(n // 2 + 1) - mpmath.loggamma(n - n // 2 + 1)
    for promised, exact in (
        (promise.epsilon_event, math.log(n)),
        (promise.epsilon_user, float(central)),
    ):
        assert 0 <= promised.epsilon - exact + 1e-12 * n < 2e-6 + 1e-12 * n + 5e-16 * n**2


@pytest.mark.parametrize("options", [2, 3, 4, 7, 100])
@pytest.mark.parametrize("n", [2, 5, 50])
def test_the_first_change_under_the_full_range_costs_ln_n_times_the_others(
    options: int, n: int
) -> None:
    """With U(0, 1), Q(0) / Q(1) = n (s - 1), which is the event level."""
    promised = TwoLayer(options, low=0, high=1).guarantee(answers=n).epsilon_event
    assert_just_above(promised, Micro.of_ratio(Fraction(n * (options - 1))))


@pytest.mark.parametrize(
    ("options", "low", "high"),
    [(2, 0.1, 0.7), (2, 0.0, 0.3), (2, 0.2, 1.0), (3, 0.1, 0.9), (5, 0.3, 0.95), (4, 0.0, 0.5)],
)
def test_the_user_level_per_answer_approaches_its_limit(
    options: int, low: float, high: float
) -> None:
    """For many answers the user level per answer is that of the best against the worst pattern."""
    n, uniform = 20_000, (options - 1) / options

    def rate(flip: float, moved: float) -> float:
        keep = (1 - moved) * math.log(1 - flip) if moved < 1 else 0.0
        return keep + (moved * math.log(flip / (options - 1)) if moved > 0 else 0.0)

    best = max(math.log(1 - low), math.log(high / (options - 1)))
    inside = [rate(min(max(m, low), high), m) for m in np.linspace(0, 1, 10_001)]
    limit = best - min(inside)
    if low <= uniform <= high:
        assert limit == pytest.approx(best + math.log(options), abs=1e-6)
    elif low == 0:
        assert limit == pytest.approx(math.log((options - 1) / high), abs=1e-6)
    promise = TwoLayer(options, low=low, high=high).guarantee(answers=n)
    assert promise.epsilon_user.epsilon / n == pytest.approx(limit, abs=2e-3)


@pytest.mark.parametrize(("options", "low", "high"), SETTINGS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_exact_the_whole_channel_of_n_answers_is_the_guarantee(
    options: int, low: Fraction, high: Fraction, n: int
) -> None:
    """The table of all answers against all reports has exactly the promised losses, rounded up.

    Every probability is an exact fraction: the flip probability is integrated as a polynomial.
    """
    mechanism = TwoLayer(options, low=low, high=high)
    strings = list(itertools.product(range(options), repeat=n))
    table = tuple(
        tuple(
            pattern(
                n, sum(a != r for a, r in zip(answers, reports, strict=True)), options, low, high
            )
            for reports in strings
        )
        for answers in strings
    )
    assert all(sum(row) == 1 for row in table)
    promise = mechanism.guarantee(answers=n)
    assert_just_above(promise.epsilon_user, Channel(table).epsilon())
    neighbours = [
        (a, b)
        for a, b in itertools.combinations(range(len(strings)), 2)
        if sum(x != y for x, y in zip(strings[a], strings[b], strict=True)) == 1
    ]
    event = max(
        max(x / y, y / x) for a, b in neighbours for x, y in zip(table[a], table[b], strict=True)
    )
    assert_just_above(promise.epsilon_event, Micro.of_ratio(event))


@pytest.mark.parametrize(("options", "low", "high"), SETTINGS)
@pytest.mark.parametrize("n", [5, 12, 40])
def test_exact_the_guarantee_is_never_below_the_losses_in_fractions(
    options: int, low: Fraction, high: Fraction, n: int
) -> None:
    """For more answers all numbers of changes are enumerated in fractions, and agree."""
    event, user = exact_losses(n, options, low, high)
    promise = TwoLayer(options, low=low, high=high).guarantee(answers=n)
    assert_just_above(promise.epsilon_event, Micro.of_ratio(event))
    assert_just_above(promise.epsilon_user, Micro.of_ratio(user))


@pytest.mark.parametrize(("options", "low", "high"), SETTINGS)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_exact_log_patterns_are_convex_so_that_their_ends_are_their_maximum(
    options: int, low: Fraction, high: Fraction, n: int
) -> None:
    """Q(m - 1) Q(m + 1) >= Q(m)**2, on which the search for the worst pattern relies."""
    q = [pattern(n, m, options, low, high) for m in range(n + 1)]
    assert all(a * c >= b * b for a, b, c in zip(q, q[1:], q[2:], strict=False))


@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        (2, "1e-9", "0.5"),
        (2, "0.5", "0.50000001"),
        (2, "0.49999999", "0.50000001"),
        (2, "0.99999998", "1"),
        (2, "0.99999", "0.99999999"),
        (2, "0", "0.00000002"),
        (3, "0.6666", "0.6667"),
        (1000, "0.9", "1"),
    ],
)
@pytest.mark.parametrize("n", [2, 9, 30])
def test_exact_narrow_and_extreme_ranges_lose_no_digits(
    options: int, low: str, high: str, n: int
) -> None:
    """Ranges next to 0, to 1, or only 1e-8 wide are not promised a micro-epsilon too little."""
    event, user = exact_losses(n, options, Fraction(low), Fraction(high))
    promise = TwoLayer(options, low=low, high=high).guarantee(answers=n)
    assert_just_above(promise.epsilon_event, Micro.of_ratio(event))
    assert_just_above(promise.epsilon_user, Micro.of_ratio(user))


@pytest.mark.parametrize(
    ("low", "high"),
    [("0.99999998123", "0.99999999771"), ("0.9999999712", "1"), ("1.23e-8", "4.56e-8")],
)
def test_exact_patterns_next_to_an_end_are_accurate_to_a_billionth(low: str, high: str) -> None:
    """Where 1 - p or p is tiny, no digits of it are lost before logarithms are taken."""
    n, mechanism = 30, TwoLayer(2, low=low, high=high)
    for m in range(n + 1):
        exact = pattern(n, m, 2, Fraction(low), Fraction(high))
        with mpmath.workdps(50):
            log = mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
            assert abs(mechanism._log_pattern(n, m) - log) < 1e-9


def log_patterns(n: int, symbols: int, low: Fraction, high: Fraction) -> list[mpmath.mpf]:
    """Return ln Q_n(m) for all m, by integration by parts in a thousand digits."""
    a, b = (mpmath.mpf(end.numerator) / end.denominator for end in (low, high))
    integral = ((1 - a) ** (n + 1) - (1 - b) ** (n + 1)) / (n + 1)
    masses = [integral / (b - a)]
    for m in range(1, n + 1):
        k = n - m + 1
        edge = (a**m * (1 - a) ** k - b**m * (1 - b) ** k) / k
        integral = edge + m * integral / k
        masses.append(integral / (b - a))
    with mpmath.workdps(40):
        step = mpmath.log(symbols - 1)
        return [mpmath.log(mass) - m * step for m, mass in enumerate(masses)]


@pytest.mark.parametrize(
    ("n", "options", "low", "high"),
    [*((60, *one) for one in SETTINGS), *one_in(3, [(1000, *one) for one in SETTINGS])],
)
def test_the_guarantee_agrees_with_a_thousand_digits(
    options: int, low: Fraction, high: Fraction, n: int
) -> None:
    """Up to 1,000 answers the promise is at most 2 micro-epsilon above a high-precision scan."""
    with mpmath.workdps(1500):
        logs = log_patterns(n, options, low, high)
        event = max(abs(y - x) for x, y in itertools.pairwise(logs))
        user = max(logs) - min(logs)
        promise = TwoLayer(options, low=low, high=high).guarantee(answers=n)
        assert 0 <= promise.epsilon_event.micro - event * MICRO < 2
        assert 0 <= promise.epsilon_user.micro - user * MICRO < 2


@pytest.mark.parametrize(
    ("low", "high"), [("0", "1"), ("0.1", "0.7"), ("0.3", "0.31"), ("0.6", "1")]
)
@pytest.mark.parametrize("m", [0, 1, 40, 3_000, 5_000, 9_999, 10_000])
def test_patterns_of_ten_thousand_answers_agree_with_quadrature(
    low: str, high: str, m: int
) -> None:
    """For n = 10,000 single pattern probabilities agree with 60-digit quadrature to 1e-10."""
    n = 10_000
    mechanism = TwoLayer(3, low=low, high=high)
    with mpmath.workdps(60):
        a, b = mpmath.mpf(low), mpmath.mpf(high)
        peak = min(max(mpmath.mpf(m) / n, a), b)
        top = peak**m * (1 - peak) ** (n - m)
        spread = mpmath.mpf(1) / 200
        edges = sorted(
            {a, b}
            | {min(max(peak + k * spread, a), b) for k in (-9, -6, -3, -1, 0, 1, 3, 6, 9)}
            | {min(max(peak + k * spread / 50, a), b) for k in (-9, -3, -1, 1, 3, 9)}
        )
        integral = mpmath.quad(lambda p: p**m * (1 - p) ** (n - m) / top, edges)
        exact = mpmath.log(integral) + mpmath.log(top) - mpmath.log(b - a) - m * mpmath.log(2)
        assert abs(mechanism._log_pattern(n, m) - exact) < 1e-10


@given(
    options=st.integers(2, 12),
    ends=st.lists(st.integers(0, 1000), min_size=2, max_size=2, unique=True).map(sorted),
    n=st.integers(1, 25),
)
def test_prop_the_guarantee_is_the_exact_loss_rounded_up(
    options: int, ends: list[int], n: int
) -> None:
    """For any range and number of options the promise is at least the exact loss, and tight."""
    low, high = (Fraction(end, 1000) for end in ends)
    event, user = exact_losses(n, options, low, high)
    promise = TwoLayer(options, low=low, high=high).guarantee(answers=n)
    assert_just_above(promise.epsilon_event, Micro.of_ratio(event))
    assert_just_above(promise.epsilon_user, Micro.of_ratio(user))
    assert_just_above(
        promise.epsilon_single, Micro.of_ratio(exact_losses(1, options, low, high)[0])
    )


@given(
    options=st.integers(2, 6),
    ends=st.lists(st.integers(0, 100), min_size=2, max_size=2, unique=True).map(sorted),
    n=st.integers(0, 200),
)
def test_prop_more_answers_never_cost_a_person_less(options: int, ends: list[int], n: int) -> None:
    """The user level grows with the number of answers, and is never below the event level."""
    mechanism = TwoLayer(options, low=Fraction(ends[0], 100), high=Fraction(ends[1], 100))
    fewer, more = (mechanism.guarantee(answers=k) for k in (n, n + 1))
    assert fewer.epsilon_user.micro <= more.epsilon_user.micro + 1  # each is rounded up
    assert fewer.epsilon_event <= fewer.epsilon_user
    assert fewer.epsilon_single == more.epsilon_single


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2"])
def test_one_changed_answer_costs_more_with_every_further_answer(epsilon: str) -> None:
    """The event level grows from the single-report epsilon on: the published equality is false."""
    mechanism = TwoLayer.from_epsilon_single(epsilon, 2)
    amounts = [mechanism.guarantee(answers=n).epsilon_event for n in range(1, 30)]
    assert amounts[0] == mechanism.guarantee().epsilon_single
    assert all(a < b for a, b in itertools.pairwise(amounts))


@pytest.mark.parametrize("options", [2, 3, 5])
@pytest.mark.parametrize("flip", [0, "0.2", "1/3", 0.9, 1])
def test_equal_ends_are_the_one_layer_mechanism(options: int, flip: float | str) -> None:
    """With low = high the losses, the channel and the draws are those of randomized response."""
    two = TwoLayer(options, low=flip, high=flip)
    one = RandomizedResponse(options, flip_probability=flip)
    for n in (0, 1, 7):
        mine, theirs = two.guarantee(answers=n), one.guarantee(answers=n)
        assert mine.epsilon_single == theirs.epsilon_single
        assert mine.epsilon_event == theirs.epsilon_event
        assert mine.epsilon_user == theirs.epsilon_user == two.revealed_loss(answers=n)
    assert two.channel() == one.channel()
    assert two.mean_flip_probability == one.flip_probability
    assert two.flip_mixture().flip_probability.tolist() == [float(one.flip_probability)]
    assert two.grid == (one.grid[0], *one.grid)
    answers, persons = np.arange(60, dtype=np.int32) % options, np.zeros(60, dtype=np.int32)
    assert np.array_equal(
        two.mask(answers, persons, SimulatedCoins(np.random.default_rng(1))),
        one.mask(answers, persons, SimulatedCoins(np.random.default_rng(1))),
    )


def test_no_answers_cost_nothing_and_one_costs_the_single_report_epsilon() -> None:
    """Without answers there is no loss; with one, all three amounts agree."""
    mechanism = TwoLayer(2, low=0, high="0.5379")
    nothing, one = mechanism.guarantee(answers=0), mechanism.guarantee(answers=1)
    assert nothing.epsilon_event == nothing.epsilon_user == NO_LOSS
    assert one.epsilon_single == one.epsilon_event == one.epsilon_user
    assert isinstance(one, Guarantee)
    assert one.status == "proven"
    assert any("drawn once" in assumption for assumption in one.assumptions)


@pytest.mark.parametrize(
    ("epsilon", "options", "low_min", "low", "high"),
    [
        (1, 2, 0, 0.0, 0.5378828),
        (0, 2, 0, 0.0, 1.0),
        (0, 3, 0, 1 / 3, 1.0),
        (0, 2, "0.2", 0.2, 0.8),
        (1, 2, "0.1", 0.1, 0.4378828),
        (0.1, 5, 0, 8 / (4 + math.exp(0.1)) - 1, 1.0),
        (0.1, 5, "0.05", 8 / (4 + math.exp(0.1)) - 0.95, 0.95),
        (2, 3, 0, 0.0, 4 / (2 + math.exp(2))),
        ("inf", 4, 0, 0.0, 0.0),
    ],
)
def test_a_single_report_epsilon_gives_the_documented_range(
    epsilon: float | str, options: int, low_min: float | str, low: float, high: float
) -> None:
    """The range starts at low_min, or ends at 1 - low_min where the mean is above one half."""
    mechanism = TwoLayer.from_epsilon_single(epsilon, options, low_min=low_min)
    assert float(mechanism.low) == pytest.approx(low, abs=1e-7)
    assert float(mechanism.high) == pytest.approx(high, abs=1e-7)


@given(
    options=st.integers(2, 20),
    epsilon=st.fractions(min_value=0, max_value=10, max_denominator=1000),
    share=st.fractions(min_value=0, max_value=Fraction(9, 10), max_denominator=100),
)
def test_prop_a_single_report_never_costs_more_than_the_epsilon_asked_for(
    options: int, epsilon: Fraction, share: Fraction
) -> None:
    """The single-report loss of the range is the epsilon asked for, not a micro-epsilon more."""
    mean = RandomizedResponse(options, epsilon=epsilon).flip_probability
    low_min = share * min(mean, 1 - mean)
    mechanism = TwoLayer.from_epsilon_single(epsilon, options, low_min=low_min)
    promised = mechanism.guarantee().epsilon_single.micro
    assert math.ceil(epsilon * MICRO) - 1 <= promised <= math.ceil(epsilon * MICRO)
    assert low_min <= mechanism.low <= mechanism.high <= 1 - low_min
    again = parse_mechanism(str(mechanism))
    assert again == mechanism
    assert isinstance(again, TwoLayer)
    assert again.grid == mechanism.grid


@pytest.mark.parametrize(
    ("epsilon", "options", "low_min", "message"),
    [
        (1, 2, "0.3", r"low_min is 0.3.*lower low_min to at most 0.268941"),
        (0, 5, "0.3", r"low_min is 0.3.*at most 0.2"),
        (1, 2, "-0.1", r"low_min is -0.1"),
        (1, 2, "x", r"low_min is 'x'"),
        (-1, 2, 0, r"epsilon is -1"),
        (1, 1, 0, r"options is 1"),
    ],
)
def test_an_impossible_single_report_epsilon_is_refused(
    epsilon: float, options: int, low_min: float | str, message: str
) -> None:
    """A low_min that leaves no range is an error that says how far to lower it, never clipped."""
    with pytest.raises(ParameterError, match=message):
        TwoLayer.from_epsilon_single(epsilon, options, low_min=low_min)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"options": 1, "low": 0, "high": 1}, "options is 1"),
        ({"options": 2, "low": 0.6, "high": 0.4}, "low is 0.6 and high is 0.4"),
        ({"options": 2, "low": -0.05, "high": 0.4}, "low is -0.05"),
        ({"options": 2, "low": 0, "high": 1.5}, "high is 1.5"),
        ({"options": 2, "low": math.nan, "high": 1}, "low is nan"),
        ({"options": 2, "low": 0, "high": math.inf}, "high is inf"),
        ({"options": 2, "low": 0, "high": None}, "high is None"),
        ({"options": 2, "low": "0.5", "high": "0.5000000001"}, "at least 2e-09 apart"),
        ({"options": 100, "low": "0.5", "high": "0.50000005"}, "at least 2e-07 apart"),
    ],
)
def test_a_bad_parameter_is_named(parameters: dict[str, object], message: str) -> None:
    """Ends out of order, outside 0 to 1, broken or too close are errors that name them."""
    with pytest.raises(ParameterError) as caught:
        TwoLayer(**parameters)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "low", "high", "loss"),
    [
        (2, 0, "0.5", INFINITE_LOSS),
        (2, "0.5", 1, INFINITE_LOSS),
        (2, "0.2", "0.8", Micro.of_ratio(Fraction(4), times=5)),
        (2, "0.25", "0.5", Micro.of_ratio(Fraction(3), times=5)),
        (3, "0.5", "0.9", Micro.of_ratio(Fraction(9, 2), times=5)),
    ],
)
def test_a_flip_probability_that_became_known_costs_the_worst_end_per_answer(
    options: int, low: int | str, high: int | str, loss: Micro
) -> None:
    """Once p is known the user level is n times the worse end; infinite where it may be 0 or 1."""
    mechanism = TwoLayer(options, low=low, high=high)
    assert mechanism.revealed_loss(answers=5) == loss
    assert mechanism.revealed_loss(answers=0) == NO_LOSS
    assert mechanism.revealed_loss(answers=5) >= mechanism.guarantee(answers=5).epsilon_user
