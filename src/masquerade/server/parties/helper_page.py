"""A task in plain words, for the operator who has to approve or refuse it."""

from __future__ import annotations

import base64
import math
from datetime import UTC, datetime
from typing import Any

from masquerade.server.parties.helper_tasks import HelperTask
from masquerade.surveys import Comparison, Number, Question
from masquerade.surveys.two_parties import expected_margin


def task_view(task: HelperTask, counts: tuple[int, int]) -> dict[str, Any]:
    """Return what the operator reads of a task: questions, people, noise, guarantee, counts."""
    survey, split = task.survey, task.split
    noise = survey.split_noise
    promise = noise.guarantee()
    margins = [
        expected_margin(noise, place, question, people=task.people)
        for place, question in enumerate(survey.questions)
    ]
    shares = [width for kind, width in margins if kind == "share"]
    # The noise of both parties on a count, as people who read the result see it.
    deviation = math.sqrt(float(noise.published_variance(0)))
    assert survey.two_parties is not None
    return {
        "id": task.id,
        "address": task_address(task.id),
        "title": survey.title,
        "description": survey.description,
        "state": task.state,
        "leader": split.task.configuration.leader_aggregator_endpoint.decode("ascii"),
        "questions": [
            {"text": question.text, "answers": answers_in_words(question)}
            for question in survey.questions
        ],
        "cross": [f"{first} × {second}" for first, second in survey.two_parties.cross],
        "people": task.people,
        "minimum": split.minimum,
        "expires": datetime.fromtimestamp(split.terms.expires, UTC).date().isoformat(),
        "noise": f"{deviation:.1f}",
        "margin": f"{100 * max(shares):.1f}" if shares else None,
        "rho": f"{float(noise.rho):g}",
        "epsilon": f"{promise.epsilon_user.epsilon:.2f}",
        "delta": f"1 in {math.floor(1 / promise.delta):,}",
        "assumptions": promise.assumptions,
        "count": counts[0],
        "refused": counts[1],
    }


def task_address(task: str) -> str:
    """Return the part of an address that names a task: in base64, as DAP says.

    Examples
    --------
    >>> task_address("00" * 31 + "01")
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE'
    """
    return base64.urlsafe_b64encode(bytes.fromhex(task)).decode().rstrip("=")


def answers_in_words(question: Question) -> str:
    """Return what can be answered to a question."""
    if isinstance(question, Number):
        return f"{question.low} to {question.high} {question.unit}"
    parts = ", ".join(question.labels)
    if isinstance(question, Comparison):
        parts = " or ".join(question.labels)
    return f"{parts}, or prefer not to say" if question.allow_skip else parts
