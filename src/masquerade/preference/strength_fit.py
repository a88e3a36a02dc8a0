"""Strengths of items from counted battles: maximum likelihood, and the errors of its estimates.

Parameters stand in one order: a strength an item, an effect a covariate, and the log of the tie
parameter where the model has one. Strengths are known up to a constant; they sum to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import coo_array

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.preference.battle_counts import BattleCounts, CountedBattles, voter_buckets
from masquerade.preference.tie_models import TieModel

#: Below so many voters, their scores say little of how voters differ.
FEWEST_VOTERS = 10

_CLOSE = 1e-11  # derivative a battle at which a fit ends
_MOST_STEPS = 100
_MOST_HALVINGS = 60
_VOTERS_A_BLOCK = 2000
_FLAT = 1e-10  # an eigenvalue of the information, relative to the largest, that counts as none


@dataclass(frozen=True, slots=True, eq=False)
class StrengthFit:
    """The parameters of greatest likelihood, and the information about them.

    Attributes
    ----------
    counts : BattleCounts
    model : TieModel
    parameters : float array, shape (n_parameters,)
    information : float array, shape (n_parameters, n_parameters)
        Negative second derivative of the log-likelihood, without the ridge.
    ridge : float
        Precision of the normal prior of the strengths; 0 without.
    log_likelihood : float
    converged : bool
    steps : int
    """

    counts: BattleCounts
    model: TieModel
    parameters: Floats
    information: Floats
    ridge: float
    log_likelihood: float
    converged: bool
    steps: int

    @property
    def strengths(self) -> Floats:
        """Strengths of the items, which sum to 0, shape (n_items,)."""
        return self.parameters[: self.counts.items]

    @property
    def effects(self) -> Floats:
        """Effects of the covariates, shape (n_covariates,)."""
        many = self.counts.covariates.shape[1]
        return self.parameters[self.counts.items : self.counts.items + many]

    @property
    def tie(self) -> float:
        """Log of the tie parameter; 0 where the model has none."""
        return float(self.parameters[-1]) if self.model.has_tie_parameter else 0.0

    def inverse(self) -> Floats:
        """Return the inverse of information and ridge, on the plane where strengths sum to 0."""
        m = self.counts.items
        penalised = _penalised(self.information, m, self.ridge)
        centre = _centring(len(penalised), m)
        inverse: Floats = centre @ np.linalg.inv(penalised) @ centre
        return inverse

    def advantages(self) -> Floats:
        """Return the first item's advantage in each cell, shape (n_cells,)."""
        return _advantages(self.counts, self.parameters)


def fit_strengths(
    counts: BattleCounts, model: TieModel, *, ridge: float = 0.0, tilt: Floats | None = None
) -> StrengthFit:
    """Return the parameters of greatest (penalised) likelihood.

    Parameters
    ----------
    counts : BattleCounts
        Without a ridge, of items that results link to one another; see `BattleCounts.groups`.
    ridge : float
        Precision of a normal prior: the likelihood less ``ridge / 2 |strengths|**2``.
    tilt : float array, shape (n_parameters,), optional
        Added to the derivative. With the sufficient statistics' noise in it, the fit is that of the
        noisy statistics: of an exponential family, concave whatever the noise is.

    Raises
    ------
    ParameterError
        The likelihood has no maximum: a covariate is constant, follows from others, or foretells
        every outcome.

    Notes
    -----
    Newton's method from 0; a step is halved while it makes the likelihood smaller. A multiple of
    the matrix of ones fixes the sum of the strengths at 0. **Cost**: cells and, a step, cubic in
    items.
    """
    m = counts.items
    size = m + counts.covariates.shape[1] + int(model.has_tie_parameter)
    at = np.zeros(size)
    push = np.zeros(size) if tilt is None else tilt
    total = max(counts.total, 1.0)
    if model.has_tie_parameter:
        ties = counts.ties if tilt is None else counts.ties + float(push[-1])
        at[-1] = model.start(min(max(ties / total, 0.5 / total), 1 - 0.5 / total))

    def value(at: Floats) -> float:
        logs = model.log_probabilities(_advantages(counts, at), _tie(model, at))
        each = float(np.sum(counts.counts * logs, where=counts.counts > 0))
        return each + float(push @ at) - ridge / 2 * float(at[:m] @ at[:m])

    now, converged, steps = value(at), False, 0
    while True:
        d, g = _advantages(counts, at), _tie(model, at)
        scores = np.einsum("oc,poc->pc", counts.counts, model.scores(d, g))
        gradient = _gathered(counts, model, scores[0], scores[1]) + push
        gradient[:m] -= ridge * at[:m]
        information = _assembled(counts, model, *model.curvature(d, g, counts.counts))
        converged = bool(np.abs(gradient).max() <= _CLOSE * total)
        if converged or steps == _MOST_STEPS:
            break
        steps += 1
        try:
            step = np.linalg.solve(_penalised(information, m, ridge), gradient)
        except np.linalg.LinAlgError as error:
            raise _no_maximum() from error
        step[:m] -= step[:m].mean()
        for _ in range(_MOST_HALVINGS):
            after = value(at + step)
            # 1e-12: the rounding of the value; a comparison with NaN is false, and halves too
            if after >= now - 1e-12 * (1 + abs(now)):
                break
            step = step / 2
        at, now = at + step, after
    if not converged or not np.isfinite(at).all():
        raise _no_maximum()
    if counts.covariates.shape[1]:  # a direction that no battle tells apart
        values = np.linalg.eigvalsh(_penalised(information, m, ridge))
        if values[0] <= _FLAT * values[-1]:
            raise _no_maximum()
    likelihood = now + ridge / 2 * float(at[:m] @ at[:m]) - float(push @ at)
    return StrengthFit(counts, model, at, information, ridge, likelihood, converged, steps)


