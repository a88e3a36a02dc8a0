"""Shares estimated from masked reports are right on average and say truly how wrong they may be."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import Counts, estimate_shares
from masquerade.exact import SimulatedCoins
from masquerade.mechanisms import (
    LEVELS,
    CategoricalMechanism,
    Level,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)

MECHANISMS: tuple[CategoricalMechanism, ...] = tuple(
    cast(CategoricalMechanism, parse_mechanism(text))
    for text in (
        "randomized-response:options=2,flip_probability=0",
        "randomized-response:options=2,flip_probability=0.25",
        "randomized-response:options=2,flip_probability=0.8",
        "randomized-response:options=2,flip_probability=0.45,null=true",
        "randomized-response:options=3,epsilon=1",
        "randomized-response:options=5,epsilon=0.5",
        "two-layer:options=2,low=0,high=0.5379",
        "two-layer:options=4,low=0.1,high=0.7",
    )
)


def count_vectors(n: int, symbols: int) -> Iterator[tuple[int, ...]]:
    """Yield every way in which n people can send symbols."""
    for cuts in itertools.combinations(range(n + symbols - 1), symbols - 1):
        ends = (-1, *cuts, n + symbols - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(ends))


def probability(counts: Sequence[int], reported: Sequence[Fraction]) -> Fraction:
    """Return the multinomial probability of `counts` in exact fractions."""
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod(
        (p**c for p, c in zip(reported, counts, strict=True)), start=Fraction(1)
    )


def reported_shares(held: Sequence[Fraction], mechanism: CategoricalMechanism) -> list[Fraction]:
    """Return P(report) where P(answer) is `held`."""
    table = mechanism.channel().table
    return [
        sum((held[a] * table[a][r] for a in range(len(held))), Fraction(0))
        for r in range(mechanism.symbols)
    ]


def uneven(symbols: int) -> list[Fraction]:
    """Return shares of which each is twice the next."""
    total = 2**symbols - 1
    return [Fraction(2**k, total) for k in reversed(range(symbols))]


def test_a_known_example() -> None:
    """60 of 100 reports under a flip probability of 1/4 estimate a share of 70 %."""
    shares = estimate_shares([60, 40], RandomizedResponse(2, flip_probability=Fraction(1, 4)))
    first, second = shares.estimates
    assert (shares.n, shares.confidence, shares.reported.tolist()) == (100, 0.95, [0.6, 0.4])
    assert first.value == pytest.approx(0.7)
    # 2 * sqrt(0.6 * 0.4 / 100), of which sqrt(0.7 * 0.3 / 100) is the choice of people; half a
    # person at either end moves it by less than a hundredth
    assert first.standard_error == pytest.approx(0.0979795897113271, rel=0.01)
    assert first.sampling_error == pytest.approx(0.0458257569495584)
    # Twice the log-likelihood ratio of the reports is 3.84 at the ends.
    for end, (yes, no) in ((first.low, (60, 40.5)), (first.high, (60.5, 40))):
        reported, likeliest = 0.25 + 0.5 * end, yes / (yes + no)
        ratio = yes * math.log(likeliest / reported)
        ratio += no * math.log((1 - likeliest) / (1 - reported))
        assert 2 * ratio == pytest.approx(1.959963984540054**2)
    assert (round(first.low, 4), round(first.high, 4)) == (0.4991, 0.8885)
    assert second.value == pytest.approx(0.3)
    assert (second.low, second.high) == pytest.approx((1 - first.high, 1 - first.low))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_exact_estimates_are_unbiased(mechanism: CategoricalMechanism) -> None:
    """Over all count vectors of five people, the estimates average to the true shares."""
    held = uneven(mechanism.symbols)
    reported = reported_shares(held, mechanism)
    expected = np.zeros(mechanism.symbols)
    for counts in count_vectors(5, mechanism.symbols):
        values = [estimate.value for estimate in estimate_shares(counts, mechanism).estimates]
        expected += float(probability(counts, reported)) * np.array(values)
    assert expected == pytest.approx([float(share) for share in held], abs=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_exact_standard_error_is_the_true_one(mechanism: CategoricalMechanism) -> None:
    """The squared standard error averages to the true variance, but for the half persons."""
    n = 6
    reported = reported_shares(uneven(mechanism.symbols), mechanism)
    mean = square = shown = np.zeros(mechanism.symbols)
    for counts in count_vectors(n, mechanism.symbols):
        weight = float(probability(counts, reported))
        estimates = estimate_shares(counts, mechanism).estimates
        values = np.array([estimate.value for estimate in estimates])
        mean = mean + weight * values
        square = square + weight * values**2
        shown = shown + weight * np.array([e.standard_error**2 for e in estimates])
    assert shown * n / (n - 1) == pytest.approx(square - mean**2, rel=0.3)


def test_exact_standard_error_at_the_expected_counts() -> None:
    """Where the reports fall just as expected, the standard error is the true deviation."""
    mechanism = RandomizedResponse(2, flip_probability=Fraction(1, 4))
    n, held = 40, [Fraction(7, 10), Fraction(3, 10)]
    reported = reported_shares(held, mechanism)
    counts = [int(n * share) for share in reported]
    variance = sum(
        probability((k, n - k), reported)
        * ((Fraction(k, n) - Fraction(1, 4)) / Fraction(1, 2) - held[0]) ** 2
        for k in range(n + 1)
    )
    shown = estimate_shares(counts, mechanism).estimates[0]
    assert counts == [24, 16]
    assert shown.standard_error == pytest.approx(math.sqrt(variance), rel=0.02)
    assert shown.sampling_error == pytest.approx(math.sqrt(0.7 * 0.3 / n), rel=1e-12)


@st.composite
def counted(draw: st.DrawFn) -> tuple[list[int], CategoricalMechanism]:
    """Draw a mechanism and counts of its reports, not all zero."""
    mechanism = draw(st.sampled_from(MECHANISMS))
    one = st.integers(0, 5) | st.integers(0, 10**7)
    counts = draw(st.lists(one, min_size=mechanism.symbols, max_size=mechanism.symbols))
    counts[draw(st.integers(0, mechanism.symbols - 1))] += 1
    return counts, mechanism


@given(case=counted(), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_prop_estimates_hang_together(
    case: tuple[list[int], CategoricalMechanism], confidence: float
) -> None:
    """Shares add to 1, error parts add in squares, and intervals hold the estimate."""
    counts, mechanism = case
    shares = estimate_shares(counts, mechanism, confidence=confidence)
    assert shares.n == sum(counts)
    assert len(shares.estimates) == mechanism.symbols
    assert sum(e.value for e in shares.estimates) == pytest.approx(1, abs=1e-9)
    for estimate in shares.estimates:
        parts = estimate.sampling_error**2 + estimate.mechanism_error**2
        assert parts == pytest.approx(estimate.standard_error**2, rel=1e-9, abs=1e-30)
        clipped = min(max(estimate.value, 0), 1)
        assert 0 <= estimate.low <= clipped <= estimate.high <= 1


@given(case=counted())
def test_prop_a_wider_confidence_gives_a_wider_interval(
    case: tuple[list[int], CategoricalMechanism],
) -> None:
    """The interval of a larger confidence contains that of a smaller one."""
    counts, mechanism = case
    narrow = estimate_shares(counts, mechanism, confidence=0.8)
    wide = estimate_shares(counts, mechanism, confidence=0.99)
    for inner, outer in zip(narrow.estimates, wide.estimates, strict=True):
        assert outer.low <= inner.low + 1e-12
        assert inner.high <= outer.high + 1e-12


@pytest.mark.parametrize(("n", "least"), [(20, 0.937), (50, 0.94)])
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("options", [2, 5, 10])
def test_exact_intervals_cover(n: int, least: float, level: Level, options: int) -> None:
    """95 % intervals hold the true share 95 % of the time, and hardly less at any share.

    The coverage is computed from the binomial distribution of one symbol's count, not simulated,
    at 201 shares from 0 to 1.
    """
    mechanism = level.randomized_response(options)
    keep, other = mechanism.channel().matrix()[0, :2]
    rest = [0] * (options - 2)
    estimates = [estimate_shares([k, n - k, *rest], mechanism).estimates[0] for k in range(n + 1)]
    low, high = (np.array([getattr(e, end) for e in estimates]) for end in ("low", "high"))
    held = np.linspace(0, 1, 201)[:, None]
    weight = binom.pmf(np.arange(n + 1), n, other + (keep - other) * held)
    coverage = (weight * ((low - 1e-12 <= held) & (held <= high + 1e-12))).sum(axis=1)
    assert coverage.min() >= least
    assert coverage.mean() >= 0.949


@pytest.mark.parametrize(("n", "least"), [(20, 0.905), (50, 0.91)])
@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(2, epsilon=Fraction(1, 2)),
        RandomizedResponse(4, epsilon=3, null=True),
        TwoLayer(2, low=0, high="0.5379"),
    ],
    ids=str,
)
def test_audit_intervals_cover_from_answer_to_estimate(
    n: int, least: float, mechanism: CategoricalMechanism
) -> None:
    """Masked and estimated end to end, 95 % intervals hold the true shares.

    3000 surveys; the bounds are five standard deviations below 93 and 93.5 %, so that chance
    alone fails this with a probability below 3e-7 for each share.
    """
    rng = np.random.default_rng(20260314)
    symbols, surveys = mechanism.symbols, 3000
    held = np.array([float(share) for share in uneven(symbols)])
    answers = rng.choice(symbols, p=held, size=surveys * n).astype(np.int32)
    persons = np.arange(surveys * n, dtype=np.int32)
    reports = mechanism.mask(answers, persons, SimulatedCoins(rng)).reshape(surveys, n)
    covered = np.zeros(symbols)
    for row in reports:
        shares = estimate_shares(np.bincount(row, minlength=symbols).tolist(), mechanism)
        covered += [e.low <= h <= e.high for e, h in zip(shares.estimates, held, strict=True)]
    assert (covered / surveys).min() >= least


@pytest.mark.parametrize("scores", [[1, 2, 3, 4, 5], [0, 0, 0, 0, 1], [-3, 2.5, 0, 7, 7]])
def test_a_mean_is_that_of_the_shares(scores: list[float]) -> None:
    """The mean is the scores weighted by the estimated shares, with the linear form's own error."""
    mechanism = RandomizedResponse(5, epsilon=2)
    counts = [30, 50, 70, 90, 60]
    shares = estimate_shares(counts, mechanism)
    mean = shares.mean(scores)
    held = np.array([estimate.value for estimate in shares.estimates])
    assert mean.value == pytest.approx(float(held @ scores))
    # Each report counts one number to the mean; their variance over n is that of the mean.
    table = mechanism.channel().matrix()
    contribution = np.linalg.solve(table, np.array(scores, dtype=float))
    each = np.repeat(contribution, counts)
    assert mean.standard_error == pytest.approx(math.sqrt(each.var() / len(each)), rel=0.01)
    answers = float(held @ np.square(scores)) - mean.value**2
    assert mean.sampling_error == pytest.approx(math.sqrt(answers / 300))
    assert mean.sampling_error**2 + mean.mechanism_error**2 == pytest.approx(mean.standard_error**2)
    assert min(scores) <= mean.low < mean.value < mean.high <= max(scores)


