"""A pulse of a company's people in ten questions, and crowds that answer it as real ones do."""

from __future__ import annotations

import numpy as np

from masquerade.results import SurveyReports
from masquerade.results.simulated import simulate_reports
from masquerade.surveys import Choice, Number, PromoterScore, Question, Rating, SeveralOf
from masquerade.surveys.question import Answer
from masquerade.surveys.survey import Survey

SITES = ("Head office", "Factory", "Home")
BUSY = ("Fewer meetings", "More people")
PULSE: tuple[Question, ...] = (
    Choice("site", "Where do you work most of the week?", SITES),
    Choice("lead", "Do you lead a team?", ("Yes", "No")),
    PromoterScore("nps", "How likely are you to recommend us to a friend as a place to work?"),
    Rating("load", "How heavy was your workload last month?", low_label="light"),
    Rating("trust", "I can tell my manager when something goes wrong.", allow_skip=True),
    Choice(
        "ill", "Have you worked while ill in the last three months?", ("Never", "Once", "Often")
    ),
    Choice("pay", "Is your pay fair?", ("Yes", "No", "I can’t say"), allow_skip=True),
    Number("hours", "How many hours of overtime did you work last week?", 0, 40, "hours"),
    SeveralOf(
        "help", "What would help you most?", ("Fewer meetings", "More people", "Quiet", "Training")
    ),
    Choice("stay", "Do you expect to be here in a year?", ("Yes", "No", "Not sure")),
)


def pulse(levels: tuple[str, ...] = ("high", "medium", "low")) -> Survey:
    """Return the survey, masked on devices."""
    return Survey.at_levels(title="Pulse of May", questions=PULSE, levels=levels)


def pulse_reports(survey: Survey, people: int, *, seed: int = 5) -> SurveyReports:
    """Return the reports of people who differ by site, and most of whom take the middle level."""
    rng = np.random.default_rng(seed)
    given = [_answers(rng) for _ in range(people)]
    answers = {one.id: [person[one.id] for person in given] for one in survey.questions}
    names = [level.name for level in survey.levels]
    shares = [0.2, 0.5, 0.3] if len(names) == 3 else [1 / len(names)] * len(names)
    levels = [names[place] for place in rng.choice(len(names), people, p=shares)]
    return simulate_reports(survey, answers, rng, levels=levels)


def _answers(rng: np.random.Generator) -> dict[str, Answer]:
    site = int(rng.choice(3, p=[0.4, 0.35, 0.25]))
    weary = site == 1

    def of(labels: tuple[str, ...], chances: list[float]) -> str:
        return labels[int(rng.choice(len(labels), p=chances))]

    def rated(mean: float, low: int, high: int) -> str:
        return str(int(np.clip(round(rng.normal(mean, (high - low) / 4)), low, high)))

    said = rng.random() > 0.15
    stays = [0.45, 0.25, 0.3] if weary else [0.7, 0.1, 0.2]
    return {
        "site": SITES[site],
        "lead": of(("Yes", "No"), [0.15, 0.85]),
        "nps": rated(6.0 if weary else 7.5, 0, 10),
        "load": rated(3.9 if weary else 3.2, 1, 5),
        "trust": rated(3.6, 1, 5) if said else None,
        "ill": of(("Never", "Once", "Often"), [0.35, 0.4, 0.25] if weary else [0.6, 0.3, 0.1]),
        "pay": of(("Yes", "No", "I can’t say"), [0.4, 0.45, 0.15]) if said else None,
        "hours": str(min(40, int(rng.gamma(1.2, 4.5)))),
        "help": [one for one in PULSE[8].labels if rng.random() < (0.6 if one in BUSY else 0.25)],
        "stay": of(("Yes", "No", "Not sure"), stays),
    }
