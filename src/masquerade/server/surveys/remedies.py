"""Remedies for questions of a draft that will tell little: each with its own forecast."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import ParameterError
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.surveys.document import Document
from masquerade.server.surveys.forecast import Forecast, Margin, forecast
from masquerade.surveys import question_from_json
from masquerade.surveys.linked_questions import hang_together
from masquerade.surveys.offered_levels import ALL_LEVELS, share_of_cap
from masquerade.surveys.survey import DEVICE, Survey

#: People beyond which no number is named.
_MOST_PEOPLE: Final = 100_000
#: A margin that is hardly smaller is no remedy.
_SMALLER: Final = 0.9
#: At equal privacy, some of the questions for each person are hardly more or less exact than all.
_AS_LARGE: Final = 1.1
SHORTER: Final = "about as exact, with the same privacy: for people it is shorter"

#: Returns the survey that a document opens as; None where it does not.
Opened = Callable[[Document], Survey | None]


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a plan in words, and the margin that it gives a question."""

    what: str
    margin: Margin | None  # None where the question is gone
    also: str = ""  # what else it changes


@dataclass(frozen=True, slots=True)
class WeakQuestion:
    """A question whose interval covers more than half of its range."""

    place: int  # in the document: of a row that of its matrix
    text: str
    margin: Margin
    remedies: tuple[Remedy, ...]


def weak_questions(
    document: Document, survey: Survey, figures: Forecast, *, caps: Caps, opened: Opened
) -> list[WeakQuestion]:
    """Return the questions of a draft that will tell little or nothing, with remedies."""
    weak = [place for place, one in enumerate(figures["questions"]) if one["tells"] != "enough"]
    if not weak:
        return []
    texts = {one.id: one.whole_text for one in survey.questions}
    ids = list(texts)
    owners = {name: number for number, one in enumerate(document.questions) for name in _ids(one)}
    changes = _changes(document, survey, figures, caps=caps, opened=opened)
    return [
        WeakQuestion(
            owners[figures["questions"][place]["id"]],
            texts[figures["questions"][place]["id"]],
            figures["questions"][place],
            (
                *(
                    Remedy(what, found[place], also)
                    for what, found, also in changes
                    if _helps(found[place], figures["questions"][place], also == SHORTER)
                ),
                *_more_people(survey, figures, place),
                _dropped(
                    document,
                    survey,
                    ids.index(figures["questions"][place]["id"]),
                    caps=caps,
                    opened=opened,
                ),
            ),
        )
        for place in weak
    ]


def _helps(found: Margin, now: Margin, shorter: bool) -> bool:
    """Return whether a margin tells something and is a good deal smaller, or as large for less."""
    if found["margin"] is None or found["tells"] == "nothing":
        return False
    most = _AS_LARGE if shorter else _SMALLER
    return now["margin"] is None or found["margin"] < most * now["margin"]


def _changes(
    document: Document, survey: Survey, figures: Forecast, *, caps: Caps, opened: Opened
) -> list[tuple[str, Sequence[Margin], str]]:
    """Return changes of the whole survey, each with the margins of all questions."""
    found: list[tuple[str, Sequence[Margin], str]] = []
    if document.trust == DEVICE:
        other = _planned(_two_parties(document), caps=caps, opened=opened)
        if other is not None:
            found.append(("Two parties add up the answers", other[1]["questions"], ""))
    else:
        return found
    now = _cost(survey, caps)
    offered = [level.name for level in survey.levels]
    for name in ALL_LEVELS:
        if offered == [name] or CLEAR in offered or not isinstance(document.levels, list):
            continue
        other = _planned(_at_level(document, name), caps=caps, opened=opened)
        if other is None:
            continue
        cost = _cost(other[0], caps)
        if cost <= 1:
            also = f"{_percent(cost)} % of a lifetime’s privacy, instead of {_percent(now)} %"
            found.append((f"Level {name} for everybody", other[1]["questions"], also))
        found += _some_of_them(document, other[0], min(now, 1.0), name, caps=caps)
    return found


def _some_of_them(
    document: Document, survey: Survey, most: float, level: str, *, caps: Caps
) -> list[tuple[str, Sequence[Margin], str]]:
    """Return m of M blocks of questions at a level, as many as cost no more than `most`.

    Their margins are those of the survey that would be opened.
    """
    count = len(hang_together(survey.questions, survey.conditions, survey.together))
    try:
        some = [replace(survey, asked=asked) for asked in range(1, count)]
    except ParameterError:  # votes on a list, and masks that answers share, are asked of everybody
        return []
    some = [one for one in some if _cost(one, caps) <= most]
    if not some or some[-1].asked == survey.asked:
        return []
    chosen = some[-1]
    blocks = "questions" if count == len(survey.questions) else "groups of questions"
    what = f"Ask each person {chosen.asked} of {count} {blocks}, at level {level}"
    return [(what, forecast(document, chosen, caps=caps)["questions"], SHORTER)]


