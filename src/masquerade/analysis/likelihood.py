"""The likelihood of reports of an outcome and of masked predictors: value, score, information.

Each person is in one of the *cells*, the combinations of answers to masked predictors, and nobody
is told which. Likelihood of a person: f = sum over cells of pi_c(w) L_c q_c, with pi_c the model of
cells, L_c the probability of the reports of predictors, q_c that of the report of the outcome.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from masquerade.analysis.outcomes import Outcome, margins
from masquerade.exact.arrays import Codes, Floats

#: People who are worked on at once: their tables fit the cache.
CHUNK = 4000
#: Numbers in a table of theirs.
MOST_NUMBERS = 1 << 22
#: Cells above which a model is refused, for the cost grows with their number.
MOST_CELLS = 256


@dataclass(frozen=True, slots=True)
class Seen:
    """Likelihoods of reports to one question: ``table[code[person], answer]``.

    Attributes
    ----------
    table : float array, shape (rows, answers)
    code : int array, shape (people,)
    """

    table: Floats
    code: Codes

    @property
    def answers(self) -> int:
        """Number of answers."""
        return int(self.table.shape[1])

    def rows(self, part: slice) -> Floats:
        """Return the likelihoods of some people."""
        return self.table[self.code[part]]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over people.

    Attributes
    ----------
    value : float
        Log-likelihood; -inf where a report is impossible.
    score : float array, shape (parameters,)
    observed : float array, shape (parameters, parameters)
        Less the second derivatives.
    complete : float array, the same shape
        Information if all answers were seen; empty if not asked for.
    """

    value: float
    score: Floats
    observed: Floats
    complete: Floats


