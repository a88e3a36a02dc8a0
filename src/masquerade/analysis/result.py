"""A regression as it is read: terms with intervals, the naive fit beside them, sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scipy.special import chdtrc

from masquerade.answers.result import UNPUBLISHED, Result
from masquerade.errors import NotFitted, ParameterError

if TYPE_CHECKING:
    from masquerade.analysis.prediction import Effects, Fitted, Predictions
    from masquerade.answers import Frame

#: Widths of an interval in scaled log-odds above which no point is printed, and nothing is told.
NO_POINT, NOTHING = 3.0, 6.0
_FEWEST = 20
# Typed, as a column of which nothing is known has none; what is drawn stands first.
_NUMBERS = ("value", "estimate", "error", "low", "high", "p")
_COLUMNS = pa.schema(
    [
        ("name", pa.string()),
        *((name, pa.float64()) for name in _NUMBERS),
        ("masked", pa.bool_()),
        ("naive", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Term(Result):
    """A coefficient with its interval and test.

    Attributes
    ----------
    name : str
        Of the column; ``column[label]`` for a label against the first.
    answer : str or None
        Of a multinomial outcome: against the first answer.
    estimate, error : float or None
        None where the answers say less of it than half a person would.
    low, high : float or None
        Ends of the interval; None where an end is open.
    statistic, probability : float or None
        Twice the fall of the log-likelihood at 0, and its p-value.
    masked : bool
        Whether the column was seen through a mask.
    slope : bool
        False of constants.
    unit : float
        A step of 1 in scaled units, in the column's own.
    binary : bool
        Whether the column is 0 or 1.
    said : bool
        Whether Holm's order over all slopes tells it from 0.
    said_low, said_high : float or None
        Ends of the interval at the level of its step in that order.
    sampling_error, mechanism_error : float or None
        Between two parties: by who answered, and by their noise.

    Examples
    --------
    >>> term = Term("age", estimate=0.5, low=-2.0, high=3.0)
    >>> term.width, term.shown
    (5.0, None)
    """

    name: str
    answer: str | None = None
    estimate: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    statistic: float | None = None
    probability: float | None = None
    masked: bool = False
    slope: bool = False
    unit: float = 1.0
    binary: bool = False
    said_low: float | None = None
    said_high: float | None = None
    said: bool = False
    sampling_error: float | None = None
    mechanism_error: float | None = None

    @property
    def width(self) -> float:
        """Width of the interval in scaled units; infinite where an end is open."""
        if self.low is None or self.high is None:
            return math.inf
        return (self.high - self.low) / self.unit

    @property
    def shown(self) -> float | None:
        """The estimate where it says anything: None where the interval is very wide."""
        return self.estimate if self.width <= NO_POINT else None


@dataclass(frozen=True, slots=True)
class Naive(Result):
    """A coefficient of the fit that takes reports for answers.

    Attributes
    ----------
    name : str
    answer : str or None
    estimate : float

    Examples
    --------
    >>> Naive("age", None, 0.2).estimate
    0.2
    """

    name: str
    answer: str | None
    estimate: float


@dataclass(frozen=True, slots=True)
class Ratio(Result):
    """A likelihood-ratio test of two regressions.

    Attributes
    ----------
    statistic : float
    degrees : int
    probability : float

    Examples
    --------
    >>> Ratio(12.28, 1, 0.0005).degrees
    1
    """

    statistic: float
    degrees: int
    probability: float


@dataclass(frozen=True)
class Regression(Result):
    """A regression of reports.

    Attributes
    ----------
    formula, model, outcome : str
    terms : tuple of Term
    answers : tuple of str
        To the outcome; none where it is a number.
    naive : tuple of Naive
        The fit that ignores the masks; none where there are no masks.
    log_likelihood : float
        Without the penalty.
    parameters, people, patterns : int
        Free numbers; people; rows that differ.
    confidence, penalty : float
    notes : tuple of str

    Examples
    --------
    >>> from masquerade.analysis import regress
    >>> people = {"ill": [0, 1] * 30, "stress": [0, 0, 1, 1] * 15}
    >>> fit = regress(people, "ill ~ stress", mechanisms={"ill": "warner:p=0.8"})
    >>> fit.model, len(fit.terms), fit.sentence()[:10]
    ('logistic', 2, 'These answ')
    """

    formula: str
    model: str
    outcome: str
    answers: tuple[str, ...]
    terms: tuple[Term, ...]
    naive: tuple[Naive, ...]
    log_likelihood: float
    parameters: int
    people: int
    patterns: int
    confidence: float
    penalty: float
    notes: tuple[str, ...] = ()
    _fitted: Fitted | None = field(default_factory=lambda: None, repr=False, metadata=UNPUBLISHED)

    drawing = "estimates"

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def slopes(self) -> tuple[Term, ...]:
        """The terms that are no constants."""
        return tuple(one for one in self.terms if one.slope)

    def term(self, name: str, answer: str | None = None) -> Term:
        """Return the term of a column.

        Raises
        ------
        ParameterError
            There is none.
        """
        for one in self.terms:
            if one.name == name and answer in (None, one.answer):
                return one
        raise ParameterError(
            f"there is no term {name!r}; expected one of {[one.name for one in self.terms]}."
        )

    def naive_of(self, term: Term) -> float | None:
        """Return the coefficient that the fit without masks has for a term."""
        for one in self.naive:
            if (one.name, one.answer) == (term.name, term.answer):
                return one.estimate
        return None

    def compare(self, smaller: Regression) -> Ratio:
        """Return the likelihood-ratio test against a regression with fewer terms.

        Raises
        ------
        ParameterError
            The other has other people, another outcome, or no fewer parameters.
        """
        degrees = self.parameters - smaller.parameters
        if (self.people, self.outcome, self.model) != (
            smaller.people,
            smaller.outcome,
            smaller.model,
        ) or degrees < 1:
            raise ParameterError(
                f"{smaller.formula!r} is not a part of {self.formula!r} with the same people and "
                "outcome; leave out terms of one formula, and keep the rest."
            )
        statistic = max(2 * (self.log_likelihood - smaller.log_likelihood), 0.0)
        return Ratio(statistic, degrees, float(chdtrc(degrees, statistic)))

    def predict(self, data: Frame | None = None) -> Predictions:
        """Return the probability of each answer for people of a table, with intervals.

        Masked predictors are averaged over, unless the table has a column with answers to them.
        """
        return self._whole.predict(data, confidence=self.confidence)

    def effects(self) -> Effects:
        """Return average marginal effects: by how much more often, or more, a unit goes along."""
        return self._whole.effects(confidence=self.confidence)

    @property
    def _whole(self) -> Fitted:
        if self._fitted is None:
            raise NotFitted("a regression that was loaded from a file predicts nothing; fit it.")
        return self._fitted

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each slope that Holm's order over all slopes tells from 0."""
        return tuple(self._sentence(one) for one in self.terms if one.said)

    def sentence(self) -> str:
        """Return the first sentence, or why there is none."""
        told = self.sentences()
        if self.people < _FEWEST:
            return f"Fewer than {_FEWEST} people answered, so nothing is said."
        if told:
            first = min((one for one in self.terms if one.said), key=lambda t: t.probability or 0)
            return self._sentence(first)
        widths = [one.width for one in self.slopes]
        if not widths or min(widths) > NOTHING:
            return "These answers and masks cannot tell."
        narrow = min(self.slopes, key=lambda one: one.width)
        return (
            f"These answers do not tell whether {_lower(self._who(narrow))} "
            f"{self._what(narrow, 'more or less')}: {self._between(narrow.low, narrow.high)}"
            f"{self._per(narrow)}."
        )

    def _sentence(self, term: Term) -> str:
        assert term.estimate is not None
        said = self._what(term, "more" if term.estimate > 0 else "less")
        point = "" if term.shown is None else f"{self._number(term.estimate)}, "
        between = self._between(term.said_low, term.said_high, point)
        return f"{self._who(term)} {said}: {between}{self._per(term)}."

    def _who(self, term: Term) -> str:
        name, bracket, label = term.name.partition("[")
        label = label.removesuffix("]")
        if _is_text(name):
            answered = f"who answered {label} to {name}"
            return f"People {answered if bracket else f'with a higher answer to {name}'}"
        if bracket:
            return f"People with {name} = {label}"
        return f"People with {name} = 1" if term.binary else f"People with more {name}"

    def _per(self, term: Term) -> str:
        if term.binary or "[" in term.name:
            return ""
        return " for each point" if _is_text(term.name) else f" for each unit of {term.name}"

    def _what(self, term: Term, more: str) -> str:
        number = self.model in ("ordered", "linear")
        answer = term.answer if self.model == "multinomial" else "" if number else self.answers[1]
        against = f", against {self.answers[0]}," if self.model == "multinomial" else ""
        if not _is_text(self.outcome):
            if number:
                return f"have {more} {self.outcome}"
            return f"have {self.outcome} = {answer} {more} often{against}"
        if not number:
            return f"answered {answer} to {self.outcome} {more} often{against}"
        label = self.outcome.rpartition("”")[2].strip()  # counted as 1 between two parties
        if label:
            return f"answered {label} to {self.outcome.removesuffix(f' {label}')} {more} often"
        higher = {"more": "higher", "less": "lower"}.get(more, "higher or lower")
        return f"gave {higher} answers to {self.outcome}"

    def _number(self, value: float) -> str:
        return f"{value:.2g}" if self.model == "linear" else _odds(value)

    def _between(self, low: float | None, high: float | None, point: str = "") -> str:
        """Return a range in words; an end that is open has none."""
        ends = [None if one is None else self._number(one) for one in (low, high)]
        if None not in ends:
            said = f"{point}between {ends[0]} and {ends[1]}"
        elif ends[0] is not None:
            said = f"{point}at least {ends[0]}"
        else:
            said = f"{point}at most {ends[1]}" if ends[1] else "by any amount"
        return f"by {said}" if self.model == "linear" else f"odds {said} times"

    def to_arrow(self) -> pa.Table:
        """Return a row for each term, with the coefficient of the fit without masks."""
        return pa.Table.from_pylist(list(self._rows()), schema=_COLUMNS)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for one in self.terms:
            yield {
                "name": one.name if one.answer is None else f"{one.name}, {one.answer}",
                "estimate": one.estimate,
                "value": one.shown,
                "error": one.error,
                "low": one.low,
                "high": one.high,
                "p": one.probability,
                "masked": one.masked,
                "naive": self.naive_of(one),
            }

    def to_json(self) -> dict[str, Any]:
        """Return the regression as a JSON object."""
        return {
            "formula": self.formula,
            "model": self.model,
            "outcome": self.outcome,
            "terms": [
                {
                    "name": one.name,
                    "answer": one.answer,
                    "estimate": one.estimate,
                    "error": one.error,
                    "low": one.low,
                    "high": one.high,
                    "statistic": one.statistic,
                    "p": one.probability,
                    "masked": one.masked,
                }
                for one in self.terms
            ],
            "naive": [
                {"name": one.name, "answer": one.answer, "estimate": one.estimate}
                for one in self.naive
            ],
            "log_likelihood": self.log_likelihood,
            "aic": self.aic,
            "parameters": self.parameters,
            "people": self.people,
            "patterns": self.patterns,
            "confidence": self.confidence,
            "penalty": self.penalty,
            "sentence": self.sentence(),
            "sentences": list(self.sentences()),
            "notes": list(self.notes),
        }


def _is_text(name: str) -> bool:
    """Return whether a name is the text of a question, in quotation marks, and no column's name."""
    return name[:1] in ("“", "„", "«", '"')


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _odds(value: float) -> str:
    """Return odds to two digits, or to more where these would read as no relation."""
    odds = math.exp(min(value, 50.0))
    if odds >= 9.95:
        return f"{odds:.0f}"
    digits = next((n for n in (2, 3, 4) if float(f"{odds:.{n}f}") != 1), 2)
    return f"{odds:.{digits}f}"