def test_exact_a_mean_is_unbiased() -> None:
    """Over all count vectors a mean averages to the true one, and its squared error as well."""
    mechanism, n, scores = RandomizedResponse(3, epsilon=1), 6, np.array([1.0, 2.0, 5.0])
    held = uneven(3)
    reported = reported_shares(held, mechanism)
    mean = square = shown = 0.0
    for counts in count_vectors(n, 3):
        weight = float(probability(counts, reported))
        estimate = estimate_shares(counts, mechanism).mean(scores.tolist())
        mean += weight * estimate.value
        square += weight * estimate.value**2
        shown += weight * estimate.standard_error**2
    assert mean == pytest.approx(float(np.array(held, dtype=float) @ scores))
    assert shown * n / (n - 1) == pytest.approx(square - mean**2, rel=0.2)


def test_a_mean_leaves_out_who_did_not_answer() -> None:
    """With "no answer" among the symbols, the mean is over the given answers."""
    mechanism = RandomizedResponse(2, flip_probability=Fraction(3, 10), null=True)
    shares = estimate_shares([400, 300, 300], mechanism)
    first, second, nobody = (estimate.value for estimate in shares.estimates)
    mean = shares.mean([1, 5])
    assert mean.value == pytest.approx((first + 5 * second) / (1 - nobody))
    assert 1 <= mean.low < mean.value < mean.high <= 5


