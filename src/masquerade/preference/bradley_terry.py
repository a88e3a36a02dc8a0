"""Bradley-Terry strengths of items that are named, not described."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from masquerade.answers import Comparisons, Frame
from masquerade.answers.result import Result
from masquerade.errors import DisconnectedItems, ParameterError
from masquerade.exact.arrays import Codes, Floats
from masquerade.exact.number import in_range

_MOST_HALVINGS = 60


def strength_table(items: Any, strengths: Floats, errors: Floats) -> pa.Table:
    """Return items with their strengths, standard errors and 95 % intervals."""
    return pa.table(
        {
            "item": items,
            "strength": strengths,
            "standard_error": errors,
            "low": strengths - 1.96 * errors,
            "high": strengths + 1.96 * errors,
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class BradleyTerryFit(Result):
    """Strengths of items.

    Attributes
    ----------
    items : pyarrow.Array
        Names, as in the comparisons.
    strengths : float array, shape (n_items,)
        They sum to 0. Item a is preferred to b with probability
        ``1 / (1 + exp(strengths[b] - strengths[a]))``.
    covariance : float array, shape (n_items, n_items)
        Of `strengths` under drawing other voters, clustered by voter.
    """

    drawing: ClassVar[str] = "rankings"

    items: pa.Array
    strengths: Floats
    covariance: Floats
    log_likelihood: float
    converged: bool
    iterations: int

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of `strengths`, shape (n_items,)."""
        errors: Floats = np.sqrt(np.diag(self.covariance))
        return errors

    def to_arrow(self) -> pa.Table:
        """Return `rank`."""
        return self.rank()

    def rank(self) -> pa.Table:
        """Return the items, the strongest first: item, strength, standard_error, low, high.

        The ends are those of the 95 % interval.
        """
        order = np.argsort(-self.strengths, kind="stable")
        names = self.items.take(pa.array(order))
        return strength_table(names, self.strengths[order], self.standard_errors[order])

    def probability(self, first: str, second: str) -> float:
        """Return the probability that `first` is preferred to `second`."""
        return win_probability(self.items, self.strengths, first, second)


def win_probability(items: pa.Array, strengths: Floats, first: str, second: str) -> float:
    """Return the probability that one of the items is preferred to another, by strengths."""
    names = items.to_pylist()
    for item in (first, second):
        if item not in names:
            raise ParameterError(f"{item!r} is none of the {len(names)} items compared.")
    return float(expit(strengths[names.index(first)] - strengths[names.index(second)]))


