"""The two parts of errors: by who answered, and by masks, of every kind of question."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from masquerade.errors import MasqueradeError
from masquerade.estimation import Crowd, Figures, RankSums, Sums, difference, ratio_difference
from masquerade.estimation.sums import SummedPeople, TickSums
from masquerade.exact.coins import SimulatedCoins
from masquerade.results import (
    Codebook,
    SurveyReports,
    Weighting,
    cross_table,
    survey_result,
    weighted_result,
)
from masquerade.results.groups import Crossed
from masquerade.surveys import Choice, Question, question_from_json
from masquerade.surveys.kinds import kinds
from masquerade.surveys.survey import Survey

SEX, TOKEN = Choice("sex", "?", ("Woman", "Man")), "0123456789abcdef"
DESIGN = Weighting(weights={"sex": {"Woman": 1.0, "Man": 3.0}})
RAKED = Weighting({"sex": {"Woman": 0.6, "Man": 0.4}})
#: In clear, masked, and half of each; and how many people.
CASES = (("none", 1), ("none", 20), ("low", 20), ("low", 200), ("both", 20))
#: At most so many of a case: the parts follow from arithmetic, and a survey takes seconds.
SURVEYS = 3
#: Of a ranking of more than three items three are drawn, in clear as well: which ones is chance.
_RANKED = {"items": ["a", "b", "c"], "top": None}


def parts(runs: int, seed: int) -> dict[str, float]:
    """Return how often masks have no part in an error in clear, and one wherever there are masks.

    Everywhere the squares of the two parts have to add to that of the whole.
    """
    found: dict[str, list[bool]] = {}
    for level, n in CASES:
        rng = np.random.default_rng([seed, n, len(level)])
        for _ in range(min(runs, SURVEYS)):
            for name, figures in _results(_reports(rng, level, n)):
                held = found.setdefault(f"{name}, {level}, {n}", [])
                held += [_right(one, level == "none" or "/none" in path) for path, one in figures]
    found["two parties"] = [
        (float(one.masks[0]) == 0) == (noise == 0)
        for _ in range(runs)
        for noise in (0.0, 1.0)
        for one in _sums(np.random.default_rng(seed), noise)
    ]
    return {name: float(np.mean(held)) for name, held in found.items()}


def questions() -> tuple[Question, ...]:
    """Return a question of each kind, some of which can be skipped."""
    made: list[Question] = [SEX]
    for name, kind in kinds().items():
        if kind.takes_pair:
            continue
        fields = {**kind.builder.blank, "kind": name, "id": name, "text": f"{name}?"}
        fields |= _RANKED if name == "ranking" else {}
        made.append(question_from_json(fields))
        if "allow_skip" in fields:
            made.append(question_from_json({**fields, "id": f"{name}?", "allow_skip": True}))
    return tuple(made)


def _reports(rng: np.random.Generator, level: str, n: int) -> SurveyReports:
    """Return reports in clear, masked, or of half each; many people say the same."""
    survey = Survey.at_levels(title="Work", questions=questions(), levels=("low", "none"))
    everybody, source = np.arange(n), SimulatedCoins(rng)
    at = everybody % 2 if level == "both" else np.full(n, level == "none", dtype=np.int64)
    sent = np.zeros((n, len(survey.questions)), dtype=np.int64)
    for place, question in enumerate(survey.questions):
        drawn = (question.answer_count * rng.random(n) ** rng.choice([1, 4, 40])).astype(np.int64)
        codes = np.array([question.masked_code(int(code)) for code in drawn])
        masked = [offer.mechanisms[place].mask(codes, everybody, source) for offer in survey.levels]
        sent[:, place] = np.where(at, masked[1], masked[0])
    book, one = Codebook(TOKEN, survey, survey.content_hash()), np.ones(n, dtype=np.int64)
    return SurveyReports.from_counts(book, at, sent, one, crowd=rng.bytes(32))


def _results(reports: SurveyReports) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    yield "plain", list(_figures(survey_result(reports).to_json()))
    one_level = sum(n > 0 for n in reports.counts().values()) == 1
    # several levels take seconds a weighted figure, and are one sum of variances with or without
    for name, weighting in (("design", DESIGN), ("raked", RAKED)) if one_level else ():
        try:
            found = weighted_result(reports, weighting)
        except MasqueradeError:
            continue  # nobody, or too few, seem to be one of the two: it says so
        yield name, list(_figures(found.to_json()))
    try:
        table = cross_table(reports, "sex", "rating")
        yield "cross table", [("", one.to_dict()) for one in table.estimates]
        crossed = Crossed.of(reports, "rating", "sex")
        sides = [crossed.figures(name, ["1"]) for name in ("Woman", "Man")]
        each = ratio_difference(*sides)
        if np.isfinite(each.value).all():
            [one] = each.estimates()
            yield "difference", [("", one.to_dict())]
    except MasqueradeError:
        return  # nobody was asked both, or a group seems to be empty


def _figures(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each figure of a result with its place in it."""
    if isinstance(node, dict):
        if node.get("mechanism_error") is not None:
            yield path, node
        for name, one in node.items():
            yield from _figures(one, f"{path}/{name}")
    elif isinstance(node, list):
        for one in node:
            level = one.get("level") if isinstance(one, dict) else None
            yield from _figures(one, f"{path}/{level}" if level else path)


def _right(figure: dict[str, Any], clear: bool) -> bool:
    people, masks = figure["sampling_error"], figure["mechanism_error"]
    whole = math.isclose(math.hypot(people, masks), figure["standard_error"], rel_tol=1e-9)
    return whole and bool(masks == 0 if clear else masks > 0)


def _sums(rng: np.random.Generator, noise: float) -> Iterator[Figures]:
    """Yield figures of sums of two parties, with noise of a variance."""
    n = int(rng.integers(1, 40))
    held = rng.multinomial(n, [0.7, 0.3, 0.0]).astype(float)
    for people in (SummedPeople(n), SummedPeople(n, 2 * n)):
        yield Crowd.of([people.sums(held, noise)]).shares()
        yield Crowd.of([TickSums(held[0], float(n), (noise, 0.0), people)]).shares()
    yield Crowd.of([RankSums(n, np.array([n / 2, 0.0, -n / 2]), noise, (n, 0.0))]).shares()
    one = Crowd.of([Sums.of(held, variance=noise, people=n)]).mean([1, 2, 3])
    yield difference(one, one)