def test_audit_a_mean_among_who_answered_has_its_error() -> None:
    """The error of a mean without "no answer" is its true deviation, within 3 %.

    20000 surveys of 2000 people; the deviation's own sampling error is 0.5 %.
    """
    mechanism = RandomizedResponse(3, epsilon=2, null=True)
    held = np.array([0.3, 0.2, 0.3, 0.2])
    rng = np.random.default_rng(7)
    reported = held @ mechanism.channel().matrix()
    drawn: NDArray[Any] = rng.multinomial(2000, reported / reported.sum(), size=20000)
    shares = (drawn / 2000) @ np.linalg.inv(mechanism.channel().matrix())
    means = shares[:, :3] @ [1, 3, 5] / shares[:, :3].sum(axis=1)
    shown = estimate_shares(np.rint(2000 * reported).astype(int).tolist(), mechanism)
    mean = shown.mean([1, 3, 5])
    assert mean.value == pytest.approx(float(means.mean()), abs=0.01)
    assert mean.standard_error == pytest.approx(float(means.std()), rel=0.03)


def test_a_mean_of_nobody_is_not_a_number() -> None:
    """Where nobody seems to have answered there is no mean, and its interval is the whole range."""
    mechanism = RandomizedResponse(2, flip_probability=Fraction(3, 10), null=True)
    mean = estimate_shares([1, 0, 99], mechanism).mean([1, 5])
    assert math.isnan(mean.value)
    assert mean.standard_error == math.inf
    assert (mean.low, mean.high) == (1, 5)


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("scores", [[], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5]])
def test_one_score_an_option(null: bool, scores: list[float]) -> None:
    """A mean needs exactly one score for each option, whether or not there is "no answer"."""
    mechanism = RandomizedResponse(3, epsilon=1, null=null)
    shares = estimate_shares([10] * mechanism.symbols, mechanism)
    with pytest.raises(ParameterError, match="3 options"):
        shares.mean(scores)
    assert shares.mean([1, 2, 3]).value == pytest.approx(2)