@dataclass(frozen=True)
class Model:
    """Reports of people and the model that they are seen through.

    Attributes
    ----------
    columns : float array, shape (people, columns)
        Clear columns, the constant first.
    outcome : Outcome
    reported : Seen
        Reports of the outcome; a number is its own table.
    masked : tuple of Seen
        Reports of each masked predictor.
    codings : tuple of float array, shape (answers, codes)
        The columns that each answer of a masked predictor becomes.
    weight : float array, shape (people,)
    by_columns : bool
        Whether shares of cells depend on the clear columns.
    """

    columns: Floats
    outcome: Outcome
    reported: Seen
    masked: tuple[Seen, ...]
    codings: tuple[Floats, ...]
    weight: Floats
    by_columns: bool = True
    chunk: int = field(default=CHUNK, repr=False)

    @cached_property
    def places(self) -> Codes:
        """The answer of each cell to each masked predictor, shape (cells, predictors)."""
        sizes = [one.answers for one in self.masked]
        grids = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0))
        return grids.astype(np.int32)

    @cached_property
    def codes(self) -> Floats:
        """The codes of masked predictors in each cell, shape (cells, codes)."""
        parts = [coding[self.places[:, m]] for m, coding in enumerate(self.codings)]
        return np.concatenate(parts, axis=1) if parts else np.zeros((1, 0))

    @cached_property
    def basis(self) -> Floats:
        """From parameters of the outcome to coefficients of its predictors."""
        return self.outcome.basis(self.columns.shape[1], self.codes.shape[1])

    @property
    def outcome_size(self) -> int:
        """Number of parameters of the outcome; those of the cells follow."""
        return int(self.basis.shape[1])

    @cached_property
    def constants(self) -> Floats:
        """Features of a cell with a constant each, shape (cells, cells - 1)."""
        return np.eye(len(self.places))[:, 1:]

    @cached_property
    def slopes(self) -> Floats:
        """Features of a cell that depend on clear columns, shape (cells, features)."""
        if not self.by_columns or self.columns.shape[1] == 1:
            return np.zeros((len(self.places), 0))
        parts = [
            self.places[:, [m]] == np.arange(1, one.answers) for m, one in enumerate(self.masked)
        ]
        return np.concatenate(parts, axis=1).astype(float) if parts else np.zeros((1, 0))

    @property
    def size(self) -> int:
        """Number of parameters."""
        columns = self.columns.shape[1] - 1
        return int(self.outcome_size + self.constants.shape[1] + self.slopes.shape[1] * columns)

    @property
    def people(self) -> int:
        """Number of rows."""
        return len(self.weight)

    def start(self) -> Floats:
        """Return the first parameters: constants and shares of cells by each variable alone."""
        theta = np.zeros(self.size)
        some = slice(0, max(1, min(self.people, 50_000)))
        weight = self.weight[some]
        first = self.outcome.starts(self.reported.rows(some), weight)
        width = self.columns.shape[1] + self.codes.shape[1]
        place = np.zeros(self.basis.shape[0])
        place[np.arange(len(first)) * width] = first
        theta[: self.outcome_size] = np.linalg.lstsq(self.basis, place, rcond=None)[0]
        logs = np.zeros(len(self.places))
        for m, one in enumerate(self.masked):
            logs += np.log(margins(one.rows(some), weight))[self.places[:, m]]
        cells = self.constants.shape[1]
        theta[self.outcome_size : self.outcome_size + cells] = (logs - logs[0])[1:]
        return theta

    def _split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return coefficients (predictors, width), constants of cells, slopes of cells."""
        m = self.outcome.predictors
        coefficients = (self.basis @ theta[: self.outcome_size]).reshape(m, -1)
        rest = theta[self.outcome_size :]
        cells = self.constants.shape[1]
        slopes = rest[cells:].reshape(self.slopes.shape[1], self.columns.shape[1] - 1)
        return coefficients, rest[:cells], slopes

    def linear_predictors(self, theta: Floats, columns: Floats) -> Floats:
        """Return linear predictors of people in each cell, shape (predictors, people, cells)."""
        coefficients = self._split(theta)[0]
        s = columns.shape[1]
        by_people = coefficients[:, :s] @ columns.T
        return by_people[:, :, None] + (coefficients[:, s:] @ self.codes.T)[:, None, :]

    def shares(self, theta: Floats, columns: Floats) -> Floats:
        """Return pi, the shares of cells by the clear columns, shape (people, cells)."""
        _, constants, slopes = self._split(theta)
        logs = np.tile(self.constants @ constants, (len(columns), 1))
        if slopes.size:
            logs += columns[:, 1:] @ (self.slopes @ slopes).T
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        logs /= logs.sum(axis=1, keepdims=True)
        return logs

    def seen_cells(self, part: slice) -> Floats:
        """Return L, the likelihood of the reports of masked predictors in each cell."""
        out = np.ones((1, 1))
        for m, one in enumerate(self.masked):
            out = out * one.table[:, self.places[:, m]][one.code[part]]
        return out

    def _parts(self) -> Iterator[slice]:
        # Fewer people where each has a large table of second derivatives.
        each = self.outcome.predictors**2 * len(self.places)
        step = max(min(self.chunk, MOST_NUMBERS // each), 1)
        for first in range(0, self.people, step):
            yield slice(first, min(first + step, self.people))

    def value(self, theta: Floats) -> float:
        """Return the log-likelihood."""
        total = 0.0
        for part in self._parts():
            x = self.columns[part]
            eta = self.linear_predictors(theta, x)
            q = self.outcome.density(eta, self.reported.rows(part), second=False)
            f = (self.shares(theta, x) * self.seen_cells(part) * q.value).sum(axis=1)
            if not (f > 0).all():
                return -math.inf
            total += float(self.weight[part] @ (np.log(f) + q.shift))
        return total

    def scores(self, theta: Floats, clusters: Codes | None = None) -> Floats:
        """Return the sum of weighted products of scores of people, or of whole clusters."""
        meat = np.zeros((self.size, self.size))
        sums = None if clusters is None else np.zeros((int(clusters.max()) + 1, self.size))
        for part in self._parts():
            step = _Chunk(self, theta, part, second=False)
            rows = step.score_rows() * self.weight[part][:, None]
            if sums is None or clusters is None:
                meat += rows.T @ rows
            else:
                np.add.at(sums, clusters[part], rows)
        return meat if sums is None else sums.T @ sums

    def totals(self, theta: Floats, *, complete: bool = False) -> Totals:
        """Return log-likelihood, score and observed information."""
        size = self.size
        value, score = 0.0, np.zeros(size)
        sums = _Moments(self)
        for part in self._parts():
            step = _Chunk(self, theta, part, second=True)
            if step.f is None:
                return Totals(-math.inf, score, np.empty(0), np.empty(0))
            value += float(step.weight @ (np.log(step.f) + step.density.shift))
            score += sums.add(step, complete=complete)
        observed, whole = sums.information(complete=complete)
        return Totals(value, score, observed, whole)


class _Chunk:
    """Posterior quantities of some people."""

    def __init__(self, model: Model, theta: Floats, part: slice, *, second: bool) -> None:
        self.model = model
        self.x = model.columns[part]
        self.weight = model.weight[part]
        self.eta = model.linear_predictors(theta, self.x)
        seen = model.reported.rows(part)
        self.density = model.outcome.density(self.eta, seen, second=second)
        self.pi = model.shares(theta, self.x)
        base = self.pi * model.seen_cells(part)
        joint = base * self.density.value
        f = joint.sum(axis=1)
        if not (f > 0).all():
            self.f: Floats | None = None
            return
        self.f = f
        self.posterior = joint / f[:, None]
        self.base = base / f[:, None]
        self.g = self.base * self.density.first  # G[predictor, person, cell]

    def expanded(self, p: Floats) -> Floats:
        """Return expected features of cells times clear columns, shape (people, parameters)."""
        model = self.model
        constants = p[:, 1:]
        if not model.slopes.shape[1]:
            return constants
        expected = p @ model.slopes
        products = expected[:, :, None] * self.x[:, None, 1:]
        return np.concatenate([constants, products.reshape(len(p), -1)], axis=1)

    def outcome_rows(self) -> Floats:
        """Return scores of the coefficients: [x sum of G, G D] for each predictor."""
        parts = []
        for g in self.g:
            parts += [self.x * g.sum(axis=1, keepdims=True), g @ self.model.codes]
        return np.concatenate(parts, axis=1) @ self.model.basis

    def score_rows(self) -> Floats:
        """Return each person's score of all parameters."""
        cells = self.expanded(self.posterior) - self.expanded(self.pi)
        return np.concatenate([self.outcome_rows(), cells], axis=1)


