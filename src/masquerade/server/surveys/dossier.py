"""The figures of a survey's data protection summary and record for an ethics board."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masquerade.accounting import Caps
from masquerade.accounting.words import highest_belief, losses_of_guarantee
from masquerade.exact.loss import Loss, tail
from masquerade.server.surveys.forecast import Margin, figure
from masquerade.surveys.offered_levels import percent_of_cap, share_of_cap
from masquerade.surveys.question import Question
from masquerade.surveys.survey import Survey

#: Languages in which the dossier is written.
LANGUAGES = ("en", "de")
#: Suspicions of which it says how far they can grow.
PRIORS = (Fraction(1, 100), Fraction(1, 2))
_TOLD = 0.999


@dataclass(frozen=True, slots=True)
class LevelRow:
    """Protection of one level, in percent: how far a suspicion of 1 % and of 50 % can grow.

    `one`, `everything`: of one answer and of all answers; None where it is told for certain.
    """

    name: str
    one: tuple[float | None, ...]
    everything: tuple[float | None, ...]
    in_clear: bool


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question, and how exact its result will be.

    `figure`: digits of the expected margin; empty where nobody is asked, or where it tells nothing.
    `margin`: its unit and range; None where no forecast is known.
    """

    text: str
    kind: str
    kind_name: str
    figure: str
    margin: Margin | None


@dataclass(frozen=True, slots=True)
class Dossier:
    """The facts of a survey for the texts of both forms.

    `cap`: epsilon of all surveys of the server together, and one in how many delta is (or none).
    """

    title: str
    hash: str
    address: str
    topic: str
    questions: Sequence[QuestionRow]
    levels: Sequence[LevelRow]
    people: int | None
    closes: str | None
    cap: tuple[str, str]
    minimum: int | None
    operator: str
    helper: str
    fingerprint: str
    asked_by: str
    contact: str
    paid: bool
    too_dear: Sequence[tuple[str, float]]  # levels at which nobody can take part, in percent

    @property
    def clear(self) -> bool:
        """Whether answers may be stored as they are."""
        return any(one.in_clear for one in self.levels)

    @property
    def all_clear(self) -> bool:
        """Whether every answer is stored as it is."""
        return all(one.in_clear for one in self.levels)


def dossier(
    survey: Survey,
    *,
    address: str,
    caps: Caps,
    people: int | None,
    closes: str | None,
    margins: Mapping[str, Margin],
    paid: bool,
) -> Dossier:
    """Return the figures of a survey's dossier.

    Parameters
    ----------
    survey : Survey
    address : str
        Of the server.
    caps : Caps
        Of a person over all surveys of the server.
    people : int, optional
        Planned.
    closes : str, optional
        The last day.
    margins : mapping
        How exact each question will be, by its id, where a forecast is known.
    paid : bool
        Whether people get completion codes.
    """
    terms, reach = survey.two_parties, survey.reach
    return Dossier(
        title=survey.title,
        hash=survey.content_hash(),
        address=address,
        topic=survey.topic,
        questions=[_question(one, margins.get(one.id)) for one in survey.questions],
        levels=[
            _row(level.name, *losses_of_guarantee(level.guarantee())) for level in survey.levels
        ],
        people=people,
        closes=closes,
        cap=(f"{float(caps.epsilon.epsilon):g}", _one_in(caps.delta)),
        minimum=None if terms is None else terms.minimum,
        operator="" if terms is None else terms.operator,
        helper="" if terms is None else terms.helper,
        fingerprint="" if terms is None else terms.fingerprint,
        asked_by=reach.asked_by,
        contact=reach.contact,
        paid=paid,
        too_dear=[
            (one.name, percent_of_cap(one, caps))
            for one in survey.levels
            if share_of_cap(one, caps) > 1
        ],
    )


def _question(question: Question, margin: Margin | None) -> QuestionRow:
    digits = ""
    if margin is not None and margin["margin"] is not None and margin["tells"] != "nothing":
        digits = figure(margin["kind"], margin["margin"])
    return QuestionRow(question.whole_text, question.kind, question.builder.name, digits, margin)


def _one_in(delta: Fraction | float) -> str:
    return f"{math.floor(1 / Fraction(delta)):,}" if delta else ""


def _row(name: str, one: Loss, everything: Loss) -> LevelRow:
    return LevelRow(name, _grown(one), _grown(everything), everything.in_clear)


def _grown(loss: Loss) -> tuple[float | None, ...]:
    """Return the percent to which each suspicion can grow, rounded upwards."""
    if loss.in_clear:
        return (None,) * len(PRIORS)
    bound = tail(loss)
    beliefs = [highest_belief(bound, prior=float(prior)) for prior in PRIORS]
    return tuple(None if belief >= _TOLD else math.ceil(1000 * belief) / 10 for belief in beliefs)
