"""From answers to one vector, and from noisy sums to shares and means with intervals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.aggregate import (
    FIELD_128,
    One,
    Some,
    Whole,
    prio3_survey,
)
from masquerade.errors import ParameterError, UnknownLabel
from masquerade.surveys import (
    Choice,
    Comparison,
    Encoding,
    Number,
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


def test_several_answers_cannot_be_crossed() -> None:
    """A cross table needs one answer each."""
    with pytest.raises(ParameterError, match="one answer each"):
        Encoding(OWNERS.questions, OWNERS.conditions, cross=(("work", "all"),))


def test_a_ticked_option_decides() -> None:
    """A question shown after an option was ticked has "not asked" among its symbols."""
    again = Choice("then", "?", ("x", "y"), allow_skip=True)
    asked = (PETS, again)
    encoding = Encoding(asked, (None, ShowIf(PETS.id, (PETS.options[0],))))
    shown = encoding.measurement({PETS.id: [PETS.options[0]], "then": "y"})
    hidden = encoding.measurement({PETS.id: [PETS.options[1]]})
    assert (shown[1], hidden[1]) == (1, len(encoding.symbols("then")) - 1)
