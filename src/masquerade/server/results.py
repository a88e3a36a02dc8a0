"""Results of a survey: the library's estimates, gathered for pages and files."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from masquerade import __version__
from masquerade.accounting import Rho
from masquerade.answers import Claims, Number, Question, Rating
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Lattice, Mechanism
from masquerade.server.definition import CLEAR
from masquerade.server.store import Response, Survey
from masquerade.server.template import LABEL
from masquerade.truth import (
    Estimate,
    OneCoin,
    PooledShares,
    Shares,
    estimate_shares,
    pool_mean,
    pool_shares,
)

NO_ANSWER = "Prefer not to say"
CONFIDENCE = 0.95
MEAN = "(mean)"
FEWEST_SHOWN = 5
"""People at a level below which that level is not shown by itself."""

RESPONDENT = "respondent"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def compute(survey: Survey, responses: list[Response]) -> dict[str, Any]:
    """Return the result of a survey as one JSON object.

    For each question: the share of people behind each answer, unbiased, with an interval that
    holds sampling and masks; the mean of a rating or number; the raw reported shares as the
    baseline. Where people chose among several levels, everybody counts once (`pool_shares`), and
    each level that enough people chose is shown by itself too. For labelled items also the
    inferred label of each item with its probability.
    """
    definition = survey.definition
    groups = {
        level.name: [r for r in responses if r.level == level.name] for level in definition.levels
    }
    weakest = max(definition.levels, key=lambda level: level.guarantee().epsilon_user)
    clear = len(groups.get(CLEAR, [])) * len(definition.questions)
    result: dict[str, Any] = {
        "survey": survey.token,
        "title": definition.title,
        "state": survey.state,
        "responses": len(responses),
        "confidence": CONFIDENCE,
        "estimator": RESPONDENT,
        "level": definition.fixed_level,
        "levels": [
            {
                "name": level.name,
                "responses": len(groups[level.name]),
                "share": len(groups[level.name]) / len(responses) if responses else None,
                "guarantee": level.guarantee().to_json(),
                "rho_each": Rho(level.cost(survey.token).micro_rho).to_json(),
                "mechanisms": [str(mechanism) for mechanism in level.mechanisms],
            }
            for level in definition.levels
        ],
        # Of the level that protects least: nobody has less.
        "guarantee_per_participant": weakest.guarantee().to_json(),
        "ledger": {
            "responses": len(responses),
            "epsilon_user_each": weakest.guarantee().epsilon_user.to_json(),
            "clear_disclosures": clear,
        },
        "simulated": survey.simulated_truth is not None,
        "hash": survey.hash,
        "version": __version__,
        "questions": [],
        "labels": [],
    }
    if not responses:
        return result
    result["questions"] = [
        _question(survey, index, question, groups)
        for index, question in enumerate(definition.questions)
    ]
    if definition.template == LABEL:
        result["labels"] = _labels(survey, groups)
    return result


def as_csv(result: dict[str, Any]) -> str:
    """Return the shares and means of a result as a CSV table, safe to open in a spreadsheet.

    A row whose option is ``(mean)`` holds the mean of a rating or number in place of a share. Rows
    of level ``all`` are over everybody.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    errors = ("low", "high", "standard_error", "sampling_error", "mechanism_error")
    writer.writerow(
        (
            "question",
            "text",
            "level",
            "option",
            "n",
            "reported_share",
            "share",
            *errors,
            "mechanism",
        )
    )
    for question in result["questions"]:
        for part in (question, *question["by_level"]):
            start = (question["id"], _safe(question["text"]), part.get("level", "all"))
            for option in part["options"]:
                numbers = (option["reported_share"], option["share"], *(option[e] for e in errors))
                writer.writerow(
                    (*start, _safe(option["label"]), part["n"], *numbers, part["mechanism"])
                )
            if part["mean"] is not None:
                mean = part["mean"]
                numbers = (None, mean["mean"], *(mean[e] for e in errors))
                writer.writerow((*start, MEAN, part["n"], *numbers, part["mechanism"]))
    return out.getvalue()


def _question(
    survey: Survey, index: int, question: Question, groups: dict[str, list[Response]]
) -> dict[str, Any]:
    known = (survey.simulated_truth or {}).get(question.id)
    sent = {
        name: (
            [response.reports[index] for response in group],
            survey.definition.level(name).mechanisms[index],
        )
        for name, group in groups.items()
        if group
    }
    by_level = [
        {"level": name, **_estimated(question, [(reports, mechanism)], None)}
        for name, (reports, mechanism) in sent.items()
        if len(reports) >= FEWEST_SHOWN
    ]
    return {
        "id": question.id,
        "text": question.text,
        "kind": question.kind,
        "unit": getattr(question, "unit", ""),
        **_estimated(question, list(sent.values()), known),
        # One level is the whole already.
        "by_level": by_level if len(groups) > 1 else [],
    }


