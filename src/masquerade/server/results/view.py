"""A result as its pages show it: each question by each estimator, in figures and on an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.results.figures import Axis, Figures, Row
from masquerade.surveys import Question
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from masquerade.results import Figure, QuestionResult, SurveyResult
    from masquerade.results.question_figures import OptionFigures
    from masquerade.results.typed_result import ItemStrength

LIKELIEST = "mle"
#: People below which a page says that intervals are wide.
FEW = 30

#: Name on the page and one sentence, for each.
ESTIMATOR_WORDS = {
    "eb": (
        "Balanced",
        "Levels are drawn towards each other, the noisier the more, and then count by their share "
        "of the people.",
    ),
    "respondent": (
        "Everybody alike",
        "Each level counts by its share of the people: right however level and opinion go "
        "together, but noisy.",
    ),
    "ivw": (
        "Sharpest",
        "Who is masked less counts more: precise where level and opinion have nothing to do with "
        "each other, wrong where they have.",
    ),
    LIKELIEST: (
        "Likeliest shares",
        "The shares between 0 and 100 % under which the reports are likeliest: a little off near "
        "the ends, and without an interval.",
    ),
}

_SUMS = ("Estimate", "What two parties added up, with the noise of both.")
_ONE_LEVEL = ("Estimate", "The masks, whose probabilities are known exactly, are taken out.")


@dataclass(frozen=True, slots=True)
class EstimatorChoice:
    """An estimator by which a page can show a result."""

    name: str
    title: str
    says: str
    headline: bool  # whether it was fixed before anybody answered


@dataclass(frozen=True, slots=True)
class ErrorPart:
    """A source of an estimate's error, in words, with its share of the variance."""

    name: str
    says: str
    error: str
    part: float


@dataclass(frozen=True, slots=True)
class Certainty:
    """The sources of an estimate's error and the ways to reduce it, in words."""

    interval: str
    forecast: str
    error: str
    errors: tuple[ErrorPart, ...] = ()
    more: tuple[tuple[int, str], ...] = ()
    margin: str = ""
    unmasked: int | None = None
    sensitivity: tuple[str, str] | None = None
    of: str | None = None  # the option whose share it is
    among: str = ""
    top: float | None = None
    together: str | None = None


@dataclass(frozen=True, slots=True)
class MeanView:
    """The mean of everybody, then of each level."""

    axis: Axis
    rows: tuple[Row, ...]

    @property
    def everybody(self) -> Row:
        """The line of everybody."""
        return self.rows[0]


@dataclass(frozen=True, slots=True)
class EstimatorView:
    """A question by one estimator."""

    estimator: str
    axis: Axis
    bars: list[Row]
    answered: list[Row]  # of those who answered, where some did not
    mean: MeanView | None
    top: Row | None
    headline: str
    instead: str  # the interval, where it stands for the estimate
    sure: Certainty | None
    note: str = ""

    @property
    def among(self) -> str:
        """The group that the headline's shares are of, where it is not everybody."""
        return "of those who answered" if self.answered else ""


@dataclass(frozen=True, slots=True)
class OptionLevels:
    """An option with its share at every level that is shown."""

    label: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as a page shows it."""

    id: str
    text: str
    short: str
    kind: str
    n: int
    differ: float | None
    doubt: str | None
    narrower: str
    views: list[EstimatorView]
    by_level: list[OptionLevels]
    levels: Mapping[str, int | None]
    quartiles: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class CrossView:
    """A table of two questions that were counted together, row by row."""

    id: int
    first: str
    second: str
    columns: Sequence[str]
    rows: list[tuple[str, list[Row]]]


@dataclass(frozen=True, slots=True)
class RankingGroup:
    """The items that pairs link, best first."""

    axis: Axis
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result as its pages show it."""

    result: SurveyResult
    description: str
    in_clear: bool
    few: bool
    estimators: list[EstimatorChoice]
    questions: list[QuestionView]
    cross: list[CrossView]
    ranking: list[RankingGroup]
    methods: str
    bibtex: str

    @property
    def split(self) -> bool:
        """Whether two parties added up the answers."""
        return self.result.split

    @property
    def differing(self) -> list[str]:
        """Questions that levels answer differently."""
        from masquerade.results.methods import quoted

        return [quoted(one.short) for one in self.questions if one.differ is not None]

    @property
    def doubtful(self) -> list[str]:
        """Questions with reports that honest devices do not send."""
        from masquerade.results.methods import quoted

        return [quoted(one.short) for one in self.questions if one.doubt]


