"""Reports of the two-layer mechanism: a flip probability a person, a coin an answer."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.mechanisms.given_words import GivenWords, codes
from tests.mechanisms.two_layer_patterns import UNIFORM, pattern

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, SimulatedCoins
from masquerade.mechanisms import TwoLayer, parse_mechanism
from masquerade.mechanisms.two_layer import _grid_error

HALF = Fraction(1, 2)


def test_more_answers_than_the_grid_can_vouch_for_cost_infinitely_much() -> None:
    """Where the grid's own error is no longer small the promise is infinite, never too small."""
    narrow = TwoLayer(2, low="0.5", high="0.500000002")
    assert narrow.guarantee(answers=100).epsilon_user < INFINITE_LOSS
    assert narrow.guarantee(answers=200_000).epsilon_user == INFINITE_LOSS
    assert UNIFORM.guarantee(answers=200_000).epsilon_user < INFINITE_LOSS


@pytest.mark.parametrize("steps", [7, 40, 333])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, HALF), (Fraction(1, 3), Fraction(3, 4))])
def test_exact_a_grid_changes_a_difference_of_log_patterns_by_less_than_its_bound(
    steps: int, low: Fraction, high: Fraction
) -> None:
    """On coarse grids, where the bound is largest, the true error stays below it."""
    low, high = Fraction(low), Fraction(high)
    for n in (2, 3, 5):
        bound = _grid_error(n, steps)
        for shift in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
            # Points low + shift h, ..., high - (1 - shift') h, as ceil and floor leave them.
            h = (high - low) / (steps + 1)
            points = [low + shift * h + j * h for j in range(steps + 1)]
            ratio = {
                m: sum(p**m * (1 - p) ** (n - m) for p in points)
                / (steps + 1)
                / pattern(n, m, 2, low, high)
                for m in range(n + 1)
            }
            error = math.log(max(ratio.values()) / min(ratio.values()))
            assert error <= bound


