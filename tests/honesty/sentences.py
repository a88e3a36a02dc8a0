"""Every sentence of the pages and reports of simulated surveys, each held against the truth.

A sentence that is not known here fails the simulation: whoever prints a new one says how it is
checked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.results import (
    Codebook,
    SurveyReports,
    SurveyResult,
    all_differences,
    group_comparisons,
    split_result,
    survey_result,
)
from masquerade.results.charts import question_charts
from masquerade.server.results.groups import groups_view
from masquerade.server.results.over_time import change_in_words
from masquerade.server.results.view import result_view
from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

#: Each question with the true shares of its answers: tied, flat, rare, skewed.
CROWD: dict[Question, tuple[float, ...]] = {
    Choice("sex", "Sex?", ("Woman", "Man")): (0.5, 0.5),
    Choice("tied", "Which?", ("A", "B", "C", "D")): (0.4, 0.4, 0.12, 0.08),
    Choice("flat", "Which?", ("E", "F", "G")): (1 / 3, 1 / 3, 1 / 3),
    Choice("ahead", "Which?", ("H", "I")): (0.6, 0.4),
    Choice("rare", "Ill?", ("Yes", "No")): (0.03, 0.97),
    Rating("skewed", "How?", 1, 5): (0.02, 0.03, 0.1, 0.25, 0.6),
    Rating("even", "How?", 1, 5): (0.2, 0.2, 0.2, 0.2, 0.2),
}
QUESTIONS = tuple(CROWD)


@dataclass(frozen=True)
class Truth:
    """True shares of answers, and by how much they rose since the survey before."""

    question: Question
    shares: Floats

    @property
    def mean(self) -> float:
        """The mean rating."""
        return float(self.shares @ np.array(self.question.scores, dtype=float))

    def first(self, name: str) -> bool:
        """Whether an answer alone is the most frequent."""
        place = self.question.labels.index(name)
        return bool((np.delete(self.shares, place) < self.shares[place] - 1e-9).all())

    def among(self, names: Sequence[str]) -> bool:
        """Whether one of some answers is the most frequent, or as frequent."""
        places = [self.question.labels.index(name) for name in names]
        return bool(self.shares[places].max() >= self.shares.max() - 1e-9)

    def share(self, name: str) -> float:
        """The share of an answer."""
        return float(self.shares[self.question.labels.index(name)])

    def median(self, low: float, high: float) -> bool:
        """Whether a median lies between two ratings."""
        scores = np.array(self.question.scores, dtype=float)
        below, above = self.shares[scores < low].sum(), self.shares[scores > high].sum()
        return bool(below <= 0.5 + 1e-9 and above <= 0.5 + 1e-9)


def _between(low: str, high: str, true: float, scale: float = 1.0) -> bool:
    return float(low) <= scale * true + 1e-9 and scale * true - 1e-9 <= float(high)


_NUMBER = r"(-?[\d.]+)"
_ENDS = rf"between {_NUMBER} and {_NUMBER}"
Check = Callable[[Truth, re.Match[str]], bool]
#: Forms of sentences of the page and of the report, their names, and whether one is true.
FORMS: tuple[tuple[str, str, Check], ...] = (
    (
        "too few",
        r"too few responses; |Fewer than 20 people: too few for a headline",
        lambda *_: True,
    ),
    ("nothing known", r"(?:No option is clearly ahead|Nothing is known)(?:; )?", lambda *_: True),
    (
        "may be first",
        r"(.+?) and (\w+) cannot be told apart at the top(?:; )?",
        lambda truth, m: truth.among([*m[1].split(", "), m[2]]),
    ),
    (
        "is ahead",
        rf"(\w+) is ahead; 95 % sure of the order; (?:[\d.]+ %, )?{_ENDS} %",
        lambda truth, m: truth.first(m[1]) and _between(m[2], m[3], truth.share(m[1]), 100),
    ),
    (
        "is ahead, report",
        rf"(\w+) is ahead \(95 % sure of the order\): (?:[\d.]+ %, )?{_ENDS} %",
        lambda truth, m: truth.first(m[1]) and _between(m[2], m[3], truth.share(m[1]), 100),
    ),
    (
        "mean",
        rf"[\d.]+; mean rating, {_ENDS}",
        lambda truth, m: _between(m[1], m[2], truth.mean),
    ),
    (
        "interval of a mean",
        rf"{_ENDS}; mean rating",
        lambda truth, m: _between(m[1], m[2], truth.mean),
    ),
    (
        "mean, report",
        rf"Mean: (?:[\d.]+, )?{_ENDS}",
        lambda truth, m: _between(m[1], m[2], truth.mean),
    ),
    (
        "median",
        r"median (\d)(?: to (\d))?",
        lambda truth, m: truth.median(float(m[1]), float(m[2] or m[1])),
    ),
)


def checked(truth: Truth, text: str) -> tuple[str, bool]:
    """Return the kind of a sentence, and whether it is true; fail where it is of no kind."""
    for kind, form, check in FORMS:
        if found := re.fullmatch(form, text):
            return kind, check(truth, found)
    raise AssertionError(f"nobody says how {text!r} is checked.")


def sentences(survey: Survey, result: SurveyResult) -> Iterator[tuple[str, str]]:
    """Yield question and text of each sentence of a page, and of a report on paper."""
    view = result_view(survey, result)
    charts = question_charts(result)
    for question in view.questions:
        said = question.headline
        yield question.id, f"{said.large}; {said.small}" if said.large else ""
        yield question.id, charts[question.id].said
        if question.median:
            yield question.id, question.median


def of_devices(
    rng: np.random.Generator,
    n: int,
    levels: tuple[str, ...],
    shares: Sequence[Floats] | None = None,
) -> SurveyReports:
    """Return a crowd's reports; no answer depends on the level or on another answer."""
    survey = Survey.at_levels(title="Work", questions=QUESTIONS, levels=levels)
    level = rng.integers(len(levels), size=n)
    sent: Integers = np.zeros((n, len(QUESTIONS)), np.int64)
    for place, held in enumerate(shares or [np.array(one) for one in CROWD.values()]):
        sent[:, place] = rng.choice(len(held), n, p=held)
        for number, offered in enumerate(survey.levels):
            response = offered.mechanisms[place].separate_response
            assert response is not None
            mine = np.flatnonzero(level == number)
            flipped = mine[rng.random(len(mine)) >= float(response.keep_probability)]
            others = rng.integers(response.symbols - 1, size=len(flipped))
            sent[flipped, place] = others + (others >= sent[flipped, place])
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    each = np.ones(n, np.int64)
    return SurveyReports.from_counts(book, level, sent, each, crowd=rng.bytes(32))


