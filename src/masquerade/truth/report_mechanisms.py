"""The mechanism of each report, where people chose how much they are masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame, to_arrow
from masquerade.answers.claim_labels import Kind
from masquerade.answers.claims import Duplicates, kept_rows
from masquerade.answers.frames import column_names, plain_column
from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes, Flags, Floats, Integers
from masquerade.mechanisms import CategoricalMechanism, Mechanism, parse_mechanism
from masquerade.mechanisms.mechanism import require_mechanism
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.channel_view import Levels


@dataclass(frozen=True, slots=True, eq=False)
class ReportMechanisms:
    """The mechanism of each report, where not all went through the same one.

    People who choose a level are masked differently. Methods that know each report's own mechanism
    count it for what it tells, and reliability and its intervals stay those of answers.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        All of one kind, and of the same options.
    of_claim : int32 array, shape (n_claims,), optional
        Place of each claim's mechanism in `mechanisms`, in the order of the claims' rows. None
        where all claims, however many, went through one.

    Raises
    ------
    ParameterError
        A mechanism is none, or they are of different options or kinds.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> table = {"task": ["a", "a"], "worker": ["x", "y"], "label": ["no", "yes"],
    ...          "level": ["low", "high"]}
    >>> levels = {"low": RandomizedResponse(2, epsilon=4), "high": RandomizedResponse(2, epsilon=1)}
    >>> ReportMechanisms.read(table, levels).of_claim.tolist()
    [0, 1]
    """

    mechanisms: tuple[Mechanism, ...]
    of_claim: Codes | None = None

    def __post_init__(self) -> None:
        if not self.mechanisms:
            raise ParameterError("there is no mechanism; give one for each level.")
        if self.of_claim is None and len(self.mechanisms) > 1:
            raise ParameterError(
                f"there are {len(self.mechanisms)} mechanisms; say with of_claim which one each "
                "report went through."
            )
        for mechanism in map(require_mechanism, self.mechanisms):
            first = self.mechanisms[0]
            options = [getattr(one, "options", None) for one in (first, mechanism)]
            if first.kind != mechanism.kind or options[0] != options[1]:
                raise ParameterError(
                    f"{first} and {mechanism} mask different questions; give mechanisms of one."
                )

    @classmethod
    def read(
        cls, frame: Frame, levels: Mapping[str, Mechanism | str] | None = None
    ) -> ReportMechanisms:
        """Return the mechanisms of a table's rows.

        Parameters
        ----------
        frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
            With a column ``level`` where `levels` is given, else with a column ``mechanism`` of
            text forms (`parse_mechanism`).
        levels : mapping of str to Mechanism or text, optional
            The mechanism of each level.

        Raises
        ------
        MissingValue, UnknownLabel
            A row names no level, or one that is not in the table; the message has the row.
        ParameterError
            A text is no mechanism, or the column is missing.
        """
        column = "mechanism" if levels is None else "level"
        table = to_arrow(frame, columns=(column,))
        if column not in table.column_names:
            raise ParameterError(
                f"the table has no column {column!r}; it has {table.column_names}."
            )
        names = plain_column(table, column).cast(pa.string()).dictionary_encode()
        if names.null_count:
            row = int(np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))[0])
            raise MissingValue(f"column {column!r}, row {row + 1}: nothing is named.")
        known = names.dictionary.to_pylist()
        codes = names.indices.to_numpy().astype(np.int32)
        if levels is None:
            return cls(tuple(parse_mechanism(text) for text in known), codes)
        unknown = [place for place, name in enumerate(known) if name not in levels]
        if unknown:
            row = int(np.flatnonzero(codes == unknown[0])[0])
            raise UnknownLabel(
                f"column 'level', row {row + 1}: {known[unknown[0]]!r} is none of the levels "
                f"{list(levels)}; correct it, or give its mechanism."
            )
        return cls(tuple(mechanism_of(levels[name]) for name in known), codes)

    @classmethod
    def with_claims(
        cls,
        frame: Frame,
        levels: Mapping[str, Mechanism | str] | None = None,
        *,
        options: Sequence[Any] | None = None,
        duplicates: Duplicates = "error",
    ) -> tuple[Claims, ReportMechanisms]:
        """Return the claims of a table with the mechanism of each.

        Parameters
        ----------
        frame, levels
            See `read`.
        options, duplicates
            See `Claims.from_frame`. Rows that are dropped are dropped from both.

        Raises
        ------
        InputError, ParameterError
            See `read` and `Claims.from_frame`.
        """
        masks = cls.read(frame, levels)
        claims = Claims.from_frame(
            frame, kind=masks.kind, options=options, null=masks.null, duplicates="all"
        )
        kept = kept_rows(claims, duplicates)
        if kept is None:
            return claims, masks
        return claims.among(kept), replace(masks, of_claim=masks.place(claims)[kept])

    @property
    def kind(self) -> Kind:
        """``"categorical"`` or ``"numeric"``."""
        return self.mechanisms[0].kind

    @property
    def single(self) -> Mechanism | None:
        """The mechanism of all reports; None where there are several."""
        first = self.mechanisms[0]
        return first if all(one == first for one in self.mechanisms) else None

    def place(self, claims: Claims) -> Codes:
        """Return the place of each claim's mechanism in `mechanisms`."""
        if self.of_claim is None:
            return np.zeros(len(claims), dtype=np.int32)
        return self.of_claim

    def rows(self, claims: Claims) -> Iterator[tuple[Mechanism, Flags]]:
        """Yield each mechanism with the claims that went through it."""
        of_claim = self.place(claims)
        for place, mechanism in enumerate(self.mechanisms):
            yield mechanism, of_claim == place

    def shares(self) -> Floats:
        """Return the share of the claims that went through each mechanism."""
        if self.of_claim is None:
            return np.ones(1)
        count = np.bincount(self.of_claim, minlength=len(self.mechanisms))
        return np.asarray(count / max(len(self.of_claim), 1))

    @property
    def null(self) -> bool:
        """Whether any of the mechanisms masks "no answer"."""
        return any(mechanism.null for mechanism in self.mechanisms)

    def distinct(self) -> ReportMechanisms:
        """Return the same with levels of one mechanism joined."""
        if self.of_claim is None:
            return self
        alike = {str(mechanism): mechanism for mechanism in self.mechanisms}
        if len(alike) == len(self.mechanisms):
            return self
        texts = list(alike)
        place = np.array([texts.index(str(one)) for one in self.mechanisms], dtype=np.int32)
        return ReportMechanisms(tuple(alike.values()), place[self.of_claim])

    def check(self, claims: Claims) -> None:
        """Raise where a claim is not of its mechanism's domain."""
        if self.of_claim is None:
            self.mechanisms[0].check(claims)
            return
        if len(self.of_claim) != len(claims):
            raise ParameterError(
                f"mechanisms are given of {len(self.of_claim)} reports, there are {len(claims)}."
            )
        silent = claims.unanswered()
        for mechanism, rows in self.rows(claims):
            mechanism.check(claims.among(rows & ~silent))
            missing = np.flatnonzero(rows & silent)
            if len(missing) and not mechanism.null:
                raise UnknownLabel(
                    f"row {missing[0] + 1}: no answer was given and {mechanism} cannot mask that; "
                    "use null=true, or remove such rows."
                )

    def sources(self, claims: Claims) -> tuple[Claims, Sources]:
        """Return claims with sources for workers: a worker with one of the mechanisms each.

        Levels of the same mechanism are one. A source's name follows from those of its worker and
        mechanism alone, so that it is the same in whichever order the claims come.
        """
        masks = self.distinct()
        texts = [str(mechanism) for mechanism in masks.mechanisms]
        of_claim = masks.place(claims)
        size = len(texts)
        # key[claim]: a number for each pair of worker and mechanism
        key = claims.worker.astype(np.int64) * size + of_claim
        present, source = np.unique(key, return_inverse=True)
        worker, place = np.divmod(present, size)
        names = claims.workers.to_pylist()
        told = [f"{names[w]} / {texts[p]}" for w, p in zip(worker, place, strict=True)]
        split = replace(claims, worker=source.astype(np.int32), workers=pa.array(told, pa.string()))
        mechanisms = tuple(label_mechanism(one) for one in masks.mechanisms)
        reports = np.bincount(of_claim, minlength=size)
        silent = np.bincount(of_claim, claims.unanswered(), size)
        levels = Levels(mechanisms, silent / np.maximum(reports, 1), place.astype(np.int32))
        return split, Sources(levels, worker.astype(np.int32), reports, silent.astype(np.int64))


