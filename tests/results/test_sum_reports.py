"""From noisy sums of two parties to shares, means and quartiles with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.aggregate.test_prio3 import CONTEXT, check
from tests.surveys.test_two_party_encoding import ANSWERS, ENCODING, OWNERS, QUESTIONS

from masquerade.aggregate import One, SumNoise, SurveyCircuit, prio3_survey
from masquerade.errors import ParameterError
from masquerade.estimation import Crowd, Estimate, Sums, quantile, ratios
from masquerade.results import QuestionSums, estimate_sums
from masquerade.surveys import Encoding, Number, Rating, SeveralOf


def noisy(
    encoding: Encoding, noise: SumNoise, exact: Sequence[int], rng: np.random.Generator
) -> list[list[int]]:
    """Return sums with the noise of both parties."""
    published = noise.simulate(noise.simulate(exact, rng), rng)
    result: list[list[int]] = prio3_survey(encoding.blocks).circuit.decode(published, 0)
    return result


def test_400_people_and_10_questions_have_1_4_points_of_noise() -> None:
    """At rho one half a share's standard error from noise is 1.4 %-points, all answers together."""
    encoding = Encoding(tuple(Rating(f"q{i}", "How is it?") for i in range(10)))
    noise = SumNoise.of_rho(encoding.blocks, "0.5")
    rng = np.random.default_rng(1)
    exact = np.tile([80] * 5, 10).tolist()
    results = estimate_sums(encoding, noisy(encoding, noise, exact, rng), noise=noise, people=400)
    for result in results:
        for share in result.shares:
            assert share.mechanism_error == pytest.approx(0.0141, abs=0.001)
            assert share.low <= share.shown <= share.high
            assert abs(share.value - 0.2) < 6 * share.mechanism_error
            assert share.high - share.low == pytest.approx(2 * 1.96 * share.standard_error, rel=0.3)
    # As often as it is said: 20 draws of 50 shares have the standard deviation of 1.41 points: that
    # of a count is 6.3 people, and the five counts add up to 400 but for their noise.
    values = [
        share.value - 0.2
        for _ in range(20)
        for result in estimate_sums(
            encoding, noisy(encoding, noise, exact, rng), noise=noise, people=400
        )
        for share in result.shares
    ]
    # n = 1,000: within 5 standard errors of 1 / sqrt(2 n), false alarm below 1e-6.
    assert np.std(values) == pytest.approx(math.sqrt(40 * 0.8) / 400, rel=5 / math.sqrt(2000))


def test_a_survey_goes_from_answers_to_results() -> None:
    """Encoded, split, checked, added up, with noise of both parties, and read again."""
    rng, vdaf = np.random.default_rng(3), prio3_survey(ENCODING.blocks)
    noise = SumNoise.of_rho(ENCODING.blocks, 1000)
    people = []
    for i in range(30):
        person = dict(ANSWERS, hours=i, children=i % 10, mood=1 + i % 5)
        if i % 3 == 0:
            person |= {"work": "No", "mood": None, "pair": "either"}
        people.append(person)
    outputs = [
        check(vdaf, vdaf.shard(ENCODING.measurement(person), context=CONTEXT)) for person in people
    ]
    noisy_shares = [
        noise.simulate(vdaf.aggregate(shares), rng) for shares in zip(*outputs, strict=True)
    ]
    sums = vdaf.unshard(noisy_shares, count=30)
    results = estimate_sums(ENCODING, sums, noise=noise, people=30, population=60)
    by_id: dict[str, QuestionSums] = {result.question: result for result in results}
    assert by_id["work"].shares[0].value == pytest.approx(2 / 3, abs=0.1)
    asked = [person["mood"] for person in people if person["mood"] is not None]
    mood = by_id["mood"]
    assert mood.mean is not None
    assert mood.mean.value == pytest.approx(np.mean(asked), abs=0.3)
    assert len(mood.answered) == 5
    assert len(mood.shares) == 7
    assert sum(share.value for share in mood.answered) == pytest.approx(1)
    children = by_id["children"].mean
    assert children is not None
    assert children.value == pytest.approx(4.5, abs=0.5)
    hours = by_id["hours"].mean
    assert hours is not None
    assert hours.value == pytest.approx(14.5, abs=3)
    table = by_id["work x pair"]
    assert table.symbols[0] == "Yes x tea"
    assert table.shares[0].value == pytest.approx(2 / 3, abs=0.1)
    assert by_id["pair"].mean is None
    other = SumNoise.of_rho([One(2)], 1)
    with pytest.raises(ParameterError, match="for other blocks"):
        estimate_sums(ENCODING, sums, noise=other, people=30)


