"""What the reports to one question say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Number, Question, Rating
from masquerade.findings.codebook import labels_of, lattice_of
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism
from masquerade.truth import (
    ESTIMATORS,
    Estimate,
    Heterogeneity,
    LevelMean,
    LevelShares,
    level_mean,
    level_shares,
)
from masquerade.truth.response_channel import ResponseChannel

CONFIDENCE = 0.95
FEWEST_SHOWN = 5
"""People at a level below which that level is not shown by itself."""

Sent = Mapping[str, tuple[NDArray[np.int64], Mechanism]]
"""For each level that somebody chose, the reports to a question and their mechanism."""


def question_result(
    question: Question,
    sent: Sent,
    *,
    estimator: str,
    pool: Mapping[str, int] | None,
    known: list[float] | None,
) -> dict[str, Any]:
    """Return what the reports to one question say, as a JSON object.

    Parameters
    ----------
    question : Question
    sent : mapping of str to (int array, Mechanism)
        At each level.
    estimator : str
        Whose figures stand first.
    pool : mapping of str to int, or None
        Of the same levels.
    known : list of float or None
        Shares of a made-up crowd.
    """
    n = {name: len(reports) for name, (reports, _) in sent.items()}
    found: dict[str, Any] = {
        "id": question.id,
        "text": question.text,
        "kind": question.kind,
        "unit": getattr(question, "unit", ""),
        "n": sum(n.values()),
        "n_by_level": n,
        "estimator": estimator,
        "mechanism": "; ".join(dict.fromkeys(str(mechanism) for _, mechanism in sent.values())),
    }
    if is_number(question, sent):
        mean = number_mean(question, sent, pool)
        found |= {
            "options": [],
            "heterogeneity": heterogeneity_json(mean.heterogeneity),
            "mean": _mean_json(mean, estimator, _known_of_number(question, known)),
        }
        by_level = [
            {**_level(name, sent), "options": [], "mean": _numbers(mean.at_level(name), "mean")}
            for name in _shown(n)
        ]
    else:
        shares = question_shares(sent, pool)
        found |= {
            "options": _options_json(question, shares, estimator, known),
            "heterogeneity": heterogeneity_json(shares.heterogeneity),
        }
        rated = None if question.scores is None else shares.mean(question.scores)
        found["mean"] = (
            None
            if rated is None
            else _mean_json(rated, estimator, _known_of_scores(question.scores, known))
        )
        by_level = []
        for name in _shown(n):
            alone = question_shares({name: sent[name]}, None)
            estimates = alone.estimates()
            options = [
                {"label": label, "reported_share": float(raw), **_numbers(estimate, "share")}
                for label, raw, estimate in zip(
                    labels_of(question), alone.reported, estimates, strict=True
                )
            ]
            here = None if rated is None else _numbers(rated.at_level(name), "mean")
            by_level.append({**_level(name, sent), "options": options, "mean": here})
    found["forecast_standard_error"] = _forecast(question, sent)
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
    groups = {}
    for name, (reports, mechanism) in sent.items():
        assert isinstance(mechanism, CategoricalMechanism)
        groups[name] = (np.bincount(reports, minlength=mechanism.symbols).tolist(), mechanism)
    return level_shares(groups, pool=pool, confidence=CONFIDENCE)


def number_mean(question: Question, sent: Sent, pool: Mapping[str, int] | None) -> LevelMean:
    """Return the mean of a number."""
    groups = {}
    for name, (reports, mechanism) in sent.items():
        assert isinstance(mechanism, CategoricalMechanism | DiscreteGaussian)
        groups[name] = (reports, mechanism)
    return level_mean(groups, lattice_of(question), pool=pool, confidence=CONFIDENCE)


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


def _shown(n: Mapping[str, int]) -> list[str]:
    return [name for name, count in n.items() if count >= FEWEST_SHOWN]


def _level(name: str, sent: Sent) -> dict[str, Any]:
    reports, mechanism = sent[name]
    return {"level": name, "n": len(reports), "mechanism": str(mechanism)}


def _options_json(
    question: Question, shares: LevelShares, estimator: str, known: list[float] | None
) -> list[dict[str, Any]]:
    found = {name: shares.estimates(name) for name in ESTIMATORS}
    together = shares.estimates(estimator, simultaneous=True)
    wider, likeliest = shares.sensitivity(), shares.likeliest()
    top = shares.top_probability(estimator)
    return [
        {
            "label": label,
            "reported_share": float(shares.reported[code]),
            "known_share": None if known is None else known[code],
            **_numbers(found[estimator][code], "share"),
            "simultaneous_low": together[code].low,
            "simultaneous_high": together[code].high,
            "top_probability": float(top[code]),
            "likeliest_share": float(likeliest[code]),
            "sensitivity": _numbers(wider[code], "share"),
            "estimators": {name: _numbers(found[name][code], "share") for name in ESTIMATORS},
        }
        for code, label in enumerate(labels_of(question))
    ]


def _mean_json(mean: LevelMean, estimator: str, known: tuple[bool, float | None]) -> dict[str, Any]:
    found = {
        **_numbers(mean.estimate(estimator), "mean"),
        "heterogeneity": heterogeneity_json(mean.heterogeneity),
        "sensitivity": _numbers(mean.sensitivity(), "mean"),
        "estimators": {name: _numbers(mean.estimate(name), "mean") for name in ESTIMATORS},
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
            noise = mechanism.variance() if isinstance(mechanism, DiscreteGaussian) else 0.0
            total += len(reports) * ((float(lattice.high - lattice.low) / 4) ** 2 + noise)
        else:
            assert isinstance(mechanism, CategoricalMechanism)
            channel = ResponseChannel.of(mechanism)
            reported = channel.other + channel.signal / 2
            total += len(reports) * reported * (1 - reported) / channel.signal**2
    return math.sqrt(total) / n


def _numbers(estimate: Estimate, name: str) -> dict[str, Any]:
    numbers = {
        name: estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "standard_error": estimate.standard_error,
        "sampling_error": estimate.sampling_error,
        "mechanism_error": estimate.mechanism_error,
        "level_error": estimate.level_error,
    }
    return {key: value if math.isfinite(value) else None for key, value in numbers.items()}
