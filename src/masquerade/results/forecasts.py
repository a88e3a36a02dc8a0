"""The interval of a question's headline, expected before anybody answers.

Reports are expected of answers as they may be: of the option that is ahead, half of the people have
it, which is the worst case without a mask; ratings and numbers spread by a quarter of their range.
The interval is then that of the result itself, by the same core: of the mean, or of the option that
is ahead, which holds for all options at once, and of those who are asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.errors import ParameterError
from masquerade.estimation import (
    Counts,
    Crowd,
    Figures,
    Levelled,
    Numbers,
    Ranks,
    Subsets,
    Table,
)
from masquerade.estimation.expected import (
    expected_counts,
    expected_figure,
    expected_levels,
    expected_numbers,
    expected_subsets,
    half_width,
    shares_around,
)
from masquerade.estimation.figures import CONFIDENCE
from masquerade.estimation.sums import SummedPeople
from masquerade.exact.arrays import Floats
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Orders, Scale, Sets
from masquerade.mechanisms.lattice import Lattice
from masquerade.preference.leaderboard_plan import LeaderboardPlan, vote_noise_of
from masquerade.results.question_reports import BOUNDS, QuestionReports, levels_of
from masquerade.results.sum_reports import summed_reports
from masquerade.surveys import Question
from masquerade.surveys.linked_questions import shown_share
from masquerade.surveys.question_encoding import Counts as CountedAnswers
from masquerade.surveys.question_encoding import NoisySums, Ranked, Total
from masquerade.surveys.survey import DEFAULT_ESTIMATOR, Survey

MEAN, SHARE = "mean", "share"

#: Share of votes that say no difference, where a list has that answer.
EXPECTED_TIES = 0.3
_TWO = ("first", "second")
_MOST_PEOPLE = 2**40


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected precision of a question's headline.

    Attributes
    ----------
    kind : str
        ``"mean"`` of ratings and numbers, ``"share"`` of an option.
    margin : float
        Half the interval that the headline will have, in the question's own unit; of a share, 0.05
        is five points of a percentage.
    standard_error : float
    mask_variance : float
        Of the masks on one report, in squared widths of the range.
    ranks : (float, int) or None
        Of a list on whose pairs people vote: how many ranks the interval of an item's rank is
        expected to span on average, and of how many items.
    """

    kind: str
    margin: float
    standard_error: float
    mask_variance: float = 0.0
    ranks: tuple[float, int] | None = None


def forecast(
    survey: Survey, place: int, people: Mapping[str, int], *, answering: float | None = None
) -> Forecast:
    """Return the expected precision of a question's headline.

    Parameters
    ----------
    survey : Survey
    place : int
        Of the question.
    people : mapping of str to int
        How many people there are at each level.
    answering : float, optional
        Share of them who answer the question; by default those whom a condition lets see it, if all
        answers to the earlier question are equally frequent.

    Returns
    -------
    Forecast
        With NaN where nobody is asked.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> round(forecast(survey, 0, {"medium": 400}).margin, 3)
    0.173
    """
    question = survey.questions[place]
    if question.votes_asked and survey.two_parties is not None:
        return _summed_votes_forecast(survey, question, sum(people.values()))
    if question.votes_asked:
        masks = {level.name: level.mechanisms[place] for level in survey.levels}
        return _votes_forecast(question, masks, people)
    part = asked_share(survey, place) if answering is None else answering
    if survey.two_parties is not None:
        return _split_forecast(survey, place, sum(people.values()), part)
    masks = {level.name: level.mechanisms[place] for level in survey.levels}
    if survey.draw is not None:
        share = survey.draw.share
        people = {name: math.floor(share * count) for name, count in people.items()}
    return masked_forecast(question, masks, people, estimator=survey.estimator, answering=part)


def _votes_forecast(
    question: Question, masks: Mapping[str, DeviceMechanism], people: Mapping[str, int]
) -> Forecast:
    """Return the expected precision of a list on whose pairs people vote.

    It is that of how many of 100 people prefer one of two items that are alike to the other: half
    the interval of the difference of their strengths, as a share.
    """
    ties = EXPECTED_TIES if len(question.labels) > len(_TWO) else 0.0
    noise, voters = 0.0, 0
    for name, count in people.items():
        response = masks[name].label_response
        if count < 1 or response is None:
            continue
        signal, other = float(response.signal), float(response.other_probability)
        told = other + signal * ties if ties else 0.0
        noise, voters = noise + count * vote_noise_of(signal, told, ties), voters + count
    if not voters:
        return Forecast(SHARE, math.nan, math.nan)
    return _list_forecast(question, voters * question.votes_asked, noise / voters)


