"""A result as its pages show it: each question by each estimator, in figures and on an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from masquerade.accounting import Published, published_loss
from masquerade.accounting.words import losses_of_guarantee, page_in_words
from masquerade.mechanisms import parse_mechanism
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.results.figures import Axis, Figures, Row
from masquerade.server.results.leaderboards import LeaderboardView, voted_view
from masquerade.surveys import Question
from masquerade.surveys.kinds import kinds
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from masquerade.results import Figure, QuestionResult, SurveyResult
    from masquerade.results.question_figures import ItemRank, OptionFigures
    from masquerade.results.typed_result import ItemStrength

#: People below which a page says that intervals are wide.
FEW = 30

#: How levels are put together, in one sentence.
LEVEL_WORDS = {
    "within": "We allow that people at no level differ from everybody by more than 15 points of "
    "100.",
    "own": "People at each level may answer in whatever way.",
    "alike": "People at all levels are taken to answer alike.",
}


@dataclass(frozen=True, slots=True)
class ErrorPart:
    """A source of an estimate's error, in words, with its share of the variance."""

    name: str
    says: str
    error: str
    part: float


@dataclass(frozen=True, slots=True)
class Certainty:
    """The sources of an estimate's error, and ways to make it smaller, in words."""

    interval: str
    forecast: str
    error: str
    errors: tuple[ErrorPart, ...] = ()
    more: tuple[tuple[int, str], ...] = ()
    margin: str = ""
    unmasked: int | None = None
    of: str | None = None  # the option whose share it is
    together: str | None = None


@dataclass(frozen=True, slots=True)
class MeanView:
    """The mean of everybody, then of each level; of a ranking that of each item."""

    axis: Axis
    rows: tuple[Row, ...]
    items: bool = False
    # Of a ranking: items, shares of first choices, and a model's strengths with their intervals, in
    # words; and whether a model says so.
    first_choices: tuple[tuple[str, str, str, str], ...] = ()
    by_model: bool = True

    @property
    def charted(self) -> tuple[Row, ...]:
        """The lines of the first chart."""
        return self.rows if self.items else self.rows[:1]

    @property
    def by_level(self) -> bool:
        """Whether levels have lines of their own."""
        return not self.items and len(self.rows) > 1

    @property
    def everybody(self) -> Row:
        """The line of everybody."""
        return self.rows[0]


@dataclass(frozen=True, slots=True)
class OptionLevels:
    """An option with its share at every level that is shown."""

    label: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class HeadlineView:
    """The statement that stands first, in words."""

    kind: str
    large: str
    small: str = ""


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
    headline: HeadlineView
    axis: Axis
    bars: list[Row]
    answered: list[Row]  # of those who answered, where some did not
    mean: MeanView | None
    sure: Certainty | None
    by_level: list[OptionLevels]
    levels: Mapping[str, int | None]
    quartiles: list[tuple[str, str, str]]

    @property
    def median(self) -> str:
        """The median in words, where it is known to be one of a few."""
        found = [row for row in self.quartiles if row[0] == "Median"]
        if not found or self.headline.kind == "few":
            return ""
        _, value, between = found[0]
        return (
            f"median {value}" if between.startswith(f"{value} to {value}") else f"median {between}"
        )


@dataclass(frozen=True, slots=True)
class CrossView:
    """A table of questions that were counted together: the last one's answers are its columns."""

    id: int
    title: str
    columns: Sequence[str]
    rows: list[tuple[str, list[Row]]]