@pytest.mark.parametrize(
    "counts",
    [
        [],
        [1],
        [1, 2, 3],
        [[1, 2]],
        [-1, 2],
        [1.5, 2],
        [1.0, 2.0],
        [math.nan, 1],
        [math.inf, 1],
        ["1", "2"],
        [None, 1],
        [True, False],
    ],
)
def test_bad_counts_are_refused(counts: Any) -> None:
    """Counts that are not one whole number of at least 0 for each symbol are an error."""
    with pytest.raises(ParameterError, match="expected 2 whole numbers"):
        estimate_shares(counts, RandomizedResponse(2, epsilon=1))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, math.nan, 95])
def test_bad_confidence_is_refused(confidence: float) -> None:
    """Confidence is a probability strictly between 0 and 1."""
    with pytest.raises(ParameterError, match="confidence"):
        estimate_shares([1, 2], RandomizedResponse(2, epsilon=1), confidence=confidence)


def test_no_reports_are_refused() -> None:
    """Without reports there is no share to estimate."""
    with pytest.raises(EmptyTable, match="no reports"):
        estimate_shares([0, 0], RandomizedResponse(2, epsilon=1))


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(2, epsilon=0),
        RandomizedResponse(3, flip_probability=Fraction(2, 3)),
        TwoLayer(2, low=0, high=1),
    ],
    ids=str,
)
def test_reports_that_say_nothing_are_refused(mechanism: CategoricalMechanism) -> None:
    """A mechanism with reports that do not depend on the answers leaves nothing to estimate."""
    with pytest.raises(ParameterError, match="epsilon 0"):
        estimate_shares([5] * mechanism.symbols, mechanism)


