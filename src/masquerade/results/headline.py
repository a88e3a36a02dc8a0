"""The headline of a question's result, and how many people would make it sharper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtri

from masquerade.estimation import Ahead
from masquerade.results.forecasts import together
from masquerade.results.question_figures import (
    FEWEST_FOR_HEADLINE,
    WIDEST_HEADLINE,
    Figure,
    Headline,
    QuestionResult,
)
from masquerade.results.question_reports import QuestionReports

FEW, NOTHING, INTERVAL, ESTIMATE = "few", "nothing", "interval", "estimate"
SEVERAL, LEVEL = "several", "level"

#: Most options that a headline names as those of which one is ahead.
MOST_CONTENDERS = 4


def headline(
    reports: QuestionReports,
    labels: Sequence[str],
    mean: Figure | None,
    found: Ahead | None,
    n: int,
    *,
    width: float = 1.0,
) -> Headline:
    """Return the headline of a question's result: of its mean, else of the option that is ahead.

    An option is named where it is surely ahead of the second; its interval holds for all options
    at once, because it was chosen after looking. Else two to four that may be ahead are named, if
    some are not among them.
    """
    if n < FEWEST_FOR_HEADLINE:
        return Headline(FEW, None, None, None, None)
    if mean is not None:
        kind = figure_kind(mean)
        ends = (None, None) if kind == NOTHING else (mean.low, mean.high)
        return Headline(kind, None, mean.shown, *ends)
    if found is None:
        return Headline(NOTHING, None, None, None, None)
    contenders = len(found.statistics)
    if found.named is not None:
        [estimate] = reports.share_figures(found.named).estimates(together(contenders))
        figure = Figure.of(estimate, n, width=width)
        kind = figure_kind(figure)
        if kind != NOTHING:
            return Headline(kind, labels[found.named], figure.shown, figure.low, figure.high)
    if 2 <= len(found.candidates) <= min(MOST_CONTENDERS, contenders - 1):
        names = tuple(labels[place] for place in found.candidates)
        return Headline(SEVERAL, None, None, None, None, names)
    return Headline(LEVEL, None, None, None, None)


def figure_kind(figure: Figure) -> str:
    """Return whether a figure has a point, an interval alone, or is not known."""
    if figure.value is None:
        return NOTHING
    return INTERVAL if figure.shown is None else ESTIMATE


def sentence(question: QuestionResult, *, digits: int | None = None) -> str:
    """Return the headline of a question in one sentence.

    Parameters
    ----------
    question : QuestionResult
    digits : int, optional
        After the point: of a share in percent, 1 by default; of a mean, 3.
    """
    found = question.headline
    if found.kind == FEW:
        return f"Fewer than {FEWEST_FOR_HEADLINE} people: too few for a headline"
    if found.kind == SEVERAL:
        *first, last = found.options
        return f"{', '.join(first)} and {last} cannot be told apart at the top"
    if found.kind == LEVEL:
        return "No option is clearly ahead"
    if found.low is None or found.high is None:
        return "Nothing is known"
    share = found.option is not None and question.ranks is None
    places = (1 if share else 3) if digits is None else digits
    low, high = outward_interval(found.low, found.high, digits=places + 2 * share)
    ends = [f"{100 * end:.{places}f}" if share else f"{end:.{places}f}" for end in (low, high)]
    point = ""
    if found.shown is not None:
        shown = f"{found.shown:.{places}{'%' if share else 'f'}}".replace("%", " %")
        point = f"{shown}, "
    name = "Mean"
    if question.ranks is not None:
        name = f"{found.option} is ranked best (95 % sure of the order), mean rank"
    elif share:
        among = " of those who answered" if question.asked_of_some else ""
        name = f"{found.option} is ahead{among} (95 % sure of the order)"
    return f"{name}: {point}between {ends[0]} and {ends[1]}{' %' if share else ''}"


def people_needed(
    figure: Figure | None, n: int, width: float, *, forecast: float, confidence: float
) -> int | None:
    """Return how many people would bring a figure's interval to a quarter of its range.

    At the levels as they were chosen, from the estimate's own error or, where it is small already,
    as planning has it (`forecast`, a standard error); None where nothing is known.
    """
    if figure is None or figure.standard_error is None:
        return None
    # the squared standard error of an interval a quarter of the range wide, in widths
    wanted = (WIDEST_HEADLINE / 2 / float(ndtri(0.5 + confidence / 2))) ** 2
    own, planned = ((one / width) ** 2 / wanted for one in (figure.standard_error, forecast))
    # Reports that are all alike have hardly an error of their own; then planning's counts.
    return math.ceil(n * (own if own > 1 else max(own, planned)))


def whole_percents(shares: Sequence[float], *, digits: int = 0) -> list[float]:
    """Return shares that sum to 1 in percent, rounded so that they add to 100.

    Each is rounded down, and what is missing goes to those that lost most (largest remainder).

    Examples
    --------
    >>> whole_percents([1 / 3, 1 / 3, 1 / 3])
    [34.0, 33.0, 33.0]
    """
    size = 10**digits
    exact = [100 * size * share for share in shares]
    # Rounding of floats must not take a whole number for the one below.
    down = [math.floor(part + 1e-9) for part in exact]
    missing = round(sum(exact)) - sum(down)
    # most lost first; the sort is stable, so equal ones keep the order of the options
    lost = sorted(range(len(exact)), key=lambda place: down[place] - exact[place])
    for place in lost[: max(missing, 0)]:
        down[place] += 1
    return [part / size for part in down]


def outward_interval(low: float, high: float, *, digits: int) -> tuple[float, float]:
    """Return an interval rounded away from its middle, so that it holds all it held.

    Examples
    --------
    >>> outward_interval(0.3349, 0.3351, digits=2)
    (0.33, 0.34)
    """
    size = 10.0**digits
    # Rounding of floats must not take a number for the one beside it.
    return math.floor(low * size + 1e-9) / size, math.ceil(high * size - 1e-9) / size


SOURCES = ("sampling", "mechanism")
FACTORS = (2, 4, 10)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The sources of a figure's error, and the margin of more people.

    Attributes
    ----------
    margin : float
        Half of an interval that is as long on both sides.
    parts : dict of str to float
        Share of each of `SOURCES` in the variance; they sum to 1.
    more : list of (int, float)
        For each factor the number of people and the margin.
    unmasked : int or None
        Number of people without masks whose answers would say as much; None where the masks leave
        no trace of that.

    Examples
    --------
    >>> Outlook(0.1, {"sampling": 1.0}, [], None).margin
    0.1
    """

    margin: float
    parts: dict[str, float]
    more: list[tuple[int, float]]
    unmasked: int | None