def battle_scatter(fit: StrengthFit) -> Floats:
    """Return the summed outer products of the battles' scores, each battle by itself."""
    by_d, by_g = fit.model.scores(fit.advantages(), fit.tie)
    squares = fit.counts.squares
    parts = [(squares * product).sum(axis=0) for product in (by_d**2, by_d * by_g, by_g**2)]
    return _assembled(fit.counts, fit.model, *parts)


class VotesByVoter(Protocol):
    """Battles of which all votes of a voter are in one part."""

    @property
    def signed(self) -> bool:
        """Whether voters are known."""
        ...

    def parts(self) -> Iterator[CountedBattles]:
        """Yield some voters' battles at a time."""
        ...


def voter_scatter(fit: StrengthFit, battles: VotesByVoter) -> tuple[Floats, int]:
    """Return the summed outer products of the voters' scores times n / (n - 1), and n.

    n counts the voters with a battle. Voters are taken in blocks of dense rows; where voters have
    few battles among many items, rows stay sparse.
    """
    if not battles.signed:
        raise ParameterError("nobody knows who voted; use battle_scatter.")
    size = len(fit.parameters)
    scores = fit.model.scores(fit.advantages(), fit.tie)  # [d or g, outcome, cell]
    meat, voters = np.zeros((size, size)), 0
    for part in battles.parts():
        assert part.voter is not None
        for order in _by_voter(part.voter, part.weight):
            found, many = _scatter_of(fit, part, scores, order)
            meat, voters = meat + found, voters + many
    if voters < 2:
        return np.zeros((size, size)), voters
    # Scores add to 0 at the maximum, which costs one degree of freedom.
    return meat * (voters / (voters - 1)), voters


def _by_voter(voter: Integers | Codes, weight: Floats | None) -> Iterator[Integers]:
    """Yield the places of votes, all of a voter together, some voters at a time."""
    for rows in voter_buckets(voter):
        if weight is not None:  # whose votes weigh nothing is no voter
            rows = rows[weight[rows] > 0]
        yield rows[np.argsort(voter[rows], kind="stable")]


def _scatter_of(
    fit: StrengthFit, battles: CountedBattles, scores: Floats, order: Integers
) -> tuple[Floats, int]:
    """Return the summed outer products of some voters' scores, and the number of voters."""
    assert battles.voter is not None
    size = len(fit.parameters)
    meat = np.zeros((size, size))
    if not len(order):
        return meat, 0
    who = battles.voter[order]
    starts = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
    voters = len(starts)
    ends = np.append(starts[1:], len(order))
    dense = (2 * len(order) / voters + 1) ** 2 * 10 > fit.counts.items**2
    for block in range(0, voters, _VOTERS_A_BLOCK):
        last = min(block + _VOTERS_A_BLOCK, voters)
        rows = order[starts[block] : ends[last - 1]]
        local = np.repeat(np.arange(last - block), ends[block:last] - starts[block:last])
        table = _voter_scores(fit, battles, scores, rows, local, dense=dense)
        product = table.T @ table
        meat += product if dense else product.toarray()
    return meat, voters


def _voter_scores(
    fit: StrengthFit,
    battles: CountedBattles,
    scores: Floats,
    rows: Integers,
    local: Integers,
    *,
    dense: bool,
) -> Any:
    """Return the summed score of each voter of a block, dense or sparse, a row a voter."""
    counts, size = fit.counts, len(fit.parameters)
    cell, outcome = battles.cell[rows], battles.outcome[rows]
    weight = 1.0 if battles.weight is None else battles.weight[rows]
    by_d, by_g = scores[0, outcome, cell] * weight, scores[1, outcome, cell] * weight
    places = [counts.first[cell], counts.second[cell]]
    values = [by_d, -by_d]
    for one in range(counts.covariates.shape[1]):
        places.append(np.full(len(cell), counts.items + one))
        values.append(by_d * counts.covariates[cell, one])
    if fit.model.has_tie_parameter:
        places.append(np.full(len(cell), size - 1))
        values.append(by_g)
    where, many = np.concatenate(places), int(local[-1]) + 1
    whose = np.tile(local, len(places))
    if dense:
        summed = np.bincount(whose * size + where, np.concatenate(values), many * size)
        return summed.reshape(many, size)
    return coo_array((np.concatenate(values), (whose, where)), shape=(many, size)).tocsr()


