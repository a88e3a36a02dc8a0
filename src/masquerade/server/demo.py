"""The demonstration: one finished survey of made-up people, one open survey to answer oneself.

What its people answer, and what the masks make of it, is drawn from a seed, so that everybody is
shown the same, typical result. Nobody is behind these reports; those of a visitor are drawn by the
operating system, as everywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from random import Random

from masquerade.mechanisms import mask_response
from masquerade.server.participants.steps import Participation
from masquerade.server.services import Services
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.server.surveys.templates import PICK
from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.offered_levels import ALL_LEVELS
from masquerade.surveys.survey import Survey, commitment_of

PEOPLE = 200
SHOWN_PEOPLE = 8
FINISHED_TITLE = "Work and health"
_AT_ONCE = 25
# Of those tried, one whose estimates lie as far from the truth as their standard errors say.
_SEED = 217

QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill because you feared for your job?", ("Yes", "No")),
    Rating("stress", "How stressful is your work?", low_label="calm", high_label="overwhelming"),
    Choice(
        "tell",
        "Whom would you tell first if you could not go on?",
        ("My manager", "A colleague", "Someone outside work", "Nobody"),
    ),
)
SHARES = {
    "ill": [0.62, 0.38],
    "stress": [0.05, 0.15, 0.25, 0.35, 0.20],
    "tell": [0.12, 0.22, 0.38, 0.28],
}


def seed_demo(services: Services) -> None:
    """Fill an empty database with the demonstration's two surveys."""
    if services.surveys.records():
        return
    finished = _definition(
        FINISHED_TITLE,
        "200 made-up people answered these three questions. Each answer was masked by the same "
        "code that masks on a phone.",
        "low",
    )
    survey = services.surveys.open_survey(finished, simulated_truth=SHARES)
    people = list(zip(made_up_people(), _reports(finished), strict=True))
    # At once, as people do: what waits for the disk then waits together.
    with ThreadPoolExecutor(_AT_ONCE) as crowd:
        list(crowd.map(lambda one: take_part(services, survey, one[0], reports=one[1]), people))
    services.surveys.close(survey)
    services.surveys.open_survey(
        _definition(
            f"{FINISHED_TITLE}: your turn",
            "Answer it yourself. Your answers stay in this browser; only masked reports are sent.",
            *ALL_LEVELS,
        )
    )


@lru_cache(maxsize=1)
def made_up_people() -> tuple[tuple[int, ...], ...]:
    """Return made-up people's answers, in which each answer has exactly its known share."""
    columns, chance = [], Random(_SEED)
    for question in QUESTIONS:
        column = [
            code
            for code, share in enumerate(SHARES[question.id])
            for _ in range(round(share * PEOPLE))
        ]
        chance.shuffle(column)
        columns.append(column)
    return tuple(zip(*columns, strict=True))


def _reports(survey: Survey) -> list[list[int]]:
    """Return masked answers of the made-up people, by the masks' own probabilities."""
    [level], chance = survey.levels, Random(_SEED)
    responses = [mechanism.option_response for mechanism in level.mechanisms]
    masks = [response.channel() for response in responses if response is not None]
    tables = [[[float(entry) for entry in row] for row in mask.table] for mask in masks]
    return [
        [
            chance.choices(range(len(table[code])), table[code])[0]
            for table, code in zip(tables, answers, strict=True)
        ]
        for answers in made_up_people()
    ]


def take_part(
    services: Services,
    survey: SurveyRecord,
    answers: Sequence[int],
    *,
    level: str | None = None,
    reports: Sequence[int] | None = None,
) -> Participation:
    """Go through all steps of the protocol for one made-up person, as a device does.

    `answers`: a code for each question, all of which have options.
    `level` (optional): default: the first that the survey offers.
    `reports` (optional): of a person who is made up with their masks; default: drawn here.
    """
    who, steps = services.identity(secrets.token_hex(16)), services.participations
    chosen = survey.survey.levels[0] if level is None else survey.survey.level(level)
    begun, _ = steps.reserve(who, survey.token, chosen.name, idempotency_key=secrets.token_hex(16))
    steps.open(who, begun.id)
    sent = mask_response(answers, chosen.mechanisms) if reports is None else list(reports)
    salt = secrets.token_hex(16)
    steps.seal(who, begun.id, commitment_of(begun.id, sent, salt))
    done, _ = steps.respond(
        who, begun.id, reports=sent, salt=salt, level=chosen.name, survey_hash=survey.hash
    )
    return done


def _definition(title: str, description: str, *levels: str) -> Survey:
    return Survey.at_levels(
        title=title, description=description, template=PICK, levels=levels, questions=QUESTIONS
    )
