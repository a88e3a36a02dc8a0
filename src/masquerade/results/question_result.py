"""The result of one question: its figures, tests, headline, and each level by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from masquerade.estimation import Estimate, holm, quantile
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.results.forecasts import (
    answering_share,
    masked_forecast,
    people_for,
    range_width,
    together,
)
from masquerade.results.headline import headline, people_needed
from masquerade.results.question_figures import (
    WIDEST_HEADLINE,
    Figure,
    ItemRank,
    LevelFigures,
    LevelOption,
    LevelTest,
    MeanFigures,
    OptionFigures,
    PeopleNeeded,
    QuartileFigure,
    QuestionResult,
    ReportTest,
)
from masquerade.results.question_reports import (
    AnswerReports,
    QuestionReports,
    Sent,
    question_reports,
)
from masquerade.results.rank_reports import RankReports
from masquerade.surveys import Question
from masquerade.surveys.offered_levels import shown_counts

CONFIDENCE = 0.95


def masked_question(
    question: Question,
    sent: Sent,
    *,
    estimator: str,
    pool: Mapping[str, int] | None,
    known: list[float] | None,
    offered: Mapping[str, DeviceMechanism],
) -> QuestionResult:
    """Return the result of one question, from the masked reports to it.

    `sent`: reports and mask at each level; `offered`: the mask of each level that could be chosen;
    `pool`: people at each level; `known`: the shares of a made-up crowd.
    """
    sizes = None if pool is None else [float(pool[name]) for name in sent]
    reports = question_reports(question, sent, estimator=estimator, pool=sizes)
    answering = answering_share(reports)
    counted = shown_counts({name: one.n for name, one in sent.items()})
    setting = Setting(
        estimator=estimator,
        mechanism="; ".join(dict.fromkeys(str(one.mask) for one in sent.values())),
        n_by_level=counted,
        forecast=_forecast(question, sent, estimator, answering),
        needed={
            name: people_for(question, mask, WIDEST_HEADLINE / 2, answering=answering)
            for name, mask in offered.items()
        },
        known=known,
    )
    # Neither levels that nobody chose (0) nor those that are withheld (None); one is the whole.
    by_level = [
        _level(name, one.n, str(one.mask), question, reports.at_level(place))
        for place, (name, one) in enumerate(sent.items())
        if counted[name] and len(sent) > 1
    ]
    quartiles = _quartiles(reports)
    return question_result(
        question, reports, question.codes, setting, by_level=by_level, quartiles=quartiles
    )


def tested_together(questions: Sequence[QuestionResult]) -> tuple[QuestionResult, ...]:
    """Return questions whose tests of levels are corrected for their number (Holm, 1979)."""
    tests = {one.id: one.heterogeneity for one in questions if one.heterogeneity is not None}
    corrected = holm([test.probability for test in tests.values()])
    by_id = {
        name: test.corrected(probability)
        for (name, test), probability in zip(tests.items(), corrected, strict=True)
    }
    return tuple(
        replace(one, heterogeneity=by_id[one.id]) if one.id in by_id else one for one in questions
    )


def _quartiles(reports: QuestionReports) -> tuple[QuartileFigure, ...] | None:
    """Return the quartiles of answers with scores, among respondents."""
    if not isinstance(reports, AnswerReports) or reports.scores is None:
        return None
    order = np.argsort(reports.scores)
    ends = [(reports.scores[place], reports.scores[place]) for place in order]
    if any(order[1:] < order[:-1]):
        return None  # answers that do not rise have no middle
    found = [quantile(reports.crowd, ends, share) for share in (0.25, 0.5, 0.75)]
    return tuple(
        QuartileFigure(one.share, one.value, one.low, one.high)
        if math.isfinite(one.value)
        else QuartileFigure(one.share, None, None, None)
        for one in found
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """The circumstances of a question's result that its figures do not say.

    Attributes
    ----------
    estimator, mechanism : str
    n_by_level : mapping of str to int or None
    forecast : float
        Standard error as planning has it.
    needed : mapping of str to int
        People at each level that would bring the headline to a quarter of the range.
    known : sequence of float or None
        Shares of a made-up crowd.
    """

    estimator: str
    mechanism: str
    n_by_level: Mapping[str, int | None]
    forecast: float
    needed: Mapping[str, int]
    known: Sequence[float] | None


def question_result(
    question: Question,
    reports: QuestionReports,
    labels: Sequence[str],
    setting: Setting,
    *,
    by_level: Sequence[LevelFigures] = (),
    quartiles: tuple[QuartileFigure, ...] | None = None,
) -> QuestionResult:
    """Return the result of one question from its reports, of any trust."""
    n, width = int(reports.crowd.n), range_width(question)
    options = _options(reports, labels, setting.known, n)
    rated = reports.mean_figures()
    mean = None
    if rated is not None:
        figure = Figure.of(rated.estimates(CONFIDENCE)[0], n, width=width)
        mean = MeanFigures(figure, _known_mean(question, setting.known))
    found = None if mean is not None else reports.ahead()
    first = None if mean is None else mean.mean
    confidence = CONFIDENCE
    ranks = _item_ranks(question, reports, n, width) if isinstance(reports, RankReports) else None
    if ranks is not None:
        first, labels = min((one.mean for one in ranks), key=_best), question.labels
    elif found is not None:
        top = options[found.candidates[0]]
        first, confidence = top.of_answered or top.share, together(len(found.statistics))
    people = people_needed(first, n, width, forecast=setting.forecast, confidence=confidence)
    return QuestionResult(
        id=question.id,
        text=question.whole_text,
        kind=question.kind,
        unit=getattr(question, "unit", ""),
        n=n,
        n_by_level=setting.n_by_level,
        estimator=setting.estimator,
        mechanism=setting.mechanism,
        options=options,
        heterogeneity=LevelTest.of(reports.levels_alike()),
        plausibility=ReportTest.of(reports.plausibility),
        mean=mean,
        quartiles=quartiles,
        forecast_standard_error=setting.forecast,
        headline=headline(
            reports, labels, None if mean is None else mean.mean, found, n, width=width
        ),
        precision=PeopleNeeded(people, setting.needed),
        by_level=tuple(by_level),
        ranks=ranks,
    )


def _best(figure: Figure) -> float:
    return math.inf if figure.value is None else figure.value


def _item_ranks(
    question: Question, reports: RankReports, n: int, width: float
) -> tuple[ItemRank, ...]:
    """Return the mean rank of each item, and a model's view of the orders."""
    means, counted = reports.ranks.estimates(CONFIDENCE), reports.first_choices()
    first = [None] * len(means) if counted is None else counted.tolist()
    strengths = [Figure.of(one, n, width=math.inf) for one in reports.strengths()]
    return tuple(
        ItemRank(
            item,
            Figure.of(mean, n, width=width),
            share,
            by_model=not reports.firsts,
            strength=strengths[place] if strengths else None,
        )
        for place, (item, mean, share) in enumerate(zip(question.labels, means, first, strict=True))
    )


