"""Forecasts: the expected precision of a draft's plan and its cost, also before it is written.

Whom to ask is decided by privacy levels and prices alone. Reports of one person to two surveys
cannot be brought together here, so what somebody reported before plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self, TypedDict

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.surveys.document import Document, Issue, changed
from masquerade.surveys import Question
from masquerade.surveys.offered_levels import (
    ALL_LEVELS,
    BoardWords,
    OfferedLevel,
    percent_of_cap,
    share_of_cap,
)
from masquerade.surveys.survey import MOST_QUESTIONS, Survey

if TYPE_CHECKING:
    from masquerade.results.forecasts import Forecast as Precision
    from masquerade.results.learnable import Way
    from masquerade.selection import LevelOffer

#: Shares of people who choose each level, as observed by Kandappu et al. (2014).
PRIOR_SHARES = {CLEAR: 0.137, "low": 0.244, "medium": 0.389, "high": 0.229}


class Margin(TypedDict):
    """The half width of the 95 % interval of a question's estimate, in its unit.

    `low`, `high`: ends of the range that the estimate can have. `tells`: whether the margin tells
    ``"enough"``, ``"little"`` (its interval covers more than half of the range) or ``"nothing"``
    of it. `of_100`: how many of 100 people are shown the question; None where all are. `words`: the
    margin as it is printed, which is none where it tells nothing.
    """

    id: str
    kind: str
    margin: float | None
    unit: str
    low: float
    high: float
    tells: str
    of_100: int | None
    words: str


class ExpectedLevel(BoardWords):
    """The people of a level, and the amount that a response takes there."""

    name: str
    expected: int
    asked: int
    price: int
    epsilon_user: float | str
    share_of_cap: float
    percent_of_cap: float
    times_again: int | None


class Forecast(TypedDict):
    """The people, the cost and the precision that are expected of a plan."""

    people: int
    asked: int
    budget: int | None
    cost: int
    currency: str
    policy: str
    alpha: float
    estimator: str
    levels: list[ExpectedLevel]
    questions: list[Margin]


class CostPoint(TypedDict):
    """A point of the curve of error by cost."""

    cost: int
    asked: int
    margin: float | None
    words: str


def forecast(document: Document, survey: Survey, *, caps: Caps) -> Forecast:
    """Return the number of people of a plan, their cost, and the expected precision.

    `caps` are those of a person who has taken part in nothing yet.
    """
    from masquerade.selection import quotas_by_level

    names = [level.name for level in survey.levels]
    plan = document.plan
    expected = expected_levels(names, plan.shares, plan.people)
    prices = {name: plan.prices.get(name, 0) for name in names}
    chosen = quotas_by_level(
        offers_of(survey, expected, prices, caps),
        budget=plan.budget,
        policy=plan.policy,
        alpha=float(plan.alpha),
    )
    return {
        "people": plan.people,
        "asked": sum(chosen.values()),
        "budget": plan.budget,
        "cost": sum(chosen[name] * prices[name] for name in names),
        "currency": plan.currency,
        "policy": plan.policy,
        "alpha": plan.alpha,
        "estimator": document.estimator,
        "levels": [
            {
                "name": level.name,
                "expected": expected[level.name],
                "asked": chosen[level.name],
                "price": prices[level.name],
                "epsilon_user": level.guarantee().epsilon_user.to_json(),
                "share_of_cap": share_of_cap(level, caps),
                "percent_of_cap": percent_of_cap(level, caps),
                "times_again": times_again(level, caps),
                **level.for_board(),
            }
            for level in survey.levels
        ],
        "questions": margins(survey, chosen, plan.shown),
    }


def plan_review(document: Document, survey: Survey, *, caps: Caps) -> tuple[Forecast, list[Issue]]:
    """Return the forecast of a document's plan, and the barriers that leave nobody to answer."""
    figures = forecast(document, survey, caps=caps)
    return figures, barriers(survey, figures, caps=caps)


def first_margin(document: Document, survey: Survey, *, caps: Caps) -> Margin:
    """Return the expected width of the interval of the first question's estimate."""
    return forecast(document, survey, caps=caps)["questions"][0]