def test_numpy_counts_are_welcome() -> None:
    """Counts may be an array of integers."""
    mechanism = RandomizedResponse(2, epsilon=1)
    given, listed = (estimate_shares(c, mechanism) for c in (np.array([3, 4]), [3, 4]))
    assert given.estimates == listed.estimates


def test_many_options_need_no_table() -> None:
    """Shares and a mean over 20,000 options take no table of 20,000 rows."""
    mechanism = RandomizedResponse(20_000, epsilon=12)
    shares = estimate_shares([3, 1, *[0] * 19_998], mechanism)
    assert shares.estimates[0].value == pytest.approx(0.75, abs=0.1)
    assert shares.mean([1.0, *[0.0] * 19_999]).value == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_scores_are_finite(score: float) -> None:
    """A mean of scores that are no numbers is refused."""
    shares = estimate_shares([1, 2], RandomizedResponse(2, epsilon=1))
    with pytest.raises(ParameterError, match="give one finite number an option"):
        shares.mean([1.0, score])


def test_counts_with_labels_are_read_by_their_labels() -> None:
    """A series of `value_counts`, most frequent first, a Counter and a dict mean the same."""
    mechanism = RandomizedResponse(2, epsilon=3)
    reports = [1] * 700 + [0] * 300
    expected = estimate_shares([300, 700], mechanism).estimates
    assert expected[0].value == pytest.approx(0.279, abs=5e-4)
    series = pd.Series(reports).value_counts()
    assert series.index.tolist() == [1, 0]
    labelled: list[Any] = [series, Counter(reports), {1: 700, 0: 300}, {1: 700.0, 0: 300}]
    for counts in labelled:
        assert estimate_shares(counts, mechanism).estimates == expected
    words = pd.Series(["no"] * 700 + ["yes"] * 300).value_counts()
    found = estimate_shares(words, mechanism, options=("yes", "no"))
    assert found.estimates == expected
    assert estimate_shares({"no": 5}, mechanism, options=("yes", "no")).reported.tolist() == [0, 1]


def test_labels_that_are_none_of_the_options_are_refused() -> None:
    """A label without an option is named, with advice."""
    mechanism = RandomizedResponse(2, epsilon=3)
    with pytest.raises(ParameterError, match=r"label .no., which is none of .0, 1.; say which"):
        estimate_shares({"no": 5}, mechanism)
    with pytest.raises(ParameterError, match="label 'No', which is none of"):
        estimate_shares({"No": 5}, mechanism, options=("yes", "no"))
    with pytest.raises(ParameterError, match="give one label each"):
        estimate_shares({"no": 5}, mechanism, options=("yes", "no", "perhaps", "never"))
    with pytest.raises(ParameterError, match="expected a whole number"):
        estimate_shares(cast(Any, {0: 1.5, 1: 2}), mechanism)


def test_labelled_counts_of_a_crowd_are_read_by_their_labels() -> None:
    """In any order: of answers in clear by options, of masks by codes too."""
    mask = RandomizedResponse(2, epsilon=3)
    clear = Counts.of(Counter({"no": 3, "yes": 7}), options=("yes", "no"))
    assert clear.count.tolist() == [7, 3]
    assert Counts.of({1: 700, 0: 300}, mask).count.tolist() == [300, 700]
    with pytest.raises(ParameterError, match="say with options= which there are"):
        Counts.of({"a": 1, "b": 2})