@dataclass(frozen=True, slots=True)
class RankingGroup:
    """The items that pairs link, best first."""

    axis: Axis
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class ReaderView:
    """A reader's knowledge about one person of a level, in words and numbers."""

    level: str
    words: str
    epsilon: float | None
    alone: float | str


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result as its pages show it."""

    result: SurveyResult
    description: str
    in_clear: bool
    few: bool
    level_words: str
    questions: list[QuestionView]
    cross: list[CrossView]
    ranking: list[RankingGroup]
    leaderboards: list[tuple[str, LeaderboardView]]  # of each list, with its question
    methods: str
    bibtex: str
    reader: list[ReaderView]  # of each level whose people are counted apart

    @property
    def split(self) -> bool:
        """Whether two parties added up the answers."""
        return self.result.split

    @property
    def headings(self) -> list[str]:
        """Headings of the columns of a table beside estimate and interval."""
        from masquerade.results.columns import PAGE_COLUMNS

        masks = "noise" if self.split else "masks"
        return [one.heading.format(masks=masks) for one in PAGE_COLUMNS]

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
    """Return the content of a page of results, from `ResultCache.result`."""
    from masquerade.results import bibliography, methods_text

    by_id = {question.id: question for question in survey.questions}
    several = len(result.levels) > 1 and bool(result.questions)
    return ResultView(
        result=result,
        description=survey.description,
        in_clear=any(level.name == CLEAR for level in result.levels),
        few=0 < result.responses < FEW,
        level_words=LEVEL_WORDS[result.estimator] if several else "",
        # Votes on pairs of a list are in its leaderboard; which of two stood first says nothing.
        questions=[
            _question(by_id[one.id], one, result)
            for one in result.questions
            if not by_id[one.id].takes_pair
        ],
        cross=_cross_tables(survey, result),
        ranking=_ranking(result.ranking),
        leaderboards=[
            (
                one.text,
                voted_view(
                    one, summed=result.split, pictures=by_id[one.question].pictures_of_items
                ),
            )
            for one in result.leaderboards or ()
        ],
        methods=methods_text(result),
        bibtex=bibliography(result),
        reader=_reader(survey, result),
    )


def _reader(survey: Survey, result: SurveyResult) -> list[ReaderView]:
    """Return the page's words on one person, for pages that show each question by itself."""
    # Labels and votes are inferred from all answers of a person together.
    if result.split or not result.questions or result.labels or result.leaderboards:
        return []
    if len(result.questions) != len(survey.questions):  # weighted: some cannot be weighed
        return []
    found = []
    for level in survey.levels:
        counts = [question.n_by_level.get(level.name) for question in result.questions]
        if not any(counts):
            continue
        published = _published_by(level, [max(n or 1, 1) for n in counts])
        alone = losses_of_guarantee(level.guarantee())[1]
        found.append(
            ReaderView(
                level.name,
                page_in_words(published, alone),
                None if published is None else published.epsilon.epsilon,
                level.guarantee().epsilon_user.to_json(),
            )
        )
    return found


def _published_by(level: OfferedLevel, counts: Sequence[int]) -> Published | None:
    """Return the published loss of one person of a level, by the answers to each question."""
    masks = zip(level.mechanisms, counts, strict=True)
    return _published(tuple((str(mask), n) for mask, n in masks))


@lru_cache(maxsize=256)
def _published(counts: tuple[tuple[str, int], ...]) -> Published | None:
    masks = [(parse_mechanism(text).as_device, n) for text, n in counts]
    return published_loss([(mask, n) for mask, n in masks if mask is not None])


def _question(question: Question, found: QuestionResult, result: SurveyResult) -> QuestionView:
    shares = Figures(
        True,
        Axis(0, 1, percent=True),
        _share_digits(found.options),
        parts=question.parts_of_whole,
        split=result.split,
    )
    mean = _of_mean(question, found, split=result.split)
    test = found.heterogeneity
    bars = [
        replace(row, reported=option.reported_share, known=option.known_share)
        for row, option in zip(
            shares.rows([(option.label, option.share) for option in found.options]),
            found.options,
            strict=True,
        )
    ]
    return QuestionView(
        id=found.id,
        text=found.text,
        short=question.short_text,
        kind=found.kind,
        n=found.n,
        differ=test.probability if test is not None and test.differ else None,
        doubt=found.plausibility.reason,
        narrower=_narrower(found),
        headline=_headline(found, mean or shares),
        axis=shares.axis,
        bars=bars,
        answered=_of_answered(found, shares),
        mean=_mean_view(found, mean),
        sure=_sure(found, result, shares, mean),
        by_level=_levels_of_options(found, shares),
        levels=found.n_by_level,
        quartiles=_quartiles(found, mean),
    )


