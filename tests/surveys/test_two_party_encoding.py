"""From answers to one vector, and from noisy sums to shares and means with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.aggregate.test_prio3 import CONTEXT, check

from masquerade.aggregate import (
    FIELD_128,
    Design,
    One,
    Some,
    SumNoise,
    SurveyCircuit,
    Whole,
    mean_estimate,
    mean_of_sum,
    prio3_survey,
    quantile_estimate,
    share_estimates,
)
from masquerade.errors import ParameterError, UnknownLabel
from masquerade.surveys import (
    Choice,
    Comparison,
    Encoding,
    Number,
    QuestionSums,
    Rating,
    SeveralOf,
    ShowIf,
)

QUESTIONS = (
    Choice("work", "Do you work?", ("Yes", "No")),
    Rating("mood", "How are you at work?", allow_skip=True),
    Number("hours", "Hours a week", 0, 100, "hours"),
    Number("children", "Children", 0, 9, "children"),
    Comparison("pair", "Which?", "tea", "coffee", tie="either"),
)
CONDITIONS = (None, ShowIf("work", ("Yes",)), None, None, None)
ENCODING = Encoding(QUESTIONS, CONDITIONS, cross=(("work", "pair"),), sums=("children",))
ANSWERS: dict[str, Any] = {
    "work": "Yes",
    "mood": 4,
    "hours": 37,
    "children": 2,
    "pair": "tea",
}


def noisy(
    encoding: Encoding, noise: SumNoise, exact: Sequence[int], rng: np.random.Generator
) -> list[list[int]]:
    """Return sums with the noise of both parties."""
    published = noise.simulate(noise.simulate(exact, rng), rng)
    result: list[list[int]] = prio3_survey(encoding.blocks).circuit.decode(published, 0)
    return result


def test_each_question_has_its_block() -> None:
    """One-hot with "no answer" and "not asked", bins, a sum, a pair with a tie, a cross table."""
    assert ENCODING.blocks == (One(2), One(7), One(20), Whole(9), One(3), One(6))
    assert ENCODING.symbols("mood")[-2:] == ("prefer not to say", "not asked")
    assert ENCODING.symbols("hours")[:2] == ("0 to 4", "5 to 9")
    assert ENCODING.symbols("hours")[-1] == "95 to 100"
    assert ENCODING.measurement(ANSWERS) == [0, 3, 7, 2, 0, 0]
    assert ENCODING.measurement({**ANSWERS, "mood": None})[1] == 5
    rest = {name: value for name, value in ANSWERS.items() if name != "mood"}
    assert ENCODING.measurement({**rest, "work": "No", "pair": "coffee"}) == [1, 6, 7, 2, 1, 4]


@given(st.integers(2, 64), st.integers(2, 300), st.data())
def test_prop_a_number_is_in_the_bin_that_says_so(
    bins: int, points: int, data: st.DataObject
) -> None:
    """Bins cover the scale without overlap, and the bin of a number has it between its ends."""
    question = Number("n", "How many?", -3, -3 + 0.5 * (points - 1), "things", step=0.5)
    encoding = Encoding((question,), bins=bins)
    value = -3 + 0.5 * data.draw(st.integers(0, points - 1))
    (place,) = encoding.measurement({"n": value})
    assert isinstance(place, int)
    ends = [float(one) for one in encoding.symbols("n")[place].split(" to ")]
    assert ends[0] <= value <= ends[-1]
    assert len(encoding.symbols("n")) == min(bins, points)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({**ANSWERS, "age": 3}, "no questions of the survey"),
        ({**ANSWERS, "work": "Maybe"}, "not one of Yes"),
        ({**ANSWERS, "work": None}, "none may be left out"),
        ({**ANSWERS, "work": "No"}, "was not asked and has an answer"),
        ({**ANSWERS, "hours": 37.5}, "not one of 0 to 100"),
        ({**ANSWERS, "children": 10}, "not one of 0 to 9"),
        ({**ANSWERS, "hours": None}, "none may be left out"),
        ({**ANSWERS, "hours": "many"}, "not one of 0 to 100"),
    ],
)
def test_answers_that_do_not_fit_are_refused(answers: dict[str, Any], message: str) -> None:
    """Nothing is moved to the nearest answer in silence."""
    with pytest.raises((ParameterError, UnknownLabel), match=message):
        ENCODING.measurement(answers)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"questions": ()}, "one at least"),
        ({"questions": QUESTIONS[:1] * 2, "conditions": ()}, "all different"),
        ({"bins": 65}, "expected 2 to 64"),
        ({"sums": ("work",)}, "which is no number"),
        ({"sums": ("nothing",)}, "no question of the survey"),
        ({"cross": (("work", "work"),)}, "cannot be made"),
        ({"cross": (("work", "children"),), "sums": ("children",)}, "cannot be made"),
        ({"cross": (("hours", "children"),), "bins": 64}, "640 cells"),
    ],
)
def test_encodings_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    """Too many cells or bins, questions that are not there or twice."""
    parameters: dict[str, Any] = {"questions": QUESTIONS, "conditions": CONDITIONS} | changes
    with pytest.raises(ParameterError, match=message):
        Encoding(**parameters)


def test_400_people_and_10_questions_have_1_6_points_of_noise() -> None:
    """At rho one half a share's standard error from noise is 1.6 %-points, all answers together."""
    encoding = Encoding(tuple(Rating(f"q{i}", "How is it?") for i in range(10)))
    noise = SumNoise.of_rho(encoding.blocks, "0.5")
    rng = np.random.default_rng(1)
    exact = np.tile([80] * 5, 10).tolist()
    results = encoding.estimates(
        noisy(encoding, noise, exact, rng), noise=noise, design=Design(400)
    )
    for result in results:
        for share in result.shares:
            assert share.noise_error == pytest.approx(0.016, abs=0.001)
            assert share.low <= share.shown <= share.high
            assert abs(share.value - 0.2) < 6 * share.noise_error
            assert share.high - share.low == pytest.approx(2 * 1.96 * share.standard_error, rel=0.3)
    # As often as it is said: 20 draws of 50 shares have the standard deviation of 1.58 points.
    values = [
        share.value - 0.2
        for _ in range(20)
        for result in encoding.estimates(
            noisy(encoding, noise, exact, rng), noise=noise, design=Design(400)
        )
        for share in result.shares
    ]
    # n = 1,000: within 5 standard errors of 1 / sqrt(2 n), false alarm below 1e-6.
    assert np.std(values) == pytest.approx(math.sqrt(40) / 400, rel=5 / math.sqrt(2000))


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
    results = ENCODING.estimates(sums, noise=noise, design=Design(30, population=60))
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
        ENCODING.estimates(sums, noise=other, design=Design(30))


