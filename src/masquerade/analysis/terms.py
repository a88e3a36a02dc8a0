"""The numbers that a regression prints: coefficients, intervals, tests, Holm's order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc

from masquerade.analysis.design import Design, FitOptions
from masquerade.analysis.likelihood import MOST_CELLS, Model, Seen
from masquerade.analysis.maximum import MANY, Objective, Optimum, Penalty, maximise
from masquerade.analysis.outcomes import Outcome
from masquerade.analysis.prediction import Fitted
from masquerade.analysis.profile import Bend, Curve, Reference
from masquerade.analysis.result import Term
from masquerade.analysis.variables import ClearColumns
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Codes, Floats, Integers

_LEAST_INFORMATION = 0.25
_LOADING = 0.3
#: Information at which plain maximum likelihood has run away: an error of 100 scaled units.
_AT_INFINITY = 1e-4
_CONSTANT = "(constant)"
_FALSE = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """A number that is printed, as a product with the parameters."""

    name: str
    answer: str | None
    direction: Floats
    unit: float
    slope: bool
    masked: bool
    binary: bool = False


@dataclass(frozen=True)
class Prepared:
    """A model of a design in coordinates in which clear columns are centred."""

    objective: Objective
    rows: tuple[Row, ...]
    center: Floats
    robust: bool
    cluster: Codes | None
    weight_count: int
    mean_weight: float

    @classmethod
    def of(cls, design: Design, outcome: Outcome, fitting: FitOptions) -> Prepared:
        """Return the model of the variables of a design."""
        weight = np.ones(design.people) if design.weight is None else design.weight
        mean_weight = float(weight.mean())
        weight = weight / mean_weight  # so that half a person weighs as half of one of them
        center = weight @ design.clear.values / weight.sum()
        columns = np.column_stack([np.ones(design.people), design.clear.values - center])
        scale = scales(design.clear, weight)
        codings = [one.coding() for one in design.masked]
        cells = math.prod(len(one.options) for one in design.masked)
        if cells > MOST_CELLS:
            raise ParameterError(
                f"the masked predictors have {cells} combinations of answers, and a fit takes at "
                f"most {MOST_CELLS}; leave one out, or join options.",
                field="formula",
            )
        robust = design.weight is not None or design.cluster is not None
        model = Model(
            columns,
            outcome,
            design.outcome.seen,
            tuple(one.seen for one in design.masked),
            tuple(one.values for one in codings),
            weight,
            fitting.cells == "columns",
        )
        if not robust:
            model = collapsed(model)
        units = np.concatenate([[1.0], scale, *[one.half for one in codings]])
        middles = np.concatenate([center, *[one.middle for one in codings]])
        step = outcome.unit(design.outcome.seen.rows(slice(None)), weight)
        objective = Objective(model, *_penalty(model, units, scale, fitting.penalty, step))
        names = (*design.clear.names, *(name for one in codings for name in one.names))
        return cls(
            objective,
            tuple(_rows(model, names, units / step, middles, design)),
            center,
            robust,
            design.cluster,
            design.people,
            mean_weight,
        )

    def terms(self, optimum: Optimum, fitting: FitOptions) -> tuple[Term, ...]:
        """Return each printed number with its interval and test."""
        inverse = np.asarray(np.linalg.inv(optimum.information), dtype=np.float64)
        variance, reference = self._errors(optimum, inverse)
        blind = self._blind(optimum)
        many = self.objective.model.people > MANY
        bend = Bend(self.objective, optimum.theta) if many and fitting.intervals else None
        curves = []
        for row in self.rows:
            a = row.direction
            unit = a * self.objective.unit
            loads = float(np.abs(blind.T @ unit).max(initial=0.0))
            by_model = math.sqrt(float(a @ inverse @ a))
            factor = by_model**2 / float(a @ variance @ a)
            curve = Curve(self.objective, optimum, a, row.unit, by_model, factor, bend)
            curves.append(None if loads > _LOADING * float(np.linalg.norm(unit)) else curve)
        terms = [
            _term(row, curve, reference, fitting)
            for row, curve in zip(self.rows, curves, strict=True)
        ]
        if not fitting.intervals:
            return tuple(terms)
        joint = self._joint(optimum) if reference.clusters is None else {}
        for place, cut in _rejected(terms, joint, reference):
            told = curves[place]
            assert told is not None
            low, high = told.interval(cut)
            terms[place] = replace(
                terms[place], said=True, said_low=_end(low), said_high=_end(high)
            )
        return tuple(terms)

    def _errors(self, optimum: Optimum, inverse: Floats) -> tuple[Floats, Reference]:
        """Return the variance of the parameters, robust where there are weights or clusters."""
        if not self.robust:
            return inverse, Reference()
        meat = self.objective.model.scores(optimum.theta, self.cluster)
        clusters = self.weight_count
        if self.cluster is not None:
            clusters = int(self.cluster.max()) + 1
            meat = meat * clusters / max(clusters - 1, 1)
        return inverse @ meat @ inverse, Reference(clusters)

    def _joint(self, optimum: Optimum) -> dict[str, float]:
        """Return the p-value of all dummies of a masked predictor together, by its name."""
        families: dict[str, list[Floats]] = {}
        for row in self.rows:
            if row.masked and "[" in row.name:
                family = f"{row.name.partition('[')[0]}, {row.answer}"
                families.setdefault(family, []).append(row.direction)
        found = {}
        for name, directions in families.items():
            held = np.array(directions)
            theta = optimum.theta * (np.abs(held).sum(axis=0) == 0)
            best = maximise(self.objective, theta, held=held)
            found[name] = float(chdtrc(len(held), max(2 * (optimum.value - best.value), 0.0)))
        return found

    def _blind(self, optimum: Optimum) -> Floats:
        """Return scaled directions of which the answers say less than half a person would."""
        penalty = self.objective.penalty
        own = optimum.information - penalty.information(optimum.theta)
        unit = self.objective.unit
        values, vectors = np.linalg.eigh(own * unit[:, None] * unit)
        least = _LEAST_INFORMATION if penalty.amount else _AT_INFINITY
        blind: Floats = vectors[:, values < least]
        return blind

    def notes(self, terms: Sequence[Term], fitting: FitOptions) -> tuple[str, ...]:
        """Return the remarks on the fit for its readers."""
        said = []
        if fitting.penalty == 0:
            said.append("plain maximum likelihood: intervals miss too often where masks say little")
            if any(one.estimate is None for one in terms):
                said.append("it has no optimum for terms without a number: it grows without end")
        if self.objective.model.masked and fitting.cells == "independent":
            said.append("masked predictors are taken to be independent of the clear columns")
        return tuple(said)

    def fitted(self, optimum: Optimum, design: Design) -> Fitted:
        """Return the part that predictions need."""
        inverse = np.asarray(np.linalg.inv(optimum.information), dtype=np.float64)
        return Fitted(
            self.objective,
            optimum.theta,
            self._errors(optimum, inverse)[0],
            design.clear.values,
            self.center,
            design.clear.names,
            design.outcome.options,
            tuple((one.name, one.options) for one in design.masked),
            design.encoder,
        )


def _term(row: Row, curve: Curve | None, reference: Reference, fitting: FitOptions) -> Term:
    """Return a printed number; without one where the answers say too little of it."""
    known = Term(row.name, row.answer, masked=row.masked, slope=row.slope, unit=row.unit)
    known = replace(known, binary=row.binary)
    if curve is None:
        return known
    error = curve.error / math.sqrt(curve.factor)
    known = replace(known, estimate=curve.estimate, error=error)
    if not fitting.intervals:
        return known
    low, high = curve.interval(reference.cut(fitting.confidence))
    w = curve.statistic(0.0) if row.slope else (curve.estimate / error) ** 2
    return replace(
        known, low=_end(low), high=_end(high), statistic=w, probability=reference.probability(w)
    )


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rejected(
    terms: Sequence[Term], joint: Mapping[str, float], reference: Reference
) -> list[tuple[int, float]]:
    """Return the slopes that Holm's order tells from 0, each with the cut of its step.

    The dummies of a masked predictor are one member of the family: their joint test comes first.
    """
    members: dict[str, tuple[float, list[int]]] = {}
    for place, term in enumerate(terms):
        if not term.slope:
            continue
        family = f"{term.name.partition('[')[0]}, {term.answer}"
        if term.masked and family in joint:
            members.setdefault(family, (joint[family], []))[1].append(place)
        else:
            p = 1.0 if term.probability is None else term.probability
            members[f"{term.name}, {term.answer}"] = (p, [place])
    told = []
    for step, (p, places) in enumerate(sorted(members.values())):
        level = _FALSE / (len(members) - step)
        if p >= level:
            break
        for place in places:
            own = terms[place].probability
            if own is not None and own < level / len(places):
                told.append((place, reference.cut(1 - level / len(places))))
    return told


def told_from_zero(terms: Sequence[Term], reference: Reference) -> tuple[Term, ...]:
    """Return terms with normal errors, those marked that Holm's order tells from 0."""
    found = list(terms)
    for place, cut in _rejected(terms, {}, reference):
        one = terms[place]
        assert one.estimate is not None
        assert one.error is not None
        reach = math.sqrt(cut) * one.error
        low, high = one.estimate - reach, one.estimate + reach
        found[place] = replace(one, said=True, said_low=low, said_high=high)
    return tuple(found)