def clustered_covariance(fit: StrengthFit, scatter: Floats) -> Floats:
    """Return the sandwich covariance; under a prior, its bias stands in the middle too."""
    m = fit.counts.items
    inverse = fit.inverse()
    middle = scatter.copy()
    # The mean square of the ridge's pull, under strengths as the prior has them.
    middle[:m, :m] += fit.ridge * (np.eye(m) - 1 / m)
    covariance: Floats = inverse @ middle @ inverse
    return covariance


def larger_covariance(one: Floats, other: Floats) -> Floats:
    """Return the spectral maximum of two covariances: at least each of them in every direction.

    `one` must be positive definite on the plane on which `other` lives.

    Notes
    -----
    With ``one = L L'`` and ``L^+ other L^+' = U diag(e) U'``, the maximum is
    ``L U diag(max(e, 1)) U' L'``. Clustered errors alone collapse where a few battles carry a link:
    the residuals of a battle that is fitted exactly are 0.
    """
    values, vectors = np.linalg.eigh(one)
    kept = values > _FLAT * values.max(initial=0)
    root = vectors[:, kept] * np.sqrt(values[kept])
    back = vectors[:, kept] / np.sqrt(values[kept])
    ratio, turned = np.linalg.eigh(back.T @ other @ back)
    lifted = root @ turned
    covariance: Floats = (lifted * np.maximum(ratio, 1.0)) @ lifted.T
    return covariance


def _tie(model: TieModel, at: Floats) -> float:
    return float(at[-1]) if model.has_tie_parameter else 0.0


def _advantages(counts: BattleCounts, at: Floats) -> Floats:
    m, p = counts.items, counts.covariates.shape[1]
    d: Floats = at[counts.first] - at[counts.second]
    return d + counts.covariates @ at[m : m + p] if p else d


def _gathered(counts: BattleCounts, model: TieModel, by_d: Floats, by_g: Floats) -> Floats:
    """Return derivatives by d and g of each cell as derivatives by the parameters."""
    m = counts.items
    strengths = np.bincount(counts.first, by_d, m) - np.bincount(counts.second, by_d, m)
    tie = [by_g.sum()] if model.has_tie_parameter else []
    return np.concatenate([strengths, counts.covariates.T @ by_d, tie])


def _assembled(counts: BattleCounts, model: TieModel, dd: Floats, dg: Floats, gg: Floats) -> Floats:
    """Return products of the cells' derivatives by d and g as a matrix of the parameters."""
    m, p = counts.items, counts.covariates.shape[1]
    size = m + p + int(model.has_tie_parameter)
    matrix = np.zeros((size, size))
    first, second, x = counts.first, counts.second, counts.covariates
    # The Laplacian of the graph of meetings.
    between = np.bincount(first * m + second, dd, m * m).reshape(m, m)
    between = between + between.T
    matrix[:m, :m] = np.diag(between.sum(axis=0)) - between

    def by_item(values: Floats) -> Floats:
        return np.asarray(np.bincount(first, values, m) - np.bincount(second, values, m))

    for place in range(p):
        matrix[:m, m + place] = matrix[m + place, :m] = by_item(dd * x[:, place])
    matrix[m : m + p, m : m + p] = (x * dd[:, None]).T @ x
    if model.has_tie_parameter:
        matrix[:m, -1] = matrix[-1, :m] = by_item(dg)
        matrix[m : m + p, -1] = matrix[-1, m : m + p] = x.T @ dg
        matrix[-1, -1] = gg.sum()
    return matrix


def _penalised(information: Floats, items: int, ridge: float) -> Floats:
    """Return information and ridge, solvable along the constant that strengths do not know."""
    penalised = information.copy()
    strengths = penalised[:items, :items]
    strengths[np.diag_indices(items)] += ridge
    if ridge == 0:  # of the information's own size, for a good condition
        strengths += max(float(np.trace(strengths)) / items, 1e-300) / items
    return penalised


def _centring(size: int, items: int) -> Floats:
    centre = np.eye(size)
    centre[:items, :items] -= 1 / items
    return centre


def _no_maximum() -> ParameterError:
    return ParameterError(
        "the likelihood has no maximum: a covariate is constant, follows from the others, or "
        "foretells every outcome. Leave it out, or give a prior."
    )