def test_intervals_hold_as_often_as_they_say() -> None:
    """N = 150 crowds of 100: 95 % intervals of shares, ratios and means cover .95.

    At that coverage fewer than .83 of 150 has a chance below 1e-7.
    """
    rng, covered = np.random.default_rng(8), np.zeros(3)
    truth = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    scores, among = [1, 2, 3, 4, 0], [True] * 4 + [False]
    mean = float(truth[:4] @ scores[:4] / truth[:4].sum())
    wanted = (truth[2], truth[2] / truth[:4].sum(), mean)
    for _ in range(150):
        counts = (rng.multinomial(100, truth) + np.rint(rng.normal(0, 3, 5))).astype(int).tolist()
        crowd = Crowd.of([Sums.of(counts, variance=9.0, people=100)])
        found = (
            crowd.shares().estimates()[2],
            ratios(crowd, [[0, 0, 1, 0, 0]], among).estimates()[0],
            ratios(crowd, [scores], among, low=1.0, high=4.0).estimates()[0],
        )
        covered += [one.low <= value <= one.high for one, value in zip(found, wanted, strict=True)]
    assert (covered / 150 > 0.83).all()


def yes_of_two(counts: list[float], **people: Any) -> Estimate:
    """Return the share of the first of two answers."""
    return Crowd.of([Sums.of(counts, **people)]).shares().estimates()[0]


def test_all_who_could_answer_leave_the_noise_alone() -> None:
    """In a finite population sampling errors shrink, to 0 where everybody answered."""
    one, half, everybody = (
        yes_of_two([30, 70], variance=4.0, people=100, population=population)
        for population in (None, 199, 100)
    )
    assert one.sampling_error == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.01)
    assert half.sampling_error == pytest.approx(one.sampling_error / math.sqrt(2), rel=0.01)
    assert everybody.sampling_error < 1e-4
    # the two counts add up to 100 but for noise: each is known twice, and errs by 2 / sqrt(2)
    assert one.mechanism_error == everybody.mechanism_error == pytest.approx(0.02 / math.sqrt(2))


def test_where_nothing_is_known_that_is_said() -> None:
    """A base of no people gives no value and the whole range, and a sum the widest error."""
    asked = Crowd.of([Sums.of([-3, 1, 100], variance=4.0, people=98)])
    unknown = ratios(asked, [[1, 0, 0]], [1, 1, 0]).estimates()[0]
    assert math.isnan(unknown.value)
    assert (unknown.low, unknown.high) == (0.0, 1.0)
    encoding = Encoding((Number("n", "How many?", 0, 10, "things"),), sums=("n",))
    noise = SumNoise.of_rho(encoding.blocks, 10_000)
    mean = estimate_sums(encoding, [[500]], noise=noise, people=100)[0].mean
    assert mean is not None
    assert mean.value == pytest.approx(5)
    assert mean.sampling_error == pytest.approx(0.5, rel=0.01)  # half of the people at each end
    below = estimate_sums(encoding, [[-50]], noise=noise, people=100)[0].mean
    assert below is not None
    assert (round(below.value, 9), below.shown, below.low) == (-0.5, 0.0, 0.0)


@pytest.mark.parametrize(
    "parameters", [{"people": 0}, {"people": 5, "confidence": 1}, {"people": 5, "population": 4}]
)
def test_people_who_cannot_be_are_refused(parameters: dict[str, Any]) -> None:
    """Nobody, a certain interval, and fewer people than answered."""
    encoding = Encoding(QUESTIONS[:1])
    noise = SumNoise.of_rho(encoding.blocks, 1)
    with pytest.raises(ParameterError, match="expected"):
        estimate_sums(encoding, [[3, 2]], noise=noise, **parameters)


def test_shares_of_several_answers_hold_as_often_as_they_say() -> None:
    """N = 150 crowds of 200, split, added up and noisy: 95 % intervals hold in over 83 %.

    Among those who answered, whose number is noisy too. False alarm below 1e-7 for each.
    """
    rng, noise = np.random.default_rng(9), SumNoise.of_rho(OWNERS.blocks, 2)
    covered = np.zeros(2)
    for _ in range(150):
        works = rng.random(200) < 0.7
        skips = works & (rng.random(200) < 0.2)
        cat = works & ~skips & (rng.random(200) < 0.6)
        answered = int((works & ~skips).sum())
        exact = [int(works.sum()), int((~works).sum()), int(cat.sum()), 0, 0, 0, 0]
        exact[-2:] = [60, 100]
        exact += [answered, int(skips.sum()), int((~works).sum())]
        sums = noisy(OWNERS, noise, exact, rng)
        pets = estimate_sums(OWNERS, sums, noise=noise, people=200)[1]
        assert pets.symbols == ("cat", "dog", "fish", "prefer not to say", "not asked")
        assert len(pets.shares) == 5
        of_all, of_answered = pets.shares[0], pets.answered[0]
        covered += [of_all.low <= 0.7 * 0.8 * 0.6 <= of_all.high, False]
        covered[1] += of_answered.low <= 0.6 <= of_answered.high
    assert (covered / 150 > 0.83).all()


