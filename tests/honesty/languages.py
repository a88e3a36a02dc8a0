"""Labels of results in another language of a survey, beside the figures of the first."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.exact.coins import SimulatedCoins
from masquerade.results import (
    Codebook,
    SurveyReports,
    SurveyResult,
    result_in_language,
    split_result,
    survey_result,
)
from masquerade.surveys import Choice, Question, question_from_json
from masquerade.surveys.kinds import kinds
from masquerade.surveys.languages import Languages, texts_of
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.pair_votes import parts_of
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

TOKEN, PEOPLE = "0123456789abcdef", 60
PARTIES = TwoParties(
    "https://helper.example", "A charity", "ab" * 16, Fraction(1, 2), cross=(("choice", "rating"),)
)


def labels_of_languages(runs: int, seed: int) -> dict[str, float]:
    """Return how often a result is, to the last bit, that of the survey in the other language."""
    cases = {"masks": _masked, "labels of items": _labelled, "two parties": _split}
    found = {}
    for name, results in cases.items():
        rng = np.random.default_rng(seed)
        each = (results(rng) for _ in range(runs))
        found[name] = sum(shown.to_json() == wanted.to_json() for shown, wanted in each) / runs
    return found


def _questions(rng: np.random.Generator, *, pairs: bool) -> tuple[Question, ...]:
    """Return the builder's new question of each kind, in any order, some of which can be skipped.

    `pairs`: also pairs of a list, which each person is asked about by themselves.
    """
    names = [name for name, kind in kinds().items() if pairs or not kind.takes_pair]
    found = []
    for place in rng.permutation(len(names)):
        name = names[place]
        fields = {**kinds()[name].builder.blank, "kind": name, "id": name, "text": f"{name}?"}
        if name in ("choice", "comparison", "rating", "several"):
            fields["allow_skip"] = bool(rng.integers(2))
        if kinds()[name].takes_pair:
            fields["votes"] = 1  # between two parties a list of three has one pair a person
        found.append(question_from_json(fields))
    return tuple(found)


def _spoken(questions: tuple[Question, ...]) -> Languages:
    """Return two languages: in the other the answers of the first stand in the reverse order.

    So an answer that is looked up twice, or at the wrong place, has another one's figures.
    """
    survey = Survey.at_levels(title="Work", questions=questions, levels=("low",))
    texts = texts_of(survey.to_json())
    other = {}
    for address, text in texts.items():
        *path, last = address.split("/")
        siblings = [one for one in texts if one.split("/")[:-1] == path] if last.isdigit() else []
        mirrored = texts["/".join((*path, str(len(siblings) - 1 - int(last))))] if siblings else ""
        other[address] = mirrored if len(siblings) > 1 else f"{text} (2)"
    return Languages.from_json({"languages": ["en", "de"], "texts": {"de": other}})


def _both(survey: Survey, rng: np.random.Generator) -> tuple[SurveyResult, SurveyResult]:
    """Return a result in the other language, and the result of the survey in that language."""
    book = Codebook(TOKEN, survey, survey.content_hash())
    rows, source = np.zeros((PEOPLE, len(survey.questions)), dtype=np.int64), SimulatedCoins(rng)
    level = survey.levels[0]
    everybody = np.arange(PEOPLE)
    for place, (question, mask) in enumerate(zip(survey.questions, level.mechanisms, strict=True)):
        # Skewed, so that some answers are ahead and headlines name them.
        drawn = (question.answer_count * rng.random(PEOPLE) ** 4).astype(np.int64)
        codes = np.array([question.masked_code(int(code)) for code in drawn])
        rows[:, place] = mask.mask(codes, everybody, source)
    people = [f"p{number}" for number in range(PEOPLE)]
    reports = SurveyReports.from_rows(book, people, [level.name] * PEOPLE, rows.tolist())
    found = survey_result(reports)
    other = replace(reports, codebook=replace(book, survey=survey.in_language("de")))
    wanted = replace(survey_result(other), inputs=found.inputs)
    return result_in_language(found, survey, "de"), wanted


def _masked(rng: np.random.Generator) -> tuple[SurveyResult, SurveyResult]:
    questions = _questions(rng, pairs=False)
    spoken = _spoken(questions)
    levels = ("low", "none")
    survey = Survey.at_levels(title="Work", questions=questions, levels=levels, languages=spoken)
    return _both(survey, rng)


def _labelled(rng: np.random.Generator) -> tuple[SurveyResult, SurveyResult]:
    labels = ("Cat", "Dog", "Bird")
    items = tuple(
        Choice(f"i{n}", f"Picture {n}?", labels, truth="Dog" if n < 1 else None) for n in range(2)
    )
    survey = Survey.at_levels(
        title="Pictures",
        questions=items,
        levels=("low",),
        template="label",
        languages=_spoken(items),
    )
    return _both(survey, rng)


def _split(rng: np.random.Generator) -> tuple[SurveyResult, SurveyResult]:
    questions = _questions(rng, pairs=True)
    # Each row of a matrix is a question by itself.
    parts, _ = parts_of(questions, ())
    survey = Survey(
        *("Work", "", "pick", parts, (OfferedLevel("two-parties", ()),)),
        two_parties=PARTIES,
        languages=_spoken(questions),
    )
    sums = [rng.integers(0, PEOPLE, block.outputs).tolist() for block in survey.encoding.blocks]
    counted: dict[str, Any] = {"sums": sums, "token": TOKEN, "count": PEOPLE, "refused": 0}
    found = split_result(survey, **counted)
    wanted = split_result(survey.in_language("de"), **counted)
    wanted = replace(wanted, hash=found.hash, inputs=found.inputs)
    return result_in_language(found, survey, "de"), wanted
