"""Classical designs of randomised response: dice, cards and birthdays in the hands of people.

Warner (1965), Greenberg and others (1969), Boruch (1971), Kuk (1990), Mangat (1994), Yu, Tian and
Tang (2008). Each is a channel like any other, so that shares, regressions and power follow. The
person throws the die and nobody checks it, so that what they promise is assumed and not proven.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from masquerade.errors import ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes, Floats
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import Micro
from masquerade.exact.number import NumberLike, finite, in_range, text_of, whole
from masquerade.mechanisms.categorical import Channel, require_small
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Labels

if TYPE_CHECKING:
    from masquerade.answers import Claims

ASSUMPTIONS = (
    "every person follows the instruction, and the die, the cards or the trait has the stated "
    "chances; nobody checks it",
    "nobody but the person sees how the die fell, or knows the trait",
    "each answer is masked once; the same question asked again tells more",
)
_LARGEST_TOTAL = 1 << 62
_MOST_CARDS = 64


class ClassicalDesign(DeviceMechanism):
    """A design of randomised response that a person carries out by hand.

    Examples
    --------
    >>> from masquerade.mechanisms import parse_mechanism
    >>> design = parse_mechanism("forced-response:no=1/6,yes=1/6")
    >>> design.channel().matrix().round(3).tolist()
    [[0.833, 0.167], [0.167, 0.833]]
    >>> design.guarantee().status, design.guarantee().epsilon_single.epsilon
    ('assumed', 1.609438)
    """

    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    null = False
    code_type = np.int32

    @abstractmethod
    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return P(report | answer), a row for each answer."""

    @cached_property
    def _table(self) -> tuple[tuple[Fraction, ...], ...]:
        return self._rows()

    def channel(self) -> Channel:
        """Return P(report | answer), in exact fractions."""
        return Channel(self._table)

    @property
    def options(self) -> int:
        """Number of answers."""
        return len(self._table)

    @property
    def reports(self) -> int:
        """Number of different reports."""
        return len(self._table[0])

    @property
    def domain(self) -> Labels:
        """The answers that it masks."""
        return Labels(self.options)

    @property
    def codes(self) -> int:
        """Number of answers."""
        return self.options

    def possible_reports(self) -> tuple[int, int]:
        """Return the first and the last report."""
        return 0, self.reports - 1

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the guarantee where everybody keeps to the design; see `ASSUMPTIONS`."""
        answers = whole(answers, "answers", low=0)
        ratio = self.channel().worst_ratio()
        one = Micro.of_ratio(ratio)
        sure = ("a report that only one answer can give proves that answer",)
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one * min(answers, 1),
            epsilon_user=Micro.of_ratio(ratio, times=answers),
            answers=answers,
            assumptions=ASSUMPTIONS if ratio != math.inf else (*sure, *ASSUMPTIONS),
            status="assumed" if ratio != math.inf else "none",
        )

    def variance(self) -> float:
        """Return the largest noise variance of the one-hot estimate of an answer, over answers.

        The estimate is the least-squares inverse of the channel; infinite where it has none.
        """
        table = self.channel().matrix()
        if np.linalg.matrix_rank(table, tol=1e-9) < self.options:
            return math.inf
        worth = np.linalg.pinv(table)  # [report, answer]: table @ worth = identity
        spread = table @ worth**2 - np.eye(self.options)
        return float(spread.sum(axis=1).max())

    def device_form(self) -> dict[str, Any]:
        """Return whole numbers: their shares of a total are the chances of each report."""
        total = self._total
        return {
            "name": self.name,
            "total": str(total),
            "table": [[str(int(p * total)) for p in row] for row in self._table],
        }

    @cached_property
    def _total(self) -> int:
        total = math.lcm(*(p.denominator for row in self._table for p in row))
        if total > _LARGEST_TOTAL:
            raise ParameterError(
                f"{self} has chances with more digits than can be drawn exactly; round them."
            )
        return total

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return a report for each answer, by one uniform whole number each."""
        total = self._total
        words = uniform_below(source, total, len(answers))
        answers = np.asarray(answers)
        reports: Codes = np.empty(len(answers), dtype=np.int32)
        for answer in np.unique(answers).tolist():
            # Exact: whole numbers of the total, the last edge left out.
            edges = accumulate(int(p * total) for p in self._table[answer][:-1])
            limits = np.array(list(edges), dtype=np.uint64)
            rows = answers == answer
            reports[rows] = np.searchsorted(limits, words[rows], side="right")
        return reports

    def check(self, claims: Claims) -> None:
        """Raise where the claims are not of this design's domain."""
        if claims.options is None or claims.n_options != self.options:
            raise ParameterError(
                f"{self} masks {self.options} options; the claims have other answers. Declare all "
                "options when reading the claims (--options on the command line)."
            )
        if self.reports != self.options:
            raise ParameterError(
                f"{self} reports a number of cards and no option, so that its reports are no "
                "claims; draw them with mask."
            )
        if claims.null and bool((claims.value == claims.n_options).any()):
            row = int(np.flatnonzero(claims.value == claims.n_options)[0]) + 1
            raise UnknownLabel(f"row {row}: no answer was given; remove such rows.")

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)
        reports = self.mask(claims.value, claims.worker, source)
        return claims.with_values(reports, null=claims.null)

    def worth(self) -> Floats:
        """Return the unbiased estimate of each answer's share by one report, [report, answer].

        Examples
        --------
        >>> Warner("0.8").worth().round(3).tolist()
        [[1.333, -0.333], [-0.333, 1.333]]
        """
        return np.asarray(np.linalg.pinv(self.channel().matrix()), dtype=np.float64)


