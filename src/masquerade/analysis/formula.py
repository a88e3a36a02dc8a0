"""Formulas: which column is the outcome, which predictors are masked, which are in clear."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.analysis.variables import ClearColumns, encode, labels_of
from masquerade.errors import MissingExtra, ParameterError

#: Encodes the clear columns of a table in the way of the table of the fit.
Encoder = Callable[[pa.Table], ClearColumns]


@dataclass(frozen=True)
class Formula:
    """An outcome, masked predictors by name, and terms in clear.

    Attributes
    ----------
    outcome : str
    masked : tuple of str
    clear : tuple of str
        Names of columns where the formula is a plain sum; else terms.
    plain : bool
        Whether all terms in clear are columns as they are.
    """

    outcome: str
    masked: tuple[str, ...]
    clear: tuple[str, ...]
    plain: bool

    @classmethod
    def of(cls, text: str, *, columns: Sequence[str], masked: Collection[str]) -> Formula:
        """Return a formula ``outcome ~ term + term``.

        Raises
        ------
        ParameterError
            It is no formula, or a masked column stands in a term with others.
        """
        left, tilde, right = text.partition("~")
        outcome, terms = left.strip().strip("`"), _summands(right)
        if not tilde or not outcome or not terms:
            raise ParameterError(
                f"{text!r} is no formula; expected OUTCOME ~ PREDICTOR + PREDICTOR, with names of "
                "columns.",
                field="formula",
            )
        # in brackets, as in {age - 18}, it is a number like any other
        outside = right.replace(" ", "")
        while (shorter := re.sub(r"[{(\[][^{}()\[\]]*[})\]]", "", outside)) != outside:
            outside = shorter
        if "0" in terms or re.search(r"-1(?!\d)", outside):
            raise ParameterError(
                f"{text!r} leaves out the constant; every model here has one.", field="formula"
            )
        if len(set(terms)) < len(terms):
            twice = next(one for one in terms if terms.count(one) > 1)
            raise ParameterError(f"{twice!r} stands twice in {text!r}.", field="formula")
        names = [one.strip("`") for one in terms if one != "1"]
        if outcome in names:
            raise ParameterError(f"{outcome!r} is outcome and predictor.", field="formula")
        hidden = tuple(one for one in names if one in masked)
        clear = tuple(one for one in names if one not in masked)
        for term in clear:
            inside = [one for one in masked if one in _words(term)]
            if term not in columns and inside:
                raise ParameterError(
                    f"the masked column {inside[0]!r} stands in {term!r}. A masked predictor "
                    "stands alone: its product with others is not offered.",
                    field="formula",
                )
        return cls(outcome, hidden, clear, all(_plain(one, columns) for one in clear))

    def columns_used(self, table: pa.Table) -> list[str]:
        """Return the clear columns that the terms use."""
        if self.plain:
            return list(self.clear)
        words = {word for term in self.clear for word in _words(term)}
        return [name for name in table.column_names if name in words or name in self.clear]

    def encoder(self, table: pa.Table) -> Encoder:
        """Return a function that encodes a table as that of the fit."""
        if self.plain:
            known = {name: labels_of(table, name) for name in self.clear}
            return lambda given: _joined(
                [encode(given, name, levels=known[name]) for name in self.clear], len(given)
            )
        return _by_formulaic(" + ".join(self.clear), table)


def _plain(term: str, columns: Sequence[str]) -> bool:
    # a term that looks like a name is one, so that a misspelt name gets its own error
    return term in columns or term.replace("_", "").replace(".", "").isalnum()


def _joined(parts: Sequence[ClearColumns], people: int) -> ClearColumns:
    names = tuple(name for part in parts for name in part.names)
    values = [part.values for part in parts] or [np.zeros((people, 0))]
    return ClearColumns(names, np.concatenate(values, axis=1))


def _summands(text: str) -> list[str]:
    """Return the terms between the plus signs that stand in no brackets."""
    terms, depth, start = [], 0, 0
    for place, letter in enumerate(text + "+"):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "+" and depth == 0:
            terms.append(text[start:place].strip())
            start = place + 1
    return [term for term in terms if term]


def _words(term: str) -> set[str]:
    kept = "".join(one if one.isalnum() or one == "_" else " " for one in term)
    return set(kept.split()) | {term}


def _by_formulaic(terms: str, table: pa.Table) -> Encoder:
    try:
        formulaic: Any = import_module("formulaic")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "a formula with functions or products needs formulaic", "analysis"
        ) from error

    def frame(given: pa.Table) -> Any:
        typed = given
        for place, name in enumerate(given.column_names):
            column = given[name]
            if pa.types.is_string(column.type):  # a CSV file holds texts alone
                try:
                    numbers = column.cast(pa.float64())
                except pa.ArrowInvalid:
                    continue
                typed = typed.set_column(place, name, numbers)
        return typed.to_pandas()

    try:
        first = formulaic.model_matrix(terms, frame(table), na_action="raise")
    except Exception as error:  # formulaic raises of many kinds
        raise ParameterError(
            f"the terms {terms!r} cannot be computed: {error}", field="formula"
        ) from error
    spec = first.model_spec
    names = tuple(str(one) for one in first.columns if one != "Intercept")

    def encoded(given: pa.Table) -> ClearColumns:
        matrix = spec.get_model_matrix(frame(given), na_action="raise")
        return ClearColumns(names, np.asarray(matrix[list(names)], dtype=np.float64))

    return encoded
