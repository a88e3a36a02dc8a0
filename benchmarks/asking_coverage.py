"""How often intervals of three questionnaires hold, and how wide they are beside their forecast.

A course evaluation, a pulse of employees and a poll with a ranking, each with 300 made-up people:
under masks at two levels, where each person is asked some of the questions, and between two
parties. Runs draw counts of reports from their exact law (the law of answers times the mask's
table, or the exact sums and the noise of both parties), which is that of the documents that devices
send: `documents` goes the slow way, person by person, and says how far the two differ.

``python benchmarks/asking_coverage.py [course|pulse|poll ...] [medium|low|some|two|documents ...]
[RUNS]``
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import chi2

from card import Cards, sized
from masquerade.aggregate import prio3_survey
from masquerade.estimation import Figures
from masquerade.estimation.figures import CONFIDENCE, cut_of
from masquerade.estimation.sums import SummedPeople
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import Channel
from masquerade.results import Codebook, SurveyReports
from masquerade.results.forecasts import forecast, headline_figures
from masquerade.results.question_reports import QuestionReports, question_reports
from masquerade.results.rank_reports import RankReports
from masquerade.results.reports import SentReports
from masquerade.results.sum_reports import summed_reports
from masquerade.surveys import (
    Choice,
    Combined,
    DateQuestion,
    Matrix,
    Number,
    PromoterScore,
    Question,
    Ranking,
    Rating,
    SeveralOf,
    ShowIf,
    Within,
)
from masquerade.surveys.drawn_blocks import NOT_DRAWN
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.question_encoding import NoisySums
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

Law = np.ndarray[tuple[int], np.dtype[np.float64]]

CARDS = Cards(__file__)
PEOPLE = 300
RUNS = sized(200, 1000)
WIDTHS = 150  # runs of which intervals are computed: the median width hardly varies
RATED = (0.05, 0.12, 0.33, 0.34, 0.16)  # a standard deviation of 1.04, a quarter of the range
LOW_GRADE = RATED[0] + RATED[1]
SKIPPED = 0.08


def of_labels(shares: Sequence[float] | Law, skipped: float = 0.0) -> Law:
    """Return the law of codes of labels, then of "no answer" where some give none."""
    given = (1 - skipped) * np.asarray(shares)
    return np.append(given, skipped) if skipped else given


def of_numbers(low: int, high: int, mean: float, spread: float, skipped: float) -> Law:
    """Return the law of whole numbers around a mean, with a share of missing ones."""
    point = np.arange(low, high + 1)
    held = np.exp(-(((point - mean) / spread) ** 2) / 2)
    return of_labels(held / held.sum(), skipped)


def of_sets(ticked: Sequence[float], most: int, skipped: float) -> Law:
    """Return the law of codes of sets, ticks being independent but for how many can be."""
    options = len(ticked)
    law = np.zeros(2**options + 1)
    for bits in itertools.product((0, 1), repeat=options):
        if sum(bits) <= most:
            code = sum(bit << place for place, bit in enumerate(bits))
            law[code] = np.prod([p if bit else 1 - p for p, bit in zip(ticked, bits, strict=True)])
    law *= (1 - skipped) / law.sum()
    law[-1] = skipped
    return law


def of_rankings(question: Ranking, strength: Sequence[float]) -> Law:
    """Return Plackett and Luce's law of rankings."""
    law = np.zeros(question.answer_count)
    for code in range(len(law)):
        items = question.answer(code)
        left, chance = list(strength), 1.0
        for item in items if isinstance(items, tuple) else ():
            own = strength[question.items.index(item)]
            chance *= own / sum(left)
            left.remove(own)
        law[code] = chance
    return law


@dataclass(frozen=True, eq=False)
class Asked:
    """A question, the law of its codes among those it is shown to, and their share."""

    question: Question
    law: Law
    shown: float = 1.0

    @cached_property
    def codes(self) -> Law:
        """The law of codes of everybody: "no answer" for those it is not shown to."""
        if self.shown == 1:
            return self.law
        return np.append(self.shown * self.law[:-1], 1 - self.shown + self.shown * self.law[-1])

    @property
    def answering(self) -> float:
        """Share of people with an answer."""
        return float(self.codes[: self.question.no_answer_code].sum())