def _chance(value: NumberLike, name: str, *, half: bool = False) -> Fraction:
    found = finite(value, name)
    in_range(found, name, low=0, high=1)
    if half and found == Fraction(1, 2):
        raise ParameterError(
            f"{name} is {text_of(found)}, and then reports do not depend on answers; use another.",
            field=name,
        )
    return found


def _yes_no(yes_if_no: Fraction, yes_if_yes: Fraction) -> tuple[tuple[Fraction, ...], ...]:
    if yes_if_no == yes_if_yes:
        raise ParameterError(
            "the chances make reports that do not depend on answers; change one of them."
        )
    return ((1 - yes_if_no, yes_if_no), (1 - yes_if_yes, yes_if_yes))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Warner(ClassicalDesign):
    """Answer the statement with chance p, else its opposite (Warner 1965).

    Examples
    --------
    >>> Warner("0.8").guarantee().epsilon_single.epsilon
    1.386295
    """

    name = "warner"
    example = "warner:p=0.8"

    p: Fraction

    def __init__(self, p: NumberLike) -> None:
        self._set(p=_chance(p, "p", half=True))
        self._rows()

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        return _yes_no(1 - self.p, self.p)


class Crosswise(Warner):
    """Say whether both or neither of two statements are true (Yu, Tian and Tang 2008).

    Report 1 is "both or neither"; p is the share of people with the innocuous trait, which nobody
    who collects may know of the person.

    Examples
    --------
    >>> Crosswise("0.25").channel().matrix().tolist()
    [[0.25, 0.75], [0.75, 0.25]]
    """

    name = "crosswise"
    example = "crosswise:p=0.25"


