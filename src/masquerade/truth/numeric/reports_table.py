"""Reports as symbols with known probabilities, the input of all decoders by levels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Codes, Flags, Floats, Integers
from masquerade.mechanisms import LatticeMechanism, Mechanism
from masquerade.truth.report_mechanisms import Masks

MOST_LEVELS = 41  # answers that inference by levels tells apart
_MOST_BINS = 128  # symbols that noisy reports are sorted into
_BEYOND = 3.0  # standard deviations of the noise; reports farther out count as there


@dataclass(frozen=True, slots=True, eq=False)
class ReportTable:
    """Reports by task, worker and symbol, and the probability of each symbol given the answer."""

    # task, worker, symbol: int arrays, shape (n_reports,)
    task: Codes
    worker: Codes
    symbol: Codes
    n_tasks: int
    n_workers: int
    # float array, shape (n_levels,). Answers that can be given, ascending (a selection where there
    # are many).
    levels: Floats
    # float array, shape (n_levels, n_symbols). P(symbol | answer), up to a factor for each symbol.
    given: Floats
    # float array, shape (n_symbols,), or None. P(symbol | no answer); None where everybody answered
    # what they report on.
    skipped: Floats | None
    silent: int | None  # the symbol "no answer", if it says nothing about which answer was given
    every_answer: bool  # whether the levels are all the answers there are

    @property
    def spoken(self) -> Flags:
        """Which reports say something about the answer, shape (n_reports,)."""
        if self.silent is None:
            return np.ones(len(self.symbol), dtype=np.bool_)
        informative: Flags = self.symbol != self.silent
        return informative

    @classmethod
    def of(
        cls, claims: Claims, mechanism: Masks, levels: tuple[float, ...] | None = None
    ) -> ReportTable:
        """Return the table of claims: numbers, or categories that stand for numbers.

        `levels` says what each option stands for, in the order of ``claims.options``; by default
        the option itself, read as a number.
        """
        parts = cls.of_each(claims, mechanism, levels)
        return cls.joined([table for table, _ in parts])

    @classmethod
    def of_each(
        cls, claims: Claims, mechanism: Masks, levels: tuple[float, ...] | None
    ) -> list[tuple[ReportTable, Mechanism | None]]:
        """Return a table of the claims of each mechanism that any claim went through.

        Raises
        ------
        EmptyTable
            There is none.
        """
        parts: list[tuple[Claims, Mechanism | None]] = [(claims.answered(), None)]
        if mechanism is not None:
            parts = [(claims.among(rows), each) for each, rows in mechanism.rows(claims)]
        parts = [(part, each) for part, each in parts if len(part)]
        if not parts:
            raise EmptyTable("every claim is 'no answer'; give claims of which some are answers.")
        return [(cls._of_one(part, each, levels), each) for part, each in parts]

    @classmethod
    def _of_one(
        cls, claims: Claims, mechanism: Mechanism | None, levels: tuple[float, ...] | None
    ) -> ReportTable:
        if claims.options is not None:
            symbol, values, given, skipped = _of_options(claims, mechanism, levels)
            every = True
        elif mechanism is None:
            symbol, values, given, skipped = _of_values(claims)
            every = True
        elif (numbers := mechanism.as_numbers) is not None:
            known = numbers.level_values
            symbol, values, given, skipped = (
                _of_noise(claims, numbers) if known is None else _of_levels(claims, numbers, known)
            )
            every = numbers.lattice.points == len(values)
        else:
            raise ParameterError(
                f"{mechanism.name} has no channel for single answers; use median on what "
                "it rebuilds."
            )
        silent = None
        if skipped is not None and mechanism is not None and given.shape[1] > len(values):
            last = given.shape[1] - 1
            # Given by all answers alike, "no answer" tells of the worker and not of the truth.
            silent = last if np.ptp(given[:, last]) == 0 else None
        return cls(
            claims.task,
            claims.worker,
            symbol.astype(np.int32),
            claims.n_tasks,
            claims.n_workers,
            values,
            given,
            skipped,
            silent,
            every,
        )

    @classmethod
    def joined(cls, parts: list[ReportTable]) -> ReportTable:
        """Return the table of reports that went through several mechanisms.

        Each mechanism's symbols are symbols of their own, so each report keeps its own channel.
        """
        first = parts[0]
        if len(parts) == 1:
            return first
        apart = any(not np.array_equal(first.levels, part.levels) for part in parts)
        if apart or len({part.skipped is None for part in parts}) > 1:
            raise ParameterError(
                "the mechanisms have different levels of answers, or only some mask 'no answer'; "
                "give mechanisms of the same levels that all do or do not."
            )
        offset = np.cumsum([0, *(part.given.shape[1] for part in parts)])
        shifted = [part.symbol + start for part, start in zip(parts, offset[:-1], strict=True)]
        skipped = [part.skipped for part in parts if part.skipped is not None]
        return replace(
            first,
            task=np.concatenate([part.task for part in parts]),
            worker=np.concatenate([part.worker for part in parts]),
            symbol=np.concatenate(shifted).astype(np.int32),
            given=np.hstack([part.given for part in parts]),
            skipped=np.concatenate(skipped) if skipped else None,
            # The symbols of "no answer" are several; none of them stands for all.
            silent=None,
            every_answer=all(part.every_answer for part in parts),
        )


Parts = tuple[Integers, Floats, Floats, Floats | None]


def _of_options(
    claims: Claims, mechanism: Mechanism | None, levels: tuple[float, ...] | None
) -> Parts:
    assert claims.options is not None
    values = option_values(claims.options, levels)
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    # Code -1, "no answer", takes the last entry: the symbol after all levels.
    rank[-1] = len(values)
    symbol = rank[claims.value]
    if mechanism is None:
        return symbol, values[order], np.eye(len(values)), None
    response = mechanism.option_response
    if response is None:
        raise ParameterError(f"{mechanism} does not mask categories.")
    table = np.array(response.channel().table, dtype=np.float64)
    # rows and columns of the channel by ascending value, "no answer" last
    place = np.append(order, len(values)) if mechanism.null else order
    table = table[np.ix_(place, place)]
    skipped = table[-1] if mechanism.null else None
    return symbol, values[order], table[: len(values)], skipped


def option_values(options: pa.Array, levels: tuple[float, ...] | None) -> Floats:
    """Return the number that each option stands for."""
    if levels is None:
        try:
            values = options.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ParameterError(
                f"the options {options.to_pylist()[:10]} are not numbers; say what each stands for "
                "with levels=, in this order."
            ) from error
    else:
        values = np.asarray(levels, dtype=np.float64)
        if values.shape != (len(options),):
            raise ParameterError(
                f"levels has {len(levels)} numbers for the {len(options)} options "
                f"{options.to_pylist()[:10]}; give one for each."
            )
    if not np.isfinite(values).all() or len(np.unique(values)) < len(values):
        raise ParameterError(f"levels {values.tolist()[:10]} are not different finite numbers.")
    return np.asarray(values, dtype=np.float64)


def _of_values(claims: Claims) -> Parts:
    values = np.unique(claims.value)
    if len(values) > MOST_LEVELS:
        raise ParameterError(
            f"the claims have more than {MOST_LEVELS} different values and no mechanism, which "
            "inference by levels does not take. Use reliability or heavy-tail."
        )
    symbol = np.searchsorted(values, claims.value)
    return symbol, values, np.eye(len(values)), None


def _of_levels(claims: Claims, mechanism: LatticeMechanism, values: Floats) -> Parts:
    given = mechanism.probability(values[:, None], values[None, :])
    spacing = values[1] - values[0]
    # NaN is no integer; the next line gives it a symbol of its own.
    place = np.rint((np.nan_to_num(claims.value, nan=values[0]) - values[0]) / spacing)
    symbol = np.where(np.isnan(claims.value), len(values), place).astype(np.int64)
    if not mechanism.null:
        return symbol, values, given, None
    nan = np.array([np.nan])
    given = np.hstack([given, mechanism.probability(values[:, None], nan)])
    skipped = np.append(mechanism.probability(nan, values), mechanism.probability(nan, nan))
    return symbol, values, given, skipped


def _of_noise(claims: Claims, mechanism: LatticeMechanism) -> Parts:
    lattice = mechanism.lattice
    points = lattice.points
    # Of many answers, some that are even over the range stand for all.
    index = np.unique(np.rint(np.linspace(0, points - 1, min(points, MOST_LEVELS))))
    values = lattice.values(index.astype(np.int64))
    reach = _BEYOND * np.sqrt(mechanism.variance()) / float(lattice.step)
    first, last = np.floor(-reach), np.ceil(points - 1 + reach)
    bins = np.unique(np.rint(np.linspace(first, last, min(int(last - first) + 1, _MOST_BINS))))
    bin_values = lattice.values(bins.astype(np.int64))
    offset = np.clip(lattice.offsets(claims.value), first, last)
    symbol = np.searchsorted((bins[1:] + bins[:-1]) / 2, offset)
    # At the middle of a bin: its width is a factor of the symbol alone, and cancels.
    given = mechanism.probability(values[:, None], bin_values[None, :])
    # Where answers are many, one that stands in for "no answer" cannot be told from that answer
    # given by people; then stand-ins count as answers, and values are drawn to them as published.
    apart = mechanism.null and len(values) == points
    skipped = mechanism.probability(np.array([np.nan]), bin_values) if apart else None
    return symbol, values, given, skipped
