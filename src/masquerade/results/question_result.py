"""The result of one question: shares or a mean, tests, and each level by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masquerade.exact.arrays import Integers
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism
from masquerade.results.headline import headline, precision, range_width
from masquerade.results.several import OptionShares
from masquerade.surveys import Number, Question, Rating, SeveralOf
from masquerade.surveys.codebook import labels_of
from masquerade.surveys.offered_levels import lattice_of
from masquerade.surveys.small_counts import shown_counts
from masquerade.truth import (
    ESTIMATORS,
    BoundedReport,
    Estimate,
    Heterogeneity,
    LevelMean,
    LevelShares,
    Plausibility,
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
) -> dict[str, Any]:
    """Return what the reports to one question say, as a JSON object.

    `sent`: reports and mask at each level; `offered`: the mask of each level that could be chosen;
    `pool`: people at each level; `known`: the shares of a made-up crowd.
    """
    n = {name: len(reports) for name, (reports, _) in sent.items()}
    counted = shown_counts(n)
    found: dict[str, Any] = {
        "id": question.id,
        "text": question.text,
        "kind": question.kind,
        "unit": getattr(question, "unit", ""),
        "n": sum(n.values()),
        "n_by_level": counted,
        "estimator": estimator,
        "mechanism": "; ".join(dict.fromkeys(str(mechanism) for _, mechanism in sent.values())),
    }
    if is_number(question, sent):
        mean = number_mean(question, sent, pool)
        found |= {
            "options": [],
            "heterogeneity": heterogeneity_json(mean.heterogeneity),
            "plausibility": _plausibility(number_plausibility(_numeric(sent))),
            "mean": _mean_json(mean, estimator, _known_of_number(question, known)),
        }
        by_level = [
            {**_level(name, sent), "options": [], "mean": numbers_json(mean.at_level(name))}
            for name in _shown(counted)
        ]
    else:
        shares = option_shares(question, sent, pool)
        found |= {
            "options": _options_json(question, shares, estimator, known),
            "heterogeneity": heterogeneity_json(shares.heterogeneity),
        }
        rated = None
        if isinstance(shares, OptionShares):
            found["plausibility"] = _plausibility(shares.plausibility())
        else:
            found["plausibility"] = _plausibility(share_plausibility(_counts(sent)))
            rated = None if question.scores is None else shares.mean(question.scores)
        found["mean"] = (
            None
            if rated is None
            else _mean_json(rated, estimator, _known_of_scores(question.scores, known))
        )
        by_level = []
        for name in _shown(counted):
            # Only levels that may be shown by themselves.
            alone = option_shares(question, {name: sent[name]}, None)
            estimates = alone.estimates(estimator)
            options = [
                {"label": label, "reported_share": float(raw), **numbers_json(estimate)}
                for label, raw, estimate in zip(
                    labels_of(question), alone.reported, estimates, strict=True
                )
            ]
            here = None if rated is None else numbers_json(rated.at_level(name))
            by_level.append({**_level(name, sent), "options": options, "mean": here})
    found["forecast_standard_error"] = _forecast(question, sent)
    found["headline"] = headline(found, question)
    found["precision"] = precision(found, question, offered)
    # One level is the whole already.
    found["by_level"] = by_level if len(n) > 1 else []
    return found


def is_number(question: Question, sent: Sent) -> bool:
    """Return whether a question is about numbers with noise, not about categories."""
    return isinstance(question, Number) or any(
        isinstance(mechanism, DiscreteGaussian) for _, mechanism in sent.values()
    )


def question_shares(sent: Sent, pool: Mapping[str, int] | None) -> LevelShares:
    """Return the shares of people behind each answer."""
    return level_shares(_counts(sent), pool=pool, confidence=CONFIDENCE)


def option_shares(
    question: Question, sent: Sent, pool: Mapping[str, int] | None
) -> LevelShares | OptionShares:
    """Return the shares of people behind each option, of which a person may have several."""
    if isinstance(question, SeveralOf):
        return OptionShares.of(sent, pool, confidence=CONFIDENCE)
    return question_shares(sent, pool)


def number_mean(question: Question, sent: Sent, pool: Mapping[str, int] | None) -> LevelMean:
    """Return the mean of a number."""
    return level_mean(_numeric(sent), lattice_of(question), pool=pool, confidence=CONFIDENCE)


def heterogeneity_json(found: Heterogeneity) -> dict[str, Any] | None:
    """Return a test of whether levels differ; None where there is one level only."""
    if not found.degrees:
        return None
    return {
        "statistic": found.statistic,
        "degrees": found.degrees,
        "probability": found.probability,
        "differ": found.differ,
    }


def _shown(counted: Mapping[str, int | None]) -> list[str]:
    # Neither levels that nobody chose (0) nor those that are withheld (None).
    return [name for name, count in counted.items() if count]


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


def _plausibility(found: Plausibility) -> dict[str, Any]:
    return {
        "probability": found.probability,
        "doubtful": found.doubtful,
        "reason": found.reason,
    }


def _level(name: str, sent: Sent) -> dict[str, Any]:
    reports, mechanism = sent[name]
    return {"level": name, "n": len(reports), "mechanism": str(mechanism)}


def _options_json(
    question: Question,
    shares: LevelShares | OptionShares,
    estimator: str,
    known: list[float] | None,
) -> list[dict[str, Any]]:
    found = {name: shares.estimates(name) for name in ESTIMATORS}
    # Intervals that hold for all options at once, beside those of each alone.
    together = shares.estimates(estimator, simultaneous=True)
    wider, likeliest = shares.sensitivity(), shares.likeliest()
    # Of options that one person can hold together, how sums of them vary is not known.
    top = None if isinstance(shares, OptionShares) else shares.top_probability(estimator)
    return [
        {
            "label": label,
            "reported_share": float(shares.reported[code]),
            "known_share": None if known is None else known[code],
            **numbers_json(found[estimator][code]),
            "simultaneous_low": together[code].low,
            "simultaneous_high": together[code].high,
            "top_probability": None if top is None else float(top[code]),
            "likeliest_share": float(likeliest[code]),
            "sensitivity": numbers_json(wider[code]),
            "estimators": {name: numbers_json(found[name][code]) for name in ESTIMATORS},
        }
        for code, label in enumerate(labels_of(question))
    ]


def _mean_json(mean: LevelMean, estimator: str, known: tuple[bool, float | None]) -> dict[str, Any]:
    found = {
        **numbers_json(mean.estimate(estimator)),
        "heterogeneity": heterogeneity_json(mean.heterogeneity),
        "sensitivity": numbers_json(mean.sensitivity()),
        "estimators": {name: numbers_json(mean.estimate(name)) for name in ESTIMATORS},
    }
    return {**found, "known_mean": known[1]} if known[0] else found


def _known_of_number(question: Question, known: list[float] | None) -> tuple[bool, float | None]:
    if known is None:
        return False, None
    assert isinstance(question, Number | Rating)
    step = question.step if isinstance(question, Number) else 1
    return _known_of_scores([question.low + step * place for place in range(len(known))], known)


def _known_of_scores(
    scores: Sequence[float] | None, known: list[float] | None
) -> tuple[bool, float | None]:
    if known is None or scores is None:
        return False, None
    # "prefer not to say" has no score; the mean is of those who have one.
    held = sum(known[: len(scores)])
    if not held:
        return True, None
    return True, sum(s * k for s, k in zip(scores, known, strict=False)) / held


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


def numbers_json(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate as a JSON object; what is not known is None."""
    numbers = {
        "value": estimate.value,
        "shown": estimate.shown,
        "low": estimate.low,
        "high": estimate.high,
        "standard_error": estimate.standard_error,
        "sampling_error": estimate.sampling_error,
        "mechanism_error": estimate.mechanism_error,
        "level_error": estimate.level_error,
    }
    # JSON has neither NaN nor infinity.
    return {key: value if math.isfinite(value) else None for key, value in numbers.items()}