def _summed_votes_forecast(survey: Survey, question: Question, people: int) -> Forecast:
    """Return the expected precision of a list whose votes two parties add up."""
    if people < 1:
        return Forecast(SHARE, math.nan, math.nan)
    votes = people * question.votes_asked
    own = survey.encoding.place(question.id)
    # A score is half of wins less losses, each with the noise of both parties.
    noise = float(survey.split_noise.published_variance(own)) / 2
    return _list_forecast(question, votes, noise * len(question.listed) / (2 * votes))


def _list_forecast(question: Question, votes: int, vote_noise: float) -> Forecast:
    ties = EXPECTED_TIES if len(question.labels) > len(_TWO) else 0.0
    each = question.votes_asked
    plan = LeaderboardPlan(len(question.listed), votes_each=each, ties=ties, vote_noise=vote_noise)
    margin = plan.margin(votes, confidence=CONFIDENCE)
    # Of two items alike, a difference d of strengths is a share of 1 / (1 + exp(-d)).
    error = math.sqrt(2) * plan.error(votes) / 4
    ranks = (plan.rank_width(votes), plan.items)
    return Forecast(SHARE, math.tanh(margin / 2) / 2, error, ranks=ranks)


def masked_forecast(
    question: Question,
    masks: Mapping[str, DeviceMechanism],
    people: Mapping[str, int],
    *,
    estimator: str = DEFAULT_ESTIMATOR,
    answering: float = 1.0,
) -> Forecast:
    """Return the expected precision of a question that is masked at each level by a mechanism."""
    groups = tuple((masks[name], count) for name, count in people.items() if count > 0)
    return _masked_forecast(_Shape.of(question), groups, BOUNDS[estimator], answering)


def mask_variance(question: Question, mask: DeviceMechanism) -> float:
    """Return the variance of the mask on one report to a question, in squared widths."""
    return masked_forecast(question, {"": mask}, {"": 1000}).mask_variance


def people_for(
    question: Question, mask: DeviceMechanism, margin: float, *, answering: float = 1.0
) -> int:
    """Return how many people with one mask give a headline's interval of plus or minus `margin`.

    `margin` is in widths of the range; `answering` is the share of people who answer.
    """
    return _masked_people_for(_Shape.of(question), mask, margin, answering)


@dataclass(frozen=True, slots=True)
class _Shape:
    """All of a question that a forecast depends on, so that questions alike are computed once."""

    options: int
    scores: tuple[float, ...] | None
    lattice: Lattice | None
    span: tuple[float, float] | None
    spread: float

    @classmethod
    def of(cls, question: Question) -> _Shape:
        scores, lattice = question.scores, question.lattice
        return cls(len(question.labels), scores, lattice, question.span, question.expected_spread)

    @property
    def kind(self) -> str:
        return SHARE if self.scores is None and self.options and self.span is None else MEAN

    @property
    def width(self) -> float:
        return 1.0 if self.span is None else self.span[1] - self.span[0]


_Groups = tuple[tuple[DeviceMechanism, int], ...]


@lru_cache(maxsize=4096)
def _masked_forecast(shape: _Shape, groups: _Groups, bound: float, answering: float) -> Forecast:
    if not groups:
        return Forecast(shape.kind, math.nan, math.nan)
    figures, confidence = _masked_figures(shape, groups, bound, answering)
    n = sum(count for _, count in groups)
    mask = float(figures.masks[0]) * n / shape.width**2
    return Forecast(shape.kind, half_width(figures, confidence), _standard_error(figures), mask)


@lru_cache(maxsize=4096)
def _masked_people_for(
    shape: _Shape, mask: DeviceMechanism, margin: float, answering: float
) -> int:
    def half(people: int) -> float:
        return _masked_forecast(shape, ((mask, people),), 0.0, answering).margin / shape.width

    return least_people(half, margin)


def split_people_for(survey: Survey, place: int, margin: float, *, answering: float) -> int:
    """Return how many people bring the interval of a question of two parties to a margin."""
    width = range_width(survey.questions[place])

    def half(people: int) -> float:
        return _split_forecast(survey, place, people, answering).margin / width

    return least_people(half, margin)


