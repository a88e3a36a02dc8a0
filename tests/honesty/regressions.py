"""Simulated surveys with a relation in them: coefficients, sentences, correlations, two groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, expit

from masquerade.analysis import (
    FitOptions,
    PairTables,
    correlation,
    log_linear,
    regress,
    share_sample,
    shares,
    two_group_sample,
    two_groups,
)
from masquerade.analysis.design import read_design
from masquerade.analysis.maximum import Optimum, fit, maximise
from masquerade.analysis.outcomes import outcome_named
from masquerade.analysis.profile import Curve, HigherOptimum
from masquerade.analysis.terms import Prepared
from masquerade.answers import to_arrow
from masquerade.errors import InputError
from masquerade.exact.arrays import Floats, Integers
from masquerade.mechanisms import parse_mechanism

Truths = dict[tuple[str, str | None], float]

CUT = float(chdtri(1, 0.05))
_SCORES = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
_ONE_OPTION = np.array([0.95, 0.02, 0.01, 0.01, 0.01])


@dataclass(frozen=True)
class Cell:
    """A setting of the simulated survey of a regression.

    Attributes
    ----------
    masked : str
        What is masked: "outcome", "predictor" or "both".
    people : int
    epsilon : float
    kind : str
        "usual"; "rare": some 5 % yes; "one option": 95 % of people choose one.
    """

    masked: str
    people: int
    epsilon: float
    kind: str = "usual"

    @property
    def name(self) -> str:
        """The setting in words."""
        kind = "" if self.kind == "usual" else f"{self.kind}, "
        return f"{kind}{self.masked}, {self.people}, epsilon {self.epsilon:g}"

    @property
    def truth(self) -> dict[str, float]:
        """The coefficients."""
        constant = -3.4 if self.kind == "rare" else -1.0
        return {"(constant)": constant, "group": 0.6, "score": 0.5}


def masked_codes(
    codes: Integers, options: int, epsilon: float, rng: np.random.Generator
) -> Integers:
    """Return reports of randomised response, from a seed."""
    kept = (np.exp(epsilon) - 1) / (np.exp(epsilon) + options - 1)
    other = rng.integers(0, options, len(codes))
    return np.asarray(np.where(rng.random(len(codes)) < kept, codes, other))


def survey(cell: Cell, rng: np.random.Generator, *, slope: float = 0.5) -> dict[str, Integers]:
    """Return people of a setting as columns; scores are 0 to 4, centred in the truth."""
    truth = cell.truth
    group = rng.integers(0, 2, cell.people)
    chances = _ONE_OPTION if cell.kind == "one option" else _SCORES
    score = rng.choice(5, cell.people, p=chances)
    eta = truth["(constant)"] + 0.6 * group * (slope != 0) + slope * (score - 2)
    yes = (rng.random(cell.people) < expit(eta)).astype(int)
    if cell.masked in ("outcome", "both"):
        yes = masked_codes(yes, 2, cell.epsilon, rng)
    if cell.masked in ("predictor", "both"):
        score = masked_codes(score, 5, cell.epsilon, rng)
    return {"group": group, "score": score, "yes": yes}


def masks_of(cell: Cell) -> dict[str, str]:
    """Return the mechanisms of a setting's columns."""
    found = {
        "yes": f"randomized-response:options=2,epsilon={cell.epsilon:g}",
        "score": f"randomized-response:options=5,epsilon={cell.epsilon:g}",
    }
    left = {"outcome": ("yes",), "predictor": ("score",), "both": ("yes", "score")}[cell.masked]
    return {name: found[name] for name in left}


def held(cell: Cell, rng: np.random.Generator) -> list[bool]:
    """Return whether the interval of each coefficient holds the truth, by the curve there."""
    truth = cell.truth
    values: Truths = {
        ("(constant)", None): truth["(constant)"] - 2 * truth["score"],
        ("group", None): truth["group"],
        ("score", None): truth["score"],
    }
    return _held(survey(cell, rng), "yes ~ group + score", masks_of(cell), "logistic", values)


def _held(
    data: dict[str, Integers], formula: str, masks: dict[str, str], model: str, truth: Truths
) -> list[bool]:
    """Return of each coefficient whether its profile, at the truth, is within the interval."""
    fitting = FitOptions()
    design = read_design(to_arrow(data), formula, masks, {}, fitting, model, (None, None))
    outcome = outcome_named(model, len(design.outcome.options))
    prepared = Prepared.of(design, outcome, fitting)
    optimum = fit(prepared.objective)
    for _ in range(3):  # as a fit does: where a constrained fit is higher, begin there
        try:
            return _held_at(truth, prepared, optimum)
        except HigherOptimum as higher:
            optimum = maximise(prepared.objective, higher.theta)
    return _held_at(truth, prepared, optimum)


