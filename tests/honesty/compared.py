"""Simulated surveys with people that are weighted, or compared by a masked answer."""

from __future__ import annotations

import contextlib

import numpy as np

from masquerade.errors import MasqueradeError, ParameterError
from masquerade.exact.arrays import Integers
from masquerade.results import Codebook, SurveyReports, all_differences, group_comparisons
from masquerade.results.differences import EstimatedFigures
from masquerade.results.groups import Crossed
from masquerade.results.weighting import WeightedPeople, Weighting
from masquerade.surveys import Choice, Rating
from masquerade.surveys.survey import Survey

ASKED = (Choice("sex", "?", ("Woman", "Man")), Choice("ill", "?", ("Yes", "No")), Rating("r", "?"))
#: P(ill) and shares of ratings of women and men.
ILL, RATING = (0.2, 0.5), ((0.1, 0.2, 0.4, 0.2, 0.1), (0.05, 0.1, 0.25, 0.4, 0.2))
MEANS = (3.0, 3.6)


def survey_of(rng: np.random.Generator, level: str, n: int, women: float) -> SurveyReports:
    """Return the reports of a crowd of which a share are women."""
    survey = Survey.at_levels(title="Work", questions=ASKED, levels=(level,))
    sex = (rng.random(n) >= women).astype(np.int64)
    ill = (rng.random(n) >= np.array(ILL)[sex]).astype(np.int64)
    rating = (rng.random(n)[:, None] > np.cumsum(RATING, axis=1)[sex, :-1]).sum(axis=1)
    sent: Integers = np.stack([sex, ill, rating], axis=1)
    for place, mask in enumerate(survey.levels[0].mechanisms):
        response = mask.separate_response
        assert response is not None
        flipped = rng.random(n) >= float(response.keep_probability)
        others = rng.integers(response.symbols - 1, size=n)
        others += others >= sent[:, place]
        sent[:, place] = np.where(flipped, others, sent[:, place])
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    zero, one = np.zeros(n, np.int64), np.ones(n, np.int64)
    return SurveyReports.from_counts(book, zero, sent, one, crowd=bytes(32))


def weighted(runs: int, seed: int) -> dict[str, float]:
    """Return how often intervals of weighted shares and means hold, of a population half women."""
    margins = Weighting({"sex": {"Woman": 0.5, "Man": 0.5}})
    design = Weighting(weights={"sex": {"Woman": 1.0, "Man": 2.0}})
    truth = (sum(ILL) / 2, sum(MEANS) / 2)
    found = {}
    for level, n in (("none", 20), ("none", 200), ("low", 200), ("low", 1000)):
        for name, weighting, women in (("raked", margins, 0.3), ("design", design, 2 / 3)):
            rng, held = np.random.default_rng([seed, n, len(level)]), []
            for _ in range(runs):
                reports = survey_of(rng, level, n, women)
                try:
                    people = WeightedPeople.of(reports, weighting)
                except MasqueradeError:
                    continue  # nobody seems to be one of the two: it says so
                mean = people.answers(2).mean_figures()
                assert mean is not None
                figures = (people.answers(1).share_figures(0), mean)
                ends = [one.estimates()[0] for one in figures]
                held.append([e.low <= x <= e.high for e, x in zip(ends, truth, strict=True)])
            for place, what in enumerate(("share", "mean")):
                found[f"{what}, {name}, {level}, {n}"] = float(np.mean(held, axis=0)[place])
    return found


def marks(runs: int, seed: int) -> dict[str, float]:
    """Return how often any of all differences is marked where groups, or surveys, are alike."""
    found: dict[str, float] = {}
    for level, n in (("none", 60), ("low", 400)):
        rng = np.random.default_rng([seed, n])
        marked = {"groups": 0, "over time": 0}
        for _ in range(runs):
            first, second = (_alike(rng, level, n) for _ in range(2))
            with contextlib.suppress(ParameterError):  # a group of under 20: nothing is said
                found_groups = group_comparisons(first, by="sex")
                rows = [row for one in found_groups for row in one.differences]
                marked["groups"] += any(row.differ for row in rows)
            changes = all_differences(first, second)
            marked["over time"] += any(row.differ for row in changes)
        found |= {f"{name}, {level}, {n}": count / runs for name, count in marked.items()}
    return found


def _alike(rng: np.random.Generator, level: str, n: int) -> SurveyReports:
    """Return a crowd of men; one half say that they are women."""
    reports = survey_of(rng, level, n, 0.0)
    mask = reports.codebook.survey.levels[0].mechanisms[0].separate_response
    assert mask is not None
    sex = (rng.random(n) < 0.5).astype(np.int64)
    sent = np.repeat(reports.report, reports.people, axis=0)
    # masked like any answer: kept, or the other one
    sent[:, 0] = np.where(rng.random(n) < float(mask.keep_probability), sex, 1 - sex)
    zero, one, crowd = np.zeros(n, np.int64), np.ones(n, np.int64), rng.bytes(32)
    return SurveyReports.from_counts(reports.codebook, zero, sent, one, crowd=crowd)


def groups(runs: int, seed: int) -> dict[str, float]:
    """Return how often intervals of known differences of two groups hold, share and mean."""
    truth = (ILL[0] - ILL[1], MEANS[0] - MEANS[1])
    found = {}
    for level, n in (("none", 60), ("none", 400), ("low", 400)):
        rng, held = np.random.default_rng([seed, n, len(level)]), []
        for _ in range(runs):
            reports = survey_of(rng, level, n, 0.4)
            inside = []
            for question, option, x in (("ill", "Yes", truth[0]), ("r", None, truth[1])):
                crossed = Crossed.of(reports, question, "sex")
                figures = [crossed.figures(name, [option]) for name in ("Woman", "Man")]
                sides = [EstimatedFigures(each) for each in figures]
                [one] = crossed.comparison([option], ("a", "b"), sides).differences(0.95)
                inside.append(one.low <= x <= one.high)
            held.append(inside)
        for place, what in enumerate(("share", "mean")):
            found[f"{what}, {level}, {n}"] = float(np.mean(held, axis=0)[place])
    return found