def test_exact_the_sampler_on_a_small_grid_is_the_mixture_over_its_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counting all words of two answers on a grid of 6 gives E[p**m (1-p)**(n-m)] exactly."""
    mechanism = TwoLayer(3, low=0, high=1)
    first, last, total = 0, 3, 6
    for name, value in (("_first", first), ("_last", last), ("_total", total)):
        monkeypatch.setitem(vars(mechanism), name, value)
    counts: dict[tuple[int, int], int] = {}
    for words in itertools.product(range(last - first + 1), range(total), range(total)):
        reports = mechanism.mask(codes(0, 1), codes(0, 0), GivenWords(list(words)))
        key = (int(reports[0]), int(reports[1]))
        counts[key] = counts.get(key, 0) + 1
    flips = [Fraction(2 * other, total) for other in range(first, last + 1)]
    for report, count in counts.items():
        moved = (report[0] != 0) + (report[1] != 1)
        mean = sum(p**moved * (1 - p) ** (2 - moved) for p in flips) / len(flips) / 2**moved
        assert Fraction(count, 4 * total * total) == mean
    assert sum(counts.values()) == 4 * total * total


@pytest.mark.parametrize(("options", "low", "high"), [(2, 0, 1), (2, "0.2", "0.7"), (3, "1/3", 1)])
def test_the_smallest_and_largest_draw_are_the_ends_of_the_range(
    options: int, low: int | str, high: int | str
) -> None:
    """The first word picks p from low to high, both ends included, within one grid step."""
    mechanism = TwoLayer(options, low=low, high=high)
    first, last, total = mechanism.grid
    step = Fraction(options - 1, total)
    assert 0 <= first * step - mechanism.low < step
    assert 0 <= mechanism.high - last * step < step
    assert mechanism.mean_flip_probability == (first + last) * step / 2
    for drawn, other in ((0, first), (last - first, last)):
        edge = (options - 1) * other
        # The last word that moves an answer and the first that keeps it tell p exactly.
        words = [drawn, max(edge - 1, 0), min(edge, total - 1)]
        reports = mechanism.mask(codes(0, 0), codes(0, 0), GivenWords(words))
        assert (reports[0] != 0) == (edge > 0)
        assert (reports[1] != 0) == (edge >= total)


def test_each_person_draws_once_and_each_answer_once() -> None:
    """One word is asked for per person, then one per answer, for all answers."""
    persons = codes(0, 0, 1, 1, 1, 2)
    rng = np.random.default_rng(4)
    words = rng.integers(0, 1 << 60, size=9).tolist()
    shifts = []
    for answers in (codes(0, 0, 0, 0, 0, 0), codes(0, 1, 0, 1, 1, 1)):
        source = GivenWords(words)
        reports = UNIFORM.mask(answers, persons, source)
        assert source.asked == [3, 6]
        shifts.append((reports - answers) % 2)
    assert np.array_equal(shifts[0], shifts[1])
    assert len(UNIFORM.mask(codes(), codes(), GivenWords([]))) == 0


def test_simulation_repeats_with_the_seed_and_leaves_the_input_alone() -> None:
    """Equal seeds give equal reports, another seed others, and the claims stay as they were."""
    claims = Claims.from_frame(
        {
            "task": list(range(500)),
            "worker": [i % 7 for i in range(500)],
            "label": [i % 2 for i in range(500)],
        },
        options=[0, 1],
    )
    before = claims.value.copy()
    one, two, three = (UNIFORM.simulate(claims, np.random.default_rng(s)) for s in (5, 5, 6))
    assert np.array_equal(one.value, two.value)
    assert not np.array_equal(one.value, three.value)
    assert np.array_equal(claims.value, before)
    assert np.array_equal(one.worker, claims.worker)
    assert len(UNIFORM.randomize(claims)) == 500


@given(
    options=st.integers(2, 1000),
    ends=st.lists(
        st.fractions(min_value=0, max_value=1, max_denominator=10**6), min_size=2, max_size=2
    ).map(sorted),
)
def test_prop_text_and_mechanism_are_inverse(options: int, ends: list[Fraction]) -> None:
    """Reading a mechanism's text gives the same range, exactly."""
    try:
        mechanism = TwoLayer(options, low=ends[0], high=ends[1])
    except ParameterError:
        assert ends[1] - ends[0] < Fraction(1, 10**5)
        return
    again = parse_mechanism(str(mechanism))
    assert isinstance(again, TwoLayer)
    assert (again.options, again.low, again.high) == (options, *ends)
    assert again == mechanism


def test_inference_sees_the_range_as_equal_parts() -> None:
    """The mixture has the midpoints of equal parts, equal weights, and the right mean."""
    mixture = TwoLayer(2, low="0.2", high="0.6").flip_mixture(4)
    assert mixture.flip_probability == pytest.approx([0.25, 0.35, 0.45, 0.55])
    assert mixture.weight.tolist() == [0.25] * 4
    assert UNIFORM.flip_mixture().flip_probability.mean() == pytest.approx(0.5)


def test_the_device_draws_from_the_same_whole_numbers() -> None:
    """The device's form is the grid, in texts that survive JSON."""
    mechanism = TwoLayer(3, low="0.1", high="0.5")
    form = mechanism.device_form()
    assert (int(form["first"]), int(form["last"]), int(form["total"])) == mechanism.grid
    assert form["symbols"] == 3
    assert form["name"] == "two-layer"


def test_one_report_is_the_channel_of_the_mean() -> None:
    """The single-report channel is symmetric with the mean flip probability."""
    mechanism = TwoLayer(3, low="0.1", high="0.5")
    assert mechanism.channel().table[0][0] == 1 - mechanism.mean_flip_probability
    assert mechanism.channel().epsilon() == mechanism.guarantee().epsilon_single