def result_view(survey: Survey, result: SurveyResult) -> ResultView:
    """Return the contents of a page of results for a `ResultCache.result`."""
    from masquerade.results import bibliography, methods_text

    by_id = {question.id: question for question in survey.questions}
    estimators = _estimators(result)
    return ResultView(
        result=result,
        description=survey.description,
        in_clear=any(level.name == CLEAR for level in result.levels),
        few=0 < result.responses < FEW,
        estimators=estimators,
        questions=[_question(by_id[one.id], one, result, estimators) for one in result.questions],
        cross=_cross_tables(survey, result),
        ranking=_ranking(result.ranking),
        methods=methods_text(result),
        bibtex=bibliography(result),
    )


def _estimators(result: SurveyResult) -> list[EstimatorChoice]:
    def choice(name: str, words: tuple[str, str]) -> EstimatorChoice:
        return EstimatorChoice(name, *words, headline=name == result.estimator)

    if result.split:
        return [choice(result.estimator, _SUMS)]
    if result.labels:  # a labelling task has many items, and its labels are what counts
        return [choice(result.estimator, ESTIMATOR_WORDS[result.estimator])]
    if len(result.levels) == 1:
        found = [choice(result.estimator, _ONE_LEVEL)]
    else:
        rest = [name for name in ESTIMATOR_WORDS if name not in (LIKELIEST, result.estimator)]
        found = [choice(name, ESTIMATOR_WORDS[name]) for name in (result.estimator, *rest)]
    if any(question.options for question in result.questions):
        found.append(choice(LIKELIEST, ESTIMATOR_WORDS[LIKELIEST]))
    return found


def _question(
    question: Question,
    found: QuestionResult,
    result: SurveyResult,
    estimators: Sequence[EstimatorChoice],
) -> QuestionView:
    parts = question.parts_of_whole
    shares = Figures(True, Axis(0, 1, percent=True), _share_digits(found.options), parts=parts)
    mean = _of_mean(question, found)
    tests = [found.heterogeneity, found.mean and found.mean.heterogeneity]
    differ = [test.probability for test in tests if test and test.differ]
    return QuestionView(
        id=found.id,
        text=found.text,
        short=question.short_text,
        kind=found.kind,
        n=found.n,
        differ=min(differ, default=None),
        doubt=found.plausibility.reason,
        narrower=_narrower(found),
        views=[_view(one.name, found, result, shares, mean) for one in estimators],
        by_level=_levels_of_options(found, shares),
        levels=found.n_by_level,
        quartiles=_quartiles(found, mean),
    )


def _quartiles(found: QuestionResult, figures: Figures | None) -> list[tuple[str, str, str]]:
    """Return name, value and interval of each quartile, where sums of two parties have them."""
    if figures is None:
        return []
    names = ("First quartile", "Median", "Third quartile")
    return [
        (name, figures.text(one.value), figures.between(one.low, one.high))
        for name, one in zip(names, found.quartiles or (), strict=False)
        if one.value is not None
    ]