def test_intervals_hold_as_often_as_they_say() -> None:
    """N = 600 crowds of 100: 95 % intervals of shares, ratios and means cover .95.

    At that coverage fewer than .9 of 600 has a chance of 4e-7.
    """
    rng, covered = np.random.default_rng(8), np.zeros(3)
    truth = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    scores, among = [1, 2, 3, 4, 0], [True] * 4 + [False]
    mean = float(truth[:4] @ scores[:4] / truth[:4].sum())
    wanted = (truth[2], truth[2] / truth[:4].sum(), mean)
    design = Design(100)
    for _ in range(600):
        counts = (rng.multinomial(100, truth) + np.rint(rng.normal(0, 3, 5))).astype(int).tolist()
        found = (
            share_estimates(counts, variance=9.0, design=design)[2],
            share_estimates(counts, variance=9.0, design=design, among=among)[2],
            mean_estimate(counts, scores, variance=9.0, design=design, among=among),
        )
        covered += [one.low <= value <= one.high for one, value in zip(found, wanted, strict=True)]
    assert (covered / 600 > 0.9).all()


def test_all_who_could_answer_leave_the_noise_alone() -> None:
    """In a finite population sampling errors shrink, to 0 where everybody answered."""
    counts = [30, 70]
    one = share_estimates(counts, variance=4.0, design=Design(100))[0]
    half = share_estimates(counts, variance=4.0, design=Design(100, population=199))[0]
    everybody = share_estimates(counts, variance=4.0, design=Design(100, population=100))[0]
    assert one.sampling_error == pytest.approx(math.sqrt(0.3 * 0.7 / 100))
    assert half.sampling_error == pytest.approx(one.sampling_error / math.sqrt(2))
    assert everybody.sampling_error == 0
    assert one.noise_error == everybody.noise_error == 0.02


