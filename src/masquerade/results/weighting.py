"""Results of weighted people: known margins of the population, weights by group, its size."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.weights import RowWeights, raked
from masquerade.exact.arrays import Floats, Integers
from masquerade.lazy import suggestion
from masquerade.mechanisms import CategoricalMechanism
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.results.question_figures import QuestionResult
from masquerade.results.question_reports import QuestionReports, question_reports
from masquerade.results.question_result import Setting, question_result, tested_together
from masquerade.results.reports import SentReports, SurveyReports
from masquerade.results.result import survey_result
from masquerade.results.typed_result import SurveyResult
from masquerade.surveys import Question

_SUM = 0.011  # by how much shares of a margin may miss 1, or 100 %, before they are scaled
_LARGEST = 10**12


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights of people: by known shares of the population.

    Attributes
    ----------
    margins : mapping
        Question id to the share of the population behind each answer.
    weights : mapping
        Question id to the weight of people with each answer, such as one over the chance with which
        they were asked.
    population : int or None
        People in all, where those who answered are a large part of them.

    Examples
    --------
    >>> lines = ("question,answer,share", "sex,Woman,51 %", "sex,Man,49 %")
    >>> Weighting.read(chr(10).join(lines)).margins
    {'sex': {'Woman': 0.51, 'Man': 0.49}}
    """

    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    population: int | None = None

    @classmethod
    def read(cls, text: str, *, population: int | None = None) -> Weighting:
        """Return the weighting that a table (CSV) gives.

        Columns ``question``, ``answer`` and ``share`` (of the population, as ``0.51`` or ``51 %``)
        or ``weight``.

        Raises
        ------
        ParameterError
            A column is missing, or a row has no number.
        """
        lines = text.removeprefix("\ufeff").strip()
        try:
            dialect: Any = csv.Sniffer().sniff(lines[:2000], delimiters=",;\t")
        except csv.Error:
            dialect = "excel"
        table = csv.DictReader(io.StringIO(lines), dialect=dialect)
        names = [(name or "").strip().lower() for name in table.fieldnames or ()]
        table.fieldnames = names
        if not {"question", "answer"} <= set(names) or not {"share", "weight"} & set(names):
            raise ParameterError(
                f"the table has the columns {', '.join(names) or 'none'}, expected question, "
                "answer, and share or weight."
            )
        margins: dict[str, dict[str, float]] = {}
        weights: dict[str, dict[str, float]] = {}
        for row, cells in enumerate(table, start=2):
            question, answer = ((cells[name] or "").strip() for name in ("question", "answer"))
            for name, found in (("share", margins), ("weight", weights)):
                cell = (cells.get(name) or "").strip()
                if not cell:
                    continue
                if answer in found.setdefault(question, {}):
                    raise ParameterError(f"row {row}: {answer!r} of {question!r} stands twice.")
                found[question][answer] = _number(cell, row)
        if not margins and not weights and population is None:
            raise ParameterError("the table gives no share and no weight.")
        return cls({name: _scaled(name, one) for name, one in margins.items()}, weights, population)

    def check(self, questions: Sequence[Question], people: int) -> None:
        """Check that the weights fit the questions and the number of people.

        Raises
        ------
        ParameterError
            A question or answer is unknown, or has no number; there are more people than in all.
        EmptyTable
            There are no people.
        """
        if not people:
            raise EmptyTable("there are no reports; weights need some.")
        if self.population is not None and self.population < people:
            raise ParameterError(
                f"{people} people answered, of a population of {self.population}; give the number "
                "of all people."
            )
        asked = {one.id: one for one in questions}
        given = [*self.weights, *self.margins]
        for name in given:
            if name not in asked:
                raise ParameterError(
                    f"{name!r} is no question of the survey.{suggestion(name, list(asked))}"
                )
            if given.count(name) > 1:
                raise ParameterError(f"{name!r} has shares and weights; give one of them.")
            _of_answers(asked[name], {**self.margins, **self.weights}[name])

    def to_json(self) -> dict[str, object]:
        """Return the weighting as a JSON object."""
        return {
            "margins": {name: dict(one) for name, one in self.margins.items()},
            "weights": {name: dict(one) for name, one in self.weights.items()},
            "population": self.population,
        }


def _number(cell: str, row: int) -> float:
    text = cell.removesuffix("%").strip().replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _LARGEST:
        raise ParameterError(f"row {row}: {cell!r} is no number of at least 0, such as 51 %.")
    return value / 100 if cell.endswith("%") else value


def _scaled(name: str, shares: Mapping[str, float]) -> dict[str, float]:
    total = math.fsum(shares.values())
    for whole in (1.0, 100.0):
        if abs(total / whole - 1) <= _SUM:
            return {answer: share / total for answer, share in shares.items()}
    raise ParameterError(
        f"the shares of {name!r} add up to {total:g}, expected 1 or 100 %; give one for each of "
        "its answers."
    )