def _view(
    estimator: str,
    found: QuestionResult,
    result: SurveyResult,
    shares: Figures,
    mean: Figures | None,
) -> EstimatorView:
    """Return a question by one estimator."""
    from masquerade.results.headline import FEW as FEW_RESPONSES
    from masquerade.results.headline import FEWEST_FOR_HEADLINE, headline_kind

    own = estimator == result.estimator
    # The likeliest shares have no interval, so errors are taken from the headline's estimator.
    used = result.estimator if estimator == LIKELIEST else estimator
    figures = [_figure(option, estimator) for option in found.options]
    bars = [
        replace(
            row,
            reported=option.reported_share,
            known=option.known_share,
            top=option.top_probability if own else None,
        )
        for row, option in zip(
            shares.rows([(o.label, f) for o, f in zip(found.options, figures, strict=True)]),
            found.options,
            strict=True,
        )
    ]
    answered = _of_answered(found, shares)
    among = [option.of_answered for option in found.options if option.of_answered]
    # By the unbiased values, so that ties at 0 hide no order; of those who answered, and of nobody
    # where noise leaves none.
    order = [one.value or 0.0 for one in (among[: len(answered)] if among else figures)]
    best = max(range(len(order)), key=order.__getitem__, default=None)
    kind, instead, sure, note = (
        FEW_RESPONSES if found.n < FEWEST_FOR_HEADLINE else "nothing",
        *("", None, ""),
    )
    if mean is not None and found.mean is not None:
        figure = found.mean.estimators[used]
        kind = headline_kind(figure, found.n, width=mean.axis.high - mean.axis.low)
        instead = mean.between(figure.low, figure.high, "and")
        sure = _certainty(mean, figure, found.mean.sensitivity, found, result, used)
        if estimator == LIKELIEST:
            title = _estimators(result)[0].title
            note = f"A mean has no likeliest shares; the one above is by “{title}”."
    elif best is not None and estimator != LIKELIEST:
        option = found.options[best]
        figure = among[best] if answered else figures[best]
        kind = headline_kind(figure, found.n, width=1)
        instead = shares.between(figure.low, figure.high, "and")
        ends = option.simultaneous_low, option.simultaneous_high
        sure = replace(
            _certainty(shares, figure, option.sensitivity, found, result, used),
            of=option.label,
            among="of those who answered" if answered else "",
            top=option.top_probability if own else None,
            together=shares.between(*ends) if own else None,
        )
    return EstimatorView(
        estimator=estimator,
        axis=shares.axis,
        bars=bars,
        answered=answered,
        mean=_mean_view(found, mean, used),
        top=None if best is None else (answered or bars)[best],
        headline=kind,
        instead=instead,
        sure=sure,
        note=note,
    )


def _figure(option: OptionFigures, estimator: str) -> Figure:
    from masquerade.results import Figure

    if estimator != LIKELIEST:
        return option.estimators[estimator]
    share = option.likeliest_share
    return Figure(share, share, None, None, None, None, None, None)


def _mean_view(found: QuestionResult, figures: Figures | None, estimator: str) -> MeanView | None:
    if figures is None or found.mean is None:
        return None
    everybody = figures.row("Everybody", found.mean.estimators[estimator])
    apart = (
        replace(figures.row(level.level, level.mean), people_there=level.n)
        for level in found.by_level
        if level.mean
    )
    known = found.mean.known_mean
    return MeanView(figures.axis, (replace(everybody, known=known, whole=True), *apart))


def _certainty(
    figures: Figures,
    figure: Figure,
    wider: Figure,
    found: QuestionResult,
    result: SurveyResult,
    estimator: str,
) -> Certainty:
    """Return the sources of a figure's error and the ways to reduce it."""
    from masquerade.results import outlook

    sure = Certainty(
        interval=figures.between(figure.low, figure.high),
        forecast=figures.spread(found.forecast_standard_error),
        error=figures.spread(figure.standard_error),
    )
    if estimator == "eb" and len(found.n_by_level) > 1:
        ends = figures.between(wider.low, wider.high)
        sure = replace(sure, sensitivity=(figures.text(wider.shown), ends))
    outcome = outlook(figure, found.n, confidence=result.confidence)
    if outcome is None or figure.errors is None:
        return sure
    words = (
        ("People", "who happened to answer"),
        ("Noise", "what both parties added to the sums")
        if result.split
        else ("Masks", "how the masks happened to fall"),
        ("Levels", "what is not known of how levels differ"),
    )
    return replace(
        sure,
        errors=tuple(
            ErrorPart(*word, figures.spread(error), part)
            for word, error, part in zip(words, figure.errors, outcome.parts.values(), strict=True)
            # Less than 0.05 % would be shown as 0.0 %.
            if part >= 0.0005
        ),
        more=tuple((people, figures.spread(margin)) for people, margin in outcome.more),
        margin=figures.spread(outcome.margin),
        unmasked=outcome.unmasked,
    )