def test_where_nothing_is_known_that_is_said() -> None:
    """A base of no people gives no value and the whole range, and a sum the widest error."""
    unknown = share_estimates([-3, 1, 100], variance=4.0, design=Design(100), among=[1, 1, 0])[0]
    assert math.isnan(unknown.value)
    assert (unknown.low, unknown.high, unknown.standard_error) == (0.0, 1.0, math.inf)
    mean = mean_of_sum(500, low=0, step=1, largest=10, variance=0.0, design=Design(100))
    assert mean.value == 5
    assert mean.sampling_error == 0.5  # half of the people at each end
    below = mean_of_sum(-50, low=0, step=1, largest=10, variance=400.0, design=Design(100))
    assert (below.value, below.shown, below.low) == (-0.5, 0.0, 0.0)


@pytest.mark.parametrize(
    "parameters", [{"count": 0}, {"count": 5, "confidence": 1}, {"count": 5, "population": 4}]
)
def test_designs_that_cannot_be_are_refused(parameters: dict[str, Any]) -> None:
    """Nobody, a certain interval, and fewer people than answered."""
    with pytest.raises(ParameterError, match="expected"):
        Design(**parameters)


def test_noise_may_make_counts_negative() -> None:
    """A sum below 0 comes back as a negative number, not as one near the modulus."""
    circuit = prio3_survey([One(2)]).circuit
    assert circuit.decode([FIELD_128.modulus - 3, 5], 2) == [[-3, 5]]


PETS = SeveralOf("pets", "Which pets?", ("cat", "dog", "fish"), most=2, allow_skip=True)
OWNERS = Encoding(
    (QUESTIONS[0], PETS, SeveralOf("all", "Which?", ("a", "b"))),
    (None, ShowIf("work", ("Yes",)), None),
)


def test_several_answers_are_bits_and_a_block_of_who_answered() -> None:
    """Bits with their limit; "no answer" and "not asked" in a block of their own, at the end."""
    assert OWNERS.blocks == (One(2), Some(3, 2), Some(2), One(3))
    assert OWNERS.states == {"pets": ("answered", "prefer not to say", "not asked")}
    everybody = {"work": "Yes", "all": []}
    ticked = OWNERS.measurement({**everybody, "pets": ["fish", "cat"]})
    assert ticked == [0, [True, False, True], [False, False], 0]
    assert OWNERS.measurement({**everybody, "pets": None})[-1] == 1
    not_asked = OWNERS.measurement({"work": "No", "all": ["b"]})
    assert not_asked == [1, [False] * 3, [False, True], 2]
    assert OWNERS.measurement({**everybody, "pets": []})[1:] == [[False] * 3, [False, False], 0]


@pytest.mark.parametrize("answer", ["cat", ["cat", "cat"], ["cat", "dog", "fish"], ["bird"], 3])
def test_sets_that_the_question_does_not_allow_are_refused(answer: Any) -> None:
    """More than the limit, twice the same, unknown, or no list."""
    with pytest.raises(UnknownLabel, match=r"several of .*, at most 2"):
        OWNERS.measurement({"work": "Yes", "all": [], "pets": answer})


def test_several_answers_cannot_be_crossed_or_decide() -> None:
    """A cross table and a condition need one answer each."""
    with pytest.raises(ParameterError, match="one answer each"):
        Encoding(OWNERS.questions, OWNERS.conditions, cross=(("work", "all"),))
    again = Choice("then", "?", ("x", "y"), allow_skip=True)
    with pytest.raises(ParameterError, match="has several answers"):
        Encoding((PETS, again), (None, ShowIf("pets", ("cat",))))


def test_shares_of_several_answers_hold_as_often_as_they_say() -> None:
    """N = 600 crowds of 200, split, added up and noisy: 95 % intervals hold in over 90 %.

    Among those who answered, whose number is noisy too. False alarm below 4e-7 for each.
    """
    rng, noise = np.random.default_rng(9), SumNoise.of_rho(OWNERS.blocks, 2)
    covered = np.zeros(2)
    for _ in range(600):
        works = rng.random(200) < 0.7
        skips = works & (rng.random(200) < 0.2)
        cat = works & ~skips & (rng.random(200) < 0.6)
        answered = int((works & ~skips).sum())
        exact = [int(works.sum()), int((~works).sum()), int(cat.sum()), 0, 0, 0, 0]
        exact[-2:] = [60, 100]
        exact += [answered, int(skips.sum()), int((~works).sum())]
        sums = noisy(OWNERS, noise, exact, rng)
        pets = OWNERS.estimates(sums, noise=noise, design=Design(200))[1]
        assert pets.symbols == ("cat", "dog", "fish", "prefer not to say", "not asked")
        assert len(pets.shares) == 5
        of_all, of_answered = pets.shares[0], pets.answered[0]
        covered += [of_all.low <= 0.7 * 0.8 * 0.6 <= of_all.high, False]
        covered[1] += of_answered.low <= 0.6 <= of_answered.high
    assert (covered / 600 > 0.9).all()


