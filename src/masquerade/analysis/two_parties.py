"""Correlations and least squares from declared tables of two parties.

The two parties reveal counts plus normal noise of a known variance, and only of those pairs of
questions that a survey declared before anybody answered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from masquerade.aggregate.noise import SumNoise
from masquerade.analysis.profile import Reference
from masquerade.analysis.result import Regression, Term
from masquerade.analysis.terms import told_from_zero
from masquerade.analysis.worth import Correlation
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.surveys.two_party_encoding import Encoding

_LEAST_EIGENVALUE = 0.05


@dataclass(frozen=True)
class PairTables:
    """Noisy tables of pairs of questions.

    Attributes
    ----------
    people : int
        How many answered.
    variance : float
        Of the noise of one count.
    scores : mapping of str to sequence of float
        The scores of each question's answers.
    tables : mapping of (str, str) to table
        ``tables[row question, column question][row answer][column answer]``.
    sums : mapping of str to sequence of float
        A question's own counts; where it has none, margins of its first table serve.

    Examples
    --------
    >>> counts = [[40, 12, 3], [10, 30, 11], [2, 13, 29]]
    >>> scores = {"stress": (0, 1, 2), "ill": (0, 1, 2)}
    >>> pairs = PairTables(150, 9.0, scores, {("stress", "ill"): counts})
    >>> found = pairs.correlation("stress", "ill")
    >>> round(found.value, 4), round(found.low, 2), round(found.high, 2)
    (0.6577, 0.47, 0.84)
    """

    people: int
    variance: float
    scores: Mapping[str, Sequence[float]]
    tables: Mapping[tuple[str, str], Any]
    sums: Mapping[str, Sequence[float]] | None = None

    def table(self, first: str, second: str) -> Floats:
        """Return the table of a pair.

        Raises
        ------
        ParameterError
            The pair was not declared; the message names it.
        """
        for pair, turned in (((first, second), False), ((second, first), True)):
            if pair in self.tables:
                counts = np.asarray(self.tables[pair], dtype=np.float64)
                shape = tuple(len(self.scores[name]) for name in pair)
                if counts.shape != shape:
                    raise ParameterError(
                        f"the table of {pair} has the shape {counts.shape}, expected {shape}."
                    )
                return counts.T if turned else counts
        known = ", ".join(" with ".join(pair) for pair in self.tables) or "none"
        raise ParameterError(
            f"the pair {first} with {second} was not declared, so that nothing of it was revealed; "
            f"declare it before the next survey opens. Declared: {known}.",
            field="tables",
        )

    def own(self, name: str) -> Floats:
        """Return a question's counts: its own sums, else margins of its first table."""
        if self.sums is not None and name in self.sums:
            return np.asarray(self.sums[name], dtype=np.float64)
        for pair in self.tables:
            if name in pair:
                other = pair[1] if pair[0] == name else pair[0]
                return np.asarray(self.table(name, other).sum(axis=1))
        raise ParameterError(f"{name!r} stands in no declared table.", field="tables")

    def deviations(self, name: str) -> Floats:
        """Return scores less their mean."""
        scores = np.asarray(self.scores[name], dtype=np.float64)
        counts = self.own(name)
        mean: Floats = scores - counts @ scores / counts.sum()
        return mean

    def _spread(self, name: str) -> float:
        return float(self.own(name) @ self.deviations(name) ** 2) / self.people

    def correlation(self, first: str, second: str, *, confidence: float = 0.95) -> Correlation:
        """Return the correlation of two questions by the scores of their answers."""
        counts = self.table(first, second)
        d1, d2 = self.deviations(first), self.deviations(second)
        s1, s2 = self._spread(first), self._spread(second)
        if not (s1 > 0 and s2 > 0):
            return Correlation(None, -1.0, 1.0, None, self.people)
        r = float(d1 @ counts @ d2) / self.people / math.sqrt(s1 * s2)
        z1, z2 = d1[:, None] / math.sqrt(s1), d2[None, :] / math.sqrt(s2)
        psi = z1 * z2 - r / 2 * (z1**2 + z2**2)
        n = self.people
        sampling = max(float((counts * psi**2).sum()) / n, (1 - r * r) ** 2 / 4) / n
        noise = self.variance * float((psi**2).sum()) / n**2
        reach = float(ndtri(0.5 + confidence / 2)) * math.sqrt(sampling + noise)
        value = min(max(r, -1.0), 1.0)
        return Correlation(
            value,
            min(max(r - reach, -1.0), 1.0),
            max(min(r + reach, 1.0), -1.0),
            None,
            n,
            math.sqrt(sampling),
            math.sqrt(noise),
        )

    def least_squares(
        self, outcome: str, predictors: Sequence[str], *, confidence: float = 0.95
    ) -> Regression:
        """Return the least squares of one question's score on those of others.

        Raises
        ------
        ParameterError
            A pair among outcome and predictors was not declared.
        InputError
            The predictors lie too close together, or noise hides their spread.
        """
        names = list(predictors)
        for place, a in enumerate((outcome, *names)):
            for b in names[place:]:
                self.table(a, b)  # every pair was declared, or the error names it
        d = {name: self.deviations(name) for name in (outcome, *names)}
        n = self.people
        spread = np.array(
            [
                [
                    self._spread(a) if a == b else float(d[a] @ self.table(a, b) @ d[b]) / n
                    for b in names
                ]
                for a in names
            ]
        )
        own = np.linalg.eigvalsh(spread)
        if not own[0] > _LEAST_EIGENVALUE * own.mean():
            raise InputError(
                f"the predictors {names} lie too close together, or the parties' noise hides their "
                "spread; leave one out, or ask more people."
            )
        with_outcome = np.array([float(d[outcome] @ self.table(outcome, a) @ d[a]) for a in names])
        inverse = np.linalg.inv(spread)
        beta = inverse @ with_outcome / n
        residual = max(self._spread(outcome) - float(beta @ with_outcome) / n, 0.0)
        noise = self._noise(outcome, names, d, inverse, beta)
        sampling = residual * inverse / n
        return Regression(
            formula=f"{outcome} ~ {' + '.join(names)}",
            model="linear",
            outcome=outcome,
            answers=(),
            terms=normal_terms(
                names, beta, sampling, noise, confidence, units=self._units(outcome, names)
            ),
            naive=(),
            log_likelihood=-0.5 * n * (math.log(2 * math.pi * max(residual, 1e-12)) + 1),
            parameters=len(names) + 2,
            people=n,
            patterns=len(self.tables),
            confidence=confidence,
            penalty=0.0,
            notes=("from tables of two parties: errors hold sampling and the parties' noise",),
        )

    def _units(self, outcome: str, names: Sequence[str]) -> list[float]:
        """Return a step of 1 in scaled units of each coefficient."""
        half = float(np.ptp(self.scores[outcome])) / 2
        return [
            half / float(np.ptp(self.scores[name])) * min(len(self.scores[name]) - 1, 2)
            for name in names
        ]

    def _noise(
        self, outcome: str, names: list[str], d: dict[str, Floats], inverse: Floats, beta: Floats
    ) -> Floats:
        """Return v / n^2 times the sum over all counts of how they move the coefficients."""
        parts: dict[object, Floats] = {}  # of each count of a table: how it moves coefficients

        def add(pair: tuple[str, str], by: Floats, values: Floats) -> None:
            turned = pair not in self.tables
            key = pair[::-1] if turned else pair
            moved = by[:, None, None] * (values.T if turned else values)
            parts[key] = parts.get(key, 0.0) + moved

        for i, a in enumerate(names):
            add((outcome, a), inverse[:, i], np.outer(d[outcome], d[a]))
            for j in range(i + 1, len(names)):
                g = -(inverse[:, i] * beta[j] + inverse[:, j] * beta[i])
                add((a, names[j]), g, np.outer(d[a], d[names[j]]))
            own = -inverse[:, i] * beta[i]
            if self.sums is not None and a in self.sums:
                parts[a] = own[:, None, None] * (d[a] ** 2)[None, None, :]
            else:  # margins of its first table: noise of all its counts
                pair = next(pair for pair in self.tables if a in pair)
                row = pair[0] == a
                other = len(self.scores[pair[1] if row else pair[0]])
                values = np.outer(d[a] ** 2, np.ones(other))
                add(pair, own, values if row else values.T)
        total = sum(np.einsum("pij,qij->pq", one, one) for one in parts.values())
        scaled: Floats = self.variance / self.people**2 * np.asarray(total)
        return scaled