def weighted_result(reports: SurveyReports, weighting: Weighting) -> SurveyResult:
    """Return the result in which people count as a weighting says.

    Labels are left out where one draw masks several of them; where each person is asked some
    questions alone, so are those that are drawn without what people are weighed by. With several
    levels, known margins take no error away.

    Parameters
    ----------
    reports : SurveyReports
    weighting : Weighting

    Raises
    ------
    ParameterError
        A question or answer of the weighting is unknown, has no share, or cannot be weighed by.
    EmptyTable
        Nobody answered.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> found = weighted_result(reports, Weighting({"night": {"Yes": 0.2, "No": 0.8}}))
    >>> round(found.question("night").option("Yes").share.value, 3)
    0.2
    """
    weighting.check(reports.codebook.questions, len(reports))
    plain = survey_result(reports)
    found = _weighted_questions(reports, weighting, plain)
    if not found:
        raise ParameterError(
            "no question can be weighed by these: each person was asked some of the questions "
            "alone. Weigh by one that is asked together with others."
        )
    return replace(
        plain, questions=tested_together(found), labels=(), ranking=(), leaderboards=None
    )


def _weighted_questions(
    reports: SurveyReports, weighting: Weighting, plain: SurveyResult
) -> list[QuestionResult]:
    """Return the results of the questions that can be weighed."""
    models: dict[bytes, WeightedPeople] = {}
    found = []
    for place, question in enumerate(reports.codebook.questions):
        own = plain.question(question.id)
        if question.takes_pair or not all(
            _separate(level[place])
            for name, level in reports.codebook.levels.items()
            if own.n_by_level.get(name) != 0
        ):
            continue
        asked = _asked(reports, question.id, weighting)
        if asked is None:
            continue
        here = asked.report.tobytes()
        model = models.get(here) or models.setdefault(here, WeightedPeople.of(asked, weighting))
        setting = Setting(
            own.estimator,
            own.mechanism,
            own.n_by_level,
            own.forecast_standard_error,
            own.precision.by_level,
            None,
        )
        found.append(question_result(question, model.answers(place), question.codes, setting))
    return found


def _separate(mask: DeviceMechanism) -> bool:
    """Return whether no draw masks two answers of a person, so that their worths multiply."""
    one = mask.label_response is None or mask.as_subsets is not None
    return one or mask.separate_response is not None