@dataclass(frozen=True, eq=False)
class Questionnaire:
    """A questionnaire with the laws of its answers.

    `measured`: places of questions whose figures are looked at, by what they are called.
    """

    name: str
    asked: tuple[Asked, ...]
    conditions: Mapping[int, Any]
    measured: Mapping[str, int]
    some: int  # questions of m of M
    surveys: dict[str, Survey] = field(default_factory=dict)

    def survey(self, way: str) -> Survey:
        """Return the survey that asks it in one of four ways."""
        if way not in self.surveys:
            self.surveys[way] = self._survey(way)
        return self.surveys[way]

    def _survey(self, way: str) -> Survey:
        questions = tuple(one.question for one in self.asked)
        shown = tuple(self.conditions.get(place) for place in range(len(questions)))
        fields: dict[str, Any] = {"title": self.name, "questions": questions}
        fields["conditions"] = shown if any(shown) else ()
        if way == TWO:
            terms = TwoParties.of(
                helper="https://helper.example",
                operator="-",
                fingerprint="0" * 32,
                rho=0.5,
            )
            only = OfferedLevel("two-parties", ())
            return Survey(
                description="", template="pick", levels=(only,), two_parties=terms, **fields
            )
        level, _, some = way.partition(", ")
        return Survey.at_levels(levels=(level,), asked=self.some if some else None, **fields)


TWO = "two parties"
SOME = "medium, some"
#: Masks at two levels, some of the questions at one, and two parties.
WAYS = {"medium": "medium", "low": "low", "some": SOME, "two": TWO}
DOCUMENTS = "documents"


def course() -> Questionnaire:
    """Return a course evaluation: a matrix of nine, several, a grade, and why a low one."""
    rows = tuple(f"Row {place}" for place in range(1, 10))
    matrix = Matrix("m", "How good was", rows=rows, allow_skip=True).parts()
    asked = (
        *(Asked(row, of_labels(RATED, SKIPPED)) for row in matrix),
        Asked(
            SeveralOf("s", "What helped?", tuple("abcdef"), 3, allow_skip=True),
            of_sets((0.5, 0.35, 0.3, 0.25, 0.2, 0.1), 3, SKIPPED),
        ),
        Asked(Rating("g", "Grade?"), of_labels(RATED)),
        Asked(
            Choice("w", "Why?", ("Too fast", "Too dull", "Else"), allow_skip=True),
            of_labels((0.5, 0.3, 0.2), SKIPPED),
            LOW_GRADE,
        ),
    )
    measured = {"matrix row": 0, "several": 9, "rating": 10, "follow-up": 11}
    return Questionnaire("course", asked, {11: ShowIf("g", ("1", "2"))}, measured, 4)


def pulse() -> Questionnaire:
    """Return a pulse: ratings, a recommendation, hours that can be skipped, AND and OR."""
    ratings = tuple(
        Asked(Rating(f"r{n}", "?", allow_skip=True), of_labels(RATED, SKIPPED)) for n in range(6)
    )
    score = np.repeat([0.35 / 7, 0.25 / 2, 0.40 / 2], [7, 2, 2])
    hours = of_numbers(20, 60, 40, 10, 0.15)
    often = float(hours[26:41].sum())
    asked = (
        *ratings,
        Asked(PromoterScore("nps", "?", allow_skip=True), of_labels(score, SKIPPED)),
        Asked(Number("h", "Hours?", 20, 60, "hours", allow_skip=True), hours),
        Asked(Choice("home", "Home?", ("Yes", "Partly", "No")), of_labels((0.5, 0.3, 0.2))),
        Asked(
            Choice("tired", "Tired?", ("Yes", "No"), allow_skip=True),
            of_labels((0.5, 0.5), SKIPPED),
            1 - (1 - often) * (1 - (1 - SKIPPED) * LOW_GRADE),
        ),
    )
    either = Combined("any", (Within("h", 46, 60), ShowIf("r0", ("1", "2"))))
    measured = {
        "rating that can be skipped": 0,
        "recommendation": 6,
        "number that can be skipped": 7,
        "choice": 8,
        "after AND / OR": 9,
    }
    return Questionnaire("pulse", asked, {9: either}, measured, 4)


