"""Simulated surveys, one at a time: cells, numbers, medians, tests, plans."""

from __future__ import annotations

import numpy as np
from tests.honesty.simulated import CUT, PRIVACY, Runs, channel, coverage, ratio_coverage
from tests.results.test_forecasts import QUESTIONS, made_up_headline

from masquerade.estimation import (
    Counts,
    Crowd,
    Numbers,
    Sums,
    Table,
    estimate_shares,
    holm,
    independence,
    levels_alike,
    quantile,
    share_plausibility,
    shown_shares,
)
from masquerade.estimation.expected import half_width
from masquerade.estimation.hypotheses import DIFFER
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse
from masquerade.results.forecasts import forecast
from masquerade.results.headline import SEVERAL, headline
from masquerade.results.question_figures import Headline
from masquerade.results.question_reports import AnswerReports
from masquerade.selection import Pool, participants_needed, predicted_error
from masquerade.surveys.survey import Survey


def cells(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of cells of a table of 4 x 3, and of cells within their column."""
    rng = np.random.default_rng(seed)
    joint = np.outer([0.4, 0.3, 0.2, 0.1], [0.5, 0.3, 0.2]).ravel()
    found = {}
    for n in (200, 1000, 5000):
        for privacy, epsilon in (("clear", None), ("epsilon 4", 4.0), ("epsilon 1", 1.0)):
            mask = np.kron(channel(4, epsilon), channel(3, epsilon))
            pairs = rng.multinomial(n, mask @ joint, runs).astype(float)
            drawn = Runs(pairs, np.asarray(mask, dtype=np.float64))
            crowd = Crowd((drawn,), np.ones(1))
            cell, column = np.eye(12)[1], np.tile([0, 1, 0], 4)
            found[f"cell, {privacy}, {n}"] = coverage(crowd, cell.tolist(), joint[1]).coverage
            within = ratio_coverage(crowd, cell.tolist(), column.tolist(), 0.4)
            found[f"within its column, {privacy}, {n}"] = within
    return found


def numbers(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of means of numbers from 0 to 40: rare, at both ends, in clear and noisy."""
    rng = np.random.default_rng(seed)
    crowds = {
        "3 % at 40": (np.array([0.97, 0.0, 0.03]), np.array([0.0, 20.0, 40.0])),
        "both ends": (np.array([0.5, 0.0, 0.5]), np.array([0.0, 20.0, 40.0])),
    }
    found = {}
    for name, (shares, values) in crowds.items():
        for sigma in (0, 3, 10):
            mask = DiscreteGaussian(0, 40, sigma=sigma) if sigma else None
            for n in (20, 200):
                held = 0
                for _ in range(runs):
                    answers = rng.choice(values, n, p=shares)
                    sent = answers + np.rint(sigma * rng.standard_normal(n))
                    mean = Crowd.of([Numbers.of(sent, 0, 40, mask)]).mean()
                    held += mean.statistic(float(shares @ values))[0] <= CUT
                found[f"{name}, sd {sigma}, {n}"] = held / runs
    return found


def medians(runs: int, seed: int) -> dict[str, float]:
    """Return how often intervals of a median of 11 points hold it."""
    rng = np.random.default_rng(seed)
    shares = np.array([1, 1, 2, 3, 5, 8, 13, 8, 5, 3, 1], dtype=float)
    shares /= shares.sum()
    truth = int(np.searchsorted(np.cumsum(shares), 0.5))
    ends = [(float(at), float(at)) for at in range(11)]
    found = {}
    for privacy in ("clear", "epsilon 2", "epsilon 1"):
        epsilon = PRIVACY[privacy][0]
        mask = None if epsilon is None else RandomizedResponse(11, epsilon=epsilon)
        for n in (20, 200):
            held = 0
            for _ in range(runs):
                counts = rng.multinomial(n, channel(11, epsilon) @ shares)
                half = quantile(Crowd.of([Counts.of(counts, mask)]), ends, 0.5)
                held += half.low <= truth <= half.high
            found[f"{privacy}, {n}"] = held / runs
    return found


def independent_answers(runs: int, seed: int) -> dict[str, float]:
    """Return how often independent answers are called dependent, at 5 %."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, rows, columns in (
        ("flat", [0.5, 0.5], [0.5, 0.5]),
        ("skewed", [0.9, 0.1], [0.6, 0.3, 0.1]),
        ("rare", [0.95, 0.05], [0.95, 0.05]),
    ):
        for epsilon in (None, 2.0, 1.0):
            a, b = channel(len(rows), epsilon) @ rows, channel(len(columns), epsilon) @ columns
            for n in (60, 200):
                drawn = rng.multinomial(n, np.outer(a, b).ravel(), runs)
                rejected = [
                    independence([one.reshape(len(rows), -1)]).probability < 0.05 for one in drawn
                ]
                found[f"{name}, epsilon {epsilon}, {n}"] = float(np.mean(rejected))
    return found


def alike_levels(runs: int, seed: int) -> dict[str, float]:
    """Return how often any of six questions is said to differ by level, where none does."""
    rng = np.random.default_rng(seed)
    found = {}
    asked = ([0.5, 0.5], [0.6, 0.3, 0.1], [0.98, 0.02]) * 2
    for n in (60, 300):
        warned = 0
        for _ in range(runs):
            probabilities = []
            for shares in asked:
                masks = [(RandomizedResponse(len(shares), epsilon=e), e) for e in (0.5, 1.0, 3.0)]
                groups = [
                    Counts.of(rng.multinomial(n // 3, channel(len(shares), e) @ shares), mask)
                    for mask, e in masks
                ]
                probabilities.append(levels_alike(Crowd.of(groups)).probability)
            warned += min(holm(probabilities)) < DIFFER
        found[f"six questions, {n}"] = warned / runs
    return found


def honest_reports(runs: int, seed: int) -> dict[str, float]:
    """Return how often reports of honest devices are called doubtful."""
    rng = np.random.default_rng(seed)
    mask, found = RandomizedResponse(3, epsilon=1), {}
    for shares in ([1.0, 0, 0], [0.4, 0.3, 0.3]):
        drawn = rng.multinomial(100, channel(3, 1.0) @ shares, runs)
        doubtful = [share_plausibility({"a": (one.tolist(), mask)}).doubtful for one in drawn]
        found[f"{shares}"] = float(np.mean(doubtful))
    return found


def read_shares(runs: int, seed: int) -> dict[str, float]:
    """Return how often all shares that are read lie in their intervals and add to 1."""
    rng = np.random.default_rng(seed)
    found = {}
    for epsilon in (0.5, 1.0, 4.0):
        mask = RandomizedResponse(5, epsilon=epsilon)
        for shares in ([1, 0, 0, 0, 0], [0.6, 0.2, 0.1, 0.07, 0.03]):
            good = 0
            for counts in rng.multinomial(40, channel(5, epsilon) @ shares, runs):
                shown = shown_shares(Crowd.of([Counts.of(counts, mask)]).shares().estimates())
                good += abs(sum(one.shown for one in shown) - 1) < 1e-9 and all(
                    one.low - 1e-9 <= one.shown <= one.high + 1e-9 for one in shown
                )
            found[f"{shares}, epsilon {epsilon:g}"] = good / runs
    return found


def counted_shares(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of `estimate_shares`, of rare options and of a mean, at n from 20 to 200."""
    rng = np.random.default_rng(seed)
    shares, found = np.array([0.02, 0.28, 0.7]), {}
    for epsilon in (5.0, 1.0):
        mask = RandomizedResponse(3, epsilon=epsilon)
        for n in (20, 60, 200):
            held = np.zeros(4)
            for counts in rng.multinomial(n, channel(3, epsilon) @ shares, runs):
                one = estimate_shares(counts, mask)
                truths = [*shares, float(shares @ [1, 2, 3])]
                figures = [*one.estimates, one.mean([1, 2, 3])]
                held += [e.low <= t <= e.high for e, t in zip(figures, truths, strict=True)]
            for label, rate in zip(("2 %", "28 %", "70 %", "mean"), held / runs, strict=True):
                found[f"{label}, epsilon {epsilon:g}, {n}"] = float(rate)
    return found


def planned_people(runs: int, seed: int) -> dict[str, float]:
    """Return how often a share of the people planned is within the margin planned for."""
    rng = np.random.default_rng(seed)
    found = {}
    for epsilon in (1.0, 3.0):
        mask = RandomizedResponse(2, epsilon=epsilon)
        for margin in (0.05, 0.1):
            n = participants_needed(mask, margin=margin)
            for share in (0.5, 0.1):
                counts = rng.multinomial(n, channel(2, epsilon) @ [share, 1 - share], runs)
                value = (counts[:, 0] / n - float(mask.other_probability)) / float(mask.signal)
                close = np.abs(value - share) <= margin
                found[f"epsilon {epsilon:g}, +- {margin:g}, {share:g}"] = float(close.mean())
    return found


def selected_people(runs: int, seed: int) -> dict[str, float]:
    """Return the predicted error of a selection over the simulated one: 1 where it is right."""
    rng = np.random.default_rng(seed)
    noise = np.r_[np.zeros(10), np.full(90, 4.0)]
    pool = Pool([str(at) for at in range(100)], cost=np.ones(100), noise_variance=noise)
    found = {}
    for chosen in (np.arange(100), np.arange(10), np.arange(0, 100, 5)):
        weight = np.zeros(100)
        weight[chosen] = pool.precision[chosen]
        weight /= weight.sum()
        answers = rng.normal(0, 0.25, (20 * runs, 100))
        reports = answers + rng.standard_normal(answers.shape) * np.sqrt(noise)
        error = np.sqrt(np.mean((reports @ weight - answers.mean(axis=1)) ** 2))
        found[f"{len(chosen)} of 100"] = float(predicted_error(pool, chosen) / error)
    return found


def table_of_clear_answers(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of the shares of a table, one survey at a time, by the public face."""
    rng = np.random.default_rng(seed)
    joint = np.array([[0.02, 0.48], [0.25, 0.25]])
    mask, held = RandomizedResponse(2, epsilon=3), np.zeros(4)
    matrix = np.kron(channel(2, 3.0), channel(2, 3.0))
    for counts in rng.multinomial(100, matrix @ joint.ravel(), runs):
        people = Crowd.of([Table.of(counts.reshape(2, 2), mask, mask)])
        held += people.shares().statistic(joint.ravel()) <= CUT
    return dict(zip("abcd", (held / runs).tolist(), strict=True))


#: Truths of headlines: ties, flat ones, one that is slightly or clearly first.
HEADLINES = {
    "tie of 2": (0.4, 0.4, 0.2),
    "flat 4": (0.25,) * 4,
    "flat 10": (0.1,) * 10,
    ".52 and .48": (0.52, 0.48),
    "two tied first of 5": (0.3, 0.3, 0.2, 0.1, 0.1),
    "one first of 4": (0.4, 0.25, 0.2, 0.15),
}


def headlines(runs: int, seed: int) -> dict[str, float]:
    """Return how often a headline's sentence is false: its name, its interval or its set."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, shares in HEADLINES.items():
        held, labels = np.array(shares), [chr(65 + at) for at in range(len(shares))]
        for n in (50, 300, 1000):
            for privacy in ("clear", "epsilon 1", "two parties, sd 3"):
                epsilon, deviation = PRIVACY[privacy]
                sent = channel(len(held), epsilon) @ held
                mask = None if epsilon is None else RandomizedResponse(len(held), epsilon=epsilon)
                false = 0
                for counts in rng.multinomial(n, sent / sent.sum(), runs):
                    noisy = counts + np.rint(rng.normal(0, deviation, len(held)))
                    group = (
                        Sums.of(noisy, variance=deviation**2, people=n)
                        if deviation
                        else Counts.of(counts, mask)
                    )
                    reports = AnswerReports(Crowd.of([group]), held, len(held), None)
                    said = headline(reports, labels, None, reports.ahead(), n)
                    false += _false(said, dict(zip(labels, shares, strict=True)))
                found[f"{name}, {privacy}, {n}"] = false / runs
    return found


def _false(said: Headline, shares: dict[str, float]) -> bool:
    """Return whether a headline is false: where options tie for the first, none is ahead."""
    most = max(shares.values())
    first = [label for label, share in shares.items() if share == most]
    if said.option is None:
        return said.kind == SEVERAL and not set(first) & set(said.options)
    low, high = said.low, said.high
    assert low is not None
    assert high is not None
    return first != [said.option] or not low <= shares[said.option] <= high


def forecasts(runs: int, seed: int) -> dict[str, float]:
    """Return how often a headline's interval is at most a quarter wider than forecast."""
    found = {}
    for number, question in enumerate(QUESTIONS):
        for people in ({"low": 300}, {"high": 200, "medium": 300, "low": 200}):
            survey = Survey.at_levels(
                title="T", questions=(question,), levels=tuple(people), template="pick"
            )
            part = 0.4 if question.allow_skip else 1.0
            margin = forecast(survey, 0, people, answering=part).margin
            rng = np.random.default_rng([seed, number, len(people)])
            narrow = sum(
                half_width(*made_up_headline(survey, people, part, rng)) <= 1.25 * margin
                for _ in range(runs)
            )
            found[f"{question.id}, {len(people)} levels"] = narrow / runs
    return found
