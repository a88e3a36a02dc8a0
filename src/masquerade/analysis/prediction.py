"""Predictions and average marginal effects of a regression, with intervals by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.special import expit, logit, ndtri

from masquerade.analysis.formula import Encoder
from masquerade.analysis.maximum import Objective
from masquerade.answers import to_arrow
from masquerade.answers.frames import plain_column
from masquerade.answers.result import Result
from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes, Floats

if TYPE_CHECKING:
    from masquerade.answers import Frame

_STEP = 1e-5


@dataclass(frozen=True, slots=True)
class Predictions(Result):
    """The probability of each answer, or the mean, for each row of a table.

    Attributes
    ----------
    row : tuple of int
        From 1.
    answer : tuple of str
    value, low, high : tuple of float

    Examples
    --------
    >>> found = Predictions((1, 1), ("no", "yes"), (0.7, 0.3), (0.6, 0.2), (0.8, 0.4))
    >>> found.to_arrow().num_rows
    2
    """

    row: tuple[int, ...]
    answer: tuple[str, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Effects(Result):
    """Average marginal effects on the probability of each answer, or on the mean.

    Attributes
    ----------
    name : tuple of str
        Of the column.
    answer : tuple of str
    value, error, low, high : tuple of float
        Of a step from 0 to 1 for columns of 0 and 1, else of a small step, a unit.

    Examples
    --------
    >>> found = Effects(("age",), ("yes",), (0.01,), (0.004,), (0.002,), (0.018,))
    >>> found.to_arrow().column_names
    ['name', 'answer', 'value', 'error', 'low', 'high']
    """

    name: tuple[str, ...]
    answer: tuple[str, ...]
    value: tuple[float, ...]
    error: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Fitted:
    """The part of a fit that predictions need."""

    objective: Objective
    theta: Floats
    covariance: Floats
    clear: Floats  # of the people of the fit, [person, column]
    center: Floats
    names: tuple[str, ...]
    answers: tuple[str, ...]
    masked: tuple[tuple[str, tuple[str, ...]], ...]
    encoder: Encoder | None

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.answers or ("mean",)

    def predict(self, data: Frame | None, *, confidence: float) -> Predictions:
        """Return the probability of each answer for each row; see `Regression.predict`."""
        model = self.objective.model
        place: Codes | None = None
        clear = self.clear
        if data is not None:
            if self.encoder is None:
                raise ParameterError("this fit has no formula, so that it reads no table.")
            table = to_arrow(data)
            clear = self.encoder(table).values
            if (missing := np.isnan(clear).any(axis=1)).any():
                raise MissingValue(
                    f"row {int(missing.argmax()) + 1}: a value of a column of the formula is "
                    "missing; leave the row out, or give the value."
                )
            place = self._cells(table)
        columns = np.column_stack([np.ones(len(clear)), clear - self.center])
        labels = self._labels

        def of(theta: Floats) -> Floats:
            p = model.outcome.probabilities(model.linear_predictors(theta, columns))
            if place is not None:
                return np.asarray(p[:, np.arange(len(columns)), place])
            return np.asarray((p * model.shares(theta, columns)).sum(axis=2))

        value = of(self.theta)
        odds = bool(self.answers)
        change = logit if odds else np.asarray
        back = expit if odds else np.asarray
        clipped = np.clip(value, 1e-12, 1 - 1e-12) if odds else value
        slopes = self._slopes(lambda theta: change(_inside(of(theta), odds)))
        error = np.sqrt(np.einsum("p...,pq,q...->...", slopes, self.covariance, slopes))
        z = float(ndtri(0.5 + confidence / 2))
        middle = change(clipped)
        low, high = back(middle - z * error), back(middle + z * error)
        rows = np.repeat(np.arange(1, len(columns) + 1), len(labels))
        return Predictions(
            tuple(rows.tolist()),
            labels * len(columns),
            *(tuple(part.T.ravel().tolist()) for part in (value, low, high)),
        )

    def effects(self, *, confidence: float) -> Effects:
        """Return average marginal effects; see `Regression.effects`."""
        model = self.objective.model
        weight = model.weight / model.weight.sum()
        steps = []
        for place, name in enumerate(self.names):
            column = model.columns[:, 1 + place] + self.center[place]
            binary = bool(((column == 0) | (column == 1)).all())
            steps.append((name, self._of_column(1 + place, binary, weight)))
        start = 0
        for (name, options), coding in zip(self.masked, model.codings, strict=True):
            for code in range(coding.shape[1]):
                dummy = coding.shape[1] > 1 or len(options) == 2
                label = name if coding.shape[1] == 1 else f"{name}[{options[code + 1]}]"
                steps.append((label, self._of_code(start + code, coding[:, code], dummy, weight)))
            start += coding.shape[1]
        rows: list[tuple[str, str, float, float]] = []
        for name, effect in steps:
            value, slopes = effect(self.theta), self._slopes(effect)
            error = np.sqrt(np.einsum("pa,pq,qa->a", slopes, self.covariance, slopes))
            rows += zip(
                [name] * len(value), self._labels, value.tolist(), error.tolist(), strict=True
            )
        z = float(ndtri(0.5 + confidence / 2))
        return Effects(
            tuple(row[0] for row in rows),
            tuple(row[1] for row in rows),
            tuple(row[2] for row in rows),
            tuple(row[3] for row in rows),
            tuple(row[2] - z * row[3] for row in rows),
            tuple(row[2] + z * row[3] for row in rows),
        )

    def average(self, place: int) -> tuple[float, float]:
        """Return the average chance of an answer over people, and its error."""
        model = self.objective.model
        weight = model.weight / model.weight.sum()

        def of(theta: Floats) -> Floats:
            p = model.outcome.probabilities(model.linear_predictors(theta, model.columns))
            shares = model.shares(theta, model.columns)
            return np.array([(p[place] * shares).sum(axis=1) @ weight])

        slopes = self._slopes(of)[:, 0]
        error = np.sqrt(slopes @ self.covariance @ slopes)
        return float(of(self.theta)[0]), float(error)

    def _of_column(self, place: int, binary: bool, weight: Floats) -> Callable[[Floats], Floats]:
        model = self.objective.model
        middle = model.columns[:, place]
        if binary:
            low = np.full_like(middle, -self.center[place - 1])
            ends, step = (low, low + 1), 1.0
        else:
            h = _STEP * max(float(middle.std()), 1e-12)
            ends, step = (middle - h, middle + h), 2 * h

        def effect(theta: Floats) -> Floats:
            found = []
            shares = model.shares(theta, model.columns)
            for end in ends:
                columns = model.columns.copy()
                columns[:, place] = end
                p = model.outcome.probabilities(model.linear_predictors(theta, columns))
                found.append((p * shares).sum(axis=2) @ weight)
            return np.asarray((found[1] - found[0]) / step)

        return effect

    def _of_code(
        self, place: int, coding: Floats, dummy: bool, weight: Floats
    ) -> Callable[[Floats], Floats]:
        model = self.objective.model
        width = float(coding.max() - coding.min()) if dummy else 2 * _STEP
        base = model.columns.shape[1] + place
        total = model.columns.shape[1] + model.codes.shape[1]
        codes = model.codes[:, place]

        def effect(theta: Floats) -> Floats:
            slope = (model.basis @ theta[: model.outcome_size]).reshape(-1, total)[:, base]
            eta = model.linear_predictors(theta, model.columns)
            shares = model.shares(theta, model.columns)
            found = []
            for end in (coding.min(), coding.max()) if dummy else (-_STEP, _STEP):
                shift = slope[:, None] * (end - codes if dummy else np.full_like(codes, end))
                p = model.outcome.probabilities(eta + shift[:, None, :])
                found.append((p * shares).sum(axis=2) @ weight)
            return np.asarray((found[1] - found[0]) / width)

        return effect

    def _slopes(self, of: Callable[[Floats], Floats]) -> Floats:
        """Return central differences by each parameter, parameters first."""
        parts = []
        for place in range(len(self.theta)):
            step = np.zeros_like(self.theta)
            # in scaled units: a step of 1e-5 in the coefficient of an income is no small one
            unit = self.objective.unit[place]
            step[place] = _STEP * max(unit, abs(self.theta[place]))
            difference = of(self.theta + step) - of(self.theta - step)
            parts.append(difference / (2 * step[place]))
        return np.array(parts)

    def _cells(self, table: pa.Table) -> Codes | None:
        """Return the cell of each row where the table has an answer to every masked predictor."""
        names = list(table.column_names)
        there = [name for name, _ in self.masked if name in names]
        if not self.masked or not there:
            return None
        if len(there) < len(self.masked):
            missing = [name for name, _ in self.masked if name not in names]
            raise ParameterError(
                f"the table has answers to {there} and none to {missing}; give all masked "
                "predictors, or none to average over them."
            )
        cell = np.zeros(len(table), dtype=np.int64)
        for name, options in self.masked:
            column = plain_column(table, name).to_pylist()
            place = {option: code for code, option in enumerate(options)}
            for row, one in enumerate(column):
                text = f"{one:g}" if isinstance(one, float) else str(one)
                if text not in place:
                    raise UnknownLabel(
                        f"column {name!r}, row {row + 1}: {one!r} is none of {list(options)}."
                    )
                cell[row] = cell[row] * len(options) + place[text]
        return cell.astype(np.int32)


def _inside(p: Floats, odds: bool) -> Floats:
    return np.clip(p, 1e-12, 1 - 1e-12) if odds else p