def _held_at(truth: Truths, prepared: Prepared, optimum: Optimum) -> list[bool]:
    inverse = np.linalg.inv(optimum.information)
    found = []
    for row in prepared.rows:
        error = float(np.sqrt(row.direction @ inverse @ row.direction))
        curve = Curve(prepared.objective, optimum, row.direction, row.unit, error)
        found.append(curve.statistic(truth[row.name, row.answer]) <= CUT)
    return found


def coverage(cell: Cell, *, runs: int, seed: int) -> Floats:
    """Return coverage of the three coefficients."""
    rng = np.random.default_rng(seed)
    return np.asarray(np.mean([held(cell, rng) for _ in range(runs)], axis=0))


@dataclass(frozen=True)
class Wider:
    """A setting of an outcome of three answers, or of two masked predictors at once.

    Attributes
    ----------
    model : str
        "multinomial" or "ordered", with a masked score; "logistic": with a masked answer too.
    people : int
    epsilon : float
        Of each mask.
    """

    model: str
    people: int
    epsilon: float

    @property
    def name(self) -> str:
        """The setting in words."""
        two = "two masked predictors" if self.model == "logistic" else f"{self.model} outcome"
        return f"{two}, {self.people}, epsilon {self.epsilon:g}"

    def held(self, rng: np.random.Generator) -> list[bool]:
        """Return whether the interval of each coefficient holds the truth."""
        people, epsilon = self.people, self.epsilon
        group, score = rng.integers(0, 2, people), rng.choice(5, people, p=_SCORES)
        masked = {"y": 2 if self.model == "logistic" else 3, "score": 5}
        data = {"group": group, "score": score}
        rises = 0.6 * group + 0.5 * (score - 2)
        if self.model == "logistic":  # the masked answer goes with the group, as the score does not
            masked["b"] = 2
            data["b"] = (rng.random(people) < 0.4 + 0.2 * group).astype(int)
            data["y"] = (rng.random(people) < expit(rises - 1 + 0.8 * data["b"])).astype(int)
            truth: Truths = {
                ("(constant)", None): -2.0,
                ("group", None): 0.6,
                ("score", None): 0.5,
                ("b", None): 0.8,
            }
        elif self.model == "ordered":
            chance = rng.logistic(size=people) + rises
            data["y"] = (chance > -0.5).astype(int) + (chance > 1.0)
            truth = {
                ("0 | 1", None): 0.5,
                ("1 | 2", None): 2.0,
                ("group", None): 0.6,
                ("score", None): 0.5,
            }
        else:
            odds = np.column_stack([np.zeros(people), rises - 0.5, 0.3 - 0.4 * group])
            data["y"] = (odds + rng.gumbel(size=(people, 3))).argmax(axis=1)
            truth = {
                ("(constant)", "1"): -1.5,
                ("group", "1"): 0.6,
                ("score", "1"): 0.5,
                ("(constant)", "2"): 0.3,
                ("group", "2"): -0.4,
                ("score", "2"): 0.0,
            }
        for name, options in masked.items():
            data[name] = masked_codes(data[name], options, epsilon, rng)
        masks = {
            name: f"randomized-response:options={options},epsilon={epsilon:g}"
            for name, options in masked.items()
        }
        return _held(
            data, f"y ~ {' + '.join(one for one in data if one != 'y')}", masks, self.model, truth
        )

    def coverage(self, *, runs: int, seed: int) -> Floats:
        """Return coverage of all coefficients, in their order."""
        rng = np.random.default_rng(seed)
        return np.asarray(np.mean([self.held(rng) for _ in range(runs)], axis=0))


WIDER = (Wider("multinomial", 300, 2.0), Wider("ordered", 300, 2.0), Wider("logistic", 300, 2.0))


CELLS = (
    Cell("outcome", 300, 1.0),
    Cell("predictor", 300, 1.0),
    Cell("both", 300, 2.0),
    Cell("outcome", 300, 2.0, "rare"),
    Cell("predictor", 1000, 2.0, "one option"),
)


def coefficients(runs: int, seed: int) -> dict[str, float]:
    """Return the worst coverage of the coefficients of each setting."""
    found = {one.name: float(coverage(one, runs=runs, seed=seed).min()) for one in CELLS}
    return found | {one.name: float(one.coverage(runs=runs, seed=seed).min()) for one in WIDER}


