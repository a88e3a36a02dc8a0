"""The contract of a kind of question, over every kind that is registered."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

import pytest
from tools.kinds import FOLDER, names, registry

from masquerade.aggregate import SumNoise, prio3_survey
from masquerade.errors import MasqueradeError, MissingValue, ParameterError, UnknownLabel
from masquerade.mechanisms import LEVELS, level_named, mask_response
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.mechanisms.registry import parse_mask
from masquerade.results import estimate_sums
from masquerade.surveys import Codebook, Encoding, Question, question_from_json
from masquerade.surveys.builder_form import FormField
from masquerade.surveys.kinds import kinds
from masquerade.surveys.question import (
    GAUSSIAN_MASK,
    KEEP_PER_ANSWER,
    KEEP_PER_PERSON,
    NOT_SAID,
    RESPONSE_MASK,
    MaskRules,
)
from masquerade.surveys.survey import Survey

NAMES = [level.name for level in LEVELS]
RULES = [
    MaskRules(masking, rating_mask)
    for masking in (KEEP_PER_ANSWER, KEEP_PER_PERSON)
    for rating_mask in (RESPONSE_MASK, GAUSSIAN_MASK)
]
ENTRY = {"id": "q1", "text": "Which?"}
FEW = 40  # codes that are tried of a large domain


def examples() -> Iterator[Question]:
    """Yield a question of each kind as the builder makes it, then one that can be skipped."""
    for name, kind in kinds().items():
        # One vote where people vote repeatedly: each vote is a question of its own.
        blank = kind.builder.blank | ({"votes": 1} if kind.takes_pair else {})
        yield question_from_json({**blank, **ENTRY, "kind": name}).parts()[0]
        for name_of_flag in [key for key, value in blank.items() if value is False]:
            data = {**blank, **ENTRY, "kind": name, name_of_flag: True}
            yield question_from_json(data).parts()[0]


EXAMPLES = list(examples())


def name_of(question: Question) -> str:
    """Return a name of an example for messages."""
    flags = [key for key, value in question.to_json().items() if value is True]
    return "-".join([question.kind, *flags])


every_example = pytest.mark.parametrize("question", EXAMPLES, ids=name_of)


def masks_of(question: Question, level: str) -> Iterator[DeviceMechanism]:
    """Yield each mask that a survey's rules give a question at a level."""
    for rules in RULES:
        # Neither one flip probability a person nor noise on a scale can report "no answer".
        optional = question.allow_skip and rules != RULES[0]
        with contextlib.suppress(ParameterError) if optional else contextlib.nullcontext():
            yield question.mask(level, rules)


def some_codes(question: Question, mask: DeviceMechanism) -> list[int]:
    """Return codes of answers that a mask takes, the first and the last among them."""
    most = min(max(mask.codes, question.answer_count + question.allow_skip), 1 << 12)
    codes = [code for code in range(most) if mask.masks(question.masked_code(code))]
    return codes[:FEW] + codes[-3:]


def survey_of(*questions: Question, level: str = "medium", rules: MaskRules = RULES[0]) -> Survey:
    """Return a survey of questions with ids of their own."""
    numbered = tuple(
        question_from_json({**one.to_json(), "id": f"q{place}"})
        for place, one in enumerate(questions)
    )
    return Survey.at_levels(
        title="Work",
        questions=numbered,
        levels=(level,),
        masking=rules.masking,
        rating_mask=rules.rating_mask,
    )


@every_example
def test_a_definition_comes_back_from_json_as_it_was(question: Question) -> None:
    """A question of each kind is the same after JSON, and so is a survey's canonical text."""
    data = json.loads(json.dumps(question.to_json()))
    assert question_from_json(data) == question
    survey = survey_of(question)
    assert Survey.from_text(survey.text()) == survey
    secret = [name for name in question.secret if f'"{name}"' in survey.text()]
    assert not secret, "the text of a survey gives away the right answer"


@every_example
def test_a_definition_with_a_fault_is_refused_at_its_field(question: Question) -> None:
    """No id, no text, one too long, a field too many or too few: an error that names the field."""
    data = question.to_json()
    for changes, field in (
        ({"id": ""}, "id"),
        ({"text": "  "}, "text"),
        ({"text": "x" * 501}, "text"),
        ({"text": 5}, "text"),
        ({"colour": "red"}, None),
        ({"kind": "free-text"}, "kind"),
    ):
        with pytest.raises(ParameterError) as raised:
            question_from_json({**data, **changes})
        assert raised.value.field == field
    for one in fields(question):  # type: ignore[arg-type]
        if one.default is MISSING:
            with pytest.raises(ParameterError):
                question_from_json({k: v for k, v in data.items() if k != one.name})


@every_example
def test_the_builders_form_sets_fields_of_the_question(question: Question) -> None:
    """Each field of a form is one of the definition's, of a type that the builder draws."""
    form = type(question).builder
    declared = {one.name for one in fields(question)}  # type: ignore[arg-type]
    shown = [*(field for row in form.rows for field in row), *form.advanced]
    assert {field.name for field in shown} <= declared
    assert set(form.blank) <= declared - {"id"}
    assert {field.type for field in shown} <= drawn_types()
    lines = {field.name for field in shown if field.type == "lines"}
    assert {field.of for field in shown if field.of} <= lines
    if form.line is not None:
        assert {form.line[0], form.line[2]} <= declared
    assert json.loads(json.dumps(form.to_json()))["name"] == form.name


