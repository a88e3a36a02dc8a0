"""Question sampling: a person pays E for any number of answers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import NO_LOSS, Coins, Micro, SimulatedCoins
from masquerade.mechanisms import RandomizedResponse
from masquerade_papers.two_layer.question_sampling import QuestionSampling


def exp_from_below(exponent: Fraction) -> Fraction:
    """Return a fraction just below e**exponent: a partial sum of positive terms."""
    total = term = Fraction(1)
    for k in range(1, 80):
        term = term * exponent / k
        total += term
    return total


def yes_no(counts: list[int]) -> Claims:
    """Return claims of one worker for each count, all "yes" but the first of each."""
    rows = [
        (f"t{i}", f"w{w}", "yes" if i else "no") for w, n in enumerate(counts) for i in range(n)
    ]
    task, worker, label = zip(*rows, strict=True)
    return Claims.from_frame(
        {"task": task, "worker": worker, "label": label}, options=["no", "yes"]
    )


@pytest.mark.parametrize(
    ("epsilon", "answers", "reported"),
    [
        ("10", 108, 5),
        ("3", 108, 1),
        ("1", 108, 1),
        ("156.3", 108, 72),
        ("72.3", 20, 20),
        ("10", 3, 3),
    ],
)
def test_known_numbers_of_reports(epsilon: str, answers: int, reported: int) -> None:
    """Reports k are E / 2.18, rounded, between 1 and n, and each report has E / k."""
    mechanism = QuestionSampling(2, epsilon=epsilon)
    assert mechanism.reported(answers) == reported
    assert mechanism.inner(answers) == RandomizedResponse(2, epsilon=Fraction(epsilon) / reported)
    promise = mechanism.guarantee(answers=answers)
    assert promise.epsilon_event == Micro.of_amount(Fraction(epsilon) / reported)
    assert promise.epsilon_user == Micro.of_amount(Fraction(epsilon))
    assert promise.answers == answers


@given(
    options=st.integers(2, 30),
    epsilon=st.fractions("1/100", 200, max_denominator=10**9),
    answers=st.integers(1, 10_000),
    keep=st.none() | st.integers(1, 300),
)
def test_prop_a_person_never_pays_more_than_e(
    options: int, epsilon: Fraction, answers: int, keep: int | None
) -> None:
    """For any number of answers, the user level is at most E, and an event at most that."""
    mechanism = QuestionSampling(options, epsilon=epsilon, keep=keep or "auto")
    promise = mechanism.guarantee(answers=answers)
    assert promise.epsilon_event <= promise.epsilon_user <= Micro.of_amount(epsilon)


@pytest.mark.parametrize(
    ("options", "answers", "keep"), [(2, 3, 1), (2, 3, 2), (2, 4, 2), (3, 3, 2)]
)
@pytest.mark.parametrize("epsilon", ["0.7", "2", "5"])
def test_exact_the_whole_table_keeps_both_claims(
    options: int, answers: int, keep: int, epsilon: str
) -> None:
    """The reported questions and answers: over all vectors of answers, in fractions.

    The largest ratio is at most e**E between any two persons, at most e**(E / k) where one answer
    differs, and both are those of the promise.
    """
    mechanism = QuestionSampling(options, epsilon=epsilon, keep=keep)
    table = mechanism.inner(answers).channel().table
    chosen = list(itertools.combinations(range(answers), keep))
    share = Fraction(1, len(chosen))
    worst = {"event": Fraction(1), "user": Fraction(1)}
    vectors = list(itertools.product(range(options), repeat=answers))
    sums = dict.fromkeys(vectors, Fraction(0))
    for places, reports in itertools.product(
        chosen, itertools.product(range(options), repeat=keep)
    ):
        probability = {
            vector: share
            * math.prod(table[vector[i]][y] for i, y in zip(places, reports, strict=True))
            for vector in vectors
        }
        for one, other in itertools.permutations(vectors, 2):
            ratio = probability[one] / probability[other]
            differing = sum(a != b for a, b in zip(one, other, strict=True))
            worst["user"] = max(worst["user"], ratio)
            if differing == 1:
                worst["event"] = max(worst["event"], ratio)
        for vector in vectors:
            sums[vector] += probability[vector]
    assert set(sums.values()) == {Fraction(1)}
    promise = mechanism.guarantee(answers=answers)
    assert worst["user"] <= exp_from_below(Fraction(epsilon))
    assert worst["event"] <= exp_from_below(Fraction(epsilon) / keep)
    assert (
        promise.epsilon_user == Micro.of_ratio(worst["user"]) == Micro.of_amount(Fraction(epsilon))
    )
    assert promise.epsilon_event == Micro.of_ratio(worst["event"])


def test_fewer_rows_come_out_and_each_is_a_row_that_went_in() -> None:
    """Workers with 1, 3, 9 and 40 answers report 1, 3, 5 and 5, each on a task they answered."""
    claims = yes_no([1, 3, 9, 40])
    mechanism = QuestionSampling(2, epsilon=10)
    reports = mechanism.randomize(claims, coins=Coins())
    assert Counter(reports.worker.tolist()) == {0: 1, 1: 3, 2: 5, 3: 5}
    cells = set(zip(claims.worker.tolist(), claims.task.tolist(), strict=True))
    kept = list(zip(reports.worker.tolist(), reports.task.tolist(), strict=True))
    assert set(kept) <= cells
    assert len(set(kept)) == len(kept)
    assert reports.options is claims.options
    assert len(claims) == 53


def test_simulation_repeats_with_the_seed() -> None:
    """Equal seeds give equal reports, others others; no answers at all give none."""
    claims, mechanism = yes_no([200]), QuestionSampling(2, epsilon=20)
    one, two, three = (
        mechanism.simulate(claims, np.random.default_rng(seed)) for seed in (4, 4, 5)
    )
    assert np.array_equal(one.task, two.task)
    assert np.array_equal(one.value, two.value)
    assert not np.array_equal(one.task, three.task)
    empty = mechanism.choose(np.zeros(0, np.int32), SimulatedCoins(np.random.default_rng(1)))
    assert empty.tolist() == []


def test_what_is_chosen_does_not_depend_on_the_answers() -> None:
    """The same words choose the same questions for opposite answers."""
    mechanism = QuestionSampling(2, epsilon=10)
    claims = yes_no([30, 12])
    opposite = claims.with_values(1 - claims.value)
    one, other = (mechanism.simulate(c, np.random.default_rng(3)) for c in (claims, opposite))
    assert np.array_equal(one.task, other.task)


class RepeatingWords:
    """A source with equal words in its first two batches."""

    def __init__(self) -> None:
        self.turns = 0

    def words(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        self.turns += 1
        words = np.arange(size, dtype=np.uint64)
        return words // np.uint64(2) if self.turns <= 2 else words[::-1].copy()


def test_equal_keys_are_drawn_again() -> None:
    """Where two answers of a person draw the same word, all draw again; order is no advantage."""
    source = RepeatingWords()
    kept = QuestionSampling(2, epsilon=2, keep=2).choose(np.zeros(6, np.int32), source)
    assert kept.tolist() == [4, 5]
    assert source.turns == 3


def test_audit_every_choice_is_equally_likely() -> None:
    """For 60,000 persons with 5 answers, the 10 pairs come up evenly (false alarm 1e-6)."""
    persons = np.repeat(np.arange(60_000, dtype=np.int32), 5)
    mechanism = QuestionSampling(2, epsilon=4, keep=2)
    kept = mechanism.choose(persons, SimulatedCoins(np.random.default_rng(6))).reshape(-1, 2)
    assert np.array_equal(kept // 5, np.repeat(np.arange(60_000)[:, None], 2, axis=1))
    counts = np.bincount((kept % 5) @ np.array([5, 1]), minlength=25)
    counts = counts[counts > 0]
    assert len(counts) == 10
    assert ((counts - 6_000) ** 2 / 6_000).sum() < stats.chi2.isf(1e-6, 9)


@pytest.mark.parametrize(("answers", "keep"), [(3, 1), (3, 2)])
def test_audit_samples_do_not_refute_the_claim(answers: int, keep: int) -> None:
    """Seeded persons, n = 200,000 a world, bound both epsilons from below by Clopper-Pearson.

    Worlds: all first option, last answer changed, all changed. False alarm 1e-6. The audit would
    notice a user-level claim a fifth too small.
    """
    n, epsilon = 200_000, 2
    mechanism = QuestionSampling(2, epsilon=epsilon, keep=keep)
    source = SimulatedCoins(np.random.default_rng(12))
    persons = np.repeat(np.arange(n, dtype=np.int32), answers)
    counts = []
    for world in ([0, 0, 0], [0, 0, 1], [1, 1, 1]):
        codes = np.tile(np.array(world, dtype=np.int32), n)
        kept = mechanism.choose(persons, source)
        reports = mechanism.inner(answers).mask(codes[kept], persons[kept], source)
        symbol = ((kept % answers) * 2 + reports).reshape(n, keep) @ (6 ** np.arange(keep))
        counts.append(np.bincount(symbol, minlength=6**keep))
    table = np.array(counts)
    tail = 1e-6 / (2 * table.size)
    low = np.nan_to_num(stats.beta.ppf(tail, table, n - table + 1))
    high = np.nan_to_num(stats.beta.isf(tail, table + 1, n - table), nan=1.0)

    def bound(a: int, b: int) -> float:
        return math.log(max((low[a] / high[b]).max(), (low[b] / high[a]).max()))

    promise = mechanism.guarantee(answers=answers)
    assert bound(0, 1) <= promise.epsilon_event.epsilon
    assert 0.8 * epsilon < bound(0, 2) <= promise.epsilon_user.epsilon


@pytest.mark.parametrize(("options", "answers", "keep"), [(2, 1, 1), (2, 5, 2), (4, 6, 3)])
def test_the_variance_is_that_of_the_whole_table(options: int, answers: int, keep: int) -> None:
    """The estimate n / k times randomized response's has the variance that is said."""
    mechanism = QuestionSampling(options, epsilon=3, keep=keep)
    table = mechanism.inner(answers).channel().matrix()
    other = table[0, 1]
    share = answers / keep
    estimates = share * (np.eye(options) - other) / (1 - options * other)
    mean = (table[0] @ estimates) / share
    assert mean == pytest.approx(np.eye(options)[0], abs=1e-12)
    square = (table[0] @ (estimates**2).sum(axis=1)) / share
    assert mechanism.variance(answers=answers) == pytest.approx(square - 1, rel=1e-9)
    assert QuestionSampling(2, epsilon=1).variance() == pytest.approx(
        RandomizedResponse(2, epsilon=1).variance()
    )