def _cost(survey: Survey, caps: Caps) -> float:
    """Return the largest share of a fresh account that a response takes."""
    return max(share_of_cap(level, caps) for level in survey.levels)


def _more_people(survey: Survey, figures: Forecast, place: int) -> list[Remedy]:
    """Return the number of people that would do, where there is one."""
    from masquerade.results.forecasts import forecast as expected
    from masquerade.results.forecasts import least_people
    from masquerade.results.learnable import LITTLE_ABOVE
    from masquerade.server.surveys.forecast import margin_of

    now = figures["questions"][place]
    asked = {one["name"]: one["asked"] for one in figures["levels"]}
    total, width = sum(asked.values()), now["high"] - now["low"]
    at = next(i for i, one in enumerate(survey.questions) if one.id == now["id"])
    part = None if now["of_100"] is None else now["of_100"] / 100

    def with_people(people: int) -> dict[str, int]:
        return {name: round(count * people / total) for name, count in asked.items()}

    def half(people: int) -> float:
        return expected(survey, at, with_people(people), answering=part).margin / width

    if not total:
        return []
    people = least_people(half, LITTLE_ABOVE)
    rounded = _rounded_up(people)
    if rounded > _MOST_PEOPLE:
        return []
    found = margin_of(
        survey.questions[at],
        expected(survey, at, with_people(rounded), answering=part),
        now["of_100"],
    )
    return [Remedy(f"{rounded:,} people instead of {total:,}", found)]


def _ids(question: Mapping[str, Any]) -> list[str]:
    """Return the ids under which a question of a document is asked: of a matrix, its rows'."""
    fields = {key: value for key, value in question.items() if key != "show_if"}
    return [part.id for part in question_from_json(fields).parts()]


def _without(document: Document, name: str) -> list[dict[str, Any]]:
    """Return the questions of a document without one, or without a row of a matrix."""
    kept: list[dict[str, Any]] = []
    for one in document.questions:
        ids, rows = _ids(one), one.get("rows", [])
        if name in ids and len(rows) == len(ids) > 2:
            pairs = zip(rows, ids, strict=True)
            kept.append({**one, "rows": [row for row, id_ in pairs if id_ != name]})
        elif name not in ids:
            kept.append(one)
    return kept


def _dropped(
    document: Document, survey: Survey, place: int, *, caps: Caps, opened: Opened
) -> Remedy:
    """Return the gain of leaving a question out."""
    questions = _without(document, survey.questions[place].id)
    less = opened(document.model_copy(update={"questions": questions})) if questions else None
    if less is None:  # others hang on it, or it is the only one
        return Remedy("Leave it out", None)
    now, then = (_cost(each, caps) for each in (survey, less))
    return Remedy(
        "Leave it out",
        None,
        f"{_percent(then)} % of a lifetime’s privacy instead of {_percent(now)} %",
    )


def _planned(document: Document, *, caps: Caps, opened: Opened) -> tuple[Survey, Forecast] | None:
    survey = opened(document)
    return None if survey is None else (survey, forecast(document, survey, caps=caps))


#: Amounts and shares are of one trust's levels.
_PLAIN: Mapping[str, object] = {"prices": {}, "shares": {}, "budget": None, "reward": "none"}


def _two_parties(document: Document) -> Document:
    # Two parties add up the answers of everybody to all questions.
    return under(TWO_PARTIES, document).model_copy(update={"asked": None})


def under(trust: str, document: Document) -> Document:
    """Return a document under a trust, such as could be opened; no figure depends on the rest."""
    terms = {"helper": "https://helper.example", "operator": "-", "fingerprint": "0" * 32}
    return document.model_copy(
        update={
            "trust": trust,
            "title": document.title.strip() or "-",
            "plan": document.plan.model_copy(update=dict(_PLAIN)),
            "two_parties": document.two_parties.model_copy(update=terms),
        }
    )


def _at_level(document: Document, name: str) -> Document:
    return under(DEVICE, document).model_copy(update={"levels": [name]})


def _percent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 0.1 else f"{math.ceil(100 * share):,}"


def _rounded_up(people: int) -> int:
    """Return the number with two digits that is not below a number."""
    unit: int = 10 ** max(0, len(str(people)) - 2)
    return int(-(-people // unit) * unit)