def test_quartiles_hold_at_least_as_often_as_they_say() -> None:
    """N = 600 crowds of 300: intervals of quartiles of ratings and binned numbers hold .95 or more.

    Fewer than .9 of 600 has a chance of 4e-7; the interval's ends are possible answers.
    """
    rng = np.random.default_rng(10)
    questions = (Rating("mood", "?", 1, 7), Number("hours", "?", 0, 99, "hours"))
    encoding = Encoding(questions)
    noise = SumNoise.of_rho(encoding.blocks, "0.5")
    share = np.array([0.05, 0.1, 0.25, 0.25, 0.2, 0.1, 0.05])
    truth = {"mood": (3, 4, 5), "hours": (24, 49, 74)}
    held = {name: np.zeros(3) for name in truth}
    for _ in range(600):
        exact = rng.multinomial(300, share).tolist()
        exact += rng.multinomial(300, np.full(20, 0.05)).tolist()
        for found in encoding.estimates(
            noisy(encoding, noise, exact, rng), noise=noise, design=Design(300)
        ):
            assert found.quartiles is not None
            for place, one in enumerate(found.quartiles):
                assert one.low <= one.value <= one.high
                held[found.question][place] += one.low <= truth[found.question][place] <= one.high
    assert min(float(one.min()) for one in held.values()) > 0.9 * 600


@given(st.lists(st.integers(-30, 200), min_size=2, max_size=30), st.floats(0.01, 0.99))
def test_prop_a_quantile_lies_in_its_interval_and_on_the_scale(
    counts: list[int], share: float
) -> None:
    """Whatever the noise made of the counts; nothing is known where nobody seems to answer."""
    ends = [(10.0 * place, 10.0 * place + 9) for place in range(len(counts))]
    found = quantile_estimate(counts, ends, share, variance=40.0, design=Design(100))
    assert 0 <= found.low <= found.value <= found.high <= ends[-1][1]


def test_a_quantile_of_exact_counts_is_the_quantile() -> None:
    """Without noise and with everybody asked: the usual definition, without an interval."""
    counts = [10, 30, 60]
    for share, expected in ((0.05, 1), (0.1, 1), (0.11, 2), (0.4, 2), (0.41, 3), (0.99, 3)):
        found = quantile_estimate(
            counts,
            [(1, 1), (2, 2), (3, 3)],
            share,
            variance=0.0,
            design=Design(100, population=100),
        )
        assert (found.value, found.low, found.high) == (expected,) * 3
    nobody = quantile_estimate([0, 0, 50], [(1, 1), (2, 2)], 0.5, variance=1.0, design=Design(50))
    assert math.isnan(nobody.value)
    assert (nobody.low, nobody.high) == (1, 2)


def test_who_ticks_and_says_to_have_left_it_out_counts_once_among_all() -> None:
    """Five such liars beside 40 move a share of all by 5 / 45, and the share of who answered more.

    Nothing proves that both blocks agree, as the documentation says with these numbers.
    """
    encoding = Encoding((SeveralOf("want", "What?", ("tea", "milk"), allow_skip=True),))
    noise = SumNoise.of_rho(encoding.blocks, "0.5")
    lie = SurveyCircuit(encoding.blocks).encode([[True, True], 1])
    assert lie == [1, 1, 0, 1]

    def shares(liars: int) -> tuple[float, float]:
        sums = [[20 + liars, 10 + liars], [40, liars]]
        found = encoding.estimates(sums, noise=noise, design=Design(40 + liars))[0]
        return found.shares[0].value, found.answered[0].value

    assert shares(0) == (0.5, 0.5)
    assert shares(5) == pytest.approx((25 / 45, 0.625))