def false_sentences(runs: int, seed: int) -> dict[str, float]:
    """Return how often any sentence is told where no slope is there: four slopes."""
    rng = np.random.default_rng(seed)
    found = {}
    for people, epsilon in ((300, 2.0), (1000, 1.0)):
        cell, told = Cell("both", people, epsilon), 0
        for _ in range(runs):
            data = survey(cell, rng, slope=0.0)
            data |= {f"x{place}": rng.integers(0, 2, people) for place in (1, 2)}
            fit = regress(data, "yes ~ group + x1 + x2 + score", mechanisms=masks_of(cell))
            told += bool(fit.sentences())
        found[cell.name] = told / runs
    return found


def naming_sentences(runs: int, seed: int) -> dict[str, float]:
    """Return how often a sentence is told with the wrong direction, or misses the truth."""
    rng = np.random.default_rng(seed)
    cell, wrong = Cell("outcome", 1000, 2.0), 0
    for _ in range(runs):
        fit = regress(survey(cell, rng), "yes ~ group + score", mechanisms=masks_of(cell))
        for term in fit.terms:
            if term.said:
                truth = cell.truth[term.name]
                inside = (term.said_low or -9) <= truth <= (term.said_high or 9)
                wrong += not inside or (term.estimate or 0) < 0
    return {cell.name: wrong / (2 * runs)}


def correlations(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of correlations of two masked ratings."""
    rng = np.random.default_rng(seed)
    latent = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 200_000)
    cells = np.clip(np.round(latent * 1.2 + 2), 0, 4).astype(int)
    truth = float(np.corrcoef(cells.T)[0, 1])
    found = {}
    for epsilon in (1.0, 2.0, 4.0):
        mask = f"randomized-response:options=5,epsilon={epsilon:g}"
        for people in (300, 1000):
            inside = 0
            for _ in range(runs):
                drawn = cells[rng.integers(0, len(cells), people)]
                a, b = (masked_codes(part, 5, epsilon, rng) for part in drawn.T)
                one = correlation({"a": a, "b": b}, "a", "b", mechanisms={"a": mask, "b": mask})
                inside += one.low <= truth <= one.high
            found[f"epsilon {epsilon:g}, {people}"] = float(inside / runs)
    return found


def declared_tables(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of correlations, slopes and log-odds from noisy tables of two parties."""
    rng = np.random.default_rng(seed)
    latent = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 200_000)
    cells = np.clip(np.round(latent * 1.2 + 2), 0, 4).astype(int)
    truth, slope = (
        float(np.corrcoef(cells.T)[0, 1]),
        float(np.polyfit(cells[:, 0], cells[:, 1], 1)[0]),
    )
    found = {}
    for people, sd in ((200, 3.0), (1000, 10.0)):
        inside = np.zeros(3)
        numbers = 0
        for _ in range(runs):
            drawn = cells[rng.integers(0, len(cells), people)]
            counts = rng.normal(0, sd, (5, 5))
            np.add.at(counts, tuple(drawn.T), 1)
            scores = {"a": range(5), "b": range(5)}
            pairs = PairTables(people, sd**2, scores, {("a", "b"): counts})
            one = pairs.correlation("a", "b")
            inside[0] += one.low <= truth <= one.high
            term = pairs.least_squares("b", ["a"]).term("a")
            inside[1] += (term.low or -9) <= slope <= (term.high or 9)
            x = rng.integers(0, 2, people)
            y = rng.random(people) < expit(-1 + 0.6 * x)
            two = rng.normal(0, sd, (2, 2))
            np.add.at(two, (x, y.astype(int)), 1)
            try:
                odds = log_linear(two, [[0], [1]], variance=sd**2).term("x1")
            except InputError:
                continue  # no number is stated
            numbers += 1
            inside[2] += (odds.low or -9) <= 0.6 <= (odds.high or 9)
        for place, name in enumerate(("correlation", "slope")):
            found[f"{name}, {people}, sd {sd:g}"] = float(inside[place]) / runs
        found[f"log-odds, {people}, sd {sd:g}"] = float(inside[2]) / max(numbers, 1)
    return found


