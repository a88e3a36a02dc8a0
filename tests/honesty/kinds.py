"""Simulated questions of the kinds with reports of their own: sets, orders, skipped numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from tests.honesty.simulated import CUT

from masquerade.estimation import (
    Counts,
    Crowd,
    Figures,
    Levelled,
    Ranks,
    RankSums,
    Subsets,
    model_shares,
    model_strengths,
    ratios,
)
from masquerade.estimation.figures import cut_of
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import MaskedOrder, RandomizedResponse, SubsetSelection
from masquerade.mechanisms.masked_order import ranking_code
from masquerade.results import cross_table, simulate_reports
from masquerade.results.forecasts import forecast, headline_figures
from masquerade.results.question_reports import question_reports
from masquerade.surveys import Choice, ShowIf
from masquerade.surveys.survey import Survey

ITEMS = 5
#: Rankings of five items by the strengths of Plackett and Luce: even, one far ahead, all alike.
STRENGTHS = {"even": np.zeros(ITEMS), "one ahead": np.r_[2.0, np.zeros(ITEMS - 1)]}
NO_ANSWER = 0.1


def _holds(figures: Figures, truth: float) -> bool:
    return bool(figures.statistic(truth)[0] <= CUT)


def shares_of_sets(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of a share of 20 options through sets of answers."""
    rng = np.random.default_rng(seed)
    mask = SubsetSelection(20, size=2, epsilon=2)
    found = {}
    for name, share in (("rare", 0.02), ("12 %", 0.12), ("nobody", 0.0), ("everybody", 1.0)):
        held = np.r_[share, np.full(19, (1 - share) / 19)]
        for n in (20, 200, 1000):
            inside = 0
            for _ in range(runs):
                answers = rng.choice(20, n, p=held)
                told = mask.mask(answers, answers, SimulatedCoins(rng))
                crowd = Crowd.of([Subsets.of(*np.unique(told, return_counts=True), mask)])
                inside += _holds(crowd.figures(np.eye(20)[:1]), share)
            found[f"{name}, {n}"] = inside / runs
    return found


