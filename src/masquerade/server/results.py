"""Results of a survey: the library's estimates, gathered for pages and files."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from typing import Any

from masquerade import __version__
from masquerade.answers import Claims, Question
from masquerade.mechanisms import CategoricalMechanism
from masquerade.server.store import Response, Survey
from masquerade.server.template import LABEL
from masquerade.truth import Estimate, OneCoin, estimate_shares

NO_ANSWER = "Prefer not to say"
CONFIDENCE = 0.95
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def compute(survey: Survey, responses: list[Response]) -> dict[str, Any]:
    """Return the result of a survey as one JSON object.

    For each question: the share of people behind each answer, unbiased, with an interval that
    holds sampling and masks; the mean of a rating; the raw reported shares as the baseline. For
    labelled items also the inferred label of each item with its probability.
    """
    definition = survey.definition
    pairs = list(zip(definition.questions, definition.mechanisms, strict=True))
    guarantee = definition.guarantee()
    result: dict[str, Any] = {
        "survey": survey.token,
        "title": definition.title,
        "state": survey.state,
        "responses": len(responses),
        "confidence": CONFIDENCE,
        "level": definition.level,
        "guarantee_per_participant": guarantee.to_json(),
        "ledger": {
            "responses": len(responses),
            "epsilon_user_each": guarantee.epsilon_user.to_json(),
            "clear_disclosures": 0,
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
        _question(survey, index, question, mechanism, responses)
        for index, (question, mechanism) in enumerate(pairs)
    ]
    if definition.template == LABEL:
        result["labels"] = _labels(survey, responses)
    return result


def as_csv(result: dict[str, Any]) -> str:
    """Return the shares of a result as a CSV table, safe to open in a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    columns = ("share", "low", "high", "standard_error", "sampling_error", "mechanism_error")
    writer.writerow(("question", "text", "option", "n", "reported_share", *columns, "mechanism"))
    for question in result["questions"]:
        for option in question["options"]:
            writer.writerow(
                (
                    question["id"],
                    _safe(question["text"]),
                    _safe(option["label"]),
                    question["n"],
                    option["reported_share"],
                    *(option[column] for column in columns),
                    question["mechanism"],
                )
            )
    return out.getvalue()


def _question(
    survey: Survey,
    index: int,
    question: Question,
    mechanism: CategoricalMechanism,
    responses: list[Response],
) -> dict[str, Any]:
    counts = Counter(response.reports[index] for response in responses)
    shares = estimate_shares(
        [counts[code] for code in range(mechanism.symbols)], mechanism, confidence=CONFIDENCE
    )
    labels = [*question.labels, *([NO_ANSWER] if question.allow_skip else [])]
    known = (survey.simulated_truth or {}).get(question.id)
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
            held = sum(known[: len(question.scores)])
            score = sum(s * k for s, k in zip(question.scores, known, strict=False))
            mean["known_mean"] = score / held if held else None
    return {
        "id": question.id,
        "text": question.text,
        "kind": question.kind,
        "n": shares.n,
        "mechanism": str(mechanism),
        "options": options,
        "mean": mean,
    }


def _labels(survey: Survey, responses: list[Response]) -> list[dict[str, Any]]:
    definition = survey.definition
    mechanism = definition.mechanisms[0]
    questions = definition.questions
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
    return [
        {
            "id": question.id,
            "item": question.text,
            "label": inferred.get(question.id),
            "probability": posterior.get(question.id, {}).get(inferred.get(question.id)),
            "known_label": getattr(question, "truth", None),
            "orientation_ambiguous": bool(fit.orientation_ambiguous_),
        }
        for question in questions
    ]


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