def _penalty(
    model: Model, units: Floats, scale: Floats, amount: float, step: float
) -> tuple[Penalty, Floats]:
    """Return the penalty, and the unit of each parameter; `step` is that of the outcome."""
    first = model.outcome_size
    cells = model.constants.shape[1]
    # of the coefficients of all predictors, then of the parameters that they are made of
    shared = np.abs(model.basis)
    every = np.tile(units, model.outcome.predictors)
    outcome = (shared * every[:, None]).max(axis=0)
    slopes = np.tile(scale, model.slopes.shape[1]) if model.slopes.size else np.empty(0)
    whole = np.concatenate([outcome, np.ones(cells), slopes])
    penalised = whole.copy()
    if not model.outcome.log_odds:
        penalised[:first] = 0.0
    penalised[first : first + cells] = 0.0
    unit = 1 / whole
    unit[: first - (model.outcome.extra is not None)] *= step
    return Penalty(amount, penalised, slice(first, first + cells)), unit


def _rows(
    model: Model, names: Sequence[str], units: Floats, center: Floats, design: Design
) -> list[Row]:
    """Return the constants at 0 of all columns, and the slopes; `center` is 0 as it is coded."""
    size, m = model.size, model.outcome.predictors
    hidden = sum(coding.shape[1] for coding in model.codings)
    clear, outcome = len(names) - hidden, design.outcome
    binary = binary_columns(design)
    rows: list[Row] = []
    if model.outcome.name == "ordered":
        for j in range(m):
            a = np.zeros(size)
            a[j] = 1.0
            a[m : m + len(names)] = center  # cut at 0: tau + center . beta
            cut = f"{outcome.options[j]} | {outcome.options[j + 1]}"
            rows.append(Row(cut, None, a, 1.0, False, False))
        firsts = [m - 1]
        answers: list[str | None] = [None]
    else:
        predictors = 1 if model.outcome.extra else m
        firsts = [j * (1 + len(names)) for j in range(predictors)]
        several = model.outcome.name == "multinomial"
        answers = [*outcome.options[1:]] if several else [None]
    for first, answer in zip(firsts, answers, strict=True):
        if model.outcome.name != "ordered":
            a = np.zeros(size)
            a[first] = 1.0
            a[first + 1 : first + 1 + len(names)] = -center
            rows.append(Row(_CONSTANT, answer, a, 1.0, False, False))
        for place, name in enumerate(names):
            a = np.zeros(size)
            a[first + 1 + place] = 1.0
            unit = 1 / units[1 + place]
            rows.append(Row(name, answer, a, unit, True, place >= clear, place in binary))
    if model.outcome.extra:
        a = np.zeros(size)
        a[1 + len(names)] = 1.0
        rows.append(Row(model.outcome.extra, None, a, 1.0, False, False))
    return rows