def poll() -> Questionnaire:
    """Return a poll: six topics ranked, dates, one of four, an item's follow-up."""
    topics = Ranking("topics", "Which?", ("Ada", "Bell", "Cy", "Dee", "Eve", "Fay"))
    strength = (3.0, 2.2, 1.6, 1.2, 0.9, 0.7)
    days = ("2026-05-17", "2026-05-24", "2026-06-07", "2026-06-14")
    shares = (0.5, 0.25, 0.15, 0.1)
    months = DateQuestion("since", "Since?", first="2024-01", last="2025-12", bins=4)
    spread = np.exp(-(((np.arange(24) - 12) / 7.0) ** 2) / 2)
    asked = (
        Asked(topics, of_rankings(topics, strength)),
        Asked(DateQuestion("day", "Which day?", days), of_labels(shares)),
        Asked(months, spread / spread.sum()),
        Asked(Choice("logo", "Which?", ("A", "B", "C", "D")), of_labels(shares)),
    )
    measured = {"ranking": 0, "date of a list": 1, "date in a range": 2, "choice of four": 3}
    return Questionnaire("poll", asked, {}, measured, 2)


QUESTIONNAIRES: dict[str, Callable[[], Questionnaire]] = {
    "course": course,
    "pulse": pulse,
    "poll": poll,
}


