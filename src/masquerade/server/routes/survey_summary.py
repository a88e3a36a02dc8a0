"""A survey as its owner's pages and the demonstration show it: questions, levels, promises."""

from __future__ import annotations

from typing import Any

from masquerade.server.surveys.frozen_surveys import SurveyRecord


def described(survey: SurveyRecord) -> dict[str, Any]:
    """Return what pages say of a survey; without right answers and counts."""
    definition = survey.definition
    return {
        "token": survey.token,
        "title": definition.title,
        "answers": len(definition.questions),
        "levels": [level.to_json() for level in definition.levels],
        "questions": [
            {"text": question.text, "labels": _labels(question)}
            for question in definition.questions
        ],
    }


def _labels(question: Any) -> list[str]:
    if question.labels:
        return list(question.labels)
    return [f"{question.low} to {question.high} {question.unit}"]