def outlook(
    figure: Figure, n: int, *, confidence: float = 0.95, factors: Sequence[int] = FACTORS
) -> Outlook | None:
    """Return the sources of an estimate's error and how it would shrink; None where unknown or 0.

    Variances of people and masks go with one over the number of people.

    Parameters
    ----------
    figure : Figure
    n : int
        People behind it.
    confidence : float
    factors : sequence of int
        How many times as many people to look at.

    Examples
    --------
    >>> from masquerade.results import Figure
    >>> found = outlook(Figure(50, 50, 40, 60, 5.0, 3.0, 4.0), 100, factors=(4,))
    >>> found.parts, found.unmasked
    ({'sampling': 0.36, 'mechanism': 0.64}, 36)
    >>> [(people, round(margin / found.margin, 3)) for people, margin in found.more]
    [(400, 0.5)]
    """
    if figure.errors is None:
        return None
    people, masks = (error**2 for error in figure.errors)
    total = people + masks
    if not total > 0:
        return None
    reach = float(ndtri(0.5 + confidence / 2))
    return Outlook(
        reach * math.sqrt(total),
        dict(zip(SOURCES, (people / total, masks / total), strict=True)),
        [(factor * n, reach * math.sqrt(total / factor)) for factor in factors],
        # k unmasked people err by people * n / k, which is to be people + masks
        round(n * people / total) if people else None,
    )
