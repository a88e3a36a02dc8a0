"""The number of participants for a margin, and the margin of a number of participants.

Masks on devices and the noise of two parties are planned by the estimation core, from the reports
that are expected. A mask is paid for by each person, the noise of two parties once a survey.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from masquerade.aggregate.noise import SumNoise
from masquerade.aggregate.survey_circuit import One
from masquerade.errors import ParameterError
from masquerade.estimation import Crowd, Figures, Sums
from masquerade.estimation import difference as two_crowds
from masquerade.estimation.expected import expected_counts, expected_numbers, half_width
from masquerade.exact import DEFAULT_DELTA, MICRO, Guarantee, Micro, rho_of_epsilon
from masquerade.exact.arrays import Floats
from masquerade.exact.number import NumberLike, finite, in_range, whole
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.mechanism import require_mechanism
from masquerade.mechanisms.registry import PARAMETERS, parse_mechanism
from masquerade.mechanisms.text import read_text_form, text_fields, text_form

#: From where on a planned number of participants needs a remark.
PEOPLE_ON_EARTH, MANY, FEW = 8_000_000_000, 1_000_000, 30

_LARGE = 10**12  # people from whom on an estimate is as good as normal


@dataclass(frozen=True)
class TwoPartySums:
    """A survey between two parties, as far as planning needs it.

    Attributes
    ----------
    questions : int
        Each with one answer of several; a response is protected as a whole.
    options : int
        Of each question.
    rho : Fraction
        Zero-concentrated loss of a whole response, above 0. Instead of it `epsilon` can be given,
        of a whole response at delta 1e-6: rho is then the largest that keeps to it.

    Examples
    --------
    >>> str(TwoPartySums(questions=10, options=5, rho="0.5"))
    'two-parties:questions=10,options=5,rho=0.5'
    >>> str(TwoPartySums(questions=10, options=5, epsilon=1))
    'two-parties:questions=10,options=5,rho=0.024355'
    """

    questions: int
    options: int
    rho: Fraction

    def __init__(
        self,
        questions: int | str,
        options: int | str,
        rho: NumberLike | None = None,
        *,
        epsilon: NumberLike | None = None,
    ) -> None:
        if (rho is None) == (epsilon is None):
            raise ParameterError(
                "two-parties takes rho or epsilon, the loss of a whole response, and not both; "
                "rho=0.024355 is epsilon=1 at delta 1e-6.",
                field="rho",
            )
        for name, value, least in (("questions", questions, 1), ("options", options, 2)):
            object.__setattr__(self, name, whole(value, name, low=least))
        if epsilon is not None:
            amount = finite(epsilon, "epsilon")
            in_range(amount, "epsilon", low=Fraction(1, MICRO))
            # rounded down: rounding up would promise more than was asked for
            asked = Micro(math.floor(amount * MICRO))
            rho = Fraction(int(rho_of_epsilon(asked).micro), MICRO)
        assert rho is not None
        object.__setattr__(self, "rho", finite(rho, "rho"))
        if self.rho <= 0:
            raise ParameterError(f"rho is {rho}, expected above 0.", field="rho")

    def __str__(self) -> str:
        return text_form("two-parties", text_fields(self))

    @property
    def noise(self) -> SumNoise:
        """Noise of one party."""
        return SumNoise.of_rho([One(self.options)] * self.questions, self.rho)

    def guarantee(self, *, delta: NumberLike = DEFAULT_DELTA) -> Guarantee:
        """Return the promise to a person for all answers together."""
        return self.noise.guarantee(delta=delta)


def parse_plan(text: str) -> Mechanism | TwoPartySums:
    """Return the plan of a text: a mechanism, or ``two-parties:questions=,options=,rho=``.

    In place of ``rho=``, ``epsilon=`` says the loss of a whole response at delta 1e-6.

    Examples
    --------
    >>> str(parse_plan("randomized-response:options=2,epsilon=1"))
    'randomized-response:options=2,epsilon=1'
    >>> parse_plan("two-parties:questions=10,options=5,rho=0.5")
    TwoPartySums(questions=10, options=5, rho=Fraction(1, 2))
    """
    if text.strip().partition(":")[0] != "two-parties":
        return parse_mechanism(text)
    known = {**PARAMETERS, "two-parties": inspect.signature(TwoPartySums).parameters}
    _, texts = read_text_form(text, known)
    missing = [key for key in ("questions", "options") if key not in texts]
    if not {"rho", "epsilon"} & set(texts):
        missing.append("rho or epsilon")
    if missing:
        raise ParameterError(
            f"{text!r} does not say {' and '.join(missing)}; write for instance "
            "two-parties:questions=10,options=5,rho=0.5.",
            field=missing[0].partition(" ")[0],
        )
    return TwoPartySums(**texts)


@dataclass(frozen=True, slots=True)
class Precision:
    """The precision of an estimate by the number of participants.

    Attributes
    ----------
    plan : Mechanism or TwoPartySums
    share : float
        What the share may be.
    spread : float
        Standard deviation of answers that have numbers.
    width : float
        Of all that the estimate could be: 1 for a share.

    Notes
    -----
    A margin is half the interval that the estimation core gives for the expected reports, so plan
    and result agree. From a million million people on it is that of a normal estimate, from which
    it then differs by less than a millionth.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.selection import precision_of
    >>> precision_of(RandomizedResponse(2, epsilon=1)).participants(0.05)
    1818
    """

    plan: Mechanism | TwoPartySums
    share: float
    spread: float
    width: float = 1.0

    def margins(
        self, participants: int, *, confidence: float = 0.95, population: int | None = None
    ) -> tuple[float, float, float]:
        """Return half the width of the interval: in all, its part of noise, its part of sampling.

        Where the range cuts the whole, its parts are as much smaller.

        `population`: where the result is about so many people alone, sampling errs less, by
        ``(N - n) / (N - 1)``.
        """
        n = whole(participants, "people", low=1)
        figures = self._figures(n)
        among = _sampling_factor(n, population)
        noise, sampling = float(figures.masks[0]), float(figures.sampling[0])
        left = (noise + sampling * among) / (noise + sampling)
        half = half_width(figures, confidence) * math.sqrt(left)
        error = math.sqrt(noise + sampling * among)
        # All of a population in clear are known.
        z = min(_quantile(confidence), half / error) if error else 0.0
        return half, z * math.sqrt(noise), z * math.sqrt(sampling * among)

    def participants(
        self, margin: float, *, confidence: float = 0.95, population: int | None = None
    ) -> int:
        """Return the least number of participants for an interval of plus or minus `margin`."""
        if not margin < self.width / 2:
            hint = " (shares lie between 0 and 1; five points are 0.05)" if self.width == 1 else ""
            raise ParameterError(
                f"margin is {margin:g}, expected below {self.width / 2:g}, half of all that is "
                f"possible{hint}: a wider interval says nothing.",
                field="margin",
            )
        guess = self._normal(margin / _quantile(confidence))

        def enough(n: int) -> bool:
            half = self.margins(n, confidence=confidence, population=population)[0]
            return half <= margin * (1 + 1e-12)

        if population is None:
            return _least(enough, guess)
        if not enough(population):
            raise ParameterError(
                f"all {population} people of the population together do not give this margin; "
                "widen it, or mask less.",
                field="margin",
            )
        return _least(enough, min(guess, population), most=population)

    def participants_of_each_group(
        self, difference: float, *, confidence: float = 0.95, power: float = 0.8
    ) -> int:
        """Return how many people in each of two groups show that they differ by `difference`.

        A two-sided test at level ``1 - confidence`` finds the difference with probability `power`.
        """
        _require_share("power", power)
        if not 0 < difference < self.width:
            raise ParameterError(
                f"compare is {difference:g}, expected above 0 and below {self.width:g}.",
                field="compare",
            )
        reach = _quantile(confidence) + float(ndtri(power))

        def enough(n: int) -> bool:
            between = two_crowds(self._figures(n, difference), self._figures(n, -difference))
            # W of "no difference" is about the square of a normal statistic
            return math.sqrt(float(between.statistic(0.0)[0])) >= reach

        # The difference has twice the variance of one group's estimate.
        return _least(enough, self._normal(difference / (reach * math.sqrt(2))))

    def _normal(self, error: float) -> int:
        """Return the least number for which the standard error is at most `error`."""
        figures = self._figures(_LARGE)
        linear = _LARGE * float(figures.sampling[0])
        noise = float(figures.masks[0])
        # Noise of sums falls with the square of the number, that of masks with the number.
        split = isinstance(self.plan, TwoPartySums)
        linear += 0.0 if split else _LARGE * noise
        square = _LARGE**2 * noise if split else 0.0
        try:
            # error**2 n**2 - linear n - square = 0, its root above 0
            needed = (linear + math.sqrt(linear**2 + 4 * error**2 * square)) / (2 * error**2)
            return max(math.ceil(needed), 1)
        except (OverflowError, ZeroDivisionError) as problem:
            raise ParameterError(
                "the margin is so small that the participants cannot be counted; widen it.",
                field="margin",
            ) from problem

    def _figures(self, n: int, by: float = 0.0) -> Figures:
        """Return the expected figure of n people, moved by half of `by`."""
        if isinstance(self.plan, TwoPartySums):
            variance = float(self.plan.noise.published_variance(0))
            held = _held(_moved(self.share, by), self.plan.options)
            return Crowd.of([Sums(n * held, variance, n)]).figures([_first(len(held))])
        response = self.plan.option_response
        if response is not None:
            held = _held(_moved(self.share, by), response.symbols)
            reports = expected_counts(n, held, response)
            return Crowd.of([reports]).figures([_first(len(held))])
        numbers = self.plan.as_numbers
        assert numbers is not None
        low, high = float(numbers.lattice.low), float(numbers.lattice.high)
        found = expected_numbers(n, low, high, numbers, spread=self.spread)
        return Crowd.of([replace(found, worth=found.worth + by / 2)]).mean()


def _first(symbols: int) -> Floats:
    return np.asarray(np.eye(1, symbols)[0])


def _held(share: float, symbols: int) -> Floats:
    """Return a first share, and the others alike."""
    held = np.full(symbols, (1 - share) / (symbols - 1))
    held[0] = share
    return held


def _moved(share: float, by: float) -> float:
    """Return one of two shares that differ by `by`, around a share where both fit."""
    low = min(max(share - abs(by) / 2, 0.0), 1 - abs(by))
    return low + max(by, 0.0)


def _least(enough: Callable[[int], bool], guess: int, *, most: int | None = None) -> int:
    """Return the least number that is enough, near a guess; from `_LARGE` on the guess itself."""
    if guess >= _LARGE:
        return guess
    low, high = 0, max(guess, 1)
    while not enough(high):
        low, high = high, 2 * high if most is None else min(2 * high, most)
    below = min(9 * high // 10, high - 1)
    while below > low and enough(below):
        high, below = below, below // 2
    low = max(low, below)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def precision_of(
    plan: Mechanism | TwoPartySums | str, *, share: float = 0.5, spread: float | None = None
) -> Precision:
    """Return the precision of an estimate by the number of participants.

    Of a share, for a mechanism of categories and for two parties; of a mean, for a mechanism of
    numbers. Participants are alike, and drawn from a large population.

    Parameters
    ----------
    plan : Mechanism or TwoPartySums, or the text form of either
    share : float
        What the share may be; 0.5 is the worst case without a mask.
    spread : float, optional
        Standard deviation of answers; default a quarter of the range.

    Raises
    ------
    ParameterError
        A parameter is out of range, or reports say nothing.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> [round(half, 3) for half in precision_of(RandomizedResponse(2, epsilon=1)).margins(400)]
    [0.107, 0.094, 0.049]
    """
    _require_share("share", share)
    if isinstance(plan, str):
        plan = parse_plan(plan)
    if isinstance(plan, TwoPartySums):
        return Precision(plan, share, math.nan)
    mechanism = require_mechanism(plan)
    response = mechanism.option_response
    if response is not None:
        signal = float(response.signal)
        if signal == 0:
            raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
        return Precision(mechanism, share, math.nan)
    if mechanism.as_numbers is None:
        raise ParameterError(
            f"{mechanism} reports neither a category nor a number for each answer; planning needs "
            "randomized-response, bitwise-response, two-layer, discrete-gaussian, "
            "discrete-laplace, quantised-response or two-parties."
        )
    lattice = mechanism.as_numbers.lattice
    width = float(lattice.high - lattice.low)
    answers = width / 4 if spread is None else spread
    if not 0 <= answers < math.inf:
        raise ParameterError(f"spread is {answers}, expected at least 0.", field="spread")
    if not math.isfinite(mechanism.variance()):
        raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
    return Precision(mechanism, share, answers, width)


def participants_needed(
    plan: Mechanism | TwoPartySums | str,
    *,
    margin: float,
    confidence: float = 0.95,
    share: float = 0.5,
    spread: float | None = None,
    population: int | None = None,
) -> int:
    """Return how many participants give an interval of plus or minus `margin`.

    Parameters
    ----------
    plan : Mechanism or TwoPartySums, or the text form of either
    margin : float
        Half the width of the interval: a share (0.05 is five points), or on the question's scale.
        Below half of all that is possible, for a wider interval says nothing.
    confidence : float
        0 to 1, both excluded.
    share, spread
        As for `precision_of`.
    population : int, optional
        How many people the result is about, where it is about them alone.

    Raises
    ------
    ParameterError
        A parameter is out of range, or no number is enough.

    Examples
    --------
    >>> participants_needed("randomized-response:options=2,epsilon=1", margin=0.05)
    1818
    >>> participants_needed(TwoPartySums(questions=10, options=5, rho="0.5"), margin=0.05)
    493
    """
    if not 0 < margin < math.inf:
        raise ParameterError(f"margin is {margin:g}, expected above 0.", field="margin")
    precision = precision_of(plan, share=share, spread=spread)
    return precision.participants(margin, confidence=confidence, population=population)


def plan_remarks(participants: int) -> list[str]:
    """Return remarks on a planned number of participants."""
    if participants > PEOPLE_ON_EARTH:
        return ["more people than live on earth: widen the margin, or mask less"]
    if participants > MANY:
        return ["more people than surveys reach as a rule: widen the margin, or mask less"]
    if participants < FEW:
        return ["with so few people the interval is rough: it is made for some thirty or more"]
    return []


def _require_share(name: str, value: float) -> None:
    in_range(value, name, above=0, below=1)


def _quantile(confidence: float) -> float:
    _require_share("confidence", confidence)
    return float(ndtri((1 + confidence) / 2))


def _sampling_factor(n: int, population: int | None) -> float:
    if population is None:
        return 1.0
    if population < n:
        raise ParameterError(
            f"population is {population}, expected at least the {n} who answer.", field="population"
        )
    # people are drawn without replacement
    return (population - n) / max(population - 1, 1)