def _options(
    reports: QuestionReports, labels: Sequence[str], known: Sequence[float] | None, n: int
) -> tuple[OptionFigures, ...]:
    shares, reported = reports.shares(CONFIDENCE), reports.reported
    if not shares:
        return ()
    # Intervals that hold for all options at once, beside those of each alone.
    together = reports.shares(1 - (1 - CONFIDENCE) / len(shares))
    answered: list[Estimate | None] = [*reports.answered(CONFIDENCE)]
    answered += [None] * (len(shares) - len(answered))
    return tuple(
        OptionFigures(
            label=label,
            reported_share=reported[code],
            known_share=None if known is None else known[code],
            share=Figure.of(shares[code], n),
            of_answered=None if some is None else Figure.of(some, n),
            simultaneous_low=together[code].low,
            simultaneous_high=together[code].high,
        )
        for code, (label, some) in enumerate(zip(labels, answered, strict=True))
    )


def _level(
    name: str, n: int, mechanism: str, question: Question, reports: QuestionReports
) -> LevelFigures:
    """Return the figures of one level by itself."""
    labels, shares = question.codes, reports.shares(CONFIDENCE)
    rated = reports.mean_figures()
    width = range_width(question)
    return LevelFigures(
        name,
        n,
        mechanism,
        tuple(
            LevelOption(label, raw, Figure.of(estimate, n))
            for label, raw, estimate in zip(labels, reports.reported, shares, strict=False)
        ),
        None if rated is None else Figure.of(rated.estimates(CONFIDENCE)[0], n, width=width),
    )


def _known_mean(question: Question, known: Sequence[float] | None) -> float | None:
    lattice, numbers = question.lattice, question.scores
    if numbers is None and lattice is not None:
        numbers = tuple(float(lattice.low + lattice.step * n) for n in range(lattice.points))
    if known is None or numbers is None:
        return None
    # "prefer not to say" has no number; the mean is of those who have one.
    held = math.fsum(known[: len(numbers)])
    # not sum(): from Python 3.12 on it rounds otherwise
    total = math.fsum(x * k for x, k in zip(numbers, known, strict=False))
    return total / held if held else None


def _forecast(question: Question, sent: Sent, estimator: str, answering: float) -> float:
    """Return the standard error that planning gives for so many people at these levels.

    Of a share of one half, or of a mean whose answers spread by a quarter of the range, among as
    many as answered.
    """
    masks = {name: one.mask for name, one in sent.items()}
    people = {name: one.n for name, one in sent.items()}
    found = masked_forecast(question, masks, people, estimator=estimator, answering=answering)
    return found.standard_error
