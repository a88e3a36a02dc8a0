"""A survey's definition tells each question's mask, and its hash fixes the people's view."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surveys.small_surveys import define

from masquerade.accounting import compose
from masquerade.errors import LevelNotAllowed, ParameterError
from masquerade.exact import INFINITE_LOSS, Micro
from masquerade.mechanisms import (
    LEVELS,
    CategoricalMechanism,
    DiscreteGaussian,
    RandomizedResponse,
    SubsetSelection,
    TwoLayer,
)
from masquerade.surveys import Choice, Comparison, Number, Question, Rating, question_from_json
from masquerade.surveys.offered_levels import Mask, OfferedLevel
from masquerade.surveys.survey import MOST_QUESTIONS, TOPICS, Survey

line = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30
).filter(str.strip)


@st.composite
def definitions(draw: st.DrawFn) -> Survey:
    """Draw a survey of choices and ratings at a level."""
    masking = draw(st.sampled_from(["per-answer", "per-person"]))
    questions: list[Question] = []
    for number in range(draw(st.integers(1, 4))):
        skip = masking == "per-answer" and draw(st.booleans())
        name, text = f"q{number}", draw(line)
        if draw(st.booleans()):
            options = tuple(draw(st.lists(line, min_size=2, max_size=4, unique=True)))
            truth = draw(st.none() | st.sampled_from(options))
            questions.append(Choice(name, text, options, allow_skip=skip, truth=truth))
        else:
            questions.append(Rating(name, text, high=draw(st.integers(2, 7)), allow_skip=skip))
    if draw(st.booleans()):
        questions.append(Number("n", draw(line), 0, draw(st.integers(1, 40)), "hours", 0.5))
    if draw(st.booleans()):
        questions.append(Comparison("p", draw(line), "A", "B", draw(st.sampled_from(["", "C"]))))
    names = [level.name for level in LEVELS]
    return Survey.at_levels(
        title=draw(line),
        description=draw(st.just("") | line),
        template="pick",
        levels=draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)),
        questions=tuple(questions),
        masking=masking,
        topic=draw(st.sampled_from(TOPICS)),
    )


@given(definition=definitions())
def test_prop_a_definition_survives_json(definition: Survey) -> None:
    """A definition written as JSON and read again is the same, hash and promise included."""
    again = Survey.from_json(json.loads(json.dumps(definition.to_json())))
    assert again == definition
    assert again.content_hash() == definition.content_hash()
    for level in definition.levels:
        assert again.level(level.name).guarantee() == level.guarantee()


@given(definition=definitions(), data=st.data())
def test_prop_the_hash_fixes_what_people_saw(definition: Survey, data: st.DataObject) -> None:
    """Everything that participants can see changes the hash; right answers, unseen, do not."""
    first = definition.questions[0]
    others: list[dict[str, Any]] = [
        {"title": definition.title + "!"},
        {"description": definition.description + "!"},
        {"levels": (replace(definition.levels[0], name="other"), *definition.levels[1:])},
        {"template": "label"},
        {"topic": "personal" if definition.topic != "personal" else "everyday"},
        {"reveal": "after_send" if definition.reveal == "before_send" else "before_send"},
        {"questions": (_with(first, text="another text"), *definition.questions[1:])},
        {"questions": (_with(first, id="another"), *definition.questions[1:])},
        {"levels": (_stronger(definition.levels[0]), *definition.levels[1:])},
    ]
    changed = replace(definition, **data.draw(st.sampled_from(others)))
    assert changed.content_hash() != definition.content_hash()
    blind = tuple(
        replace(q, truth=None) if isinstance(q, Choice) else q for q in definition.questions
    )
    assert replace(definition, questions=blind).content_hash() == definition.content_hash()


def _stronger(level: OfferedLevel) -> OfferedLevel:
    first = level.mechanisms[0]
    assert isinstance(first, CategoricalMechanism)
    other = RandomizedResponse(first.options, epsilon=Fraction(1, 1000), null=first.null)
    return replace(level, mechanisms=(other, *level.mechanisms[1:]))


def test_the_older_form_is_a_survey_of_one_level() -> None:
    """A definition with ``level`` and ``mechanisms`` reads as a fixed level, shown before sent."""
    mechanisms = ["randomized-response:options=2,flip_probability=0.25"]
    older = {
        "title": "T",
        "description": "",
        "template": "pick",
        "level": "medium",
        "questions": [{"kind": "choice", "id": "c", "text": "?", "options": ["A", "B"]}],
        "mechanisms": mechanisms,
    }
    definition = Survey.from_json(older)
    assert definition.fixed_level == "medium"
    assert [str(m) for m in definition.level("medium").mechanisms] == mechanisms
    assert (definition.topic, definition.reveal) == ("everyday", "before_send")
    assert Survey.from_json(definition.to_json()) == definition


def test_the_hash_of_a_definition_is_fixed() -> None:
    """Devices keep working across versions: the hash of a known survey does not change."""
    assert define().content_hash() == (
        "9446c252dbfd02d5fd8d71440f357e47fd8478a700098205f0fab4c7ae239aee"
    )


def test_every_level_is_offered_by_default() -> None:
    """Without a choice a survey offers all levels, the strongest first; one level is fixed."""
    definition = Survey.at_levels(title="T", questions=(QUESTION,))
    assert [level.name for level in definition.levels] == ["high", "medium", "low"]
    assert definition.fixed_level is None
    assert define().fixed_level == "medium"
    with pytest.raises(LevelNotAllowed, match="choose one of high, medium, low"):
        definition.level("none")


def test_what_is_shown_when_follows_from_the_topic() -> None:
    """People see their reports before they send them, but for sensitive topics, unless told so."""
    assert [define(topic=topic).reveal for topic in TOPICS] == [
        "before_send",
        "before_send",
        "after_send",
    ]
    assert define(topic="sensitive", reveal="before_send").reveal == "before_send"


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_numbers_are_masked_by_noise_of_the_level(level: Any) -> None:
    """A number has discrete Gaussian noise with sigma = range / mu on exactly its own lattice."""
    definition = define(Number("n", "?", 0, 2, "h", 0.1), level=level.name)
    [mechanism] = definition.levels[0].mechanisms
    assert mechanism == DiscreteGaussian(0, 2, "0.1", sigma=2 / level.mu)
    assert mechanism.guarantee().rho_user == Micro.of_amount(level.mu**2 / 2)


@pytest.mark.parametrize("tie", ["", "Neither"])
def test_comparisons_are_randomized_response(tie: str) -> None:
    """A comparison has two symbols, or three with a tie, and one more where it can be skipped."""
    for skip in (False, True):
        question = Comparison("p", "Which?", "A", "B", tie, allow_skip=skip)
        [mechanism] = define(question).levels[0].mechanisms
        assert isinstance(mechanism, RandomizedResponse)
        assert (mechanism.options, mechanism.null) == (2 + bool(tie), skip)


def test_ratings_can_be_masked_on_their_scale() -> None:
    """With the Gaussian mask a rating has noise on its scale, and then cannot be skipped."""
    [mechanism] = define(Rating("r", "?"), rating_mask="gaussian").levels[0].mechanisms
    assert mechanism == DiscreteGaussian(1, 5, sigma=6)
    with pytest.raises(ParameterError, match="can be skipped, and noise on the scale"):
        define(Rating("r", "?", allow_skip=True), rating_mask="gaussian")
    with pytest.raises(ParameterError, match="rating_mask"):
        define(rating_mask="none")


def test_answers_in_clear_are_a_level_of_their_own() -> None:
    """At level none every answer is sent as it is, counted one by one, and nothing is masked."""
    questions = (Choice("c", "?", ("A", "B")), Number("n", "?", 0, 9, "h"))
    level = define(*questions, levels=("none", "low")).level("none")
    assert level.guarantee().epsilon_user == INFINITE_LOSS
    assert level.cost("t").clear == 2
    for mechanism in level.mechanisms:
        assert isinstance(mechanism, RandomizedResponse)
        assert mechanism.flip_probability == 0
    mixed = OfferedLevel("none", (RandomizedResponse(2, epsilon=1), level.mechanisms[1]))
    with pytest.raises(ParameterError, match="level 'none' masks some"):
        Survey("T", "", "pick", questions, (mixed,))


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("options", [2, 3, 5, 100])
def test_the_level_chooses_the_mechanism(level: Any, options: int) -> None:
    """Masked answer by answer, a question has the level's mechanism of least variance.

    With few options that is randomized response; with many, where protection is strong, it sends
    several labels.
    """
    labels = tuple(map(str, range(options)))
    several = options == 100 and level.name in ("high", "medium")
    for skip in (False, True):
        definition = define(Choice("c", "?", labels, allow_skip=skip), level=level.name)
        [mechanism] = definition.levels[0].mechanisms
        assert isinstance(mechanism, SubsetSelection if several else RandomizedResponse)
        assert mechanism == level.categorical_response(options, null=skip)
        assert mechanism.symbols == options + skip


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("options", [2, 3, 5, 100])
def test_masking_per_person_keeps_the_level_of_one_report(level: Any, options: int) -> None:
    """Two-layer masking has the widest range with a single report at the level's cost."""
    labels = tuple(map(str, range(options)))
    definition = define(Choice("c", "?", labels), level=level.name, masking="per-person")
    [mechanism] = definition.levels[0].mechanisms
    assert isinstance(mechanism, TwoLayer)
    assert mechanism.low == 0 or mechanism.high == 1
    one = level.randomized_response(options).guarantee().epsilon_single
    guarantee = definition.levels[0].guarantee()
    assert abs(guarantee.epsilon_single.micro - one.micro) <= 3
    assert guarantee.status == "proven"


