"""m of M: blocks of questions drawn for each person, in clear, at the cost of the costliest."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from masquerade.accounting import compose
from masquerade.analysis import survey_correlation, survey_relation
from masquerade.errors import BrokenPromise, InvalidReport, ParameterError
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import CategoricalMechanism
from masquerade.results import Codebook, SurveyReports, cross_table, group_comparisons
from masquerade.results.forecasts import forecast
from masquerade.surveys import Choice, Number, PairVote, Question, Rating, ShowIf
from masquerade.surveys.drawn_blocks import NOT_DRAWN, Draw
from masquerade.surveys.question import KEEP_PER_PERSON
from masquerade.surveys.survey import Survey

FILE = Path(__file__).parents[1] / "vectors" / "drawn-blocks.json"


def yes_no(name: str, *, skip: bool = False) -> Choice:
    """Return a question of two options."""
    return Choice(name, "?", ("Yes", "No"), allow_skip=skip)


MIXED: tuple[Question, ...] = (
    yes_no("a"),
    Rating("r", "?"),
    Choice("c", "?", tuple("uvwxyz")),
    yes_no("b", skip=True),
    Number("n", "?", 0, 10, "h"),
)


def survey(*questions: Question, asked: int | None, level: str = "medium", **fields: Any) -> Survey:
    """Return a survey that asks some blocks."""
    return Survey.at_levels(title="T", questions=questions, levels=(level,), asked=asked, **fields)


def test_a_draw_is_in_the_text_and_its_blocks_hang_together() -> None:
    """How many are asked is hashed; which blocks there are follows from the conditions."""
    shown = (None, None, None, ShowIf("a", ("Yes",)), None)
    made = survey(*MIXED, asked=2, conditions=shown)
    assert made.draw == Draw(2, ((0, 3), (1,), (2,), (4,)))
    assert Survey.from_text(made.text()) == made
    assert "asked" not in survey(*MIXED, asked=None).to_json()


@pytest.mark.parametrize("asked", [0, 5, 6, True])
def test_as_many_as_there_are_or_none_cannot_be_drawn(asked: int) -> None:
    """Of five blocks one to four can be drawn."""
    with pytest.raises(ParameterError, match="1 to 4"):
        survey(*MIXED, asked=asked)


def test_masks_that_answers_share_and_lists_are_asked_of_everybody() -> None:
    """Where losses do not add block by block, nothing is drawn."""
    with pytest.raises(ParameterError, match="each answer by itself"):
        survey(yes_no("a"), yes_no("b"), asked=1, masking=KEEP_PER_PERSON)
    with pytest.raises(ParameterError, match="each answer by itself"):
        survey(yes_no("a"), yes_no("b"), asked=1, level="none")
    with pytest.raises(ParameterError, match="asked of everybody"):
        survey(yes_no("a"), PairVote("v", "?", ("x", "y", "z"), votes=1), asked=1)


def test_exact_two_people_tell_apart_by_no_more_than_the_costliest_blocks() -> None:
    """Of all answers, sets and reports the log ratio attains the promise, and never exceeds it."""
    made = survey(*MIXED[:4], asked=2)
    [level] = made.levels
    draw = made.draw
    assert draw is not None
    tables = [m.channel().table for m in level.mechanisms if isinstance(m, CategoricalMechanism)]
    worst = Fraction(1)
    for drawn in itertools.combinations(range(len(draw.blocks)), 2):
        ratio = Fraction(1)
        for place in draw.places(drawn):
            ratio *= max(
                Fraction(one[sent]) / Fraction(two[sent])
                for one, two in itertools.permutations(tables[place], 2)
                for sent in range(len(one))
            )
        worst = max(worst, ratio)  # the chance of the set is the same for both
    promised = level.guarantee().epsilon_user.micro
    assert math.log(worst) <= promised / 1e6
    assert math.log(worst) >= promised / 1e6 - 1e-5


@pytest.mark.parametrize("asked", [1, 2, 3, 4])
def test_prop_no_set_costs_more_than_is_charged(asked: int) -> None:
    """For every draw, its own loss is at most the one charged, at every order."""
    made = survey(*MIXED, asked=asked)
    [level] = made.levels
    assert made.draw is not None
    charged, promised = level.cost("x").loss, level.guarantee()
    for drawn in itertools.combinations(range(5), asked):
        masks = [level.mechanisms[place] for place in made.draw.places(drawn)]
        own = compose(masks)
        assert own.loss_user is not None
        assert own.loss_user.pure <= charged.pure
        pairs = zip(own.loss_user.orders, charged.orders, strict=True)
        assert all(one <= most for one, most in pairs)
        assert own.epsilon_user <= promised.epsilon_user


def test_audit_every_set_is_as_likely() -> None:
    """Chi-square over 6,000 draws of 3 of 5; the chance of a false alarm is 1e-6."""
    draw, coins = (
        Draw(3, tuple((place,) for place in range(5))),
        SimulatedCoins(np.random.default_rng(11)),
    )
    sets = list(itertools.combinations(range(5), 3))
    counts: dict[tuple[int, ...], int] = dict.fromkeys(sets, 0)
    for _ in range(6000):
        counts[tuple(draw.draw(coins))] += 1
    expected = 6000 / len(sets)
    statistic = sum((one - expected) ** 2 / expected for one in counts.values())
    assert statistic < chi2.isf(1e-6, len(sets) - 1)


def test_reports_are_of_as_many_whole_blocks_as_were_drawn() -> None:
    """Too few, too many, half a block, and values that a mask cannot give are refused."""
    shown = (None, ShowIf("a", ("Yes",)), None)
    made = survey(yes_no("a"), yes_no("b", skip=True), yes_no("c"), asked=1, conditions=shown)
    [level] = made.levels
    none = NOT_DRAWN
    for good in ([0, 2, none], [none, none, 1]):
        level.check_reports(good)
    for wrong in (
        [0, 1, 1],
        [none] * 3,
        [0, none, none],
        [0, none, 1],
        [none, none, 2],
        [0, 3, none],
    ):
        with pytest.raises(InvalidReport):
            level.check_reports(wrong)
    assert made.draw is not None
    for lie in (None, [], [0, 1], [2], ["0"], [0, 0]):
        with pytest.raises(BrokenPromise):
            made.draw.require(lie)


def test_results_and_forecasts_count_those_who_were_asked() -> None:
    """A question has as many reports as people drew it, and its forecast expects as many."""
    made = survey(yes_no("a"), yes_no("b"), yes_no("c"), asked=1, level="low")
    book = Codebook("0123456789abcdef", made, made.content_hash())
    people = [f"p{n}" for n in range(300)]
    rows = [[n // 3 % 2 if place == n % 3 else NOT_DRAWN for place in range(3)] for n in range(300)]
    reports = SurveyReports.from_rows(book, people, ["low"] * 300, rows)
    assert [reports.sent("low", place).n for place in range(3)] == [100] * 3
    with pytest.raises(ParameterError, match="some of the questions"):
        cross_table(reports, "a", "b")
    with pytest.raises(ParameterError, match="some of the questions"):
        survey_relation(reports, "a", ["b"])
    with pytest.raises(ParameterError, match="crossed with 'a'"):
        group_comparisons(reports, by="a")
    whole = survey(yes_no("a"), yes_no("b"), yes_no("c"), asked=None, level="low")
    expected = forecast(whole, 0, {"low": 100}).margin
    assert forecast(made, 0, {"low": 300}).margin == pytest.approx(expected)


def test_questions_asked_together_are_one_block_and_have_their_table() -> None:
    """People with the block drawn are the table's people, as if only they had been asked."""
    two = (Rating("a", "?", 1, 2), Rating("b", "?", 1, 2))
    questions = (*two, yes_no("c"), yes_no("d", skip=True))
    shown = (None, None, None, ShowIf("c", ("Yes",)))
    made = survey(*questions, asked=1, level="low", together=(("a", "b"),), conditions=shown)
    assert made.draw == Draw(1, ((0, 1), (2, 3)))
    assert Survey.from_text(made.text()) == made
    assert made.asked_together("a", "b")
    assert made.asked_together("c", "d")
    assert not made.asked_together("a", "c")
    book = Codebook("0123456789abcdef", made, made.content_hash())
    none = NOT_DRAWN
    rows = [[n % 2, n // 2 % 2, none, none] for n in range(200)] + [
        [none, none, n % 2, n // 2 % 2] for n in range(100)
    ]
    people = [f"p{n}" for n in range(300)]
    reports = SurveyReports.from_rows(book, people, ["low"] * 300, rows)
    alone = survey(*questions[:2], asked=None, level="low")
    whole = SurveyReports.from_rows(
        Codebook("0123456789abcdef", alone, alone.content_hash()),
        people[:200],
        ["low"] * 200,
        [row[:2] for row in rows[:200]],
    )
    assert cross_table(reports, "a", "b").to_json() == cross_table(whole, "a", "b").to_json()
    assert cross_table(reports, "c", "d").n == 100
    found, expected = (survey_relation(one, "a", ["b"]) for one in (reports, whole))
    assert found.terms == expected.terms
    assert survey_correlation(reports, "a", "b") == survey_correlation(whole, "a", "b")
    groups = group_comparisons(reports, by="a")
    assert {one.question for one in groups} == {"b"}
    assert groups == group_comparisons(whole, by="a")


@pytest.mark.parametrize(
    ("together", "asked", "says"),
    [
        ((("a", "b"),), None, "everybody is asked all"),
        ((("a", "z"),), 1, "'z' is no question"),
        ((("a",),), 1, "two questions or more"),
        ((("a", "a"),), 1, "two questions or more"),
        ((("a", "b"), ("b", "c")), 1, "1 blocks of questions"),
    ],
)
def test_what_cannot_be_asked_together(
    together: tuple[tuple[str, ...], ...], asked: int | None, says: str
) -> None:
    """Each fault is said; where everything hangs together nothing is left to draw."""
    with pytest.raises(ParameterError, match=says):
        survey(yes_no("a"), yes_no("b"), yes_no("c"), asked=asked, together=together)


def vectors() -> list[dict[str, Any]]:
    """Return the cost of draws, for devices to work out too."""
    found = []
    for level in ("high", "low"):
        for asked in (1, 2, 4):
            made = survey(*MIXED, asked=asked, level=level)
            [only] = made.levels
            loss, promise = only.cost("").loss, only.guarantee()
            assert made.draw is not None
            found.append(
                {
                    "texts": [str(one) for one in only.mechanisms],
                    "draw": made.draw.to_json(),
                    "pure": None if math.isinf(loss.pure) else loss.pure,
                    "orders": list(loss.orders),
                    "user": promise.epsilon_user.micro,
                }
            )
    ten = survey(*(yes_no(f"q{n}") for n in range(10)), asked=3)
    [only] = ten.levels
    assert ten.draw is not None
    found.append(
        {
            "texts": [str(one) for one in only.mechanisms],
            "draw": ten.draw.to_json(),
            "pure": only.cost("").loss.pure,
            "orders": list(only.cost("").loss.orders),
            "user": only.guarantee().epsilon_user.micro,
        }
    )
    return found


def test_vectors_are_current() -> None:
    """The file for tests of devices agrees with this code; run it to write it anew."""
    assert json.loads(FILE.read_text()) == vectors()


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), separators=(",", ":")) + "\n")