def of_parties(rng: np.random.Generator, n: int) -> tuple[Survey, SurveyResult]:
    """Return a survey between two parties and its result."""
    terms = TwoParties.of(
        helper="https://helper.example",
        operator="The works council",
        fingerprint="5a" * 16,
        rho="0.5",
        cross=(),
    )
    level = OfferedLevel("two-parties", ())
    survey = Survey("Work", "", "pick", QUESTIONS, (level,), two_parties=terms)
    sums = []
    for place, held in enumerate(CROWD.values()):
        noise = float(survey.split_noise.published_variance(place)) ** 0.5
        counts = rng.multinomial(n, held)
        sums.append((counts + np.rint(noise * rng.standard_normal(len(held)))).astype(int).tolist())
    return survey, split_result(survey, sums, token="5a", count=n, refused=0)


SURVEYS: dict[str, tuple[int, tuple[str, ...]]] = {
    "1 person": (1, ("none",)),
    "19 people": (19, ("none",)),
    "60 people": (60, ("none",)),
    "400 people": (400, ("none",)),
    "5,000 people": (5000, ("none",)),
    "400 people, masks": (400, ("high", "low")),
    "5,000 people, masks": (5000, ("high", "low")),
}


def false_rates(runs: int, seed: int) -> dict[str, float]:
    """Return the share of sentences of each kind that are false; of differences, of surveys."""
    truths = {one.id: Truth(one, np.array(held)) for one, held in CROWD.items()}
    wrong, told = defaultdict[str, int](int), defaultdict[str, int](int)
    rng = np.random.default_rng([seed, 77])

    def count(name: str, survey: Survey, result: SurveyResult) -> None:
        for question, text in sentences(survey, result):
            kind, true = checked(truths[question], text)
            told[f"{name}: {kind}"] += 1
            wrong[f"{name}: {kind}"] += not true
        told[f"{name}: levels differ"] += 1
        wrong[f"{name}: levels differ"] += any(
            one.heterogeneity is not None and one.heterogeneity.differ for one in result.questions
        )

    for _ in range(runs):
        for name, (n, levels) in SURVEYS.items():
            reports = of_devices(rng, n, levels)
            count(name, reports.codebook.survey, survey_result(reports))
        count("two parties", *of_parties(rng, 400))
        for name in ("60 people", "400 people"):
            told[f"{name}: groups"] += 1
            wrong[f"{name}: groups"] += not _groups_hold(of_devices(rng, *SURVEYS[name]))
        told["waves"] += 1
        wrong["waves"] += not _changes_hold(rng)
    # a kind that came up seldom says nothing of its rate
    return {kind: wrong[kind] / max(count, runs) for kind, count in told.items()}


def _groups_hold(reports: SurveyReports) -> bool:
    """Return whether no difference of groups is called sure: there are none."""
    try:
        found = group_comparisons(reports, by="sex")
    except ParameterError:  # a group of under 20: nothing is said
        return True
    rows = [
        {
            "question": one.question,
            "option": one.option,
            "groups": [group.to_json() for group in one.groups],
            "differences": [asdict(row) for row in one.differences],
        }
        for one in found
    ]
    view = groups_view(reports.codebook.survey, "sex", rows)
    return not any(table.sure for table in view.tables.values())


def _changes_hold(rng: np.random.Generator) -> bool:
    """Return whether all sentences on changes since a survey before are true."""
    before = [np.array(one) for one in CROWD.values()]
    after = list(before)
    place = [one.id for one in QUESTIONS].index("ahead")
    after[place] = before[place][::-1]
    one, other = (of_devices(rng, 400, ("none",), shares) for shares in (after, before))
    held = True
    for row in all_differences(one, other):
        if not row.differ:
            continue
        text = change_in_words(row)
        at = [asked.id for asked in QUESTIONS].index(row.question)
        question, rise = QUESTIONS[at], after[at] - before[at]
        found = re.fullmatch(
            rf"(?:The mean|“(\w+)”) (rose|fell), by {_NUMBER} to {_NUMBER}(?: points of 100)?\.",
            text,
        )
        assert found is not None, text
        true = (
            100 * rise[question.labels.index(found[1])]
            if found[1]
            else float(rise @ np.array(question.scores, dtype=float))
        )
        way = 1 if found[2] == "rose" else -1
        held = held and _between(found[3], found[4], way * float(true))
    return held
