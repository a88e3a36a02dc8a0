"""A task in plain words, for the operator's decision to approve or refuse it."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from masquerade.server.parties.helper_proposals import NearCopy
from masquerade.server.parties.helper_tasks import HelperTask
from masquerade.surveys import Question
from masquerade.surveys.question import NOT_SAID
from masquerade.surveys.question_encoding import ON_COUNTS
from masquerade.surveys.survey import Survey


class QuestionView(TypedDict):
    """A question of a task in words."""

    text: str
    answers: str
    condition: str | None
    counted: str
    noise: str


class CrossView(TypedDict):
    """A cross table of a task in words."""

    text: str
    cells: int
    noise: str


class StateView(TypedDict):
    """The states of a question in a task: shown, skipped, not said."""

    text: str
    symbols: str
    noise: str


class TaskView(TypedDict):
    """A task in words, with its figures as they are shown."""

    id: str
    address: str
    title: str
    description: str
    state: str
    proposer: str
    leader: str
    questions: list[QuestionView]
    cross: list[CrossView]
    states: list[StateView]
    people: int
    minimum: int
    day: str
    last_day: str
    expires: str
    noise: str
    margin: str | None
    rho: str
    epsilon: str
    delta: str
    assumptions: tuple[str, ...]
    count: int
    refused: int
    repeats: int
    copies: Sequence[NearCopy]


def task_view(
    task: HelperTask,
    counts: tuple[int, int],
    leaders: Mapping[str, str],
    *,
    copies: Sequence[NearCopy] = (),
) -> TaskView:
    """Return the operator's view of a task: questions, people, noise, guarantee, counts.

    `leaders` gives the name of each leader by its id; `copies` are nearly equal surveys that
    were approved before.
    """
    from masquerade.results.forecasts import forecast  # dear to load

    survey, split = task.survey, task.split
    end = datetime.fromtimestamp(split.terms.expires, UTC).date()
    noise = survey.split_noise
    promise = noise.guarantee()
    everybody = {level.name: task.people for level in survey.levels}
    # All votes on a list stand in one block, that of its first vote.
    parts = survey.encoding.parts
    places = [place for place, one in enumerate(survey.questions) if one.id in parts]
    expected = [forecast(survey, place, everybody) for place in places]
    shares = [one.margin for one in expected if one.kind == "share"]
    assert survey.two_parties is not None
    return {
        "id": task.id,
        "address": task_address(task.id),
        "title": survey.title,
        "description": survey.description,
        "state": task.state,
        "proposer": leaders.get(task.leader or "", "unknown"),
        "leader": split.task.configuration.leader_aggregator_endpoint.decode("ascii"),
        "questions": [_question(survey, place) for place in places],
        "cross": _cross(survey),
        "states": _states(survey),
        "people": task.people,
        "minimum": split.minimum,
        "day": task.day,
        "last_day": (end - timedelta(days=1)).isoformat(),
        "expires": end.isoformat(),
        "noise": _noise(survey, 0),
        "margin": f"{100 * max(shares):.1f}" if shares else None,
        "rho": f"{float(noise.rho):g}",
        "epsilon": f"{promise.epsilon_user.epsilon:.2f}",
        "delta": f"1 in {math.floor(1 / promise.delta):,}",
        "assumptions": promise.assumptions,
        "count": counts[0],
        "refused": counts[1],
        "repeats": len(copies),
        "copies": copies,
    }


def _question(survey: Survey, place: int) -> QuestionView:
    question = survey.questions[place]
    return {
        "text": question.text,
        "answers": answers_in_words(question),
        "condition": _condition(survey, place),
        "counted": _counted(survey, place),
        "noise": _noise(survey, survey.encoding.place(question.id)),
    }


def _cross(survey: Survey) -> list[CrossView]:
    encoding, first = survey.encoding, survey.encoding.tables_from
    return [
        {
            "text": " × ".join(_text(survey, one) for one in pair),
            "cells": encoding.blocks[first + place].outputs,
            "noise": _noise(survey, first + place),
        }
        for place, pair in enumerate(encoding.cross)
    ]


def _states(survey: Survey) -> list[StateView]:
    encoding = survey.encoding
    first = encoding.states_from
    return [
        {
            "text": _text(survey, question),
            "symbols": ", ".join(symbols),
            "noise": _noise(survey, first + place),
        }
        for place, (question, symbols) in enumerate(encoding.states.items())
    ]


def _noise(survey: Survey, block: int) -> str:
    """Return one standard deviation of the noise in a published block, in words."""
    # The noise of both parties, as people who read the result see it.
    deviation = math.sqrt(float(survey.split_noise.published_variance(block)))
    parts = [*survey.encoding.parts.values()]
    step, counted = parts[block].unit_of_noise() if block < len(parts) else (1.0, ON_COUNTS)
    return f"{deviation * step:,.1f} {counted}"


def _counted(survey: Survey, place: int) -> str:
    """Return the sums that are made of a question, in words."""
    return survey.encoding.of(survey.questions[place].id).in_words()


def _condition(survey: Survey, place: int) -> str | None:
    """Return the condition under which a question is asked, in words; None where it always is."""
    condition = survey.conditions[place] if survey.conditions else None
    if condition is None:
        return None
    return f"asked only after {condition.in_words(lambda name: _text(survey, name))}"


def _text(survey: Survey, question: str) -> str:
    return next(one.text for one in survey.questions if one.id == question)


def task_address(task: str) -> str:
    """Return the part of an address that names a task: in base64, as DAP says.

    Examples
    --------
    >>> task_address("00" * 31 + "01")
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE'
    """
    return base64.urlsafe_b64encode(bytes.fromhex(task)).decode().rstrip("=")


def answers_in_words(question: Question) -> str:
    """Return the possible answers to a question, in words."""
    return f"{question.choices}, or {NOT_SAID}" if question.allow_skip else question.choices