def test_nothing_costs_nothing() -> None:
    """A person without answers reports none and pays none."""
    promise = QuestionSampling(2, epsilon=10).guarantee(answers=0)
    assert promise.epsilon_user == promise.epsilon_event == NO_LOSS
    assert QuestionSampling(2, epsilon=10).reported(0) == 0


def test_the_text_form_is_the_documented_one() -> None:
    """`keep` stands in the text only where it was given."""
    assert str(QuestionSampling(2, epsilon=10)) == "question-sampling:options=2,epsilon=10"
    assert str(QuestionSampling(4, epsilon="2.5", keep=5)).endswith("epsilon=2.5,keep=5")
    assert QuestionSampling(2, epsilon=10, keep="auto") == QuestionSampling(2, epsilon=10)
    assert QuestionSampling(2, epsilon=10).kind == "categorical"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"options": 1, "epsilon": 1}, "options is 1"),
        ({"options": 2, "epsilon": 0}, "epsilon is 0"),
        ({"options": 2, "epsilon": math.inf}, "epsilon is inf"),
        ({"options": 2, "epsilon": math.nan}, "epsilon is nan"),
        ({"options": 2, "epsilon": 1, "keep": 0}, "keep is 0"),
        ({"options": 2, "epsilon": 1, "keep": "some"}, "keep is 'some'"),
    ],
)
def test_a_bad_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    """Each parameter outside its range is an error that names it and its value."""
    with pytest.raises(ParameterError, match=message):
        QuestionSampling(**parameters)


def test_claims_that_do_not_fit_are_refused() -> None:
    """Numbers, other options and a number of answers below one are errors."""
    numbers = Claims.from_frame({"task": ["a"], "worker": ["x"], "value": [1.5]})
    with pytest.raises(ParameterError, match="the claims are numbers"):
        QuestionSampling(2, epsilon=1).randomize(numbers)
    with pytest.raises(ParameterError, match="for 3 options, the claims have 2"):
        QuestionSampling(3, epsilon=1).randomize(yes_no([2]))
    with pytest.raises(ParameterError, match="answers is 0"):
        QuestionSampling(2, epsilon=1).inner(0)
    with pytest.raises(ParameterError, match="answers is -1"):
        QuestionSampling(2, epsilon=1).guarantee(answers=-1)
    with pytest.raises(ParameterError, match="cannot hide"):
        QuestionSampling(2, epsilon=1).randomize(yes_no([2]), presence="hidden")


def test_the_variance_is_of_at_least_one_answer() -> None:
    """Nobody's answers have no variance to speak of."""
    with pytest.raises(ParameterError, match="answers is 0, expected at least 1"):
        QuestionSampling(2, epsilon=5).variance(answers=0)
