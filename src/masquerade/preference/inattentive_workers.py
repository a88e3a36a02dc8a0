"""Bradley-Terry strengths where workers do not always look: reliability and habit of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.special import expit

from masquerade.answers import Frame
from masquerade.answers.frames import id_column, to_arrow
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, InvalidRecord, SchemaError
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.exact.number import in_range
from masquerade.preference.bradley_terry import maximise_strengths, win_probability

COLUMNS = ("worker", "left", "right", "label")

# Beta priors, in pseudo-answers. All of these follow the strengths: upsets are not taken for lapses
# unless the worker's other choices say so.
_LOOKED, _DID_NOT = 9.0, 0.0
_SIDE = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class NoisyBradleyTerryFit(Result):
    """Strengths of items, and how far each worker's choices follow them.

    Attributes
    ----------
    items : pyarrow.Array
        Names, sorted.
    strengths : float array, shape (n_items,)
        They sum to 0. Who looks prefers item a to b with probability
        ``1 / (1 + exp(strengths[b] - strengths[a]))``.
    workers : pyarrow.Array
        Names, by first appearance.
    reliability : float array, shape (n_workers,)
        Share of a worker's choices that follow the strengths, 0 to 1.
    left_habit : float array, shape (n_workers,)
        Share of the worker's other choices that are for the item on the left, 0 to 1.
    """

    drawing: ClassVar[str] = "rankings"

    items: pa.Array
    strengths: Floats
    workers: pa.Array
    reliability: Floats
    left_habit: Floats
    log_likelihood: float
    converged: bool
    iterations: int

    def to_arrow(self) -> pa.Table:
        """Return the items, the strongest first: ``item``, ``strength``."""
        order = np.argsort(-self.strengths, kind="stable")
        names = self.items.take(pa.array(order))
        return pa.table({"item": names, "strength": self.strengths[order]})

    def of_workers(self) -> pa.Table:
        """Return ``worker``, ``reliability``, ``left_habit``."""
        columns = [self.workers, pa.array(self.reliability), pa.array(self.left_habit)]
        return pa.Table.from_arrays(columns, names=["worker", "reliability", "left_habit"])

    def probability(self, first: str, second: str) -> float:
        """Return the probability that who looks prefers `first` to `second`."""
        return win_probability(self.items, self.strengths, first, second)


@dataclass(frozen=True, slots=True, eq=False)
class SidedComparisons:
    """Choices between an item on the left and one on the right, coded."""

    worker: Codes
    left: Codes
    right: Codes
    chose_left: Flags
    workers: pa.Array
    items: pa.Array

    @classmethod
    def from_frame(cls, frame: Frame) -> SidedComparisons:
        """Check a table ``worker``, ``left``, ``right``, ``label``, the item that was chosen.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, InvalidRecord
            Each names the row.
        """
        table = to_arrow(frame, columns=COLUMNS)
        missing = [name for name in COLUMNS if name not in table.column_names]
        if missing:
            raise SchemaError(f"columns {missing} are missing; the table has {table.column_names}.")
        if table.num_rows == 0:
            raise EmptyTable("the table has no rows; expected at least one comparison.")
        worker = id_column(table, "worker", wanted="comparison a worker").dictionary_encode()
        sides = [
            id_column(table, name, wanted="comparison two items and the chosen one")
            for name in COLUMNS[1:]
        ]
        items = pc.unique(pa.concat_arrays([one.cast(sides[0].type) for one in sides[:2]]))
        items = items.take(pc.sort_indices(items))
        left, right, chosen = (
            pc.index_in(one.cast(sides[0].type), value_set=items).fill_null(-1).to_numpy()
            for one in sides
        )
        for bad, said in (
            (left == right, "is compared with itself"),
            ((chosen != left) & (chosen != right), "was chosen from two others"),
        ):
            if bad.any():
                row = int(np.argmax(bad))
                raise InvalidRecord(
                    f"row {row + 1}: {sides[2][row].as_py()!r} {said}; correct or remove the row."
                )
        return cls(
            worker.indices.to_numpy().astype(np.int32),
            left,
            right,
            chosen == left,
            worker.dictionary,
            items,
        )


def fit_noisy_bradley_terry(
    comparisons: Frame,
    *,
    prior: float = 0.1,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
) -> NoisyBradleyTerryFit:
    """Return strengths of items, and which workers choose by them.

    Parameters
    ----------
    comparisons : pandas, polars, pyarrow or duckdb table, or dict of arrays
        Columns ``worker``, ``left`` and ``right``, the items in their places, and ``label``, the
        one that was chosen. Clear choices: masked ones are for `SocialPreference.learn`.
    prior : float
        Weight of a normal prior, ``-prior / 2 * sum(strengths**2)``, above 0.
    tolerance : float
        Ends when the log-likelihood of a comparison grows by less, above 0.
    max_iterations : int
        Of expectation-maximization, at least 1.

    Raises
    ------
    InputError
        A row cannot be used; the message names it.
    ParameterError
        A parameter is out of range.

    Notes
    -----
    Bugakova, Fedorova, Gusev and Drutsa, "Aggregation of pairwise comparisons with reduction of
    biases", 2019: with the worker's reliability a choice follows the strengths, otherwise the
    worker's habit. Where we differ: expectation-maximization, every step of which raises the
    posterior, in place of a gradient; and Beta priors, of nine choices that follow
    the strengths and of one habitual choice for either side, so that a worker with few choices is
    taken to look. crowd-kit's gradient of a worker's skill and bias keeps the worker's
    last choice alone, so that its estimates are no maximum.

    **Cost**: each iteration linear in comparisons and cubic in items.

    Examples
    --------
    >>> table = {"worker": ["x"] * 6 + ["y"] * 6, "left": ["a", "b", "c", "b", "c", "a"] * 2,
    ...          "right": ["b", "c", "a", "a", "b", "c"] * 2,
    ...          "label": ["a", "b", "a", "a", "b", "a"] + ["a", "b", "c", "b", "c", "a"]}
    >>> fit = fit_noisy_bradley_terry(table)
    >>> fit.to_arrow()["item"].to_pylist()
    ['a', 'b', 'c']
    >>> bool(fit.reliability[0] > fit.reliability[1])
    True
    """
    in_range(prior, "prior", above=0, below=math.inf)
    in_range(tolerance, "tolerance", above=0)
    in_range(max_iterations, "max_iterations", low=1)
    records = SidedComparisons.from_frame(comparisons)
    n = len(records.worker)
    each = np.bincount(records.worker, minlength=len(records.workers))
    reliability = np.full(len(records.workers), 0.75)
    habit = np.full(len(records.workers), 0.5)
    strengths = np.zeros(len(records.items))
    value, iterations, converged = -math.inf, 0, False
    while not converged and iterations < max_iterations:
        iterations += 1
        # E-step: looked[choice] = P(it followed the strengths | what was chosen)
        looked, likelihood = _looked(records, strengths, reliability, habit)
        # M-step: strengths by weighted wins, shares of choices by their counts
        strengths = _strengths(records, looked, prior)
        sums = np.bincount(records.worker, looked, len(each))
        reliability = (sums + _LOOKED) / (each + _LOOKED + _DID_NOT)
        left = np.bincount(records.worker, (1 - looked) * records.chose_left, len(each))
        habit = (left + _SIDE) / (each - sums + 2 * _SIDE)
        converged = abs(likelihood - value) < tolerance * n
        value = likelihood
    likelihood = _looked(records, strengths, reliability, habit)[1]
    return NoisyBradleyTerryFit(
        records.items,
        strengths,
        records.workers,
        reliability,
        habit,
        likelihood,
        converged,
        iterations,
    )


def _looked(
    records: SidedComparisons, strengths: Floats, reliability: Floats, habit: Floats
) -> tuple[Floats, float]:
    """Return how probable it is that each choice follows the strengths, and the log-likelihood."""
    # Bradley-Terry: P(left) = 1 / (1 + e**-(s_left - s_right))
    margin = strengths[records.left] - strengths[records.right]
    by_strength = expit(np.where(records.chose_left, margin, -margin))
    by_habit = np.where(records.chose_left, habit[records.worker], 1 - habit[records.worker])
    share = reliability[records.worker]
    # the mixture of Bugakova et al. (2019): share * strengths + (1 - share) * habit
    total = share * by_strength + (1 - share) * by_habit
    return share * by_strength / total, float(np.log(total).sum())


def _strengths(records: SidedComparisons, weight: Floats, prior: float) -> Floats:
    """Return the strengths of greatest posterior, each choice counting by its weight."""
    winner = np.where(records.chose_left, records.left, records.right)
    loser = np.where(records.chose_left, records.right, records.left)
    k = len(records.items)
    wins: Any = coo_array((weight, (winner, loser)), shape=(k, k)).toarray()
    return maximise_strengths(
        wins.sum(axis=1), wins + wins.T, ridge=prior, tolerance=1e-9 * len(winner)
    ).strengths