def drawn_types() -> set[str]:
    """Return the types of fields that the builder's page draws."""
    text = (FOLDER.parents[1] / "surveyor" / "properties.js").read_text(encoding="utf-8")
    drawn = text[text.index("const DRAWN = {") :]
    return set(re.findall(r'^  "?([a-z-]+)"?[(:]', drawn, re.MULTILINE))


def test_every_type_of_field_is_drawn() -> None:
    """The builder draws the types that are described, and no others."""
    described = set(re.findall(r'``"([a-z-]+)"``', str(FormField.__doc__)))
    assert described == drawn_types()


def test_every_kind_has_its_twin_on_the_device() -> None:
    """The folder of the device holds a module for each kind, and its registry is current."""
    modules = set(names())
    assert modules == set(kinds())
    for name, text in registry().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text


@every_example
def test_the_device_reads_the_fields_of_the_definition(question: Question) -> None:
    """The device's twin names the fields that the text of a survey holds."""
    text = (FOLDER / f"{question.kind}.js").read_text(encoding="utf-8")
    listed = re.search(r"fields: \[([^\]]*)\]", text)
    assert listed is not None
    names = set(re.findall(r'"(\w+)"', listed[1]))
    further = re.search(r"optional: \{ ([^}]*) \}", text)
    optional = set(re.findall(r"(\w+): ", further[1])) if further else set()
    declared = {one.name for one in fields(question)}  # type: ignore[arg-type]
    assert optional == set(question.optional)
    assert names | optional == declared - {"id", "text", *question.secret}
    data = question.to_json()
    assert names == set(data) - {"kind", "id", "text", *question.secret} - optional


@every_example
@pytest.mark.parametrize("level", [CLEAR, *NAMES])
def test_a_mask_masks_exactly_the_answers(question: Question, level: str) -> None:
    """At each level every answer has a code, every code a report, and every report its words."""
    for mask in masks_of(question, level):
        assert question.masked_by(mask, clear=level == CLEAR)
        assert parse_mask(str(mask)) == mask
        low, high = mask.possible_reports()
        for code in some_codes(question, mask):
            answer = question.answer(code)
            given = str(answer) if isinstance(answer, Fraction) else answer
            assert question.code(given) == code
            assert question.answer_in_words(code)
            place = question.masked_code(code)
            [report] = mask_response([place], [mask])
            assert low <= report <= high
            assert question.sent_in_words(report, mask)
            if level == CLEAR and mask.as_orders is None:
                assert report == place
        with pytest.raises(ParameterError):
            mask_response([mask.codes], [mask])


@every_example
@pytest.mark.parametrize("level", NAMES)
def test_a_level_costs_the_same_for_every_kind(question: Question, level: str) -> None:
    """One answer costs at most the level's rho, and not a tenth less."""
    rho = level_named(level).rho
    survey = survey_of(question, level=level)
    price = float(survey.levels[0].price()["rho"])
    assert 0.9 * rho < price < 1.01 * rho + 2e-6


@every_example
def test_an_answer_that_cannot_be_given_is_refused_and_not_repeated(question: Question) -> None:
    """Neither a Boolean nor another text is an answer, and no message holds it."""
    refused: tuple[Any, ...] = (True, "zanzibar", ["zanzibar"], 10**9, float("nan"), {})
    for wrong in refused:
        with pytest.raises(UnknownLabel) as raised:
            question.code(wrong)
        assert "zanzibar" not in str(raised.value)
    if question.allow_skip:
        assert question.answer(question.code(None)) is None
    else:
        with pytest.raises(MissingValue):
            question.code(None)


@every_example
def test_what_is_typed_at_a_terminal_is_an_answer_or_refused(question: Question) -> None:
    """The prompt tells the form of an answer, and anything else is refused with a hint."""
    assert all(isinstance(line, str) and line for line in question.prompt)
    assert (NOT_SAID in " ".join(question.prompt)) == question.allow_skip
    for typed in ("", "zanzibar", "999999999", "\x00"):
        with pytest.raises(MasqueradeError):
            question.code(question.typed(typed))
    assert question.typing_hint.startswith("Type ")


@every_example
@pytest.mark.parametrize("summed", [False, True])
def test_two_parties_take_every_answer(question: Question, summed: bool) -> None:
    """The circuit takes the vector of each answer, and its sums tell the answers."""
    if summed and (not question.summable or question.allow_skip):
        pytest.skip("only numbers that everybody gives have a sum")
    encoding = Encoding((question,), sums=(question.id,) if summed else ())
    circuit = prio3_survey(encoding.blocks).circuit
    part = encoding.of(question.id)
    assert part.in_words()
    for code in some_codes(question, question.mask("medium", RULES[0])):
        answer = question.answer(code)
        given = str(answer) if isinstance(answer, Fraction) else answer
        pairs = [(0, 1)] if question.takes_pair else None
        measured = encoding.measurement({question.id: given}, pairs)
        sums = circuit.decode(circuit.truncate(circuit.encode(measured)), 1)
        noise = SumNoise.of_rho(encoding.blocks, "0.5")
        [found] = estimate_sums(encoding, sums, noise=noise, people=1)
        assert found.symbols == part.symbols


@every_example
def test_the_codebook_explains_every_code(question: Question) -> None:
    """A codebook is JSON, comes back, and has a label for each code that is one."""
    survey = survey_of(question)
    data = json.loads(json.dumps(Codebook("ab", survey, survey.content_hash()).to_json()))
    assert Codebook.from_json(data).survey == survey
    [entry] = data["questions"]
    assert entry["kind"] == question.kind
    assert len(entry["codes"]) in (0, len(question.labels) + question.allow_skip)
