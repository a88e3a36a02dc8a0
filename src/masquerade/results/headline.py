"""The headline of a question's result, and how many people would make it sharper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import ndtri

from masquerade.mechanisms import (
    Mechanism,
)
from masquerade.results.question_figures import (
    Figure,
    Headline,
    MeanFigures,
    OptionFigures,
    PeopleNeeded,
)
from masquerade.surveys import Question
from masquerade.truth import report_variance

#: Responses below which no estimate stands in large figures.
FEWEST_FOR_HEADLINE = 20

#: Width of an interval, in widths of the range, beyond which the interval is the headline.
WIDEST_HEADLINE = 0.25

FEW, NOTHING, INTERVAL, ESTIMATE = "few", "nothing", "interval", "estimate"

_CONFIDENCE = 0.95
_SPREAD = 0.25  # standard deviation of answers without a mask, in widths of the range


def headline_kind(figure: Figure | None, n: int, *, width: float) -> str:
    """Return the kind of headline that the figure allows.

    ``"few"``: nothing, there are fewer than 20 responses; ``"nothing"``: nothing is known;
    ``"interval"``: it is wider than a quarter of the `width` of the range, so it stands for the
    estimate; ``"estimate"``.
    """
    if n < FEWEST_FOR_HEADLINE:
        return FEW
    if figure is None or figure.low is None or figure.high is None or figure.shown is None:
        return NOTHING
    return INTERVAL if figure.high - figure.low > WIDEST_HEADLINE * width else ESTIMATE


def headline(
    options: Sequence[OptionFigures], mean: MeanFigures | None, n: int, question: Question
) -> Headline:
    """Return the headline of a question's result: of its mean, else of the answer on top."""
    figure, option = headline_figure(options, mean)
    kind = headline_kind(figure, n, width=range_width(question))
    if kind not in (INTERVAL, ESTIMATE) or figure is None:
        return Headline(kind, None, None, None, None)
    shown = figure.shown if kind == ESTIMATE else None
    return Headline(kind, option, shown, figure.low, figure.high)


def people_needed(
    options: Sequence[OptionFigures],
    mean: MeanFigures | None,
    n: int,
    question: Question,
    offered: Mapping[str, Mechanism],
    forecast: float,
) -> PeopleNeeded:
    """Return how many people would bring the headline's interval to a quarter of the range.

    ``people``: at the levels as they were chosen, from the estimate's own errors or, where these
    are small already, as planning has it (`forecast`, a standard error); None where what is not
    known of how levels differ is too much by itself, or nothing is known. ``by_level``: if all were
    at that level, as planning has it (a share of one half; answers that spread by a quarter of the
    range).
    """
    figure, _ = headline_figure(options, mean)
    # the squared standard error of an interval that is a quarter of the range wide, in widths
    wanted = (WIDEST_HEADLINE / 2 / float(ndtri(0.5 + _CONFIDENCE / 2))) ** 2
    people = None
    errors = None if figure is None else figure.errors
    if errors is not None:
        width = range_width(question)
        by_people, by_masks, by_levels = errors
        masks = (by_people**2 + by_masks**2) / width**2
        # More people leave the error of levels as it is, so the other errors get what it leaves.
        room = wanted - (by_levels / width) ** 2
        # Reports that are all alike have no error of their own; then planning's counts.
        own = masks / room if room > 0 else math.inf
        planned = (forecast / width) ** 2 / wanted
        factor = own if own > 1 else max(own, planned)
        people = math.ceil(n * factor) if math.isfinite(factor) else None
    return PeopleNeeded(
        people,
        {
            name: math.ceil(_variance(question, mechanism) / wanted)
            for name, mechanism in offered.items()
        },
    )


def range_width(question: Question) -> float:
    """Return the width of the range of a question's headline: 1 for a share."""
    lattice = question.lattice
    return 1.0 if lattice is None else float(lattice.high - lattice.low)


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


def headline_figure(
    options: Sequence[OptionFigures], mean: MeanFigures | None
) -> tuple[Figure | None, str | None]:
    """Return the figure of a headline, and the option that has this share."""
    if mean is not None:
        return mean.mean, None
    # Where some were not asked or did not answer: of those who answered.
    answered = [one for one in options if one.of_answered is not None]
    if answered:
        known = [
            (one.of_answered.value, one)
            for one in answered
            if one.of_answered is not None and one.of_answered.value is not None
        ]
        if len(known) < len(answered):
            return None, None
        top = max(known, key=lambda pair: pair[0])[1]
        return top.of_answered, top.label
    best = max(options, key=lambda option: float(option.share.value or 0.0), default=None)
    return (None, None) if best is None else (best.share, best.label)


def _variance(question: Question, mechanism: Mechanism) -> float:
    """Return the variance of one person's report, in squared widths of the range."""
    if not question.labels and mechanism.kind == "categorical":
        return _SPREAD**2  # answers as they are; there may be millions of them
    parts = report_variance(question, mechanism)
    return parts.people + parts.masks


SOURCES = ("sampling", "mechanism", "level")
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

    Variances of people and masks go with one over the number of people. What is not known of how
    levels differ is taken to stay as it is; with many more people it shrinks too, so the margins
    for more people are rather too wide than too narrow.

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
    >>> found = outlook(Figure(50, 50, 40, 60, 5.0, 3.0, 4.0, 0.0), 100, factors=(4,))
    >>> found.parts, found.unmasked
    ({'sampling': 0.36, 'mechanism': 0.64, 'level': 0.0}, 36)
    >>> [(people, round(margin / found.margin, 3)) for people, margin in found.more]
    [(400, 0.5)]
    """
    if figure.errors is None:
        return None
    people, masks, levels = (error**2 for error in figure.errors)
    total = people + masks + levels
    if not total > 0:
        return None
    reach = float(ndtri(0.5 + confidence / 2))
    return Outlook(
        reach * math.sqrt(total),
        dict(zip(SOURCES, (people / total, masks / total, levels / total), strict=True)),
        [(factor * n, reach * math.sqrt((people + masks) / factor + levels)) for factor in factors],
        # k unmasked people err by people * n / k, which is to be people + masks
        round(n * people / (people + masks)) if people else None,
    )