def error_by_cost(
    document: Document, survey: Survey, *, caps: Caps, steps: int = 8
) -> list[CostPoint]:
    """Return the ``cost``, people ``asked`` and first question's ``margin`` at budgets that rise.

    Budgets are in equal steps up to what the plan costs without one.
    """
    whole = document.model_copy(update={"plan": document.plan.model_copy(update={"budget": None})})
    # What the plan costs without a budget is the right end of the curve.
    full = forecast(whole, survey, caps=caps)["cost"]
    found: list[CostPoint] = []
    for step in range(1, steps + 1):
        # In whole units, as budgets are.
        plan = document.plan.model_copy(update={"budget": full * step // steps})
        one = forecast(document.model_copy(update={"plan": plan}), survey, caps=caps)
        first = one["questions"][0]
        found.append(
            {
                "cost": one["cost"],
                "asked": one["asked"],
                "margin": first["margin"],
                "words": first["words"],
            }
        )
    return found


def margins(
    survey: Survey, people: Mapping[str, int], shown: Mapping[str, int] | None = None
) -> list[Margin]:
    """Return half the interval that each question's headline will have.

    `shown`: of 100 people, how many are shown a question with a condition, by its id; by default as
    many as if all answers were equally frequent. Further votes on a list are no questions of the
    document, and have none.
    """
    from masquerade.results.forecasts import asked_share
    from masquerade.results.forecasts import forecast as expected

    found = []
    for place, question in enumerate(survey.questions):
        if question.takes_pair and not question.votes_asked:
            continue
        some = bool(survey.conditions and survey.conditions[place])
        part = (shown or {}).get(question.id) if some else None
        part = part or (max(1, round(100 * asked_share(survey, place))) if some else None)
        answering = None if part is None else part / 100
        one = expected(survey, place, people, answering=answering)
        found.append(margin_of(question, one, part))
    return found


def live_margins(survey: Survey, people: Sequence[int]) -> list[tuple[str, list[str]]]:
    """Return each question with its margin in words for several numbers of people.

    Levels are taken as elsewhere: while a survey is open nobody is told who came at which.
    """
    names = [level.name for level in survey.levels]
    columns = [margins(survey, expected_levels(names, {}, n)) if n > 0 else [] for n in people]
    texts = {question.id: question.short_text for question in survey.questions}
    shown = dict.fromkeys(one["id"] for column in columns for one in column)
    found = []
    for name in shown:
        words = ["–" for _ in columns]
        for place, column in enumerate(columns):
            told = [one["words"] or "tells nothing" for one in column if one["id"] == name]
            words[place] = told[0] if told else "–"
        found.append((texts.get(name, name), words))
    return found


def margin_of(question: Question, expected: Precision, shown: int | None = None) -> Margin:
    """Return the expected precision of a question's headline, beside its range."""
    from masquerade.results.forecasts import range_of
    from masquerade.results.learnable import NOTHING, tells

    margin = expected.margin
    low, high = range_of(question, expected.kind)
    nobody = math.isnan(margin)
    told = NOTHING if nobody else tells(margin, high - low)
    if not nobody and expected.ranks is not None:
        width, items = expected.ranks
        told = tells((width - 1) / 2, items - 1)
    points = "points" if expected.kind == "mean" else "share"
    return {
        "id": question.id,
        "kind": expected.kind,
        "margin": None if nobody else round(margin, 6),
        "unit": getattr(question, "unit", points),
        "low": low,
        "high": high,
        "tells": told,
        "of_100": shown,
        "words": _words(question, expected, told),
    }


def _words(question: Question, expected: Precision, told: str) -> str:
    """Return a margin in words; a number of it only where it tells something."""
    from masquerade.results.forecasts import range_of

    if math.isnan(expected.margin):
        return "nobody is asked"
    if told == "nothing":
        return "tells nothing"
    if expected.ranks is not None:
        width, items = expected.ranks
        return f"ranks known to {width:.{0 if width >= 9.5 else 1}f} of {items} places"
    low, high = range_of(question, expected.kind)
    digits = figure(expected.kind, expected.margin)
    if expected.kind == "share":
        return f"± {digits} of 100"
    return f"± {digits} {question.margin_words(low, high)}"


def figure(kind: str, margin: float) -> str:
    """Return the digits of a margin, of a share in points of 100."""
    if kind == "share":
        points = 100 * margin
        return f"{points:.{1 if points < 9.5 else 0}f}"
    return f"{margin:.{2 if margin < 1 else 1 if margin < 10 else 0}f}"


def expected_levels(names: list[str], shares: Mapping[str, float], people: int) -> dict[str, int]:
    """Return how many people are expected at each level; without `shares` as observed elsewhere."""
    # A level of another name was observed nowhere: a quarter, as for one of four.
    given = shares or {name: PRIOR_SHARES.get(name, 0.25) for name in names}
    weight = {name: float(given.get(name, 0)) for name in names}
    total = sum(weight.values()) or 1.0
    # Largest remainders: rounding down first, then one more to those that lost most.
    exact = {name: people * weight[name] / total for name in names}
    found = {name: int(exact[name]) for name in names}
    by_rest = sorted(names, key=lambda name: found[name] - exact[name])
    for name in by_rest[: people - sum(found.values())]:
        found[name] += 1
    return found


def offers_of(
    survey: Survey, expected: Mapping[str, int], prices: Mapping[str, int], caps: Caps
) -> list[LevelOffer]:
    """Return the people at each level, as a selection sees them."""
    from masquerade.results.forecasts import mask_variance
    from masquerade.selection import LevelOffer

    found = []
    for offered in survey.levels:
        # Noise of two parties is on the sums, whoever answers: nobody's report is noisier.
        masks = offered.mechanisms if survey.two_parties is None else ()
        noise = [
            mask_variance(question, mask)
            for question, mask in zip(survey.questions, masks, strict=False)
        ] or [0.0]
        found.append(
            LevelOffer(
                offered.name,
                expected.get(offered.name, 0),
                float(prices.get(offered.name, 0)),
                sum(noise) / len(noise),
                share_of_cap(offered, caps),
            )
        )
    return found


def times_again(offered: OfferedLevel, caps: Caps) -> int | None:
    """Return how often a person can be asked again within a fresh account's cap.

    None where nothing is counted, as of answers in clear.
    """
    share = caps.share(offered.cost("").loss)
    return None if not share else max(0, math.floor(1 / share) - 1)


def affordable(offered: OfferedLevel, caps: Caps) -> bool:
    """Return whether a fresh account can pay for a response."""
    cost = offered.cost("")
    return caps.admits(cost.loss) and cost.clear <= caps.clear


def barriers(survey: Survey, figures: Forecast, *, caps: Caps) -> list[Issue]:
    """Return the barriers that leave nobody to answer a survey: places and remedies."""
    if not any(affordable(level, caps) for level in survey.levels):
        masked = [level for level in survey.levels if level.name != CLEAR]
        if not masked:
            clear = f"this server lets a person send {caps.clear} answers in clear in all"
            return [("/levels", f"Nobody could take part: {clear}. Offer a level that masks.")]
        needs = ", ".join(f"{level.name} {percent_of_cap(level, caps)} %" for level in masked)
        return [
            (
                "/levels",
                f"Nobody could take part: of what everything a person ever answers may cost, one "
                f"response takes more than all ({needs}). Ask fewer questions, or offer a level "
                "that hides more.",
            )
        ]
    if not figures["asked"]:
        return [
            (
                "/plan",
                "Planned for 0 people: the plan's shares or budget leave nobody at a level that "
                "people can afford. Plan people at another level, or raise the budget.",
            )
        ]
    return []


MOST_PEOPLE: Final = 100_000
#: How exact a share can be wished to be, in points of 100.
EXACT: Final = (5, 10, 20)


class KnownHelper(Protocol):
    """A helper that a team works with."""

    @property
    def address(self) -> str:
        """Where it is reached."""

    @property
    def operator(self) -> str:
        """The organisation that runs it."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its key."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A plan as it was typed, and its faults."""

    people: str
    questions: str
    exact: str
    people_fault: str = ""
    questions_fault: str = ""

    @classmethod
    def of(cls, people: str, questions: str, exact: str) -> Self:
        """Return a wish as it was typed; nothing is wrong while nothing was typed."""
        typed = bool(people or questions)
        return cls(
            people,
            questions,
            exact if exact in map(str, EXACT) else "10",
            _fault(people, MOST_PEOPLE) if typed else "",
            _fault(questions, MOST_QUESTIONS) if typed else "",
        )

    def planned(self, *, caps: Caps, helper: bool) -> list[Way]:
        """Return the ways to do it, the recommended one first; none where it is not complete."""
        from masquerade.results.learnable import ways

        if not self.people or self.people_fault or self.questions_fault:
            return []
        exact = int(self.exact) / 100
        return ways(int(self.people), int(self.questions), exact, caps=caps, helper=helper)


def as_planned(
    document: Document, *, people: int | None, way: str, helpers: Sequence[KnownHelper]
) -> Document:
    """Return a document for so many people, who are asked in the way that was recommended."""
    changes: dict[str, object] = {}
    if people is not None:
        changes["plan"] = {"people": people}
    if way == TWO_PARTIES:
        changes["trust"] = TWO_PARTIES
        if len(helpers) == 1:
            [one] = helpers
            terms = {
                "helper": one.address,
                "operator": one.operator,
                "fingerprint": one.fingerprint,
            }
            changes["two_parties"] = {**document.two_parties.model_dump(), **terms}
    elif way in ALL_LEVELS:
        changes["levels"] = [way]
    return changed(document, changes) if changes else document


def _fault(text: str, most: int) -> str:
    """Return the fault of a number as it was typed; empty where there is none."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= most:
        return ""
    said = f"; “{text[:20]}” is none" if text.strip() else ""
    return f"Give a whole number from 1 to {most:,}{said}."