def range_width(question: Question) -> float:
    """Return the width of the range of a question's headline: 1 for a share."""
    return _Shape.of(question).width


def range_of(question: Question, kind: str) -> tuple[float, float]:
    """Return the ends of the range of a question's headline: 0 and 1 for a share."""
    return (0.0, 1.0) if kind != MEAN or question.span is None else question.span


def asked_share(survey: Survey, place: int) -> float:
    """Return the share of people who see a question if earlier answers are equally frequent."""
    return shown_share(survey.questions, survey.conditions, place)


def answering_share(reports: QuestionReports) -> float:
    """Return the share of respondents, for forecasts: hundredths, at least one."""
    return min(max(round(reports.answering(), 2), 0.01), 1.0)


def headline_figures(reports: QuestionReports, options: int) -> tuple[Figures, float]:
    """Return the figure of a headline and its confidence: a mean, or the first of the options."""
    mean = reports.mean_figures()
    if mean is not None:
        return mean, CONFIDENCE
    return reports.share_figures(0), together(options)


def together(options: int) -> float:
    """Return the confidence of each interval of options that all hold at once (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / options


def _masked_figures(
    shape: _Shape, groups: _Groups, bound: float, answering: float
) -> tuple[Figures, float]:
    domains, options = {type(mask.domain) for mask, _ in groups}, shape.options
    if Orders in domains:
        return _ranks(groups, bound, answering), CONFIDENCE
    if Sets in domains:
        return _ticks(groups, options, bound, answering), together(options)
    if Scale in domains or not options:
        return _numbers(shape, groups, bound, answering), CONFIDENCE
    expected: list[Counts | Subsets] = []
    for mask, count in groups:
        subsets = mask.as_subsets
        response = subsets or mask.label_response
        if response is None or float(response.signal) <= 0:
            raise ParameterError(f"reports of {mask} say nothing; no number is enough.")
        held = np.zeros(response.symbols)
        held[:options] = answering * _held(shape.scores, options, shape.spread)
        held[options:] = (1 - answering) / max(response.symbols - options, 1)
        held /= held.sum()
        if subsets is not None:
            expected.append(expected_subsets(count, held, subsets))
        elif mask.label_response is not None:
            expected.append(expected_counts(count, held, mask.label_response))
    crowd = Crowd.of(expected, bound=bound)
    scores = shape.scores
    low, high = (0.0, 1.0) if scores is None else (min(scores), max(scores))
    score, whole = np.zeros(crowd.symbols), np.zeros(crowd.symbols)
    counted = options if scores is None else len(scores)
    score[:counted], whole[:counted] = np.eye(1, options) if scores is None else scores, 1.0
    among = None if crowd.symbols == counted else whole
    found = expected_figure(crowd, score, among, low=low, high=high)
    return found, together(options) if scores is None else CONFIDENCE


def _held(scores: tuple[float, ...] | None, options: int, spread: float) -> Floats:
    """Return expected shares of answers: around the middle of scores, or half for the first."""
    if scores is not None:
        low, high = min(scores), max(scores)
        # Labels without a score, such as "don't know", are expected of nobody.
        held = np.zeros(options)
        held[: len(scores)] = shares_around(list(scores), (low + high) / 2, spread * (high - low))
        return held
    held = np.full(options, 0.5 / max(options - 1, 1))
    held[0] = 0.5
    return held


def _ticks(groups: _Groups, options: int, bound: float, answering: float) -> Figures:
    counts, pairs, bits = [], [], 0
    for mask, count in groups:
        several = mask.as_sets
        assert several is not None
        ticked = 0.5 * answering
        bit, bits = several.bit, several.bits
        counts.append(expected_counts(count, [1 - ticked, ticked], bit))
        other, signal = float(bit.other_probability), float(bit.signal)
        # cells: neither, "no answer", ticked, both, which cannot be
        held = np.array([[answering - ticked, 1 - answering], [ticked, 0.0]])
        channel = np.full((2, 2), other) + signal * np.eye(2)
        pairs.append(Table.of(count * channel @ held @ channel.T, bit, bit))
    if bits == options:
        return expected_figure(Crowd.of(counts, bound=bound), [0.0, 1.0])
    return expected_figure(Crowd.of(pairs, bound=bound), [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0])


def _ranks(groups: _Groups, bound: float, answering: float) -> Figures:
    """Return the mean rank of an item where people rank in every way."""
    expected = []
    for mask, count in groups:
        orders = mask.as_orders
        assert orders is not None
        # Whatever people rank, on average over items reports are spread as if all were alike.
        sets, symbols = orders.sets, orders.symbols
        said = np.full(symbols, answering / orders.orders)
        if orders.null:
            said[-1] = 1 - answering
        law = float(orders.response.other_probability) + float(orders.response.signal) * said
        every = np.arange(sets * symbols)
        expected.append(Ranks.of(every, count * np.tile(law, sets) / sets, orders))
    crowd = Crowd.of(expected, bound=bound)
    items = crowd.symbols - 1
    score, whole = np.eye(1, items + 1)[0], np.eye(items + 1)[-1]
    return expected_figure(crowd, score, whole, low=1.0, high=float(items))


def _numbers(shape: _Shape, groups: _Groups, bound: float, answering: float) -> Figures:
    lattice = shape.lattice
    assert lattice is not None
    low, high = float(lattice.low), float(lattice.high)
    expected: list[Numbers | Levelled] = []
    for mask, count in groups:
        values, response = levels_of(mask, lattice)
        if response is None:
            expected.append(expected_numbers(count, low, high, mask.as_gaussian))
        else:
            expected.append(expected_levels(count, values, response, answering=answering))
    crowd = Crowd.of(expected, bound=bound)
    if crowd.symbols == 1:
        return expected_figure(crowd, [1.0])
    return expected_figure(crowd, [1.0, 0.0], [0.0, 1.0], low=low, high=high)


def _split_forecast(survey: Survey, place: int, people: int, answering: float) -> Forecast:
    """Return the expected precision of a question between two parties."""
    question = survey.questions[place]
    encoding = survey.encoding.of(question.id)
    variances = survey.split_noise.variances
    variance = float(2 * variances[survey.encoding.place(question.id)])
    if people < 1:
        return Forecast(_Shape.of(question).kind, math.nan, math.nan)
    others = len(encoding.without)
    answering = answering if others else 1.0
    rest = [people * (1 - answering) / max(others, 1)] * others
    values: Sequence[float]
    states = None
    options = encoding.answers
    if isinstance(encoding, Total):
        values = [people * (encoding.lattice.points - 1) / 2]
    elif isinstance(encoding, CountedAnswers):
        held = _held(encoding.scores, options, question.expected_spread)
        values = [*(people * answering * held), *rest]
    elif isinstance(encoding, Ranked):
        items = len(encoding.items)
        first = 2 * (items - 1) * people * answering / items
        values = [*([first] * items), *([0.0] * items)]
        states = _state_sums(survey, question, people * answering, rest, variances)
    else:
        options = len(encoding.counted)
        values = [people * answering / 2] * options
        states = _state_sums(survey, question, people * answering, rest, variances)
    reports = summed_reports(encoding, NoisySums(values, variance), states, SummedPeople(people))
    figures, confidence = headline_figures(reports, options)
    if isinstance(encoding, Ranked):
        figures, confidence = reports.share_figures(0), CONFIDENCE
    return Forecast(
        _Shape.of(question).kind, half_width(figures, confidence), _standard_error(figures)
    )


def _state_sums(
    survey: Survey,
    question: Question,
    answered: float,
    rest: Sequence[float],
    variances: Sequence[Fraction],
) -> NoisySums | None:
    """Return the expected sums of the block that counts respondents; None without one."""
    states = list(survey.encoding.states)
    if question.id not in states:
        return None
    at = survey.encoding.states_from + states.index(question.id)
    return NoisySums([answered, *rest], float(2 * variances[at]))


def _standard_error(figures: Figures) -> float:
    return math.sqrt(float(figures.sampling[0] + figures.masks[0]))


def least_people(half: Callable[[int], float], margin: float) -> int:
    """Return about the least number of people for a margin, which falls with their root."""
    people = 100.0
    for _ in range(8):
        # an interval that the range cuts says nothing of the number
        found = half(max(round(people), 1))
        after = people * min(max((found / margin) ** 2, 1e-3), 1e3)
        if found >= 0.45:
            after = people * 16
        if after > _MOST_PEOPLE or abs(after / people - 1) < 1e-3:
            break
        people = after
    return math.ceil(people)
