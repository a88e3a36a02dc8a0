"""Fifty made-up surveys, and everything that is computed and written of each.

`python -m tests.results.golden_surveys` writes the hashes anew, where figures are meant to change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from masquerade.errors import MasqueradeError
from masquerade.mechanisms import BitwiseResponse, CategoricalMechanism, DiscreteGaussian
from masquerade.results import (
    Codebook,
    SurveyReports,
    SurveyResult,
    bibliography,
    cross_table,
    difference,
    group_difference,
    methods_text,
    notebook,
    result_bytes,
    result_table,
    split_codebook,
    split_result,
    survey_result,
    write_reports,
)
from masquerade.surveys import Choice, Comparison, Number, Question, Rating, SeveralOf, ShowIf
from masquerade.surveys.conditions import visibility
from masquerade.surveys.offered_levels import Mask, OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

HASHES = Path(__file__).parent / "golden" / "hashes.json"

PEOPLE = (0, 1, 2, 3, 7, 19, 20, 21, 60, 97, 200, 400)
LEVELS: tuple[tuple[str, ...], ...] = (
    ("high", "medium", "low"),
    ("medium",),
    ("none",),
    ("high", "none"),
    ("low",),
    ("high",),
    ("medium", "low", "none"),
)
YES_NO = ("Yes", "No")
ILL = Choice("ill", "Have you worked while ill?", YES_NO)
WHY = Choice("why", "Why?", ("Money", "Fear", "=Duty"), allow_skip=True)
PARTY = Choice("party", 'Which, "now"?', ("A,1", "B", "-C", "D", "É"), allow_skip=True)
STRESS = Rating("stress", "How stressful is your work?")
MOOD = Rating("mood", "How are you?", 0, 10, allow_skip=True)
HOURS = Number("hours", "How long?", -2, 40, "hours", 0.5)
MONEY = Number("money", "How much?", 0, 100_000, "€", 1000)
TICKED = SeveralOf("ticked", "Which of these?", ("a", "b", "c", "d"))
SOME = SeveralOf("some", "Which?", ("x", "y", "z"), allow_skip=True, most=2)
PAIRS: tuple[Question, ...] = (
    Comparison("p1", "Which?", "X", "Y", "Neither"),
    Comparison("p2", "Which?", "Y", "Z", allow_skip=True),
    Comparison("p3", "Which?", "X", "Z"),
    Comparison("p4", "Which?", "U", "V"),
)
QUESTIONS: tuple[tuple[Question, ...], ...] = (
    (ILL, STRESS),
    (PARTY, MOOD, HOURS),
    (TICKED, SOME, ILL),
    PAIRS,
    (ILL, WHY, STRESS),
    (MONEY, HOURS, STRESS),
    (PARTY, ILL, STRESS, TICKED, HOURS, PAIRS[0]),
)
TITLES = ("Work", "Ärger & “Zank”", '=Sum, "quoted"', "A canteen")


def masked_surveys() -> Iterator[tuple[str, Survey]]:
    """Yield forty surveys that are masked on devices, by name."""
    for number in range(32):
        questions = QUESTIONS[number % len(QUESTIONS)]
        levels = LEVELS[number % 5 if number % 11 else 6]
        gaussian = number % 4 == 3 and not any(question.allow_skip for question in questions)
        conditions: tuple[ShowIf | None, ...] = ()
        if questions[0] is ILL and WHY in questions:
            conditions = (None, ShowIf("ill", ("Yes",)), None)
        yield (
            f"masks-{number:02}",
            Survey.at_levels(
                title=TITLES[number % len(TITLES)],
                description="Made up",
                questions=questions,
                levels=levels,
                rating_mask="gaussian" if gaussian else "randomized-response",
                conditions=conditions,
                estimator=("eb", "respondent", "ivw")[number % 3],
            ),
        )
    for number in range(32, 36):
        per_person = tuple(replace(question, allow_skip=False) for question in (ILL, PARTY, STRESS))
        yield (
            f"masks-{number:02}",
            Survey.at_levels(
                title="Per person",
                questions=per_person,
                levels=LEVELS[number % 2 and 5],
                masking="per-person",
            ),
        )
    for number in range(36, 40):
        yield f"masks-{number:02}", _label_survey(number)


def _label_survey(number: int) -> Survey:
    labels = (("Cat", "Dog"), ("Cat", "Dog", "Ox"))[number % 2]
    items = tuple(
        Choice(
            *(f"q{place}", f"Item {place}", labels),
            allow_skip=number == 39,
            truth=labels[0] if place < 2 else None,
        )
        for place in range(8)
    )
    levels = (("low",), ("high", "low"))[number % 3 == 0]
    return Survey.at_levels(title="Labels", template="label", questions=items, levels=levels)


def two_party_surveys() -> Iterator[tuple[str, Survey]]:
    """Yield ten surveys that are added up by two parties, by name."""
    for number in range(10):
        questions: tuple[Question, ...] = (
            (PARTY, MOOD, HOURS),
            (TICKED, SOME, STRESS),
            (ILL, WHY, STRESS),
            (MONEY, ILL, PARTY),
            _label_survey(number).questions,
        )[number % 5]
        conditions: tuple[ShowIf | None, ...] = ()
        if WHY in questions:
            conditions = (None, ShowIf("ill", ("Yes",)), None)
        terms = TwoParties.of(
            helper="https://helper.example",
            operator="The works council",
            fingerprint="5a" * 16,
            rho=("0.5", "0.01", "2")[number % 3],
            cross=(((("ill", "why"),) if WHY in questions else ()) if number % 5 == 2 else ()),
            sums=("money",) if MONEY in questions and number > 5 else (),
        )
        yield (
            f"parties-{number}",
            Survey(
                *(TITLES[number % len(TITLES)], "", "label" if number % 5 == 4 else "pick"),
                questions,
                (OfferedLevel("two-parties", ()),),
                conditions=conditions,
                two_parties=terms,
            ),
        )


def answer_code(question: Question, rng: np.random.Generator) -> int:
    """Return the code of a made-up answer, skewed towards the first ones."""
    if isinstance(question, Number):
        return int(rng.random() ** 2 * question.answer_count)
    if question.allow_skip and rng.random() < 0.15:
        return len(question.labels)
    return int(rng.random() ** 1.5 * len(question.labels))


def _ticks(question: SeveralOf, rng: np.random.Generator) -> int:
    options = len(question.options)
    if question.allow_skip and rng.random() < 0.15:
        return 1 << options
    places = [place for place in range(options) if rng.random() < 0.6 / (1 + place)]
    return sum(1 << place for place in places[: question.most])


def _report(mask: Mask, answer: int, rng: np.random.Generator) -> int:
    if isinstance(mask, DiscreteGaussian):
        steps = float(mask.sigma / mask.lattice.step)
        return answer + int(np.rint(steps * rng.standard_normal()))
    if isinstance(mask, BitwiseResponse):
        flip = float(mask.bit.flip_probability)
        flips = sum(1 << place for place in range(mask.bits) if rng.random() < flip)
        return answer ^ flips
    assert isinstance(mask, CategoricalMechanism)
    if rng.random() < float(mask.keep_probability):
        return answer
    return (answer + 1 + int(rng.random() * (mask.symbols - 1))) % mask.symbols


def reports_of(
    survey: Survey, people: int, seed: int, **more: Any
) -> tuple[SurveyReports, list[tuple[str, str, str]]]:
    """Return reports of made-up people to a survey that is masked on devices, and their rows."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        level = survey.levels[int(rng.random() ** 1.5 * len(survey.levels))]
        report = [
            _report(
                mask,
                _ticks(question, rng)
                if isinstance(question, SeveralOf)
                else answer_code(question, rng),
                rng,
            )
            for question, mask in zip(survey.questions, level.mechanisms, strict=True)
        ]
        rows.append((f"{person * 7919 % 100_003:05}", level.name, report))
    book = Codebook(f"{seed:016x}", survey, survey.content_hash(), **more)
    reports = SurveyReports.from_rows(book, *(list(zip(*rows, strict=True)) or [(), (), ()]))
    return reports, sorted((name, level, json.dumps(sent)) for name, level, sent in rows)


