"""Designs with two groups, in which a second share is estimated with the first.

People are randomised to groups that answer with different chances, so that what one group leaves
open the other tells: the share of yes to an unrelated question, the honesty of people, or the share
of those who say no whatever the cards command.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from scipy.special import expit

from masquerade.analysis.design import Design, FitOptions, read_design, without_missing
from masquerade.analysis.formula import Formula
from masquerade.analysis.likelihood import Seen
from masquerade.analysis.outcomes import Density, Linear, Logistic
from masquerade.analysis.result import Regression
from masquerade.analysis.variables import Variable
from masquerade.answers import Frame, to_arrow
from masquerade.answers.frames import missing_column, plain_column
from masquerade.answers.result import Result
from masquerade.errors import ParameterError, UnknownLabel
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range, one_of

DesignName = Literal["unrelated-question", "stochastic-lie-detector", "cheating-detection"]
#: Of each design, what is estimated beside the share.
OTHERS = {
    "unrelated-question": "share of yes to the unrelated question",
    "stochastic-lie-detector": "honesty of people whose answer is yes",
    "cheating-detection": "share of people who say no in any case",
}


@dataclass(frozen=True)
class SharedChance(Logistic):
    """Yes or no behind a report with an unknown of its own in its chances.

    P(report 1) = c0 + c1 pi + c2 theta + c3 pi theta, with pi the chance of yes and theta the
    unknown; a row of the table is (sign, constant, c0, c1, c2, c3), report 0 with the sign turned.
    """

    name: ClassVar[str] = "logistic"
    extra: ClassVar[str | None] = "second unknown (log-odds)"

    @property
    def predictors(self) -> int:
        """The log-odds of yes, and those of the unknown."""
        return 2

    def basis(self, columns: int, slopes: int) -> Floats:
        """The unknown has a constant alone."""
        return Linear().basis(columns, slopes)

    def probabilities(self, eta: Floats) -> Floats:
        """Return P(no), P(yes)."""
        yes = expit(eta[0])
        return np.stack([1 - yes, yes])

    def density(self, eta: Floats, seen: Floats, *, second: bool) -> Density:
        """Return the chance of each report and its derivatives, bilinear in pi and theta."""
        sign, constant, c0, c1, c2, c3 = (part[:, None] for part in seen.T)
        pi, theta = expit(eta)
        pi1, theta1 = pi * (1 - pi), theta * (1 - theta)
        q = constant + sign * (c0 + c1 * pi + c2 * theta + c3 * pi * theta)
        by_pi, by_theta = sign * (c1 + c3 * theta), sign * (c2 + c3 * pi)
        first = np.stack([by_pi * pi1, by_theta * theta1])
        if not second:
            return Density(q, first, np.empty(0))
        hess = np.empty((2, 2, *q.shape))
        hess[0, 0] = first[0] * (1 - 2 * pi)
        hess[1, 1] = first[1] * (1 - 2 * theta)
        hess[0, 1] = hess[1, 0] = sign * c3 * pi1 * theta1
        return Density(q, first, hess)

    def information(self, eta: Floats) -> Floats:
        """Return that of both answers in clear."""
        pi, theta = expit(eta)
        out = np.zeros((2, 2, *eta.shape[1:]))
        out[0, 0], out[1, 1] = pi * (1 - pi), theta * (1 - theta)
        return out

    def starts(self, seen: Floats, weight: Floats) -> Floats:
        """Return log-odds of a third, and of honesty or a share a half."""
        return np.array([-0.7, 0.3])


@dataclass(frozen=True)
class TwoGroups(Result):
    """A share and the unknown that was estimated with it.

    Attributes
    ----------
    design : str
    share, share_error : float
        Of yes, on average over people.
    other_name : str
    other, other_error : float
        The second unknown.
    log_likelihood : float
    regression : Regression
        The terms behind the share.
    assumptions : tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> group = np.repeat([1, 1, 2, 2], [651, 349, 566, 434])
    >>> said = np.repeat([0, 1, 0, 1], [651, 349, 566, 434])
    >>> found = two_groups(
    ...     {"said": said, "group": group},
    ...     "said ~ 1",
    ...     design="unrelated-question",
    ...     groups="group",
    ...     chances={1: 0.75, 2: 0.25},
    ... )
    >>> round(found.share, 2), round(found.other, 2)
    (0.31, 0.48)
    """

    design: str
    share: float
    share_error: float
    other_name: str
    other: float
    other_error: float
    log_likelihood: float
    regression: Regression
    assumptions: tuple[str, ...] = (
        "people were randomised to the groups, and follow the instruction but for what is "
        "estimated",
        "nobody checks the die: what it protects is assumed, not proven",
    )


def two_groups(
    data: Frame,
    formula: str,
    *,
    design: DesignName,
    groups: str,
    chances: Mapping[Any, float | None],
    fitting: FitOptions | None = None,
) -> TwoGroups:
    """Return a share through a design with two groups, and the second unknown with it.

    Parameters
    ----------
    formula : str
        ``said ~ 1``, or with columns in clear.
    design : {"unrelated-question", "stochastic-lie-detector", "cheating-detection"}
        P(report 1) in a group with chance p: p pi + (1 - p) q; pi t + (1 - pi)(1 - p);
        pi + p beta, with pi + beta + gamma = 1 and cheaters gamma, who say 0.
    groups : str
        The column that says in which group a person was.
    chances : mapping
        The chance p of each group; None for people who were asked in clear.

    Raises
    ------
    ParameterError
        Fewer than two groups have different chances: the second unknown cannot be told.
    """
    fitting = replace(fitting or FitOptions(), levels=None)
    one_of(design, "design", OTHERS)
    table = to_arrow(data)
    if groups not in table.column_names:
        raise missing_column(groups, list(table.column_names))
    outcome = formula.partition("~")[0].strip()
    parsed = Formula.of(formula, columns=table.column_names, masked=(outcome,))
    needed = [*parsed.columns_used(table), groups]
    table = without_missing(table, needed, [outcome], fitting.missing)
    group = _groups(table, groups, chances)
    read = read_design(
        table, formula, {outcome: "warner:p=1"}, {}, fitting, "logistic", (None, None)
    )
    report = read.outcome.report
    if design == "cheating-detection":
        return _cheating(read, report, group, list(chances.values()), fitting)
    rows = []
    for chance in chances.values():
        c = coefficients(design, chance)
        rows += [(-1.0, 1.0, *c), (1.0, 0.0, *c)]
    rows.append((0.0, 1.0, 0.0, 0.0, 0.0, 0.0))  # no report: sure whatever the answer is
    seen = Seen(np.array(rows), _row_of(group, report, len(rows)))
    return _fitted(replace(read, outcome=_seen_as(read.outcome, seen)), design, fitting)


def coefficients(design: str, chance: float | None) -> tuple[float, float, float, float]:
    """Return c of P(report 1) = c0 + c1 pi + c2 theta + c3 pi theta in a group of a design."""
    if chance is None:
        return (0.0, 1.0, 0.0, 0.0)
    if design == "unrelated-question":
        return (0.0, chance, 1 - chance, 0.0)
    if design == "cheating-detection":  # pi + p beta, beta = 1 - pi - theta
        return (chance, 1 - chance, -chance, 0.0)
    return (1 - chance, -(1 - chance), 0.0, 1.0)


def _seen_as(outcome: Variable, seen: Seen) -> Variable:
    return Variable(outcome.name, ("0", "1"), (0.0, 1.0), seen, outcome.report, ("two groups",))


def _fitted(read: Design, design: str, fitting: FitOptions) -> TwoGroups:
    from masquerade.analysis.regression import fit_design

    fit = fit_design(read, model="logistic", fitting=fitting, outcome=SharedChance())
    whole = fit._whole
    place = whole.objective.model.outcome_size - 1
    theta = float(whole.theta[place])
    other = float(expit(theta))
    error = math.sqrt(float(whole.covariance[place, place])) * other * (1 - other)
    share, share_error = whole.average(1)
    return TwoGroups(
        design, share, share_error, OTHERS[design], other, error, fit.log_likelihood, fit
    )


def _cheating(
    read: Design, report: Any, group: Any, chances: list[float | None], fitting: FitOptions
) -> TwoGroups:
    """Fit cells yes, honest no and cheater: pi + gamma cannot be above 1."""
    from masquerade.analysis.regression import fit_design

    rows = []
    for chance in chances:
        said = 0.0 if chance is None else chance
        # [report 0, report 1] of honest no, yes, cheater
        rows += [(1 - said, 0.0, 1.0), (said, 1.0, 0.0)]
    rows.append((1.0, 1.0, 1.0))  # no report
    names = ("honest no", "yes", "cheater")
    seen = Seen(np.array(rows), _row_of(group, report, len(rows)))
    outcome = Variable(read.outcome.name, names, None, seen, np.full_like(report, -1), ("cards",))
    fit = fit_design(replace(read, outcome=outcome), model="multinomial", fitting=fitting)
    share, share_error = fit._whole.average(1)
    other, other_error = fit._whole.average(2)
    name = "cheating-detection"
    return TwoGroups(
        name, share, share_error, OTHERS[name], other, other_error, fit.log_likelihood, fit
    )


def _row_of(group: Any, report: Any, rows: int) -> Any:
    """Return the row of each person's group and report; the last where there is no report."""
    return np.where(report < 0, rows - 1, 2 * group + report).astype(np.int32)


def _groups(table: pa.Table, name: str, chances: Mapping[Any, float | None]) -> Any:
    for key, chance in chances.items():
        if chance is not None:
            in_range(chance, f"chances[{key!r}]", low=0, high=1)
    if len(set(chances.values())) < 2:
        raise ParameterError(
            f"chances are {dict(chances)}; two groups with different chances tell the second "
            "unknown apart.",
            field="chances",
        )
    known = {str(key): place for place, key in enumerate(chances)}
    found = plain_column(table, name).to_pylist()
    odd = next((row for row, one in enumerate(found) if str(one) not in known), None)
    if odd is not None:
        raise UnknownLabel(
            f"column {name!r}, row {odd + 1}: {found[odd]!r} is no group; expected one of "
            f"{list(chances)}."
        )
    return np.array([known[str(one)] for one in found], dtype=np.int64)