def fit_bradley_terry(
    comparisons: Comparisons | Frame,
    *,
    prior: float = 0.0,
    tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> BradleyTerryFit:
    """Return maximum-likelihood strengths of named items.

    Parameters
    ----------
    comparisons : Comparisons, or a table as `Comparisons.from_frame` reads it
        Whose records name items.
    prior : float
        Weight of a normal prior, ``-prior / 2 * sum(strengths**2)``, at least 0. Above 0, strengths
        exist whatever was compared.
    tolerance : float
        Ends when no derivative of the log-likelihood per record is larger, above 0.
    max_iterations : int
        Newton steps.

    Raises
    ------
    DisconnectedItems
        Without a prior, and some items never lost to (or were never compared with) the others: the
        likelihood has no maximum. The message names them.
    ParameterError
        The records have features, or a parameter is out of range.

    Notes
    -----
    Newton's method with halved steps. A maximum exists exactly where every item can be reached from
    every other along "was preferred to" (Ford 1957). **Cost**: a pass over the records, then cubic
    in items.

    References
    ----------
    Bradley and Terry (1952); Ford (1957); Hunter (2004).
    """
    comparisons = Comparisons.of(comparisons)
    items, chosen, rejected = comparisons.items, comparisons.chosen, comparisons.rejected
    if items is None or chosen is None or rejected is None:
        raise ParameterError(
            "the comparisons have features and name no items; learn weights of the features with "
            "SocialPreference.learn."
        )
    in_range(prior, "prior", low=0, below=math.inf)
    in_range(tolerance, "tolerance", above=0)
    if (chosen < 0).any() or (rejected < 0).any():
        raise ParameterError(
            "some records name an item outside the list; read the table with unlisted='error', "
            "which names the row, or list the item."
        )
    k = len(items)
    # wins[a, b]: in how many records a was preferred to b.
    wins = coo_array((np.ones(len(chosen)), (chosen, rejected)), shape=(k, k)).toarray()
    if prior == 0:
        require_connected(wins, items)
    maximum = maximise_strengths(
        wins.sum(axis=1),
        wins + wins.T,
        ridge=prior,
        tolerance=tolerance * max(len(chosen), 1),
        max_iterations=max_iterations,
    )
    strengths = maximum.strengths
    # Sandwich estimate, clustered by voter: choices of one voter depend on one another.
    bread = np.linalg.pinv(maximum.information + prior * np.eye(k), hermitian=True)
    covariance = bread @ _meat(comparisons, chosen, rejected, strengths) @ bread
    return BradleyTerryFit(
        items, strengths, covariance, maximum.value, maximum.converged, maximum.iterations
    )


class StrengthsMaximum(NamedTuple):
    """The strengths at which a penalised Bradley-Terry likelihood is greatest."""

    strengths: Floats  # shape (n_items,); they sum to 0
    information: Floats  # negative second derivative without the ridge, (n_items, n_items)
    value: float
    converged: bool
    iterations: int


def maximise_strengths(
    wins: Floats,
    meetings: Floats,
    *,
    ridge: float,
    tolerance: float,
    max_iterations: int = 100,
) -> StrengthsMaximum:
    """Return the strengths t of greatest ``wins.t - sum met ln(e**t_i + e**t_j) - ridge/2 |t|**2``.

    `wins` (n_items,): how often each item was preferred; it may hold noise, and then need not be
    between 0 and the meetings, but has to add up to their number. `meetings` (n_items, n_items):
    how often each pair met, symmetric. `tolerance`: largest derivative at which to end. Concave
    whatever `wins` is; it has a maximum where the ridge is above 0, or Ford's condition holds.
    """
    k = len(wins)
    # Only differences of strengths are in the likelihood (Bradley and Terry 1952), so that without
    # a ridge the information is singular along (1, ..., 1); this matrix fixes the sum at 0.
    centring = np.ones((k, k)) / k if ridge == 0 else np.zeros((k, k))
    upper = np.triu_indices(k, 1)
    met = meetings[upper]

    def value_at(t: Floats) -> float:
        each = met @ np.logaddexp(t[upper[0]], t[upper[1]])
        return float(wins @ t - each - ridge / 2 * t @ t)

    strengths = np.zeros(k)
    value = value_at(strengths)
    iterations, converged = 0, False
    while True:
        # probability[a, b] = 1 / (1 + exp(s_b - s_a)): a is preferred to b.
        probability = expit(strengths[:, None] - strengths)
        # Score: wins of an item less those that its strength foretells.
        gradient = wins - (meetings * probability).sum(axis=1) - ridge * strengths
        curvature = meetings * probability * (1 - probability)
        # Negative second derivative, the Laplacian of the graph of meetings.
        information = np.diag(curvature.sum(axis=1)) - curvature
        converged = bool(np.abs(gradient).max(initial=0) <= tolerance)
        if converged or iterations >= max_iterations:
            break
        iterations += 1
        # Newton step; the centring has the information's own size, for a good condition.
        penalised = information + ridge * np.eye(k) + centring * (np.trace(information) / k)
        move = np.linalg.solve(penalised, gradient)
        move -= move.mean()
        # Far from the maximum a whole step may overshoot; 1e-12 is the rounding of the value.
        for _ in range(_MOST_HALVINGS):
            higher = value_at(strengths + move)
            if higher >= value - 1e-12 * (1 + abs(value)):
                break
            move /= 2
        strengths, value = strengths + move, higher
    return StrengthsMaximum(strengths - strengths.mean(), information, value, converged, iterations)


def _meat(
    comparisons: Comparisons,
    chosen: Codes,
    rejected: Codes,
    strengths: Floats,
) -> Floats:
    """Return the summed outer products of the voters' scores."""
    # The score of a record is one minus the probability of what was chosen, at the chosen item.
    surprise = expit(strengths[rejected] - strengths[chosen])
    shape = (comparisons.n_voters, len(strengths))
    voter = comparisons.voter
    scores = coo_array(
        (
            np.concatenate([surprise, -surprise]),
            (np.concatenate([voter, voter]), np.concatenate([chosen, rejected])),
        ),
        shape=shape,
    ).tocsr()
    voters = max(int(np.count_nonzero(comparisons.records_per_voter())), 1)
    # n / (n - 1): scores add to 0 at the maximum, which costs one degree of freedom.
    meat: Floats = (scores.T @ scores).toarray() * (voters / max(voters - 1, 1))
    return meat


def require_connected(wins: Floats, items: pa.Array) -> None:
    """Refuse wins, of row over column, from which some strengths cannot be told.

    Raises `DisconnectedItems` (with the names of a few of the items).
    """
    # Ford (1957): a maximum exists exactly where the graph of wins is strongly connected.
    count, group = connected_components(coo_array(wins), directed=True, connection="strong")
    if count == 1:
        return
    sizes = np.bincount(group)
    small = np.flatnonzero(group == np.argmin(sizes))
    names = [items[int(i)].as_py() for i in small[:5]]
    inside = np.zeros(len(items), dtype=np.bool_)
    inside[small] = True
    won, lost = wins[inside][:, ~inside].sum(), wins[~inside][:, inside].sum()
    if won and not lost:
        how = "never lost to any other item"
    elif lost and not won:
        how = "never won against any other item"
    else:
        how = "cannot be placed against all other items"
    raise DisconnectedItems(
        f"{len(small)} of {len(items)} items ({', '.join(map(repr, names))}"
        f"{', ...' if len(small) > 5 else ''}) {how}; strengths exist where every item is linked "
        "to every other by wins. Collect such comparisons, drop the items, or give a prior above 0."
    )