def person_reports(mechanism: TwoLayer, answers: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """Return reports[person, answer] of simulated people with the same answers."""
    n, each = answers.shape
    persons = np.repeat(np.arange(n, dtype=np.int32), each)
    source = SimulatedCoins(np.random.default_rng(seed))
    return mechanism.mask(answers.ravel(), persons, source).reshape(n, each)


@pytest.mark.parametrize(
    "mechanism",
    [UNIFORM, TwoLayer(2, low="0.1", high="0.6"), TwoLayer(2, low=0, high="0.5379")],
    ids=str,
)
def test_audit_reports_of_one_person_depend_on_each_other_as_predicted(
    mechanism: TwoLayer,
) -> None:
    """Three reports of n = 100,000 seeded people fit Q_3 over all eight patterns.

    Chi-square, false alarm 1e-6. Independent reports with the same mean would be refuted.
    """
    n = 100_000
    reports = person_reports(mechanism, np.zeros((n, 3), dtype=np.int32), seed=61)
    counts = np.bincount(reports @ np.array([4, 2, 1]), minlength=8)
    moved = np.array([bin(code).count("1") for code in range(8)])
    q = np.array([float(pattern(3, m, 2, mechanism.low, mechanism.high)) for m in range(4)])
    critical = stats.chi2.isf(1e-6, 7)
    assert ((counts - n * q[moved]) ** 2 / (n * q[moved])).sum() < critical
    p = float(mechanism.mean_flip_probability)
    independent = n * p**moved * (1 - p) ** (3 - moved)
    assert ((counts - independent) ** 2 / independent).sum() > critical


def test_audit_reports_of_different_people_are_independent() -> None:
    """Pairs of reports of n = 100,000 pairs of people are independent (false alarm 1e-6)."""
    n = 100_000
    mechanism = TwoLayer(2, low="0.1", high="0.6")
    reports = person_reports(mechanism, np.zeros((2 * n, 1), dtype=np.int32), seed=62)[:, 0]
    counts = np.bincount(2 * reports[0::2] + reports[1::2], minlength=4)
    p = 0.35
    expected = n * np.array([(1 - p) ** 2, p * (1 - p), p * (1 - p), p * p])
    assert ((counts - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-6, 3)


@pytest.mark.parametrize(
    ("mechanism", "answers"),
    [(UNIFORM, 3), (TwoLayer(2, low="0.1", high="0.6"), 4), (TwoLayer(3, low="1/3", high=1), 2)],
    ids=["uniform", "bounded", "three options"],
)
def test_audit_samples_do_not_refute_the_claim_but_refute_the_single_report_epsilon(
    mechanism: TwoLayer, answers: int
) -> None:
    """Seeded people, n = 200,000 a world, bound epsilon from below, and the promise is above it.

    Clopper-Pearson bounds for all reports in the worlds "all first option" and each that differs
    from it in the last answers; false alarm 1e-6 in all. The same sample shows that the
    single-report epsilon is no promise for several reports.
    """
    n, symbols = 200_000, mechanism.options
    base = symbols ** np.arange(answers)[::-1]
    counts = []
    for changed in range(answers + 1):
        world = np.zeros((n, answers), dtype=np.int32)
        world[:, answers - changed :] = 1
        reports = person_reports(mechanism, world, seed=70 + changed)
        counts.append(np.bincount(reports @ base, minlength=symbols**answers))
    table = np.array(counts)
    tail = 1e-6 / (2 * table.size)
    low = np.log(stats.beta.ppf(tail, table, n - table + 1))
    high = np.log(stats.beta.isf(tail, table + 1, n - table))
    promise = mechanism.guarantee(answers=answers)
    event = max((low[a] - high[b]).max() for a, b in ((0, 1), (1, 0)))
    user = max((low[a] - high[b]).max() for a, b in itertools.permutations(range(answers + 1), 2))
    assert event <= promise.epsilon_event.epsilon
    assert user <= promise.epsilon_user.epsilon
    assert user > promise.epsilon_single.epsilon
    assert user > 0.8 * promise.epsilon_user.epsilon
