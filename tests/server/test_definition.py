"""A survey's definition says exactly what is masked how, and its hash fixes what people saw."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import compose
from masquerade.answers import Choice, Question, Rating
from masquerade.errors import ParameterError
from masquerade.mechanisms import LEVELS, CategoricalMechanism, RandomizedResponse, TwoLayer
from masquerade.server.definition import MOST_QUESTIONS, Definition

if TYPE_CHECKING:
    from tests.server.conftest import Kit

line = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30
).filter(str.strip)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
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
    return Definition.at_level(
        title=draw(line),
        description=draw(st.just("") | line),
        template="pick",
        level=draw(st.sampled_from([level.name for level in LEVELS])),
        questions=tuple(questions),
        masking=masking,
    )


@given(definition=definitions())
def test_prop_a_definition_survives_json(definition: Definition) -> None:
    """A definition written as JSON and read again is the same, hash and promise included."""
    again = Definition.from_json(json.loads(json.dumps(definition.to_json())))
    assert again == definition
    assert again.content_hash() == definition.content_hash()
    assert again.guarantee() == definition.guarantee()


@given(definition=definitions(), data=st.data())
def test_prop_the_hash_fixes_what_people_saw(definition: Definition, data: st.DataObject) -> None:
    """Whatever participants can see changes the hash; right answers, unseen, do not."""
    first = definition.questions[0]
    others: list[dict[str, Any]] = [
        {"title": definition.title + "!"},
        {"description": definition.description + "!"},
        {"level": "other"},
        {"template": "label"},
        {"questions": (replace(first, text="another text"), *definition.questions[1:])},
        {"questions": (replace(first, id="another"), *definition.questions[1:])},
        {"mechanisms": (_stronger(definition.mechanisms[0]), *definition.mechanisms[1:])},
    ]
    changed = replace(definition, **data.draw(st.sampled_from(others)))
    assert changed.content_hash() != definition.content_hash()
    blind = tuple(
        replace(q, truth=None) if isinstance(q, Choice) else q for q in definition.questions
    )
    assert replace(definition, questions=blind).content_hash() == definition.content_hash()


def _stronger(mechanism: CategoricalMechanism) -> CategoricalMechanism:
    return RandomizedResponse(mechanism.options, epsilon=Fraction(1, 1000), null=mechanism.null)


def test_the_hash_of_a_definition_is_fixed(kit: Kit) -> None:
    """Devices keep working across versions: the hash of a known survey does not change."""
    assert kit.define().content_hash() == (
        "642a63174293d351d9e2f07ff2b8d7addf496ac704908d544646db896cffdd04"
    )


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("options", [2, 3, 5, 100])
def test_the_level_chooses_the_mechanism(kit: Kit, level: Any, options: int) -> None:
    """Masked answer by answer, each question has its level's randomized response."""
    labels = tuple(map(str, range(options)))
    for skip in (False, True):
        definition = kit.define(Choice("c", "?", labels, allow_skip=skip), level=level.name)
        [mechanism] = definition.mechanisms
        assert mechanism == level.randomized_response(options, null=skip)
        assert mechanism.symbols == options + skip


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("options", [2, 3, 5, 100])
def test_masking_per_person_keeps_the_level_of_one_report(
    kit: Kit, level: Any, options: int
) -> None:
    """Two-layer masking has the widest range whose single report costs what the level's does."""
    labels = tuple(map(str, range(options)))
    definition = kit.define(Choice("c", "?", labels), level=level.name, masking="per-person")
    [mechanism] = definition.mechanisms
    assert isinstance(mechanism, TwoLayer)
    assert mechanism.low == 0 or mechanism.high == 1
    one = level.randomized_response(options).guarantee().epsilon_single
    assert abs(definition.guarantee().epsilon_single.micro - one.micro) <= 3
    assert definition.guarantee().status == "proven"


def test_the_guarantee_is_the_composition(kit: Kit) -> None:
    """A survey promises what its mechanisms together promise."""
    definition = kit.define(masking="per-person")
    assert definition.guarantee() == compose(definition.mechanisms)


QUESTION = Choice("c", "?", ("A", "B"))
MASK = RandomizedResponse(2, epsilon=1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"title": ""}, "title"),
        ({"title": " \t"}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": "a\0b"}, "NUL"),
        ({"description": "x" * 2001}, "2001 characters"),
        ({"questions": (), "mechanisms": ()}, "0 questions"),
        ({"questions": (QUESTION,) * 201, "mechanisms": (MASK,) * 201}, "201 questions"),
        ({"questions": (QUESTION,) * 2, "mechanisms": (MASK,) * 2}, "same id"),
        ({"mechanisms": (RandomizedResponse(3, epsilon=1),)}, "must agree"),
        ({"mechanisms": (RandomizedResponse(2, epsilon=1, null=True),)}, "must agree"),
        ({"mechanisms": (RandomizedResponse(2, flip_probability=0),)}, "no privacy"),
        ({"mechanisms": (RandomizedResponse(2, flip_probability=1),)}, "no privacy"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_a_survey_is_refused(changes: dict[str, Any], says: str) -> None:
    """A survey that is empty, too long, ambiguous or unmasked is an error that says why."""
    fields: dict[str, Any] = {
        "title": "T",
        "description": "",
        "template": "pick",
        "level": "medium",
        "questions": (QUESTION,),
        "mechanisms": (MASK,),
    }
    assert Definition(**fields).guarantee().answers == 1
    with pytest.raises(ParameterError, match=says):
        Definition(**{**fields, **changes})


def test_the_longest_survey(kit: Kit) -> None:
    """Two hundred questions are a survey, masked either way, at a finite cost."""
    questions = [Choice(f"q{n}", "?", ("A", "B")) for n in range(MOST_QUESTIONS)]
    for masking in ("per-answer", "per-person"):
        guarantee = kit.define(*questions, masking=masking).guarantee()
        assert guarantee.answers == 200
        assert guarantee.epsilon_user.micro < 10**9


def test_impossible_choices_of_masking(kit: Kit) -> None:
    """An unknown level or masking, and skipping under two-layer masking, are refused by name."""
    with pytest.raises(ParameterError, match="level is 'none'"):
        kit.define(level="none")
    with pytest.raises(ParameterError, match="masking is 'clear'"):
        kit.define(masking="clear")
    with pytest.raises(ParameterError, match="'r' can be skipped"):
        kit.define(Rating("r", "How?", allow_skip=True), masking="per-person")
