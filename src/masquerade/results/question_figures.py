"""The result of a question as a typed value: its figures, tests, headline and levels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from masquerade.estimation import Estimate, Plausibility, Test
from masquerade.estimation.hypotheses import DIFFER
from masquerade.results.json_form import INLINE, LEFT_OUT, JsonValue
from masquerade.surveys.survey import LEVEL_RULES

#: Responses below which no point is shown.
FEWEST_FOR_HEADLINE = 20
#: Width of an interval, in widths of the range, beyond which it stands for the point.
WIDEST_HEADLINE = 0.25


@dataclass(frozen=True, slots=True)
class Figure(JsonValue):
    """A number of a result with its interval and errors; unknown ones are None.

    Attributes
    ----------
    value : float or None
        The estimate: the possible number nearest to the unbiased one, within its interval; shares
        of one question sum to 1. (To average over many surveys, take the unbiased estimates of
        `masquerade.estimation`, which near an end of the range may lie outside it.)
    shown : float or None
        The same where people are to read it; None where no point is to be read: of fewer than 20
        people, or where the interval is wider than a quarter of the range.
    low, high : float or None
        Ends of the interval, within the possible range.
    standard_error : float or None
        Of the unbiased estimate; its square is the sum of the squares of the two errors.
    sampling_error, mechanism_error : float or None
        By who answered, and by the masks or the noise.

    Examples
    --------
    >>> Figure(0.3, 0.3, 0.26, 0.34, 0.02, 0.02, 0.0).to_json()["low"]
    0.26
    """

    value: float | None
    shown: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    sampling_error: float | None
    mechanism_error: float | None

    def __post_init__(self) -> None:
        # Results of earlier versions hold unbiased estimates, which may be impossible.
        if self.value is not None and self.low is not None and self.high is not None:
            object.__setattr__(self, "value", min(max(self.value, self.low), self.high))

    @classmethod
    def of(cls, estimate: Estimate, n: int, *, width: float = 1.0) -> Figure:
        """Return the figure of an estimate from n people, of a range of this width.

        No point is shown of fewer than 20 people, or where the interval is wider than a quarter of
        the range.
        """
        numbers = (
            *(estimate.shown, estimate.shown, estimate.low, estimate.high),
            *(estimate.standard_error, estimate.sampling_error, estimate.mechanism_error),
        )
        # JSON has neither NaN nor infinity.
        found = cls(*(number if math.isfinite(number) else None for number in numbers))
        wide = estimate.high - estimate.low > WIDEST_HEADLINE * width * (1 + 1e-9)
        return replace(found, shown=None) if n < FEWEST_FOR_HEADLINE or wide else found

    @property
    def errors(self) -> tuple[float, float] | None:
        """Errors by sampling and by mechanism; None where one is not known."""
        if self.sampling_error is None or self.mechanism_error is None:
            return None
        return self.sampling_error, self.mechanism_error


@dataclass(frozen=True, slots=True)
class LevelTest(JsonValue):
    """A test of whether people at different levels answer differently.

    `probability` is corrected for the number of questions of the survey (Holm, 1979): `differ` is
    said of any question in at most 5 of 100 surveys whose levels are alike.
    """

    statistic: float
    degrees: int
    probability: float
    differ: bool

    @classmethod
    def of(cls, test: Test) -> LevelTest | None:
        """Return a test; None where there is one level only."""
        if not test.degrees:
            return None
        return cls(test.statistic, test.degrees, test.probability, test.probability < DIFFER)

    def corrected(self, probability: float) -> LevelTest:
        """Return the test with a probability that is corrected for other tests."""
        return replace(self, probability=probability, differ=probability < DIFFER)


@dataclass(frozen=True, slots=True)
class ReportTest(JsonValue):
    """A test of whether honest devices send such reports; probability None where there is none."""

    probability: float | None
    doubtful: bool
    reason: str | None

    @classmethod
    def of(cls, test: Plausibility | None) -> ReportTest:
        """Return the outcome of a test, or that there was none."""
        if test is None:
            return cls(None, doubtful=False, reason=None)
        return cls(test.probability, test.doubtful, test.reason)


@dataclass(frozen=True, slots=True)
class OptionFigures(JsonValue):
    """The share of people behind one option of a question.

    Attributes
    ----------
    label : str
    reported_share : float
        Of the reports, masks and all.
    known_share : float or None
        Of a made-up crowd.
    share : Figure
    of_answered : Figure or None
        Share of those who answered, where some were not asked or did not answer.
    simultaneous_low, simultaneous_high : float or None
        Ends of an interval that holds for all options at once.
    """

    label: str
    reported_share: float
    known_share: float | None
    share: Figure = field(metadata=INLINE)
    of_answered: Figure | None = field(metadata=LEFT_OUT)
    simultaneous_low: float | None
    simultaneous_high: float | None


@dataclass(frozen=True, slots=True)
class MeanFigures(JsonValue):
    """The mean of a rating or a number, among respondents."""

    mean: Figure = field(metadata=INLINE)
    known_mean: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class ItemRank(JsonValue):
    """The mean rank of an item of a ranking, 1 the best.

    `first_choice`: its share of first choices. By a model (`by_model`) it is so if one set of
    strengths fits everybody; where groups rank differently it is off by some points. Two parties
    count first choices; None where nothing but noise was counted.
    `strength`: of that model, a natural logarithm around 0: of two items a difference of 1 is odds
    of 2.7 to 1 that the stronger one stands before the other. None where first choices are counted.
    """

    item: str
    mean: Figure = field(metadata=INLINE)
    first_choice: float | None
    by_model: bool = True
    strength: Figure | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class LevelOption(JsonValue):
    """The share behind one option at one level."""

    label: str
    reported_share: float
    share: Figure = field(metadata=INLINE)


@dataclass(frozen=True, slots=True)
class LevelFigures(JsonValue):
    """The figures of one level by itself."""

    level: str
    n: int
    mechanism: str
    options: tuple[LevelOption, ...]
    mean: Figure | None


@dataclass(frozen=True, slots=True)
class Headline(JsonValue):
    """The statement that stands first: of a mean, of the option that is ahead, or of several.

    Attributes
    ----------
    kind : str
        ``"few"`` people; ``"nothing"`` is known; of a mean or of the option that is surely ahead,
        an ``"estimate"`` or, where it is wide, an ``"interval"``; ``"several"`` options may be
        ahead; ``"level"``: none is clearly ahead.
    option : str or None
        The option that is ahead; in at most 5 % of surveys an option is named that is not.
    shown, low, high : float or None
        The figure; an option's interval holds although the option was chosen after looking.
    options : tuple of str
        Of ``"several"``, those that may be ahead, the most frequent first.
    """

    kind: str
    option: str | None
    shown: float | None
    low: float | None
    high: float | None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeopleNeeded(JsonValue):
    """Number of people that would bring the headline's interval to a quarter of the range."""

    people: int | None
    by_level: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QuartileFigure(JsonValue):
    """A quartile of a rating or a number."""

    share: float
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class QuestionResult(JsonValue):
    """The result of one question.

    Attributes
    ----------
    id, text, kind, unit : str
        As the survey has them.
    n : int
        Responses.
    n_by_level : mapping of str to int or None
        None where a count is withheld.
    estimator : str
        How far levels may differ: ``within`` 15 points of 100, ``own`` or ``alike``.
    mechanism : str
    options : tuple of OptionFigures
        Empty for numbers.
    heterogeneity : LevelTest or None
    plausibility : ReportTest
    mean : MeanFigures or None
    quartiles : tuple of QuartileFigure or None
        Of ratings, and of sums of two parties.
    forecast_standard_error : float
        As planning has it for so many people.
    headline : Headline
    precision : PeopleNeeded
    by_level : tuple of LevelFigures
        Empty where there is one level.
    ranks : tuple of ItemRank or None
        Of a ranking, in the order of its items.
    """

    id: str
    text: str
    kind: str
    unit: str
    n: int
    n_by_level: Mapping[str, int | None]
    estimator: str
    mechanism: str
    options: tuple[OptionFigures, ...]
    heterogeneity: LevelTest | None
    plausibility: ReportTest
    mean: MeanFigures | None
    quartiles: tuple[QuartileFigure, ...] | None = field(metadata=LEFT_OUT)
    forecast_standard_error: float
    headline: Headline
    precision: PeopleNeeded
    by_level: tuple[LevelFigures, ...]
    ranks: tuple[ItemRank, ...] | None = field(default=None, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimator", LEVEL_RULES.get(self.estimator, self.estimator))

    @property
    def asked_of_some(self) -> bool:
        """Whether some were not asked or did not answer, so that shares are of the others."""
        return any(option.of_answered is not None for option in self.options)

    def option(self, label: str) -> OptionFigures:
        """Return the figures of an option; `KeyError` where there is none of this label."""
        for one in self.options:
            if one.label == label:
                return one
        raise KeyError(label)
