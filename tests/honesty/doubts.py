"""Notices that some reports cannot be trusted: of honest devices, and of some that do not mask."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from masquerade.exact.arrays import Integers
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.results import Codebook, SurveyReports, methods_text, survey_result
from masquerade.results.methods import quoted
from masquerade.results.question_reports import question_reports
from masquerade.results.reports import SentReports
from masquerade.surveys import Choice, Number, PromoterScore, Question, Rating, SeveralOf
from masquerade.surveys.survey import DEFAULT_ESTIMATOR, Survey

QUESTIONS: tuple[Question, ...] = (
    Choice("two", "Have you?", ("Yes", "No")),
    Choice("four", "Which?", ("A", "B", "C", "D"), allow_skip=True),
    SeveralOf("ticks", "Which of these?", ("A", "B", "C")),
    Rating("rating", "How good?"),
    PromoterScore("nps", "Would you?"),
    Number("number", "How long?", 0, 40, "h"),
    Number("skipped", "How often?", 0, 40, "times", allow_skip=True),
)
#: Codes of answers, by how many there are: all alike, any, and the two ends.
CROWDS: dict[str, Callable[[np.random.Generator, int, int], Integers]] = {
    "all alike": lambda rng, codes, n: np.zeros(n, dtype=np.int64),
    "any": lambda rng, codes, n: rng.integers(codes, size=n),
    "both ends": lambda rng, codes, n: (codes - 1) * rng.integers(2, size=n),
}
_SHARE = re.compile(
    r"(\d+) of (\d+) people at level (\w+) sent one report, "
    r"which masks send ([\d.]+)% of the time at the (least|most)"
)


def _survey(*levels: str) -> Survey:
    return Survey.at_levels(title="Work", questions=QUESTIONS, levels=levels)


def _sent(
    rng: np.random.Generator, question: Question, mask: DeviceMechanism, crowd: str, n: int
) -> Integers:
    """Return the reports of honest devices."""
    codes = question.masked_code(question.answer_count - 1) + 1
    answers = CROWDS[crowd](rng, codes, n)
    reports: Integers = mask.mask(answers, np.arange(n), SimulatedCoins(rng)).astype(np.int64)
    return reports


def false_notices(runs: int, seed: int) -> dict[str, float]:
    """Return of how many questions of honest devices reports are called doubtful."""
    survey, found = _survey("high", "low"), {}
    for crowd in CROWDS:
        for n in (20, 400):
            rng = np.random.default_rng([seed, n, len(crowd)])
            for place, question in enumerate(survey.questions):
                said = 0
                for _ in range(runs):
                    sent = {}
                    for level in survey.levels:
                        mask = level.mechanisms[place]
                        told = _sent(rng, question, mask, crowd, n // 2)
                        sent[level.name] = SentReports(*np.unique(told, return_counts=True), mask)
                    test = question_reports(question, sent, estimator=DEFAULT_ESTIMATOR)
                    assert test.plausibility is not None
                    said += test.plausibility.doubtful
                found[f"{question.id}, {crowd}, {n}"] = said / runs
    return found


def due_notices(runs: int, seed: int) -> dict[str, float]:
    """Return of how many results the notice names the question it is due of, alone, and is true.

    500 people at one level say the same. Of one question, another in each run, no device masks or
    half of them do not; the others are honest, and none of them is to be named.
    """
    survey, n, found = _survey("low"), 500, {}
    level = survey.levels[0]
    for unmasked in (1.0, 0.5):
        rng, right = np.random.default_rng([seed, int(10 * unmasked)]), 0
        for run in range(runs):
            liar = run % len(survey.questions)
            sent = [
                _sent(rng, one, mask, "all alike", n)
                for one, mask in zip(survey.questions, level.mechanisms, strict=True)
            ]
            rows = np.stack(sent, axis=1)
            rows[: round(unmasked * n), liar] = 0  # the code of the answer itself
            right += _named_alone(survey, rows, survey.questions[liar])
        found[f"{unmasked:.0%} do not mask"] = right / runs
    return found


def _named_alone(survey: Survey, rows: Integers, question: Question) -> bool:
    """Return whether the notice names this question alone, in all of its forms, and is true."""
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    zero, one = np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64)
    result = survey_result(SurveyReports.from_counts(book, zero, rows, one, crowd=bytes(32)))
    doubtful = [one.id for one in result.questions if one.plausibility.doubtful]
    [sentence] = [one for one in methods_text(result).split(". ") if "did not mask" in one] or [""]
    named = [one.id for one in result.questions if quoted(one.text) in sentence]
    reason = result.question(question.id).plausibility.reason or ""
    place = [one.id for one in survey.questions].index(question.id)
    return doubtful == named == [question.id] and _true(reason, survey, rows[:, place], place)


def _true(reason: str, survey: Survey, sent: Integers, place: int) -> bool:
    """Return whether what a reason says of the reports is so."""
    mask = survey.levels[0].mechanisms[place]
    gaussian = mask.as_gaussian
    if gaussian is not None:
        steps = float(gaussian.sigma / gaussian.lattice.step)
        return "spread less" in reason and bool(sent.var() < steps**2)
    found = _SHARE.fullmatch(reason)
    if found is None:
        return False
    count, n, level, limit, side = found.groups()
    several = mask.as_sets
    if several is None:
        counts = np.bincount(sent)
    else:
        ticked = (sent[:, None] >> np.arange(several.bits) & 1).sum(axis=0)
        counts = np.concatenate([ticked, len(sent) - ticked])
    beyond = 100 * int(count) / int(n) - float(limit)
    known = (int(n), level) == (len(sent), survey.levels[0].name) and int(count) in counts
    return known and (beyond > 0 if side == "most" else beyond < 0)