def answer_scores(encoding: Encoding) -> dict[str, Sequence[float]]:
    """Return the numbers of each question's answers, of questions that can stand in a pair.

    Questions with scores have these; of two labels the second counts as 1. Questions of more
    labels, and those that some did not answer, have no number for everybody and are left out.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.two_party_encoding import Encoding
    >>> asked = (Choice("ill", "Ill?", ("No", "Yes")), Choice("food", "Eat?", ("A", "B", "C")))
    >>> answer_scores(Encoding(asked))
    {'ill': (0.0, 1.0)}
    """
    scores: dict[str, Sequence[float]] = {}
    for name, part in encoding.parts.items():
        symbols = encoding.symbols(name) if part.crossable else ()
        known = getattr(part, "scores", None)
        if known is not None and len(known) == len(symbols):
            scores[name] = known
        elif len(symbols) == 2:
            scores[name] = (0.0, 1.0)
    return scores


def declared_pairs(
    encoding: Encoding, sums: Sequence[Sequence[float]], *, noise: SumNoise, people: int
) -> PairTables:
    """Return the pair tables that a survey between two parties declared and revealed.

    Their answers count by `answer_scores`.

    Parameters
    ----------
    encoding : Encoding
        Of the survey, with its `cross`.
    sums : sequence
        The noisy sums of all blocks, as both parties' aggregate shares give them.
    noise : SumNoise
        Of one party; both have added it.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.surveys import Rating
    >>> from masquerade.surveys.two_party_encoding import Encoding
    >>> asked = (Rating("stress", "Stress?", 1, 2), Rating("ill", "Ill?", 1, 2))
    >>> found = Encoding(asked, cross=(("stress", "ill"),))
    >>> noise = SumNoise(found.blocks, (Fraction(2),) * 3)
    >>> sums = [[50, 50], [50, 50], [40, 10, 10, 40]]
    >>> pairs = declared_pairs(found, sums, noise=noise, people=100)
    >>> round(pairs.correlation("stress", "ill").value, 2)
    0.6
    """
    scores = answer_scores(encoding)
    places = {name: place for place, name in enumerate(encoding.parts)}
    first = encoding.tables_from
    tables = {
        (pair[0], pair[1]): np.reshape(
            np.asarray(sums[first + place], dtype=np.float64),
            (len(scores[pair[0]]), len(scores[pair[1]])),
        )
        for place, pair in enumerate(encoding.cross)
        if len(pair) == 2 and pair[0] in scores and pair[1] in scores
    }
    named = {name for pair in tables for name in pair}
    blocks = [*(places[name] for name in named), *range(first, first + len(encoding.cross))]
    # where blocks differ in noise, the largest: intervals are then a little wide
    variance = max((float(noise.published_variance(place)) for place in blocks), default=0.0)
    own = {name: [float(one) for one in sums[places[name]]] for name in named}
    return PairTables(people, variance, scores, tables, own)


def normal_terms(
    names: Sequence[str],
    values: Floats,
    sampling: Floats,
    noise: Floats,
    confidence: float,
    *,
    answers: Sequence[str | None] | None = None,
    units: Sequence[float] | None = None,
) -> tuple[Term, ...]:
    """Return terms with normal errors, of sampling and of the parties' noise."""
    z = float(ndtri(0.5 + confidence / 2))
    found = []
    for place, name in enumerate(names):
        error = math.sqrt(float(sampling[place, place] + noise[place, place]))
        value = float(values[place])
        found.append(
            Term(
                name,
                None if answers is None else answers[place],
                value,
                error,
                value - z * error,
                value + z * error,
                (value / error) ** 2,
                float(2 * ndtr(-abs(value) / error)),
                slope=name != "(constant)",
                unit=1.0 if units is None else units[place],
                sampling_error=math.sqrt(float(sampling[place, place])),
                mechanism_error=math.sqrt(float(noise[place, place])),
            )
        )
    return told_from_zero(found, Reference())