def _of_answered(found: QuestionResult, shares: Figures) -> list[Row]:
    """Return each answer with its share among actual answers, where some people skipped."""
    some = [
        (option, option.of_answered) for option in found.options if option.of_answered is not None
    ]
    # Noise can leave nobody who seems to have answered: then there is no share of them.
    if any(figure.shown is None for _, figure in some):
        return []
    rows = shares.rows([(option.label, figure) for option, figure in some])
    return [
        replace(row, top=option.top_probability)
        for row, (option, _) in zip(rows, some, strict=True)
    ]


def _cross_tables(survey: Survey, result: SurveyResult) -> list[CrossView]:
    """Return the tables of questions that were counted together, row by row."""
    figures = Figures(True, Axis(0, 1, percent=True), 0, parts=False)
    texts = {question.id: question.text for question in survey.questions}
    tables = []
    for place, table in enumerate(result.cross_tables or ()):
        first, second = table.questions
        columns = survey.encoding.symbols(second)
        cells = [figures.row(cell.label, cell.share) for cell in table.cells]
        rows = [cells[start : start + len(columns)] for start in range(0, len(cells), len(columns))]
        names = survey.encoding.symbols(first)
        tables.append(
            CrossView(
                place, texts[first], texts[second], columns, list(zip(names, rows, strict=True))
            )
        )
    return tables


def _levels_of_options(found: QuestionResult, shares: Figures) -> list[OptionLevels]:
    """Return each answer with its share at every level that is shown."""
    apart = [level for level in found.by_level if level.options]
    # Within a level the answers' percentages add to 100.
    columns = [
        [
            replace(row, people_there=level.n)
            for row in shares.rows([(level.level, option.share) for option in level.options])
        ]
        for level in apart
    ]
    return [
        OptionLevels(option.label, [column[index] for column in columns])
        for index, option in enumerate(found.options)
        if apart
    ]


def _narrower(found: QuestionResult) -> str:
    """Return the number of people that narrows an interval to a quarter of the range, in words."""
    needed = found.precision
    masked = {name: people for name, people in needed.by_level.items() if name != CLEAR}
    best = min(masked, key=masked.__getitem__, default=None)
    if needed.people is not None:
        words = f"About {needed.people:,} people would bring it to a quarter of the range"
        if best is not None and len(masked) > 1:
            words += f"; if all of them were at level “{best}”, {masked[best]:,} would do"
    else:
        words = "More people alone would not bring it to a quarter of the range"
        if best is not None and len(masked) > 1:
            words += f"; {masked[best]:,} people who are all at level “{best}” would"
    return f"{words}."


def _of_mean(question: Question, found: QuestionResult) -> Figures | None:
    if found.mean is None or found.mean.mean.value is None:
        return None
    if question.lattice is None:
        return None
    low, high = float(question.lattice.low), float(question.lattice.high)
    digits = 2 if high - low <= 20 else 1 if high - low <= 1000 else 0
    return Figures(False, Axis(low, high), digits, found.unit)


def _share_digits(options: Sequence[OptionFigures]) -> int:
    """Return as many digits as the widest interval leaves a meaning to."""
    # Half a percentage point: with a larger error a decimal would be noise.
    return 0 if any((option.share.standard_error or 1) > 0.005 for option in options) else 1


def _ranking(rows: Sequence[ItemStrength]) -> list[RankingGroup]:
    """Return the items of each group that pairs link, best first, on one axis for all."""
    from masquerade.results import Figure

    # One axis for all groups, so that bars of two groups can be compared in length.
    axis = Axis.around(end for row in rows for end in (row.low, row.high))
    figures = Figures(False, axis, 2)
    groups: dict[int, list[Row]] = {}
    for row in rows:
        numbers = (row.strength, row.strength, row.low, row.high, row.standard_error)
        figure = Figure(*numbers, None, None, None)
        groups.setdefault(row.group, []).append(figures.row(row.item, figure))
    return [RankingGroup(axis, group) for group in groups.values()]
