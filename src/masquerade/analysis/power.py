"""Power and numbers of people through a channel: for a share, and for a difference in odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from masquerade.analysis.second_unknown import OTHERS, DesignName, coefficients
from masquerade.analysis.variables import Channel
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.number import in_range, one_of, whole
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of

Sides = Literal[1, 2]
_SINGULAR = 1e-12  # determinant of an information below which it tells only one unknown


@dataclass(frozen=True, slots=True)
class SamplePlan(Result):
    """How many people are needed, and how many if everybody answered in clear.

    Attributes
    ----------
    people : int
        In each group, where there are two; of all people, for odds.
    clear : int
        The same without a mask.
    power : float
        Of the test with so many people.
    information : float
        Share of the information of a clear answer that a report keeps.

    Examples
    --------
    >>> SamplePlan(people=650, clear=120, power=0.8, information=0.18).people
    650
    """

    people: int
    clear: int
    power: float
    information: float

    @property
    def statement(self) -> str:
        """The plan in a sentence."""
        times = self.people / self.clear
        return (
            f"{self.people:,} people, {times:.1f} times as many as without the mask "
            f"({self.clear:,}), find it in {100 * self.power:.0f} of 100 surveys."
        )


def _yes_no(mechanism: Mechanism | str) -> Channel:
    channel = Channel.of(mechanism_of(mechanism), "the answer")
    if channel.table.shape[1] != 2:
        raise ParameterError(
            f"{channel.text} has {channel.table.shape[1]} answers, and power is of a share of yes "
            "among 2.",
            field="mechanism",
        )
    return channel


_CLEAR = Channel(np.eye(2), "")


def _error(channel: Channel, share: float) -> float:
    """Return the error of a share by one report: 1 / sum of (C_r1 - C_r0)^2 / P_r, its root."""
    no, yes = channel.table.T
    chance = no + (yes - no) * share
    there = chance > 0
    if (yes != no)[~there].any():
        return 0.0  # one report of a kind that cannot be tells the share from this one
    return 1 / math.sqrt(float(((yes - no)[there] ** 2 / chance[there]).sum()))


@dataclass(frozen=True, slots=True)
class _Test:
    """A test of a difference: errors of one person at the null and at the alternative."""

    difference: float
    null_error: float
    error: float
    level: float
    sides: Sides

    def power(self, people: float) -> float:
        """Return P(the test rejects)."""
        root = math.sqrt(people)
        z = float(ndtri(1 - self.level / self.sides)) * self.null_error / root
        if not self.error:
            return float(abs(self.difference) > z)
        error = self.error / root
        found = float(ndtr((abs(self.difference) - z) / error))
        if self.sides == 2:
            found += float(ndtr((-z - abs(self.difference)) / error))
        return found

    def people(self, power: float) -> int:
        """Return ((z se0 + z_power se1) / d)^2, rounded up."""
        z = float(ndtri(1 - self.level / self.sides))
        root = (z * self.null_error + float(ndtri(power)) * self.error) / abs(self.difference)
        return max(math.ceil(root**2 - 1e-9), 1)


def _share_test(
    channel: Channel, share: float, against: float, groups: int, level: float, sides: Sides
) -> _Test:
    null, other = _error(channel, against), _error(channel, share)
    if groups == 2:
        null, other = math.hypot(null, null), math.hypot(other, null)
    return _Test(share - against, null, other, level, sides)


def share_power(
    mechanism: Mechanism | str,
    people: int,
    *,
    share: float,
    against: float = 0.0,
    groups: Literal[1, 2] = 1,
    level: float = 0.05,
    sides: Sides = 2,
) -> float:
    """Return the power of a test of a share of yes, through a mask.

    Parameters
    ----------
    people : int
        In each group.
    share, against : float
        The share that there is, and that of the hypothesis or of the other group.

    Examples
    --------
    >>> round(share_power("forced-response:no=1/6,yes=1/6", 500, share=0.3, against=0.2), 4)
    0.8906
    """
    _check(share, against, level)
    channel = _yes_no(mechanism)
    test = _share_test(channel, share, against, groups, level, sides)
    return test.power(whole(people, "people", low=1))


def share_sample(
    mechanism: Mechanism | str,
    *,
    share: float,
    against: float = 0.0,
    groups: Literal[1, 2] = 1,
    power: float = 0.8,
    level: float = 0.05,
    sides: Sides = 2,
) -> SamplePlan:
    """Return how many people a test of a share needs, in each group.

    Examples
    --------
    >>> share_sample("forced-response:no=1/6,yes=1/6", share=0.3, against=0.2).people
    383
    """
    _check(share, against, level)
    in_range(power, "power", above=0, below=1)
    channel = _yes_no(mechanism)
    test = _share_test(channel, share, against, groups, level, sides)
    people = test.people(power)
    clear = _share_test(_CLEAR, share, against, groups, level, sides).people(power)
    through = _error(channel, share)
    kept = (_error(_CLEAR, share) / through) ** 2 if through else 1.0
    return SamplePlan(people, clear, test.power(people), kept)


def odds_sample(
    mechanism: Mechanism | str,
    *,
    odds: float,
    share: float,
    exposed: float = 0.5,
    power: float = 0.8,
    level: float = 0.05,
) -> SamplePlan:
    """Return how many people in all a difference in odds needs, the outcome masked.

    Parameters
    ----------
    odds : float
        How many times the odds of yes are in one group of people as in the other.
    share : float
        Share of yes in the other group.
    exposed : float
        Share of people in the first group.

    Notes
    -----
    By the information of a report on the log-odds, sum of (C_r1 - C_r0)^2 (p (1 - p))^2 / P_r.

    Examples
    --------
    >>> plan = odds_sample("randomized-response:options=2,epsilon=1", odds=2, share=0.3)
    >>> plan.people, plan.clear
    (1608, 304)
    """
    _check(share, -1.0, level)
    in_range(power, "power", above=0, below=1)
    in_range(exposed, "exposed", above=0, below=1)
    in_range(odds, "odds", above=0)
    in_range(share, "share", above=0, below=1)
    if odds == 1:
        raise ParameterError(
            "odds is 1, so the groups do not differ and there is nothing to find; give another.",
            field="odds",
        )
    difference = math.log(odds)
    other = float(expit(logit(share) + difference))

    def test(channel: Channel) -> _Test:
        def of(p: float) -> float:
            return _error(channel, p) / (p * (1 - p))

        null = math.hypot(of(share) / math.sqrt(exposed), of(share) / math.sqrt(1 - exposed))
        error = math.hypot(of(other) / math.sqrt(exposed), of(share) / math.sqrt(1 - exposed))
        return _Test(difference, null, error, level, 2)

    masked, clear = test(_yes_no(mechanism)), test(_CLEAR)
    people = masked.people(power)
    kept = (clear.error / masked.error) ** 2
    return SamplePlan(people, clear.people(power), masked.power(people), kept)


def two_group_power(
    design: DesignName,
    people: int,
    *,
    chances: tuple[float, float],
    share: float,
    other: float,
    against: float = 0.0,
    level: float = 0.05,
    sides: Sides = 2,
) -> float:
    """Return the power of a test of a share, by a design with a second unknown.

    Parameters
    ----------
    people : int
        In both groups together, which are of the same size.
    chances : (float, float)
        Of the groups, as in `two_groups`.
    other : float
        The second unknown. It is estimated too, which costs power: taken for known, the power of
        the example would be 0.824.

    Examples
    --------
    >>> asked = {"chances": (0.75, 0.25), "share": 0.3, "against": 0.2, "other": 0.3}
    >>> round(two_group_power("unrelated-question", 500, **asked), 3)
    0.649
    """
    test = _two_group_test(design, chances, (share, against), other, level, sides)
    return test.power(whole(people, "people", low=2))


def two_group_sample(
    design: DesignName,
    *,
    chances: tuple[float, float],
    share: float,
    other: float,
    against: float = 0.0,
    power: float = 0.8,
    level: float = 0.05,
) -> SamplePlan:
    """Return how many people a design with a second unknown needs, in both groups together.

    The test has two sides; parameters are those of `two_group_power`.

    Examples
    --------
    >>> asked = {"chances": (0.75, 0.25), "share": 0.3, "against": 0.2, "other": 0.3}
    >>> two_group_sample("unrelated-question", **asked).people
    733
    """
    in_range(power, "power", above=0, below=1)
    test = _two_group_test(design, chances, (share, against), other, level, 2)
    clear = _share_test(_CLEAR, share, against, 1, level, 2)
    people = test.people(power)
    kept = (clear.error / test.error) ** 2
    return SamplePlan(people, clear.people(power), test.power(people), kept)


def _two_group_test(
    design: DesignName,
    chances: tuple[float, float],
    shares: tuple[float, float],
    other: float,
    level: float,
    sides: Sides,
) -> _Test:
    one_of(design, "design", OTHERS)
    share, against = shares
    _check(share, against, level)
    in_range(other, "other", above=0, below=1)
    for place, chance in enumerate(chances):
        in_range(chance, f"chances[{place}]", low=0, high=1)
    null, error = (_two_group_error(design, chances, one, other) for one in (against, share))
    return _Test(share - against, null, error, level, sides)


def _two_group_error(
    design: DesignName, chances: tuple[float, float], share: float, other: float
) -> float:
    """Return the error of a share by one report: from the information on both unknowns."""
    information = np.zeros((2, 2))
    for chance in chances:
        c0, c1, c2, c3 = coefficients(design, chance)
        yes = c0 + c1 * share + c2 * other + c3 * share * other
        if not 0 < yes < 1:
            raise ParameterError(
                f"with a share of {share:g}, {other:g} as the second unknown and the chance "
                f"{chance:g}, reports of 1 come with the chance {yes:g}; expected above 0 and "
                "below 1. Give other shares.",
                field="other",
            )
        slope = np.array([c1 + c3 * other, c2 + c3 * share])
        information += np.outer(slope, slope) / (yes * (1 - yes)) / len(chances)
    if not np.linalg.det(information) > _SINGULAR:
        raise ParameterError(
            f"the chances {chances} do not tell the share from the second unknown; give groups "
            "whose chances differ.",
            field="chances",
        )
    return math.sqrt(float(np.linalg.inv(information)[0, 0]))


def _check(share: float, against: float, level: float) -> None:
    in_range(share, "share", low=0, high=1)
    if against >= 0:
        in_range(against, "against", low=0, high=1)
        if share == against:
            raise ParameterError(
                "share and against are equal, so that there is no difference to find.",
                field="against",
            )
    in_range(level, "level", above=0, below=1)