class _Moments:
    """Sums of products of clear columns, weighted for each cell, that the information is made of.

    Observed information, with u_c = [x, D_c] and F_c the features of a cell times its columns:
    S'S - sum M_c u_c u_c' for the outcome; Cov_pi(F) - Cov_w(F) for the cells;
    -(sum G_c u_c F_c' - (sum G_c u_c) E_w F') across.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        s, m = model.columns.shape[1], model.outcome.predictors
        cells = len(model.places)
        self.upper = np.triu_indices(s)
        pairs = len(self.upper[0])
        self.rows = np.zeros((model.size, model.size))  # R'R of scores and posterior features
        self.prior = np.zeros((model.size - model.outcome_size,) * 2)
        self.second = np.zeros((m, m, cells, pairs))
        self.first = np.zeros((m, cells, pairs))
        self.gap = np.zeros((cells, pairs))
        self.shares = np.zeros((cells, pairs))
        self.clear = np.zeros((m, m, cells, pairs))

    def add(self, step: _Chunk, *, complete: bool) -> Floats:
        """Add some people; return the sum of their scores."""
        model, weight = self.model, step.weight
        outcome, after = step.outcome_rows(), step.expanded(step.posterior)
        before = step.expanded(step.pi)
        root = np.sqrt(weight)[:, None]
        rows = np.concatenate([outcome, after], axis=1) * root
        self.rows += rows.T @ rows
        scaled = before * root
        self.prior += scaled.T @ scaled
        pairs = step.x[:, self.upper[0]] * step.x[:, self.upper[1]] * weight[:, None]
        for a in range(model.outcome.predictors):
            self.first[a] += step.g[a].T @ pairs
            for b in range(a, model.outcome.predictors):
                self.second[a, b] += (step.base * step.density.second[a, b]).T @ pairs
        self.gap += (step.pi - step.posterior).T @ pairs
        if complete:
            self.shares += step.pi.T @ pairs
            known = model.outcome.information(step.eta)
            for a in range(model.outcome.predictors):
                for b in range(a, model.outcome.predictors):
                    self.clear[a, b] += (step.posterior * known[a, b]).T @ pairs
        return np.concatenate([weight @ outcome, weight @ (after - before)])

    def _square(self, packed: Floats) -> Floats:
        s = self.model.columns.shape[1]
        out = np.zeros((*packed.shape[:-1], s, s))
        out[..., self.upper[0], self.upper[1]] = packed
        out[..., self.upper[1], self.upper[0]] = packed
        return out

    def _vectors(self) -> tuple[Floats, Floats]:
        """Return, for each cell, the matrices that make u_c and F_c of the clear columns."""
        model = self.model
        s, cells = model.columns.shape[1], len(model.places)
        outcome = np.zeros((cells, s + model.codes.shape[1], s))
        outcome[:, :s] = np.eye(s)
        outcome[:, s:, 0] = model.codes
        constants = model.constants.shape[1]
        features = np.zeros((cells, model.size - model.outcome_size, s))
        features[:, :constants, 0] = model.constants
        for j in range(model.slopes.shape[1]):
            first = constants + j * (s - 1)
            features[:, first : first + s - 1, 1:] = model.slopes[:, j, None, None] * np.eye(s - 1)
        return outcome, features

    def information(self, *, complete: bool) -> tuple[Floats, Floats]:
        """Return observed and complete information."""
        model = self.model
        u, features = self._vectors()
        size = model.outcome_size
        observed = self.rows.copy()
        observed[:size, :size] -= self._by_predictors(self.second, u)
        cross = np.concatenate(
            [_contract(u, self._square(one), features) for one in self.first], axis=0
        )
        cross = model.basis.T @ cross
        observed[:size, size:] -= cross
        observed[size:, :size] -= cross.T
        observed[size:, size:] += _contract(features, self._square(self.gap), features) - self.prior
        if not complete:
            return observed, np.empty(0)
        whole = np.zeros_like(observed)
        whole[:size, :size] = self._by_predictors(self.clear, u)
        shares = _contract(features, self._square(self.shares), features)
        whole[size:, size:] = shares - self.prior
        return observed, whole

    def _by_predictors(self, sums: Floats, u: Floats) -> Floats:
        model = self.model
        m, width = model.outcome.predictors, u.shape[1]
        out = np.zeros((m * width, m * width))
        for a in range(m):
            for b in range(a, m):
                block = _contract(u, self._square(sums[a, b]), u)
                out[a * width : (a + 1) * width, b * width : (b + 1) * width] = block
                out[b * width : (b + 1) * width, a * width : (a + 1) * width] = block.T
        reduced: Floats = model.basis.T @ out @ model.basis
        return reduced


def _contract(left: Floats, middle: Floats, right: Floats) -> Floats:
    """Return the sum over cells of left_c middle_c right_c'."""
    total: Floats = np.einsum("cpq,crq->pr", left @ middle, right, optimize=True)
    return total
