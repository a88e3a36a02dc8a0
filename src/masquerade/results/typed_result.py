"""The result of a survey as a typed value, with one JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import Guarantee
from masquerade.plots import shares
from masquerade.results.json_form import INLINE, LEFT_OUT, JsonValue
from masquerade.results.question_figures import Figure, QuestionResult
from masquerade.results.reports import SurveyReports
from masquerade.surveys.survey import LEVEL_RULES
from masquerade.surveys.two_parties import TwoParties

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from masquerade.preference.standings import Standing


@dataclass(frozen=True, slots=True)
class PrintedGuarantee(JsonValue):
    """A guarantee as it is printed: amounts are rounded up, ``"inf"`` where there is no bound."""

    epsilon_single: float | str
    epsilon_event: float | str
    epsilon_user: float | str
    delta: float
    rho_event: float | str | None
    rho_user: float | str | None
    answers: int
    unit: str
    trust: str
    status: str
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, guarantee: Guarantee) -> PrintedGuarantee:
        """Return a guarantee in print."""
        return cls.from_json(guarantee.to_json())


@dataclass(frozen=True, slots=True)
class LevelSummary(JsonValue):
    """A level of a survey: its responses, its guarantee, its cost."""

    name: str
    responses: int | None
    share: float | None
    pool: int | None
    guarantee: PrintedGuarantee
    rho_each: float | str
    rho_total: float | str | None
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultLedger(JsonValue):
    """The charge of all responses."""

    responses: int
    epsilon_user_each: float | str
    rho_total: Mapping[str, float | str | None]
    clear_disclosures: int | None


@dataclass(frozen=True, slots=True)
class ResultRules(JsonValue):
    """The limits below which something is withheld."""

    fewest_at_level: int
    fewest_in_cell: int
    fewest_for_headline: int
    widest_headline: float
    false_alarm: float


@dataclass(frozen=True, slots=True)
class BlockNoise(JsonValue):
    """The noise on one block of sums; variances are exact texts."""

    outputs: int
    variance_each: str
    variance: str


@dataclass(frozen=True, slots=True)
class AddedNoise(JsonValue):
    """The noise that two parties added to their sums."""

    distribution: str
    parties: int
    blocks: tuple[BlockNoise, ...]


@dataclass(frozen=True, slots=True)
class CrossCell(JsonValue):
    """A cell of a table that was counted as such."""

    label: str
    share: Figure = field(metadata=INLINE)


@dataclass(frozen=True, slots=True)
class CountedTable(JsonValue):
    """A cross table that two parties counted, row by row."""

    questions: tuple[str, ...]
    cells: tuple[CrossCell, ...]


@dataclass(frozen=True, slots=True)
class ItemLabel(JsonValue):
    """The inferred label of an item.

    Attributes
    ----------
    id, item : str
    label : str
        Empty where none is clearly ahead.
    probability : float or None
        None of counts of two parties, of which a label that stands here is surely ahead.
    known_label : str or None
    orientation_ambiguous : bool
        Whether all labels may be swapped together.
    """

    id: str
    item: str
    label: str
    probability: float | None
    known_label: str | None
    orientation_ambiguous: bool


@dataclass(frozen=True, slots=True)
class ItemStrength(JsonValue):
    """The strength of an item of pairwise questions, within its group."""

    item: str
    strength: float
    low: float
    high: float
    standard_error: float
    group: int


@dataclass(frozen=True, slots=True)
class RankedItem(JsonValue):
    """An item of a list that people voted on, with the ranks that it may have.

    Attributes
    ----------
    item : str
    strength, standard_error, low, high, rating : float or None
        As in `masquerade.preference.Standing`.
    rank_low, rank_high : int
    may_be_first, placed : bool
    shown : int
        Number of votes on pairs with the item.
    note : str
        Why it has no place; empty otherwise.
    """

    item: str
    strength: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    rating: float | None
    rank_low: int
    rank_high: int
    may_be_first: bool
    placed: bool
    shown: int
    note: str

    @classmethod
    def of(cls, one: Standing, shown: int) -> RankedItem:
        """Return the line of a leaderboard."""
        names = [each.name for each in fields(cls) if each.name != "shown"]
        return cls(shown=shown, **{name: getattr(one, name) for name in names})


@dataclass(frozen=True, slots=True)
class VotedLeaderboard(JsonValue):
    """The leaderboard of a list that people voted on.

    Attributes
    ----------
    question, text : str
        Of the question that has the list.
    votes : int
    ties : float or None
        Estimated number of votes for neither; None where there was no such answer.
    model : str
    notes : tuple of str
        What the errors assume.
    items : tuple of RankedItem
        By the worst rank that is possible.
    """

    question: str
    text: str
    votes: int
    ties: float | None
    model: str
    notes: tuple[str, ...]
    items: tuple[RankedItem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SurveyResult(JsonValue, Result):
    """The result of a survey: a typed value that is also a table, a figure and a file.

    Attributes
    ----------
    survey : str
        Its token.
    title : str
    responses : int
    refused, trust, parties, noise, cross_tables
        Of a survey between two parties; else None.
    confidence : float
    estimator : str
        How far levels may differ: ``within`` 15 points of 100, ``own`` or ``alike``.
    level : str or None
        The level of everybody, where there is one.
    levels : tuple of LevelSummary
    guarantee_per_participant : PrintedGuarantee
        Of the level that protects least.
    ledger : ResultLedger
    rules : ResultRules
    simulated : bool
        Whether the people are made up.
    hash, inputs, version : str
        Of the definition, of the reports, of the program.
    questions : tuple of QuestionResult
        Empty where nobody answered.
    labels : tuple of ItemLabel
    ranking : tuple of ItemStrength
    leaderboards : tuple of VotedLeaderboard or None
        Of each list that people voted on; None where there is none.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> result = SurveyResult.of(reports)
    >>> result.responses, [option.label for option in result.question("ill").options]
    (900, ['Yes', 'No'])
    """

    survey: str
    title: str
    responses: int
    refused: int | None = field(metadata=LEFT_OUT)
    trust: str | None = field(metadata=LEFT_OUT)
    parties: TwoParties | None = field(metadata=LEFT_OUT)
    confidence: float
    estimator: str
    level: str | None
    levels: tuple[LevelSummary, ...]
    guarantee_per_participant: PrintedGuarantee
    noise: AddedNoise | None = field(metadata=LEFT_OUT)
    ledger: ResultLedger
    rules: ResultRules
    simulated: bool
    hash: str
    inputs: str
    version: str
    questions: tuple[QuestionResult, ...]
    cross_tables: tuple[CountedTable, ...] | None = field(metadata=LEFT_OUT)
    labels: tuple[ItemLabel, ...]
    ranking: tuple[ItemStrength, ...]
    leaderboards: tuple[VotedLeaderboard, ...] | None = field(default=None, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimator", LEVEL_RULES.get(self.estimator, self.estimator))

    @classmethod
    def of(cls, source: SurveyReports | SurveyResult | Mapping[str, Any]) -> SurveyResult:
        """Return the result of a survey's reports, or of the JSON object of a result.

        Raises
        ------
        ParameterError
            It is neither.
        SchemaError
            The JSON object is broken.
        """
        from masquerade.results.result import survey_result

        if isinstance(source, SurveyResult):
            return source
        if isinstance(source, SurveyReports):
            return survey_result(source)
        if not isinstance(source, Mapping) or not {"survey", "questions"} <= set(source):
            raise ParameterError(
                f"this is a {type(source).__name__}, expected the reports of a survey "
                "(`read_reports`), or its result as `survey_result` or a server gives it."
            )
        return cls.from_json(source)

    @property
    def split(self) -> bool:
        """Whether two parties added up the answers."""
        return self.trust == TWO_PARTIES

    def question(self, name: str) -> QuestionResult:
        """Return the result of one question; `ParameterError` where there is none of this id."""
        for one in self.questions:
            if one.id == name:
                return one
        raise ParameterError(
            f"{self.title!r} has no result of a question {name!r}, expected one of "
            f"{', '.join(one.id for one in self.questions) or 'none'}."
        )

    def to_arrow(self) -> pa.Table:
        """Return the rows of `result_table`."""
        from masquerade.results.result_rows import arrow_table

        return arrow_table(self)

    def plot(
        self, *, axes: Axes | None = None, theme: str = "light", question: str | None = None
    ) -> Axes:
        """Draw the shares of a question, of the first if none is named."""
        one = self.questions[0] if question is None else self.question(question)
        return shares(self.shares(one.id), axes=axes, theme=theme, title=one.text)

    def shares(self, question: str) -> pa.Table:
        """Return the rows of one question by the survey's own estimator."""
        table = self.to_arrow()
        own = pc.equal(table["estimator"], self.estimator)
        return table.filter(pc.and_(own, pc.equal(table["question"], question)))