def _headline(found: QuestionResult, figures: Figures) -> HeadlineView:
    """Return the headline: the mean, the option that is ahead, or those that may be."""
    from masquerade.results.headline import LEVEL, NOTHING, SEVERAL, sentence

    said = found.headline
    between = figures.between(said.low, said.high, "and")
    point = "" if said.shown is None else figures.text(said.shown)
    if said.kind in (SEVERAL, LEVEL, NOTHING):
        large, _, small = sentence(found).partition("; ")
        return HeadlineView(said.kind, large, small)
    if said.kind == "few":
        return HeadlineView(said.kind, "too few responses")
    if found.ranks is not None:
        rank = f"{point}, between {between}" if point else f"between {between}"
        small = f"95 % sure of the order; mean rank {rank}"
        return HeadlineView(said.kind, f"{said.option} is ranked best", small)
    if said.option is None:
        called = kinds()[found.kind].mean_name
        if point:
            return HeadlineView(said.kind, point, f"{called}, between {between}")
        return HeadlineView(said.kind, f"between {between}", called)
    among = " of those who answered" if found.asked_of_some else ""
    share = f"{point}{among}, between {between}" if point else f"between {between}{among}"
    small = f"95 % sure of the order; {share}"
    return HeadlineView(said.kind, f"{said.option} is ahead", small)


def _quartiles(found: QuestionResult, figures: Figures | None) -> list[tuple[str, str, str]]:
    """Return name, value and interval of each quartile, where there are any."""
    if figures is None:
        return []
    names = ("First quartile", "Median", "Third quartile")
    ends = [x for one in found.quartiles or () for x in (one.value, one.low, one.high)]
    if all(x.is_integer() for x in map(_float, ends)):
        figures = replace(figures, digits=0)
    return [
        (name, figures.text(one.value), figures.between(one.low, one.high))
        for name, one in zip(names, found.quartiles or (), strict=False)
        if one.value is not None
    ]


def _float(value: float | None) -> float:
    return 0.5 if value is None else float(value)


def _strength(rank: ItemRank) -> tuple[str, str]:
    """Return the strength of an item with its interval, in words; empty where it has none."""
    said = rank.strength
    if said is None or said.value is None or said.low is None or said.high is None:
        return "", ""
    point, low, high = (f"{x:+.2f}".replace("-", "−") for x in (said.value, said.low, said.high))
    return point if said.shown is not None else "–", f"{low} to {high}"


def _whole_percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _mean_view(found: QuestionResult, figures: Figures | None) -> MeanView | None:
    if figures is not None and found.ranks is not None:
        rows = tuple(figures.row(one.item, one.mean) for one in found.ranks)
        first = tuple(
            (one.item, _whole_percent(one.first_choice), *_strength(one)) for one in found.ranks
        )
        by_model = any(one.by_model for one in found.ranks)
        return MeanView(figures.axis, rows, items=True, first_choices=first, by_model=by_model)
    if figures is None or found.mean is None:
        return None
    everybody = figures.row("Everybody", found.mean.mean)
    apart = (
        replace(figures.row(level.level, level.mean), people_there=level.n)
        for level in found.by_level
        if level.mean
    )
    known = found.mean.known_mean
    return MeanView(figures.axis, (replace(everybody, known=known, whole=True), *apart))


def _sure(
    found: QuestionResult, result: SurveyResult, shares: Figures, mean: Figures | None
) -> Certainty | None:
    """Return the sources of the error of a question's first figure."""
    if mean is not None and found.mean is not None:
        return _certainty(mean, found.mean.mean, found, result)
    options = [(one.of_answered or one.share, one) for one in found.options]
    known = [(one.value, one, option) for one, option in options if one.value is not None]
    if not known:
        return None
    _, figure, option = max(known, key=lambda row: row[0])
    sure = replace(_certainty(shares, figure, found, result), of=option.label)
    if option.of_answered is not None:  # the intervals at once are of all people asked
        return sure
    return replace(sure, together=shares.between(option.simultaneous_low, option.simultaneous_high))