def sums_of(survey: Survey, people: int, seed: int) -> list[list[int]]:
    """Return the noisy sums of made-up people to a survey between two parties."""
    rng = np.random.default_rng(seed)
    sums = [np.zeros(block.outputs, dtype=np.int64) for block in survey.encoding.blocks]
    for _ in range(people):
        for total, one in zip(
            sums, survey.encoding.measurement(_answers(survey, rng)), strict=True
        ):
            if isinstance(one, list):
                total += np.array(one)
            elif len(total) == 1:
                total += one
            else:
                total[one] += 1
    noisy = []
    for total, variance in zip(sums, survey.split_noise.variances, strict=True):
        noise = np.rint(float(2 * variance) ** 0.5 * rng.standard_normal(len(total)))
        noisy.append((total + noise.astype(np.int64)).tolist())
    return noisy


def _answers(survey: Survey, rng: np.random.Generator) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    codes: list[int | None] = [None] * len(survey.questions)
    for place, question in enumerate(survey.questions):
        if not visibility(survey.questions, survey.conditions, codes)[place]:
            continue
        if isinstance(question, SeveralOf):
            codes[place] = code = _ticks(question, rng)
            if code < 1 << len(question.options):
                answers[question.id] = [
                    label for bit, label in enumerate(question.options) if code >> bit & 1
                ]
            continue
        codes[place] = code = answer_code(question, rng)
        if isinstance(question, Number):
            answers[question.id] = str(question.answer(code))
        elif code < len(question.labels):
            answers[question.id] = question.labels[code]
    return answers


