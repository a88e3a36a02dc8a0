"""Shares of answers through any channel: moments, likelihood, and intervals of the one core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.analysis.variables import Channel
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import Crowd
from masquerade.estimation.reports import Worths
from masquerade.exact.arrays import Floats, on_simplex
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of

_STEPS = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class ChannelCounts:
    """How many people sent each report through a channel, as the core of estimates reads them."""

    count: Floats
    table: Floats  # [report, answer]

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """Number of answers."""
        return int(self.table.shape[1])

    @property
    def worth(self) -> Floats:
        """Unbiased share of each answer by one report, [answer, report]."""
        return np.asarray(np.linalg.pinv(self.table), dtype=np.float64)

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        worth = scores @ self.worth
        held = on_simplex(self.worth @ self.count / max(self.n, 1.0))
        mean = scores @ held
        people = np.maximum((scores**2) @ held - mean**2, 0.0)
        zero = np.zeros(len(worth))
        count = np.broadcast_to(self.count, worth.shape)
        clear = np.array_equal(self.table, np.eye(self.symbols))
        return Worths(count, worth, None, zero, zero, people, clear=clear)

    def shares(self) -> Worths:
        """Return the worths for the share of each answer."""
        return self.worths(np.eye(self.symbols))

    def tiled(self, times: int) -> ChannelCounts:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self


@dataclass(frozen=True, slots=True)
class DesignShares(Result):
    """Shares of answers behind the reports of a design.

    Attributes
    ----------
    option : tuple of str
    value, error : tuple of float
        Unbiased shares by moments and their errors, which may lie outside 0 to 1.
    likelihood : tuple of float
        Shares by maximum likelihood.
    low, high : tuple of float
        By the likelihood of reports with half a person at the far end.
    people : int

    Examples
    --------
    >>> found = shares([637, 363], "forced-response:no=1/6,yes=1/6")
    >>> round(found.value[1], 4), round(found.error[1], 4)
    (0.2945, 0.0228)
    """

    option: tuple[str, ...]
    value: tuple[float, ...]
    error: tuple[float, ...]
    likelihood: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    people: int


def shares(
    counts: ArrayLike,
    mechanism: Mechanism | str,
    *,
    options: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> DesignShares:
    """Return the shares of answers behind counts of reports.

    Parameters
    ----------
    counts : sequence of float
        How many people sent report 0, 1 and so on.

    Raises
    ------
    ParameterError
        There are more or fewer counts than reports, or the channel cannot be undone.
    """
    channel = Channel.of(mechanism_of(mechanism), "the answer")
    count = np.asarray(counts, dtype=np.float64)
    reports, answers = channel.table.shape
    if count.shape != (reports,) or not (count >= 0).all():
        raise ParameterError(
            f"counts are {count.tolist()}, expected {reports} numbers of at least 0, one for each "
            f"report of {channel.text}.",
            field="counts",
        )
    if not count.sum():
        raise EmptyTable("nobody answered, so that there are no shares.")
    if np.linalg.matrix_rank(channel.table, tol=1e-9) < answers:
        raise ParameterError(f"{channel.text} cannot be undone: two answers have the same reports.")
    group = ChannelCounts(count, channel.table)
    n = group.n
    chance = count / n
    worth = group.worth
    value = worth @ chance
    spread = (worth**2) @ chance - value**2
    error = np.sqrt(np.maximum(spread, 0.0) / max(n - 1, 1.0))
    ends = Crowd.of([group]).shares().estimates(confidence)
    named = tuple(map(str, options)) if options is not None else tuple(map(str, range(answers)))
    if len(named) != answers:
        raise ParameterError(
            f"options are {list(named)}, expected {answers} names.", field="options"
        )
    return DesignShares(
        named,
        tuple(value.tolist()),
        tuple(error.tolist()),
        tuple(_likeliest(count, channel.table, on_simplex(value)).tolist()),
        tuple(one.low for one in ends),
        tuple(one.high for one in ends),
        round(n),
    )


def _likeliest(count: Floats, table: Floats, start: Floats) -> Floats:
    """Return the shares of answers with the largest likelihood, by expectation and maximisation."""
    held: Floats = (start + 1e-3) / (start + 1e-3).sum()
    for _ in range(_STEPS):
        joint = table * held
        weight = np.where(count > 0, count / np.maximum(joint.sum(axis=1), 1e-300), 0.0)
        moved = weight @ joint / count.sum()
        change = float(np.abs(moved - held).max())
        held = moved.astype(np.float64)
        if change < 1e-13:
            break
    return held