class Disguised(Warner):
    """Choose the card of the answer's colour with chance p: report 1 stands for yes.

    Examples
    --------
    >>> Disguised("0.75").options
    2
    """

    name = "disguised"
    example = "disguised:p=0.75"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ForcedResponse(ClassicalDesign):
    """Say no, or yes, as the die commands; else the truth (Boruch 1971).

    Parameters
    ----------
    no, yes : number, optional
        Chances of a forced no and a forced yes, of two options.
    options : int
        Number of options, at least 2.
    each : number, optional
        Chance of each forced option; give it in place of `no` and `yes`.

    Examples
    --------
    >>> str(ForcedResponse(no="1/6", yes="1/6"))
    'forced-response:no=1/6,yes=1/6'
    >>> ForcedResponse(options=3, each="0.1").channel().matrix()[0].round(2).tolist()
    [0.8, 0.1, 0.1]
    """

    name = "forced-response"
    example = "forced-response:no=1/6,yes=1/6"

    no: Fraction | None
    yes: Fraction | None
    option_count: int
    each: Fraction | None

    def __init__(
        self,
        no: NumberLike | None = None,
        yes: NumberLike | None = None,
        options: int = 2,
        each: NumberLike | None = None,
    ) -> None:
        options = whole(options, "options", low=2, high=1 << 10)
        if (each is None) == (no is None) or (no is None) != (yes is None):
            raise ParameterError(
                "give the chances of a forced no and a forced yes, such as no=1/6,yes=1/6; or "
                "each=, the chance of each forced option."
            )
        if each is None and options != 2:
            raise ParameterError("no and yes are for 2 options; give each.", field="options")
        self._set(
            no=None if no is None else _chance(no, "no"),
            yes=None if yes is None else _chance(yes, "yes"),
            option_count=options,
            each=None if each is None else _chance(each, "each"),
        )
        if sum(self._forced()) >= 1:
            raise ParameterError(
                "the forced answers have a chance of 1 or more together, so that nobody says the "
                "truth; make them smaller."
            )

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        if self.each is None:
            assert self.no is not None
            assert self.yes is not None
            return {"no": text_of(self.no), "yes": text_of(self.yes)}
        return {"options": str(self.option_count), "each": text_of(self.each)}

    def _forced(self) -> tuple[Fraction, ...]:
        if self.each is not None:
            return (self.each,) * self.option_count
        assert self.no is not None
        assert self.yes is not None
        return (self.no, self.yes)

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        forced = self._forced()
        truth = 1 - sum(forced)
        require_small(len(forced), len(forced))
        return tuple(
            tuple(chance + truth * (report == answer) for report, chance in enumerate(forced))
            for answer in range(len(forced))
        )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class UnrelatedQuestion(ClassicalDesign):
    """Answer the question with chance p, else one that has nothing to do with it.

    `q`: share of yes to the other question, known beforehand (Greenberg and others 1969). Where it
    is not known, ask two groups; see `masquerade.analysis.two_groups`.

    Examples
    --------
    >>> UnrelatedQuestion("0.7", "0.3").guarantee().epsilon_single.epsilon
    2.172224
    """

    name = "unrelated-question"
    example = "unrelated-question:p=0.7,q=0.3"

    p: Fraction
    q: Fraction

    def __init__(self, p: NumberLike, q: NumberLike) -> None:
        self._set(p=_chance(p, "p"), q=_chance(q, "q"))
        self._rows()

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        other = (1 - self.p) * self.q
        return _yes_no(other, self.p + other)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mangat(ClassicalDesign):
    """Say yes where it is true; else no with chance p (Mangat 1994). A no proves the answer no.

    Examples
    --------
    >>> Mangat("0.6").guarantee().status
    'none'
    """

    name = "mangat"
    example = "mangat:p=0.6"

    p: Fraction

    def __init__(self, p: NumberLike) -> None:
        self._set(p=_chance(p, "p"))
        self._rows()

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        return _yes_no(1 - self.p, Fraction(1))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Triangular(ClassicalDesign):
    """Report 1 where one of two statements or both are true; p: share with the innocuous trait.

    Report 0 proves the answer no (Yu, Tian and Tang 2008).

    Examples
    --------
    >>> Triangular("0.4").channel().matrix().tolist()
    [[0.6, 0.4], [0.0, 1.0]]
    """

    name = "triangular"
    example = "triangular:p=0.4"

    p: Fraction

    def __init__(self, p: NumberLike) -> None:
        self._set(p=_chance(p, "p"))
        self._rows()

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        return _yes_no(self.p, Fraction(1))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Kuk(ClassicalDesign):
    """Name the number of red cards drawn from the deck that belongs to the answer (Kuk 1990).

    Parameters
    ----------
    p1, p2 : number
        Shares of red cards in the decks of yes and of no.
    cards : int
        How many cards are drawn, with replacement.

    Examples
    --------
    >>> Kuk("0.8", "0.2", cards=3).reports
    4
    """

    name = "kuk"
    example = "kuk:p1=0.8,p2=0.2,cards=3"

    p1: Fraction
    p2: Fraction
    cards: int = 1

    def __init__(self, p1: NumberLike, p2: NumberLike, cards: int = 1) -> None:
        self._set(
            p1=_chance(p1, "p1"),
            p2=_chance(p2, "p2"),
            cards=whole(cards, "cards", low=1, high=_MOST_CARDS),
        )
        _yes_no(self.p2, self.p1)

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        return tuple(
            tuple(
                math.comb(self.cards, red) * p**red * (1 - p) ** (self.cards - red)
                for red in range(self.cards + 1)
            )
            for p in (self.p2, self.p1)
        )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CustomDesign(ClassicalDesign):
    """Any table of chances: those of each report, for one answer after another.

    `chances`: chances of an answer's reports with ``|`` between them, ``;`` between answers.

    Examples
    --------
    >>> CustomDesign("0.7|0.3;0.2|0.8").channel().matrix().tolist()
    [[0.7, 0.3], [0.2, 0.8]]
    """

    name = "custom"
    example = "custom:chances=0.7|0.2|0.1;0.1|0.8|0.1;0.2|0.1|0.7"

    chances: str

    def __init__(self, chances: str) -> None:
        rows = [row.split("|") for row in str(chances).split(";")]
        if len(rows) < 2 or len({len(row) for row in rows}) > 1:
            raise ParameterError(
                f"chances is {chances!r}, expected at least 2 answers with as many reports each, "
                "such as 0.7|0.3;0.2|0.8.",
                field="chances",
            )
        require_small(len(rows), len(rows[0]))
        table = tuple(tuple(_chance(one.strip(), "chances") for one in row) for row in rows)
        for place, row in enumerate(table):
            if sum(row) != 1:
                raise ParameterError(
                    f"the chances of answer {place} add to {text_of(sum(row, Fraction(0)))}, "
                    "expected 1.",
                    field="chances",
                )
        self._set(chances=";".join("|".join(text_of(one) for one in row) for row in table))

    def _rows(self) -> tuple[tuple[Fraction, ...], ...]:
        return tuple(
            tuple(Fraction(one) for one in row.split("|")) for row in self.chances.split(";")
        )