def odds_of_three_answers(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of the worst log-odds from one noisy table of two predictors and an outcome.

    Where noise hides the coefficients no number is stated, and none is counted.
    """
    rng = np.random.default_rng(seed)
    cells = [[x, score] for x in (0, 1) for score in (0, 1, 2)]
    found = {}
    for people, sd in ((400, 2.0), (1000, 6.0), (5000, 20.0)):
        held = []
        for _ in range(runs):
            x, score = rng.integers(0, 2, people), rng.choice(3, people, p=[0.3, 0.5, 0.2])
            odds = np.column_stack([np.zeros(people), 0.6 * x + 0.4 * score - 0.5, 0.3 - 0.5 * x])
            said = (odds + rng.gumbel(size=(people, 3))).argmax(axis=1)
            table = rng.normal(0, sd, (6, 3))
            np.add.at(table, (3 * x + score, said), 1)
            try:
                fit = log_linear(
                    table, cells, variance=sd**2, names=["x", "score"], answers=["0", "1", "2"]
                )
            except InputError:
                continue
            truth: Truths = {
                ("x", "1"): 0.6,
                ("score", "1"): 0.4,
                ("x", "2"): -0.5,
                ("score", "2"): 0.0,
            }
            held.append(
                [
                    (term.low or -99) <= truth[term.name, term.answer] <= (term.high or 99)
                    for term in fit.terms
                    if term.slope
                ]
            )
        found[f"{people}, sd {sd:g}"] = float(np.mean(held, axis=0).min()) if held else 1.0
    return found


def design_shares(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of shares through classical designs, rare ones too."""
    rng = np.random.default_rng(seed)
    found = {}
    for text in ("forced-response:no=1/6,yes=1/6", "triangular:p=0.4", "kuk:p1=0.8,p2=0.2,cards=3"):
        table = parse_mechanism(text).channel().matrix()  # type: ignore[attr-defined]
        for share, people in ((0.02, 60), (0.3, 200)):
            inside = 0
            for _ in range(runs):
                counts = rng.multinomial(people, np.array([1 - share, share]) @ table)
                one = shares(counts, text)
                inside += one.low[1] <= share <= one.high[1]
            found[f"{text}, {share:g}, {people}"] = inside / runs
    return found


def second_unknowns(runs: int, seed: int) -> dict[str, float]:
    """Return coverage of slopes beside a second unknown, with half a person."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in ("unrelated-question", "stochastic-lie-detector", "cheating-detection"):
        inside = 0
        for _ in range(runs):
            group, x = rng.integers(1, 3, 1000), rng.integers(0, 2, 1000)
            p = np.where(group == 1, 0.2, 0.8)
            yes = rng.random(1000) < expit(-1 + 0.8 * x)
            die = rng.random(1000) < p
            if name == "unrelated-question":
                said = np.where(die, yes, rng.random(1000) < 0.4)
            elif name == "stochastic-lie-detector":
                said = np.where(yes, rng.random(1000) < 0.8, ~die)
            else:
                cheats = ~yes & (rng.random(1000) < 0.2)
                said = ~cheats & (yes | die)
            data = {"said": said.astype(int), "group": group, "x": x}
            fit = two_groups(
                data,
                "said ~ x",
                design=name,
                groups="group",
                chances={1: 0.2, 2: 0.8},
            ).regression
            term = fit.term("x", "yes" if name == "cheating-detection" else None)
            inside += (term.low or -99) <= 0.8 <= (term.high or 99)
        found[name] = inside / runs
    return found


def planned_samples(runs: int, seed: int) -> dict[str, float]:
    """Return how often a test with the people of a plan misses: in 1 of 5, as planned."""
    rng = np.random.default_rng(seed)
    text = "forced-response:no=1/6,yes=1/6"
    plan = share_sample(text, share=0.3, against=0.2)
    said = 1 / 6 + 2 / 3 * 0.3
    missed = 0
    for _ in range(20 * runs):
        share = (rng.binomial(plan.people, said) / plan.people - 1 / 6) * 1.5
        null = 1.5 * np.sqrt((1 / 6 + 2 / 3 * 0.2) * (5 / 6 - 2 / 3 * 0.2) / plan.people)
        missed += int(abs(share - 0.2) < 1.959964 * null)
    return {
        f"{text}, {plan.people}": missed / (20 * runs),
        "unrelated question of unknown share": _planned_groups(20 * runs, rng),
    }


def _planned_groups(runs: int, rng: np.random.Generator) -> float:
    """Return how often the planned people of two groups miss a share of .3 against .2."""
    plan = two_group_sample(
        "unrelated-question", chances=(0.75, 0.25), share=0.3, against=0.2, other=0.3
    )
    n = plan.people / 2
    chance = np.array([[0.75, 0.25], [0.25, 0.75]])  # of the question, and of the other one
    back = np.linalg.inv(chance)
    said = rng.binomial(round(n), chance @ [0.3, 0.3], (runs, 2)) / round(n)
    found = said @ back.T
    null = np.column_stack([np.full(runs, 0.2), found[:, 1]]) @ chance.T
    error = np.sqrt(null * (1 - null) / n @ back[0] ** 2)
    return float((np.abs(found[:, 0] - 0.2) < 1.959964 * error).mean())