#: What masked claims, once it is read.
Masks = ReportMechanisms | None

#: What `fit` takes: one mechanism or its text, one for each level, those of each report, or none.
AnyMechanism = Mechanism | str | Mapping[str, Mechanism | str] | ReportMechanisms | None


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Workers by mechanism: each with one of the mechanisms is a source of its own."""

    levels: Levels
    worker_of: Codes  # int32 array, shape (n_sources,)
    # reports, silent: int array, shape (n_mechanisms,). Claims of each, and those "no answer".
    reports: Integers
    silent: Integers

    def total(self, figure: Floats, n_workers: int) -> Floats:
        """Return each worker's sum over the worker's sources."""
        return np.bincount(self.worker_of, figure, n_workers).astype(np.float64)

    def mean(self, figure: Floats, weight: Floats, n_workers: int) -> Floats:
        """Return each worker's weighted mean over the worker's sources."""
        shape = (-1, *[1] * (figure.ndim - 1))
        total = np.zeros((n_workers, *figure.shape[1:]))
        np.add.at(total, self.worker_of, figure * weight.reshape(shape))
        return np.asarray(total / self.total(weight, n_workers).reshape(shape))

    def precision(self, error: Floats | None, answers: Floats) -> Floats:
        """Return the weight of each source's reliability: its precision, or answers if unknown."""
        # Somebody without an answer keeps the prior's figures.
        count = np.maximum(answers, 1e-9)
        return count if error is None else 1 / np.maximum(error, 1e-6) ** 2


def label_mechanism(mechanism: Mechanism) -> CategoricalMechanism:
    """Return a mechanism of one label a report; `ParameterError` for another."""
    response = mechanism.label_response
    if response is None:
        raise ParameterError(f"{mechanism} does not mask categories; choose a numeric method.")
    return response


def mechanisms_of(data: Claims | Frame, mechanism: object) -> Masks:
    """Return the mechanisms of the claims: as given, or read from a column of the table."""
    if isinstance(mechanism, ReportMechanisms):
        return mechanism
    if isinstance(mechanism, Mapping):
        if isinstance(data, Claims):
            raise ParameterError(
                "a mechanism for each level needs a table with a column 'level'; for Claims give "
                "ReportMechanisms."
            )
        return ReportMechanisms.read(data, mechanism)
    if mechanism is None:
        if isinstance(data, Claims) or "mechanism" not in column_names(data):
            return None
        return ReportMechanisms.read(data)
    return ReportMechanisms((mechanism_of(mechanism),))