def golden_files() -> Iterator[tuple[str, bytes]]:
    """Yield name and content of everything that is computed of the fifty surveys."""
    first: SurveyReports | None = None
    for number, (name, survey) in enumerate(masked_surveys()):
        people = PEOPLE[(number * 5 + number // 12) % len(PEOPLE)]
        more: dict[str, Any] = {}
        if number % 6 == 1:
            more["pool"] = {
                level.name: people + 10 * place for place, level in enumerate(survey.levels)
            }
        if number % 6 == 2:
            more["known_shares"] = {question.id: _known(question) for question in survey.questions}
        reports, rows = reports_of(survey, people, number, **more)
        yield from _masked_files(name, reports, rows)
        if people > 20 and survey.questions[0] is ILL:
            if first is not None and first.codebook.questions[0] is ILL:
                found = difference(first, reports, "ill", option="Yes")
                yield f"{name}/difference", _json(found.to_dict())
            first = reports
    for number, (name, survey) in enumerate(two_party_surveys()):
        people = (400, 20, 97, 1000, 1, 60, 0, 2, 300, 200)[number]
        known = (
            None if number % 3 else {question.id: _known(question) for question in survey.questions}
        )
        result = split_result(
            survey,
            sums_of(survey, people, number),
            token=f"{number:016x}",
            count=people,
            refused=number % 4,
            population=people + 50 if number == 5 else None,
            known=known,
        )
        yield from _result_files(name, result)
        book = split_codebook(survey, token="5a", count=people)
        yield f"{name}/codebook.json", _json(book)


def _known(question: Question) -> list[float]:
    whole = question.answer_count + question.allow_skip
    return [1 / whole] * whole


def _masked_files(
    name: str, reports: SurveyReports, rows: list[tuple[str, str, str]]
) -> Iterator[tuple[str, bytes]]:
    yield from _result_files(name, survey_result(reports))
    book = reports.codebook
    yield f"{name}/codebook.json", _json(book.to_json())
    cells = notebook(book, reports="reports.parquet")["cells"]
    yield f"{name}/notebook.ipynb", _json(cells[1:])  # the first one names the version
    for kind in ("csv", "jsonl"):
        yield f"{name}/reports.{kind}", b"".join(write_reports(book, [rows], kind=kind))
    for one, other in zip(book.questions[:-1], book.questions[1:], strict=True):
        yield f"{name}/{one.id}-{other.id}", _json(_cross(reports, one.id, other.id))
    if len(book.questions) > 1 and isinstance(book.questions[0], Choice):
        yield f"{name}/groups", _json(_groups(reports))


def _cross(reports: SurveyReports, one: str, other: str) -> Any:
    try:
        table = cross_table(reports, one, other)
    except MasqueradeError as error:
        return str(error)
    return [table.to_json(), table.to_arrow().to_pylist()]


def _groups(reports: SurveyReports) -> Any:
    by, question = reports.codebook.questions[:2]
    assert isinstance(by, Choice)
    option = None if question.scores else (question.labels or ("",))[0]
    try:
        groups = (by.options[0], by.options[1])
        return group_difference(
            reports, question.id, by=by.id, groups=groups, option=option
        ).to_dict()
    except MasqueradeError as error:
        return str(error)


def _result_files(name: str, result: Any) -> Iterator[tuple[str, bytes]]:
    yield f"{name}/result.json", _without_names(result_bytes(result))
    yield f"{name}/result.csv", result_table(result).encode()
    yield f"{name}/rows", _json(SurveyResult.of(result).to_arrow().to_pylist())
    yield f"{name}/methods", _words(methods_text(result), bibliography(result))


def _without_names(text: bytes) -> bytes:
    # What follows from the words of the definition and from the version is tested elsewhere.
    return _json(json.loads(text) | {"hash": "", "inputs": "", "version": ""})


def _words(*texts: str) -> bytes:
    # The last sentence and the first entry name hashes and the version.
    kept = [texts[0].rpartition("Computed with")[0], texts[1].partition("\n\n")[2]]
    return "\n".join(kept).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def hashes(files: Sequence[tuple[str, bytes]]) -> dict[str, str]:
    """Return the first 16 digits of the SHA-256 of each file."""
    return {name: hashlib.sha256(content).hexdigest()[:16] for name, content in files}


if __name__ == "__main__":
    HASHES.write_text(json.dumps(hashes(list(golden_files())), indent=0) + "\n")