def _certainty(
    figures: Figures, figure: Figure, found: QuestionResult, result: SurveyResult
) -> Certainty:
    """Return the sources of an error, and the means that would make it smaller."""
    from masquerade.results import outlook

    sure = Certainty(
        interval=figures.between(figure.low, figure.high),
        forecast=figures.spread(found.forecast_standard_error),
        error=figures.spread(figure.standard_error),
    )
    outcome = outlook(figure, found.n, confidence=result.confidence)
    if outcome is None or figure.errors is None:
        return sure
    alike = _spread_alike(figures, figure, outcome.margin)
    words = (
        ("People", "who happened to answer"),
        ("Noise", "what both parties added to the sums")
        if result.split
        else ("Masks", "how the masks happened to fall"),
    )
    return replace(
        sure,
        errors=tuple(
            ErrorPart(*word, figures.spread(error), part)
            for word, error, part in zip(words, figure.errors, outcome.parts.values(), strict=True)
            # Less than 0.05 % would be shown as 0.0 %.
            if part >= 0.0005
        ),
        more=tuple((people, figures.spread(margin)) for people, margin in outcome.more if alike),
        margin=figures.spread(outcome.margin) if alike else "",
        unmasked=outcome.unmasked if alike else None,
    )


def _spread_alike(figures: Figures, figure: Figure, margin: float) -> bool:
    """Whether an interval reaches about as far as the standard error of its point says.

    A point weighs all people alike, an interval uses most of those whose reports say most. With
    answers in clear beside masked ones it is far shorter than the point's error, which then says
    nothing of it, nor of what more people would bring. Ends of the range hide how far it reaches.
    """
    value, low, high = figure.value, figure.low, figure.high
    if value is None or low is None or high is None:
        return False
    reaches = [value - low] if low > figures.axis.low else []
    reaches += [high - value] if high < figures.axis.high else []
    return not reaches or margin < 1.5 * max(reaches)


def _of_answered(found: QuestionResult, shares: Figures) -> list[Row]:
    """Return each answer with its share among respondents, where some people did not answer."""
    some = [(one.label, one.of_answered) for one in found.options if one.of_answered is not None]
    # Noise can leave nobody who seems to have answered: then there is no share of them.
    return [] if any(figure.value is None for _, figure in some) else shares.rows(some)


def _cross_tables(survey: Survey, result: SurveyResult) -> list[CrossView]:
    """Return the tables of questions that were counted together, row by row."""
    figures = Figures(True, Axis(0, 1, percent=True), 0, parts=False)
    texts = {question.id: question.text for question in survey.questions}
    tables = []
    for place, table in enumerate(result.cross_tables or ()):
        *others, last = table.questions
        columns = survey.encoding.symbols(last)
        cells = [figures.row(cell.label, cell.share) for cell in table.cells]
        rows = [cells[start : start + len(columns)] for start in range(0, len(cells), len(columns))]
        names = survey.encoding.cells(tuple(others))
        title = " × ".join(texts[one] for one in table.questions)
        tables.append(CrossView(place, title, columns, list(zip(names, rows, strict=True))))
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
    """Return in words the ways to make a wide interval a quarter of the range."""
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


def _of_mean(question: Question, found: QuestionResult, *, split: bool) -> Figures | None:
    ranked = found.ranks is not None
    if not ranked and (found.mean is None or found.mean.mean.value is None):
        return None
    if question.span is None:
        return None
    low, high = question.span
    digits = 2 if high - low <= 20 else 1 if high - low <= 1000 else 0
    return Figures(False, Axis(low, high), digits, found.unit, split=split)


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
        figure = Figure(*numbers, None, None)
        groups.setdefault(row.group, []).append(figures.row(row.item, figure))
    return [RankingGroup(axis, group) for group in groups.values()]