@dataclass(frozen=True, eq=False)
class Study:
    """One question asked in one way: draws of its reports, its true figures, its forecast."""

    whole: Questionnaire
    place: int
    way: str

    @cached_property
    def survey(self) -> Survey:
        """The survey."""
        return self.whole.survey(self.way)

    @property
    def asked(self) -> Asked:
        """The question with its law."""
        return self.whole.asked[self.place]

    @cached_property
    def report_law(self) -> Law:
        """The law of masked reports."""
        question, mask = self.asked.question, self.survey.levels[0].mechanisms[self.place]
        channel: Channel = getattr(mask, "channel")()  # noqa: B009 numbers with noise have none
        table = np.array([[float(x) for x in row] for row in channel.table])
        law = np.zeros(len(table))
        sets = mask.as_sets
        rows = None if sets is None else {code: row for row, code in enumerate(sets.answers())}
        for code, chance in enumerate(self.asked.codes):
            if chance:
                row = question.masked_code(code)
                law[row if rows is None else rows[row]] += chance
        found: Law = law @ table
        found /= found.sum()
        return found

    def drawn(self, rng: np.random.Generator) -> QuestionReports:
        """Return the reports of so many people, from their law."""
        if self.way == TWO:
            return self._summed(rng)
        draw = self.survey.draw
        people = PEOPLE if draw is None else int(rng.binomial(PEOPLE, draw.share))
        counts = rng.multinomial(people, self.report_law)
        codes = np.flatnonzero(counts)
        mask = self.survey.levels[0].mechanisms[self.place]
        return self.of_sent(SentReports(codes, counts[codes], mask))

    def of_sent(self, sent: SentReports) -> QuestionReports:
        """Return masked reports as a result takes them."""
        level = self.survey.levels[0].name
        return question_reports(self.asked.question, {level: sent}, estimator=self.survey.estimator)

    @cached_property
    def split_codes(self) -> Law:
        """The law of codes between two parties, with those it is not shown to apart."""
        question, part = self.asked.question, self.survey.encoding.of(self.asked.question.id)
        law = np.zeros(part.answers + len(part.without))
        for code, chance in enumerate(self.asked.law):
            last = code == question.no_answer_code
            at = part.code_without(part.without[0]) if last else part.code(code)
            law[at] += self.asked.shown * chance
        if self.asked.shown < 1:
            law[part.code_without(part.without[-1])] += 1 - self.asked.shown
        return law

    @cached_property
    def _measured(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The sums to which one person adds, by the code of the answer."""
        part = self.survey.encoding.of(self.asked.question.id)
        circuit = prio3_survey((part.block,)).circuit
        rows = np.zeros((len(self.split_codes), len(part.counted)), dtype=np.int64)
        for code in np.flatnonzero(self.split_codes):
            element = circuit.truncate(circuit.encode([part.measured(int(code))]))
            rows[code] = circuit.decode(element, 1)[0]
        return rows

    def _summed(self, rng: np.random.Generator) -> QuestionReports:
        part = self.survey.encoding.of(self.asked.question.id)
        counts = rng.multinomial(PEOPLE, self.split_codes)
        exact = (counts @ self._measured).tolist()
        states: list[int] | None = None
        if part.states:
            states = [0] * len(part.states)
            for code, count in enumerate(counts):
                states[part.state(code)] += int(count)
        return self.of_sums(exact, states, rng)

    def of_sums(
        self, exact: Sequence[int], states: Sequence[int] | None, rng: np.random.Generator
    ) -> QuestionReports:
        """Return exact sums with the noise of both parties, as a result takes them."""
        encoding = self.survey.encoding
        part, noise = encoding.of(self.asked.question.id), self.survey.split_noise

        def noisy(values: Sequence[int], block: int) -> NoisySums:
            variance = float(noise.published_variance(block))
            added = np.rint(np.sqrt(variance) * rng.standard_normal(len(values)))
            return NoisySums((np.asarray(values) + added).tolist(), variance)

        own = noisy(exact, self.place)
        said = None
        if states is not None:
            at = len(encoding.questions) + list(encoding.states).index(self.asked.question.id)
            said = noisy(states, at)
        return summed_reports(part, own, said, SummedPeople(PEOPLE))

    def figures(self, reports: QuestionReports, run: int) -> tuple[Figures, float, float]:
        """Return the figure of the headline, its confidence, and its right value.

        Of a ranking it is the mean rank of one item, in each run of the next one.
        """
        if isinstance(reports, RankReports):
            item = run % reports.items
            return reports.share_figures(item), CONFIDENCE, float(self.truth[item])
        figures, confidence = headline_figures(reports, len(self.asked.question.labels))
        return figures, confidence, float(self.truth[0])

    @cached_property
    def truth(self) -> Law:
        """The right values of the figures: those of nearly endless people without a mask."""
        question, law = self.asked.question, self.asked.law
        given = law[: question.no_answer_code] / law[: question.no_answer_code].sum()
        if isinstance(question, Ranking):
            answers = [question.answer(code) for code in range(len(given))]
            ranks = [[list(one).index(item) + 1 for item in question.items] for one in answers]  # type: ignore[arg-type]
            found: Law = given @ np.array(ranks)
            return found
        if isinstance(question, SeveralOf):
            return np.array([sum(given[code] for code in range(len(given)) if code & 1)])
        scores = self._scores()
        if scores is None:
            return np.array(
                [sum(given[c] for c in range(len(given)) if not question.masked_code(c))]
            )
        return np.array([given @ scores])

    def _scores(self) -> Law | None:
        """Return the score of each answer in a mean: between two parties that of its range."""
        question = self.asked.question
        codes = range(question.answer_count)
        if self.way == TWO:
            part = self.survey.encoding.of(question.id)
            each = getattr(part, "scores", None)
            return None if each is None else np.array([each[part.code(code)] for code in codes])
        if not question.labels and question.lattice is not None:
            lattice = question.lattice
            return np.array([float(lattice.low + lattice.step * code) for code in codes])
        scores = question.scores
        if scores is None:
            return None
        return np.array([scores[question.masked_code(code)] for code in codes])

    def forecast(self) -> float:
        """Return the half width that is expected before anybody answers."""
        level = self.survey.levels[0].name
        answering = self.asked.answering
        return forecast(self.survey, self.place, {level: PEOPLE}, answering=answering).margin

    def run(self, runs: int) -> tuple[float, float]:
        """Return the share of runs whose interval holds, and the median half width of one."""
        rng = np.random.default_rng([self.place, len(self.way), runs])
        held, widths = [], []
        for run in range(runs):
            figures, confidence, truth = self.figures(self.drawn(rng), run)
            held.append(bool(figures.statistic(truth)[0] <= cut_of(CONFIDENCE)))
            if run < WIDTHS:
                low, high = figures.curve.interval(cut_of(confidence))
                widths.append(float(high[0] - low[0]) / 2)
        return float(np.mean(held)), float(np.median(widths))


def documents(whole: Questionnaire, runs: int) -> dict[str, tuple[float, float]]:
    """Send the answers of every person through their masks, and compare with the law of reports.

    Returns of each figure the p-value of all reports against the law, and the share of runs whose
    interval, read from the reports of the whole survey, holds.
    """
    rng = np.random.default_rng(runs)
    survey = whole.survey(SOME)
    draw, level = survey.draw, survey.levels[0]
    assert draw is not None
    codebook = Codebook("0123456789abcdef", survey, survey.content_hash())
    names = [f"p{person}" for person in range(PEOPLE)]
    counts: dict[str, Any] = dict.fromkeys(whole.measured, 0)
    held: dict[str, list[bool]] = {name: [] for name in whole.measured}
    for run in range(runs):
        source = SimulatedCoins(rng)
        columns = [
            mask.mask(codes, codes, source)
            for mask, codes in zip(level.mechanisms, _answers(whole, rng), strict=True)
        ]
        rows = np.full((PEOPLE, len(columns)), NOT_DRAWN)
        for person in range(PEOPLE):
            for place in draw.places(draw.draw(source)):
                rows[person, place] = columns[place][person]
        reports = SurveyReports.from_rows(codebook, names, [level.name] * PEOPLE, rows.tolist())
        for name, place in whole.measured.items():
            study, sent = Study(whole, place, SOME), reports.sent(level.name, place)
            figures, _, truth = study.figures(study.of_sent(sent), run)
            held[name].append(bool(figures.statistic(truth)[0] <= cut_of(CONFIDENCE)))
            counts[name] = counts[name] + np.bincount(
                sent.code, weights=sent.people, minlength=len(study.report_law)
            )
    return {
        name: (
            _fit(counts[name], Study(whole, place, SOME).report_law),
            float(np.mean(held[name])),
        )
        for name, place in whole.measured.items()
    }


def _answers(whole: Questionnaire, rng: np.random.Generator) -> list[Any]:
    """Return the codes that people's masks take, question by question."""
    from masquerade.surveys import visibility

    questions = [one.question for one in whole.asked]
    given = [rng.choice(len(one.law), PEOPLE, p=one.law) for one in whole.asked]
    conditions = whole.survey(SOME).conditions
    found = [np.zeros(PEOPLE, dtype=np.int64) for _ in questions]
    for person in range(PEOPLE):
        codes = [int(column[person]) for column in given]
        flags = visibility(questions, conditions, codes)
        for column, question, code, shown in zip(found, questions, codes, flags, strict=True):
            column[person] = question.masked_code(code if shown else question.no_answer_code)
    return found


def _fit(counts: Law, law: Law) -> float:
    """Return the p-value of chi-squared of counts of reports against their law."""
    expected = counts.sum() * law
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(law) - 1))