def binary_columns(design: Design) -> set[int]:
    """Return the places of columns that are 0 or 1."""
    values = design.clear.values
    found = set(np.flatnonzero(((values == 0) | (values == 1)).all(axis=0)).tolist())
    place = values.shape[1]
    for one in design.masked:
        size = len(one.coding().names)
        if one.scores is None or tuple(one.scores) == (0.0, 1.0):
            found |= set(range(place, place + size))
        place += size
    return found


def scales(clear: ClearColumns, weight: Floats) -> Floats:
    """Return 1 for columns of 0 and 1, 2 standard deviations for other numbers."""
    out = np.ones(clear.values.shape[1])
    for place, name in enumerate(clear.names):
        column = clear.values[:, place]
        if ((column == 0) | (column == 1)).all():
            spread = float(column.min() != column.max())
        else:
            mean = weight @ column / weight.sum()
            spread = 2 * math.sqrt(float(weight @ (column - mean) ** 2 / weight.sum()))
        if not spread > 0:
            raise InputError(
                f"{name!r} has one value alone, {column[0]:g}, so that nothing follows from it; "
                "leave it out."
            )
        out[place] = spread
    return out


def collapsed(model: Model) -> Model:
    """Return the model with rows that are equal joined, their weights added."""
    people = model.people
    codes: Integers = np.zeros(people, dtype=np.int64)
    size = 1
    parts: list[Any] = [model.reported.code, *(one.code for one in model.masked)]
    if model.outcome.name == "linear":
        parts[0] = np.unique(model.reported.table[model.reported.code, 0], return_inverse=True)[1]
    parts += [model.columns[:, place] for place in range(1, model.columns.shape[1])]
    for part in parts:
        known, code = np.unique(part, return_inverse=True)
        if 2 * len(known) > people and people > 1:
            return model  # a column in which nearly all differ
        codes = codes * len(known) + code
        size *= len(known)
        if size > 1 << 40:
            codes = np.unique(codes, return_inverse=True)[1]
            size = int(codes.max()) + 1
            if 2 * size > people:
                return model
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    if 2 * len(first) > people:
        return model
    return replace(
        model,
        columns=np.ascontiguousarray(model.columns[first]),
        reported=Seen(model.reported.table, model.reported.code[first]),
        masked=tuple(Seen(one.table, one.code[first]) for one in model.masked),
        weight=np.bincount(inverse, weights=model.weight).astype(np.float64),
    )