def test_quartiles_hold_at_least_as_often_as_they_say() -> None:
    """N = 150 crowds of 300: intervals of quartiles of ratings and binned numbers hold .95 or more.

    Fewer than .83 of 150 has a chance below 1e-7; the interval's ends are possible answers.
    """
    rng = np.random.default_rng(10)
    questions = (Rating("mood", "?", 1, 7), Number("hours", "?", 0, 99, "hours"))
    encoding = Encoding(questions)
    noise = SumNoise.of_rho(encoding.blocks, "0.5")
    share = np.array([0.05, 0.1, 0.25, 0.25, 0.2, 0.1, 0.05])
    truth = {"mood": (3, 4, 5), "hours": (24, 49, 74)}
    held = {name: np.zeros(3) for name in truth}
    for _ in range(150):
        exact = rng.multinomial(300, share).tolist()
        exact += rng.multinomial(300, np.full(20, 0.05)).tolist()
        for found in estimate_sums(
            encoding, noisy(encoding, noise, exact, rng), noise=noise, people=300
        ):
            assert found.quartiles is not None
            for place, one in enumerate(found.quartiles):
                assert one.low <= one.value <= one.high
                held[found.question][place] += one.low <= truth[found.question][place] <= one.high
    assert min(float(one.min()) for one in held.values()) > 0.83 * 150


@given(st.lists(st.integers(-30, 200), min_size=2, max_size=30), st.floats(0.01, 0.99))
def test_prop_a_quantile_lies_in_its_interval_and_on_the_scale(
    counts: list[int], share: float
) -> None:
    """For all noise in the counts; nothing is known where nobody seems to answer."""
    ends = [(10.0 * place, 10.0 * place + 9) for place in range(len(counts))]
    crowd = Crowd.of([Sums.of(counts, variance=40.0, people=100)])
    found = quantile(crowd, ends, share)
    assert 0 <= found.low <= found.value <= found.high <= ends[-1][1]


def test_a_quantile_of_exact_counts_is_the_quantile() -> None:
    """Without noise and with everybody asked: the usual definition, without an interval.

    Where just the share is at or below an answer, both that and the next are such quantiles.
    """
    counts = [10, 30, 60]
    for share, first, last in (
        *((0.05, 1, 1), (0.1, 1, 2), (0.11, 2, 2)),
        *((0.4, 2, 3), (0.41, 3, 3), (0.99, 3, 3)),
    ):
        everybody = Sums.of(counts, variance=0.0, people=100, population=100)
        found = quantile(Crowd.of([everybody]), [(1, 1), (2, 2), (3, 3)], share)
        assert (found.value, found.low, found.high) == (first, first, last)
    silent = Crowd.of([Sums.of([0, 0, 50], variance=1.0, people=50)])
    nobody = quantile(silent, [(1, 1), (2, 2)], 0.5)
    assert math.isnan(nobody.value)
    assert (nobody.low, nobody.high) == (1, 2)


def test_who_ticks_and_says_to_have_left_it_out_counts_once_among_all() -> None:
    """Five such liars beside 40 move a share of all by 5 / 45, and the share of answers more.

    Nothing proves that both blocks agree, as the documentation says with these numbers.
    """
    encoding = Encoding((SeveralOf("want", "What?", ("tea", "milk"), allow_skip=True),))
    noise = SumNoise.of_rho(encoding.blocks, "0.5")
    lie = SurveyCircuit(encoding.blocks).encode([[True, True], 1])
    assert lie == [1, 1, 0, 1]

    def shares(liars: int) -> tuple[float, float]:
        sums = [[20 + liars, 10 + liars], [40, liars]]
        found = estimate_sums(encoding, sums, noise=noise, people=40 + liars)[0]
        return found.shares[0].value, found.answered[0].value

    assert shares(0) == (0.5, 0.5)
    assert shares(5) == pytest.approx((25 / 45, 0.625))