def main(chosen: Sequence[str], ways: Sequence[str], runs: int) -> None:
    """Measure and print a table, then the cards."""
    print(f"{'figure':40} {'way':14} {'held':>6} {'half':>8} {'forecast':>9} {'ratio':>6}")
    for name in chosen:
        whole = QUESTIONNAIRES[name]()
        for what, place in whole.measured.items():
            for way in (WAYS[one] for one in ways if one in WAYS):
                study = Study(whole, place, way)
                held, half = study.run(runs)
                ahead = study.forecast()
                words = f"{name}: {what}"
                print(
                    f"{words:40} {way:14} {held:6.3f} {half:8.4f} {ahead:9.4f} {half / ahead:6.2f}",
                    flush=True,
                )
                note = f"half width {half:.3g}, forecast {ahead:.3g}"
                CARDS.add(
                    f"{words}, {way}: 95 % intervals hold",
                    held,
                    "",
                    better="higher",
                    at_least=0.93,
                    note=note,
                )
        if DOCUMENTS in ways:
            for what, (fit, held) in documents(whole, 20).items():
                print(f"{name}: {what}, documents of 20 runs: p {fit:.3f}, held {held:.2f}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    names = [one for one in arguments if one in QUESTIONNAIRES] or list(QUESTIONNAIRES)
    every = [*WAYS, DOCUMENTS]
    counted = [int(one) for one in arguments if one.isdigit()]
    wanted = [one for one in arguments if one in every] or every
    main(names, wanted, counted[0] if counted else RUNS)