def test_the_guarantee_is_the_composition() -> None:
    """A survey promises the total of its mechanisms' promises."""
    for level in define(levels=("high", "low"), masking="per-person").levels:
        assert level.guarantee() == compose(level.mechanisms)


QUESTION = Choice("c", "?", ("A", "B"))
MASK = RandomizedResponse(2, epsilon=1)


def at(name: str, mechanism: Mask) -> OfferedLevel:
    """Return a level for one question."""
    return OfferedLevel(name, (mechanism,))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"title": ""}, "title"),
        ({"title": " \t"}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": "a\0b"}, "NUL"),
        ({"description": "x" * 2001}, "2001 characters"),
        ({"questions": ()}, "0 questions"),
        ({"questions": (QUESTION,) * 201}, "201 questions"),
        ({"questions": (QUESTION,) * 2}, "same id"),
        ({"levels": ()}, "at least one"),
        ({"levels": (OfferedLevel("a", (MASK,)), OfferedLevel("a", (MASK,)))}, "of its own"),
        ({"levels": (OfferedLevel("A b", (MASK,)),)}, "lower-case"),
        ({"levels": (OfferedLevel("a", (RandomizedResponse(3, epsilon=1),)),)}, "must agree"),
        ({"levels": (at("a", RandomizedResponse(2, epsilon=1, null=True)),)}, "must agree"),
        ({"levels": (at("a", DiscreteGaussian(1, 2, sigma=1)),)}, "must agree"),
        ({"levels": (at("a", RandomizedResponse(2, flip_probability=0)),)}, "no privacy"),
        ({"levels": (at("a", RandomizedResponse(2, flip_probability=1)),)}, "no privacy"),
        ({"topic": "gossip"}, "topic is 'gossip'"),
        ({"reveal": "never"}, "reveal is 'never'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_a_survey_is_refused(changes: dict[str, Any], says: str) -> None:
    """A survey that is empty, too long, ambiguous or unmasked is an error that says why."""
    fields: dict[str, Any] = {
        "title": "T",
        "description": "",
        "template": "pick",
        "questions": (QUESTION,),
        "levels": (at("medium", MASK),),
    }
    assert Survey(**fields).level("medium").guarantee().answers == 1
    with pytest.raises(ParameterError, match=says):
        Survey(**{**fields, **changes})


def test_the_longest_survey() -> None:
    """Two hundred questions are a survey, masked either way, at a finite cost."""
    questions = [Choice(f"q{n}", "?", ("A", "B")) for n in range(MOST_QUESTIONS)]
    for masking in ("per-answer", "per-person"):
        guarantee = define(*questions, masking=masking).levels[0].guarantee()
        assert guarantee.answers == 200
        assert guarantee.epsilon_user.micro < 10**9


def test_impossible_choices_of_masking() -> None:
    """An unknown level or masking, and skipping under two-layer masking, are refused by name."""
    with pytest.raises(ParameterError, match="level is 'other'"):
        define(level="other")
    with pytest.raises(ParameterError, match="masking is 'clear'"):
        define(masking="clear")
    with pytest.raises(ParameterError, match="'r': it can be skipped, and a mask drawn once"):
        define(Rating("r", "How?", allow_skip=True), masking="per-person")


def _with(question: Question, **fields: str) -> Question:
    """Return a question with other fields."""
    return question_from_json({**question.to_json(), **fields})
