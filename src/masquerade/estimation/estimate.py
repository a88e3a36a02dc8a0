"""A number with its uncertainty: the unbiased one to compute with, and the one that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa

from masquerade.answers.result import Result
from masquerade.exact.arrays import Floats, on_simplex


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """A number with its uncertainty.

    Attributes
    ----------
    value : float
        Unbiased estimate, to compute with: averages, differences, tests. It may lie outside the
        possible range when the noise is large.
    standard_error : float
        Of `value`: people sampled and masks drawn, both.
    sampling_error, mechanism_error : float
        Two parts, by who answered and by the masks; their squares add to that of
        `standard_error`.
    low, high : float
        Ends of the confidence interval, within the possible range; it holds `shown`.
    shown : float
        The estimate that a person reads: within the range and the interval, and of shares at least
        0 and summing to 1. Biased near the ends of the range, so nothing is computed from it.

    Examples
    --------
    >>> found = Estimate(0.3, 0.02, 0.02, 0.0, 0.26, 0.34)
    >>> found.low, found.high
    (0.26, 0.34)
    """

    value: float
    standard_error: float
    sampling_error: float
    mechanism_error: float
    low: float
    high: float
    shown: float = math.nan

    @classmethod
    def bounded(
        cls,
        value: float,
        *,
        below: float,
        above: float,
        sampling: float,
        mechanism: float,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> Estimate:
        """Return an estimate of a number that lies within a range.

        Parameters
        ----------
        value : float
        below, above : float
            How far the interval reaches to both sides of it before the range is looked at.
        sampling, mechanism : float
            Variances.
        low, high : float
            Ends of the range.

        Notes
        -----
        The interval begins ``below`` the lesser of the value and the upper end of the range, and
        ends ``above`` the greater of the value and the lower end, both cut to the range. It holds
        the interval around the value as far as that is possible, so it covers as often, and it is
        never empty.
        """
        inside = min(max(value, low), high)
        return cls(
            value,
            math.sqrt(sampling + mechanism),
            math.sqrt(sampling),
            math.sqrt(mechanism),
            max(min(value, high) - below, low),
            min(max(value, low) + above, high),
            inside,
        )

    @classmethod
    def unknown(cls, low: float, high: float) -> Estimate:
        """Return the estimate where nothing is known."""
        return cls(math.nan, math.inf, math.inf, math.inf, low, high)


def shown_shares(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """Return estimates of shares that sum to 1, each with the share that a person reads.

    These are the nearest shares to the values that are at least 0 and sum to 1. Where that moves
    one out of its interval, the interval is made longer, which only adds coverage.

    Examples
    --------
    >>> found = [Estimate.bounded(v, below=0.1, above=0.1, sampling=0, mechanism=0.01, low=0.0,
    ...                           high=1.0) for v in (1.25, -0.5, 0.25)]
    >>> [(one.value, one.shown, one.low, one.high) for one in shown_shares(found)]
    [(1.25, 1.0, 0.9, 1.0), (-0.5, 0.0, 0.0, 0.1), (0.25, 0.0, 0.0, 0.35)]
    """
    held = on_simplex(np.array([one.value for one in estimates])).tolist()
    return tuple(
        replace(one, shown=share, low=min(one.low, share), high=max(one.high, share))
        for one, share in zip(estimates, held, strict=True)
    )


def share_table(estimates: Sequence[Estimate], reported: Floats) -> pa.Table:
    """Return a row for each option: its code, its estimated share and the share of reports."""
    rows = pa.Table.from_pylist([asdict(estimate) for estimate in estimates])
    codes = pa.array([str(code) for code in range(len(rows))])
    return rows.add_column(0, "option", codes).append_column(
        "reported", pa.array(reported[: len(rows)])
    )