def _asked(reports: SurveyReports, question: str, weighting: Weighting) -> SurveyReports | None:
    """Return the reports of all people asked a question, and their weights, if any."""
    ids = {one.id for one in reports.codebook.questions}
    by = [name for name in (*weighting.weights, *weighting.margins) if name in ids]
    if not reports.codebook.survey.asked_together(question, *by):
        return None
    asked = reports.asked_of(question, *by)
    return asked if len(asked) else None


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPeople:
    """The numbers by which people are weighed, and their reports."""

    reports: SurveyReports
    weighting: Weighting
    levels: tuple[str, ...]
    rows: dict[str, tuple[Integers, Floats]]  # reports and people of each level
    by: dict[int, Floats]  # place of a question to the number of each answer

    @classmethod
    def of(cls, reports: SurveyReports, weighting: Weighting) -> WeightedPeople:
        """Return the people with their weights; margins are raked."""
        levels = tuple(name for name, n in reports.counts().items() if n)
        rows = {name: reports.counted(name) for name in levels}
        people = {name: (sent, count.astype(np.float64)) for name, (sent, count) in rows.items()}
        places = {one.id: place for place, one in enumerate(reports.codebook.questions)}
        model = cls(reports, weighting, levels, people, {})
        numbers = {
            places[name]: _of_answers(reports.codebook.questions[places[name]], one)
            for name, one in weighting.weights.items()
        }
        object.__setattr__(model, "by", numbers)
        known = {
            places[name]: _of_answers(reports.codebook.questions[places[name]], one)
            for name, one in weighting.margins.items()
        }
        if known:
            count = np.concatenate([people[name][1] for name in levels])
            base = np.concatenate([model.weight(name) for name in levels])
            # design weights are brought to a mean of 1, so that shares are of people
            base = base * count.sum() / float(count @ base)
            worths = [
                np.concatenate([model.worth(name, place) for name in levels]) for place in known
            ]
            found = raked(count, worths, list(known.values()), base)
            object.__setattr__(model, "by", numbers | dict(zip(known, found, strict=True)))
        return model

    def mask(self, level: str, place: int) -> CategoricalMechanism | None:
        """Return the mask of a question whose answers are masked one by one."""
        return self.reports.codebook.levels[level][place].separate_response

    def worth(self, level: str, place: int) -> Floats:
        """Return the worth of each answer by each row's report, shape (n_rows, n_answers)."""
        mask = self.mask(level, place)
        if mask is None:
            question = self.reports.codebook.questions[place].id
            raise ParameterError(f"{question!r} is not masked one by one; weigh by another.")
        sent, _ = self.rows[level]
        unit = np.eye(mask.symbols)[sent[:, place]]
        worth: Floats = (unit - float(mask.other_probability)) / float(mask.signal)
        return worth

    def weight(self, level: str, without: Sequence[int] = ()) -> Floats:
        """Return the worth of the weight of each row, but for some questions."""
        found = np.ones(len(self.rows[level][1]))
        for place, number in self.by.items():
            if place not in without:
                found = found * (self.worth(level, place) @ number)
        return found

    def answers(self, place: int) -> QuestionReports:
        """Return the weighted reports to a question."""
        question = self.reports.codebook.questions[place]
        rows = tuple(self._rows(level, place) for level in self.levels)
        totals = [float(one.count @ one.total) for one in rows]
        if min(totals) <= 0:
            raise ParameterError(
                "the masks leave too little of the answers that weigh; weigh by fewer or by larger "
                "groups, or ask more people."
            )
        sent = {}
        for level in self.levels:
            code, _ = self.rows[level]
            _, people = self.reports.counted(level)
            mask = self.reports.codebook.levels[level][place]
            sent[level] = SentReports(code[:, place], people, mask)
        estimator = self.reports.codebook.survey.estimator
        return question_reports(question, sent, estimator=estimator, pool=totals, weights=rows)

    def _rows(self, level: str, place: int) -> RowWeights:
        _, people = self.rows[level]
        places = list(self.by)
        known = [self._place(name) for name in self.weighting.margins]
        # margins are of all people, not of those at one level
        known = known if len(self.levels) == 1 else []
        margins = [self._product(level, [one]) for one in known]
        shares = [
            _of_answers(self.reports.codebook.questions[one], self.weighting.margins[name])
            for one, name in zip(known, self.weighting.margins, strict=False)
        ]
        gram = self._pairs(level, known, known)
        own = None
        if place in self.by:
            pairs = self._pairs(level, known, [place])
            own = self.by[place], self.weight(level, [place]), pairs
        n = float(people.sum())
        size = self.weighting.population
        masks = [self.mask(level, one) for one in places]
        clear = all(one is not None and one.signal == 1 for one in masks)
        left = 1.0 if size is None else (size - n) / max(size - 1, 1)
        return RowWeights(
            people,
            self.weight(level),
            np.concatenate(margins, axis=1) if margins else np.zeros((len(people), 0)),
            np.concatenate(shares) if shares else np.zeros(0),
            gram,
            own,
            clear,
            max(left, 0.0),
        )

    def _pairs(self, level: str, first: Sequence[int], others: Sequence[int]) -> Floats:
        """Return weighted means of products of answers to questions and to others."""
        if not first:
            return np.zeros((0, sum(len(self.by[one]) for one in others)))
        rows = [np.concatenate([self._pair(level, a, b) for b in others], axis=1) for a in first]
        return np.concatenate(rows)

    def _place(self, name: str) -> int:
        return [one.id for one in self.reports.codebook.questions].index(name)

    def _product(self, level: str, places: Sequence[int]) -> Floats:
        """Return the worths of the weight times "answered a" to one question."""
        [place] = places
        own = self.worth(level, place) * self.by.get(place, 1.0)
        found: Floats = own * self.weight(level, [place])[:, None]
        return found

    def _pair(self, level: str, first: int, second: int) -> Floats:
        """Return weighted means of "answered a" to one question and "answered b" to another."""
        _, people = self.rows[level]
        n = float(people.sum())
        if first == second:
            return np.diag(people @ self._product(level, [first]) / n)
        one, other = (
            self.worth(level, place) * self.by.get(place, 1.0) for place in (first, second)
        )
        rest = people * self.weight(level, [first, second])
        found: Floats = (one * rest[:, None]).T @ other / n
        return found


def _of_answers(question: Question, given: Mapping[str, float]) -> Floats:
    """Return the number of each answer to a question, in the order of codes."""
    codes = question.codes
    for answer in given:
        if answer not in codes:
            raise ParameterError(
                f"question {question.id!r} has no answer {answer!r}, expected one of {codes}."
                f"{suggestion(answer, codes)}"
            )
    missing = [answer for answer in codes if answer not in given]
    if missing:
        raise ParameterError(
            f"{question.id!r} has no number for {missing[0]!r}; give one for each answer."
        )
    return np.array([given[answer] for answer in codes])