def _estimated(
    question: Question, sent: list[tuple[list[int], Mechanism]], known: list[float] | None
) -> dict[str, Any]:
    """Return what a question's reports say, at one level or at several."""
    numbers = isinstance(question, Number) or any(
        isinstance(mechanism, DiscreteGaussian) for _, mechanism in sent
    )
    estimated = {
        "n": sum(len(reports) for reports, _ in sent),
        "mechanism": "; ".join(dict.fromkeys(str(mechanism) for _, mechanism in sent)),
    }
    if numbers:
        return {**estimated, "options": [], "mean": _mean_of_numbers(question, sent, known)}
    shares = _shares(sent)
    labels = [*question.labels, *([NO_ANSWER] if question.allow_skip else [])]
    options = [
        {
            "label": label,
            "reported_share": float(reported),
            "known_share": None if known is None else known[code],
            **_numbers(estimate, "share"),
        }
        for code, (label, reported, estimate) in enumerate(
            zip(labels, shares.reported, shares.estimates, strict=True)
        )
    ]
    mean = None
    if question.scores is not None:
        mean = _numbers(shares.mean(question.scores), "mean")
        if known is not None:
            mean["known_mean"] = _known_mean(known, question.scores)
    return {**estimated, "options": options, "mean": mean}


def _shares(sent: list[tuple[list[int], Mechanism]]) -> Shares | PooledShares:
    counted = []
    for reports, mechanism in sent:
        assert isinstance(mechanism, CategoricalMechanism)
        counts = Counter(reports)
        counted.append(([counts[code] for code in range(mechanism.symbols)], mechanism))
    if len(counted) == 1:
        return estimate_shares(*counted[0], confidence=CONFIDENCE)
    return pool_shares(counted, confidence=CONFIDENCE)


def _mean_of_numbers(
    question: Question, sent: list[tuple[list[int], Mechanism]], known: list[float] | None
) -> dict[str, Any]:
    assert isinstance(question, Number | Rating)
    step = question.step if isinstance(question, Number) else 1
    groups = []
    for reports, mechanism in sent:
        assert isinstance(mechanism, CategoricalMechanism | DiscreteGaussian)
        groups.append((reports, mechanism))
    mean = _numbers(
        pool_mean(groups, Lattice(question.low, question.high, step), confidence=CONFIDENCE), "mean"
    )
    if known is not None:
        points = [question.low + step * place for place in range(len(known))]
        mean["known_mean"] = _known_mean(known, points)
    return mean


def _known_mean(known: Sequence[float], scores: Sequence[float]) -> float | None:
    held = sum(known[: len(scores)])
    return sum(s * k for s, k in zip(scores, known, strict=False)) / held if held else None


def _labels(survey: Survey, groups: dict[str, list[Response]]) -> list[dict[str, Any]]:
    """Return the inferred label of each item, from all levels together.

    Each level's people are inferred with that level's mask. Given an item's label they report
    independently of the others, so that what the levels say of an item multiplies.
    """
    definition = survey.definition
    labels = [*definition.questions[0].labels]
    fits = [
        _fit(survey, definition.level(name).mechanisms[0], group)
        for name, group in groups.items()
        if group
    ]
    rows = []
    for question in definition.questions:
        held = [math.prod(fit[0][question.id][label] for fit in fits) for label in labels]
        total = sum(held)
        best = max(range(len(labels)), key=lambda place: held[place]) if total else None
        if len(fits) == 1:
            label = fits[0][1].get(question.id)
            probability = fits[0][0][question.id].get(label)
        else:
            label = None if best is None else labels[best]
            probability = None if best is None else held[best] / total
        rows.append(
            {
                "id": question.id,
                "item": question.text,
                "label": label,
                "probability": probability,
                "known_label": getattr(question, "truth", None),
                "orientation_ambiguous": any(fit[2] for fit in fits),
            }
        )
    return rows


def _fit(
    survey: Survey, mechanism: Mechanism, responses: list[Response]
) -> tuple[dict[Any, dict[Any, float]], dict[Any, Any], bool]:
    """Return posteriors, labels and whether the labels may be swapped, from one level's people."""
    questions = survey.definition.questions
    labels = [*questions[0].labels]
    rows = [
        (question.id, response.pseudonym, report)
        for response in responses
        for question, report in zip(questions, response.reports, strict=True)
    ]
    claims = Claims.from_frame(
        {
            "task": [row[0] for row in rows],
            "worker": [row[1] for row in rows],
            "label": [labels[row[2]] if row[2] < len(labels) else None for row in rows],
        },
        options=labels,
        null=mechanism.null,
    )
    fit = OneCoin().fit(claims, mechanism=mechanism)
    inferred = {row["task"]: row["label"] for row in fit.truths_.to_pylist()}
    # By place: an option may be named like another column.
    tasks, *columns = (column.to_pylist() for column in fit.posteriors_.columns)
    posterior: dict[Any, dict[Any, float]] = {
        task: dict(zip(labels, row, strict=True))
        for task, *row in zip(tasks, *columns, strict=True)
    }
    return posterior, inferred, bool(fit.orientation_ambiguous_)


def _numbers(estimate: Estimate, name: str) -> dict[str, Any]:
    numbers = {
        name: estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "standard_error": estimate.standard_error,
        "sampling_error": estimate.sampling_error,
        "mechanism_error": estimate.mechanism_error,
    }
    return {key: value if math.isfinite(value) else None for key, value in numbers.items()}


def _safe(text: str) -> str:
    """Keep a spreadsheet from reading a text as a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