def skipped_numbers(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of the mean of levels from 0 to 40 among those with a number."""
    rng = np.random.default_rng(seed)
    values = np.arange(0.0, 41.0, 10.0)
    found = {}
    for name, law in (
        ("3 % at 40", [0.97, 0, 0, 0, 0.03]),
        ("both ends", [0.5, 0, 0, 0, 0.5]),
        ("all at one end", [1.0, 0, 0, 0, 0]),
        ("flat", [0.2] * 5),
    ):
        truth = float(np.dot(law, values))
        given = np.append((1 - NO_ANSWER) * np.asarray(law), NO_ANSWER)
        for epsilon in (None, 2.0, 1.0):
            mask = None if epsilon is None else RandomizedResponse(6, epsilon=epsilon)
            other, signal = (0, 1) if mask is None else (mask.other_probability, mask.signal)
            for n in (20, 200, 1000):
                inside = 0
                for _ in range(runs):
                    counts = rng.multinomial(n, float(other) + float(signal) * given)
                    crowd = Crowd.of([Levelled.of(Counts.of(counts, mask), values)])
                    mean = ratios(crowd, [[1.0, 0.0]], [0.0, 1.0], low=0.0, high=40.0)
                    inside += _holds(mean, truth)
                found[f"{name}, epsilon {epsilon}, {n}"] = inside / runs
    return found


def _rankings(rng: np.random.Generator, strength: np.ndarray, n: int) -> np.ndarray:
    """Return the items of n people, best first (Gumbel's maxima give Plackett and Luce's law)."""
    return np.argsort(-(strength + rng.gumbel(size=(n, len(strength)))), axis=1)


def _mean_rank(strength: np.ndarray) -> float:
    """Return the first item's mean rank: one and the chances that each other is before it."""
    return 1 + float(sum(1 / (1 + np.exp(strength[0] - other)) for other in strength[1:]))


def _mean_of_first(crowd: Crowd) -> Figures:
    unit = np.eye(ITEMS + 1)
    return ratios(crowd, unit[:1], unit[-1], low=1.0, high=float(ITEMS))


def _ranks(
    draw: Callable[[np.ndarray, int, np.random.Generator], Crowd],
) -> Callable[[int, int], Mapping[str, float]]:
    def rates(runs: int, seed: int) -> dict[str, float]:
        rng = np.random.default_rng(seed)
        found = {}
        for n in (20, 200, 1000):
            for name, strength in STRENGTHS.items():
                truth, inside = _mean_rank(strength), 0
                for _ in range(runs):
                    ranking = _rankings(rng, strength, n)
                    inside += _holds(_mean_of_first(draw(ranking, n, rng)), truth)
                found[f"{name}, {n}"] = inside / runs
            inside = 0
            for _ in range(runs):
                alike = np.tile(np.arange(ITEMS), (n, 1))
                inside += _holds(_mean_of_first(draw(alike, n, rng)), 1.0)
            found[f"all alike, {n}"] = inside / runs
        return found

    return rates


def _sent(
    ranking: np.ndarray, mask: MaskedOrder, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    codes = np.array([ranking_code(one.tolist(), ITEMS) for one in ranking])
    codes = np.where(rng.random(len(codes)) < NO_ANSWER, mask.rankings, codes)
    told = mask.mask(codes, codes, SimulatedCoins(rng))
    return np.unique(told, return_counts=True)


def _masked(ranking: np.ndarray, n: int, rng: np.random.Generator) -> Crowd:
    mask = MaskedOrder(ITEMS, size=3, epsilon=2, null=True)
    return Crowd.of([Ranks.of(*_sent(ranking, mask, rng), mask)])


def _summed(ranking: np.ndarray, n: int, rng: np.random.Generator) -> Crowd:
    given = rng.random(n) >= NO_ANSWER
    ranks = np.argsort(ranking[given], axis=1) - (ITEMS - 1) / 2
    noise = 8.0
    sums = ranks.sum(axis=0) + noise * rng.standard_normal(ITEMS)
    count = float(given.sum() + 2.0 * rng.standard_normal())
    counted = np.bincount(ranking[given][:, 0], minlength=ITEMS) + 2.0 * rng.standard_normal(ITEMS)
    # Who ranks an item first bounds how far its ranks can be spread; half of the time it is told.
    first = counted if rng.random() < 0.5 else None
    return Crowd.of([RankSums(float(n), sums, noise**2, (count, 4.0), first)])


masked_ranks = _ranks(_masked)
summed_ranks = _ranks(_summed)


def strengths(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of a model's strength of an item, where one set fits everybody."""
    rng = np.random.default_rng(seed)
    mask = MaskedOrder(ITEMS, size=3, epsilon=2, null=True)
    found = {}
    for name, strength in STRENGTHS.items():
        truth = float(strength[0] - strength.mean())
        for n in (200, 1000):
            inside = 0
            for _ in range(runs):
                sent = _sent(_rankings(rng, strength, n), mask, rng)
                value, error = (one[0] for one in model_strengths([(*sent, mask)]))
                inside += abs(float(value) - truth) <= 1.96 * float(error)
            found[f"{name}, {n}"] = inside / runs
    return found


def first_choices(runs: int, seed: int) -> dict[str, float]:
    """Return how often a model's share of first choices is within 10 points of the true one."""
    rng = np.random.default_rng(seed)
    mask = MaskedOrder(ITEMS, size=3, epsilon=2, null=True)
    found = {}
    for name, strength in STRENGTHS.items():
        truth = float(np.exp(strength[0]) / np.exp(strength).sum())
        inside = 0
        for _ in range(runs):
            sent = _sent(_rankings(rng, strength, 1000), mask, rng)
            inside += abs(float(model_shares([(*sent, mask)])[0]) - truth) <= 0.1
        found[f"{name}, 1000"] = inside / runs
    return found


def some_questions(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of a share and of a table's cell where each person is asked some blocks."""
    rng = np.random.default_rng(seed)
    asked = tuple(Choice(name, "?", ("Yes", "No")) for name in "abc")
    survey = Survey.at_levels(
        title="T", questions=asked, levels=("low",), asked=1, together=(("a", "b"),)
    )
    found: dict[str, float] = {}
    for n in (60, 300):
        inside = {"share": 0, "cell": 0}
        for _ in range(runs):
            first = rng.random(n) < 0.3
            second = np.where(rng.random(n) < 0.2, ~first, first)
            columns = {
                name: np.where(column, "Yes", "No").tolist()
                for name, column in (("a", first), ("b", second), ("c", first))
            }
            reports = simulate_reports(survey, columns, rng)
            sent = reports.sent("low", 0)
            counts = Counts.of(
                [int(sent.people[sent.code == code].sum()) for code in (0, 1)],
                sent.mask.label_response,
            )
            inside["share"] += _holds(Crowd.of([counts]).figures([[1.0, 0.0]]), 0.3)
            cell = cross_table(reports, "a", "b").estimates[0]
            inside["cell"] += cell.low <= 0.3 * 0.8 <= cell.high
        found |= {f"{name}, {n}": count / runs for name, count in inside.items()}
    return found


def shown_to_some(runs: int, seed: int) -> dict[str, float]:
    """Return how often a follow-up's interval is at most a third wider than its forecast."""
    rng = np.random.default_rng(seed)
    asked = (
        Choice("a", "?", ("Yes", "No")),
        Choice("b", "?", ("Yes", "No"), allow_skip=True),
    )
    conditions = (None, ShowIf("a", ("Yes",)))
    survey = Survey.at_levels(title="T", questions=asked, levels=("low",), conditions=conditions)
    found = {}
    for part in (0.3, 0.6):
        ahead = forecast(survey, 1, {"low": 2000}, answering=part).margin
        inside = 0
        for _ in range(runs):
            columns = {
                "a": np.where(rng.random(2000) < part, "Yes", "No").tolist(),
                "b": np.where(rng.random(2000) < 0.5, "Yes", "No").tolist(),
            }
            sent = simulate_reports(survey, columns, rng).sent("low", 1)
            reports = question_reports(asked[1], {"low": sent}, estimator="eb")
            figures, confidence = headline_figures(reports, 2)
            low, high = figures.curve.interval(cut_of(confidence))
            inside += float(high[0] - low[0]) / 2 <= ahead * 4 / 3
        found[f"shown to {100 * part:.0f} of 100"] = inside / runs
    return found
