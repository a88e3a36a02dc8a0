"""The result of one question: shares or a mean, tests, and each level by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from masquerade.exact.arrays import Integers
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism
from masquerade.results.headline import headline, people_needed, range_width
from masquerade.results.question_figures import (
    Figure,
    LevelFigures,
    LevelOption,
    LevelTest,
    MeanFigures,
    OptionFigures,
    QuestionResult,
    ReportTest,
)
from masquerade.results.several import OptionShares
from masquerade.surveys import Question
from masquerade.surveys.codebook import labels_of
from masquerade.surveys.offered_levels import lattice_of
from masquerade.surveys.small_counts import shown_counts
from masquerade.truth import (
    ESTIMATORS,
    BoundedReport,
    LevelMean,
    LevelShares,
    level_mean,
    level_shares,
    number_plausibility,
    report_variance,
    share_plausibility,
)

CONFIDENCE = 0.95
#: For each level that somebody chose, the reports to a question and their mechanism.
Sent = Mapping[str, tuple[Integers, Mechanism]]


def question_result(
    question: Question,
    sent: Sent,
    *,
    estimator: str,
    pool: Mapping[str, int] | None,
    known: list[float] | None,
    offered: Mapping[str, Mechanism],
) -> QuestionResult:
    """Return the result of one question, from the reports to it.

    `sent`: reports and mask at each level; `offered`: the mask of each level that could be chosen;
    `pool`: people at each level; `known`: the shares of a made-up crowd.
    """
    n = {name: len(reports) for name, (reports, _) in sent.items()}
    counted, people = shown_counts(n), sum(n.values())
    # Neither levels that nobody chose (0) nor those that are withheld (None); one is the whole.
    apart = [name for name, count in counted.items() if count] if len(n) > 1 else []
    options: tuple[OptionFigures, ...] = ()
    by_level: list[LevelFigures] = []
    if is_number(question, sent):
        rated: LevelMean | None = number_mean(question, sent, pool)
        assert rated is not None
        test, plausibility = rated.heterogeneity, number_plausibility(_numeric(sent))
        known_mean = _known_of_number(question, known)
        by_level = [_level(name, sent, (), rated) for name in apart]
    else:
        shares = option_shares(question, sent, pool)
        options, test = _options(question, shares, estimator, known), shares.heterogeneity
        rated = None
        if isinstance(shares, OptionShares):
            plausibility = shares.plausibility()
        else:
            plausibility = share_plausibility(_counts(sent))
            rated = None if question.scores is None else shares.mean(question.scores)
        known_mean = _known_of_scores(question.scores, known)
        by_level = [
            _level(name, sent, _level_options(question, sent[name], name, estimator), rated)
            for name in apart
        ]
    mean = None if rated is None else _mean(rated, estimator, known_mean)
    forecast = _forecast(question, sent)
    return QuestionResult(
        id=question.id,
        text=question.text,
        kind=question.kind,
        unit=getattr(question, "unit", ""),
        n=people,
        n_by_level=counted,
        estimator=estimator,
        mechanism="; ".join(dict.fromkeys(str(mechanism) for _, mechanism in sent.values())),
        options=options,
        heterogeneity=LevelTest.of(test),
        plausibility=ReportTest.of(plausibility),
        mean=mean,
        quartiles=None,
        forecast_standard_error=forecast,
        headline=headline(options, mean, people, question),
        precision=people_needed(options, mean, people, question, offered, forecast),
        by_level=tuple(by_level),
    )


def is_number(question: Question, sent: Sent) -> bool:
    """Return whether a question is about numbers with noise, not about categories."""
    return not question.labels or any(one.kind == "numeric" for _, one in sent.values())


def question_shares(sent: Sent, pool: Mapping[str, int] | None) -> LevelShares:
    """Return the shares of people behind each answer."""
    return level_shares(_counts(sent), pool=pool, confidence=CONFIDENCE)


def option_shares(
    question: Question, sent: Sent, pool: Mapping[str, int] | None
) -> LevelShares | OptionShares:
    """Return the shares of people behind each option, of which a person may have several."""
    if not question.parts_of_whole:
        return OptionShares.of(sent, pool, confidence=CONFIDENCE)
    return question_shares(sent, pool)


def number_mean(question: Question, sent: Sent, pool: Mapping[str, int] | None) -> LevelMean:
    """Return the mean of a number."""
    return level_mean(_numeric(sent), lattice_of(question), pool=pool, confidence=CONFIDENCE)


def _counts(sent: Sent) -> dict[str, tuple[list[int], CategoricalMechanism]]:
    groups = {}
    for name, (reports, mechanism) in sent.items():
        assert isinstance(mechanism, CategoricalMechanism)
        groups[name] = (np.bincount(reports, minlength=mechanism.symbols).tolist(), mechanism)
    return groups


def _numeric(
    sent: Sent,
) -> dict[str, tuple[Integers, CategoricalMechanism | DiscreteGaussian]]:
    groups = {}
    for name, (reports, mechanism) in sent.items():
        assert isinstance(mechanism, CategoricalMechanism | DiscreteGaussian)
        groups[name] = (reports, mechanism)
    return groups


def _level(
    name: str, sent: Sent, options: tuple[LevelOption, ...], mean: LevelMean | None
) -> LevelFigures:
    reports, mechanism = sent[name]
    here = None if mean is None else Figure.of(mean.at_level(name))
    return LevelFigures(name, len(reports), str(mechanism), options, here)


def _level_options(
    question: Question, sent: tuple[Integers, Mechanism], name: str, estimator: str
) -> tuple[LevelOption, ...]:
    """Return the shares of a level by itself."""
    alone = option_shares(question, {name: sent}, None)
    estimates = alone.estimates(estimator)
    return tuple(
        LevelOption(label, float(raw), Figure.of(estimate))
        for label, raw, estimate in zip(labels_of(question), alone.reported, estimates, strict=True)
    )


def _options(
    question: Question,
    shares: LevelShares | OptionShares,
    estimator: str,
    known: list[float] | None,
) -> tuple[OptionFigures, ...]:
    found = {name: shares.estimates(name) for name in ESTIMATORS}
    # Intervals that hold for all options at once, beside those of each alone.
    together = shares.estimates(estimator, simultaneous=True)
    wider, likeliest = shares.sensitivity(), shares.likeliest()
    # Of options that one person can hold together, how sums of them vary is not known.
    top = None if isinstance(shares, OptionShares) else shares.top_probability(estimator)
    return tuple(
        OptionFigures(
            label=label,
            reported_share=float(shares.reported[code]),
            known_share=None if known is None else known[code],
            share=Figure.of(found[estimator][code]),
            of_answered=None,
            simultaneous_low=together[code].low,
            simultaneous_high=together[code].high,
            top_probability=None if top is None else float(top[code]),
            likeliest_share=float(likeliest[code]),
            sensitivity=Figure.of(wider[code]),
            estimators={name: Figure.of(found[name][code]) for name in ESTIMATORS},
        )
        for code, label in enumerate(labels_of(question))
    )


def _mean(mean: LevelMean, estimator: str, known: float | None) -> MeanFigures:
    return MeanFigures(
        Figure.of(mean.estimate(estimator)),
        LevelTest.of(mean.heterogeneity),
        Figure.of(mean.sensitivity()),
        {name: Figure.of(mean.estimate(name)) for name in ESTIMATORS},
        known,
    )


def _known_of_number(question: Question, known: list[float] | None) -> float | None:
    if known is None:
        return None
    lattice = lattice_of(question)
    scores = [float(lattice.low + lattice.step * place) for place in range(len(known))]
    return _known_of_scores(scores, known)


def _known_of_scores(scores: Sequence[float] | None, known: list[float] | None) -> float | None:
    if known is None or scores is None:
        return None
    # "prefer not to say" has no score; the mean is of those who have one.
    held = sum(known[: len(scores)])
    return sum(s * k for s, k in zip(scores, known, strict=False)) / held if held else None


def _forecast(question: Question, sent: Sent) -> float:
    """Return the standard error that planning gives for so many people at these levels.

    Before any report is looked at: of a share of one half, or of a mean whose answers spread by a
    quarter of the range; everybody counts once.
    """
    n = sum(len(reports) for reports, _ in sent.values())
    total = 0.0
    for reports, mechanism in sent.values():
        if is_number(question, sent):
            lattice = lattice_of(question)
            noise = 0.0
            if isinstance(mechanism, DiscreteGaussian):
                noise = BoundedReport.of(mechanism, len(reports)).variance
            # A quarter of the range is the deviation that planning assumes.
            total += len(reports) * ((float(lattice.high - lattice.low) / 4) ** 2 + noise)
        else:
            parts = report_variance(question, mechanism)
            total += len(reports) * (parts.people + parts.masks) * range_width(question) ** 2
    return math.sqrt(total) / n
